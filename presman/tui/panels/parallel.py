"""Tab 4: the parallel statement queue: who waits, why, what ends it, who holds the servers, and how it came about."""

from __future__ import annotations

import time
from collections.abc import Hashable, Sequence
from datetime import timedelta
from typing import NamedTuple

from textual.app import ComposeResult
from textual.widget import Widget

from presman.analysis.reading import CLUSTER
from presman.analysis.unblock import Unblock, unblock
from presman.analysis.usual import Comparison
from presman.commands import Command
from presman.tables import LEDGER, PARALLEL_GROUPS, QUEUE, RUNNING, SERVERS, USUAL
from presman.tui.panels.division import SHORT, TALL, Division, Wanted, divide, most_for_why
from presman.tui.panels.panel import BRIDGE, Panel, Shown, group_rows, hidden_columns, one_instance, plan_changes
from presman.tui.panels.regime import by_class, in_one_line, regime, summary
from presman.tui.panels.why import story, why_lines
from presman.tui.unblocking import commands_to_copy
from presman.tui.widgets.containers import Horizontal, Vertical
from presman.tui.widgets.gantt import STRETCHES, Gantt, GanttData, window_end
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line, wrap

_INDENT = 6
_WIDE = 158
"""Cells from which a table beside the chart says what is worse than usual (the tab of a terminal of 160)."""


_AGAIN = 8.0
"""Seconds in which `c` goes on to the next command: as long as it is told what was copied."""


class _Copied(NamedTuple):
    """What `c` copied last: for which row, which command, when on the monotonic clock."""

    row: Hashable
    text: str
    at: float


class Parallel(Panel):
    """The reason presman exists."""

    tables = (QUEUE, RUNNING, PARALLEL_GROUPS, SERVERS, USUAL, LEDGER)
    charts = True
    notes = (
        "WHY tells why the head of a queue waits; ENDS IT who would let it start: idle holders first, then those whose "
        "end throws away least work (servers x elapsed). Statements joined by + are needed together. The queue of the "
        "row under the cursor comes first.",
        "c copies the command for ① of the row's queue, or for the running statement under the cursor; nothing is run. "
        "Again, it copies the next: ② and so on, then what acts on the waiting statement itself.",
        "g shows the statements over time in place of the tables: ░ queued █ running ▒ idle holder; the more servers, "
        "the higher a block.",
    )
    _shown: Shown | None = None
    _unblocks: tuple[Unblock, ...] = ()
    _compared: tuple[Comparison, ...] = ()
    _copied = _Copied(None, "", 0.0)

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._why, self._summary = LineView(id="why"), LineView(id="summary")
        self._waiting, self._holders = Grid(QUEUE), Grid(RUNNING)
        self._groups, self._servers = Grid(PARALLEL_GROUPS, filterable=False), Grid(SERVERS, filterable=False)
        self._usual, self._ledger = Grid(USUAL, filterable=False), Grid(LEDGER, filterable=False)
        self._gantt = Gantt(id="parallel-gantt")
        self._pools = Horizontal(self._groups, self._servers, id="pools")
        past = Vertical(self._usual, self._ledger, id="past")
        self._over_time = Horizontal(self._gantt, past, id="over-time")
        yield self._why
        yield self._waiting
        yield self._holders
        yield self._pools
        yield self._summary
        yield self._over_time

    def on_resize(self) -> None:
        """Divide the lines anew."""
        self._divide_anew()

    def _divide_anew(self) -> None:
        """Divide the lines, and fill what has room only now."""
        before = self._pools.display, self._over_time.display
        self._divide()
        if self._shown is not None and before != (self._pools.display, self._over_time.display):
            self._fill(self._shown)

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        reading = shown.reading
        self._shown = shown
        self._unblocks = unblock(reading)
        self._compared = shown.watch.marks.compare(reading)
        single = one_instance(shown)
        self._waiting.show_rows(reading.queue, single)
        self._holders.show_rows(reading.running, single)
        self._divide()
        self._fill(shown)

    def _fill(self, shown: Shown) -> None:
        """Fill what is below the tables, where there is room for it."""
        reading, watch = shown.reading, shown.watch
        if self._pools.display:
            self._groups.show_rows(group_rows(shown), hidden_columns(shown), "█ held ┊ limit")
            self._servers.show_rows(reading.header.instances, (), "█ in use ┊ target")
        if self._over_time.display:
            self._usual.show_rows(sorted(self._compared, key=lambda each: not each.worse))
            seen = watch.ledger.since(reading.at - timedelta(hours=1))
            self._ledger.show_rows(seen, (), by_class(watch.marks.downgrades(reading)))
            self._gantt.show(_gantt(shown))

    def on_descendant_focus(self) -> None:
        """Tell what c copies from here."""
        self._divide()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Tell first why the queue under the cursor waits."""
        if event.grid is self._waiting:
            self._divide()

    def _divide(self) -> None:
        """Give each part its lines, and write the lines whose number depends on the room there is."""
        shown = self._shown
        if shown is None:
            return
        height = self.size.height or self.app.size.height - 4
        width = self.size.width or self.app.size.width - 2
        lines = self._why_lines(shown, width, height)
        held = summary(shown.reading, width)
        reading = shown.reading
        rows = len(reading.queue), len(reading.running), len(group_rows(shown))
        parts = divide(height, Wanted(len(lines), *rows, len(held)))
        if self.has_class("-gantt"):
            parts = Division(parts.why, 0, 0, 0, 0, height - parts.why - parts.gap, parts.gap)
        self._why.show_lines(lines)
        self._summary.show_lines(held)
        self._apply(parts)

    def _why_lines(self, shown: Shown, width: int, height: int) -> list[Line]:
        """Return why the queues wait, that of the row under the cursor first."""
        about = regime(shown.reading, shown.watch)
        top = wrap(about, width, _INDENT) if height >= TALL else [in_one_line(about, width)]
        if height < SHORT and shown.reading.queue:  # what is wrong comes before what is in use
            top = []
        row = self._waiting.row
        under = (row.con_id, row.group) if row is not None else None
        compared = () if height >= TALL and width >= _WIDE else self._compared  # there it has a table
        told = story(shown.reading, self._unblocks, compared, top, under)
        told = told._replace(key=not self._holders.has_focus)
        return why_lines(told, width, most_for_why(height))

    def _apply(self, parts: Division) -> None:
        """Set the heights that differ: each makes the screen be laid out again."""
        self.set_class(bool(parts.gap), "-apart")
        sizes: tuple[tuple[Widget, int], ...] = (
            (self._why, parts.why),
            (self._waiting, parts.queue),
            (self._holders, parts.running),
            (self._pools, parts.pools),
            (self._summary, parts.summary),
            (self._over_time, parts.over_time),
        )
        for part, lines in sizes:
            if part.display != (lines > 0):
                part.display = lines > 0
            if lines and (part.styles.height is None or part.styles.height.value != lines):
                part.styles.height = lines

    def toggle_gantt(self) -> None:
        """Show the statements over time in place of the tables, or the tables again."""
        self.toggle_class("-gantt")
        self._divide_anew()

    def command(self, grid: Grid | None) -> tuple[Command, str] | None:
        """Return the command that `c` copies, and whom it hits; None where the row has none.

        Pressed again on the same row while that is still told, it goes on to the next command.
        """
        if self._shown is None:
            return None
        reading = self._shown.reading
        grid = self._waiting if grid is None or grid.row is None else grid
        row = grid.row
        if row is None and reading.queue:
            row = reading.queue[0]
        offered = commands_to_copy(row, reading)
        if not offered:
            return None
        now, who = time.monotonic(), grid.table.identity(row)
        known = [command.text for command, _ in offered]
        again = self._copied.row == who and now - self._copied.at < _AGAIN and self._copied.text in known
        place = (known.index(self._copied.text) + 1) % len(known) if again else 0
        self._copied = _Copied(who, known[place], now)
        command, whom = offered[place]
        more = f" ({place + 1} of {len(known)}; c again copies the next)" if len(known) > 1 else ""
        return command, whom + more

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
        marks=plan_changes(shown, start.timestamp(), step, STRETCHES),
    )


def bridged(values: Sequence[float | None], most: int) -> list[float | None]:
    """Carry each value on over gaps of at most `most` places: polls may be further apart than columns."""
    found = list(values)
    last: int | None = None
    for place, value in enumerate(values):
        if value is None:
            continue
        if last is not None and place - last - 1 <= most:
            found[last + 1 : place] = [values[last]] * (place - last - 1)
        last = place
    return found
