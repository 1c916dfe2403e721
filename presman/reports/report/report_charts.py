"""Charts of a report over a common time axis: areas of groups, lives of statements, events, heat maps of waits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct

from presman.analysis.trends.database_events import KINDS, kind_in_words
from presman.base import markup as svg
from presman.base.axis import nice_axis, tick_label, time_label, time_ticks
from presman.base.colours import HUES, OTHERS, GroupColours
from presman.base.formats import ABSENT, count, counted, microseconds, number, spelled
from presman.base.markup import Markup
from presman.base.sums import sum_of_known
from presman.recording.playback_values import StatementLife
from presman.recording.time_bins import EventMark, PollGap
from presman.recording.time_words import spelled_instant, spelled_time
from presman.rows.session_state import comma_serial

_HEAT_LINE, _HEAT_TOP = 12.0, 4.0
_SHADES = ("#e8f1f8", "#c6dcec", "#92c0de", "#5a9fcc", "#2a7ab5", "#0b559f", "#08306b")


class HeatColumn(Struct, frozen=True):
    """A stretch of time: its waits by the upper bound of their bucket in microseconds."""

    start: datetime
    end: datetime
    waits: Mapping[int, int]


def heat_map(event: str, columns: Sequence[HeatColumn], axis: TimeAxis) -> Markup:
    """Return the heat map of one event: a line for each bucket, the slowest at the top."""
    uppers = sorted({upper for each in columns for upper in each.waits}, reverse=True)
    most = max((waits for each in columns for waits in each.waits.values()), default=1)
    bottom = _HEAT_TOP + _HEAT_LINE * len(uppers)
    tops = {upper: _HEAT_TOP + _HEAT_LINE * index for index, upper in enumerate(uppers)}
    parts = [svg.label(LEFT - 6, y + 10, f"< {microseconds(upper)}", "end") for upper, y in tops.items()]
    for column in columns:
        left, right = axis.x(column.start), axis.x(column.end)
        total = sum(column.waits.values())
        for upper, waits in column.waits.items():
            text = (
                f"{between(column.start, column.end)}\n{count(waits)} of {count(total)} waits took less than"
                f" {microseconds(upper)}, and no less than the bucket below"
            )
            width = max(1.0, right - left)
            parts.append(svg.block(text, left, tops[upper], width, _HEAT_LINE, fill=shade(waits, most)))
    return svg.drawing(bottom + 24, f"Latency of {event} over time", [below(axis, _HEAT_TOP, bottom), *parts])


def shade(waits: int, most: int) -> str:
    """Return the colour of a number of waits, on a logarithmic scale up to the `most` in a cell."""
    if waits <= 0:
        return svg.BLANK
    share = math.log(1 + waits) / math.log(1 + max(most, waits))
    return _SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))]


PLACES = 300
"""Number of marks that fit side by side."""

_EVENT_LINE, _EVENT_TOP = 18.0, 4.0
_BAD = frozenset({"downgrade", "timeout", "connection lost", "alert began", "alert worse"})
_SHORT = {
    **{"connection lost": "lost", "verdict changed": "state", "plan changed": "plan"},
    **{"directive changed": "directive", "parameter changed": "parameter", "instance changed": "instance"},
    "PDB changed": "PDB",
}


def event_chart(marks: Sequence[EventMark], axis: TimeAxis) -> Markup:
    """Return a line of marks for each kind of event."""
    present = {each.kind for each in marks}
    kinds = [kind for kind in KINDS if kind in present]
    kinds += sorted(present - set(kinds))
    parts = []
    for index, kind in enumerate(kinds):
        y = _EVENT_TOP + _EVENT_LINE * index
        parts.append(svg.label(LEFT - 6, y + 13, _SHORT.get(kind, kind), "end"))
        parts += [_mark(each, y, axis) for each in marks if each.kind == kind]
    bottom = _EVENT_TOP + _EVENT_LINE * len(kinds)
    return svg.drawing(bottom + 24, "Events over time", [below(axis, _EVENT_TOP, bottom), *parts])


def _mark(mark: EventMark, y: float, axis: TimeAxis) -> Markup:
    one = f"{spelled_instant(mark.start)}\n{mark.text}"
    many = f"{between(mark.start, mark.end)}\n{mark.many} × {kind_in_words(mark.kind)}, as: {mark.text}"
    note = one if mark.many == 1 else many
    fill = svg.BAD if mark.kind in _BAD else svg.FAINT
    width = max(3.0, axis.x(mark.end) - axis.x(mark.start))
    x, height = axis.x(mark.start) - 1.5, _EVENT_LINE - 4
    return svg.block(note, x, y + 2, width, height, fill=fill)


MOST = 50
"""The most statements to draw: those that waited or worked for the most server time."""

_LIFE_LINE, _LIFE_TOP = 14.0, 4.0
_QUEUED, _RUNNING = 0.35, 0.8
"""Height of a bar as part of its line."""


def life_chart(lives: Sequence[StatementLife], axis: TimeAxis, colours: GroupColours) -> Markup:
    """Return the statements as bars, the earliest at the top."""
    rows = sorted(lives, key=lambda each: (each.came, each.gone))
    bottom = _LIFE_TOP + _LIFE_LINE * len(rows)
    parts = [_life(each, index, axis, _style(each, colours)) for index, each in enumerate(rows)]
    return svg.drawing(bottom + 24, "Parallel statements over time", [below(axis, _LIFE_TOP, bottom), *parts])


def _style(life: StatementLife, colours: GroupColours) -> str:
    return colours.style(life.group, life.con_id) or OTHERS


def _life(life: StatementLife, index: int, axis: TimeAxis, style: str) -> Markup:
    y = _LIFE_TOP + _LIFE_LINE * index
    looks = ((HUES[style].page, _QUEUED), (HUES[style].page, _RUNNING), (svg.IDLE, _RUNNING))
    bars = [
        svg.element(
            "rect",
            x=axis.x(begin),
            y=y + _LIFE_LINE * (1 - tall) / 2,
            width=max(1.0, axis.x(stop) - axis.x(begin)),
            height=_LIFE_LINE * tall,
            fill=fill,
        )
        for (begin, stop), (fill, tall) in zip(life.phases, looks, strict=True)
        if begin is not None and stop > axis.start and begin < axis.end
    ]
    name = life.sql_id or f"{life.inst_id}:{life.sid}"
    title = svg.element("title", "\n".join(facts(life)))
    return svg.element("g", title, *bars, svg.label(LEFT - 6, y + 11, name[:13], "end", size=10), class_="life")


def facts(life: StatementLife) -> list[str]:
    """Return the facts about a statement, one in each line."""
    lines = [f"{life.sql_id or '(no SQL_ID)'}, {life.user or '?'} {life.inst_id}:{life.sid}{comma_serial(life.serial)}"]
    lines.append(f"group {life.group or 'unknown'}, {counted(life.servers, 'server')}")
    for what, (begin, end) in zip(("queued", "ran", "idle, servers kept,"), life.phases, strict=True):
        if begin is not None:
            lines.append(f"{what} from {spelled_instant(begin)} for {spelled((end - begin).total_seconds())}")
    if life.ended_at is None:
        lines.append(f"its end was not seen; last seen {spelled_instant(life.gone)}")
    return lines


def legend(lives: Sequence[StatementLife], colours: GroupColours) -> Markup:
    """Return the legend of the bars."""
    groups = sorted({(life.group, _style(life, colours)) for life in lives})
    marks = [(style, "■", name or "group unknown") for name, style in groups]
    marks += [("", "▂", "queued"), ("", "█", "running"), ("idle", "█", "idle, keeps its servers")]
    signs = ((svg.element("b", sign, class_=style or None), text) for style, sign, text in marks)
    return svg.joined(svg.element("span", sign, f" {text}") for sign, text in signs)


_AREA_TOP, _BOTTOM, _HEIGHT = 8.0, 158.0, 182.0
_LEVELS = 3
_COUNTED = frozenset({"servers", "queued"})
"""Units that are counted in whole numbers."""


class ChartColumn(Struct, frozen=True):
    """A stretch of time: its polls, the values of the layers in order (None if unknown), the value of the line."""

    start: datetime
    end: datetime
    polls: int
    values: tuple[float | None, ...]
    line: float | None = None


class AreaChart(Struct, frozen=True):
    """A chart of consumer groups: its title, its unit, the names and styles of its layers, its columns.

    `line_name` names the line across the chart, which is drawn where columns have a value for it.
    """

    title: str
    unit: str
    layers: tuple[str, ...]
    styles: tuple[str, ...]
    columns: tuple[ChartColumn, ...]
    line_name: str = ""

    @property
    def top(self) -> float:
        """The largest sum of the layers."""
        return max((sum_of_known(each.values) or 0.0 for each in self.columns), default=0.0)


def area_chart(chart: AreaChart, axis: TimeAxis) -> Markup:
    """Return a chart with title and legend, or one line of text if there is nothing to draw."""
    if not chart.top:
        known = any(sum_of_known(each.values) is not None for each in chart.columns)
        nothing = "none." if known else "not known in this period."
        return svg.element("p", svg.element("strong", f"{chart.title}:"), f" {nothing}", class_="none")
    layers = zip(chart.styles, chart.layers, strict=True)
    legend = [svg.element("span", svg.element("b", "■", class_=style), f" {name}") for style, name in layers]
    if chart.line_name:
        legend.append(svg.element("span", svg.element("b", "─", class_="line"), f" {chart.line_name}"))
    caption = svg.element(
        "figcaption",
        svg.element("strong", f"{chart.title}, by consumer group"),
        svg.element("span", *legend, class_="legend"),
    )
    highest = max(chart.top, *(each.line or 0.0 for each in chart.columns))
    scale, ticks = nice_axis(highest, _LEVELS, whole=chart.unit in _COUNTED)
    parts = [below(axis, _AREA_TOP, _BOTTOM), _levels(ticks, chart.unit), *_areas(chart, axis, scale)]
    hover = [_hover(chart, each, axis) for each in chart.columns]
    body = svg.drawing(_HEIGHT, chart.title, [*parts, _line(chart, axis, scale), *hover])
    return svg.element("figure", caption, body)


def _y(value: float, scale: float) -> float:
    return _BOTTOM - value / scale * (_BOTTOM - _AREA_TOP)


def _levels(ticks: Sequence[float], unit: str) -> Markup:
    labels = zip(ticks, [*map(tick_label, ticks[:-1]), f"{tick_label(ticks[-1])} {unit}"], strict=True)
    return svg.joined(svg.level(_y(at, ticks[-1]), text, LEFT, svg.WIDTH - RIGHT) for at, text in labels)


def _areas(chart: AreaChart, axis: TimeAxis, scale: float) -> list[Markup]:
    """Return one path for each layer: a staircase, interrupted where values are unknown."""
    floors = [0.0] * len(chart.columns)
    found = []
    for layer in range(len(chart.layers)):
        pieces = []
        for index, column in enumerate(chart.columns):
            value = column.values[layer]
            if not value:
                continue
            low, high = _y(floors[index], scale), _y(floors[index] + value, scale)
            floors[index] += value
            left, right = axis.x(column.start), axis.x(column.end)
            pieces.append(f"M{left:.1f} {low:.1f}V{high:.1f}H{right:.1f}V{low:.1f}z")
        if pieces:
            found.append(svg.element("path", d="".join(pieces), fill=HUES[chart.styles[layer]].page))
    return found


def _line(chart: AreaChart, axis: TimeAxis, scale: float) -> Markup:
    drawn, before = "", None
    for column in chart.columns:
        if column.line is None:
            continue
        y, left, right = _y(column.line, scale), axis.x(column.start), axis.x(column.end)
        # Connected with the column before, unless there is a gap between them.
        drawn += (f"V{y:.1f}" if before == column.start else f"M{left:.1f} {y:.1f}") + f"H{right:.1f}"
        before = column.end
    return svg.element("path", d=drawn, stroke="#24292f", fill="none", stroke_width=1.5) if drawn else Markup()


def _hover(chart: AreaChart, column: ChartColumn, axis: TimeAxis) -> Markup:
    """Return the invisible column that shows its figures under the mouse."""
    total = sum_of_known(column.values)
    lines = [between(column.start, column.end), f"total {number(total)} {chart.unit}" if total is not None else ABSENT]
    layers = zip(chart.layers, column.values, strict=True)
    lines += [f"{name}: {number(value)}" for name, value in layers if value != 0.0]
    if column.line is not None:
        lines.append(f"{chart.line_name}: {number(column.line)}")
    if column.polls > 1:
        lines.append(f"mean of {count(column.polls)} polls")
    left, right = axis.x(column.start), axis.x(column.end)
    return svg.block("\n".join(lines), left, _AREA_TOP, max(0.5, right - left), _BOTTOM - _AREA_TOP, class_="hover")


# ---- The time axis, the same for all drawings: the position of a time, the ticks below, the gaps across.

LEFT, RIGHT = 104.0, 10.0

CLOSE = 1.0
"""Gaps closer together than this, in units of the drawing, are drawn as one."""

_MOST_TICKS = 9


class TimeAxis(Struct, frozen=True):
    """The time from `start` to `end`, both with a time zone, and the gaps in it."""

    start: datetime
    end: datetime
    gaps: tuple[PollGap, ...] = ()

    def x(self, at: datetime) -> float:
        """Return the x position of a time in the drawing."""
        whole = max(1e-6, (self.end - self.start).total_seconds())  # a single poll has no length
        share = min(1.0, max(0.0, (at - self.start).total_seconds() / whole))
        return LEFT + share * (svg.WIDTH - LEFT - RIGHT)

    def instant(self, at: datetime) -> str:
        """Return a time as tables show it: without the date if all times are on one day."""
        one_day = self.start.astimezone().date() == self.end.astimezone().date() == at.astimezone().date()
        return spelled_time(at) if one_day else spelled_instant(at)

    def ticks(self) -> list[datetime]:
        """Return round times on the axis by the user's clock."""
        return time_ticks(self.start, self.end, _MOST_TICKS)

    def label(self, at: datetime) -> str:
        """Return a time as a tick label, as short as the length of the axis allows."""
        return time_label(at, (self.end - self.start).total_seconds())


def below(axis: TimeAxis, top: float, bottom: float) -> Markup:
    """Return the ticks with their labels below `bottom`, and the gaps between `top` and `bottom`."""
    parts = []
    for at in axis.ticks():
        parts.append(svg.element("path", d=f"M{axis.x(at):.1f} {top:.1f}V{bottom + 4:.1f}", stroke=svg.RULE))
        parts.append(svg.label(axis.x(at), bottom + 17, axis.label(at)))
    for gaps in side_by_side(axis):
        start, end = gaps[0].start, gaps[-1].end
        left, right = axis.x(start), axis.x(end)
        lost = spelled(sum((each.end - each.start).total_seconds() for each in gaps))
        often = f"{counted(len(gaps), 'gap')}, in all {lost}" if len(gaps) > 1 else lost
        text = f"no poll from {spelled_instant(start)} to {spelled_instant(end)} ({often})"
        parts.append(svg.block(text, left, top, max(1.0, right - left), bottom - top, fill=svg.BLANK, class_="gap"))
    return svg.joined(parts)


def side_by_side(axis: TimeAxis) -> list[list[PollGap]]:
    """Return the gaps, grouped if too close to be distinguished: a long period may have thousands."""
    found: list[list[PollGap]] = []
    for gap in axis.gaps:
        if found and axis.x(gap.start) - axis.x(found[-1][-1].end) < CLOSE:
            found[-1].append(gap)
        else:
            found.append([gap])
    return found


def between(start: datetime, end: datetime) -> str:
    """Return a period, with the date only once if both ends share it.

    >>> from datetime import UTC
    >>> len(between(datetime(2026, 3, 1, 12, tzinfo=UTC), datetime(2026, 3, 1, 12, 5, tzinfo=UTC)))
    28
    """
    same = start.astimezone().date() == end.astimezone().date()
    return (
        f"{spelled_instant(start)}–{spelled_time(end)}"
        if same
        else f"{spelled_instant(start)} – {spelled_instant(end)}"
    )
