"""Cursors of a snapshot: the texts of statements, and why a statement has its degree of parallelism.

The reason is in V$SQL_PLAN.OTHER_XML. It comes from outside, so it is parsed by defusedxml; a document that cannot be
read gives empty facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from presman.analysis.readings.statement_readings import DopFacts
from presman.base.sums import grouped
from presman.base.text import clean
from presman.rows.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.rows.queries import LONGEST_DOCUMENT, TOO_LONG
from presman.rows.snapshot import Snapshot

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


# A comment of hints begins with a plus sign. It may have no end, because a text may be cut.
_HINTED = re.compile(r"/\*\+(.*?)(?:\*/|$)|--\+([^\n]*)", re.DOTALL)
_PARALLEL = re.compile(r"\b(?:NO_)?(?:PARALLEL(?:_INDEX)?|STATEMENT_QUEUING)\b(?:\s*\([^()]{0,60}\))?", re.IGNORECASE)


def hints(sql_text: str) -> tuple[str, ...]:
    """Return the hints of a statement that set a degree, or queueing or not, as written in its text."""
    comments = ("".join(match.groups(default="")) for match in _HINTED.finditer(sql_text))
    found = (" ".join(match.group().split()) for text in comments for match in _PARALLEL.finditer(text))
    return tuple(dict.fromkeys(found))


# Each poll brings the same documents again.
@lru_cache(maxsize=256)
def dop_facts(other_xml: str) -> DopFacts:
    """Return the facts about the degree in `other_xml`.

    Oracle repeats types such as `derived_cpu_dop` per operation; the first one is the statement's. Texts are kept
    unchanged (the list of reasons is open). Malformed or hostile documents give empty facts; a document that was
    too long to keep gives only that fact.
    """
    if other_xml == TOO_LONG:
        return DopFacts(unread=TOO_LONG)
    root = _parse(other_xml)
    if root is None:
        return DopFacts()
    facts: dict[str, str] = {}  # in the order of the document; of several of one type the first
    for info in root.iter("info"):
        if kind := info.get("type"):
            facts.setdefault(clean(kind), clean((info.text or "").strip()))
    return DopFacts(
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
    from xml.etree.ElementTree import ParseError  # only when there is a document: the first frame has none

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
    """Return a count of at most nine digits; anything else is not a number."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else None


class CursorFacts(Struct, frozen=True, dict=True):
    """Lookups into the cursors of a snapshot."""

    snapshot: Snapshot

    def dop_facts(self, inst_id: int, sql_id: str, child: int | None) -> DopFacts:
        """Return the facts about the DOP in the cursor's plan, SILENT if it was not read."""
        return of_cursor(self._dop_facts, inst_id, sql_id, child) or SILENT

    def text(self, inst_id: int, sql_id: str, child: int | None) -> str:
        """Return the statement's text, "" if it was not read. All children of a statement have the same text."""
        return of_cursor(self._texts, inst_id, sql_id, child) or self._texts.get(sql_id, "")

    def no_text(self, sql_id: str) -> str:
        """Return why a statement has no text."""
        return why_no_text(sql_id, self._asked.get(sql_id), self.snapshot.kind, can_read=reads_texts(self.snapshot))

    def last_operations(self, inst_id: int, sql_id: str, child: int | None) -> frozenset[str]:
        """Return :func:`last_operations` of the cursor's plan; none if it was not read."""
        return of_cursor(self._last_operations, inst_id, sql_id, child) or frozenset()

    @cached_property
    def plans(self) -> tuple[tuple[PxPlanLine, ...], ...]:
        """The lines of each plan that was read."""
        lines = grouped(self.snapshot.rows(PxPlanLine), lambda line: (line.inst_id, line.sql_id, line.child_number))
        return tuple(map(tuple, lines.values()))

    @cached_property
    def _last_operations(self) -> Mapping[Any, frozenset[str]]:
        return by_cursor((lines[0], last_operations(lines)) for lines in self.plans)

    @cached_property
    def _dop_facts(self) -> Mapping[Any, DopFacts]:
        return by_cursor((row, dop_facts(row.other_xml)) for row in self.snapshot.rows(PlanXml))

    @cached_property
    def _texts(self) -> Mapping[Any, str]:
        return by_cursor((row, row.sql_text) for row in self.snapshot.rows(SqlText) if row.sql_text)

    @cached_property
    def _asked(self) -> Mapping[str, SqlText]:
        return {row.sql_id: row for row in sorted(self.snapshot.rows(SqlText), key=lambda row: bool(row.sql_text))}


def reads_texts(snapshot: Snapshot) -> bool:
    """Return whether V$SQL can be read, as far as known."""
    return snapshot.section(SqlText).problem is None


def why_no_text(sql_id: str, asked: SqlText | None, kind: str, *, can_read: bool, recorded: bool = False) -> str:
    """Return why a statement has no text, in brackets, "" if it has one or there is no statement.

    `asked` is the answer for it, None if it was not queried. `kind` is that of the source: a spool has only the views
    that its author chose to write. `recorded` means that a recording is searched.
    """
    if not sql_id or (asked is not None and asked.sql_text):
        return ""
    if kind == "spool":
        return "(not in the spool)"
    if asked is not None:
        return "(no longer in V$SQL)"
    if not can_read:
        return "(V$SQL cannot be read)"
    return "(not recorded)" if recorded else "(not read)"


def of_cursor(index: Mapping[Any, Any], inst_id: int, sql_id: str, child: int | None) -> Any:
    """Return the entry of a cursor, from another instance if needed; of any child if `child` is None."""
    if child is None:
        return index.get(sql_id)
    # Each instance has its own cursor of a statement: another one's plan may differ, but is better than none.
    return index.get((inst_id, sql_id, child)) or index.get((sql_id, child))


_WORK = (
    *("TABLE ACCESS", "INDEX", "MAT_VIEW", "HASH", "MERGE", "NESTED LOOPS"),
    *("SORT", "BUFFER", "WINDOW", "LOAD", "UNION"),
)
"""Operations that take time, by the beginning of their names."""

_NAMED = {"Table Scan": "TABLE ACCESS", "Index Fast Full Scan": "INDEX", "Hash Join": "HASH JOIN"}
"""V$SESSION_LONGOPS.OPNAME, and the operation in the plan. A `Rowid Range Scan` is one of many parts of a scan."""


def last_operations(lines: Iterable[PxPlanLine]) -> frozenset[str]:
    """Return the names (V$SESSION_LONGOPS.OPNAME) of an operation with which a query ends: none above it takes time.

    There are none for DML and DDL, which go on after the last operation of their plan.
    """
    # A line has a larger id than those above it, so above the first one that takes time there is none.
    plan = sorted(lines, key=lambda line: line.id)
    if not plan or plan[0].operation != "SELECT STATEMENT":
        return frozenset()
    work = [line.operation for line in plan if line.operation.startswith(_WORK) and line.options != "AGGREGATE"]
    # A scan is the last to take time only if it is alone; a hash join goes on to the end of what it reads.
    named = [(name, each) for name, each in _NAMED.items() if len(work) == 1 or each == "HASH JOIN"]
    first = [(name, each) for name, each in named if work and work[0].startswith(each)]
    return frozenset(name for name, each in first if sum(operation.startswith(each) for operation in work) == 1)


SILENT = DopFacts()


def by_cursor(pairs: Iterable[tuple[Any, Any]]) -> dict[Any, Any]:
    """Return an index by (instance, SQL_ID, child) and, for a cursor read on another instance, by shorter keys."""
    index: dict[Any, Any] = {}
    for row, value in pairs:
        index[row.inst_id, row.sql_id, row.child_number] = value
        index.setdefault((row.sql_id, row.child_number), value)
        index.setdefault(row.sql_id, value)
    return index
