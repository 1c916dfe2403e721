"""Scale: where an instant and a value are on a chart, and the marks at its sides."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from presman.base.axis import nice_axis, time_label, time_ticks
from presman.base.markup import WIDTH
from presman.reports.chart.file_series import SeriesPanel
from presman.reports.chart.thinning import largest

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
