"""A heat map over time on the line API: one column per poll, one row per bucket, the throttle on the same time axis.

A new poll changes one column, so only its cells are drawn and sent; everything else is cached as strips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import ClassVar

from rich.color import Color as RichColor
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

from presman.analysis.latency_history import Column
from presman.formats import compact, microseconds
from presman.tui.widgets.heat import (
    ANSI,
    DECADES,
    EMPTY,
    GAP,
    LEVELS,
    RAMP,
    Quantity,
    Rows,
    anchor,
    glyph,
    level,
    nice_top,
    rates,
    rows_for,
    shades,
)
from presman.tui.widgets.lines import cells, fit
from presman.tui.widgets.palette import palette_of

GUTTER = 9
"""Cells left of the map, for the buckets' bounds."""
_TITLE, _STRIP, _AXIS = 1, 1, 1
_TICK = 15
"""Columns between two times on the axis."""
_SPARK = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True)
class HeatData:
    """What a map is drawn from.

    `columns` are polls, oldest first, the first of them number `first` counted from the very first poll; `bounds` the
    bucket bounds in microseconds by number; `cpus` what the throttle strip is scaled to. `cursor` is the number of the
    poll looked at while scrolled back, None while live; `event` and `inst_id` tell one history from another.
    """

    columns: Sequence[Column]
    first: int
    bounds: Mapping[int, int]
    cpus: float
    cursor: int | None
    event: str
    inst_id: int


class HeatMap(Widget, can_focus=True):
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
        self._top = 1.0
        self._rows = Rows(0, 0, 1)
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
        return self.size.height - _TITLE - _STRIP - _AXIS

    def _advance(self) -> list[Region] | None:
        """Add the columns that are new; None if the whole map has to be made anew."""
        data = self._data
        assert data is not None
        capacity = self.size.width - GUTTER
        newest = data.first + len(data.columns) - 1
        left = anchor(self._left, capacity, newest, data.cursor, data.first)
        frame = (data.event, data.inst_id, data.cpus, self.size, left)
        if frame != self._frame or self._drawn > newest + 1:
            return None
        fresh = [(number, data.columns[number - data.first]) for number in range(self._drawn, newest + 1)]
        fresh = [(number, column) for number, column in fresh if number - left < capacity]
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
            regions += self._put(number - left, number, column, values)
        self._drawn = newest + 1
        return regions

    def _rebuild(self) -> None:
        data = self._data
        assert data is not None
        capacity = self.size.width - GUTTER
        newest = data.first + len(data.columns) - 1
        self._left = anchor(self._left, capacity, newest, data.cursor, data.first)
        self._frame = (data.event, data.inst_id, data.cpus, self.size, self._left)
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
        self._drawn = newest + 1

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
                    self._strips.pop(_TITLE + row, None)
                    changed = True
        spark = throttle_glyph(column.throttled, data.cpus)
        if spark != self._throttle[x]:
            self._throttle[x] = spark
            self._strips.pop(_TITLE + self._rows.count, None)
            changed = True
        # One region for the whole column: many small ones cost more than the cells they save.
        regions = [Region(GUTTER + x, _TITLE, 1, self._rows.count + _STRIP)] if changed else []
        if number % _TICK == 0:
            axis = _TITLE + self._rows.count + _STRIP
            self._strips.pop(axis, None)
            regions.append(Region(0, axis, self.size.width, 1))
        return regions

    # ---- cursor

    def action_bucket(self, direction: int) -> None:
        """Move the cursor to longer (1) or shorter (-1) waits."""
        row = self._rows.row_of(self.bucket if self.bucket is not None else self._rows.low) - direction
        self.post_message(self.Read(self._rows.numbers(max(0, min(self._rows.count - 1, row)))[0]))

    def on_click(self, event: Click) -> None:
        """Read the cell that was clicked."""
        data = self._data
        row, x = event.y - _TITLE, event.x - GUTTER
        if data is None or not 0 <= row < self._rows.count or x < 0:
            return
        last = data.first + len(data.columns) - 1
        number = min(self._left + x, last)
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
        if 0 <= x < self.size.width - GUTTER and 0 <= row < self._rows.count:
            return x, row
        return None

    def _moved(self, before: tuple[int, int] | None, after: tuple[int, int] | None) -> list[Region]:
        if before == after:
            return []
        regions = []
        for cell in (before, after):
            if cell is not None:
                x, row = cell
                axis = _TITLE + self._rows.count + _STRIP
                for y in (_TITLE + row, axis):
                    self._strips.pop(y, None)
                    regions.append(Region(GUTTER + x, y, 1, 1))
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

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        strip = self._strips.get(y)
        if strip is None or strip.cell_length != self.size.width:
            strip = self._strips[y] = Strip(self._segments(y)).adjust_cell_length(self.size.width, self._base())
        return strip

    def _base(self) -> Style:
        return palette_of(self.app.current_theme)[""]

    def _segments(self, y: int) -> list[Segment]:
        palette = palette_of(self.app.current_theme)
        row = y - _TITLE
        if y == 0:
            return self._title()
        if self._data is None or not self._levels:
            return []
        if row < self._rows.count:
            return self._row(row)
        if row == self._rows.count:
            text = "".join(self._throttle)
            return [Segment(fit("throttle ", GUTTER, "right"), palette["dim"]), Segment(text, palette["waiting"])]
        if row == self._rows.count + _STRIP:
            return [Segment(self._axis(), palette["dim"])]
        return []

    def _title(self) -> list[Segment]:
        palette = palette_of(self.app.current_theme)
        styles = self._shade_styles()
        low, high = compact(self._top / 10**DECADES), compact(self._top)
        if self._top / 10**DECADES < 0.05:
            low = f"{self._top / 10**DECADES:g}"
        title = fit(self.quantity.value, max(0, self.size.width - len(low) - cells(high) - LEVELS - 4))
        segments = [Segment(title + "  ", palette["title"]), Segment(f"{low} ", palette["dim"])]
        segments += [Segment(self._signs[shade], styles[shade]) for shade in range(1, LEVELS + 1)]
        return [*segments, Segment(f" {high}", palette["dim"])]

    def _row(self, row: int) -> list[Segment]:
        palette = palette_of(self.app.current_theme)
        styles = self._shade_styles()
        assert self._data is not None
        number = self._rows.numbers(row)[-1]
        bound = microseconds(self._data.bounds.get(number, 1 << number))
        segments = [Segment(fit(f"<{bound} ", GUTTER, "right"), palette["dim"])]
        levels = self._levels[row]
        cursor = self._cursor_cell()
        marked = cursor[0] if cursor is not None and cursor[1] == row else None
        if marked is None:
            return segments + self._runs(levels, styles)
        at = levels[marked]
        sign = glyph(at) if 0 < at <= GAP else " "
        return [
            *segments,
            *self._runs(levels[:marked], styles),
            Segment(sign if sign != " " else "◇", palette["cursor"]),
            *self._runs(levels[marked + 1 :], styles),
        ]

    def _runs(self, levels: bytearray, styles: list[Style]) -> list[Segment]:
        signs = self._signs
        return [Segment(signs[shade] * len(list(run)), styles[shade]) for shade, run in groupby(levels)]

    def _mode(self) -> str:
        """Return how many colours there are: truecolor, 256, 16 or mono."""
        if self.app.no_color:
            return "mono"
        if self.app.current_theme.ansi:
            return "16"
        return {"truecolor": "truecolor", "256": "256"}.get(self.app.console.color_system or "", "16")

    def _shade_styles(self) -> list[Style]:
        """Return the styles of all levels, made once per theme and terminal."""
        theme, mode = self.app.current_theme, self._mode()
        if self._styles[0] != (theme.name, mode):
            palette = palette_of(theme)
            base, dim = palette[""], palette["dim"]
            if mode in ("truecolor", "256"):
                colors = shades(self.quantity, dark=theme.dark, exact=mode == "256")
                made = [Style(bgcolor=RichColor.from_rgb(*color)) for color in colors]
            elif mode == "16":
                names = ANSI[self.quantity]
                picked = [names[index * len(RAMP) // LEVELS] for index in range(LEVELS)]
                made = [Style(color=name, bgcolor=base.bgcolor) for name in picked]
            else:
                made = [base] * LEVELS
            self._styles = ((theme.name, mode), [base, *made, dim, base])
            # A blank on coloured ground, or a sign where colours cannot tell.
            colored = mode in ("truecolor", "256")
            self._signs = [" " if colored and shade != GAP else glyph(shade) for shade in range(EMPTY + 1)]
        return self._styles[1]

    def _axis(self) -> str:
        """Return the times below the map, and ▲ below the poll looked at while scrolled back."""
        data = self._data
        assert data is not None
        capacity = self.size.width - GUTTER
        text = [" "] * capacity
        last = data.first + len(data.columns) - 1
        for number in range(self._left, min(last, self._left + capacity - 1) + 1):
            x = number - self._left
            if number % _TICK == 0 and x + 8 <= capacity:
                text[x : x + 9] = f"╷{_time(data.columns[number - data.first].at)}"[: capacity - x]
        if data.cursor is not None and 0 <= data.cursor - self._left < capacity:
            text[data.cursor - self._left] = "▲"
        return " " * GUTTER + "".join(text)[:capacity]


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).astimezone().strftime("%H:%M:%S")


def throttle_glyph(throttled: float | None, cpus: float) -> str:
    """Return the sign of so many CPUs held back: full is as many as there are; a blank where none, or not known."""
    if not throttled or throttled < 0.005 or cpus <= 0:
        return " "
    return _SPARK[max(0, min(7, int(throttled / cpus * 8)))]
