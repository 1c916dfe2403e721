"""Following of one statement across sorting and refreshes, from the queue until it has ended."""

from collections.abc import Iterable

from presman.analysis.collapsed_rows import CollapsedStatements, kind_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import SAME_WAIT, QueuedStatement, RunningStatement
from presman.base.formats import counted, duration
from presman.figures.statement_figures import QUEUE, RUNNING, statement_identity
from presman.tui.widgets.grid import Grid


def followable(row: object) -> QueuedStatement | RunningStatement | None:
    """Return the statement of a row, the first one of a folded row."""
    if isinstance(row, CollapsedStatements):
        return row.same[0]
    return row if isinstance(row, QueuedStatement | RunningStatement) else None


def _timed_out(row: QueuedStatement, before: Reading, now: Reading) -> bool:
    """Whether a statement that has left the queue since reached its timeout: it was due, and its group counts more."""
    due_by = (now.at - before.at).total_seconds() + SAME_WAIT
    if row.timeout_action != "CANCEL" or row.timeout_left is None or row.timeout_left > due_by:
        return False
    groups = (each.group_of((row.con_id, row.group)) for each in (before, now))
    old, new = (None if each is None else each.totals.timeouts for each in groups)
    return old is not None and new is not None and new > old


class FollowedStatement:
    """A statement that is followed. `row` is its last row, in `reading`; None once it has ended."""

    def __init__(self, row: QueuedStatement | RunningStatement, reading: Reading | None = None) -> None:
        self._execution = row.executing()
        self._reading = reading
        self.row: QueuedStatement | RunningStatement | None = row
        self.name = f"{row.sql_id or 'the statement'} of {row.group} ({row.inst_id}:{row.sid})"

    def take(self, reading: Reading) -> str:
        """Take the next reading; return a notice if the statement has started or ended.

        It has not while the view that would show it returns nothing, or lists only a part of the queue.
        """
        rows: Iterable[QueuedStatement | RunningStatement] = (*reading.queue, *reading.running)
        before, now = self.row, next((row for row in rows if row.executing() == self._execution), None)
        is_queue_cut = isinstance(before, QueuedStatement) and not reading.lists_queue()
        if now is None and (is_queue_cut or reading.why_unavailable("V$PX_SESSION")):
            return ""
        earlier, self._reading, self.row = self._reading, reading, now
        if isinstance(before, QueuedStatement) and isinstance(now, RunningStatement):
            waited = f" after {duration(before.waited)} in the queue" if before.waited is not None else ""
            return f"{self.name} has started{waited}, with {counted(now.servers, 'server')}."
        if isinstance(before, QueuedStatement) and now is None:
            reached = earlier is not None and _timed_out(before, earlier, reading)
            return f"{self.name} {'timed out in the queue (ORA-07454)' if reached else 'has left the queue'}."
        return f"{self.name} is over." if before is not None and now is None else ""

    def select(self, grids: Iterable[Grid]) -> Grid | None:
        """Put the cursor on the statement in its table, also on a folded row; return that table."""
        table = QUEUE if isinstance(self.row, QueuedStatement) else RUNNING
        grid = next((each for each in grids if each.table is table), None)
        if grid is None or self.row is None:
            return None
        # A queued statement may be folded: then its row has the identity of its kind.
        shown = {statement_identity(each) for each in grid.rows.shown}
        folded = isinstance(self.row, QueuedStatement) and self._execution not in shown
        grid.select(kind_of(self.row) if folded and isinstance(self.row, QueuedStatement) else self._execution)
        return grid
