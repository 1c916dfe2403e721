"""Tab 4: the parallel statement queue: who waits, why, what ends it, who holds the servers, and how it came about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical

from presman.analysis.reading import CLUSTER, Reading
from presman.commands import Command
from presman.tables import LEDGER, PARALLEL_GROUPS, QUEUE, RUNNING, SERVERS, USUAL
from presman.tui.panels.panel import BRIDGE, Panel, Shown, group_rows, hidden_columns, one_instance
from presman.tui.panels.why import Why
from presman.tui.unblocking import top_command
from presman.tui.widgets.gantt import STRETCHES, Gantt, GanttData, window_end
from presman.tui.widgets.grid import HEADER_LINES, Grid


def snapped(rows: int) -> int:
    """Return the lines for so many rows, in steps, so that the layout does not jump with each statement."""
    return 1 if rows == 0 else max(4, -(-rows // 4) * 4)


class Parallel(Panel):
    """The reason presman exists."""

    tables = (QUEUE, RUNNING, PARALLEL_GROUPS, SERVERS, USUAL, LEDGER)
    charts = True
    notes = (
        "WHY tells why the head of a queue waits; ENDS IT who would let it start: idle holders first, then those whose "
        "end throws away least work (servers x elapsed). Statements joined by + are needed together.",
        "c copies the command for ① of the row's queue, or for the running statement under the cursor; nothing is run.",
        "g shows the statements over time in place of the tables: ░ queued █ running ▒ idle holder.",
    )
    _reading: Reading | None = None

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._why = Why(id="why")
        self._waiting, self._holders = Grid(QUEUE), Grid(RUNNING)
        self._groups, self._servers = Grid(PARALLEL_GROUPS, filterable=False), Grid(SERVERS, filterable=False)
        self._usual, self._ledger = Grid(USUAL, filterable=False), Grid(LEDGER, filterable=False)
        self._gantt = Gantt(id="parallel-gantt")
        yield self._why
        yield self._waiting
        yield self._holders
        with Horizontal(id="pools"):
            yield self._groups
            yield self._servers
        with Horizontal(id="over-time"):
            yield self._gantt
            with Vertical(id="past"):
                yield self._usual
                yield self._ledger

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        reading, watch = shown.reading, shown.watch
        self._reading = reading
        single = one_instance(shown)
        self._why.show(reading, watch)
        for grid, rows in ((self._waiting, len(reading.queue)), (self._holders, len(reading.running))):
            height = HEADER_LINES + snapped(rows)
            if grid.styles.max_height is None or grid.styles.max_height.value != height:
                grid.styles.max_height = height
        if self._waiting.display:
            self._waiting.show_rows(reading.queue, single)
            self._holders.show_rows(reading.running, single)
        if self._is_shown("#pools"):
            self._groups.show_rows(group_rows(shown), hidden_columns(shown), "█ held ┊ limit")
            self._servers.show_rows(reading.header.instances, (), "█ in use ┊ target")
        if self._is_shown("#past"):
            self._usual.show_rows(watch.marks.compare(reading))
            self._ledger.show_rows(watch.ledger.since(reading.at - timedelta(hours=1)))
        if self._is_shown("#over-time"):
            self._gantt.show(_gantt(shown))

    def _is_shown(self, part: str) -> bool:
        return bool(self.query_one(part).display)

    def toggle_gantt(self) -> None:
        """Show the statements over time in place of the tables, or the tables again."""
        self.toggle_class("-gantt")

    def command(self, grid: Grid | None) -> tuple[Command, str] | None:
        """Return the command that `c` copies, and whom it hits; None where the row has none."""
        if self._reading is None:
            return None
        row = grid.row if grid is not None else None
        if row is None and self._reading.queue:
            row = self._reading.queue[0]
        return top_command(row, self._reading)

    def measure(self, grid: Grid | None) -> str:
        """Return the measure that `e` exports from here."""
        return "queue" if grid is self._waiting else "parallel"


def _gantt(shown: Shown) -> GanttData:
    reading, seconds = shown.reading, shown.view.window * 60.0
    newest = window_end(shown.newest, seconds)
    end = newest
    if reading.at < newest - timedelta(seconds=seconds):
        end = window_end(reading.at + timedelta(seconds=seconds / 2), seconds)
    start = end - timedelta(seconds=seconds)
    step = seconds / STRETCHES
    found = shown.series.buckets(("in_use", CLUSTER, 0, ""), start.timestamp(), step, STRETCHES)
    return GanttData(
        spans=shown.watch.spans.within(start, end),
        end=end,
        seconds=seconds,
        in_use=bridged(found, max(1, round(BRIDGE / step))),
        target=reading.header.servers.target,
        cursor=reading.at if shown.view.behind else None,
        now=shown.newest,
    )


def bridged(values: Sequence[float | None], most: int) -> list[float | None]:
    """Carry each value on over gaps of at most `most` places: polls may be further apart than columns."""
    found: list[float | None] = []
    gap = most + 1
    for place, value in enumerate(values):
        gap = 0 if value is not None else gap + 1
        later = any(other is not None for other in values[place + 1 : place + 1 + most])
        found.append(value if value is not None else found[-1] if found and gap <= most and later else None)
    return found
