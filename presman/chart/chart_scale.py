"""Scale: where an instant and a value are on a chart, and the marks at its sides."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from presman.base.svg import WIDTH
from presman.chart.file_series import SeriesPanel
from presman.chart.thinning import largest

HEIGHT = 480
LEFT, RIGHT, TOP, BOTTOM = 80, 40, 50, 110
"""Of a drawing, and what of it is beside the lines."""

_TICKS = 5


class ChartScale(NamedTuple):
    """First and last instant (seconds since 1970), upper and lower end of the values, with zero between them."""

    start: float
    end: float
    top: float
    bottom: float

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
    top, bottom = max(0.0, *values), min(0.0, *values)
    return ChartScale(min(instants), max(instants), top if top > bottom else bottom + 1.0, bottom)


def marks(low: float, high: float) -> list[float]:
    """Return the places of ticks, at equal distances."""
    if high <= low:
        return [low]
    return [low + (high - low) * place / (_TICKS - 1) for place in range(_TICKS)]


def clock(at: float, seconds: float) -> str:
    """Return an instant in the user's zone, with the date where a chart is of so many seconds that it needs one."""
    form = "%H:%M:%S" if seconds < 86_400 else "%m-%d %H:%M"
    return datetime.fromtimestamp(at).astimezone().strftime(form)
