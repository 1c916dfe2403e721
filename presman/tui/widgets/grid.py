"""A table on the line API: fixed columns and a flexible one, bars in cells, and a cursor that follows its row.

Only the visible rows are rendered, and only the cells that changed are sent to the terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click, MouseMove
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from presman.base.colours import GroupColours
from presman.figures.drawing.columns import Trend
from presman.figures.drawing.lines import Line, changes, pad
from presman.figures.figure import Table
from presman.tui.widgets.line_api import LineApiWidget
from presman.tui.widgets.table_frame import HEADER_LINES, TableFrame, TableRows


class _Drawn(NamedTuple):
    """Everything that the lines depend on: while it is equal, so are they."""

    version: int = -1
    width: int = 0
    height: int = 0
    top: int = 0
    position: int = 0
    focused: bool = False


class Grid(ScrollView, LineApiWidget, can_focus=True, inherit_bindings=False):
    """Shows the rows of a :class:`presman.figures.figure.Table`. `counted`: the title has their number."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "row up", show=False, key_display="↑ k"),
        Binding("down,j", "move(1)", "row down", show=False, key_display="↓ j"),
        Binding("pageup", "page(-1)", "page up", show=False, key_display="PgUp"),
        Binding("pagedown", "page(1)", "page down", show=False, key_display="PgDn"),
        Binding("home", "move(-1000000)", "first row", show=False, key_display="Home"),
        Binding("enter", "open", "details", show=False, key_display="Enter"),
    ]

    @dataclass(eq=False)
    class Opened(Message):
        """The user opened a row to see its details; None in an empty table."""

        grid: Grid
        row: Any

    @dataclass(eq=False)
    class Moved(Message):
        """The user moved the cursor, or a filter may have moved it to another row."""

        grid: Grid

    def __init__(
        self, table: Table[Any], *, trend: Trend | None = None, filterable: bool = True, counted: bool = True
    ) -> None:
        super().__init__(id=f"grid-{table.key}")
        self.table = table
        self.rows = TableRows(table, filterable=filterable)
        self.drawing = TableFrame(self.rows, trend, counted=counted)
        self._version = 0
        self._painted: list[Line] = []
        self._drawn = _Drawn()
        self._cursor = range(0)
        self._hint: str | None = None

    # ---- data in

    def show_rows(
        self,
        rows: Sequence[Any],
        hidden: Collection[str] = (),
        note: str = "",
        least: Mapping[str, float] | None = None,
        *,
        column_notes: Mapping[str, str] | None = None,
        unavailable: str = "",
        late: str = "",
        colours: GroupColours | None = None,
    ) -> None:
        """Show these rows. `hidden` are the keys of omitted columns. After the title come `late` (the age of rows, if
        late), `note`, and `column_notes` by the key of the column. `least` are values that the scales of bars must
        include, by column. `unavailable` is why rows could not be seen. `colours` are those of groups.
        """
        self.rows.all = rows
        drawing = self.drawing
        drawing.filled = True
        drawing.hidden, drawing.least = frozenset(hidden), least or {}
        drawing.note, drawing.unavailable, drawing.late = note, unavailable, late
        drawing.colours, drawing.column_notes = colours, column_notes or {}
        self._arrange()

    def set_filter(self, needle: str) -> None:
        """Show only the rows whose text contains `needle` (`!` before it: only the others)."""
        if needle != self.rows.needle:
            self.rows.needle = needle
            self._arrange()
            self.post_message(self.Moved(self))

    def sort_by(self, key: str, *, descending: bool | None = None) -> None:
        """Sort by the column of that key ("": the order of the data). Numbers are sorted largest first by default."""
        if descending is None:
            descending = bool(key) and self.table.column(key).largest_first
        self.rows.sort_key, self.rows.descending = key, descending
        self._arrange()

    @property
    def row(self) -> Any | None:
        """The row under the cursor, None in an empty table."""
        return self.rows.row

    def select(self, identity: Hashable) -> None:
        """Put the cursor on the row of that identity, if it is shown."""
        self.rows.select(identity)
        self._keep_visible()
        self._repaint()

    def _arrange(self) -> None:
        before = self.rows.position
        was_visible = 0 <= before - self.scroll_offset.y < _room(self)
        self.rows.arrange()
        self.drawing.arrange()
        self._version += 1
        _extend(self, lines_needed(self))
        if was_visible and self.rows.position != before:  # a row that moves takes the cursor along
            self._keep_visible()
        self._repaint()

    # ---- painting

    def _bring_up_to_date(self) -> None:
        """Draw the lines again if something that they depend on has changed."""
        region, top = self.scrollable_content_region, self.scroll_offset.y
        now = _Drawn(self._version, region.width, region.height, top, self.rows.position, self.has_focus)
        if now != self._drawn:
            self._painted = self.drawing.lines(region.width, region.height, top)
            self._drawn = now
            self._cursor = self.drawing.lines_of(now.position - top) if now.focused else range(0)

    def _repaint(self) -> None:
        """Refresh the parts that differ from what was drawn."""
        if not self.is_mounted or not self.display:
            return
        before, drawn, cursor = self._painted, self._drawn, self._cursor
        self._bring_up_to_date()
        after, width = self._painted, self._drawn.width
        if drawn.version < 0 or len(before) != len(after) or drawn.width != width:
            self.refresh()
            return
        pairs = enumerate(zip(before, after, strict=True))
        regions = [Region(x, y, span, 1) for y, (old, new) in pairs for x, span in changes(old, new, width)]
        if cursor != self._cursor:
            regions += [Region(0, lines.start, width, len(lines)) for lines in (cursor, self._cursor) if lines]
        if regions:
            self.refresh(*regions)

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget, brought up to date first."""
        self._bring_up_to_date()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self._drawn.width
        line = self._painted[y] if y < len(self._painted) else pad((), width)
        ground = "cursor" if y in self._cursor else ""
        return self.strip(y, line, width, ground)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._drawn = _Drawn()
        super().notify_style_update()

    # ---- cursor

    def on_resize(self) -> None:
        """Keep the cursor visible, and the lines that the sentence of an empty table takes."""
        if self.drawing.filled:
            _extend(self, lines_needed(self))
        self._keep_visible()

    def watch_has_focus(self, _has_focus: bool) -> None:
        """Show or hide the cursor. No style depends on the focus, so Textual need not look any up again."""
        self.refresh()

    def action_move(self, lines: int) -> None:
        """Move the cursor by some rows."""
        if self.rows.shown:
            self.rows.go(self.rows.position + lines)
            self._keep_visible()
            self._repaint()
            self.post_message(self.Moved(self))

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screenful."""
        self.action_move(direction * max(1, self.scrollable_content_region.height - HEADER_LINES - 1))

    def action_open(self) -> None:
        """Ask for the details of the row under the cursor."""
        self.post_message(self.Opened(self, self.row))

    def _keep_visible(self) -> None:
        top, position = self.scroll_offset.y, self.rows.position
        if position < top:
            self.scroll_to(y=position, animate=False)
        elif position >= top + _room(self):
            self.scroll_to(y=position - _room(self) + 1, animate=False)

    def on_mouse_move(self, event: MouseMove) -> None:
        """Set the tooltip that explains the column head under the mouse."""
        on_heads = event.y == HEADER_LINES - 1
        column = self.drawing.column_at(event.x, self.scrollable_content_region.width) if on_heads else None
        hint = None if column is None else f"{column.head}: {column.help}"
        if hint != self._hint:
            self._hint = hint
            self.tooltip = None if hint is None else Content(hint)

    def on_click(self, event: Click) -> None:
        """Sort by the clicked head, or move to the clicked row; a second click opens it."""
        rows = self.rows
        if event.y == HEADER_LINES - 1:
            column = self.drawing.column_at(event.x, self.scrollable_content_region.width)
            if column is not None and column.sort is not None:
                key = column.key
                self.sort_by(key, descending=not rows.descending if key == rows.sort_key else None)
        elif (index := self.drawing.row_at(event.y)) is not None:
            self.action_move(index + self.scroll_offset.y - rows.position)
            if event.chain > 1:
                self.action_open()


def keys_in_table() -> list[Binding]:
    """Return the keys of every table that the app does not bind itself."""
    return [each for each in Grid.BINDINGS if isinstance(each, Binding) and each.action != "open"]


def lines_needed(grid: Grid) -> int:
    """Return how many lines show a whole table."""
    return grid.drawing.height(grid.scrollable_content_region.width)


def _room(grid: Grid) -> int:
    """Return how many rows of one line are visible."""
    return max(1, grid.scrollable_content_region.height - HEADER_LINES)


def _extend(grid: Grid, lines: int) -> None:
    """Set a new virtual height without a new layout of the whole screen if only the scrollbar changes.

    The virtual width is never used: if it were the widget's, each tab would be laid out twice when it is shown.
    """
    before, seen, height = grid.virtual_size.height, grid.size.height, grid.styles.height
    if lines == before:
        return
    is_fixed = height is not None and not height.is_auto
    if not is_fixed or (before > seen) != (lines > seen):
        grid.virtual_size = Size(1, lines)
    elif lines > seen:
        grid.set_reactive(Grid.virtual_size, Size(1, lines))
        grid.vertical_scrollbar.window_virtual_size = lines
        grid.scroll_y = grid.validate_scroll_y(grid.scroll_y)
