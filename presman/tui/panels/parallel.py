"""Tab 4: the parallel statement queue: who waits, why, who holds the servers."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal

from presman.analysis.reading import Reading
from presman.formats import count
from presman.tables import PARALLEL_GROUPS, QUEUE, RUNNING, SERVERS
from presman.tui.panels.panel import ChartFeed, Panel, Shown, group_rows, hidden_columns, one_instance
from presman.tui.widgets.chart import Chart
from presman.tui.widgets.grid import HEADER_LINES, Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, Run, wrap

_REGIMES = {
    "FULL": "one queue per consumer group",
    "FIFO": "one queue for all",
    "STARTUP": "instances are starting",
    "OFF": "no plan manages parallel execution",
}
"""What V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED means."""


class Why(LineView):
    """The regime of the queue, and one sentence per group whose head waits."""

    _reading: Reading | None = None

    def show(self, reading: Reading) -> None:
        """Explain this reading's queue."""
        self._reading = reading
        self._lay_out()

    def on_resize(self) -> None:
        """Wrap to the new width."""
        self._lay_out()

    def _lay_out(self) -> None:
        if self._reading is None:
            return
        width = self.size.width or self.app.size.width
        lines = [line for line in why_lines(self._reading) for line in wrap(line, width, 6)]
        if self.styles.height is None or self.styles.height.value != len(lines):
            self.styles.height = len(lines)
        self.show_lines(lines)


def why_lines(reading: Reading) -> list[Line]:
    """Return the regime and the reasons, unwrapped."""
    header, pool = reading.header, reading.header.servers
    regime = header.px_managed.upper()
    facts: list[Run] = [(" Queue ", "dim"), (regime or "?", ""), (f" {_REGIMES.get(regime, '')}", "dim")]
    facts += [("   in use ", "dim"), (count(pool.in_use), ""), ("  counted ", "dim"), (count(pool.counted), "")]
    facts += [(" of target ", "dim"), (count(pool.target), "")]
    if len(header.instances) > 1:
        facts.append((f" = {' + '.join(count(each.servers.target) for each in header.instances)}", "dim"))
    facts += [("  max ", "dim"), (count(pool.maximum), "")]
    if reading.unmanaged_servers:
        facts.append((f"   {reading.unmanaged_servers} outside the queue (bypass, GV$, recovery …)", "note"))
    return [tuple(facts), *_heads(reading)]


def _heads(reading: Reading) -> Sequence[Line]:
    if reading.heads:
        return [((" WHY  ", "title"), (head.sentence, "warn")) for head in reading.heads]
    if reading.queue:
        return [((" WHY  ", "title"), ("Statements are queued; what holds their head is not known.", "warn"))]
    return [((" ● Nothing is queued.", "good"),)]


def snapped(rows: int) -> int:
    """Return the lines for so many rows, in steps, so that the layout does not jump with each statement."""
    return 1 if rows == 0 else max(4, -(-rows // 4) * 4)


class Parallel(Panel):
    """The reason presman exists."""

    tables = (QUEUE, RUNNING, PARALLEL_GROUPS, SERVERS)
    charts = True

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._why = Why(id="why")
        self._waiting, self._holders = Grid(QUEUE), Grid(RUNNING)
        self._groups, self._servers = Grid(PARALLEL_GROUPS, filterable=False), Grid(SERVERS, filterable=False)
        self._chart = Chart(id="parallel-chart")
        self._feed = ChartFeed("servers", "PX servers")
        yield self._why
        yield self._waiting
        yield self._holders
        with Horizontal(id="pools"):
            yield self._groups
            yield self._servers
        yield self._chart

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        reading = shown.reading
        single = one_instance(shown)
        self._why.show(reading)
        for grid, rows in ((self._waiting, len(reading.queue)), (self._holders, len(reading.running))):
            height = HEADER_LINES + snapped(rows)
            if grid.styles.max_height is None or grid.styles.max_height.value != height:
                grid.styles.max_height = height
        self._waiting.show_rows(reading.queue, single)
        self._holders.show_rows(reading.running, single)
        self._groups.show_rows(group_rows(shown), hidden_columns(shown), "█ held ┊ limit")
        self._servers.show_rows(reading.header.instances, (), "█ in use ┊ target")
        if self._chart.display:
            self._chart.show(self._feed.data(shown, reading.header.servers.target))

    def measure(self, grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "queue" if grid is self._waiting else "parallel"
