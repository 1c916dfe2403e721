"""Charts over time: stacked areas with axes, a capacity line, and values in the legend."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache, partial
from math import ceil

from msgspec.structs import replace
from textual.events import Click
from textual.message import Message

from presman.base.axis import nice_axis, tick_label
from presman.base.formats import number
from presman.figures.drawing.lines import EMPTY, Cell, Line, Run, cells, crossed, length, merge, pad, stacked
from presman.tabs.charts import ChartData, levels_of
from presman.tabs.parts import GroupLevel
from presman.tui.widgets.line_api import LineView

SIGNS = "ABCDEF+"
"""The letters of areas without colours or blocks; the last is for all others."""

_LEGEND, _TALL = 2, 9
"""Lines that the legend may take in a chart of at least _TALL lines; otherwise one."""

_WITH_AXES = 5
"""The least lines of a chart with axes; a lower one has its legend, and as much of the areas as fits."""


def chart_lines(
    data: ChartData, levels: Sequence[GroupLevel], width: int, height: int, signs: bool = False, blanks: bool = False
) -> tuple[Line, ...]:
    """Draw a chart in `width` x `height` cells: its title with the legend, then the plot.

    With `signs` the areas are drawn in letters, for terminals without colours or blocks. With `blanks` full blocks on
    their own colour are blanks. In one line there is only the title before the areas.
    """
    legend = _legend(data, levels, width, _LEGEND if height >= _TALL else 1, signs)
    if not any(value is not None for area in data.areas for value in area.values):
        return (*legend, pad((("  collecting: the first points appear soon", "dim"),), width))
    if data.is_nothing:
        return (*legend, pad((("  none", "dim"),), width))
    if height == 1 and width > 2 * cells(data.title):
        title = (f"{data.title}  ", "title")
        return (merge([title, *_without_axes(data, width - length([title]), 1, signs, blanks)[0]]),)
    plot = _plot if height >= _WITH_AXES else _without_axes
    return (*legend, *plot(data, width, height - len(legend), signs, blanks))


def _signs(data: ChartData) -> str:
    return "".join(SIGNS[index] if area.keys else SIGNS[-1] for index, area in enumerate(data.areas))


def _legend(data: ChartData, levels: Sequence[GroupLevel], width: int, most: int, signs: bool) -> list[Line]:
    """Return the title, each area with its value at the instant on screen, and the meaning of the lines.

    If there is no room for all, the limits are left out, then the values, and the largest areas come first.
    """
    found: list[list[Run]] = []
    for parts in range(3, 0, -1):
        found = _in_lines(_items(data, levels, signs, parts), width, most)
        if not any(text.startswith("  +") for text, _ in found[-1][-1:]):
            break
    return [pad(merge(line), width) for line in found]


def _items(data: ChartData, levels: Sequence[GroupLevel], signs: bool, parts: int) -> list[list[Run]]:
    """Return the parts of the legend, of each area its name, value and limit, or the first `parts` of these."""
    areas = list(zip(data.areas, _signs(data), levels_of(data.areas, levels), strict=True))
    if parts == 1:
        areas.sort(key=lambda each: -sum(filter(None, each[0].values)))
    items: list[list[Run]] = [[(data.title, "title")]]
    for area, sign, (value, limit) in areas:
        words = (area.name, f" {number(value):>4}", "" if limit is None else f" of {limit:g}")[:parts]
        items.append([(f"{sign if signs else '■'} ", area.style), ("".join(words), "")])
    if data.capacity:
        at = len(items) if parts == 1 else 1  # the groups come first where they have little room
        items.insert(at, [("─ ", "mark"), (f"capacity {data.capacity:g}", "dim")])
    return [*items, *([("┆ ", "mark"), (words, "dim")] for _, words in data.marks[-2:])]


def _in_lines(items: Sequence[Sequence[Run]], width: int, most: int) -> list[list[Run]]:
    """Return as many whole items as fit in `most` lines, and the number of the others."""
    lines: list[list[Run]] = [list(items[0])]
    for index, item in enumerate(items[1:], 1):
        left = len(items) - index
        room = width - (len(f"  +{left - 1}") if left > 1 and len(lines) == most else 0)
        if length(lines[-1]) + 2 + length(item) <= room:
            lines[-1] += [("  ", ""), *item]
        elif len(lines) < most:
            lines.append([(" ", ""), *item])
        else:
            lines[-1].append((f"  +{left}", "dim"))
            break
    return lines


@lru_cache(maxsize=8)
def _plot(data: ChartData, width: int, height: int, signs: bool, blanks: bool) -> tuple[Line, ...]:
    """Draw areas, axes and lines."""
    rows = height - 2
    top, labels, margin = _scale(data, rows)
    columns = _columns(data, width - margin - 1, rows, top, _signs(data) if signs else "")
    lines = []
    for row, across in enumerate(zip(*columns, strict=True)):
        label = labels.get(row, "")
        axis = (f"{label:>{margin}}{'┤' if label else '│'}", "dim")
        lines.append(_line([axis], across, width, blanks))
    return (*reversed(lines), *_time_axis(data, width, margin))


def _line(axis: list[Run], across: Iterable[Cell], width: int, blanks: bool) -> Line:
    """Return a line of areas, from left to right."""
    line = pad(merge([*axis, *[(text, style) for text, style, _ in across]]), width)
    return _ground_only(line) if blanks else line


def _without_axes(data: ChartData, width: int, rows: int, signs: bool, blanks: bool) -> list[Line]:
    """Draw the areas alone: a line across so few rows would hide them."""
    if not rows:
        return []
    top = _scale(data, rows)[0]
    columns = _columns(replace(data, capacity=None, capacities=()), width, rows, top, _signs(data) if signs else "")
    return [_line([], across, width, blanks) for across in zip(*columns, strict=True)][::-1]


def _scale(data: ChartData, rows: int) -> tuple[float, dict[int, str], int]:
    """Return the value at the top of the plot, the labels of its rows, and their width in cells."""
    totals = (sum(filter(None, stretch)) for stretch in zip(*(area.values for area in data.areas), strict=True))
    highest = max(data.capacity or 0.0, *filter(None, data.capacities), *totals)
    top, ticks = nice_axis(highest, max(2, min(5, rows // 3)))
    labels = {max(0, ceil(tick / top * rows) - 1): tick_label(tick) for tick in ticks if tick}
    return top, labels, max(cells(label) for label in ("0", *labels.values()))


def instant_at(data: ChartData, x: int, width: int, rows: int) -> datetime | None:
    """Return the end of the stretch at column `x` of a plot of `width` cells and `rows`; None left of the plot.

    The last column is always the last stretch, even in a narrow plot without a column for each. While live, it includes
    the polls since that stretch was completed.
    """
    margin = _scale(data, rows)[2]
    column, count = x - margin - 1, width - margin - 1
    if not 0 <= column < count:
        return None
    last = data.length + (data.cursor is None)
    after = last if column == count - 1 else column * data.length // count + 1
    return datetime.fromtimestamp(data.start + after * data.width, UTC)


def _columns(data: ChartData, count: int, rows: int, top: float, signs: str) -> list[list[Cell]]:
    """Return `count` columns of cells from the bottom up, with the lines that cross them."""
    styles = tuple(area.style for area in data.areas)
    stretches = list(zip(*(area.values for area in data.areas), strict=True))
    drawn: dict[int, Sequence[Cell]] = {}
    columns = []
    marked = {column_of(x, data.length, count): "┆" for x, _ in data.marks}
    if data.cursor is not None:
        marked[column_of(data.cursor, data.length, count)] = "│"
    capacities = data.capacities or (data.capacity or 0.0,) * data.length
    # A value exactly at the upper edge of a row belongs to that row, not to the next one.
    levels = [min(rows - 1, int(each / top * rows - 1e-9)) if each else -1 for each in capacities]
    for x in range(count):
        stretch = x * data.length // count
        if stretch not in drawn:
            values = tuple(value for value in stretches[stretch] if value is not None)
            drawn[stretch] = _stretch(values, styles, top, rows, signs) if values else [EMPTY] * rows
        column = [crossed(cell, marked[x]) for cell in drawn[stretch]] if x in marked else list(drawn[stretch])
        if levels[stretch] >= 0 and x not in marked:
            column[levels[stretch]] = crossed(column[levels[stretch]], "─")
        columns.append(column)
    return columns


@lru_cache(maxsize=128)
def _stretch(values: tuple[float, ...], styles: tuple[str, ...], top: float, rows: int, signs: str) -> tuple[Cell, ...]:
    """Return the cells of a stretch, cached: a newly completed stretch does not change the others."""
    return tuple(stacked(values, styles, top, rows, signs))


def column_of(stretch: int, stretches: int, count: int) -> int:
    """Return the first of `count` columns that shows a stretch."""
    return min(count - 1, -(-stretch * count // stretches))


def _time_axis(data: ChartData, width: int, margin: int) -> list[Line]:
    """Draw the time axis and its labels, each under its mark if there is room."""
    count = width - margin - 1
    axis, text = ["─"] * count, [" "] * width
    free = width
    for stretch, label in reversed(data.ticks):
        index = column_of(stretch, data.length, count)
        start = max(0, min(width - len(label), margin + 1 + index - len(label) // 2))
        if start + len(label) < free or free == width:
            axis[index] = "┬"
            text[start : start + len(label)] = label
            free = start
    lines = f"{'0':>{margin}}└{''.join(axis)}", "".join(text)
    return [pad(((line, "dim"),), width) for line in lines]


def _ground_only(line: Line) -> Line:
    """Replace full blocks on their own colour by blanks: the same picture in a third of the bytes."""
    return tuple((" " * len(text) if text.startswith("█") and " on " in style else text, style) for text, style in line)


class Chart(LineView):
    """A chart whose plot is redrawn only if its data, size or theme changed; the legend follows each poll."""

    @dataclass(eq=False)
    class InstantClicked(Message):
        """A stretch of time was clicked: the instant at its end."""

        at: datetime

    _data: ChartData | None = None
    _levels: Sequence[GroupLevel] = ()

    def show(self, data: ChartData, levels: Sequence[GroupLevel]) -> None:
        """Show this data, and the groups' values at the instant on screen."""
        self._data, self._levels = data, levels
        self.redraw = partial(self.show, data, levels)
        width, height = self.size
        if not self.size:
            return  # hidden: it is drawn when it is shown
        if width < 20:
            self.show_lines(())
        else:
            self.show_lines(chart_lines(data, levels, width, height, self.letters_only, blanks=True))

    def on_click(self, event: Click) -> None:
        """Post the instant that was clicked."""
        width, height = self.size
        if self._data is None or self._data.is_nothing or width < 20 or height < _WITH_AXES:
            return
        legend = len(_legend(self._data, self._levels, width, _LEGEND if height >= _TALL else 1, self.letters_only))
        at = instant_at(self._data, event.x, width, height - legend - 2) if event.y >= legend else None
        if at is not None:
            self.post_message(self.InstantClicked(at))
