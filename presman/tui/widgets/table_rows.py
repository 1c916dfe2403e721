"""The rows of a table as they are shown: filtered, sorted, with a cursor that follows its row. Knows no widget."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from presman.figures.drawing.columns import matches, row_text
from presman.figures.figure import Figure, Table


class TableRows:
    """Rows of `table`; `sort_key` "" is the order of the data.

    `shown` are the rows that the filter leaves, in order, `place` that of the cursor among them. The cursor stays on
    its row from poll to poll; where the row is gone, on its place. In a table that has the worst first it stays on that
    until somebody moves it.
    """

    def __init__(self, table: Table[Any], *, filterable: bool = True) -> None:
        self.table = table
        self.filterable = filterable
        self.needle = ""
        self.sort_key = table.order
        self.descending = table.descending
        self.all: Sequence[Any] = ()
        self.shown: list[Any] = []
        self.place = 0
        self._identities: list[Hashable] = []
        self._cursor: Hashable = None
        self._moved = False

    @property
    def row(self) -> Any | None:
        """The row under the cursor, None in an empty table."""
        return self.shown[self.place] if self.shown else None

    @property
    def is_filtered(self) -> bool:
        """Whether a filter is at work."""
        return bool(self.needle) and self.filterable

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
        self._identities = [self.table.identity(row) for row in rows]
        self._follow()

    def _follow(self) -> None:
        if self.table.worst_first and not self._moved:
            self._stand(0)
        elif self._cursor is not None and self._cursor in self._identities:
            self.place = self._identities.index(self._cursor)
        else:
            self._stand(self.place)

    def go(self, place: int) -> None:
        """Put the cursor on the row at `place`, or the nearest there is, and keep it on that row."""
        self._moved = True
        self._stand(place)

    def _stand(self, place: int) -> None:
        self.place = max(0, min(place, len(self.shown) - 1))
        self._cursor = self._identities[self.place] if self.shown else None

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
    there = {identity for row in rows if (identity := table.identity(row)) in children}
    found: list[Any] = []
    for row in rows:
        if table.parent(row) not in there:
            found += [row, *children.get(table.identity(row), ())]
    return found


def _sorted(rows: Sequence[Any], column: Figure[Any], descending: bool) -> list[Any]:
    """Sort stably; rows without a value come last either way."""
    key = column.sort
    if key is None:
        return list(rows)
    present = [row for row in rows if key(row) is not None]
    return sorted(present, key=key, reverse=descending) + [row for row in rows if key(row) is None]
