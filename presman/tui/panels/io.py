"""Tab 3: I/O by consumer group."""

from __future__ import annotations

from textual.app import ComposeResult

from presman.tables import IO
from presman.tui.panels.panel import ChartFeed, Panel, Shown, Trends, group_rows, hidden_columns
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import Grid


class Io(Panel):
    """Groups with their rates, and MB/s over time."""

    tables = (IO,)
    charts = True

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"io_trend": "io"})
        self._groups = Grid(IO, trend=self._trends)
        self._chart = Chart(classes="charts")
        self._feed = ChartFeed("io", "MB/s")
        yield self._groups
        yield self._chart

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown))
        self._chart.show(self._feed.data(shown))

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "session_io"
