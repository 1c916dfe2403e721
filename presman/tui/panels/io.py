"""Tab 3: I/O by consumer group."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from presman.analysis.pdbs import pdbs
from presman.analysis.reading import Reading
from presman.tables import IO
from presman.tables.io import IO_SESSIONS
from presman.tui.panels.panel import ChartFeed, Panel, Shown, Trends, group_rows, hidden_columns
from presman.tui.panels.pdbs import io_lines
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.containers import Horizontal
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import wrap


def io_source(reading: Reading) -> str:
    """Return whose figures these are: on Exadata the cells see more than the database."""
    told = []
    if reading.header.exadata:
        told.append("the database's view: flash cache, cell offload and IORM are on the storage cells (CellCLI)")
    return "; ".join(told)


class Io(Panel):
    """Groups with their rates, the I/O limits of containers, and MB/s over time."""

    tables = (IO, IO_SESSIONS)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "Where containers set MAX_IOPS or MAX_MBPS (12.2 and later), the lines below the groups say how much of them "
        "each uses since the last poll, and for how long each I/O was held back on average in the last closed minute "
        "(V$RSRCPDBMETRIC.AVG_IO_THROTTLE, read on 18 and later).",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"io_trend": "io"})
        self._groups = Grid(IO, trend=self._trends)
        self._sessions = Grid(IO_SESSIONS, filterable=False)
        self._limits = LineView(id="io-limits")
        self._chart = Chart(id="io-chart")
        self._feed = ChartFeed("io", "MB/s")
        yield self._groups
        yield self._limits
        with Horizontal(classes="charts"):
            yield self._chart
            yield self._sessions

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), io_source(shown.reading))
        self._show_limits(shown)
        if self._sessions.display:
            busy = [row for row in shown.reading.sessions if row.io_mb or row.io_requests]
            self._sessions.show_rows(busy)
        self._chart.show(self._feed.data(shown))

    def _show_limits(self, shown: Shown) -> None:
        """Say what MAX_IOPS and MAX_MBPS do, in a container database that has them."""
        moment = shown.moment() if shown.reading.header.cdb else None
        found = pdbs(shown.reading, *moment) if moment is not None else ()
        width = self._limits.size.width or self.app.size.width
        lines = [part for line in io_lines(found) for part in wrap(line, width, 3)]
        self._limits.display = bool(lines)
        self._limits.fit_lines(lines)

    def measure(self, _grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "session_io"
