"""Tab 1: who uses what, who is held back, and what is wrong."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.containers import Horizontal

from presman.tables import OVERVIEW, WAITS
from presman.tui.panels.panel import (
    CPU_LEGEND,
    ChartFeed,
    Panel,
    Shown,
    Trends,
    group_rows,
    hidden_columns,
    one_instance,
)
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.findings import Findings
from presman.tui.widgets.grid import Grid


class Overview(Panel):
    """Groups, findings, CPU over time, top waits."""

    tables = (OVERVIEW, WAITS)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "The lines below the groups say what is wrong, worst first: ✕ bad, ▲ ▼ ○ look at it, ▬ · ! to know.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"io_trend": "io"})
        self._groups = Grid(OVERVIEW, trend=self._trends)
        self._findings = Findings(id="findings")
        self._chart = Chart(id="overview-chart")
        self._waits = Grid(WAITS, filterable=False)
        self._feed = ChartFeed("used", "CPUs used")
        yield self._groups
        yield self._findings
        with Horizontal(id="overview-bottom"):
            yield self._chart
            yield self._waits

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), CPU_LEGEND)
        self._findings.show(shown.alerts)
        if self._chart.display:
            self._chart.show(self._feed.data(shown, shown.reading.header.num_cpus or None))
        self._waits.show_rows(shown.reading.waits, one_instance(shown))
