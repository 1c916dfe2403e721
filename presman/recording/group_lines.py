"""Group lines: figures of the consumer groups over a stretch of a tape, a column of values for each line.

Of rows that last for several polls each is read once, and no poll is analysed: an hour takes some milliseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import compress
from math import isnan, nan
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import TextClause, text

from presman.base.text import clean
from presman.recording.measure_tables import MICRO, SCALE, SPAN
from presman.recording.tape import Tape
from presman.recording.tape_values import TapePart, is_number

_KINDS = ("small_read", "small_write", "large_read", "large_write")


def _in_all(what: str) -> str:
    return f"({' + '.join(f'r.{kind}_{what}' for kind in _KINDS)}) / {SCALE}.0"


FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "used": f"r.used_cpus / {SCALE}.0",
        "waiting": f"r.waited_cpus / {SCALE}.0",
        "entitled": f"r.entitled_cpus / {SCALE}.0",
        "io": _in_all("mb_per_s"),
        "requests": _in_all("requests_per_s"),
        "service": f"r.service_ms / {SCALE}.0",
        "servers": "r.px_servers_active",
        "queued": "r.px_statements_queued",
        "ever_queued": "c.statements_queued_total",
        "timeouts": "c.queue_timeouts_total",
    }
)
"""What a line may show: SQL of rows `r` and cases `c`. `servers` is known wherever a group is there."""

Who = tuple[int, int, str]
"""Instance, container, group."""


class GroupLines(NamedTuple):
    """Of each poll its instant in seconds since 1970 and the seconds since the one before, NaN where not known.

    `values` has of each line its values at these polls, NaN where one is not known, by figure and who it is of.
    """

    times: array[float]
    seconds: array[float]
    values: dict[tuple[str, Who], array[float]]


_OF_PART = (
    f"r.database_id = :database_id AND r.span BETWEEN :first / {SPAN} AND :last / {SPAN}"
    f" AND r.span * {SPAN} + r.last >= :first AND r.span * {SPAN} + r.first <= :last"
)
_ROWS = (
    f"SELECT r.case_id, r.span * {SPAN} + r.first, r.span * {SPAN} + r.last, {{}} FROM group_rows r{{}}"
    f" WHERE {_OF_PART}"
)
_WITH_CASES = " JOIN group_cases c ON c.database_id = r.database_id AND c.case_id = r.case_id"
_CASES = text(
    "SELECT c.case_id, c.inst_id, c.con_id, c.consumer_group FROM group_cases c WHERE c.database_id = :database_id"
    f" AND c.case_id IN (SELECT r.case_id FROM group_rows r WHERE {_OF_PART})"
)
_POLLS = text(
    f"SELECT poll, at / {MICRO}.0, interval_us / {MICRO}.0 FROM polls WHERE database_id = :database_id"
    " AND poll BETWEEN :first AND :last ORDER BY poll"
)


def group_lines(tape: Tape, start: datetime, end: datetime, figures: Sequence[str]) -> GroupLines:
    """Return the lines of all groups on all instances between two instants; `figures` are keys of `FIGURES`."""
    found = GroupLines(array("d"), array("d"), {})
    for part in tape.parts(start, end):
        _add(found, _of_part(tape, part, figures))
    return found


def _of_part(tape: Tape, part: TapePart, figures: Sequence[str]) -> GroupLines:
    polls = {poll: (float(at), nan if seconds is None else float(seconds))
             for poll, at, seconds in tape.rows(part, _POLLS)
             if is_number(at) and (seconds is None or is_number(seconds)) and _is_among(poll, part)}  # fmt: skip
    rows = tape.rows(part, _rows_of(figures))
    drawn = _drawn(tape, part, rows)
    told = list(zip(*rows, strict=True))[3:] or [()] * len(figures)  # no rows, where they are damaged
    columns = [[*(value if is_number(value) else nan for value in column), nan] for column in told]
    there = [poll in polls for poll in range(part.first, part.last + 1)]
    known = {}
    for who, places in drawn.items():
        own = list(compress(places, there))
        for figure, column in zip(figures, columns, strict=True):
            line = array("d", [column[place] for place in own])
            if not all(map(isnan, line)):
                known[figure, who] = line
    times, seconds = (array("d", [each[place] for each in polls.values()]) for place in (0, 1))
    return GroupLines(times, seconds, known)


def _rows_of(figures: Sequence[str]) -> TextClause:
    columns = ", ".join(FIGURES[each] for each in figures)
    return text(_ROWS.format(columns, _WITH_CASES if "c." in columns else ""))


def _is_among(poll: object, part: TapePart) -> bool:
    """Whether a poll is one of those that were asked for: by a damaged index others may come."""
    return isinstance(poll, int) and part.first <= poll <= part.last


def _drawn(tape: Tape, part: TapePart, rows: Sequence[tuple[Any, ...]]) -> dict[Who, array[int]]:
    """Return of each group the place of the row that tells of it, poll by poll; -1 where none does."""
    drawn: dict[Who, array[int]] = {}
    line_of = {}
    for case_id, inst_id, con_id, group in tape.rows(part, _CASES):
        who = (inst_id, con_id, clean(str(group)))
        line_of[case_id] = drawn.setdefault(who, array("l", [-1]) * (part.last - part.first + 1))
    for place, (case_id, first, last, *_) in enumerate(rows):
        try:
            if part.first <= first == last:  # most of them
                line_of[case_id][first - part.first] = place
                continue
            begin, end = max(0, first - part.first), min(last, part.last) - part.first + 1
            if begin < end:  # else no recorder wrote it, and the line would become shorter
                line_of[case_id][begin:end] = array("l", [place]) * (end - begin)
        except (TypeError, KeyError, IndexError):  # values that no recorder wrote
            continue
    return drawn


def _add(found: GroupLines, more: GroupLines) -> None:
    """Put the lines of a later stretch behind those found."""
    before, now = len(found.times), len(more.times)
    found.times.extend(more.times)
    found.seconds.extend(more.seconds)
    for key in found.values.keys() | more.values.keys():
        line = found.values.setdefault(key, array("d", [nan]) * before)
        line.extend(more.values.get(key) or array("d", [nan]) * now)
