"""A table on the line API: fixed columns and a flexible one, bars in its cells, and a cursor that follows its row.

Only the visible rows are rendered, and only the cells that changed are sent to the terminal.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any, ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from presman.columns import Column, Table
from presman.tui.widgets.columns import Fitted, Trend, cell_runs, fit_columns, gap_at, matches, row_text
from presman.tui.widgets.line_api import LineApiWidget
from presman.tui.widgets.lines import Line, Run, changes, fit, merge, pad

HEADER_LINES = 2
"""Lines above the rows: the title and the column heads."""


class Grid(ScrollView, LineApiWidget, can_focus=True, inherit_bindings=False):
    """Shows the rows of a :class:`presman.columns.Table`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", "row up", show=False, key_display="↑ k"),
        Binding("down,j", "move(1)", "row down", show=False, key_display="↓ j"),
        Binding("pageup", "page(-1)", "page up", show=False, key_display="PgUp"),
        Binding("pagedown", "page(1)", "page down", show=False, key_display="PgDn"),
        Binding("home", "first", "first row", show=False, key_display="Home"),
        Binding("enter", "open", "details", show=False, key_display="Enter"),
    ]

    class Opened(Message):
        """A row was chosen, to see its details."""

        def __init__(self, grid: Grid, row: Any) -> None:
            super().__init__()
            self.grid = grid
            self.row = row

    class Moved(Message):
        """The user moved the cursor to another row."""

        def __init__(self, grid: Grid) -> None:
            super().__init__()
            self.grid = grid

    def __init__(self, table: Table[Any], *, trend: Trend | None = None, filterable: bool = True) -> None:
        super().__init__(id=f"grid-{table.key}")
        self.table = table
        self.filterable = filterable
        self.sort_key = table.order
        self.descending = table.descending
        self.filter = ""
        self._trend = trend
        self._hidden: frozenset[str] = frozenset()
        self._all: Sequence[Any] = ()
        self._rows: list[Any] = []
        self._identities: list[Hashable] = []
        self._cursor: Hashable = None
        self._cursor_y = 0
        self._full: dict[str, float] = {}
        self._fitted: Fitted = ()
        self._fitted_for: tuple[int, frozenset[str]] = (-1, frozenset())
        self._note = ""
        self._filled = False
        self._frame: list[Line] = []
        self._frame_key: tuple[object, ...] = ()
        self._frame_width = 0
        self._version = 0

    # ---- data in

    def show_rows(self, rows: Sequence[Any], hidden: Collection[str] = (), note: str = "") -> None:
        """Show these rows. `hidden` are keys of columns left out, `note` stands behind the title."""
        self._all = rows
        self._hidden = frozenset(hidden)
        self._note = note
        self._filled = True
        self._arrange()

    def set_filter(self, needle: str) -> None:
        """Show only the rows whose text contains `needle` (`!` before it: only the others)."""
        if needle != self.filter:
            self.filter = needle
            self._arrange()

    def sort_by(self, key: str, descending: bool) -> None:
        """Sort by the column of that key ("": the order of the data)."""
        self.sort_key, self.descending = key, descending
        self._arrange()

    def sortable(self) -> list[str]:
        """Return the keys the shown columns can be sorted by, in order; "" is the order of the data."""
        keys = [column.key for column, _ in self.fitted() if column.sort is not None]
        return keys if self.table.order else ["", *keys]

    @property
    def rows(self) -> Sequence[Any]:
        """The rows as shown: filtered and sorted."""
        return self._rows

    @property
    def row(self) -> Any | None:
        """The row under the cursor, None in an empty table."""
        return self._rows[self._cursor_y] if self._rows else None

    def select(self, identity: Hashable) -> None:
        """Put the cursor on the row of that identity, if it is shown."""
        self._cursor = identity
        self._arrange()

    def _arrange(self) -> None:
        rows = list(self._all)
        if self.filter and self.filterable:
            columns = self.table.columns
            rows = [row for row in rows if matches(self.filter, row_text(columns, row))]
        if self.sort_key:
            rows = _sorted(rows, self.table.column(self.sort_key), self.descending)
        elif self.descending:
            rows.reverse()
        self._rows = rows
        self._identities = [self.table.identity(row) for row in rows]
        self._follow()
        self._full = {
            column.key: max((bar.used for row in rows if (bar := column.bar(row))), default=0.0)
            for column in self.table.columns
            if column.bar is not None
        }
        self._version += 1
        self._extend(HEADER_LINES + max(1, len(rows)))
        self._repaint()

    def _extend(self, lines: int) -> None:
        """Take a new virtual height, without having the whole screen laid out again where only the scrollbar changes.

        The virtual width is never used: were it that of the widget, each tab would be laid out twice when it is shown.
        """
        before, seen = self.virtual_size.height, self.size.height
        if lines == before:
            return
        size = Size(1, lines)
        height = self.styles.height
        is_fixed = height is not None and not height.is_auto
        if not is_fixed or (before > seen) != (lines > seen):
            self.virtual_size = size
        elif lines > seen:
            self.set_reactive(Grid.virtual_size, size)
            self.vertical_scrollbar.window_virtual_size = lines
            self.scroll_y = self.validate_scroll_y(self.scroll_y)

    def _follow(self) -> None:
        """Keep the cursor on its row; where the row is gone, on its place."""
        if self._cursor is not None and self._cursor in self._identities:
            self._cursor_y = self._identities.index(self._cursor)
        else:
            self._cursor_y = max(0, min(self._cursor_y, len(self._rows) - 1))
            self._cursor = self._identities[self._cursor_y] if self._rows else None

    # ---- painting

    def fitted(self) -> Fitted:
        """Return the columns that fit and their widths."""
        width = self.scrollable_content_region.width
        if self._fitted_for != (width, self._hidden):
            self._fitted = fit_columns(self.table.columns, width, self._hidden)
            self._fitted_for = (width, self._hidden)
        return self._fitted

    def _key(self) -> tuple[object, ...]:
        region = self.scrollable_content_region
        return (self._version, region.width, region.height, self.scroll_offset.y, self._cursor_y, self.has_focus)

    def _lines(self) -> list[Line]:
        if self._key() != self._frame_key:
            region = self.scrollable_content_region
            top = self.scroll_offset.y
            body = range(top, top + max(0, region.height - HEADER_LINES))
            self._frame = [self._title(region.width), self._heads(region.width)]
            fitted = self.fitted()
            self._frame += [self._row_line(index, region.width, fitted) for index in body]
            self._frame_key = self._key()
            self._frame_width = region.width
        return self._frame

    def _repaint(self) -> None:
        """Ask for the parts of the screen that differ from what was drawn."""
        if not self.is_mounted or not self.display:
            return
        before, key = self._frame, self._frame_key
        after = self._lines()
        width = self.scrollable_content_region.width
        if not key or len(before) != len(after) or key[1] != width:
            self.refresh()
            return
        regions = [
            Region(x, y, span, 1)
            for y, (old, new) in enumerate(zip(before, after, strict=True))
            for x, span in changes(old, new, width)
        ]
        old_cursor, new_cursor = self._cursor_line(key), self._cursor_line(self._frame_key)
        if old_cursor != new_cursor:
            regions += [Region(0, y, width, 1) for y in (old_cursor, new_cursor) if y is not None]
        if regions:
            self.refresh(*regions)

    @staticmethod
    def _cursor_line(key: tuple[object, ...]) -> int | None:
        """Return the line the cursor stood on in a frame, None where the grid had no focus."""
        scrolled, cursor, focused = key[3], key[4], key[5]
        return HEADER_LINES + cursor - scrolled if focused else None  # type: ignore[operator]

    def _title(self, width: int) -> Line:
        runs = [(self.table.title, "title")]
        if self._filled:
            runs.append((f"  {len(self._rows)}", "head"))
        if self.filter and self.filterable:
            runs.append((f" of {len(self._all)}  filter: {self.filter}", "warn"))
        if self._note:
            runs.append((f"  {self._note}", "dim"))
        runs.append((self._unseen(), "dim"))
        return pad(runs, width)

    def _unseen(self) -> str:
        """Say how many rows there are above and below those that show."""
        above = self.scroll_offset.y
        below = len(self._rows) - above - max(0, self.scrollable_content_region.height - HEADER_LINES)
        parts = [f"{count} more {arrow}" for count, arrow in ((above, "↑"), (below, "↓")) if count > 0]
        return f"  … {', '.join(parts)}" if parts else ""

    def _heads(self, width: int) -> Line:
        heads = ""
        blank = " " * gap_at(width)
        for column, size in self.fitted():
            mark = ("▼" if self.descending else "▲") if column.key == self.sort_key else ""
            if mark and heads and len(column.head) >= size:  # no room: the mark stands in the gap before it
                heads = heads[:-1] + mark
                mark = ""
            heads += fit(fit(column.head, size - len(mark)).rstrip() + mark, size, column.align) + blank
        return pad(((heads[: -len(blank)], "head"),), width, "head")

    def _row_line(self, index: int, width: int, fitted: Fitted) -> Line:
        if not self._rows and index == 0:
            return pad(((self._emptiness(), "dim"),), width)
        if index >= len(self._rows):
            return pad((), width)
        row = self._rows[index]
        gap = gap_at(width)
        blank = (" " * gap, "")
        runs: list[Run] = []
        for column, size in fitted:
            runs += cell_runs(column, size, row, self._full.get(column.key), self._trend)
            runs.append(blank)
        room = width - sum(size + gap for _, size in fitted) + gap
        return merge([*runs[:-1], (" " * room, "")]) if room >= 0 else pad(merge(runs[:-1]), width)

    def _emptiness(self) -> str:
        """Say why there is no row."""
        if not self._filled:
            return "waiting for the first poll …"
        return f"Nothing matches the filter {self.filter}" if self.filter and self._all else self.table.empty

    def render_lines(self, crop: Region) -> list[Strip]:
        """Return some lines of the widget, after they were brought up to date."""
        self._lines()
        return super().render_lines(crop)

    def render_line(self, y: int) -> Strip:
        """Return one line of the widget."""
        width = self._frame_width
        line = self._frame[y] if y < len(self._frame) else pad((), width)
        ground = "cursor" if self._rows and y == self._cursor_line(self._frame_key) else ""
        return self.strip(y, line, width, ground)

    def notify_style_update(self) -> None:
        """Forget what was drawn in other colours."""
        self._frame_key = ()
        super().notify_style_update()

    def on_resize(self) -> None:
        """Keep the cursor on show."""
        self._keep_visible()

    # ---- cursor

    def watch_has_focus(self, value: bool) -> None:
        """Show or hide the cursor."""
        super().watch_has_focus(value)
        self._repaint()

    def action_move(self, lines: int) -> None:
        """Move the cursor by some rows."""
        self._go(self._cursor_y + lines)

    def action_page(self, direction: int) -> None:
        """Move the cursor by a screenful."""
        self._go(self._cursor_y + direction * max(1, self.scrollable_content_region.height - HEADER_LINES - 1))

    def action_first(self) -> None:
        """Go to the first row."""
        self._go(0)

    def action_open(self) -> None:
        """Ask for the details of the row under the cursor."""
        if self._rows:
            self.post_message(self.Opened(self, self._rows[self._cursor_y]))

    def _go(self, y: int) -> None:
        if not self._rows:
            return
        self._cursor_y = max(0, min(y, len(self._rows) - 1))
        self._cursor = self._identities[self._cursor_y]
        self._keep_visible()
        self._repaint()
        self.post_message(self.Moved(self))

    def _keep_visible(self) -> None:
        height = max(1, self.scrollable_content_region.height - HEADER_LINES)
        top = self.scroll_offset.y
        if self._cursor_y < top:
            self.scroll_to(y=self._cursor_y, animate=False)
        elif self._cursor_y >= top + height:
            self.scroll_to(y=self._cursor_y - height + 1, animate=False)

    def on_click(self, event: Click) -> None:
        """Sort by the head that was clicked, or choose the row; a second click opens it."""
        if event.y == HEADER_LINES - 1:
            self._sort_at(event.x)
        elif event.y >= HEADER_LINES:
            y = event.y - HEADER_LINES + self.scroll_offset.y
            if y < len(self._rows):
                self._go(y)
                if event.chain > 1:
                    self.action_open()

    def _sort_at(self, x: int) -> None:
        left = 0
        for column, size in self.fitted():
            if left <= x < left + size and column.sort is not None:
                self.sort_by(column.key, not self.descending if column.key == self.sort_key else False)
            left += size + gap_at(self.scrollable_content_region.width)


def _sorted(rows: Sequence[Any], column: Column[Any], descending: bool) -> list[Any]:
    """Sort stably; rows without a value come last either way."""
    key = column.sort
    if key is None:
        return list(rows)
    present = [row for row in rows if key(row) is not None]
    return sorted(present, key=key, reverse=descending) + [row for row in rows if key(row) is None]
