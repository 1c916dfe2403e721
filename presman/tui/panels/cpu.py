"""Tab 2: CPU by consumer group, with its limits and what waits."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal

from presman.tables import CPU
from presman.tui.panels.panel import CPU_LEGEND, ChartFeed, Panel, Shown, Trends, group_rows, hidden_columns
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import Grid


class Cpu(Panel):
    """Groups with all figures of their CPU, and CPUs used and waited for over time."""

    tables = (CPU,)
    charts = True

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"used_trend": "used"})
        self._groups = Grid(CPU, trend=self._trends)
        self._used, self._waiting = Chart(id="cpu-used"), Chart(id="cpu-waiting")
        self._used_feed = ChartFeed("used", "CPUs used")
        self._waiting_feed = ChartFeed("waiting", "CPUs waited for (throttled)")
        yield self._groups
        with Horizontal(classes="charts"):
            yield self._used
            yield self._waiting

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), CPU_LEGEND)
        self._used.show(self._used_feed.data(shown, shown.reading.header.num_cpus or None))
        self._waiting.show(self._waiting_feed.data(shown))
