"""V$SQL_PLAN.OTHER_XML: why a statement has its degree of parallelism.

The document comes from outside, so it is parsed by defusedxml; whatever cannot be read gives an empty story.
"""

from __future__ import annotations

import re
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING

from presman.analysis.readings.statement_readings import DopStory
from presman.base.text import clean
from presman.rows.conversion import LONGEST_DOCUMENT, TOO_LONG

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_HINTED = re.compile(r"/\*\+(.*?)(?:\*/|$)|--\+([^\n]*)", re.DOTALL)
_PARALLEL = re.compile(r"\b(?:NO_)?(?:PARALLEL(?:_INDEX)?|STATEMENT_QUEUING)\b(?:\s*\([^()]{0,60}\))?", re.IGNORECASE)


def hints(sql_text: str) -> tuple[str, ...]:
    """Return the hints of a statement that ask for a degree, or to queue or not, as they stand in its text."""
    comments = ("".join(match.groups(default="")) for match in _HINTED.finditer(sql_text))
    found = (" ".join(match.group().split()) for text in comments for match in _PARALLEL.finditer(text))
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=256)
def story(other_xml: str) -> DopStory:
    """Return what `other_xml` says of the degree.

    Oracle repeats types such as `derived_cpu_dop` per operation; the first one is the statement's. Texts are kept
    as they are (the list of reasons is open). Malformed or hostile documents give an empty story, one that was too long
    to be kept a story of that alone.
    """
    if other_xml == TOO_LONG:
        return DopStory(unread=TOO_LONG)
    root = _parse(other_xml)
    if root is None:
        return DopStory()
    facts: dict[str, str] = {}
    for info in root.iter("info"):
        kind = info.get("type")
        if kind:
            facts.setdefault(clean(kind), clean((info.text or "").strip()))
    return DopStory(
        degree=_number(facts.get("dop")),
        reason=facts.get("dop_reason", ""),
        operation_reason=facts.get("dop_op_reason", ""),
        cpu_degree=_number(facts.get("derived_cpu_dop")) or None,
        io_degree=_number(facts.get("derived_io_dop")) or None,
        queuing_reason=facts.get("queuing_reason", ""),
        skipped=_skipped(root),
        facts=MappingProxyType(facts),
    )


def _parse(text: str) -> Element | None:
    if not text or len(text) > LONGEST_DOCUMENT:
        return None
    from xml.etree.ElementTree import ParseError  # not before there is a document: the first frame has none

    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import fromstring

    try:
        root: Element = fromstring(text, forbid_dtd=True)
    except (ParseError, DefusedXmlException, ValueError, RecursionError):
        return None
    return root


def _skipped(root: Element) -> tuple[int, ...]:
    """Return the lines that the display map of an adaptive plan leaves out: ``<row op="3" ... skp="1"/>``."""
    rows = (row for display_map in root.iter("display_map") for row in display_map.iter("row"))
    lines = (_number(row.get("op")) for row in rows if row.get("skp") == "1")
    return tuple(line for line in lines if line is not None)


def _number(text: str | None) -> int | None:
    """Return a count of at most nine digits; anything else is no number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None
