"""The layout of a spooled file: where its header is, and how a line is cut into fields.

SQL*Plus has two forms: columns with a delimiter between them, and (before 12.2, or without `SET MARKUP CSV ON`) columns
of fixed width with dashes below their heads, which say where each one stands. Heads longer than their column are cut.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from presman.base.errors import closest
from presman.base.text import clean, one_line
from presman.sources import SourceError

Span = tuple[int, int]

_DELIMITERS = ",;\t|"
_PREAMBLE = 200
"""Lines in which the header must be found."""

_DASHES = re.compile(r"-+")
_CURE = "spool with SET MARKUP CSV ON (SQL*Plus 12.2 or later, SQLcl), or SET COLSEP '|'"


class Layout(NamedTuple):
    """Where the header is (an index of lines), its columns, and what cuts a line.

    `spans` are the places of columns of fixed width, with `delimiter` between them, a blank mostly; without them the
    delimiter alone cuts.
    """

    start: int
    columns: tuple[str, ...]
    delimiter: str
    spans: tuple[Span, ...] = ()


def underlining(line: str) -> tuple[tuple[Span, ...], str] | None:
    """Return the places that the dashes of a line underline and what stands between them; None for another line.

    >>> underlining("-----,---\\n"), underlining("SID,-\\n")
    ((((0, 5), (6, 9)), ','), None)
    """
    text = line.rstrip()
    if not text.lstrip().startswith("-"):
        return None
    spans = tuple(found.span() for found in _DASHES.finditer(text))
    gaps = {text[left:right] for (_, left), (right, _) in pairwise(spans)}
    if text[: spans[0][0]].strip() or len(gaps) > 1 or text[spans[-1][1] :].strip(_DELIMITERS + " "):
        return None
    between = next(iter(gaps), " ")
    return None if any(sign.isalnum() or sign in "\"'" for sign in between) else (spans, between)


def header(path: Path, lines: Sequence[str], known: Mapping[str, str], chatter: re.Pattern[str]) -> Layout | None:
    """Return the layout of a file, None for one of chatter alone. `known` are the view's columns with their types.

    Raises SourceError if what stands there first is no header.
    """
    said = None
    for index, line in enumerate(lines[:_PREAMBLE]):
        below = underlining(lines[index + 1]) if index + 1 < len(lines) else None
        found = _underlined(index, line, below, known) if below else None
        if found is None and not chatter.fullmatch(line):
            found = _delimited(index, line, known)
            said = index if said is None else said
        if found is not None:
            _refuse_twice(path, found)
            return found
    if said is None:
        return None
    raise SourceError(f"{path}, line {said + 1}: {_no_header(lines[said], known)}", retry=False)


def _underlined(index: int, line: str, below: tuple[tuple[Span, ...], str], known: Mapping[str, str]) -> Layout | None:
    spans, between = below
    names = [plain(line[left:right]) for left, right in _reaching(spans)]
    columns = tuple(_whole(name, right - left, known) for name, (left, right) in zip(names, spans, strict=True))
    return Layout(index, columns, between, spans) if _names_columns(columns, known) else None


def _delimited(index: int, line: str, known: Mapping[str, str]) -> Layout | None:
    for delimiter in sorted(_DELIMITERS, key=line.count, reverse=True):
        columns = tuple(_named(plain(name), known) for name in line.split(delimiter))
        if _names_columns(columns, known):
            return Layout(index, columns, delimiter)
        if not line.count(delimiter):
            break
    return None


def _names_columns(columns: Sequence[str], known: Mapping[str, str]) -> bool:
    """Whether at least half of what stands there are columns, slips of the pen included, and one is for certain."""
    names = [name for name in columns if name]
    hits = sum(name in known for name in names)
    near = sum(name not in known and closest(name, known) is not None for name in names) if hits else 0
    return hits > 0 and 2 * (hits + near) >= len(names)


def _no_header(line: str, known: Mapping[str, str]) -> str:
    names = [plain(name) for name in re.split(r"[,;\t|\s]+", line) if name.strip()]
    near = next((f"{name} (did you mean {found}?)" for name in names if (found := closest(name, known))), "")
    shown = one_line(clean(near or "SET PAGESIZE 50000 prints one"), 120)
    return f"not a header: it names no column of the view: {shown}"


def _reaching(spans: Sequence[Span]) -> Iterator[Span]:
    """Return the spans, the last one to the end of the line."""
    yield from spans[:-1]
    yield spans[-1][0], 1 << 30


def _whole(name: str, width: int, known: Mapping[str, str]) -> str:
    """Return the column that a head cut at `width` is the beginning of, if just one can be meant."""
    found = _named(name, known)
    if found in known or not name:
        return found
    meant = [column for column in known if column.startswith(name)] if len(name) == width else []
    if len(meant) > 1:
        meant = [column for column in meant if known[column] == f"VARCHAR2({width})"]
    return meant[0] if len(meant) == 1 else found


def _named(name: str, known: Mapping[str, str]) -> str:
    """Return the column's name; the `#` of SERIAL# and the like may be missing."""
    return f"{name}#" if name not in known and f"{name}#" in known else name


def _refuse_twice(path: Path, found: Layout) -> None:
    names = found.columns
    twice = next((name for index, name in enumerate(names) if name and name in names[:index]), None)
    if twice:
        raise SourceError(f"{path}, line {found.start + 1}: column {clean(twice)} appears twice", retry=False)


def plain(name: str) -> str:
    """Return a head as a name: without blanks and quotes, in upper case."""
    return name.strip().strip('"').strip().upper()


def cut(layout: Layout, line: str) -> list[str] | None:
    """Return the fields of a line of columns of fixed width; None if they do not stand below their heads."""
    text = line.rstrip("\n")
    between = layout.delimiter.strip()
    for (_, left), (right, _) in pairwise(layout.spans):
        if text[left:right].strip() not in {"", between} or (between and text[left:] and not text[left:right].strip()):
            fields = text.split(between) if between else []
            return fields if len(fields) == len(layout.columns) else None
    return [text[left:right].rstrip() for left, right in _reaching(layout.spans)]


def misplaced(path: Path, number: int) -> SourceError:
    """Return the error for a line that :func:`cut` cannot cut."""
    return SourceError(f"{path}, line {number}: fields are not below their heads: {_CURE}", retry=False)


def other_columns(path: Path, number: int) -> SourceError:
    """Return the error for a second header that names other columns: wrapped lines, or two queries in one file."""
    text = f"a second header with other columns (are the lines wrapped? SET LINESIZE 32767): {_CURE}"
    return SourceError(f"{path}, line {number}: {text}", retry=False)
