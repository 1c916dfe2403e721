"""A heat map over time: one column per poll, one row per bucket, the throttle strip on the same time axis.

If there is room, columns are several cells wide and rows several lines high.
"""

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message

from presman.base.formats import compact
from presman.figures.drawing.lines import Line, cells, fit, wrap
from presman.tui.widgets import heat
from presman.tui.widgets.line_api import LineView, Palette


class HeatMap(LineView, can_focus=True):
    """Draws :class:`HeatData`. ↑ and ↓ move its cursor from bucket to bucket; the poll is that of all tabs."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "bucket(1)", "longer waits", show=False, key_display="↑ k"),
        Binding("down,j", "bucket(-1)", "shorter waits", show=False, key_display="↓ j"),
    ]

    @dataclass(eq=False)
    class Read(Message):
        """The cursor moved to bucket `number` (None: it stays), or to a poll `steps` away from the poll on screen."""

        number: int | None
        steps: int = 0

    def __init__(self, quantity: heat.Quantity, *, id: str | None = None) -> None:  # noqa: A002 - Textual's word
        super().__init__(id=id)
        self.quantity = quantity
        self.bucket: int | None = None
        self.redraw = self.show
        self._cells: heat.HeatCells | None = None

    def show(self, data: heat.HeatData | None = None, bucket: int | None = None) -> None:
        """Show this data with the cursor on a bucket, or later as soon as there is room."""
        self.bucket, self.redraw = bucket, partial(self.show, data, bucket)
        width, height = self.size
        if not self.is_mounted or width < heat.GUTTER + 8:
            return
        signs = heat.paints(self.quantity, self.app.current_theme, self._mode())[1]
        if data is not None and data.why_none:
            self._cells = None
            self.show_lines(wrap(((data.why_none, "dim"),), width))
        elif data is not None and heat.room_for(data, height) <= 0:
            words = f"{self.quantity.value.partition(':')[0]} has no room here: m gives it the whole tab"
            self.show_lines([((fit(words, width), "dim"),)])
        elif data is None:
            self.show_lines([self._title(signs, 1.0 if self._cells is None else self._cells.top)])
        else:
            left = 0 if self._cells is None else self._cells.left
            shown = self._cells = heat.HeatCells(self.quantity, data, width, height, left)
            # Live and without the focus no cell is read, so none has the cursor.
            is_read = bool(data.columns) and (data.cursor is not None or self.has_focus)
            cursor = shown.cell_of(bucket) if bucket is not None and is_read else None
            self.show_lines([self._title(signs, shown.top), *shown.lines(signs, cursor)])

    # ---- cursor

    def action_bucket(self, direction: int) -> None:
        """Move the cursor to longer (1) or shorter (-1) waits."""
        if self._cells is not None:
            rows = self._cells.rows
            row = rows.row_of(self.bucket if self.bucket is not None else rows.low) - direction
            self.post_message(self.Read(rows.numbers(max(0, min(rows.count - 1, row)))[0]))

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked cell."""
        found = self._cells.at(event.x, event.y) if self._cells is not None else None
        if found is not None:
            self.post_message(self.Read(*found))

    def row_numbers(self, bucket: int) -> range:
        """Return the buckets in the row of a bucket."""
        rows = heat.BucketRows(0, 0) if self._cells is None else self._cells.rows
        row = rows.row_of(bucket)
        return rows.numbers(row) if 0 <= row < rows.count else range(bucket, bucket + 1)

    def watch_has_focus(self, value: bool) -> None:
        """Show or hide the cursor."""
        super().watch_has_focus(value)
        self.redraw()

    # ---- painting

    def notify_style_update(self) -> None:
        """Draw again in the new colours, or in signs."""
        super().notify_style_update()
        self.redraw()

    @property
    def palette(self) -> Palette:
        """The styles of the current theme, with the shades of the map."""
        return heat.paints(self.quantity, self.app.current_theme, self._mode())[0]

    def _title(self, signs: list[str], top: float) -> Line:
        least = top / 10**heat.DECADES
        low, high = f"{least:.9f}".rstrip("0") if least < 0.05 else compact(least), compact(top)
        title, room = self.quantity.value, max(0, self.size.width - len(low) - cells(high) - heat.LEVELS - 4)
        title = fit(title if len(title) <= room else title.partition(":")[0], room)
        return ((f"{title}  ", "title"), (f"{low} ", "dim"), *heat.legend(signs), (f" {high}", "dim"))

    def _mode(self) -> str:
        """Return the colours of the terminal: truecolor, 256, 16 or mono."""
        if self.app.no_color:
            return "mono"
        if self.app.current_theme.ansi:
            return "16"
        return {"truecolor": "truecolor", "256": "256"}.get(self.app.console.color_system or "", "16")

    def _is_plain(self) -> bool:
        """Return whether lines are shown unfiltered: Textual replaces the sixteen colours by those of the theme."""
        return self._mode() != "16" and super()._is_plain()
