"""Binned series: values poll by poll, or of so many polls together that a long window is no more work than an hour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from presman.reports.compare.noise import Value

MOST_VALUES = 720
"""Values of a series: an hour at 5 seconds. Of longer windows each is of several polls."""


class FigureKey(NamedTuple):
    """Which figure of whom: section, group or event or statement, name with unit."""

    section: str
    subject: str
    figure: str


Series = Mapping[FigureKey, Sequence[Value]]


def width_for(polls: int) -> int:
    """Return how many polls a value is of."""
    return max(1, -(-polls // MOST_VALUES))


class BinnedSeries:
    """Values in the making; a poll is known by its place in the window."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._sums: dict[FigureKey, dict[int, list[float]]] = {}

    def add(self, key: FigureKey, place: int, over: float, under: float) -> None:
        """Add a quotient of one poll."""
        own = self._sums.setdefault(key, {}).setdefault(place // self.width, [0.0, 0.0])
        own[0] += over
        own[1] += under

    def series(self) -> dict[FigureKey, list[Value]]:
        """Return the values in order of time."""
        return {key: [Value(*own[place]) for place in sorted(own)] for key, own in self._sums.items()}


def thinned(values: Sequence[Value]) -> list[Value]:
    """Return values that follow each other put together, so that there are not too many."""
    width = width_for(len(values))
    parts = [values[begin : begin + width] for begin in range(0, len(values), width)]
    return [Value(sum(each.over for each in part), sum(each.under for each in part)) for part in parts]
