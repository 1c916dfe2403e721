"""Charts with axes. The only module that knows plotext (5.3), which it loads at the first chart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, Run, merge, pad
from presman.tui.widgets.palette import SERIES

_COLORED = re.compile("\x1b\\[38;5;(\\d+)m")
_ESCAPE = re.compile("\x1b\\[[0-9;]*m")
_FIRST_COLOR = 1
LETTERS = "ABCDEF"
"""How series are told apart without colour."""


@dataclass(frozen=True, slots=True)
class ChartData:
    """What a chart shows: equally spaced values per series (None where there is none), oldest first.

    `ticks` are (index, label) on the time axis, `limit` a horizontal line (the CPUs there are), None without one,
    `cursor` the index of the instant on screen while scrolled back.
    """

    title: str
    series: tuple[tuple[str, tuple[float | None, ...]], ...]
    ticks: tuple[tuple[int, str], ...]
    limit: float | None = None
    cursor: int | None = None


@lru_cache(maxsize=16)
def chart_lines(data: ChartData, width: int, height: int, letters: bool) -> tuple[Line, ...]:
    """Draw a chart in `width` x `height` cells: its title with the legend, then the plot."""
    legend: list[Run] = [(data.title, "title")]
    for index, (name, values) in enumerate(data.series[: len(SERIES)]):
        last = next((value for value in reversed(values) if value is not None), None)
        mark = LETTERS[index] if letters else "━"
        legend.append((f"  {mark} {name}", SERIES[index]))
        legend.append(("" if last is None else f" {last:.1f}", "dim"))
    if not any(value is not None for _, values in data.series for value in values):
        return (pad(merge(legend), width), pad((("  collecting: the first points appear soon", "dim"),), width))
    return (pad(merge(legend), width), *_plot(data, width, max(4, height - 1), letters))


def _plot(data: ChartData, width: int, height: int, letters: bool) -> list[Line]:
    import plotext

    plotext.clear_figure()
    plotext.limit_size(False, False)
    plotext.plotsize(width, height)
    plotext.theme("clear")
    plotext.xaxes(True, False)
    plotext.yaxes(True, False)
    highest = data.limit or 0.0
    for index, (_, values) in enumerate(data.series[: len(SERIES)]):
        points = [(x, value) for x, value in enumerate(values) if value is not None]
        if points:
            marker = LETTERS[index] if letters else "braille"
            plotext.plot(*zip(*points, strict=True), color=_FIRST_COLOR + index, marker=marker)
            highest = max(highest, *(value for _, value in points))
    if data.limit:
        plotext.hline(data.limit, color=_FIRST_COLOR + len(SERIES))
    if data.cursor is not None:
        plotext.vline(data.cursor, color=_FIRST_COLOR + len(SERIES))
    length = max((len(values) for _, values in data.series), default=2)
    plotext.xlim(0, max(1, length - 1))
    plotext.ylim(0, highest * 1.05 or 1.0)
    plotext.xticks([x for x, _ in data.ticks], [label for _, label in data.ticks])
    return [_line(text, width) for text in plotext.build().splitlines()[:height]]


def _line(text: str, width: int) -> Line:
    """Turn one line of plotext's output into runs."""
    styles: Mapping[int, str] = {_FIRST_COLOR + index: name for index, name in enumerate(SERIES)}
    runs: list[Run] = []
    style = "dim"
    position = 0
    for escape in _ESCAPE.finditer(text):
        runs.append((text[position : escape.start()], style))
        color = _COLORED.fullmatch(escape.group())
        style = styles.get(int(color.group(1)), "mark") if color else "dim"
        position = escape.end()
    runs.append((text[position:], style))
    return pad(merge(runs), width)


class Chart(LineView):
    """A chart that is drawn anew only when its data, its size or the theme changed."""

    _data: ChartData | None = None

    def show(self, data: ChartData) -> None:
        """Show this data."""
        if data != self._data:
            self._data = data
            self._draw()

    def on_resize(self) -> None:
        """Draw in the new size."""
        self._draw()

    def _draw(self) -> None:
        if self._data is None or self.size.width < 20 or self.size.height < 5:
            self.show_lines(())
            return
        letters = self.app.no_color or self.app.current_theme.ansi
        self.show_lines(chart_lines(self._data, self.size.width, self.size.height, bool(letters)))


def series_of(values: Mapping[str, Sequence[float | None]], most: int = len(SERIES)) -> ChartData:
    """Return chart data of the series with the highest means, without ticks."""
    ranked = sorted(values, key=lambda name: -sum(value or 0.0 for value in values[name]))[:most]
    return ChartData("", tuple((name, tuple(values[name])) for name in ranked), ())
