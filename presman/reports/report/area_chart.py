"""Area chart: what each group has over time, one on the other, as SVG with a text for each stretch under the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from presman.base.axis import nice_axis, tick_label
from presman.base.colours import HUES
from presman.base.formats import ABSENT, count, number
from presman.base.markup import WIDTH, Markup, drawing, element, joined, level
from presman.reports.report.time_axis import LEFT, RIGHT, TimeAxis, below, between

_TOP, _BOTTOM, _HEIGHT = 8.0, 158.0, 182.0
_LEVELS = 3
_COUNTED = frozenset({"servers", "queued"})
"""Units of which there is no half one."""


class ChartColumn(Struct, frozen=True):
    """A stretch of time: its polls, the values of the layers in their order, None where not known; the line across."""

    start: datetime
    end: datetime
    polls: int
    values: tuple[float | None, ...]
    line: float | None = None


class AreaChart(Struct, frozen=True):
    """A chart: what it shows `by` whom, its unit, the names and styles of its layers, its columns.

    `line_name` is what the line across is: there is one where a column has a value for it.
    """

    title: str
    by: str
    unit: str
    layers: tuple[str, ...]
    styles: tuple[str, ...]
    columns: tuple[ChartColumn, ...]
    line_name: str = ""

    @property
    def top(self) -> float:
        """The highest that the layers come to."""
        return max((_total(each) or 0.0 for each in self.columns), default=0.0)


def area_chart(chart: AreaChart, axis: TimeAxis) -> Markup:
    """Return a chart with its title and legend; a line where there is nothing to draw."""
    if not chart.top:
        known = any(_total(each) is not None for each in chart.columns)
        nothing = "none." if known else "not known in this period."
        return element("p", element("strong", f"{chart.title}:"), f" {nothing}", class_="none")
    legend = [
        element("span", element("b", "■", class_=chart.styles[place]), f" {name}")
        for place, name in enumerate(chart.layers)
    ]
    if chart.line_name:
        legend.append(element("span", element("b", "─", class_="line"), f" {chart.line_name}"))
    caption = element(
        "figcaption", element("strong", f"{chart.title}, {chart.by}"), element("span", *legend, class_="legend")
    )
    highest = max(chart.top, *(each.line or 0.0 for each in chart.columns))
    scale, ticks = nice_axis(highest, _LEVELS, whole=chart.unit in _COUNTED)
    parts = [below(axis, _TOP, _BOTTOM), _levels(ticks, chart.unit), *_areas(chart, axis, scale)]
    hover = [_hover(chart, each, axis) for each in chart.columns]
    body = drawing(_HEIGHT, chart.title, [*parts, _line(chart, axis, scale), *hover])
    return element("figure", caption, body)


def _total(column: ChartColumn) -> float | None:
    known = [each for each in column.values if each is not None]
    return sum(known) if known else None


def _y(value: float, scale: float) -> float:
    return _BOTTOM - value / scale * (_BOTTOM - _TOP)


def _levels(ticks: Sequence[float], unit: str) -> Markup:
    units = [""] * (len(ticks) - 1) + [f" {unit}"]
    told = [f"{tick_label(tick)}{unit}" for tick, unit in zip(ticks, units, strict=True)]
    return joined(level(_y(tick, ticks[-1]), text, LEFT, WIDTH - RIGHT) for tick, text in zip(ticks, told, strict=True))


def _areas(chart: AreaChart, axis: TimeAxis, scale: float) -> list[Markup]:
    """Return one path for each layer: stairs, broken where nothing is known."""
    floors = [0.0] * len(chart.columns)
    found = []
    for layer in range(len(chart.layers)):
        pieces = []
        for place, column in enumerate(chart.columns):
            value = column.values[layer]
            if not value:
                continue
            low, high = _y(floors[place], scale), _y(floors[place] + value, scale)
            floors[place] += value
            left, right = axis.x(column.start), axis.x(column.end)
            pieces.append(f"M{left:.1f} {low:.1f}V{high:.1f}H{right:.1f}V{low:.1f}z")
        if pieces:
            found.append(element("path", d="".join(pieces), fill=HUES[chart.styles[layer]].page))
    return found


def _line(chart: AreaChart, axis: TimeAxis, scale: float) -> Markup:
    drawn, before = "", None
    for column in chart.columns:
        if column.line is None:
            continue
        y, left, right = _y(column.line, scale), axis.x(column.start), axis.x(column.end)
        drawn += (f"V{y:.1f}" if before == column.start else f"M{left:.1f} {y:.1f}") + f"H{right:.1f}"
        before = column.end
    return element("path", d=drawn, stroke="#24292f", fill="none", stroke_width=1.5) if drawn else Markup()


def _hover(chart: AreaChart, column: ChartColumn, axis: TimeAxis) -> Markup:
    """Return the invisible column that tells its figures."""
    total = _total(column)
    lines = [between(column.start, column.end), f"total {number(total)} {chart.unit}" if total is not None else ABSENT]
    lines += [
        f"{name}: {number(value)}" for name, value in zip(chart.layers, column.values, strict=True) if value != 0.0
    ]
    if column.line is not None:
        lines.append(f"{chart.line_name}: {number(column.line)}")
    if column.polls > 1:
        lines.append(f"mean of {count(column.polls)} polls")
    left, right = axis.x(column.start), axis.x(column.end)
    return element(
        "rect", element("title", "\n".join(lines)), x=left, y=_TOP, width=max(0.5, right - left),
        height=_BOTTOM - _TOP, class_="hover",
    )  # fmt: skip
