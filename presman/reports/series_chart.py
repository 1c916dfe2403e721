"""Series over time as a chart in the terminal or as a drawing (SVG), and the scale of both: the position of a point."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from presman.base.axis import nice_axis, tick_label, time_label, time_ticks
from presman.base.colours import HUES, OTHERS, GroupColours, Hue
from presman.base.formats import count, number
from presman.base.markup import WIDTH, Markup, block, drawing, element, label, level, picture
from presman.base.text import one_line
from presman.recording.time_words import spelled_instant
from presman.reports import html_page
from presman.reports.file_series import FileSeries, SeriesPanel

MOST_SERIES = 8
"""The most lines that can be distinguished in one chart."""
_GAP = 3.0
"""Points further apart than this many times their usual distance are not connected."""

Point = tuple[float, float]


def largest(series: Mapping[str, Sequence[Point]]) -> list[str]:
    """Return the names to draw: those with the largest sums of values, largest first."""
    sums = {name: sum(abs(value) for _, value in points) for name, points in series.items() if points}
    return sorted(sums, key=lambda name: (-sums[name], name))[:MOST_SERIES]


def segments(points: Sequence[Point]) -> list[list[Point]]:
    """Return the points, split at gaps."""
    distances = [later[0] - earlier[0] for earlier, later in pairwise(points)]
    limit = _GAP * median(distances) if distances else 0.0
    found: list[list[Point]] = [list(points[:1])] if points else []
    for distance, point in zip(distances, points[1:], strict=True):
        if distance > limit:
            found.append([])
        found[-1].append(point)
    return found


def thinned(points: Sequence[Point], start: float, end: float, stretches: int) -> list[Point]:
    """Return at most two points for each of `stretches` equal parts of a period, in order of time."""
    if len(points) <= 2 * stretches or end <= start:
        return list(points)
    parts: dict[int, tuple[Point, Point]] = {}
    for point in points:
        index = min(stretches - 1, int((point[0] - start) / (end - start) * stretches))
        # The smallest and the largest, so that no peak is lost.
        low, high = parts.get(index, (point, point))
        parts[index] = (point if point[1] < low[1] else low, point if point[1] > high[1] else high)
    return [each for pair in parts.values() for each in dict.fromkeys(sorted(pair))]


HEIGHT = 480
LEFT, RIGHT, TOP, BOTTOM = 80, 40, 50, 110
"""Margins of a drawing around the lines."""

_TICKS = 4


class ChartScale(NamedTuple):
    """First and last time (seconds since 1970), and the ticks of the values from lowest to highest.

    The lowest is zero unless a value is below it.
    """

    start: float
    end: float
    levels: Sequence[float]

    def across(self, at: float) -> float:
        """Return the x position of a time in a drawing."""
        return LEFT + (at - self.start) / ((self.end - self.start) or 1) * (WIDTH - LEFT - RIGHT)

    def up(self, value: float) -> float:
        """Return the y position of a value in a drawing."""
        low, high = self.levels[0], self.levels[-1]
        return HEIGHT - BOTTOM - (value - low) / (high - low) * (HEIGHT - TOP - BOTTOM)


def scale_of(panel: SeriesPanel) -> ChartScale:
    """Return the scale of the series to draw."""
    points = [point for name in largest(panel.series) for point in panel.series[name]]
    instants, values = [at for at, _ in points], [value for _, value in points]
    return ChartScale(min(instants), max(instants), nice_axis(max(values), _TICKS, min(values))[1])


def is_nothing(panel: SeriesPanel) -> bool:
    """Whether all values are 0."""
    return not any(value for points in panel.series.values() for _, value in points)


def times(scale: ChartScale, most: int) -> dict[float, str]:
    """Return labels of at most about `most` round times, by timestamp; a single time has only its own."""
    seconds = scale.end - scale.start
    start, end = (datetime.fromtimestamp(each, UTC) for each in (scale.start, scale.end))
    return {each.timestamp(): time_label(each, seconds) for each in time_ticks(start, end, most) or [start]}


# ---- The chart.

_LEAST = (40, 12)
_TIMES, _TIME = 8, 14
"""Most times below a chart, and the cells that each needs."""
_NAME = 24
"""The most characters of a name in a legend."""


def heading(panel: SeriesPanel) -> str:
    """Return the title, which says how many series are left out."""
    shown, whole = len(largest(panel.series)), sum(1 for points in panel.series.values() if points)
    return panel.title + (f", the {shown} largest of {whole}" if shown < whole else "")


def chart_text(panel: SeriesPanel, *, width: int, height: int, colour: bool) -> str:
    """Return a chart as lines of text of at most `width` cells; one line if all values are 0."""
    import plotext

    if is_nothing(panel):
        return f"{panel.title}: none"
    scale = scale_of(panel)
    start, end = scale.start, scale.end
    plotext.clear_figure()
    plotext.theme("pro" if colour else "clear")
    plotext.limit_size(False, False)  # otherwise it is limited to the terminal's size, or to 80 by 24 without one
    plotext.plot_size(max(width, _LEAST[0]), max(height, _LEAST[1]))
    signs = ["braille"] * 8 if colour else list("abcdefgh")
    hues = _hues(panel)
    for index, name in enumerate(largest(panel.series)):
        label: str | None = one_line(name, _NAME)
        for piece in segments(panel.series[name]):
            points = thinned(piece, start, end, width)
            xs, ys = [at for at, _ in points], [value for _, value in points]
            paint = {"color": tuple(bytes.fromhex(hues[name].dark[1:]))} if colour else {}
            plotext.plot(xs, ys, marker=signs[index], label=label, **paint)
            label = None  # the legend names a series once, however many pieces it has
    plotext.ylim(scale.levels[0], scale.levels[-1])
    ticks = times(scale, max(2, min(_TIMES, width // _TIME)))
    plotext.xticks(list(ticks), list(ticks.values()))
    plotext.yticks(scale.levels, [tick_label(level) for level in scale.levels])
    plotext.title(heading(panel))
    drawn = str(plotext.build())
    plain = drawn if colour else str(plotext.uncolorize(drawn))
    return "\n".join(line.rstrip() for line in plain.splitlines())


def _hues(panel: SeriesPanel) -> dict[str, Hue]:
    """Return the colour of each series to draw; consumer groups have their usual colours."""
    colours = GroupColours((0, name) for name in largest(panel.series))
    return {name: HUES[colours.style(name) or OTHERS] for name in largest(panel.series)}


def chart_svg(panels: Sequence[SeriesPanel]) -> str:
    """Return charts, one above the other, as an SVG document."""
    return picture([panel_drawing(panel) for panel in panels], HEIGHT)


def panel_drawing(panel: SeriesPanel) -> list[Markup]:
    """Return the elements of one chart, `HEIGHT` high."""
    scale = scale_of(panel)
    parts = [label(WIDTH / 2, 28, heading(panel), size=16)]
    parts += [level(scale.up(each), tick_label(each), LEFT, WIDTH - RIGHT) for each in scale.levels]
    parts += [label(scale.across(at), HEIGHT - BOTTOM + 20, text) for at, text in times(scale, _TIMES).items()]
    hues = _hues(panel)
    for index, name in enumerate(largest(panel.series)):
        # "h0" with round ends draws a dot where a piece has a single point.
        path = "".join(
            ("L" if nth else "M") + f"{scale.across(at):.1f} {scale.up(value):.1f}" + ("" if nth else "h0")
            for piece in segments(panel.series[name])
            for nth, (at, value) in enumerate(thinned(piece, scale.start, scale.end, int(WIDTH)))
        )
        title = element("title", name)
        paint = hues[name].page
        parts.append(element("path", title, d=path, fill="none", stroke=paint, stroke_width=2, stroke_linecap="round"))
        left, lower = LEFT + index % 3 * 300, HEIGHT - 60 + index // 3 * 20
        parts.append(element("rect", x=left, y=lower - 10, width=12, height=12, fill=paint))
        parts.append(label(left + 18, lower, one_line(name, _NAME), "start"))
    return parts


# ---- The page: the mouse shows the values of each stretch of time.

_STRETCHES = 240
"""The most stretches of time that have their own text under the mouse."""


def chart_page(name: str, found: FileSeries, made: datetime) -> str:
    """Return the page of the file called `name`; `made` is the present time."""
    figures = [_figure(panel) for panel in found.panels]
    return html_page.page(f"{name}: {_titles(found)}", _head(name, found, made), *figures)


def _figure(panel: SeriesPanel) -> Markup:
    if is_nothing(panel):
        return element("p", element("strong", f"{panel.title}:"), " none.", class_="none")
    return element("figure", drawing(HEIGHT, heading(panel), [*panel_drawing(panel), *_hover(panel)]))


def _titles(found: FileSeries) -> str:
    return ", ".join(panel.title for panel in found.panels)


def _head(name: str, found: FileSeries, made: datetime) -> Markup:
    instants = {at for panel in found.panels for points in panel.series.values() for at, _ in points}
    of = f"Measure {found.measure}" if found.measure else "A column for each group"
    sentences = (
        f"{of}; drawn: {_titles(found)}.",
        f"{_clock(min(instants))} to {_clock(max(instants))}, {count(len(instants))} times with a value.",
    )
    times = [datetime.fromtimestamp(each, UTC) for each in (min(instants), max(instants))]
    return html_page.heading(name, (element("p", text) for text in sentences), found.notes, made, times)


def _hover(panel: SeriesPanel) -> list[Markup]:
    """Return invisible columns that show the values of their stretch: of several polls the smallest and the largest."""
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
    high = HEIGHT - TOP - BOTTOM
    blocks = []
    for index in sorted(values):
        own = times[index]
        when = _clock(own[0]) + (f" to {_clock(own[-1])}, {count(len(own))} polls" if len(own) > 1 else "")
        text = "\n".join([when, *(f"{name}: {_range(amounts)}" for name, amounts in values[index].items())])
        blocks.append(block(text, LEFT + index * width, TOP, width, high, class_="hover"))
    return blocks


def _stretch(at: float, scale: ChartScale, stretches: int) -> int:
    share = (at - scale.start) / ((scale.end - scale.start) or 1)
    return min(stretches - 1, int(share * stretches))


def _range(values: Sequence[float]) -> str:
    low, high = number(min(values), 2), number(max(values), 2)
    return low if low == high else f"{low} to {high}"


def _clock(at: float) -> str:
    return spelled_instant(datetime.fromtimestamp(at, UTC))
