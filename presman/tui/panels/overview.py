"""Tab 1: who uses what, who is held back, and what is wrong."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult

from presman.analysis.reading import Reading
from presman.tables import OVERVIEW, WAITS
from presman.tables.histogram import redo_text
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
from presman.tui.widgets.containers import Horizontal, Vertical
from presman.tui.widgets.findings import Findings
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line


def redo_line(reading: Reading) -> Line:
    """Return how healthy redo writes are, over all instances."""
    if not reading.redo:
        return ((" Redo ", "dim"), ("no delta yet", "dim"))
    return ((" Redo ", "dim"), (redo_text(reading.redo[0]), ""))


class Overview(Panel):
    """Groups, findings, CPU over time, top waits."""

    tables = (OVERVIEW, WAITS)
    charts = True
    notes: ClassVar[tuple[str, ...]] = (
        "The lines below the groups say what is wrong, worst first: ✕ bad, ▲ ▼ ○ look at it, ▬ · ! to know.",
        "The line Redo: mean waits since the last poll for 'log file sync' (a commit) and 'log file parallel write' "
        "(the write by the redo writer), both from V$SYSTEM_EVENT; what of a commit's wait the write does not explain; "
        "and the change of 'redo size' in V$SYSSTAT per second.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._trends = Trends({"io_trend": "io"})
        self._groups = Grid(OVERVIEW, trend=self._trends)
        self._findings = Findings(id="findings")
        self._redo = LineView(id="redo")
        self._chart = Chart(id="overview-chart")
        self._waits = Grid(WAITS, filterable=False)
        self._feed = ChartFeed("used", "CPUs used")
        yield self._groups
        yield Vertical(self._findings, self._redo, id="told")
        with Horizontal(id="overview-bottom"):
            yield self._chart
            yield self._waits

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._trends.at(shown)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), CPU_LEGEND)
        self._findings.show(shown.alerts)
        self._redo.show_lines([redo_line(shown.reading)])
        if self._chart.display:
            self._chart.show(self._feed.data(shown, shown.reading.header.num_cpus or None))
        self._waits.show_rows(shown.reading.waits, one_instance(shown))
