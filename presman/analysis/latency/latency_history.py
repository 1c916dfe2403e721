"""History of histograms in compact form: the waits that every poll added, for heat maps and sums over the last minutes.

A poll is one block of bytes (MessagePack). For each event that was waited for, it has the event's number, instance,
measured waits and microseconds, and the number and growth of each bucket that grew. A bucket's number is the power of
two of its bound in microseconds, so that bounds of both views fit one scale (1 ms, as 1,024 us, is number 10).
"""

import sys
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from datetime import datetime
from itertools import islice, takewhile
from math import log2
from typing import NamedTuple

from msgspec import Struct, field, msgpack

from presman.analysis.latency.histograms import HistogramSpan, Latency, latency
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.wait_readings import ESTIMATOR, EventWaits, Histogram
from presman.base.sums import summed

_EACH = 48
"""Approximate overhead of a block in bytes."""

NUMBERS = 33
"""The largest number of buckets: bounds from 1 us to 2**32 us, which is 71 minutes; the last one is open-ended."""

_MOST, _MOST_WAITS = (1 << 32) - 1, (1 << 63) - 1
"""The largest values kept for a bucket and for measured waits; a recording may come from a stranger and have larger
ones."""

_MOST_EVENTS = _MOST_INSTANCES = (1 << 16) - 1
"""No database has more events or larger instance numbers."""


class _Grown(NamedTuple):
    """Waits that one poll added to an event on an instance, by bucket number; None without a delta.

    `waited` is measured waits and microseconds, None if V$SYSTEM_EVENT is not queried for the event.
    """

    event: int
    inst_id: int
    counts: dict[int, int] | None
    waited: tuple[int, int] | None


class _Poll(Struct, array_like=True):
    """Epoch seconds, the length of the interval (0: none), CPUs held back by instance, and the events."""

    at: float
    seconds: float
    throttled: dict[int, float]
    events: list[_Grown]


_decoder = msgpack.Decoder(_Poll)


def number_of(upper_us: int) -> int:
    """Return the number of the bucket below a bound."""
    # Rounded, because the bounds of V$EVENT_HISTOGRAM are multiples of 1,000 us, a little less than a power of two.
    return min(NUMBERS - 1, max(0, round(log2(upper_us)))) if upper_us > 0 else 0


class LatencyColumn(NamedTuple):
    """Waits that one poll added to one event: epoch seconds, length of the interval, waits by bucket number.

    `seconds` is None without a delta. `waited` is what V$SYSTEM_EVENT measured in it, None if it is not queried.
    `throttled` is the average CPUs that Resource Manager held back, None if not known.
    """

    at: float
    seconds: float | None
    counts: dict[int, int]
    waited: EventWaits | None
    throttled: float | None


def frequency(column: LatencyColumn) -> dict[int, float]:
    """Return waits per second by number of the buckets that grew."""
    return {number: count / column.seconds for number, count in column.counts.items()} if column.seconds else {}


def intensity(column: LatencyColumn, bounds: Mapping[int, int]) -> dict[int, float]:
    """Return estimated seconds waited per second by bucket number; `bounds` are in microseconds by number."""
    rates = frequency(column).items()
    return {number: ESTIMATOR * bounds.get(number, 1 << number) / 1e6 * rate for number, rate in rates}


class LatencyHistory:
    """The columns of all events, oldest first. Bounded by `count` polls and by `size` bytes.

    `used` is their approximate size in bytes; `dropped` is the number of polls removed before those kept.
    """

    def __init__(self, count: int = 3600, size: int = 4 << 20) -> None:
        self._count = count
        self._size = size
        self._polls: deque[bytes] = deque()
        self.used = self.dropped = 0
        self._newest = 0.0
        self._read_at: datetime | None = None
        self._held: dict[int, float] = {}
        self._held_for = 0.0
        self._totals: dict[tuple[int, str], EventWaits | None] = {}
        self._events: dict[str, int] = {}
        self._begun: dict[int, int] = {}
        self.bounds: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._polls)

    def add(self, reading: Reading) -> None:
        """Add a reading. A reading that is not newer than the last one changes nothing.

        A reading without its own histograms adds no column; the CPUs held back in it count for the next one.
        """
        at = reading.at.timestamp()
        if self._polls and at <= self._newest:
            return
        self._newest = at
        self._hold(reading)
        # Histograms are read less often than the rest: these were added with an earlier reading.
        if self._read_at is not None and reading.histograms_at == self._read_at:
            return
        self._read_at = reading.histograms_at
        seconds = next((each.seconds for each in reading.histograms if each.seconds), 0.0)
        throttled = {inst_id: held / self._held_for for inst_id, held in self._held.items()}
        self._held, self._held_for = {}, 0.0
        events = [each for each in map(self._grown, reading.histograms) if each is not None] if seconds else []
        self._totals = {(each.inst_id, each.event): each.startup for each in reading.histograms}
        self._polls.append(msgpack.encode(_Poll(at, seconds, throttled, events)))
        self.used += len(self._polls[-1]) + _EACH
        while len(self._polls) > self._count or (self.used > self._size and len(self._polls) > 1):
            self.used -= len(self._polls.popleft()) + _EACH
            self.dropped += 1

    def _hold(self, reading: Reading) -> None:
        """Add up the CPUs held back since the last column."""
        known = _throttled(reading)
        seconds = reading.interval or 1.0
        if known:
            self._held = {key: self._held.get(key, 0.0) + cpus * seconds for key, cpus in known.items()}
            self._held_for += seconds

    def _grown(self, histogram: Histogram) -> _Grown | None:
        """Return the waits that the newest poll added to an event, None if it had none."""
        # Where the view with the sums was read more often, its growth since the last column is that of its totals.
        waited = histogram.now or _growth(self._totals.get((histogram.inst_id, histogram.event)), histogram.startup)
        if not 0 <= histogram.inst_id <= _MOST_INSTANCES or len(self._events) >= _MOST_EVENTS:
            return None
        number = self._events.setdefault(histogram.event, len(self._events))
        counts: dict[int, int] = {}
        for bucket in histogram.buckets:
            if bucket.delta is None:
                if all(event != histogram.event for _, event in self._totals):  # it is read from here on
                    self._begun[number] = self.dropped + len(self._polls)
                return _Grown(number, histogram.inst_id, None, None)
            if bucket.delta:
                place = number_of(bucket.upper_us)
                self.bounds[place] = bucket.upper_us
                counts[place] = counts.get(place, 0) + _within(bucket.delta, _MOST)
        if not counts and not (waited and waited.waits):
            return None
        most = _MOST_WAITS
        measured = (_within(waited.waits, most), _within(waited.microseconds, most)) if waited is not None else None
        return _Grown(number, histogram.inst_id, counts, measured)

    def columns(self, inst_id: int, event: str, first: int = 0) -> list[LatencyColumn]:
        """Return the columns of an event on an instance (0: all of them) from poll `first` on.

        Polls are numbered from the very first one, including those that were dropped. A poll that did not read the
        event is a gap.
        """
        number = self._events.get(event, -1)
        start = max(0, first - self.dropped)
        columns = [_column(poll, inst_id, number) for poll in islice(self._polls, start, None)]
        unread = max(0, self.begun(event) - self.dropped - start)
        gaps = (each if each.counts else each._replace(seconds=None, waited=None) for each in columns[:unread])
        return [*gaps, *columns[unread:]]

    def begun(self, event: str) -> int:
        """Return the number of the poll from which on an event is read; a larger one if it was not read."""
        return self._begun.get(self._events[event], 0) if event in self._events else sys.maxsize

    def bound(self, number: int) -> int:
        """Return the bound of a bucket in microseconds, as the database has it."""
        return self.bounds.get(number, 1 << number)


def _growth(before: EventWaits | None, after: EventWaits | None) -> EventWaits | None:
    """Return the waits between two totals, None if one of them is not known."""
    if before is None or after is None:
        return None
    return EventWaits(after.waits - before.waits, after.microseconds - before.microseconds)


def _within(value: int, most: int) -> int:
    """Return a count limited to 0..`most`."""
    return min(max(0, value), most)


def _throttled(reading: Reading) -> dict[int, float]:
    """Return the CPUs held back in the cluster and on each instance, if known for all groups there."""
    unknown = {group.inst_id for group in reading.groups if group.waiting is None and group.is_listed()}
    sums = summed((group.inst_id, group.waiting) for group in reading.groups if group.waiting is not None)
    return {key: cpus for key, cpus in sums.items() if key not in unknown and 0 <= key <= _MOST_INSTANCES}


def _column(block: bytes, inst_id: int, event: int) -> LatencyColumn:
    poll = _decoder.decode(block)
    events = [each for each in poll.events if each.event == event and inst_id in (CLUSTER, each.inst_id)]
    held = poll.throttled.get(inst_id, poll.throttled.get(CLUSTER))
    if not poll.seconds or any(each.counts is None for each in events):
        return LatencyColumn(poll.at, None, {}, None, held)
    counts = Counter[int]()
    for each in events:
        counts.update(each.counts)
    return LatencyColumn(poll.at, poll.seconds, dict(counts), _together(each.waited for each in events), held)


def _together(parts: Iterable[tuple[int, int] | None]) -> EventWaits | None:
    """Return the sum of measured waits and microseconds, None if one of them is missing."""
    found = list(parts)
    measured = [each for each in found if each is not None]
    return EventWaits(*map(sum, zip((0, 0), *measured, strict=True))) if len(measured) == len(found) else None


class Track(Struct):
    """The columns of the event on screen, decoded once and then poll by poll."""

    history: LatencyHistory
    inst_id: int = CLUSTER
    event: str = ""
    columns: deque[LatencyColumn] = field(default_factory=deque)
    _next: int = 0
    _begun: int = 0

    def follow(self, inst_id: int, event: str) -> bool:
        """Add what is new since the last call, or switch to another event; return whether it is another one."""
        history = self.history
        other = (inst_id, event) != (self.inst_id, self.event)
        if other or self._begun != history.begun(event):
            self.inst_id, self.event, self._begun = inst_id, event, history.begun(event)
            self.columns.clear()
            self._next = 0
        self.columns.extend(history.columns(inst_id, event, self._next))
        self._next = history.dropped + len(history)
        while len(self.columns) > len(history):
            self.columns.popleft()
        return other

    def window(self, end: float, seconds: float) -> Latency:
        """Return the waits of the last `seconds` before `end` (epoch seconds), as far as they were polled."""
        counts = Counter[int]()
        newest = takewhile(lambda column: column.at > end - seconds, reversed(self.columns))
        columns = [column for column in newest if column.at <= end and column.seconds is not None]
        for column in columns:
            counts.update(column.counts)
        bounds = {self.history.bound(number): count for number, count in counts.items()}
        parts = (column.waited for column in columns)
        waited = _together(None if each is None else (each.waits, each.microseconds) for each in parts)
        covered = sum(column.seconds or 0.0 for column in columns) or None
        measured = waited if waited and waited.waits else None
        return latency((self.inst_id, self.event), HistogramSpan.WINDOW, bounds, covered, measured)
