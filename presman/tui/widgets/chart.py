"""Charts with axes. The only module that knows plotext (5.3), which it loads at the first chart."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from math import ceil, floor, log10

from presman.drawing.lines import Line, Run, merge, pad
from presman.tabs.charts import ChartData
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.palette import SERIES

_COLORED = re.compile("\x1b\\[38;5;(\\d+)m")
_ESCAPE = re.compile("\x1b\\[[0-9;]*m")
_FIRST_COLOR = 1
LETTERS = "ABCDEF"
"""How series are told apart without colour."""


@lru_cache(maxsize=4)
def chart_lines(data: ChartData, width: int, height: int, letters: bool) -> tuple[Line, ...]:
    """Draw a chart in `width` x `height` cells: its title with the legend, then the plot."""
    legend: list[Run] = [(data.title, "title")]
    for index, (name, values) in enumerate(data.series[: len(SERIES)]):
        last = next((value for value in reversed(values) if value is not None), None)
        mark = LETTERS[index] if letters else "━"
        legend.append((f"  {mark} {name}", SERIES[index]))
        legend.append(("" if last is None else f" {last:.1f}", "dim"))
    if data.limit:
        legend += [("  ─ ", "mark"), (f"limit {data.limit:g}", "dim")]
    for _, words in data.marks[-2:]:
        legend += [("  ┆ ", "mark"), (words, "dim")]
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
    highest = max(
        data.limit or 0.0,
        *(value for _, values in data.series[: len(SERIES)] for value in values if value is not None),
    )
    for index, (_, values) in enumerate(data.series[: len(SERIES)]):
        marker = LETTERS[index] if letters else "braille"
        for xs, ys in stretches(values, data.bridge):
            plotext.plot(xs, ys, color=_FIRST_COLOR + index, marker=marker)
    if data.limit:
        plotext.hline(data.limit, color=_FIRST_COLOR + len(SERIES))
    for x, _ in data.marks:
        plotext.vline(x, color=_FIRST_COLOR + len(SERIES))
    if data.cursor is not None:
        plotext.vline(data.cursor, color=_FIRST_COLOR + len(SERIES))
    plotext.xlim(0, data.length)
    top, ticks = nice_axis(highest, max(3, min(5, height // 3)))
    plotext.ylim(0, top)
    plotext.yticks(ticks, [f"{tick:g}" for tick in ticks])
    plotext.xticks([x for x, _ in data.ticks], [label for _, label in data.ticks])
    return [_line(text, width) for text in plotext.build().splitlines()[:height]]


def stretches(values: Sequence[float | None], bridge: int) -> list[tuple[list[int], list[float]]]:
    """Cut a series where more than `bridge` steps in a row have no value; return (places, values) of each part."""
    parts: list[tuple[list[int], list[float]]] = []
    for x, value in enumerate(values):
        if value is None:
            continue
        if not parts or x - parts[-1][0][-1] > bridge:
            parts.append(([], []))
        parts[-1][0].append(x)
        parts[-1][1].append(value)
    return parts


def nice_axis(highest: float, steps: int) -> tuple[float, list[float]]:
    """Return the upper end of an axis from 0 that holds `highest`, and round ticks on it."""
    if highest <= 0:
        return 1.0, [0.0, 1.0]
    rough = highest / steps
    power = 10.0 ** floor(log10(rough))
    step = next(
        (factor * power for factor in (1.0, 2.0, 2.5, 4.0, 5.0) if factor * power >= rough * 0.999), 10.0 * power
    )
    count = ceil(highest / step * 0.999)
    return count * step, [round(index * step, 6) for index in range(count + 1)]


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
        if not self.size:
            return  # hidden: it is drawn when it is shown
        if self._data is None or self.size.width < 20 or self.size.height < 5:
            self.show_lines(())
            return
        letters = self.app.no_color or self.app.current_theme.ansi
        self.show_lines(chart_lines(self._data, self.size.width, self.size.height, bool(letters)))
