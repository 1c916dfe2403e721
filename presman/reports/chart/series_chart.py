"""Series over time as a chart in the terminal, or as a drawing (SVG)."""

from __future__ import annotations

from collections.abc import Sequence

from presman.base.axis import tick_label
from presman.base.colours import HUES, OTHERS, GroupColours, Hue
from presman.base.markup import WIDTH, Markup, element, label, level, picture
from presman.base.text import one_line
from presman.reports.chart.chart_scale import (
    BOTTOM,
    HEIGHT,
    LEFT,
    RIGHT,
    is_nothing,
    largest,
    scale_of,
    segments,
    thinned,
    times,
)
from presman.reports.chart.file_series import SeriesPanel

_LEAST = (40, 12)
_TIMES, _TIME = 8, 14
"""Times below a chart, and the cells that each should have."""
_NAME = 24
"""Characters of a name in a legend."""


def heading(panel: SeriesPanel) -> str:
    """Return the title, which says how many series are left out."""
    shown, there = len(largest(panel.series)), sum(1 for points in panel.series.values() if points)
    return panel.title + (f", the {shown} largest of {there}" if shown < there else "")


def chart_text(panel: SeriesPanel, *, width: int, height: int, colour: bool) -> str:
    """Return a chart as lines of text of at most `width` cells; one line where all of it is 0."""
    import plotext

    if is_nothing(panel):
        return f"{panel.title}: none"
    scale = scale_of(panel)
    start, end = scale.start, scale.end
    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.plot_size(max(width, _LEAST[0]), max(height, _LEAST[1]))
    signs = ["braille"] * 8 if colour else list("abcdefgh")
    hues = _hues(panel)
    for place, name in enumerate(largest(panel.series)):
        label: str | None = one_line(name, _NAME)
        for piece in segments(panel.series[name]):
            points = thinned(piece, start, end, width)
            xs, ys = [at for at, _ in points], [value for _, value in points]
            paint = {"color": tuple(bytes.fromhex(hues[name].dark[1:]))} if colour else {}
            plotext.plot(xs, ys, marker=signs[place], label=label, **paint)
            label = None
    plotext.ylim(scale.bottom, scale.top)
    ticks = times(scale, max(2, min(_TIMES, width // _TIME)))
    plotext.xticks(list(ticks), list(ticks.values()))
    plotext.yticks(scale.levels, [tick_label(level) for level in scale.levels])
    plotext.title(heading(panel))
    drawn = str(plotext.build())
    plain = drawn if colour else str(plotext.uncolorize(drawn))
    return "\n".join(line.rstrip() for line in plain.splitlines())


def _hues(panel: SeriesPanel) -> dict[str, Hue]:
    """Return the colour of each series that is drawn: of groups that which they have everywhere."""
    colours = GroupColours((0, name) for name in largest(panel.series))
    return {name: HUES[colours.style(name) or OTHERS] for name in largest(panel.series)}


def chart_svg(panels: Sequence[SeriesPanel]) -> str:
    """Return charts one above the other as an SVG document."""
    return picture([panel_drawing(panel) for panel in panels], HEIGHT)


def panel_drawing(panel: SeriesPanel) -> list[Markup]:
    """Return the elements of one chart, `HEIGHT` high."""
    scale = scale_of(panel)
    parts = [label(WIDTH / 2, 28, heading(panel), size=16)]
    parts += [level(scale.up(each), tick_label(each), LEFT, WIDTH - RIGHT) for each in scale.levels]
    parts += [label(scale.across(at), HEIGHT - BOTTOM + 20, told) for at, told in times(scale, _TIMES).items()]
    hues = _hues(panel)
    for place, name in enumerate(largest(panel.series)):
        path = "".join(
            ("L" if nth else "M") + f"{scale.across(at):.1f} {scale.up(value):.1f}" + ("" if nth else "h0")
            for piece in segments(panel.series[name])
            for nth, (at, value) in enumerate(thinned(piece, scale.start, scale.end, int(WIDTH)))
        )
        title = element("title", name)
        paint = hues[name].page
        parts.append(element("path", title, d=path, fill="none", stroke=paint, stroke_width=2, stroke_linecap="round"))
        left, lower = LEFT + place % 3 * 300, HEIGHT - 60 + place // 3 * 20
        parts.append(element("rect", x=left, y=lower - 10, width=12, height=12, fill=paint))
        parts.append(label(left + 18, lower, one_line(name, _NAME), "start"))
    return parts
