"""Rows of the choosers, without a screen around them."""

from __future__ import annotations

from typing import Any

from presman.figures.figure import NAME, Figure, Table
from presman.tui.copies import Copyable
from presman.tui.widgets.choosers import ColumnChooser, CopyChooser, TargetChooser, copy_lines

TABLE: Table[str] = Table(
    "t", "T", tuple(Figure[str](key, head, NAME, f"{key}?", len) for key, head in
                    (("a", "A"), ("b", "B"), ("c", ""), ("d", "D"), ("x", "X"))),
    str, "none",
)  # fmt: skip


class Chooser(ColumnChooser):
    """One whose rows are looked at as they would be shown; `under` is the key of the one under the cursor."""

    def __init__(self, *shown: str) -> None:
        super().__init__(TABLE, shown, {"x"})
        self.under, self.selected = "", ""
        self.grid: Any = self

    @property
    def row(self) -> Any:
        return next((each for each in self._columns() if each.key == self.under), None)

    def show_rows(self, rows: Any, note: str) -> None:
        assert note == "of T: numbered ones are shown, in this order"
        self.rows = [(each.key, each.position) for each in rows]

    def select(self, key: str) -> None:
        self.selected = key


def test_visible_columns_are_listed_first_with_their_positions() -> None:
    found = Chooser("b", "gone", "a")
    assert [(each.key, each.head, each.position, each.help) for each in found._columns()] == [
        ("b", "B", 1, "b?"), ("a", "A", 3, "a?"), ("c", "c", None, "c?"), ("d", "D", None, "d?"),
    ]  # fmt: skip


def test_a_column_is_shown_hidden_and_moved() -> None:
    found = Chooser("a", "b")
    found.action_switch()
    found.action_carry(1)
    assert found.chosen(None) == ("a", "b"), "nothing is under the cursor"
    found.under = "d"
    found.action_carry(-1)
    assert found.chosen(None) == ("a", "b"), "a hidden column has no position"
    found.action_switch()
    assert found.chosen(None) == ("a", "b", "d")
    assert found.rows == [("a", 1), ("b", 2), ("d", 3), ("c", None)]
    found.action_carry(-1)
    assert (found.chosen(None), found.selected) == (("a", "d", "b"), "d")
    for _ in range(3):
        found.action_carry(-1)
    assert found.chosen(None) == ("d", "a", "b")
    for _ in range(4):
        found.action_carry(1)
    assert found.chosen(None) == ("a", "b", "d")
    for key in "abd":
        found.under = key
        found.action_switch()
    assert found.chosen(None) == ("d",), "one stays"


def test_the_present_target_is_marked_and_a_copy_has_its_key() -> None:
    targets = TargetChooser(["east", "west"], "west")
    assert [(row.name, row.now) for row in targets._rows] == [("east", ""), ("west", "on the screen")]
    assert (targets.chosen(targets._rows[0]), targets.chosen(None)) == ("east", None)
    offered, taken = [Copyable(key, key, key) for key in "ct"], list[object]()
    copies = CopyChooser(offered, 80)
    copies.dismiss = taken.append  # type: ignore[assignment, method-assign]
    for key in "tx":
        copies.action_take(key)
    assert taken == [offered[1]]


def test_a_text_to_copy_is_wrapped_and_never_cut() -> None:
    note = "RPT sales reports 1:5,1005, idle 15:00, holds 16; no command: BATCH and ETL want the same"
    offered = [Copyable("c", "SQL_ID", "7xq3hdwx1kkd0"), Copyable("1", "sid,serial", "5,1005,@1", affects=note)]
    for width in (60, 80, 120, 200):
        lines = copy_lines(offered, width)
        assert all(len(each.text) <= width - 23 for each in lines)
        assert " ".join(each.text for each in lines if each.copied is offered[1]).split() == f"5,1005,@1 {note}".split()
        assert [each.key for each in lines if each.key] == ["c", "1"]
    assert len(copy_lines(offered, 200)) == 2, "with enough room each has one line"
    assert CopyChooser(offered, 60).chosen(copy_lines(offered, 60)[-1]) is offered[1], "Enter on any line of it"


def test_an_unavailable_text_gives_its_reason() -> None:
    def copied(text: str, why_not: str = "") -> list[str]:
        return [each.text for each in copy_lines([Copyable("1", "command", text, why_not)], 80)]

    assert copied("a\nb") == ["a b"]
    assert (copied("", "old"), copied("")) == (["old"], ["-"])
