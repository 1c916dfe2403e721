"""Latency bins: the waits of each event over a stretch of a tape, some polls at a time, and the seconds they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

from sqlalchemy import text

from presman.base.text import clean
from presman.recording.measure_tables import MICRO, SPAN
from presman.recording.tape import Tape
from presman.recording.tape_values import TapePart, is_number

_AT_ONCE = 64
"""Spans that are read at once: a month of them would not fit into memory."""

_POLLS = text(
    f"SELECT poll, interval_us / {MICRO}.0 FROM polls WHERE database_id = :database_id"
    " AND poll BETWEEN :first AND :last ORDER BY poll"
)
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


def latency_bins(tape: Tape, start: datetime, end: datetime, width: int) -> dict[str, list[LatencyBin]]:
    """Return by event the polls between two instants, `width` at a time, in order of time.

    A poll counts for an event whose waits are known at it, and how long it was since the poll before.
    """
    seconds: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    waits: dict[str, dict[int, dict[int, int]]] = defaultdict(lambda: defaultdict(lambda: defaultdict(int)))
    before = 0
    for part in tape.parts(start, end):
        rows = tape.rows(part, _POLLS)
        polls = {poll: _Poll((before + place) // width, float(since))
                 for place, (poll, since) in enumerate(rows)
                 if since and is_number(since) and _is_whole(poll)}  # fmt: skip
        before += len(rows)
        for span, own_rows in _spans(tape, part):
            own = [polls.get(poll) for poll in range(span * SPAN, (span + 1) * SPAN)]
            for event, buckets in _by_event(own_rows).items():
                counted = _counted(own, buckets)
                for each in counted:
                    if each is not None:
                        seconds[event][each.bin] += each.seconds
                _add(waits[event], counted, buckets)
    return {
        event: [LatencyBin(of[number], waits[event].get(number, {})) for number in sorted(of)]
        for event, of in seconds.items()
    }


def _spans(tape: Tape, part: TapePart) -> Iterator[tuple[int, Sequence[Any]]]:
    for low in range(part.first // SPAN, part.last // SPAN + 1, _AT_ONCE):
        first, last = max(part.first, low * SPAN), min(part.last, (low + _AT_ONCE) * SPAN - 1)
        for span, rows in groupby(tape.rows(part._replace(first=first, last=last), _WAITS), key=itemgetter(0)):
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
    return [poll if (there & ~unknown) >> place & 1 else None for place, poll in enumerate(polls)]


def _add(found: dict[int, dict[int, int]], polls: Sequence[_Poll | None], buckets: Sequence[Any]) -> None:
    for _, _, upper, _, _, _, *waits in buckets:
        for poll, count in zip(polls, waits, strict=True):
            if count and poll is not None:
                found[poll.bin][upper] += count
