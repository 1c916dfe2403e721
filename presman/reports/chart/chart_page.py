"""Charts of a file as one HTML page that needs nothing else, with the values of each stretch under the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from presman import __version__
from presman.base.formats import count, number
from presman.base.markup import WIDTH, Markup, drawing, element
from presman.reports.chart.file_series import FileSeries, SeriesPanel
from presman.reports.chart.series_chart import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    TOP,
    ChartScale,
    heading,
    is_nothing,
    largest,
    panel_drawing,
    scale_of,
)
from presman.reports.html_page import page

_STRETCHES = 240
"""Stretches of time that have a text of their own under the mouse, at most."""


def chart_page(name: str, found: FileSeries, made: datetime) -> str:
    """Return the page of a file of that name; `made` is now."""
    figures = [_figure(panel) for panel in found.panels]
    return page(f"{name}: {_titles(found)}", _head(name, found, made), *figures)


def _figure(panel: SeriesPanel) -> Markup:
    if is_nothing(panel):
        return element("p", element("strong", f"{panel.title}:"), " none.", class_="none")
    return element("figure", drawing(HEIGHT, heading(panel), [*panel_drawing(panel), *_hover(panel)]))


def _titles(found: FileSeries) -> str:
    return ", ".join(panel.title for panel in found.panels)


def _head(name: str, found: FileSeries, made: datetime) -> Markup:
    instants = {at for panel in found.panels for points in panel.series.values() for at, _ in points}
    zone = made.astimezone().strftime("UTC%z")
    of = f"Measure {found.measure}" if found.measure else "A column for each group"
    told = (
        f"{of}; drawn: {_titles(found)}.",
        f"{_clock(min(instants))} to {_clock(max(instants))}, {count(len(instants))} times with a value.",
    )
    rests = f"All times in {zone[:6]}:{zone[6:]}. By presman {__version__}, {made.astimezone():%Y-%m-%d %H:%M:%S}."
    return element(
        "header",
        element("h1", name),
        *(element("p", text) for text in told),
        *(element("p", f"Note: {note}.") for note in found.notes),
        element("p", rests, class_="note"),
    )


def _hover(panel: SeriesPanel) -> list[Markup]:
    """Return invisible columns that tell the values of their stretch: of several polls the least and the largest."""
    scale = scale_of(panel)
    names = largest(panel.series)
    instants = sorted({at for name in names for at, _ in panel.series[name]})
    stretches = min(_STRETCHES, len(instants))
    width = (WIDTH - LEFT - RIGHT) / stretches
    values: dict[int, dict[str, list[float]]] = {}
    times: dict[int, list[float]] = {}
    for at in instants:
        times.setdefault(_stretch(at, scale, stretches), []).append(at)
    for name in names:
        for at, value in panel.series[name]:
            values.setdefault(_stretch(at, scale, stretches), {}).setdefault(name, []).append(value)
    return [
        element(
            "rect", element("title", _told(times[place], values[place])), x=LEFT + place * width, y=TOP, width=width,
            height=HEIGHT - TOP - BOTTOM, class_="hover",
        )
        for place in sorted(values)
    ]  # fmt: skip


def _stretch(at: float, scale: ChartScale, stretches: int) -> int:
    share = (at - scale.start) / ((scale.end - scale.start) or 1)
    return min(stretches - 1, int(share * stretches))


def _told(times: Sequence[float], values: dict[str, list[float]]) -> str:
    when = _clock(times[0]) + (f" to {_clock(times[-1])}, {count(len(times))} polls" if len(times) > 1 else "")
    return "\n".join([when, *(f"{name}: {_range(own)}" for name, own in values.items())])


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values), 2), number(max(values), 2)
    return low if low == high else f"{low} to {high}"


def _clock(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")
