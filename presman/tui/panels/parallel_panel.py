"""The panel of the parallel statement queue: why it waits comes first, at any size."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from textual.app import ComposeResult
from textual.widget import Widget

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.unblock import unblock
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.instance_readings import CLUSTER
from presman.figures.drawing.lines import Line, wrap
from presman.figures.group_figures import PARALLEL_GROUPS
from presman.figures.history_figures import LEDGER, USUAL
from presman.figures.instance_figures import SERVERS
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.tabs.charts import BRIDGE, plan_changes
from presman.tabs.moment import Moment
from presman.tabs.parallel import compared, in_one_line, queue_line, queue_rows, summary
from presman.tui.panels.panel import Panel
from presman.tui.panels.parallel_layout import (
    SHORT,
    TALL,
    Contents,
    Division,
    divide,
    most_for_why,
    room_for_why,
    story,
    why_lines,
)
from presman.tui.widgets.gantt import STRETCHES, Gantt, GanttData, window_end
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Horizontal, Vertical
from presman.tui.widgets.line_view import LineView

_INDENT = 6
_WIDE = 158
"""Cells from which a table beside the chart says what is worse than usual (the tab of a terminal of 160)."""


class ParallelPanel(Panel):
    """The reason presman exists: its lines are divided by need, and `g` shows the statements over time instead."""

    _moment: Moment | None = None
    _unblocks: tuple[Unblock, ...] = ()
    _compared: tuple[Comparison, ...] = ()

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        queue, running, groups, servers, usual, ledger = (self.grid(part) for part in self.tab.rows())
        self._queued, self._holders = queue, running
        self._why, self._summary = LineView(id="why"), LineView(id="summary")
        self._gantt = Gantt(id="parallel-gantt")
        self._pools = Horizontal(groups, servers, id="pools")
        self._over_time = Horizontal(self._gantt, Vertical(usual, ledger, id="past"), id="over-time")
        yield self._why
        yield queue
        yield running
        yield self._pools
        yield self._summary
        yield self._over_time

    def on_mount(self) -> None:
        """Mark nothing: the lines are divided here."""

    def on_resize(self) -> None:
        """Divide the lines anew."""
        self._divide_anew()

    def _divide_anew(self) -> None:
        """Divide the lines, and fill what has room only now."""
        before = self._pools.display, self._over_time.display
        self._divide()
        if self._moment is not None and before != (self._pools.display, self._over_time.display):
            self._fill_below(self._moment)

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        self._moment = moment
        self._unblocks = unblock(moment.reading)
        self._compared = moment.once(compared)
        for table in (QUEUE, RUNNING):
            self.fill(table, moment)
        self._divide()
        self._fill_below(moment)

    def _fill_below(self, moment: Moment) -> None:
        """Fill what is below the tables, where there is room for it."""
        if self._pools.display:
            self.fill(PARALLEL_GROUPS, moment)
            self.fill(SERVERS, moment)
        if self._over_time.display:
            self.fill(USUAL, moment)
            self.fill(LEDGER, moment)
            self._gantt.show(gantt_data(moment))

    def on_descendant_focus(self) -> None:
        """Tell what c copies from here."""
        self._divide()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Tell first why the queue under the cursor waits."""
        if event.grid is self._queued:
            self._divide()

    def _divide(self) -> None:
        """Give each part its lines, and write the lines whose number depends on the room there is."""
        moment = self._moment
        if moment is None:
            return
        around = self.parent.size.height if isinstance(self.parent, Widget) else 0  # that of the tab shown before
        height = self.size.height or around or self.app.size.height - 4
        width = self.size.width or self.app.size.width - 2
        lines = self._why_lines(moment, width, height)
        held = summary(moment.reading, width)
        reading = moment.reading
        rows = len(moment.once(queue_rows)), len(reading.running), len(moment.groups())
        parts = divide(height, Contents(len(lines), *rows, len(held)))
        if self.has_class("-gantt"):
            parts = Division(parts.why, 0, 0, 0, 0, height - parts.why - parts.gap, parts.gap)
        self._why.show_lines(lines)
        self._summary.show_lines(held)
        self._apply(parts)

    def _why_lines(self, moment: Moment, width: int, height: int) -> list[Line]:
        """Return why the queues wait, that of the row under the cursor first."""
        about = queue_line(moment.reading, moment.watch)
        top = wrap(about, width, _INDENT) if height >= TALL else [in_one_line(about, width)]
        if height < SHORT and moment.reading.queue:  # what is wrong comes before what is in use
            top = []
        row = self._queued.row
        under = (row.con_id, row.group) if row is not None else None
        compared = () if height >= TALL and width >= _WIDE else self._compared  # there it has a table
        found = story(moment.reading, self._unblocks, compared, top, under)
        old = moment.choices.behind or moment.choices.paused is not None
        found = found._replace(key=self._is_about_queue() and not old)
        return why_lines(found, width, most_for_why(height), room_for_why(height))

    def _apply(self, parts: Division) -> None:
        """Set the heights that differ: each makes the screen be laid out again."""
        self.set_class(bool(parts.gap), "-apart")
        sizes: tuple[tuple[Widget, int], ...] = (
            (self._why, parts.why),
            (self._queued, parts.queue),
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

    def action_gantt(self) -> None:
        """Show the statements over time in place of the tables, or the tables again."""
        self.toggle_class("-gantt")
        self._divide_anew()
        if not self.has_class("-gantt"):
            self._queued.focus()  # and not what stood beside the statements

    def _is_about_queue(self) -> bool:
        """Tell whether `c` copies what ends the queue's wait: always over time, else unless another table is used."""
        others = (grid for grid in self._grids.values() if grid is not self._queued)
        return self.has_class("-gantt") or not any(grid.has_focus for grid in others)

    def subject(self, grid: Grid | None) -> Any:
        """Return the statement that `c` is about: that of the table with the focus, else the first of the queue."""
        aside = self.has_class("-gantt")  # what stands beside the statements over time is not what they are about
        row = self._queued.row if aside or grid is None or grid.row is None else grid.row
        if row is None and self._moment is not None and self._moment.reading.queue:
            return self._moment.reading.queue[0]
        return row


def gantt_data(moment: Moment) -> GanttData:
    """Return the statements over the window the user chose."""
    reading, seconds = moment.reading, moment.choices.window * 60.0
    newest = window_end(moment.latest, seconds)
    end = newest
    if reading.at < newest - timedelta(seconds=seconds):
        end = window_end(reading.at + timedelta(seconds=seconds / 2), seconds)
    start = end - timedelta(seconds=seconds)
    step = seconds / STRETCHES
    found = moment.series.buckets(("in_use", CLUSTER, 0, ""), start.timestamp(), step, STRETCHES)
    return GanttData(
        spans=moment.watch.runs.within(start, end),
        end=end,
        seconds=seconds,
        in_use=bridged(found, max(1, round(BRIDGE / step))),
        most=moment.series.most(("in_use", CLUSTER, 0, ""), start.timestamp(), end.timestamp()),
        target=reading.header.servers.target,
        cursor=reading.at if moment.choices.behind else None,
        now=moment.latest,
        marks=plan_changes(moment, start.timestamp(), step, STRETCHES),
        colours=moment.colours,
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
