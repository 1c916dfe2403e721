"""Series over time as a chart in the terminal, or as a picture (SVG)."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from presman.base.formats import compact
from presman.base.markup import Markup, element
from presman.base.svg import COLOURS, WIDTH, label, level, picture
from presman.base.text import one_line
from presman.chart.csv_series import SeriesPanel
from presman.chart.thinning import largest, segments, thinned

HEIGHT = 480
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 40, 50, 110
_LEAST = (40, 12)
_TICKS = 5
_COLOURS = ("blue", "orange", "green", "red", "magenta", "cyan", "gray", "white")
_NAME = 24
"""Characters of a name in a legend."""


def heading(panel: SeriesPanel) -> str:
    """Return the title, which says how many series are left out."""
    shown, there = len(largest(panel.series)), sum(1 for points in panel.series.values() if points)
    return panel.title + (f", the {shown} largest of {there}" if shown < there else "")


def chart_text(panel: SeriesPanel, *, width: int, height: int, colour: bool) -> str:
    """Return a chart as lines of text of at most `width` cells."""
    import plotext

    start, end, top, bottom = _bounds(panel)
    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.plot_size(max(width, _LEAST[0]), max(height, _LEAST[1]))
    signs = ["braille"] * 8 if colour else list("abcdefgh")
    for place, name in enumerate(largest(panel.series)):
        label: str | None = one_line(name, _NAME)
        for piece in segments(panel.series[name]):
            points = thinned(piece, start, end, width)
            xs, ys = [at for at, _ in points], [value for _, value in points]
            paint = {"color": _COLOURS[place]} if colour else {}
            plotext.plot(xs, ys, marker=signs[place], label=label, **paint)
            label = None
    plotext.ylim(bottom, top)
    marks = _marks(start, end)
    plotext.xticks(marks, [_clock(mark, end - start) for mark in marks])
    levels = _marks(bottom, top)
    plotext.yticks(levels, [compact(level) for level in levels])
    plotext.title(heading(panel))
    drawn = str(plotext.build())
    plain = drawn if colour else str(plotext.uncolorize(drawn))
    return "\n".join(line.rstrip() for line in plain.splitlines())


def chart_svg(panels: Sequence[SeriesPanel]) -> str:
    """Return charts one above the other as an SVG document."""
    return picture([_panel(panel) for panel in panels], HEIGHT)


def _panel(panel: SeriesPanel) -> list[Markup]:
    start, end, top, bottom = _bounds(panel)

    def across(at: float) -> float:
        return _LEFT + (at - start) / ((end - start) or 1) * (WIDTH - _LEFT - _RIGHT)

    def up(value: float) -> float:
        return HEIGHT - _BOTTOM - (value - bottom) / (top - bottom) * (HEIGHT - _TOP - _BOTTOM)

    parts = [label(WIDTH / 2, 28, heading(panel), size=16)]
    parts += [level(up(each), compact(each), _LEFT, WIDTH - _RIGHT) for each in _marks(bottom, top)]
    parts += [label(across(mark), HEIGHT - _BOTTOM + 20, _clock(mark, end - start)) for mark in _marks(start, end)]
    for place, name in enumerate(largest(panel.series)):
        path = "".join(
            ("M" if first == 0 else "L") + f"{across(at):.1f} {up(value):.1f}" + ("h0" if first == 0 else "")
            for piece in segments(panel.series[name])
            for first, (at, value) in enumerate(thinned(piece, start, end, int(WIDTH)))
        )
        title = element("title", name)
        paint = COLOURS[place]
        parts.append(element("path", title, d=path, fill="none", stroke=paint, stroke_width=2, stroke_linecap="round"))
        left, lower = _LEFT + place % 3 * 300, HEIGHT - 60 + place // 3 * 20
        parts.append(element("rect", x=left, y=lower - 10, width=12, height=12, fill=paint))
        parts.append(label(left + 18, lower, one_line(name, _NAME), "start"))
    return parts


def _bounds(panel: SeriesPanel) -> tuple[float, float, float, float]:
    """Return first and last instant, upper and lower end of the scale, which has zero on it."""
    points = [point for name in largest(panel.series) for point in panel.series[name]]
    instants, values = [at for at, _ in points], [value for _, value in points]
    top, bottom = max(0.0, *values), min(0.0, *values)
    return min(instants), max(instants), top if top > bottom else bottom + 1.0, bottom


def _marks(low: float, high: float) -> list[float]:
    if high <= low:
        return [low]
    return [low + (high - low) * place / (_TICKS - 1) for place in range(_TICKS)]


def _clock(at: float, seconds: float) -> str:
    form = "%H:%M:%S" if seconds < 86_400 else "%m-%d %H:%M"
    return datetime.fromtimestamp(at).astimezone().strftime(form)
