"""Rows of a table: filtered, sorted, with what belongs to another right below it; the cursor stays on its row."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple

import pytest

from presman.figures.figure import NAME, NUMBER, Figure, Table
from presman.tui.widgets.table_frame import TableRows


class One(NamedTuple):
    """A row: its name, a figure, and the row that it belongs below."""

    name: str
    size: float | None = None
    of: str | None = None


def _of(row: One) -> Hashable:
    return row.of


TABLE: Table[One] = Table(
    "ones", "Ones",
    (Figure("name", "Name", NAME, "NAME.", "name"), Figure("size", "Size", NUMBER, "SIZE.", "size")),
    lambda row: row.name, "None is there.", parent=_of,
)  # fmt: skip
ROWS = [One("b1", 5, "b"), One("a", 3), One("b", 1), One("b2", 2, "b"), One("lost", None, "gone")]


def rows(*given: One, sort: str = "", descending: bool = False, needle: str = "") -> TableRows:
    found = TableRows(TABLE)
    found.all, found.sort_key, found.descending, found.needle = given, sort, descending, needle
    found.arrange()
    return found


def names(found: TableRows) -> str:
    return " ".join(row.name for row in found.shown)


@pytest.mark.parametrize(
    ("sort", "descending", "order"),
    [
        ("", False, "a b b1 b2 lost"),
        ("", True, "lost b b2 b1 a"),
        ("size", False, "b b2 b1 a lost"),
        ("size", True, "a b b1 b2 lost"),  # without a size it is the last either way
        ("name", True, "lost b b2 b1 a"),
    ],
)
def test_rows_stand_below_the_one_they_belong_to_in_every_order(sort: str, descending: bool, order: str) -> None:
    assert names(rows(*ROWS, sort=sort, descending=descending)) == order


def test_a_row_whose_own_is_filtered_away_stands_by_itself() -> None:
    assert names(rows(*ROWS, needle="b1")) == "b1"
    assert rows(*ROWS, needle="b1").is_filtered
    assert names(rows(One("x"), One("y"))) == "x y"


def test_the_cursor_stays_on_its_row_where_others_stand_below_another() -> None:
    found = rows(*ROWS)
    for position, name in enumerate(["a", "b", "b1", "b2", "lost"]):
        found.select(name)
        assert (found.position, found.row) == (position, next(row for row in ROWS if row.name == name))
    found.go(2)
    found.all = [One("c"), *ROWS]
    found.arrange()
    assert (names(found), found.row) == ("c a b b1 b2 lost", ROWS[0])
    found.all = [One("c"), *ROWS[1:]]
    found.arrange()
    assert (found.position, found.row) == (3, ROWS[3]), "it is gone: what stands there now"


def test_the_cursor_stays_within_what_there_is() -> None:
    found = rows(*ROWS)
    found.go(99)
    assert found.row == ROWS[4]
    found.go(-1)
    assert found.row == ROWS[1]
    found.all = []
    found.arrange()
    assert (found.row, found.position) == (None, 0)
