"""A table as lines: its title, its heads, and the rows that the height has room for. Knows no widget."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from presman.base.colours import GroupColours
from presman.figures.drawing.columns import (
    Fitted,
    Trend,
    cells_needed,
    fit_columns,
    gap_at,
    head_line,
    lines_wanted,
    matches,
    row_text,
    scales_of,
    shared_out,
    wrapped_row,
)
from presman.figures.drawing.lines import Line, Scale, length, pad, wrap
from presman.figures.figure import Figure, Table


class TableRows:
    """Rows of `table`; `sort_key` "" is the order of the data.

    `shown` are the rows that the filter leaves, in order, `position` that of the cursor among them. The cursor stays on
    its row from poll to poll; where the row is gone, on its position. In a table that has the worst first it stays on
    the first row until somebody moves it.
    """

    def __init__(self, table: Table[Any], *, filterable: bool = True) -> None:
        self.table = table
        self.filterable = filterable
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
        """Whether a filter is at work."""
        return bool(self.needle) and self.filterable

    def unmarked_order(self, columns: Collection[str]) -> str:
        """Return by what the rows are sorted, "" if as at first, or if the head of one of these columns shows it."""
        order = (self.sort_key, self.descending)
        if order == (self.table.order, self.table.descending) or self.sort_key in columns:
            return ""
        return f"sorted by {self.table.column(self.sort_key).head}" if self.sort_key else "last row first"

    def arrange(self) -> None:
        """Filter and sort what there is."""
        rows = list(self.all)
        if self.is_filtered:
            columns = self.table.columns
            rows = [row for row in rows if matches(self.needle, row_text(columns, row))]
        if self.sort_key:
            rows = _sorted(rows, self.table.column(self.sort_key), self.descending)
        elif self.descending:
            rows.reverse()
        self.shown = _below(rows, self.table)
        self._identities = [self.table.identity(row) for row in self.shown]
        self._follow()

    def _follow(self) -> None:
        if self.table.worst_first and not self._moved:
            self._stand(0)
        elif self._cursor is not None and self._cursor in self._identities:
            self.position = self._identities.index(self._cursor)
        else:
            self._stand(self.position)

    def go(self, position: int) -> None:
        """Put the cursor on the row at `position`, or the nearest there is, and keep it on that row."""
        self._moved = True
        self._stand(position)

    def _stand(self, position: int) -> None:
        self.position = max(0, min(position, len(self.shown) - 1))
        self._cursor = self._identities[self.position] if self.shown else None

    def select(self, identity: Hashable) -> None:
        """Put the cursor on the row of that identity, now or as soon as it is shown."""
        self._cursor, self._moved = identity, True
        self._follow()


def _below(rows: list[Any], table: Table[Any]) -> list[Any]:
    """Return the rows with those that stand below another right behind it, as far as that is there."""
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
    """Sort stably; rows without a value come last either way."""
    key = column.sort
    if key is None:
        return list(rows)
    present = [row for row in rows if key(row) is not None]
    return sorted(present, key=key, reverse=descending) + [row for row in rows if key(row) is None]


HEADER_LINES = 2
"""Lines above the rows: the title and the column heads."""


class TableFrame:
    """What of `rows` is to be seen.

    `hidden` are the keys of columns left out; `late`, a warning, and `note` stand behind the title, with those of the
    `column_notes` whose column shows; `unavailable` where no row could be seen; `filled` tells whether there ever were
    data. `least` are values that the scales of bars reach up to at least, by column; `colours` those of groups;
    `counted` tells whether the title says how many rows there are. One that `is_brief` has no more than its title and
    the reason where no row could be seen.
    """

    def __init__(self, rows: TableRows, trend: Trend | None, *, counted: bool = True) -> None:
        self.rows = rows
        self.hidden: frozenset[str] = frozenset()
        self.note = self.late = self.unavailable = ""
        self.column_notes: Mapping[str, str] = {}
        self.least: Mapping[str, float] = {}
        self.filled = self.is_brief = False
        self.colours: GroupColours | None = None
        self._chosen: tuple[Figure[Any], ...] | None = None
        self._counted = counted
        self._trend = trend
        self._scales: dict[str, Scale] = {}
        self._fitted: Fitted = ()
        self._fitted_for: tuple[int, frozenset[str]] = (-1, frozenset())
        self._needed: dict[str, int] = {}
        self._heights: list[int] = []

    @property
    def columns(self) -> tuple[Figure[Any], ...]:
        """The columns in their order: those that were chosen, else those of the table."""
        return self.rows.table.columns if self._chosen is None else self._chosen

    @property
    def chosen(self) -> tuple[str, ...]:
        """The keys of the columns that were chosen, () where none were."""
        return () if self._chosen is None else tuple(column.key for column in self._chosen)

    def shown(self, width: int) -> tuple[str, ...]:
        """Return the keys of the columns that show in a width, and of those that were chosen and have no room."""
        fitting = tuple(column.key for column, _ in self.fitted(width))
        return self.chosen or fitting

    def choose(self, keys: Sequence[str]) -> None:
        """Show these columns in this order, the first before the others where there is no room; () are the table's."""
        known = {column.key: column for column in self.rows.table.columns}
        found = tuple(replace(known[key], narrow=True, vital=False) for key in dict.fromkeys(keys) if key in known)
        self._chosen = found or None
        self._needed.clear()
        self._fitted_for = (-1, frozenset())

    def arrange(self) -> None:
        """Take note of other rows."""
        self._scales = scales_of(self.columns, self.rows.shown, self.least, self._trend)

    def fitted(self, width: int) -> Fitted:
        """Return the columns that fit and their widths."""
        if self._fitted_for != (width, self.hidden):
            self._fitted = fit_columns(self.columns, width, self.hidden, self._needed)
            self._fitted_for = (width, self.hidden)
        return self._fitted

    def sortable(self) -> list[str]:
        """Return the keys the shown columns can be sorted by, in order; "" is the order of the data."""
        keys = [column.key for column, _ in self._fitted if column.sort is not None]
        return keys if self.rows.table.order else ["", *keys]

    def column_at(self, x: int, width: int) -> Figure[Any] | None:
        """Return the column that stands at a cell, None where none does."""
        left = 0
        for column, size in self.fitted(width):
            if left <= x < left + size:
                return column
            left += size + gap_at(width)
        return None

    def lines(self, width: int, height: int, top: int) -> list[Line]:
        """Return all lines of a table of that size, scrolled so that row `top` is the first."""
        if self._is_unavailable and self.is_brief:
            return [pad(line, width) for line in self._sentence(width)[top : top + height]]
        shown = max(0, height - HEADER_LINES)
        self._widen(self.rows.shown[top : top + shown])
        fitted = self.fitted(width)
        heads = head_line(fitted, gap_at(width), self.rows.sort_key, descending=self.rows.descending)
        lines = [self._title(width, top, shown), pad(((heads, "head"),), width, "head")]
        self._heights = []
        if not self.rows.shown:
            return lines + [pad(line, width) for line in self._emptiness(width)[top : top + shown]]
        self._heights = self._shared_out(fitted, shown, top)
        for row, count in zip(self.rows.shown[top:], self._heights, strict=False):
            lines += wrapped_row(fitted, gap_at(width), row, count, self._scales, self._trend, width, self.colours)
        return lines + [pad((), width)] * (HEADER_LINES + shown - len(lines))

    def _shared_out(self, fitted: Fitted, shown: int, top: int) -> list[int]:
        """Return how many lines each row has from `top` on: more than one where there are more lines than rows."""
        rows = self.rows.shown
        if len(rows) >= shown:
            return [1] * min(shown, len(rows) - top)
        return shared_out([lines_wanted(fitted, row) for row in rows[top:]], shown)

    def lines_of(self, index: int) -> range:
        """Return on which lines the row stands that is the `index`-th of those drawn last."""
        start = HEADER_LINES + sum(self._heights[:index])
        return range(start, start + self._heights[index]) if 0 <= index < len(self._heights) else range(0)

    def row_at(self, line: int) -> int | None:
        """Return which of the rows drawn last stands on a line, None where none does."""
        return next((index for index in range(len(self._heights)) if line in self.lines_of(index)), None)

    def height(self, width: int) -> int:
        """Return how many lines a width needs to show everything; one without rows, while it is not known (0)."""
        if self._is_unavailable and self.is_brief:
            return len(self._sentence(width)) if width else 1
        return HEADER_LINES + (len(self.rows.shown) or (len(self._emptiness(width)) if width else 1))

    def whole_height(self, width: int) -> int:
        """Return how many lines a width needs to show everything with no text cut."""
        self._widen(self.rows.shown)
        is_drawn = self._fitted_for == (width, self.hidden)
        fitted = self._fitted if is_drawn else fit_columns(self.columns, width, self.hidden, self._needed)
        return self.height(width) + sum(lines_wanted(fitted, row) - 1 for row in self.rows.shown)

    @property
    def _is_unavailable(self) -> bool:
        """Whether no row could be seen, which is not to say that there is none."""
        return bool(self.unavailable) and not self.rows.all

    def _sentence(self, width: int) -> list[Line]:
        return wrap(((self.rows.table.title, "title"), (f"  {self.unavailable}", "dim")), width)

    def _widen(self, rows: Sequence[object]) -> None:
        """Take note of how wide the texts of some rows are. Columns only grow, so that they do not move to and fro."""
        for key, size in cells_needed(self.columns, rows).items():
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
        unseen = _more_rows(top, len(rows.shown) - top - shown)
        room = width - length(runs) - len(f"  {unseen}")  # how many are not seen comes first, then whole clauses
        of_columns = ", ".join(text for key, text in self.column_notes.items() if key in fitting)
        whole = ", ".join(filter(None, [self.note, of_columns]))
        # What a column cannot show is told in no other place on the screen: it outlives what is said of the rows.
        brief = of_columns or whole
        note = next((each for each in (whole, brief, brief.rpartition(", ")[0]) if len(each) <= room), "")
        runs += [(f"  {note}", "dim")] if note else []
        runs.append((unseen, "dim"))
        return pad(runs, width)

    def _emptiness(self, width: int) -> list[Line]:
        """Say why there is no row: whole, as there is room where no rows are."""
        rows = self.rows
        if not self.filled:
            why = "waiting for the first poll …"
        elif rows.is_filtered and rows.all:
            why = f"Nothing matches the filter {rows.needle}"
        else:
            why = self.unavailable or rows.table.empty
        return wrap(((why, "dim"),), width)


def _more_rows(above: int, below: int) -> str:
    """Say how many rows there are above and below those that show."""
    parts = [f"{count} more {arrow}" for count, arrow in ((above, "↑"), (below, "↓")) if count > 0]
    return f"  … {', '.join(parts)}" if parts else ""
