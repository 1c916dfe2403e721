"""The yardstick: the barest Textual app with a DataTable of 50 rows, static or rewritten at each refresh."""

from __future__ import annotations

import sys

from textual.app import App, ComposeResult
from textual.widgets import DataTable, Footer, Header

ROWS, COLUMNS = 50, 12


class BareApp(App[None]):
    """A table. If the argument is a number of seconds, every cell is rewritten at that interval."""

    TITLE = "bare"

    def compose(self) -> ComposeResult:
        yield Header()
        yield DataTable[str]()
        yield Footer()

    def on_mount(self) -> None:
        self.turn = 0
        table = self.query_one(DataTable)
        table.add_columns(*(f"column {number}" for number in range(COLUMNS)))
        self.fill()
        if len(sys.argv) > 1:
            self.set_interval(float(sys.argv[1]), self.fill)

    def fill(self) -> None:
        self.turn += 1
        table = self.query_one(DataTable)
        table.clear()
        table.add_rows([str(self.turn * 7 + row * column) for column in range(COLUMNS)] for row in range(ROWS))


if __name__ == "__main__":
    BareApp().run()
