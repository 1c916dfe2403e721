"""Figures of many waits in bounded memory: exact as long as the distinct values fit, otherwise with a stated error.

A tally keeps how often each elapsed time occurred. Waits are whole microseconds and cluster: a trace of gigabytes
has some ten thousand distinct values, so percentiles are exact and memory does not grow with the file.
If there are more than DISTINCT values after all, they are rounded down to their leading bits, as in an HDR
histogram: with 11 bits every percentile is within 0.05 % of the true one. Count, sum, mean, longest wait and the
shares over 1, 10 and 20 ms stay exact. For charts, samples are kept.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, zip_longest

from msgspec import Struct

DISTINCT = 100_000
"""Distinct values kept in all tallies of an :class:`EventTallies` together: about 10 MB."""

BITS = (11, 9, 7, 5)
"""Leading bits kept of a value in successive roundings; the relative error is 1 in 2 ** bits."""

LIMITS = (1_000, 10_000, 20_000)
"""Limits in microseconds; waits over each are counted."""

PERMILLES = (500, 950, 990, 999)


class Summary(Struct, frozen=True):
    """Figures of one event in one file or in all files. Times are microseconds."""

    event: str
    file: str | None
    """None for all files together."""
    waits: int
    total: int
    mean: float | None
    percentiles: tuple[int | None, ...]
    """Median, p95, p99, p99.9: the least value that this share of the waits does not exceed (nearest rank)."""
    longest: int | None
    over: tuple[float | None, ...]
    """Percent of the waits longer than each of LIMITS."""
    blocks: int | None
    """None if no wait has a number of blocks."""
    error: float
    """Relative error bound of the percentiles; 0 if they are exact."""


class Tally:
    """How often each elapsed time occurred."""

    __slots__ = ("_over", "bits", "blocks", "counts", "longest", "total", "waits")

    def __init__(self) -> None:
        self.waits = self.total = self.longest = 0
        self.blocks: int | None = None
        self.bits: int | None = None
        self.counts: Counter[int] = Counter()
        self._over = [0] * len(LIMITS)

    def add(self, elapsed: Sequence[int], blocks: Sequence[int | None] = ()) -> None:
        """Count waits (microseconds, not negative) and the blocks they moved."""
        moved = sum(filter(None, blocks))
        self.count(Counter(elapsed), moved if moved or 0 in blocks else None)

    def count(self, counts: Mapping[int, int], blocks: int | None = None) -> None:
        """Count waits given as elapsed microseconds to number of waits, and the blocks they moved in all."""
        if blocks is not None:
            self.blocks = (self.blocks or 0) + blocks
        if not counts:
            return
        self.waits += sum(counts.values())
        self.total += sum(elapsed * waits for elapsed, waits in counts.items())
        self.longest = max(self.longest, *counts)
        if self.bits is None:
            self.counts.update(counts)
        else:
            self._add_rounded(counts)

    def merge(self, other: Tally) -> None:
        """Add the counts of another tally; the coarser of the two sets the error."""
        if other.bits is not None and (self.bits is None or other.bits < self.bits):
            self.round_to(other.bits)
        self.waits += other.waits
        self.total += other.total
        self.longest = max(self.longest, other.longest)
        if other.blocks is not None:
            self.blocks = (self.blocks or 0) + other.blocks
        if self.bits is None:
            self.counts.update(other.counts)
        else:
            # From rounded values it is not known which waits were over a limit: the other tally counted them before.
            exact = other.bits is None
            self._add_rounded(other.counts, count_over=exact)
            if not exact:
                self._over = [mine + others for mine, others in zip(self._over, other._over, strict=True)]

    def round_to(self, bits: int) -> None:
        """Keep only the `bits` leading bits of each value from now on."""
        counts, first = self.counts, self.bits is None
        self.counts, self.bits = Counter(), bits
        self._add_rounded(counts, count_over=first)

    def percentiles(self) -> tuple[int | None, ...]:
        """Return the percentiles at PERMILLES."""
        if not self.waits:
            return (None,) * len(PERMILLES)
        values = sorted(self.counts)
        seen = list(accumulate(self.counts[value] for value in values))
        ranks = (max(1, -(-self.waits * permille // 1000)) for permille in PERMILLES)
        return tuple(self._middle(values[bisect_left(seen, rank)]) for rank in ranks)

    def over(self) -> tuple[float | None, ...]:
        """Return the percentages of waits longer than each of LIMITS."""
        if not self.waits:
            return (None,) * len(LIMITS)
        counts = self._over
        if self.bits is None:
            counts = [sum(count for value, count in self.counts.items() if value > limit) for limit in LIMITS]
        return tuple(100 * count / self.waits for count in counts)

    def values(self) -> Iterator[tuple[int, int]]:
        """Yield each time with its number of waits, unordered; rounded times as the middle of their range."""
        return ((self._middle(value), count) for value, count in self.counts.items())

    def summary(self, event: str, file: str | None) -> Summary:
        """Return the figures."""
        return Summary(
            event=event,
            file=file,
            waits=self.waits,
            total=self.total,
            mean=self.total / self.waits if self.waits else None,
            percentiles=self.percentiles(),
            longest=self.longest if self.waits else None,
            over=self.over(),
            blocks=self.blocks,
            error=0 if self.bits is None else 2.0**-self.bits,
        )

    def _add_rounded(self, counts: Mapping[int, int], *, count_over: bool = True) -> None:
        bits = self.bits or 0
        for value, count in counts.items():
            shift = max(0, value.bit_length() - bits)
            self.counts[value >> shift << shift] += count
            if count_over:
                for index, limit in enumerate(LIMITS):
                    self._over[index] += count * (value > limit)

    def _middle(self, value: int) -> int:
        """Return the middle of the range that was rounded to `value`, off by at most half the range."""
        shift = max(0, value.bit_length() - (self.bits or 64))
        return min(value + (1 << shift >> 1), self.longest)


class EventTallies:
    """A tally for each event, with at most DISTINCT values in all of them together."""

    def __init__(self, distinct: int = DISTINCT) -> None:
        self.tallies: dict[str, Tally] = {}
        self._distinct = distinct

    def add(self, events: Sequence[str], elapsed: Sequence[int], blocks: Sequence[int | None]) -> None:
        """Count waits given as columns of equal length."""
        if len(different := set(events)) == 1:
            self._tally(events[0]).add(elapsed, blocks)
        else:
            columns: dict[str, tuple[list[int], list[int | None]]] = {event: ([], []) for event in different}
            for event, time, count in zip(events, elapsed, blocks, strict=True):
                times, counts = columns[event]
                times.append(time)
                counts.append(count)
            for event in sorted(columns):
                self._tally(event).add(*columns[event])
        self._shrink()

    def count(self, counts: Mapping[str, Mapping[int, int]], blocks: Mapping[str, int]) -> None:
        """Count waits given by event as elapsed microseconds to number of waits, and the blocks by event."""
        for event in counts:
            self._tally(event).count(counts[event], blocks.get(event))
        self._shrink()

    def merge(self, other: EventTallies) -> None:
        """Add the counts of `other` and take over its tallies: do not use it afterwards."""
        if not self.tallies:
            self.tallies = other.tallies
            return
        for event, tally in other.tallies.items():
            self._tally(event).merge(tally)
        self._shrink()

    def _tally(self, event: str) -> Tally:
        return self.tallies.setdefault(event, Tally())

    def _shrink(self) -> None:
        """Round tallies further, the largest first, until the values fit or no further rounding is possible."""
        tallies = self.tallies.values()
        excess = sum(len(tally.counts) for tally in tallies) - self._distinct
        while excess > 0 and (finer := [tally for tally in tallies if tally.bits != BITS[-1]]):
            for tally in sorted(finer, key=lambda tally: -len(tally.counts)):
                if excess <= 0:
                    return
                before = len(tally.counts)
                tally.round_to(next(bits for bits in BITS if tally.bits is None or bits < tally.bits))
                excess -= before - len(tally.counts)


MOST_SLOTS = 2_000
"""Slots of a trail: each becomes two points of a scatter."""


class Scatter(Struct, frozen=True):
    """Waits in their order. Each of the `waits` is one of `points`, or hidden behind one."""

    points: list[tuple[int, int]]
    """Number of the wait, from 1, and its microseconds."""
    waits: int
    stride: int
    """How many neighbouring waits are drawn as their first and their longest; 1 if every wait is drawn."""


class Trail:
    """Thins out a growing series: the first and the longest of each `stride` neighbours stay, so no outlier is lost.

    When the slots are full, the trail is thinned. Its length is the number of slots.
    """

    def __init__(self, most: int = MOST_SLOTS) -> None:
        self._most = most
        self._stride = 1
        self._waits = 0
        self._slots: list[tuple[int, int, int, int]] = []  # number and time of the first, of the longest

    def add(self, elapsed: Sequence[int]) -> None:
        """Append waits (microseconds)."""
        start = 0
        while start < len(elapsed):
            part = elapsed[start : start + self._stride - self._waits % self._stride]
            longest = max(part)
            first = self._waits + 1
            slot = (first, part[0], first + part.index(longest), longest)
            if self._waits % self._stride:
                self._slots[-1] = _united(self._slots[-1], slot)
            else:
                self._slots.append(slot)
            self._waits += len(part)
            start += len(part)
            if len(self._slots) >= self._most:
                self.thin()

    def __len__(self) -> int:
        return len(self._slots)

    def thin(self) -> None:
        """Merge neighbours: half the slots, twice the stride."""
        pairs = zip_longest(self._slots[::2], self._slots[1::2])
        self._slots = [_united(one, two) if two else one for one, two in pairs]
        self._stride *= 2

    def scatter(self) -> Scatter:
        """Return the points in their order."""
        points = {point for slot in self._slots for point in (slot[:2], slot[2:])}
        return Scatter(sorted(points), self._waits, self._stride)


def _united(one: tuple[int, int, int, int], two: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    longer = one if one[3] >= two[3] else two
    return (*one[:2], *longer[2:])


class HistogramBar(Struct, frozen=True):
    """A bar of a histogram: waits of at least `low` and less than `high` microseconds."""

    low: float
    high: float
    waits: int


def histogram(tally: Tally) -> list[HistogramBar]:
    """Return bars half a power of two wide, from the shortest wait to the longest, empty ones included."""
    counts: Counter[int] = Counter()
    for value, count in tally.values():
        octave = max(0, value.bit_length() - 1)
        # The bar k with 2 ** (k/2) <= value < 2 ** ((k+1)/2), in whole numbers; 0 for 0 and 1.
        counts[2 * octave + (value * value >= 1 << (2 * octave + 1))] += count
    if not counts:
        return []
    indexes = range(min(counts), max(counts) + 1)
    return [HistogramBar(2 ** (index / 2) if index else 0, 2 ** ((index + 1) / 2), counts[index]) for index in indexes]
