"""Tab 2: CPU by consumer group, with its limits and what waits."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from presman.tables import CPU
from presman.tui.panels.panel import APART, CPU_LEGEND, ChartFeed, Panel, Shown, Trends, group_rows, hidden_columns
from presman.tui.panels.verdicts import VerdictLines
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.containers import Horizontal
from presman.tui.widgets.grid import Grid


class Cpu(Panel):
    """Groups with all figures of their CPU, and CPUs used and waited for over time."""

    tables = (CPU,)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "The lines below the groups say in words whether each instance keeps its plan, with its host beside it, and "
        "why each group that waits does. A plan is kept (100 %) while no group gets less than its due: the lesser of "
        "what it wants and what it is entitled to now. That everybody waits does not mean that it is not kept.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"used_trend": "used"})
        self._groups = Grid(CPU, trend=self._trends)
        self._used, self._waiting = Chart(id="cpu-used"), Chart(id="cpu-waiting")
        self._used_feed = ChartFeed("used", "CPUs used")
        self._waiting_feed = ChartFeed("waiting", "CPUs waited for (throttled)", after=APART)
        self._verdicts = VerdictLines(id="verdicts")
        yield self._groups
        yield self._verdicts
        with Horizontal(classes="charts"):
            yield self._used
            yield self._waiting

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        rows, hidden = group_rows(shown), hidden_columns(shown)
        if all(row.cpu_exhausted is None for row in rows):
            hidden.add("cpu_exhausted")
        self._groups.show_rows(rows, hidden, CPU_LEGEND)
        self._verdicts.show(shown.reading, rows)
        self._used.show(self._used_feed.data(shown, shown.reading.header.num_cpus or None))
        self._waiting.show(self._waiting_feed.data(shown))
