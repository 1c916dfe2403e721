"""A heat map over time on the line API: one column per poll, one row per bucket, the throttle on the same time axis.

A new poll changes one column, so only its cells are drawn and sent; everything else is cached as strips. Where there is
room, columns are several cells wide and rows several lines high.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import groupby
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from presman.analysis.latency_history import Column
from presman.formats import compact, microseconds
from presman.tui.widgets.heat import (
    DECADES,
    EMPTY,
    GAP,
    LEVELS,
    MARK,
    HeatData,
    Quantity,
    Rows,
    anchor,
    axis_text,
    glyph,
    level,
    nice_top,
    rates,
    rows_for,
    span_for,
    throttle_glyph,
    ticks_every,
)
from presman.tui.widgets.line_api import LineApiWidget
from presman.tui.widgets.lines import cells, fit
from presman.tui.widgets.shades import paints

GUTTER = 9
"""Cells left of the map, for the buckets' bounds."""
_TITLE, _STRIP, _AXIS = 1, 1, 1


class HeatMap(LineApiWidget, can_focus=True):
    """Draws :class:`HeatData`. ↑ and ↓ move its cursor from bucket to bucket; time is that of all tabs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "bucket(1)", "longer waits", show=False, key_display="↑ k"),
        Binding("down,j", "bucket(-1)", "shorter waits", show=False, key_display="↓ j"),
    ]

    class Read(Message):
        """The cursor was moved to bucket `number` (None: stays), or to a poll `steps` away from the one looked at."""

        def __init__(self, number: int | None, steps: int = 0) -> None:
            super().__init__()
            self.number = number
            self.steps = steps

    def __init__(self, quantity: Quantity, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.quantity = quantity
        self.bucket: int | None = None
        self._data: HeatData | None = None
        self._frame: tuple[object, ...] = ()
        self._left = 0
        self._span = 1
        self._top = 1.0
        self._rows = Rows(0, 0)
        self._used: set[int] = set()
        self._levels: list[bytearray] = []
        self._throttle: list[str] = []
        self._drawn = 0
        self._strips: dict[int, Strip] = {}
        self._styles: tuple[object, list[Style]] = (None, [])
        self._signs: list[str] = []

    # ---- data

    def show(self, data: HeatData, bucket: int | None) -> None:
        """Show this data, with the cursor on a bucket; while there is no room, as soon as there is."""
        before = self._cursor_cell()
        self._data, self.bucket = data, bucket
        if not self.is_mounted or self.size.width < GUTTER + 8 or self._room() < 1:
            return
        regions = self._advance()
        if regions is None:
            self._rebuild()
            self.refresh()
            return
        after = self._cursor_cell()
        regions += self._moved(before, after)
        if regions:
            self.refresh(*regions)

    def _room(self) -> int:
        height = self.size.height if self._data is None else min(self.size.height, self._data.height)
        return height - _TITLE - _STRIP - _AXIS

    def _place(self) -> tuple[object, ...]:
        """Return what decides where things stand: another one needs the whole map anew."""
        data = self._data
        assert data is not None
        width = self.size.width - GUTTER
        span = span_for(len(data.columns), width)
        newest = data.first + len(data.columns) - 1
        left = anchor(self._left, width // span, newest, data.cursor, data.first)
        return left, span, self.size, self._room(), data.event, data.inst_id, data.cpus, data.marks

    def _capacity(self) -> int:
        """Return how many polls fit."""
        return (self.size.width - GUTTER) // self._span

    def _advance(self) -> list[Region] | None:
        """Add the columns that are new; None if the whole map has to be made anew."""
        data = self._data
        assert data is not None
        newest = data.first + len(data.columns) - 1
        if self._place() != self._frame or self._drawn > newest + 1:
            return None
        beyond = self._left + self._capacity()
        fresh = [(n, data.columns[n - data.first]) for n in range(self._drawn, min(newest + 1, beyond))]
        used = self._used.union(*(column.counts for _, column in fresh))
        # Rows and shades depend on nothing but the columns on show, whenever they came.
        if used != self._used and rows_for(sorted(used), self._room()) != self._rows:
            return None
        sums = [self._sums(column) for _, column in fresh]
        if any(value > self._top for row in sums for value in row.values()):
            return None
        self._used = used
        regions: list[Region] = []
        for (number, column), values in zip(fresh, sums, strict=True):
            regions += self._put(number - self._left, number, column, values)
        self._drawn = newest + 1
        return regions

    def _rebuild(self) -> None:
        data = self._data
        assert data is not None
        self._frame = self._place()
        self._left, self._span, *_ = self._frame  # type: ignore[assignment]
        capacity = self._capacity()
        start = self._left - data.first
        shown = [data.columns[index] for index in range(start, min(len(data.columns), start + capacity))]
        self._used = {number for column in shown for number in column.counts}
        self._rows = rows_for(sorted(self._used), self._room())
        sums = [self._sums(column) for column in shown]
        self._top = nice_top(max((value for row in sums for value in row.values()), default=0.0))
        self._levels = [bytearray([EMPTY] * capacity) for _ in range(self._rows.count)]
        self._throttle = [" "] * capacity
        self._strips.clear()
        for x, (column, values) in enumerate(zip(shown, sums, strict=True)):
            self._put(x, self._left + x, column, values)
        self._drawn = data.first + len(data.columns)

    def _sums(self, column: Column) -> dict[int, float]:
        """Return the figure of each row of a column that is not zero."""
        assert self._data is not None
        sums: dict[int, float] = {}
        for number, value in rates(column, self.quantity, self._data.bounds).items():
            row = self._rows.row_of(number)
            sums[row] = sums.get(row, 0.0) + value
        return sums

    def _put(self, x: int, number: int, column: Column, sums: Mapping[int, float]) -> list[Region]:
        """Draw one poll at column `x`; return what changed."""
        data = self._data
        assert data is not None
        changed = False
        blank = 0 if column.seconds else GAP
        for row, levels in enumerate(self._levels):
            shade = level(sums[row], self._top) if row in sums else blank
            if levels[x] != shade:
                levels[x] = shade
                if shade or blank:
                    self._forget(*self._lines_of(row))
                    changed = True
        spark = throttle_glyph(column.throttled, data.cpus)
        if spark != self._throttle[x]:
            self._throttle[x] = spark
            self._forget(_TITLE + self._rows.height)
            changed = True
        # One region for the whole column: many small ones cost more than the cells they save.
        place = Region(GUTTER + x * self._span, _TITLE, self._span, self._rows.height + _STRIP)
        regions = [place] if changed else []
        if number % ticks_every(self._span) == 0:
            self._forget(self._axis_line())
            regions.append(Region(0, self._axis_line(), self.size.width, 1))
        return regions

    def _lines_of(self, row: int) -> range:
        first = _TITLE + row * self._rows.lines
        return range(first, first + self._rows.lines)

    def _axis_line(self) -> int:
        return _TITLE + self._rows.height + _STRIP

    def _forget(self, *lines: int) -> None:
        for y in lines:
            self._strips.pop(y, None)

    # ---- cursor

    def action_bucket(self, direction: int) -> None:
        """Move the cursor to longer (1) or shorter (-1) waits."""
        row = self._rows.row_of(self.bucket if self.bucket is not None else self._rows.low) - direction
        self.post_message(self.Read(self._rows.numbers(max(0, min(self._rows.count - 1, row)))[0]))

    def on_click(self, event: Click) -> None:
        """Read the cell that was clicked."""
        data = self._data
        row, x = (event.y - _TITLE) // self._rows.lines, event.x - GUTTER
        if data is None or not 0 <= row < self._rows.count or x < 0:
            return
        last = data.first + len(data.columns) - 1
        number = min(self._left + x // self._span, last)
        looked_at = last if data.cursor is None else data.cursor
        self.post_message(self.Read(self._rows.numbers(row)[0], number - looked_at))

    def row_numbers(self, bucket: int) -> range:
        """Return the buckets that share a row with one."""
        row = self._rows.row_of(bucket)
        return self._rows.numbers(row) if 0 <= row < self._rows.count else range(bucket, bucket + 1)

    def _cursor_cell(self) -> tuple[int, int] | None:
        """Return (x, row) of the cell that the cursor is on, if the map holds it and somebody looks for it."""
        data = self._data
        if data is None or self.bucket is None or not data.columns or (data.cursor is None and not self.has_focus):
            return None
        number = data.first + len(data.columns) - 1 if data.cursor is None else data.cursor
        x, row = number - self._left, self._rows.row_of(self.bucket)
        if 0 <= x < self._capacity() and 0 <= row < self._rows.count:
            return x, row
        return None

    def _moved(self, before: tuple[int, int] | None, after: tuple[int, int] | None) -> list[Region]:
        if before == after:
            return []
        regions = []
        for cell in (before, after):
            if cell is not None:
                x, row = cell
                for y in (*self._lines_of(row), self._axis_line()):
                    self._forget(y)
                    regions.append(Region(GUTTER + x * self._span, y, self._span, 1))
        return regions

    def watch_has_focus(self, value: bool) -> None:
        """Show or hide the cursor."""
        super().watch_has_focus(value)
        self._strips.clear()
        self.refresh()

    # ---- painting

    def on_resize(self) -> None:
        """Draw in the new size."""
        if self._data is not None:
            self.show(self._data, self.bucket)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._strips.clear()
        self._styles = (None, [])
        super().notify_style_update()

    def forget(self) -> None:
        """Let go of the lines that were painted."""
        self._strips.clear()
        super().forget()

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != self.size.width:
            strip = self._strips[y] = Strip(self._segments(y)).adjust_cell_length(self.size.width, self._base())
        return strip

    def _base(self) -> Style:
        return self.palette[""]

    def _segments(self, y: int) -> list[Segment]:
        palette = self.palette
        if y == 0:
            return self._title()
        if self._data is None or not self._levels:
            return []
        row, line = divmod(y - _TITLE, self._rows.lines)
        if row < self._rows.count:
            return self._row(row, labelled=line == 0)
        if y == self._axis_line() - 1:
            text = "".join(sign * self._span for sign in self._throttle)
            return [Segment(fit("throttle ", GUTTER, "right"), palette["dim"]), Segment(text, palette["waiting"])]
        if y == self._axis_line():
            return self._axis()
        return []

    def _title(self) -> list[Segment]:
        palette = self.palette
        styles = self._shade_styles()
        low, high = compact(self._top / 10**DECADES), compact(self._top)
        if self._top / 10**DECADES < 0.05:
            low = f"{self._top / 10**DECADES:g}"
        title = fit(self.quantity.value, max(0, self.size.width - len(low) - cells(high) - LEVELS - 4))
        segments = [Segment(title + "  ", palette["title"]), Segment(f"{low} ", palette["dim"])]
        segments += [Segment(self._signs[shade], styles[shade]) for shade in range(1, LEVELS + 1)]
        return [*segments, Segment(f" {high}", palette["dim"])]

    def _row(self, row: int, *, labelled: bool) -> list[Segment]:
        palette = self.palette
        assert self._data is not None
        number = self._rows.numbers(row)[-1]
        bound = f"<{microseconds(self._data.bounds.get(number, 1 << number))} " if labelled else ""
        segments = [Segment(fit(bound, GUTTER, "right"), palette["dim"])]
        levels = self._with_marks(self._levels[row])
        cursor = self._cursor_cell()
        if cursor is None or cursor[1] != row:
            return segments + self._runs(levels)
        at = cursor[0]
        sign = glyph(levels[at]) if 0 < levels[at] <= GAP else "◇"
        return [
            *segments,
            *self._runs(levels[:at]),
            Segment(fit(sign * self._span if sign != "◇" else sign, self._span), palette["cursor"]),
            *self._runs(levels[at + 1 :]),
        ]

    def _with_marks(self, levels: bytearray) -> bytearray:
        """Return the levels with a mark where a plan was activated and nobody waited."""
        assert self._data is not None
        places = [number - self._left for number, _ in self._data.marks]
        if not places:
            return levels
        marked = bytearray(levels)
        for x in places:
            if 0 <= x < len(marked) and marked[x] in (0, EMPTY):
                marked[x] = MARK
        return marked

    def _runs(self, levels: bytearray) -> list[Segment]:
        styles = self._shade_styles()
        texts = [
            sign.ljust(self._span) if shade == MARK else sign * self._span for shade, sign in enumerate(self._signs)
        ]
        return [Segment(texts[shade] * len(list(run)), styles[shade]) for shade, run in groupby(levels)]

    def _mode(self) -> str:
        """Return how many colours there are: truecolor, 256, 16 or mono."""
        if self.app.no_color:
            return "mono"
        if self.app.current_theme.ansi:
            return "16"
        return {"truecolor": "truecolor", "256": "256"}.get(self.app.console.color_system or "", "16")

    def _is_plain(self) -> bool:
        """Tell whether the lines are shown as they are: of sixteen colours Textual makes those of the theme."""
        return self._mode() != "16" and super()._is_plain()

    def _shade_styles(self) -> list[Style]:
        """Return the styles of all levels, made once per theme and terminal."""
        theme, mode = self.app.current_theme, self._mode()
        if self._styles[0] != (theme.name, mode):
            styles, self._signs = paints(self.quantity, theme, mode)
            self._styles = ((theme.name, mode), styles)
        return self._styles[1]

    def _axis(self) -> list[Segment]:
        assert self._data is not None
        text = axis_text(self._data, self._left, self._capacity(), self._span)
        return [Segment(" " * GUTTER + text, self.palette["dim"])]
