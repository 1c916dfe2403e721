"""Rows of a table: filtered, sorted, dependent rows right below their owner; the cursor stays on its row."""

from __future__ import annotations

from collections.abc import Hashable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from presman.figures.drawing.columns import shared_out
from presman.figures.drawing.lines import plain
from presman.figures.figure import NAME, NUMBER, Figure, Table
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.table_frame import TableFrame, TableRows


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
    ("sort", "descending", "shown"),
    [("", False, ""), ("", True, "last row first"), ("size", True, "sorted by Size"), ("name", False, "")],
)
def test_an_order_not_shown_by_a_heading_is_in_the_title(sort: str, descending: bool, shown: str) -> None:
    table = rows(*ROWS, sort=sort, descending=descending)
    assert table.unmarked_order({"name"}) == shown
    title = plain(TableFrame(table, None).lines(60, 5, 0)[0])  # both headings are shown
    assert ("last row first" in title) is (not sort and descending)
    assert "sorted by" not in title


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
def test_child_rows_stay_below_their_parent_in_every_order(sort: str, descending: bool, order: str) -> None:
    assert names(rows(*ROWS, sort=sort, descending=descending)) == order


def test_a_child_row_without_its_parent_stands_alone() -> None:
    assert names(rows(*ROWS, needle="b1")) == "b1"
    assert rows(*ROWS, needle="b1").is_filtered
    assert names(rows(One("x"), One("y"))) == "x y"


def test_the_cursor_stays_on_its_row_when_child_rows_move() -> None:
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
    assert (found.position, found.row) == (3, ROWS[3]), "it is gone: the cursor is on the row in its place"


def test_the_cursor_stays_within_the_rows() -> None:
    found = rows(*ROWS)
    found.go(99)
    assert found.row == ROWS[4]
    found.go(-1)
    assert found.row == ROWS[1]
    found.all = []
    found.arrange()
    assert (found.row, found.position) == (None, 0)


NINE = [One(f"r{number}", float(number)) for number in range(9)]


def frame(found: TableRows, *, filled: bool = True) -> TableFrame:
    made = TableFrame(found, None)
    made.filled = filled
    made.arrange()
    return made


def texts(found: TableFrame, width: int = 60, height: int = 5, top: int = 0) -> list[str]:
    """The lines without the blanks at their ends and between their words."""
    lines = [plain(line) for line in found.lines(width, height, top)]
    assert {len(line) for line in lines} == {width}
    return [" ".join(line.split()) for line in lines]


def test_hidden_rows_above_and_below_are_counted() -> None:
    found = frame(rows(*NINE))
    assert texts(found) == ["Ones 9 … 6 more ↓", "Name Size", "r0 0.0", "r1 1.0", "r2 2.0"]
    assert texts(found, top=2)[::2] == ["Ones 9 … 2 more ↑, 4 more ↓", "r2 2.0", "r4 4.0"]
    assert texts(found, top=6)[::4] == ["Ones 9 … 6 more ↑", "r8 8.0"]
    assert texts(found, height=11) == ["Ones 9", "Name Size", *(f"r{n} {n}.0" for n in range(9))]
    assert texts(found, height=12)[-2:] == ["r8 8.0", ""]
    assert [texts(found, height=height) for height in (1, 2)] == [[""], ["", ""]], "no title without a row"


def test_an_empty_table_gives_its_full_reason() -> None:
    nothing = frame(rows())
    assert texts(nothing) == ["Ones 0", "Name Size", "None is there."]
    nothing.unavailable = "V$SESSION cannot be read: no grant"
    assert texts(nothing) == ["Ones", "Name Size", "V$SESSION cannot be read: no grant"], "unknown is not 0"
    assert texts(nothing, 20)[2:] == ["V$SESSION cannot be", "read: no grant"]
    assert texts(nothing, 20, 3)[2:] == ["V$SESSION cannot be"]
    assert texts(nothing, 20, 3, top=1)[2:] == ["read: no grant"]
    assert texts(frame(rows(), filled=False)) == ["Ones", "Name Size", "waiting for the first poll …"]
    assert texts(frame(rows(*NINE, needle="zz"))) == [
        "Ones 0 of 9 filter: zz", "Name Size", "Nothing matches the filter zz",
    ]  # fmt: skip
    assert texts(frame(rows(needle="zz")))[2:] == ["None is there."], "the filter is not the reason"
    assert [nothing.height(width) for width in (60, 20, 0)] == [3, 4, 3]
    assert frame(rows(*NINE)).height(20) == 11


def test_a_sentence_without_room_counts_its_views() -> None:
    """It was cut at a comma between two of them."""
    nothing = frame(rows())
    nothing.unavailable = "No finding in DAY (by GV$RSRC_PLAN, DBA_RSRC_PLANS, V$SESSION)."
    assert texts(nothing, 30, 5)[2:] == ["No finding in DAY (by", "GV$RSRC_PLAN, DBA_RSRC_PLANS,", "V$SESSION)."]
    assert texts(nothing, 32, 3)[2:] == ["No finding in DAY (by 3 views)."]
    assert nothing.height(30) == 5, "as many as it wants"


def test_clauses_after_the_title_are_dropped_from_the_last() -> None:
    """The title, 9 rows and 12 cells for those that are not seen are 19, the age is 10, the note 2 and its 8 or 17."""
    found = frame(rows(*NINE))
    found.late, found.note, found.column_notes = "0:12 old", "one, two", {"size": "of size", "gone": "of what is not"}
    seen = {width: texts(found, width, 3)[0] for width in (48, 47, 38, 37)}
    assert seen == {
        48: "Ones 9 0:12 old one, two, of size … 8 more ↓", 47: "Ones 9 0:12 old of size … 8 more ↓",
        38: "Ones 9 0:12 old of size … 8 more ↓", 37: "Ones 9 0:12 old … 8 more ↓",
    }  # fmt: skip
    found.column_notes = {"size": "of size, not seen"}  # a note of a column outlives the note of the rows
    assert [texts(found, width, 3)[0] for width in (48, 47)] == [
        "Ones 9 0:12 old of size, not seen … 8 more ↓", "Ones 9 0:12 old of size … 8 more ↓",
    ]  # fmt: skip
    found.choose(["name"])
    assert texts(found, 48, 3)[0] == "Ones 9 0:12 old one, two … 8 more ↓", "no note of a hidden column"


def test_only_chosen_columns_can_be_sorted_and_clicked() -> None:
    found = frame(rows(*NINE))
    texts(found, 20)
    assert found.sortable() == ["", "name", "size"]
    left = found.column_at(0, 20)
    size = [x for x in range(20) if (column := found.column_at(x, 20)) is not None and column.key == "size"]
    assert left is not None
    assert left.key == "name"
    assert size == [*range(size[0], 20)]
    assert plain(found.lines(20, 3, 0)[1])[size[0] : 20].split() == ["Size"]
    assert found.column_at(size[0] - 1, 20) is None, "between two columns"
    assert found.column_at(20, 20) is None
    found.choose(["size", "gone", "size"])
    assert (found.chosen, found.shown(20), texts(found, 20)[1:3]) == (("size",), ("size",), ["Size", "0.0"])
    assert found.sortable() == ["", "size"]
    found.choose(["gone"])
    assert (found.chosen, found.shown(20)) == ((), ("name", "size"))


def clicked(x: int, y: int, chain: int = 1, *, descending: bool | None = None, top: int = 0) -> list[Any]:
    """Return the effect of a click on a table of nine rows, 20 cells wide, with the cursor on the second row.

    `descending` is how the column "size" is sorted, if it is.
    """
    found = rows(*NINE)
    found.go(1)
    if descending is not None:
        found.sort_key, found.descending = "size", descending
    done: list[Any] = []
    drawing = frame(found)
    drawing.lines(20, 11, top)
    grid: Any = SimpleNamespace(
        rows=found, drawing=drawing, scrollable_content_region=SimpleNamespace(width=20),
        scroll_offset=SimpleNamespace(y=top), action_move=done.append, action_open=lambda: done.append("opened"),
        sort_by=lambda key, descending: done.append((key, descending)),
    )  # fmt: skip
    Grid.on_click(grid, SimpleNamespace(x=x, y=y, chain=chain))  # type: ignore[arg-type]
    return done


def test_a_click_sorts_or_selects_and_a_second_opens() -> None:
    assert clicked(19, 1) == [("size", None)]
    assert [clicked(19, 1, descending=each) for each in (True, False)] == [[("size", False)], [("size", True)]]
    assert clicked(0, 1, descending=True) == [("name", None)]
    assert clicked(19, 0) == clicked(20, 1) == [], "the title, and beside the columns"
    assert [clicked(0, y) for y in (2, 3, 5)] == [[-1], [0], [2]]
    assert clicked(0, 2, top=3) == [2], "the fourth row is the first to be seen"
    assert clicked(0, 10) == [7]
    assert clicked(0, 11) == [], "below the last row"
    assert clicked(0, 3, chain=2) == [0, "opened"]
    assert clicked(0, 11, chain=2) == []


@pytest.mark.parametrize(("height", "moves"), [(10, 7), (4, 1), (2, 1)])
def test_a_page_is_the_visible_rows_minus_one(height: int, moves: int) -> None:
    done: list[int] = []
    grid: Any = SimpleNamespace(action_move=done.append, scrollable_content_region=SimpleNamespace(height=height))
    Grid.action_page(grid, 1)
    Grid.action_page(grid, -1)
    assert done == [moves, -moves]


@pytest.mark.parametrize(("position", "scrolled"), [(2, [2]), (3, []), (7, []), (8, [4]), (12, [8])])
def test_the_cursor_is_kept_visible_with_minimal_scrolling(position: int, scrolled: list[int]) -> None:
    """Five rows are seen, the fourth to the eighth."""
    done: list[int] = []
    grid: Any = SimpleNamespace(
        scrollable_content_region=SimpleNamespace(height=7), scroll_offset=SimpleNamespace(y=3),
        rows=SimpleNamespace(position=position), scroll_to=lambda y, animate: done.append(y),
    )  # fmt: skip
    Grid._keep_visible(grid)
    assert done == scrolled


WORDS: Table[One] = Table(
    "words", "Words",
    (Figure("size", "Size", NUMBER, "SIZE.", "size"), Figure("name", "Name", NAME, "NAME.", "name", flexible=True)),
    lambda row: row.name, "None is there.",
)  # fmt: skip


def words(*names: str) -> TableFrame:
    found = TableRows(WORDS)
    found.all = [One(name, 1.0) for name in names]
    found.arrange()
    return frame(found)


def test_a_text_is_wrapped_into_free_lines_before_it_is_cut() -> None:
    """The name has 11 cells of 16: five are for the size and the blank between them."""
    found = words("aaaa bbbb cccc dddd eeee", "gg")
    assert texts(found, 16, 4)[2:] == ["1.0 aaaa bbbb …", "1.0 gg"]
    assert texts(found, 16, 5)[2:] == ["1.0 aaaa bbbb", "cccc dddd …", "1.0 gg"]
    assert texts(found, 16, 7)[2:] == ["1.0 aaaa bbbb", "cccc dddd", "eeee", "1.0 gg", ""]
    assert [plain(line)[:5] for line in found.lines(16, 7, 0)[2:]] == [" 1.0 ", "     ", "     ", " 1.0 ", "     "]
    assert [found.whole_height(16), found.whole_height(40), found.height(16)] == [6, 4, 4]
    assert texts(found, 16, 3)[2:] == ["1.0 aaaa bbbb …"], "not every row is to be seen"


def test_free_lines_are_shared_up_to_eight_per_row() -> None:
    assert shared_out([3, 1, 2], 3) == [1, 1, 1]
    assert shared_out([3, 1, 2], 4) == [2, 1, 1]
    assert shared_out([3, 1, 2], 5) == [2, 1, 2]
    assert shared_out([3, 1, 2], 9) == [3, 1, 2]
    assert shared_out([], 9) == []
    assert len([line for line in texts(words("abcdefgh " * 40), 16, 30)[2:] if line]) == 8


def test_the_cursor_and_a_click_are_on_all_lines_of_a_row() -> None:
    found = words("aaaa bbbb cccc dddd eeee", "gg")
    found.lines(16, 9, 0)
    assert [found.lines_of(index) for index in (-1, 0, 1, 2)] == [range(0), range(2, 5), range(5, 6), range(0)]
    assert [found.row_at(line) for line in range(8)] == [None, None, 0, 0, 0, 1, None, None]
