"""A table as lines: its title, its heads, and as many rows as fit the height. Independent of widgets."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from presman.base.colours import GroupColours
from presman.figures.drawing import columns as drawing
from presman.figures.drawing.lines import Line, Scale, length, pad, wrap
from presman.figures.figure import Figure, Table


class TableRows:
    """Rows of `table`; `sort_key` "" is the order of the data.

    `shown` are the rows that pass the filter, in order, `position` that of the cursor among them. The cursor stays on
    its row from poll to poll or, if the row is gone, at its position. In a table with the worst row first it stays on
    the first row until the user moves it.
    """

    def __init__(self, table: Table[Any], *, filterable: bool = True) -> None:
        self.table, self.filterable = table, filterable
        self.needle = ""
        self.sort_key = table.order
        self.descending = table.descending
        self.all: Sequence[Any] = ()
        self.shown: list[Any] = []
        self.position = 0
        self._identities: list[Hashable] = []
        self._cursor: Hashable = None
        self._moved = False

    @property
    def row(self) -> Any | None:
        """The row under the cursor, None in an empty table."""
        return self.shown[self.position] if self.shown else None

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is active."""
        return bool(self.needle) and self.filterable

    def unmarked_order(self, columns: Collection[str]) -> str:
        """Return the name of the sort order, "" for the default, or if the head of one of these columns shows it."""
        order = (self.sort_key, self.descending)
        if order == (self.table.order, self.table.descending) or self.sort_key in columns:
            return ""
        return f"sorted by {self.table.column(self.sort_key).head}" if self.sort_key else "last row first"

    def arrange(self) -> None:
        """Filter and sort the rows."""
        rows = list(self.all)
        if self.is_filtered:
            columns = self.table.columns
            rows = [row for row in rows if drawing.matches(self.needle, drawing.row_text(columns, row))]
        if self.sort_key:
            rows = _sorted(rows, self.table.column(self.sort_key), self.descending)
        elif self.descending:
            rows.reverse()
        self.shown = _below(rows, self.table)
        self._identities = [self.table.identity(row) for row in self.shown]
        self._follow()

    def _follow(self) -> None:
        if self.table.worst_first and not self._moved:
            self._put_cursor(0)
        elif self._cursor is not None and self._cursor in self._identities:
            self.position = self._identities.index(self._cursor)
        else:
            self._put_cursor(self.position)

    def go(self, position: int) -> None:
        """Put the cursor on the row at `position`, or the nearest one, and keep it on that row."""
        self._moved = True
        self._put_cursor(position)

    def _put_cursor(self, position: int) -> None:
        self.position = max(0, min(position, len(self.shown) - 1))
        self._cursor = self._identities[self.position] if self.shown else None

    def select(self, identity: Hashable) -> None:
        """Put the cursor on the row of that identity, now or once it appears."""
        self._cursor, self._moved = identity, True
        self._follow()


def _below(rows: list[Any], table: Table[Any]) -> list[Any]:
    """Return the rows with each child row directly after its parent, if the parent is there."""
    if table.parent is None:
        return rows
    children: dict[Hashable, list[Any]] = {}
    for row in rows:
        if (parent := table.parent(row)) is not None:
            children.setdefault(parent, []).append(row)
    if not children:
        return rows
    parents = {identity for row in rows if (identity := table.identity(row)) in children}
    found: list[Any] = []
    for row in rows:
        if table.parent(row) not in parents:
            found += [row, *children.get(table.identity(row), ())]
    return found


def _sorted(rows: Sequence[Any], column: Figure[Any], descending: bool) -> list[Any]:
    """Sort stably; rows without a value come last in both directions."""
    if (key := column.sort) is None:
        return list(rows)
    present = [row for row in rows if key(row) is not None]
    return sorted(present, key=key, reverse=descending) + [row for row in rows if key(row) is None]


HEADER_LINES = 2
"""Lines above the rows: the title and the column heads."""


class TableFrame:
    """The visible part of `rows`.

    `hidden` are the keys of omitted columns. `late`, a warning, and `note` come after the title, with the
    `column_notes` of visible columns. `unavailable` is why rows could not be seen; `filled` whether there ever were
    data. `least` are values that the scales of bars must include, by column; `colours` are those of groups;
    `counted` is whether the title has the number of rows. A frame that `is_brief` has only its title and the reason
    why rows could not be seen.
    """

    def __init__(self, rows: TableRows, trend: drawing.Trend | None, *, counted: bool = True) -> None:
        self.rows = rows
        self.hidden: frozenset[str] = frozenset()
        self.note = self.late = self.unavailable = ""
        self.column_notes: Mapping[str, str] = {}
        self.least: Mapping[str, float] = {}
        self.filled = self.is_brief = False
        self.colours: GroupColours | None = None
        self._chosen: tuple[Figure[Any], ...] | None = None
        self._counted, self._trend = counted, trend
        self._scales: dict[str, Scale] = {}
        self._fitted: drawing.Fitted = ()
        self._fitted_for: tuple[int, frozenset[str]] = (-1, frozenset())
        self._needed: dict[str, int] = {}
        self._heights: list[int] = []

    @property
    def columns(self) -> tuple[Figure[Any], ...]:
        """The columns in their order: the chosen ones, else those of the table."""
        return self.rows.table.columns if self._chosen is None else self._chosen

    @property
    def chosen(self) -> tuple[str, ...]:
        """The keys of the chosen columns, () if none were chosen."""
        return () if self._chosen is None else tuple(column.key for column in self._chosen)

    def shown(self, width: int) -> tuple[str, ...]:
        """Return the keys of the chosen columns, by default of those that fit a width."""
        return self.chosen or tuple(column.key for column, _ in self.fitted(width))

    def choose(self, keys: Sequence[str]) -> None:
        """Show these columns in this order; if room is short, the first have priority. () means the table's own."""
        known = {column.key: column for column in self.rows.table.columns}
        # The user's order decides which columns fit, not their ranks in the table.
        found = tuple(replace(known[key], narrow=True, vital=False) for key in dict.fromkeys(keys) if key in known)
        self._chosen = found or None
        self._needed.clear()
        self._fitted_for = (-1, frozenset())

    def arrange(self) -> None:
        """Update the frame after the rows have changed."""
        self._scales = drawing.scales_of(self.columns, self.rows.shown, self.least, self._trend)

    def fitted(self, width: int) -> drawing.Fitted:
        """Return the columns that fit and their widths."""
        if self._fitted_for != (width, self.hidden):
            self._fitted = drawing.fit_columns(self.columns, width, self.hidden, self._needed)
            self._fitted_for = (width, self.hidden)
        return self._fitted

    def sortable(self) -> list[str]:
        """Return the keys of the sortable columns on screen, in order; "" is the order of the data."""
        keys = [column.key for column, _ in self._fitted if column.sort is not None]
        return keys if self.rows.table.order else ["", *keys]

    def column_at(self, x: int, width: int) -> Figure[Any] | None:
        """Return the column at cell `x`, None if there is none."""
        left = 0
        for column, size in self.fitted(width):
            if left <= x < left + size:
                return column
            left += size + drawing.gap_at(width)
        return None

    def lines(self, width: int, height: int, top: int) -> list[Line]:
        """Return all lines of a table of that size, scrolled so that row `top` is the first."""
        if self._is_unavailable and self.is_brief:
            return [pad(line, width) for line in self._sentence(width)[top : top + height]]
        shown, self._heights = max(0, height - HEADER_LINES), []
        self._widen(self.rows.shown[top : top + shown])
        fitted = self.fitted(width)  # also where nothing is shown: keys sort by these columns
        if self.rows.shown and not shown:  # a title and heads without a row show nothing
            return [pad((), width)] * height
        heads = drawing.head_line(fitted, drawing.gap_at(width), self.rows.sort_key, descending=self.rows.descending)
        lines = [self._title(width, top, shown), pad(((heads, "head"),), width, "head")]
        if not self.rows.shown:
            return lines + [pad(line, width) for line in self._emptiness(width, shown)[top : top + shown]]
        self._heights = self._shared_out(fitted, shown, top)
        look = drawing.Look(drawing.gap_at(width), self._scales, self._trend, self.colours)
        for row, count in zip(self.rows.shown[top:], self._heights, strict=False):
            lines += drawing.wrapped_row(fitted, row, count, look, width)
        return lines + [pad((), width)] * (HEADER_LINES + shown - len(lines))

    def _shared_out(self, fitted: drawing.Fitted, shown: int, top: int) -> list[int]:
        """Return how many lines each row from `top` on gets: more than one if there are more lines than rows."""
        rows = self.rows.shown
        if len(rows) >= shown:
            return [1] * min(shown, len(rows) - top)
        return drawing.shared_out([drawing.lines_wanted(fitted, row) for row in rows[top:]], shown)

    def lines_of(self, index: int) -> range:
        """Return the lines of the `index`-th row of the last drawing."""
        start = HEADER_LINES + sum(self._heights[:index])
        return range(start, start + self._heights[index]) if 0 <= index < len(self._heights) else range(0)

    def row_at(self, line: int) -> int | None:
        """Return the index of the row on a line in the last drawing, None if there is none."""
        return next((index for index in range(len(self._heights)) if line in self.lines_of(index)), None)

    def height(self, width: int) -> int:
        """Return how many lines show everything at a `width`; an empty table counts one line if it is not known (0)."""
        if self._is_unavailable and self.is_brief:
            return len(self._sentence(width)) if width else 1
        return HEADER_LINES + (len(self.rows.shown) or (len(self._emptiness(width)) if width else 1))

    def whole_height(self, width: int) -> int:
        """Return how many lines show everything at a `width` with no text cut."""
        self._widen(self.rows.shown)
        is_drawn = self._fitted_for == (width, self.hidden)
        fitted = self._fitted if is_drawn else drawing.fit_columns(self.columns, width, self.hidden, self._needed)
        return self.height(width) + sum(drawing.lines_wanted(fitted, row) - 1 for row in self.rows.shown)

    @property
    def _is_unavailable(self) -> bool:
        """Whether rows could not be seen, although there may be some."""
        return bool(self.unavailable) and not self.rows.all

    def _sentence(self, width: int) -> list[Line]:
        return wrap(((self.rows.table.title, "title"), (f"  {self.unavailable}", "dim")), width)

    def _widen(self, rows: Sequence[object]) -> None:
        """Widen the columns to the texts of `rows`. Columns never shrink, so that they do not move back and forth."""
        for key, size in drawing.cells_needed(self.columns, rows).items():
            if size > self._needed.get(key, 0):
                self._needed[key] = size
                self._fitted_for = (-1, frozenset())

    def _title(self, width: int, top: int, shown: int) -> Line:
        rows = self.rows
        runs = [(rows.table.title, "title")]
        if self.filled and self._counted and not self._is_unavailable:
            runs.append((f"  {rows.table.counted(rows.shown)}", "head"))
        if rows.is_filtered:
            runs.append((f" of {rows.table.counted(rows.all)}  filter: {rows.needle}", "warn"))
        fitting = {column.key for column, _ in self.fitted(width)}
        runs += [(f"  {text}", "warn") for text in (rows.unmarked_order(fitting), self.late) if text]
        scrolled_out = _more_rows(top, len(rows.shown) - top - shown)
        room = width - length(runs) - len(f"  {scrolled_out}")  # their number has priority, then come whole clauses
        of_columns = ", ".join(text for key, text in self.column_notes.items() if key in fitting)
        whole = ", ".join(filter(None, [self.note, of_columns]))
        # The screen has no other place for the note of a column: it is kept longer than the note on the rows.
        brief = of_columns or whole
        note = next((each for each in (whole, brief, brief.rpartition(", ")[0]) if len(each) <= room), "")
        runs += [(f"  {note}", "dim")] if note else []
        runs.append((scrolled_out, "dim"))
        return pad(runs, width)

    def _emptiness(self, width: int, room: int | None = None) -> list[Line]:
        """Return the sentence on why there are no rows; with too little `room` its views are counted, not named."""
        rows = self.rows
        why = self.unavailable or rows.table.empty
        if not self.filled:
            why = "waiting for the first poll …"
        elif rows.is_filtered and rows.all:
            why = f"Nothing matches the filter {rows.needle}"
        found = wrap(((why, "dim"),), width)
        if room is not None and len(found) > room:
            counted = _VIEWS.sub(lambda names: f"(by {names[1].count(',') + 1} views)", why)
            brief = wrap(((counted, "dim"),), width)
            return brief if len(brief) <= room else found
        return found


_VIEWS = re.compile(r"\(by ([\w$]+(?:, [\w$]+)+)\)")
"""The views that a sentence rests on, where there are several."""


def _more_rows(above: int, below: int) -> str:
    """Return the text on how many rows there are above and below the visible ones."""
    parts = [f"{count} more {arrow}" for count, arrow in ((above, "↑"), (below, "↓")) if count > 0]
    return f"  … {', '.join(parts)}" if parts else ""
