"""A heat map over time on the line API: one column per poll, one row per bucket, the throttle on the same time axis.

A new poll changes one column, so only its cells are drawn and sent; everything else is cached as strips. Where there is
room, columns are several cells wide and rows several lines high.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from presman.base.formats import compact, microseconds
from presman.figures.drawing.lines import cells, fit
from presman.tui.widgets import heat
from presman.tui.widgets.line_api import LineApiWidget


class HeatMap(LineApiWidget, can_focus=True):
    """Draws :class:`HeatData`. ↑ and ↓ move its cursor from bucket to bucket; time is that of all tabs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "bucket(1)", "longer waits", show=False, key_display="↑ k"),
        Binding("down,j", "bucket(-1)", "shorter waits", show=False, key_display="↓ j"),
    ]

    @dataclass(eq=False)
    class Read(Message):
        """The cursor was moved to bucket `number` (None: stays), or to a poll `steps` away from the one looked at."""

        number: int | None
        steps: int = 0

    def __init__(self, quantity: heat.Quantity, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.quantity = quantity
        self.bucket: int | None = None
        self._data: heat.HeatData | None = None
        self._cells: heat.HeatCells | None = None
        self._strips: dict[int, Strip] = {}
        self._styles: tuple[object, list[Style]] = (None, [])
        self._signs: list[str] = []

    # ---- data

    def show(self, data: heat.HeatData, bucket: int | None) -> None:
        """Show this data, with the cursor on a bucket; while there is no room, as soon as there is."""
        before = self._cursor_cell()
        self._data, self.bucket = data, bucket
        width, height = self.size
        if not self.is_mounted or width < heat.GUTTER + 8 or heat.room_for(data, height) < 1:
            return
        changes = None
        if self._cells is None:
            self._cells = heat.HeatCells(self.quantity, data, width, height)
        else:
            changes = self._cells.take(data, width, height)
        if changes is None:
            self._strips.clear()
            self.refresh()
            return
        regions = [*changes.regions, *self._moved(before, self._cursor_cell())]
        self._forget_lines(changes.lines)
        if regions:
            self.refresh(*regions)

    def _forget_lines(self, lines: Iterable[int]) -> None:
        for y in lines:
            self._strips.pop(y, None)

    # ---- cursor

    def action_bucket(self, direction: int) -> None:
        """Move the cursor to longer (1) or shorter (-1) waits."""
        if self._cells is not None:
            rows = self._cells.rows
            row = rows.row_of(self.bucket if self.bucket is not None else rows.low) - direction
            self.post_message(self.Read(rows.numbers(max(0, min(rows.count - 1, row)))[0]))

    def on_click(self, event: Click) -> None:
        """Read the cell that was clicked."""
        found = self._cells.at(event.x, event.y) if self._cells is not None else None
        if found is not None:
            self.post_message(self.Read(*found))

    def row_numbers(self, bucket: int) -> range:
        """Return the buckets that share a row with one."""
        rows = heat.BucketRows(0, 0) if self._cells is None else self._cells.rows
        row = rows.row_of(bucket)
        return rows.numbers(row) if 0 <= row < rows.count else range(bucket, bucket + 1)

    def _cursor_cell(self) -> tuple[int, int] | None:
        """Return (x, row) of the cell that the cursor is on, if the map holds it and somebody looks for it."""
        data, shown = self._data, self._cells
        if shown is None or data is None or self.bucket is None or not data.columns:
            return None
        return shown.cell_of(self.bucket) if data.cursor is not None or self.has_focus else None

    def _moved(self, before: tuple[int, int] | None, after: tuple[int, int] | None) -> list[Region]:
        """Return where the cursor was and is, if that differs."""
        if before == after or self._cells is None:
            return []
        around = [self._cells.around(cell) for cell in (before, after) if cell is not None]
        self._forget_lines(line for each in around for line in each.lines)
        return [region for each in around for region in each.regions]

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
            width = self.size.width
            strip = self._strips[y] = Strip(self._segments(y)).adjust_cell_length(width, self.palette[""])
        return strip

    def _segments(self, y: int) -> list[Segment]:
        palette, shown = self.palette, self._cells
        if y == 0:
            return self._title(shown.top if shown else 1.0)
        if shown is None:
            return []
        row, line = divmod(y - heat.TITLE, shown.rows.lines)
        if row < shown.rows.count:
            return self._row(shown, row, labelled=line == 0)
        if y == shown.axis - 1:
            text = "".join(sign * shown.position.span for sign in shown.throttle)
            return [Segment(fit("throttle ", heat.GUTTER, "right"), palette["dim"]), Segment(text, palette["waiting"])]
        if y == shown.axis:
            text = heat.axis_text(shown.data, shown.position.left, shown.capacity, shown.position.span)
            return [Segment(" " * heat.GUTTER + text, palette["dim"])]
        return []

    def _title(self, top: float) -> list[Segment]:
        palette = self.palette
        styles = self._shade_styles()
        least = top / 10**heat.DECADES
        low, high = f"{least:g}" if least < 0.05 else compact(least), compact(top)
        title, room = self.quantity.value, max(0, self.size.width - len(low) - cells(high) - heat.LEVELS - 4)
        title = fit(title if len(title) <= room else title.partition(":")[0], room)
        segments = [Segment(title + "  ", palette["title"]), Segment(f"{low} ", palette["dim"])]
        segments += [Segment(self._signs[shade], styles[shade]) for shade in range(1, heat.LEVELS + 1)]
        return [*segments, Segment(f" {high}", palette["dim"])]

    def _row(self, shown: heat.HeatCells, row: int, *, labelled: bool) -> list[Segment]:
        palette, span = self.palette, shown.position.span
        number = shown.rows.numbers(row)[-1]
        bound = f"<{microseconds(shown.data.bounds.get(number, 1 << number))} " if labelled else ""
        segments = [Segment(fit(bound, heat.GUTTER, "right"), palette["dim"])]
        levels, cursor = shown.marked(row), self._cursor_cell()
        if cursor is None or cursor[1] != row:
            return segments + self._runs(levels, span)
        at = cursor[0]
        sign = heat.glyph(levels[at]) * span if 0 < levels[at] <= heat.GAP else "◇"
        here = Segment(fit(sign, span), palette["cursor"])
        return [*segments, *self._runs(levels[:at], span), here, *self._runs(levels[at + 1 :], span)]

    def _runs(self, levels: bytearray, span: int) -> list[Segment]:
        styles = self._shade_styles()
        texts = [sign.ljust(span) if shade == heat.MARK else sign * span for shade, sign in enumerate(self._signs)]
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
            styles, self._signs = heat.paints(self.quantity, theme, mode)
            self._styles = ((theme.name, mode), styles)
        return self._styles[1]
