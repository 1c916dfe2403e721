"""Tab 3: I/O by consumer group."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from presman.analysis.reading import Reading
from presman.tables import IO
from presman.tables.io import IO_SESSIONS
from presman.tui.panels.panel import ChartFeed, Panel, Shown, Trends, group_rows, hidden_columns
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import Grid


def io_source(reading: Reading) -> str:
    """Return whose figures these are: on Exadata the cells see more than the database; and where limits are."""
    told = []
    if reading.header.exadata:
        told.append("the database's view: flash cache, cell offload and IORM are on the storage cells (CellCLI)")
    if reading.header.cdb:
        told.append("MAX_IOPS, MAX_MBPS and throttling of containers: key 8")
    return "; ".join(told)


class Io(Panel):
    """Groups with their rates, and MB/s over time."""

    tables = (IO, IO_SESSIONS)
    charts = True

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"io_trend": "io"})
        self._groups = Grid(IO, trend=self._trends)
        self._sessions = Grid(IO_SESSIONS, filterable=False)
        self._chart = Chart(id="io-chart")
        self._feed = ChartFeed("io", "MB/s")
        yield self._groups
        with Horizontal(classes="charts"):
            yield self._chart
            yield self._sessions

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), io_source(shown.reading))
        if self._sessions.display:
            busy = [row for row in shown.reading.sessions if row.io_mb or row.io_requests]
            self._sessions.show_rows(busy)
        self._chart.show(self._feed.data(shown))

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "session_io"
