"""Samples of many waits for charts, in bounded memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest

from msgspec import Struct

from presman.trace.tally import Tally

MOST_SLOTS = 2_000


class Scatter(Struct, frozen=True):
    """Waits in their order. Each of `waits` is a point, or stands behind one of `points`."""

    points: list[tuple[int, int]]
    """Number of the wait, from 1, and its microseconds."""
    waits: int
    stride: int
    """Neighbouring waits of which the first and the longest are drawn; 1 if every wait is."""


class Trail:
    """Thins a growing series out: of `stride` neighbours the first and the longest stay, so no outlier is lost.

    When the slots are full, the trail is thinned; its length is the number of slots.
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
        """Unite neighbours: half the slots, twice the stride."""
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
        counts[_half_octave(value)] += count
    if not counts:
        return []
    places = range(min(counts), max(counts) + 1)
    return [HistogramBar(2 ** (place / 2) if place else 0, 2 ** ((place + 1) / 2), counts[place]) for place in places]


def _half_octave(value: int) -> int:
    """Return the place k with 2 ** (k/2) <= value < 2 ** ((k+1)/2), in whole numbers; 0 for 0 and 1."""
    if value < 2:
        return 0
    octave = value.bit_length() - 1
    return 2 * octave + (value * value >= 1 << (2 * octave + 1))
