"""Dialogs for choosing from a table, and input lines, created when a key opens them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from textwrap import wrap
from typing import Any, ClassVar, NamedTuple, TypeVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.suggester import SuggestFromList
from textual.widgets import Input

from presman.base.formats import ABSENT
from presman.base.text import clean, one_line
from presman.figures.figure import NAME, NUMBER, Figure, Table
from presman.tui.copies import Copyable
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import LineView


class _Column(NamedTuple):
    """A column to choose: its position among those shown, None if it is hidden."""

    key: str
    head: str
    position: int | None
    help: str


_Offered = partial(Figure[_Column], sortable=False)

COLUMNS: Table[_Column] = Table(
    "choose_columns", "Columns",
    (
        _Offered("position", "#", NUMBER, "Its position.", "position", width=3),
        _Offered("column", "Column", NAME, "The head of the column.", "head", width=18),
        _Offered("help", "What it is", NAME, "What it is.", "help", width=20, flexible=True),
    ),
    lambda row: row.key, "It has no columns.",
)  # fmt: skip


class _Target(NamedTuple):
    """A target to choose."""

    name: str
    now: str


_OfTarget = partial(Figure[_Target], sortable=False)

TARGETS: Table[_Target] = Table(
    "choose_target", "Databases",
    (
        _OfTarget("target", "Target of config.ini", NAME, "Its section.", "name", width=30),
        _OfTarget("now", "", NAME, "Which one is shown.", lambda row: row.now or " ", width=14),
    ),
    lambda row: row.name, "config.ini has no target.",
)  # fmt: skip


class _CopyLine(NamedTuple):
    """One line of something to copy: the first has its key and description, the others continue the text."""

    number: int
    key: str
    what: str
    text: str
    copied: Copyable


_WHAT = 16
_BESIDE_TEXT = 1 + 2 + _WHAT + 2 + 2
"""Cells of a line around its text: key, description, gaps, and the scrollbar."""


def copy_lines(offered: Iterable[Copyable], width: int) -> list[_CopyLine]:
    """Return the lines of the choices to copy. What a command affects, or why there is none, is never cut."""
    room = max(20, width - _BESIDE_TEXT)
    lines: list[_CopyLine] = []
    for each in offered:
        text = one_line(each.text, 200) or each.why_not or ABSENT
        beside = f"{text}   {each.affects}"
        texts = [beside] if each.affects and len(beside) <= room else [text, *filter(None, [each.affects])]
        found = [line for number, text in enumerate(texts) for line in _wrapped(text, room, each, number)]
        heads = [(each.key, each.what), *[("", "")] * (len(found) - 1)]
        lines += [_CopyLine(0, *head, text, each) for head, text in zip(heads, found, strict=True)]
    return [line._replace(number=number) for number, line in enumerate(lines)]


def _wrapped(text: str, room: int, each: Copyable, number: int) -> list[str]:
    """Return a text in lines of `room` cells. A text that is copied as it is, is cut at the edge and not wrapped."""
    is_cut = each.text and not number and each.command is None
    return [text] if is_cut else wrap(text, room, break_on_hyphens=False)


_OfCopy = partial(Figure[_CopyLine], sortable=False)

COPIES: Table[_CopyLine] = Table(
    "choose_copy", "Copy",
    (
        _OfCopy("key", "", NAME, "The key that copies it.", lambda row: row.key or " ", width=1),
        _OfCopy("what", "what", NAME, "What it is.", lambda row: row.what or " ", width=_WHAT),
        _OfCopy("text", "text", NAME, "What is copied, and what it affects.", "text", width=20, flexible=True),
    ),
    lambda row: row.number, "There is nothing to copy.",
)  # fmt: skip

Chosen = TypeVar("Chosen")


class _Chooser(ModalScreen[Chosen | None]):
    """Offers `rows` of a table. Esc and q return None, Enter returns `chosen` of the row under the cursor."""

    CSS = """
    _Chooser { align: center middle; }
    _Chooser > Vertical { width: 90%; max-width: 110; height: auto; max-height: 90%; border: round $primary; }
    _Chooser > Vertical { background: $background; }
    _Chooser Grid { height: auto; max-height: 30; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "dismiss", "cancel", show=False)]

    def __init__(self, table: Table[Any], rows: Sequence[Any], note: str) -> None:
        super().__init__()
        self.grid = Grid(table, counted=False)
        self._rows, self._note = rows, note

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        yield Vertical(self.grid)

    def on_mount(self) -> None:
        """Show the rows to choose from."""
        self.grid.show_rows(self._rows, note=self._note)
        self.grid.focus()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Return the choice."""
        event.stop()
        self.dismiss(self.chosen(event.row))

    def chosen(self, row: Any) -> Chosen | None:
        """Return the result for a row, None in an empty table."""
        found: Chosen | None = row
        return found


class ColumnChooser(_Chooser[tuple[str, ...]]):
    """Returns the keys of the chosen columns in order; () for the table's default, None for no change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "switch", "show or hide", show=False),
        Binding("shift+up,less_than_sign,K", "carry(-1)", "up", show=False),
        Binding("shift+down,greater_than_sign,J", "carry(1)", "down", show=False),
        Binding("r", "dismiss(())", "reset to the table's own columns", show=False),
    ]

    def __init__(self, table: Table[Any], shown: Sequence[str], hidden: Collection[str]) -> None:
        self._known = {column.key: column for column in table.columns if column.key not in hidden}
        self._shown = list(shown)
        super().__init__(COLUMNS, self._columns(), f"of {table.title}: numbered ones are shown, in this order")

    def compose(self) -> ComposeResult:
        """Lay the dialog out, with its keys below the table."""
        words = " Space shows or hides < > moves r the table's own Enter done Esc changes nothing"
        keys = LineView(id="choose-keys")
        keys.show_lines([((words, "dim"),)])
        yield Vertical(self.grid, keys)

    def _columns(self) -> list[_Column]:
        """Return the columns: the shown ones in their order, then the others."""
        indexes = {key: index for index, key in enumerate(self._shown, start=1)}
        order = dict.fromkeys([*(key for key in self._shown if key in self._known), *self._known])
        columns = (self._known[key] for key in order)
        return [_Column(each.key, each.head or each.key, indexes.get(each.key), each.help) for each in columns]

    def action_switch(self) -> None:
        """Show or hide the column under the cursor; at least one stays."""
        if (row := self.grid.row) is None:
            return
        if row.position is None:
            self._shown.append(row.key)
        elif len(self._shown) > 1:
            self._shown.remove(row.key)
        self.grid.show_rows(self._columns(), note=self._note)

    def action_carry(self, rows: int) -> None:
        """Move the column under the cursor."""
        row = self.grid.row
        if row is None or row.position is None:
            return
        index = max(0, min(len(self._shown) - 1, row.position - 1 + rows))
        self._shown.remove(row.key)
        self._shown.insert(index, row.key)
        self.grid.show_rows(self._columns(), note=self._note)
        self.grid.select(row.key)

    def chosen(self, _row: _Column | None) -> tuple[str, ...]:
        """Return the keys."""
        return tuple(self._shown)


class TargetChooser(_Chooser[str]):
    """Returns the chosen target."""

    CSS = "TargetChooser > Vertical { max-width: 60; }"

    def __init__(self, targets: Sequence[str], present: str) -> None:
        rows = [_Target(name, "on the screen" if name == present else "") for name in targets]
        super().__init__(TARGETS, rows, "Enter watches it, Esc stays here")

    def chosen(self, row: _Target | None) -> str | None:
        """Return the name."""
        return None if row is None else row.name


class CopyChooser(_Chooser[Copyable]):
    """Returns the choice to copy. Each choice has a key; Enter takes the one under the cursor, at first the first."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(key, f"take('{key}')", "copy", show=False) for key in "ctsrp123456789"
    ]

    def __init__(self, offered: Sequence[Copyable], width: int, whose: str = "") -> None:
        rows = copy_lines(offered, width)
        super().__init__(COPIES, rows, f"{whose}its key or Enter copies it, c once more the SQL_ID; Esc: nothing")

    def chosen(self, row: _CopyLine | None) -> Copyable | None:
        """Return the choice that the line under the cursor belongs to."""
        return None if row is None else row.copied

    def action_take(self, key: str) -> None:
        """Return the choice with this key, if there is one."""
        if (found := next((each for each in self._rows if each.key == key), None)) is not None:
            self.dismiss(found.copied)


# ---- Input lines: where to go, a time, a filter.

PLACEHOLDERS = {
    "go": "tab, group, instance, SID, 1:SID, SQL_ID, target; 19:08 or -15m; Esc",
    "jump": "Enter: 15 minutes back; 40: 40 minutes; 03:12, 2026-11-22 03:12:30, -2h, first, last; Esc",
    "filter": "text to show, !text to hide; Enter keeps it, Esc clears it",
}
"""The placeholder of each line while it is empty."""


class InputLine(Input):
    """An input line above the keys; → accepts the suggestion. Its id names its purpose."""

    @dataclass(eq=False)
    class Typed(Message):
        """The text typed so far in the line of that id; `done` once Enter was pressed."""

        line: str
        text: str
        done: bool

    def begin(self, text: str, names: Iterable[str]) -> None:
        """Show the line with a text, focus it, and suggest these names."""
        self.suggester = SuggestFromList(list(names), case_sensitive=False)
        self.display = True
        self.value = text
        self.screen.set_focus(self)  # at once: the next key belongs to this line

    def on_input_changed(self, event: Input.Changed) -> None:
        """Post the text typed so far."""
        event.stop()
        self.post_message(self._typed(done=False))

    async def action_submit(self) -> None:
        """Post the final text."""
        self.display = False
        self.post_message(self._typed(done=True))

    def _typed(self, *, done: bool) -> InputLine.Typed:
        return self.Typed(self.id or "", clean(self.value), done)


async def ask(app: App[None], line: str, text: str = "", *, names: Iterable[str] = (), before: str = "#keys") -> None:
    """Show the input line of that id above the widget `before`, and begin input."""
    found = app.query_one_optional(f"#{line}", InputLine)
    if found is None:
        found = InputLine(id=line, placeholder=PLACEHOLDERS[line], compact=True)
        await app.mount(found, before=before)
    found.begin(text, names)
