"""Fewer points for a chart: of each stretch of time the least and the largest, so that no peak is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median

MOST_SERIES = 8
"""Lines that one chart can tell apart."""
_GAP = 3.0
"""Times the usual distance of two points from which on no line is drawn between them."""

Point = tuple[float, float]


def largest(series: Mapping[str, Sequence[Point]]) -> list[str]:
    """Return the names that are drawn: those with the largest values in sum, largest first."""
    sums = {name: sum(abs(value) for _, value in points) for name, points in series.items() if points}
    return sorted(sums, key=lambda name: (-sums[name], name))[:MOST_SERIES]


def segments(points: Sequence[Point]) -> list[list[Point]]:
    """Return the points in pieces without gaps."""
    apart = [later[0] - earlier[0] for earlier, later in pairwise(points)]
    limit = _GAP * median(apart) if apart else 0.0
    found: list[list[Point]] = [list(points[:1])] if points else []
    for distance, point in zip(apart, points[1:], strict=True):
        if distance > limit:
            found.append([])
        found[-1].append(point)
    return found


def thinned(points: Sequence[Point], start: float, end: float, stretches: int) -> list[Point]:
    """Return at most two points for each of `stretches` between two instants, in order of time."""
    if len(points) <= 2 * stretches or end <= start:
        return list(points)
    parts: dict[int, tuple[Point, Point]] = {}
    for point in points:
        place = min(stretches - 1, int((point[0] - start) / (end - start) * stretches))
        low, high = parts.get(place, (point, point))
        parts[place] = (point if point[1] < low[1] else low, point if point[1] > high[1] else high)
    return [each for pair in parts.values() for each in dict.fromkeys(sorted(pair))]
