"""Group lines: what charts show of the consumer groups over a stretch of a tape, a column of values for each line.

Of rows that last for several polls each is read once, and no poll is analysed: an hour takes some milliseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from itertools import compress
from math import isnan, nan
from typing import NamedTuple

from sqlalchemy import text

from presman.base.text import clean
from presman.recording.measure_tables import MICRO, SCALE, SPAN
from presman.recording.tape import Tape
from presman.recording.tape_values import TapePart

MEASURES = ("used", "waiting", "io", "servers", "queued")

Who = tuple[int, int, str]
"""Instance, container, group."""

LineKey = tuple[str, int, int, str]
"""Measure, and who."""


class GroupLines(NamedTuple):
    """Instants in seconds since 1970, and of each line its value at each of them: NaN where it is not known."""

    times: array[float]
    values: dict[LineKey, array[float]]


_OF_PART = (
    f"r.database_id = :database_id AND r.span BETWEEN :first / {SPAN} AND :last / {SPAN}"
    f" AND r.span * {SPAN} + r.last >= :first AND r.span * {SPAN} + r.first <= :last"
)
_RUNS = text(
    f"SELECT r.case_id, r.span * {SPAN} + r.first, r.span * {SPAN} + r.last, r.used_cpus / {SCALE}.0,"
    f" r.waited_cpus / {SCALE}.0, (r.small_read_mb_per_s + r.small_write_mb_per_s + r.large_read_mb_per_s +"
    f" r.large_write_mb_per_s) / {SCALE}.0, r.px_servers_active, r.px_statements_queued FROM group_rows r"
    f" WHERE {_OF_PART}"
)
_CASES = text(
    "SELECT c.case_id, c.inst_id, c.con_id, c.consumer_group FROM group_cases c WHERE c.database_id = :database_id"
    f" AND c.case_id IN (SELECT r.case_id FROM group_rows r WHERE {_OF_PART})"
)
_POLLS = text(
    "SELECT poll, at FROM polls WHERE database_id = :database_id AND poll BETWEEN :first AND :last ORDER BY poll"
)


def group_lines(tape: Tape, start: datetime, end: datetime) -> GroupLines:
    """Return the lines of all groups on all instances between two instants."""
    found = GroupLines(array("d"), {})
    for part in tape.parts(start, end):
        _add(found, _of_part(tape, part))
    return found


def _of_part(tape: Tape, part: TapePart) -> GroupLines:
    at = {poll: at / MICRO for poll, at in tape.rows(part, _POLLS) if type(poll) is type(at) is int}
    blank = array("d", [nan]) * (part.last - part.first + 1)
    drawn: dict[Who, list[array[float]]] = {}
    lines_of = {}
    for case_id, inst_id, con_id, group in tape.rows(part, _CASES):
        who = (inst_id, con_id, clean(str(group)))
        lines_of[case_id] = drawn.get(who) or drawn.setdefault(who, [blank[:] for _ in MEASURES])
    for case_id, first, last, *values in tape.rows(part, _RUNS):
        with suppress(TypeError, KeyError):  # values that no recorder wrote
            _draw(lines_of[case_id], max(0, first - part.first), min(last, part.last) - part.first + 1, values)
    there = [part.first + place in at for place in range(len(blank))]
    values_of = {
        (measure, *who): line if all(there) else array("d", compress(line, there))
        for who, lines in drawn.items()
        for measure, line in zip(MEASURES, lines, strict=True)
    }
    known = {key: line for key, line in values_of.items() if not all(map(isnan, line))}
    return GroupLines(array("d", at.values()), known)


def _draw(lines: Sequence[array[float]], begin: int, end: int, values: Sequence[float | None]) -> None:
    """Put values into the lines from one place up to another, not included."""
    if end - begin == 1:
        for line, value in zip(lines, values, strict=True):
            if value is not None:
                line[begin] = value
        return
    for line, value in zip(lines, values, strict=True):
        if value is not None:
            line[begin:end] = array("d", [value]) * (end - begin)


def _add(found: GroupLines, more: GroupLines) -> None:
    """Put the lines of a later stretch behind those found."""
    before, now = len(found.times), len(more.times)
    found.times.extend(more.times)
    for key in found.values.keys() | more.values.keys():
        line = found.values.setdefault(key, array("d", [nan]) * before)
        line.extend(more.values.get(key) or array("d", [nan]) * now)
