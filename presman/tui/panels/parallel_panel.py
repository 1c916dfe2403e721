"""The panel of the parallel statement queue: the reason for waiting comes first, at any size.

Its lines have the order in which a DBA on call at night needs them.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any, NamedTuple

from textual.app import ComposeResult
from textual.widget import Widget

from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.unblock import unblock
from presman.analysis.alerts.queue_alerts import head_sentence
from presman.analysis.parallel.usual import Comparison
from presman.analysis.readings.reading import CLUSTER, Reading
from presman.analysis.readings.statement_readings import QueuedStatement, group_title
from presman.base.formats import number
from presman.figures.drawing.lines import Line, cells, wrap
from presman.figures.group_figures import PARALLEL_GROUPS
from presman.figures.history_figures import LEDGER, USUAL
from presman.figures.instance_figures import SERVERS
from presman.figures.statement_figures import QUEUE, RUNNING
from presman.tabs.alerts import no_queue
from presman.tabs.charts import BRIDGE, plan_changes, without_gaps
from presman.tabs.parallel import compared, goal_line, in_one_line, in_order, queue_line, queue_rows, summary
from presman.tabs.parts import Moment
from presman.tui.pages.advice_lines import perhaps_others, to_start_line
from presman.tui.panels.panel import Panel
from presman.tui.panels.shared_panel import wanted_by
from presman.tui.widgets.gantt import STRETCHES, Gantt, GanttData, window_end
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Horizontal, LineView, Vertical, give_lines
from presman.tui.widgets.table_frame import HEADER_LINES

TALL = 36
"""Lines of a tab from which its parts are separated by blank lines, and the history has a part of its own."""

SHORT = 22
"""Lines of a tab below which the tables get fewer rows than they should have."""

FLAT = 10
"""Lines of a tab below which there is room for only one table."""

_OVER_TIME = 9
"""Minimum lines of the chart of statements over time: four statements, the servers, the times."""

_GROUPS = 6
"""Rows that the servers by group get at first; groups that hold or want servers come first."""

_FEWEST = 4
"""Rows of the queue that have priority over the arithmetic of its first head."""

_STEP = 4
"""A table grows by this many rows, so that the parts do not move with each statement that comes or goes."""


class Contents(NamedTuple):
    """The size of the contents: lines of reasons, rows of the tables, lines of the summary.

    `groups` are the rows of the table of servers by group, which `summary` lines replace if it has no room.
    With `more_queued` and `more_running` additional lines no text of these tables is cut.
    """

    why: int
    queued: int
    running: int
    groups: int
    summary: int
    more_queued: int = 0
    more_running: int = 0


class Division(NamedTuple):
    """Lines of each part, 0 if it is not shown, with `gap` blank lines between them."""

    why: int
    queue: int
    running: int
    pools: int
    summary: int
    over_time: int
    gap: int

    @property
    def used(self) -> int:
        """Lines of all parts and of the gaps between them."""
        parts = self[:-1]
        return sum(parts) + self.gap * (sum(part > 0 for part in parts) - 1)


def most_for_why(height: int) -> int:
    """Return the most lines for the reasons why the queues wait, unless the first queue needs more."""
    return height * 3 // 10


def room_for_why(height: int) -> int | None:
    """Return the most lines for the first queue's reason if the table needs the others, None for no limit."""
    return height - HEADER_LINES - _FEWEST if height < SHORT else None


def divide(height: int, wanted: Contents) -> Division:
    """Divide `height` lines: first the minimum of each part in order of importance, then the rest in the same order.

    Tables grow in steps, unless the blank lines of a step would hide a row of another table or, on a screen that is
    not tall, cut a text.
    """
    if height < FLAT:
        queue = height if wanted.queued or not wanted.running else 0
        return Division(0, queue, height - queue, 0, 0, 0, 0)
    found = _divided(height, wanted, _STEP)
    queue, running = HEADER_LINES + wanted.queued, HEADER_LINES + wanted.running
    if height < TALL:
        queue, running = queue + wanted.more_queued, running + wanted.more_running
    return found if found.queue >= queue and found.running >= running else _divided(height, wanted, 1)


def _divided(height: int, wanted: Contents, step: int) -> Division:
    least_queued, least_running = (4, 3) if height < SHORT else (6, 4)
    queue = HEADER_LINES + min(_stepped(wanted.queued, step), least_queued)
    running = HEADER_LINES + min(_stepped(wanted.running, step), least_running)
    gap = int(height >= TALL)
    found = Division(wanted.why, queue, running, pools=0, summary=wanted.summary, over_time=0, gap=gap)
    by_group = found._replace(pools=HEADER_LINES + min(wanted.groups, _GROUPS), summary=0)
    over_time = by_group._replace(over_time=_OVER_TIME if height >= TALL else 0)
    for better in (by_group, over_time):
        found = better if better.used <= height else found
    return _grown(found, height, wanted, step) if found.used <= height else _shrunk(found, height)


def _grown(found: Division, height: int, wanted: Contents, step: int) -> Division:
    """Distribute the remaining lines: a few to the groups, two to the queue for each to the running, then the rest.

    Lines that no part needs go to the history or, without it, to texts that would be cut.
    """
    left = height - found.used
    if found.pools:
        groups = min(left, HEADER_LINES + wanted.groups - found.pools, _GROUPS // 2)
        found, left = found._replace(pools=found.pools + groups), left - groups
    queue = max(0, HEADER_LINES + _stepped(wanted.queued, step) - found.queue)
    running = max(0, HEADER_LINES + _stepped(wanted.running, step) - found.running)
    if queue + running > left:
        running = min(running, max(left // 3, left - queue))
        queue = left - running
    left -= queue + running
    found = found._replace(queue=found.queue + queue, running=found.running + running)
    if found.over_time:
        return found._replace(over_time=found.over_time + left)
    queue = max(0, min(left, HEADER_LINES + wanted.queued + wanted.more_queued - found.queue))
    running = max(0, min(left - queue, HEADER_LINES + wanted.running + wanted.more_running - found.running))
    return found._replace(queue=found.queue + queue, running=found.running + running)


def _shrunk(found: Division, height: int) -> Division:
    """Take excess lines from the least important part, then from the next one."""
    for name in ("summary", "running", "queue"):
        beyond = found.used - height
        left = max(0, getattr(found, name) - max(0, beyond))
        found = found._replace(**{name: left if left > HEADER_LINES or name == "summary" else 0})
    return found._replace(why=min(found.why, height))


def _stepped(rows: int, step: int) -> int:
    """Return how many lines the rows get, in steps; an empty table has one line, which says that it is empty."""
    return max(1, -(-rows // step) * step)


_INDENT = 6
_NARROW = 100
"""Width below which the line TO START IT may be wrapped once. Sessions that must end together may always take two."""


class WhyBlock(NamedTuple):
    """The contents of the block: optionally the queueing, then the heads in this order, then what is worse than usual.

    `key` is whether the key c now copies the command of the first head.
    """

    top: Sequence[Line]
    heads: Sequence[Unblock]
    nothing: Line
    worse: Line
    key: bool = True


def why_block(
    reading: Reading,
    heads: Sequence[Unblock],
    compared: Sequence[Comparison],
    top: Sequence[Line],
    group: object = None,
) -> WhyBlock:
    """Return the block WHY of a reading; the head of `group` (container and name) comes first."""
    places = in_order(reading)
    ordered = sorted(heads, key=lambda each: places[each.head.con_id, each.head.group])
    ordered.sort(key=lambda each: (each.head.con_id, each.head.group) != group)
    unknown = (" WHY  ", "title"), ("Statements are queued; why the first one waits is not known.", "warn")
    nothing: Line = () if ordered else unknown if reading.queue else no_queue(reading)
    return WhyBlock(top, ordered, nothing, _worse(compared))


def why_lines(found: WhyBlock, width: int, most: int | None = None, room: int | None = None) -> list[Line]:
    """Return the block, wrapped to `width`: the first head in full, the others while they fit `most` lines.

    Heads without room are named. `most` None means no limit. If the first head needs more than `room`, its arithmetic
    is omitted: the table of the queue is more useful.
    """
    lines = [*found.top, *(wrap(found.nothing, width, 3) if found.nothing else [])]
    blocks = [_head(found.heads, index, width, key=found.key and not index) for index in range(len(found.heads))]
    if blocks and room is not None and len(blocks[0]) > room:
        blocks[0] = _head(found.heads, 0, width, key=found.key, brief=True)
    if found.worse:
        blocks.append(wrap(found.worse, width, _INDENT))
    for index, block in enumerate(blocks):
        rest = len(found.heads) - index - 1
        if index and most is not None and len(lines) + len(block) + (rest > 0) > most:
            return [*lines, *_heads_not_shown(found.heads[index:], width)]
        lines += block
    return lines


def _head(heads: Sequence[Unblock], index: int, width: int, *, key: bool, brief: bool = False) -> list[Line]:
    """Return the lines of a head. If the same statements end the wait of a head before it, its line only says so."""
    found = heads[index]
    sentence = f"{group_title(found.head)}: {found.head.why}" if brief else head_sentence(found.head)
    why: Line = ((" WHY  ", "title"), (sentence, "warn"))
    same = next((each for each in heads[:index] if found.candidates and _answers_of(each) == _answers_of(found)), None)
    if same is not None:
        as_for: Line = (("   TO START IT  ", "title"), (f"as for {group_title(same.head)}", ""))
        return wrap((*why, *as_for, *(perhaps_others(found) if found.answers else ())), width, _INDENT)
    room = width if width >= _NARROW and found.needed <= 1 else 2 * (width - _INDENT)
    return [*wrap(why, width, _INDENT), *wrap(to_start_line(found, room, key=key), width, _INDENT)]


def _answers_of(found: Unblock) -> object:
    """Return what the line of a head contains: its answers, else the sentence on why there are none."""
    return found.answers or found.sentence


def _heads_not_shown(heads: Sequence[Unblock], width: int) -> list[Line]:
    if not heads:
        return []
    names = ", ".join(group_title(each.head) for each in heads)
    waits, rows = ("s wait", "a row of one of them") if len(heads) > 1 else (" waits", "one of its rows")
    text = f"  … {len(heads)} more queue{waits}: {names}"
    whole = f"{text} (go to {rows} to see why)"
    return wrap(((whole if cells(whole) <= width else text, "dim"),), width, _INDENT)[:1]


def _worse(compared: Sequence[Comparison]) -> Line:
    parts = []
    for each in compared:
        if not each.worse:
            continue
        now = "in the last minute" if each.now.seconds else "now"
        usual, since = each.plan, "since the plan was activated"
        if each.hour is not None and each.hour.mean_queue is not None:
            usual, since = each.hour, "in the last hour"
        usually = f"{number(usual.mean_queue if usual else None)} on average {since}"
        parts.append(f"{each.name} {number(each.now.mean_queue)} queued {now}, {usually}")
    return ((" WORSE THAN USUAL  ", "title"), ("; ".join(parts), "warn")) if parts else ()


_WIDE = 158
"""Width from which a table beside the chart shows queues that are worse than usual: a tab in 160 columns."""


class ParallelPanel(Panel):
    """The main panel of presman: its lines are divided by need, and `g` shows the statements over time instead."""

    _moment: Moment | None = None
    _unblocks: tuple[Unblock, ...] = ()
    _compared: tuple[Comparison, ...] = ()
    _first: QueuedStatement | None = None
    """The head that WHY names first."""

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
        """Do nothing: this panel divides its lines itself."""

    def on_resize(self) -> None:
        """Divide the lines again."""
        self._divide_again()

    def _divide_again(self) -> None:
        """Divide the lines, and fill the parts that did not have room before."""
        before = self._pools.display, self._over_time.display
        self._divide()
        if self._moment is not None and before != (self._pools.display, self._over_time.display):
            self._fill_below(self._moment)

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        self._moment = moment
        self._unblocks = unblock(moment.reading)
        self._compared = compared(moment)
        for table in (QUEUE, RUNNING):
            self.fill(table, moment)
        self._divide()
        self._fill_below(moment)

    def _fill_below(self, moment: Moment) -> None:
        """Fill the parts below the tables that have room."""
        if self._pools.display:
            self.fill(PARALLEL_GROUPS, moment)
            self.fill(SERVERS, moment)
        if self._over_time.display:
            self.fill(USUAL, moment)
            self.fill(LEDGER, moment)
            self._gantt.show(gantt_data(moment))

    def on_descendant_focus(self) -> None:
        """Show what the key c copies from here."""
        self._divide()

    def on_grid_moved(self, event: Grid.Moved) -> None:
        """Show first why the queue under the cursor waits."""
        if event.grid is self._queued:
            self._divide()

    def _divide(self) -> None:
        """Give each part its lines, and write the texts whose length depends on the room."""
        if (moment := self._moment) is None:
            return
        around = self.parent.size.height if isinstance(self.parent, Widget) else 0  # of the tab shown before
        height = self.size.height or around or self.app.size.height - 4
        width = self.size.width or self.app.size.width - 2
        lines = self._why_lines(moment, width, height)
        reading, held = moment.reading, summary(moment.reading, width)
        rows = len(queue_rows(moment)), len(reading.running), len(moment.groups())
        more = [_more(grid, height) for grid in (self._queued, self._holders)]
        parts = divide(height, Contents(len(lines), *rows, len(held), *more))
        if self.has_class("-gantt"):
            parts = Division(parts.why, 0, 0, 0, 0, height - parts.why - parts.gap, parts.gap)
        self._why.show_lines(lines)
        cut = 0 < parts.summary < len(held)
        self._summary.show_lines(summary(reading, width, parts.summary) if cut else held)
        self._apply(parts)

    def _why_lines(self, moment: Moment, width: int, height: int) -> list[Line]:
        """Return why the queues wait, the queue of the row under the cursor first."""
        about = queue_line(moment.reading, moment.watch)
        top = wrap(about, width, _INDENT) if height >= TALL else [in_one_line(about, width)]
        if height < SHORT and moment.reading.queue:  # the problem has priority over servers in use
            top = []
        elif goals := goal_line(moment.reading):
            top += wrap(goals, width, _INDENT)
        row = self._queued.row
        under = (row.con_id, row.group) if row is not None else None
        compared = () if height >= TALL and width >= _WIDE else self._compared  # there a table shows it
        found = why_block(moment.reading, self._unblocks, compared, top, under)
        old = moment.choices.behind or moment.choices.paused is not None or moment.choices.stopped
        found = found._replace(key=self._is_about_queue() and not old)
        self._first = found.heads[0].head.statement if found.heads else None
        return why_lines(found, width, most_for_why(height), room_for_why(height))

    def _apply(self, parts: Division) -> None:
        """Give each part its lines."""
        self.set_class(bool(parts.gap), "-apart")
        widgets = self._why, self._queued, self._holders, self._pools, self._summary, self._over_time
        for widget, lines in zip(widgets, parts[:-1], strict=True):
            give_lines(widget, lines)

    def action_gantt(self) -> None:
        """Show the statements over time in place of the tables, or the tables again."""
        self.toggle_class("-gantt")
        self._divide_again()
        if not self.has_class("-gantt"):
            self._queued.focus()  # not the widget that was beside the chart

    @property
    def why_no_rows(self) -> str:
        """Why the tables are not shown, "" if they are."""
        return "The chart has no rows: g goes back to the tables." if self.has_class("-gantt") else ""

    def _is_about_queue(self) -> bool:
        """Return whether `c` is about the queue's wait: always with the chart, else if no other table has focus."""
        others = (grid for grid in self._grids.values() if grid is not self._queued)
        return bool(self.why_no_rows) or not any(grid.has_focus for grid in others)

    def subject(self, grid: Grid | None) -> Any:
        """Return the statement that `c` applies to: that of the focused table, else the first of the queue.

        With the chart it is the head that WHY names first: no row is on screen.
        """
        if self.why_no_rows:  # neither a table beside the chart nor a hidden cursor chooses the statement
            return self._first
        row = self._queued.row if grid is None or grid.row is None else grid.row
        if row is None and self._moment is not None and self._moment.reading.queue:
            return queue_rows(self._moment)[0]
        return row


def _more(grid: Grid, height: int) -> int:
    """Return how many lines beyond its rows a table needs to cut no text, 0 if it has no room for them."""
    wanted = wanted_by(grid, 0, height, height)
    return wanted.whole - wanted.rows


def gantt_data(moment: Moment) -> GanttData:
    """Return the statements over the window the user chose."""
    reading, seconds = moment.reading, moment.choices.window * 60.0
    newest = window_end(moment.latest, seconds)
    end = newest
    if reading.at < newest - timedelta(seconds=seconds):
        end = window_end(reading.at + timedelta(seconds=seconds / 2), seconds)
    start = end - timedelta(seconds=seconds)
    step = seconds / STRETCHES
    whole = (0, "")
    found = moment.series.buckets(("in_use", CLUSTER, *whole), start.timestamp(), step, STRETCHES)
    spans = moment.watch.runs.within(start, end, None if moment.choices.paused is None else reading.at)
    in_use = without_gaps({whole: found}, max(1, round(BRIDGE / step)))[whole]
    most = moment.series.most(("in_use", CLUSTER, *whole), start.timestamp(), end.timestamp())
    cursor = reading.at if moment.choices.behind else None
    marks = plan_changes(moment, start.timestamp(), step, STRETCHES)
    return GanttData(
        spans=spans,
        end=end,
        seconds=seconds,
        in_use=in_use,
        target=reading.header.servers.target,
        cursor=cursor,
        now=moment.latest,
        marks=marks,
        most=most,
        colours=moment.colours,
    )
