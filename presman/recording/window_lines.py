"""Figures over a stretch of a recording: a line for each figure of the consumer groups, and the waits of each event.

Of rows that last for several polls each is read once, and no poll is analysed: an hour takes some milliseconds. Waits
are counted some polls at a time, with the seconds they are of.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import compress, groupby
from math import isnan, nan
from operator import itemgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import TextClause, text

from presman.base.text import clean
from presman.recording.measure_tables import MICRO, SCALE, SPAN, all_kinds
from presman.recording.playback import Playback
from presman.recording.playback_values import PlaybackPart, is_number

FIGURES: Mapping[str, str] = MappingProxyType(
    {
        "used": f"r.used_cpus / {SCALE}.0",
        "waiting": f"r.waited_cpus / {SCALE}.0",
        "entitled": f"r.entitled_cpus / {SCALE}.0",
        "io": f"{all_kinds('mb_per_s')} / {SCALE}.0",
        "requests": f"{all_kinds('requests_per_s')} / {SCALE}.0",
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


def group_lines(playback: Playback, start: datetime, end: datetime, figures: Sequence[str]) -> GroupLines:
    """Return the lines of all groups on all instances between two instants; `figures` are keys of `FIGURES`."""
    found = GroupLines(array("d"), array("d"), {})
    for part in playback.parts(start, end):
        _add(found, _of_part(playback, part, figures))
    return found


def _of_part(playback: Playback, part: PlaybackPart, figures: Sequence[str]) -> GroupLines:
    polls = {poll: (float(at), nan if seconds is None else float(seconds))
             for poll, at, seconds in playback.rows(part, _POLLS)
             if is_number(at) and (seconds is None or is_number(seconds)) and _is_among(poll, part)}  # fmt: skip
    rows = playback.rows(part, _rows_of(figures))
    drawn = _drawn(playback, part, rows)
    values = list(zip(*rows, strict=True))[3:] or [()] * len(figures)  # no rows, where they are damaged
    columns = [[*(value if is_number(value) else nan for value in column), nan] for column in values]
    there = [poll in polls for poll in range(part.first, part.last + 1)]
    known = {}
    for who, indexes in drawn.items():
        own = list(compress(indexes, there))
        for figure, column in zip(figures, columns, strict=True):
            line = array("d", [column[index] for index in own])
            if not all(map(isnan, line)):
                known[figure, who] = line
    times, seconds = (array("d", [each[index] for each in polls.values()]) for index in (0, 1))
    return GroupLines(times, seconds, known)


def _rows_of(figures: Sequence[str]) -> TextClause:
    columns = ", ".join(FIGURES[each] for each in figures)
    return text(_ROWS.format(columns, _WITH_CASES if "c." in columns else ""))


def _is_among(poll: object, part: PlaybackPart) -> bool:
    """Whether a poll is one of those that were asked for: by a damaged index others may come."""
    return isinstance(poll, int) and part.first <= poll <= part.last


def _drawn(playback: Playback, part: PlaybackPart, rows: Sequence[tuple[Any, ...]]) -> dict[Who, array[int]]:
    """Return of each group the index of the row that tells of it, poll by poll; -1 where none does."""
    drawn: dict[Who, array[int]] = {}
    line_of = {}
    for case_id, inst_id, con_id, group in playback.rows(part, _CASES):
        who = (inst_id, con_id, clean(str(group)))
        line_of[case_id] = drawn.setdefault(who, array("l", [-1]) * (part.last - part.first + 1))
    for index, (case_id, first, last, *_) in enumerate(rows):
        try:
            if part.first <= first == last:  # most of them
                line_of[case_id][first - part.first] = index
                continue
            begin, end = max(0, first - part.first), min(last, part.last) - part.first + 1
            if begin < end:  # else no recorder wrote it, and the line would become shorter
                line_of[case_id][begin:end] = array("l", [index]) * (end - begin)
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


_AT_ONCE = 64
"""Spans that are read at once: a month of them would not fit into memory."""

_PLACES = ", ".join(f"w.waits_{each}" for each in range(SPAN))
_WAITS = text(
    f"SELECT w.span, b.event, b.upper_us, w.first, w.last, w.known, {_PLACES}"
    " FROM bucket_waits w JOIN buckets b ON b.database_id = w.database_id AND b.bucket_id = w.bucket_id"
    f" WHERE w.database_id = :database_id AND w.span BETWEEN :first / {SPAN} AND :last / {SPAN} ORDER BY w.span"
)


class LatencyBin(NamedTuple):
    """Waits by the upper bound of their bucket in microseconds, over all instances, in so many seconds."""

    seconds: float
    waits: Mapping[int, int]


class _Poll(NamedTuple):
    """A poll: the bin it is in, and the seconds since the one before."""

    bin: int
    seconds: float


def latency_bins(playback: Playback, start: datetime, end: datetime, width: int) -> dict[str, list[LatencyBin]]:
    """Return by event the polls between two instants, `width` at a time, in order of time.

    A poll counts for an event whose waits are known at it, and how long it was since the poll before.
    """
    seconds: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    waits: dict[str, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    before = 0
    for part in playback.parts(start, end):
        rows = playback.rows(part, _POLLS)
        polls = {poll: _Poll((before + index) // width, float(since))
                 for index, (poll, _, since) in enumerate(rows)
                 if since and is_number(since) and _is_whole(poll)}  # fmt: skip
        before += len(rows)
        for span, own_rows in _spans(playback, part):
            own = [polls.get(poll) for poll in range(span * SPAN, (span + 1) * SPAN)]
            for event, buckets in _by_event(own_rows).items():
                counted = _counted(own, buckets)
                for each in counted:
                    if each is not None:
                        seconds[event][each.bin] += each.seconds
                _add_waits(waits[event], counted, buckets)
    return {
        event: [LatencyBin(of[number], waits[event].get(number, {})) for number in sorted(of)]
        for event, of in seconds.items()
    }


def _spans(playback: Playback, part: PlaybackPart) -> Iterator[tuple[int, Sequence[Any]]]:
    for low in range(part.first // SPAN, part.last // SPAN + 1, _AT_ONCE):
        first, last = max(part.first, low * SPAN), min(part.last, (low + _AT_ONCE) * SPAN - 1)
        for span, rows in groupby(playback.rows(part._replace(first=first, last=last), _WAITS), key=itemgetter(0)):
            if _is_whole(span):
                yield span, list(rows)


def _by_event(rows: Sequence[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        if _is_sane(*row[2:6]) and all(each is None or type(each) is int for each in row[6:]):
            found.setdefault(clean(str(row[1])), []).append(row)
    return found


def _is_sane(upper: Any, first: Any, last: Any, known: Any) -> bool:
    """Whether a recorder may have written this: in a damaged file anything may stand anywhere."""
    return _is_whole(upper, first, last) and 0 <= first <= last < SPAN and (known is None or _is_whole(known))


def _is_whole(*values: Any) -> bool:
    return all(type(each) is int for each in values)


def _counted(polls: Sequence[_Poll | None], buckets: Sequence[Any]) -> list[_Poll | None]:
    """Return the polls of a span at which the waits of an event are known, None in place of the others."""
    there = unknown = 0
    for _, _, _, first, last, known, *_ in buckets:
        there |= (1 << (last + 1)) - (1 << first)
        unknown |= 0 if known else 1 << first
    return [poll if (there & ~unknown) >> index & 1 else None for index, poll in enumerate(polls)]


def _add_waits(found: dict[int, dict[int, int]], polls: Sequence[_Poll | None], buckets: Sequence[Any]) -> None:
    for _, _, upper, _, _, _, *waits in buckets:
        for poll, count in zip(polls, waits, strict=True):
            if count and poll is not None:
                found[poll.bin][upper] += count
