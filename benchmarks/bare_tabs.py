"""The yardstick of keys: the barest Textual app with tabs, a DataTable of 50 rows on each, and a key for each."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.widgets import DataTable, Footer, Header, TabbedContent, TabPane

ROWS, COLUMNS = 50, 12
TABS = 7


class BareTabs(App[None]):
    """Tables under tabs. All texts on a tab have its number."""

    TITLE = "bare"
    BINDINGS = [(str(number), f"turn_to({number})", f"tab {number}") for number in range(1, TABS + 1)]  # noqa: RUF012

    def compose(self) -> ComposeResult:
        yield Header()
        with TabbedContent():
            for number in range(1, TABS + 1):
                with TabPane(f"tab {number}", id=f"tab-{number}"):
                    yield DataTable[str](id=f"table-{number}")
        yield Footer()

    def on_mount(self) -> None:
        self.animation_level = "none"
        for number in range(1, TABS + 1):
            table = self.query_one(f"#table-{number}", DataTable)
            table.add_columns(*(f"column {number}:{column}" for column in range(COLUMNS)))
            table.add_rows([f"{number}:{row}:{column}" for column in range(COLUMNS)] for row in range(ROWS))

    def action_turn_to(self, number: int) -> None:
        self.query_one(TabbedContent).active = f"tab-{number}"


if __name__ == "__main__":
    BareTabs().run()
