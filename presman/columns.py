"""A column as a value: name, width, text, sort key, state and help of one figure, said once.

Tables on screen, `once --format text`, the help page and sorting all read the same columns, so they cannot
disagree about what a figure is called, which unit it has or how it is written.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

T = TypeVar("T")

State = Literal["", "good", "note", "warn", "bad", "dim"]
"""What a cell's colour may say. Colour never says it alone: a word or a glyph stands beside it."""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar inside a cell. All lengths in the column's unit; `full` is the right edge (0: the column's longest bar).

    `used` is drawn solid, `waiting` shaded behind it, `entitled` and `limit` as marks.
    """

    full: float
    used: float
    waiting: float = 0.0
    entitled: float | None = None
    limit: float | None = None


@dataclass(frozen=True)  # no slots: Column[Row](...) fails on a frozen slotted generic in Python 3.11
class Column(Generic[T]):
    """One column of a table of `T`.

    `key` is its stable name, `head` what stands above it (with the unit), `show` the cell's text, `sort` its sort
    key (None sorts last), `help` the view, the formula and whether it is an instant, a delta or since-when.
    `width` is in cells, up to `most` where there is room; a `flexible` column takes what is left. `narrow` tells
    whether it is kept at 80 columns.
    """

    key: str
    head: str
    width: int
    show: Callable[[T], str]
    help: str
    sort: Callable[[T], Any] | None = None
    align: Literal["left", "right"] = "left"
    state: Callable[[T], State] | None = None
    bar: Callable[[T], Bar | None] | None = None
    trend: bool = False
    flexible: bool = False
    narrow: bool = True
    most: int = 0


@dataclass(frozen=True)  # no slots, as above
class Table(Generic[T]):
    """A table as a value: its columns, what makes a row the same row at the next poll, and its usual order.

    `order` is the key of the column it is sorted by at first ("" keeps the order of the data), `empty` the
    sentence that stands where there are no rows.
    """

    key: str
    title: str
    columns: tuple[Column[T], ...]
    identity: Callable[[T], Hashable]
    empty: str
    order: str = ""
    descending: bool = False

    def column(self, key: str) -> Column[T]:
        """Return the column of that key. Raises KeyError."""
        for column in self.columns:
            if column.key == key:
                return column
        raise KeyError(key)
