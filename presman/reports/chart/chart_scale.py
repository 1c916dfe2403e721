"""Scale of a chart: which points are drawn, where an instant and a value are, and the marks at its sides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from presman.base.axis import nice_axis, time_label, time_ticks
from presman.base.markup import WIDTH
from presman.reports.chart.file_series import SeriesPanel

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


HEIGHT = 480
LEFT, RIGHT, TOP, BOTTOM = 80, 40, 50, 110
"""Of a drawing, and what of it is beside the lines."""

_TICKS = 4


class ChartScale(NamedTuple):
    """First and last instant (seconds since 1970), and the ticks of the values from the lower end to the upper one."""

    start: float
    end: float
    levels: Sequence[float]

    @property
    def top(self) -> float:
        """The upper end of the values."""
        return self.levels[-1]

    @property
    def bottom(self) -> float:
        """The lower end, zero where none is below it."""
        return self.levels[0]

    def across(self, at: float) -> float:
        """Return where an instant is in a drawing."""
        return LEFT + (at - self.start) / ((self.end - self.start) or 1) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """Return where a value is in a drawing."""
        return HEIGHT - BOTTOM - (value - self.bottom) / (self.top - self.bottom) * (HEIGHT - TOP - BOTTOM)


def scale_of(panel: SeriesPanel) -> ChartScale:
    """Return the scale of the series that are drawn."""
    points = [point for name in largest(panel.series) for point in panel.series[name]]
    instants, values = [at for at, _ in points], [value for _, value in points]
    return ChartScale(min(instants), max(instants), nice_axis(max(values), _TICKS, min(values))[1])


def is_nothing(panel: SeriesPanel) -> bool:
    """Whether all values are 0."""
    return not any(value for points in panel.series.values() for _, value in points)


def times(scale: ChartScale, most: int) -> dict[float, str]:
    """Return round instants by where they are, some `most` of them or fewer; of a single instant that one."""
    seconds = scale.end - scale.start
    start, end = (datetime.fromtimestamp(each, UTC) for each in (scale.start, scale.end))
    return {each.timestamp(): time_label(each, seconds) for each in time_ticks(start, end, most) or [start]}
