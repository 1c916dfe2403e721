"""Dialogs that let one choose: the columns of a table and their order, another target."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any, ClassVar, NamedTuple

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen

from presman.base.formats import ABSENT
from presman.base.text import one_line
from presman.figures.figure import NAME, NUMBER, Figure, Table
from presman.tui.copies import Copyable
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView


class _Column(NamedTuple):
    """A column to choose: its position among those shown, None where it is not."""

    key: str
    head: str
    position: int | None
    help: str


_Offered = Figure[_Column]

COLUMNS: Table[_Column] = Table(
    "choose_columns",
    "Columns",
    (
        _Offered("position", "#", NUMBER, "Its position.", "position", width=3, sortable=False),
        _Offered("column", "Column", NAME, "The head of the column.", "head", width=18, sortable=False),
        _Offered("help", "What it is", NAME, "What it is.", "help", width=20, flexible=True, sortable=False),
    ),
    lambda row: row.key,
    "It has no columns.",
)


class _Target(NamedTuple):
    """A target to choose."""

    name: str
    now: str


TARGETS: Table[_Target] = Table(
    "choose_target",
    "Databases",
    (
        Figure[_Target]("target", "Target of config.ini", NAME, "Its section.", "name", width=30, sortable=False),
        Figure[_Target]("now", "", NAME, "Which one is on the screen.", lambda row: row.now or " ", width=14,
                        sortable=False),
    ),
    lambda row: row.name,
    "config.ini names no target.",
)  # fmt: skip


def _copied(row: Copyable) -> str:
    """Return what is copied on one line, and whom a command hits."""
    whom = f"   {row.affects}" if row.affects else ""
    return one_line(row.text, 200) + whom or row.why_not or ABSENT


COPIES: Table[Copyable] = Table(
    "choose_copy",
    "Copy",
    (
        Figure[Copyable]("key", "", NAME, "The key that copies it.", "key", width=1, sortable=False),
        Figure[Copyable]("what", "what", NAME, "What it is.", "what", width=16, most=40, sortable=False),
        Figure[Copyable](
            "text",
            "text",
            NAME,
            "What is copied, on one line.",
            _copied,
            width=20,
            flexible=True,
            sortable=False,
        ),
    ),
    lambda row: row.key,
    "There is nothing to copy.",
)

_STYLE = """
{name} {{ align: center middle; }}
{name} > Vertical {{ width: 90%; max-width: {width}; height: auto; max-height: 90%; border: round $primary; }}
{name} > Vertical {{ background: $background; }}
{name} Grid {{ height: auto; max-height: 30; }}
"""


class ColumnChooser(ModalScreen["tuple[str, ...] | None"]):
    """Returns the keys of the columns that were chosen, in order; () for those of the table, None for no change."""

    CSS = _STYLE.format(name="ColumnChooser", width=110)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "cancel", show=False),
        Binding("space", "switch", "show or hide", show=False),
        Binding("shift+up,less_than_sign,K", "carry(-1)", "up", show=False),
        Binding("shift+down,greater_than_sign,J", "carry(1)", "down", show=False),
        Binding("r", "reset", "reset", show=False),
    ]

    def __init__(self, table: Table[Any], shown: Sequence[str], hidden: Collection[str]) -> None:
        super().__init__()
        self._table = table
        self._shown = list(shown)
        self._hidden = hidden

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Grid(COLUMNS, counted=False)
            yield LineView(id="choose-keys")

    def on_mount(self) -> None:
        """Show what there is to choose."""
        words = " Space shows or hides < > moves r the table's own Enter done Esc changes nothing"
        self.query_one(LineView).show_lines([((words, "dim"),)])
        self._fill()
        self._grid.focus()

    @property
    def _grid(self) -> Grid:
        return self.query_one(Grid)

    def _fill(self) -> None:
        known = {column.key: column for column in self._table.columns if column.key not in self._hidden}
        order = [key for key in self._shown if key in known] + [key for key in known if key not in self._shown]
        rows = [
            _Column(key, known[key].head or key, self._shown.index(key) + 1 if key in self._shown else None,
                    known[key].help)
            for key in order
        ]  # fmt: skip
        self._grid.show_rows(rows, note=f"of {self._table.title}: numbered ones are shown, in this order")

    def action_switch(self) -> None:
        """Show or hide the column under the cursor; one stays."""
        row = self._grid.row
        if row is None:
            return
        if row.position is None:
            self._shown.append(row.key)
        elif len(self._shown) > 1:
            self._shown.remove(row.key)
        self._fill()

    def action_carry(self, rows: int) -> None:
        """Move the column under the cursor."""
        row = self._grid.row
        if row is None or row.position is None:
            return
        index = max(0, min(len(self._shown) - 1, row.position - 1 + rows))
        self._shown.remove(row.key)
        self._shown.insert(index, row.key)
        self._fill()
        self._grid.select(row.key)

    def action_reset(self) -> None:
        """Have the columns that the table has by itself."""
        self.dismiss(())

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Return the choice."""
        event.stop()
        self.dismiss(tuple(self._shown))

    def action_leave(self) -> None:
        """Return no choice."""
        self.dismiss(None)


class TargetChooser(ModalScreen["str | None"]):
    """Returns the target that was chosen, None for none."""

    CSS = _STYLE.format(name="TargetChooser", width=60)
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,q", "leave", "cancel", show=False)]

    def __init__(self, targets: Sequence[str], present: str) -> None:
        super().__init__()
        self._targets = targets
        self._present = present

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Grid(TARGETS, counted=False)

    def on_mount(self) -> None:
        """Show what there is to choose."""
        grid = self.query_one(Grid)
        rows = [_Target(name, "on the screen" if name == self._present else "") for name in self._targets]
        grid.show_rows(rows, note="Enter watches it, Esc stays here")
        grid.focus()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Return the choice."""
        event.stop()
        self.dismiss(event.row.name if event.row is not None else None)

    def action_leave(self) -> None:
        """Return no choice."""
        self.dismiss(None)


class CopyChooser(ModalScreen["Copyable | None"]):
    """Returns what is to be copied, None for nothing: each has its key, the first one is chosen by Enter, too."""

    CSS = _STYLE.format(name="CopyChooser", width=110)
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "cancel", show=False),
        *(Binding(key, f"take('{key}')", "copy", show=False) for key in "ctsrp123456789"),
    ]

    def __init__(self, offered: Sequence[Copyable]) -> None:
        super().__init__()
        self._offered = offered

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Grid(COPIES, counted=False)

    def on_mount(self) -> None:
        """Show what there is to copy."""
        grid = self.query_one(Grid)
        grid.show_rows(self._offered, note="its key or Enter copies it, c once more the SQL_ID; Esc: nothing")
        grid.focus()

    def action_take(self, key: str) -> None:
        """Return what has this key, if anything has."""
        found = next((each for each in self._offered if each.key == key), None)
        if found is not None:
            self.dismiss(found)

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """Return the choice."""
        event.stop()
        self.dismiss(event.row)

    def action_leave(self) -> None:
        """Return no choice."""
        self.dismiss(None)
