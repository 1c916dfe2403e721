"""End of a parallel statement by itself: with the operation that is its last, or as Oracle ends its idle session.

What V$SESSION_LONGOPS tells is one operation, and a statement does several: it is about to end with the operation that
runs only where its plan has nothing to do after that. Idle sessions Oracle ends itself, by MAX_IDLE_BLOCKER_TIME and
MAX_IDLE_TIME.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.session_readings import Operation
from presman.rows.cursor_rows import PxPlanLine
from presman.rows.session_rows import Session, SessionLongops

_WORK = (
    "TABLE ACCESS",
    "INDEX",
    "MAT_VIEW",
    "HASH",
    "MERGE",
    "NESTED LOOPS",
    "SORT",
    "BUFFER",
    "WINDOW",
    "LOAD",
    "UNION",
)
"""Operations that take their time, by how they begin."""

_NAMED = {"Table Scan": "TABLE ACCESS", "Index Fast Full Scan": "INDEX", "Hash Join": "HASH JOIN"}
"""V$SESSION_LONGOPS.OPNAME, and the plan's operation. A `Rowid Range Scan` is one of many parts of a scan."""

_ROUGHLY = 2.0
"""Seconds by which an end may come later than told: TIME_REMAINING is an estimate in whole seconds."""


class Course(NamedTuple):
    """How an operation goes on since the poll before: whether its end `comes_nearer`, or is `overdue`."""

    comes_nearer: bool
    overdue: bool


def course(facts: Facts, work: Operation, session: tuple[int, int], sql_id: str) -> Course:
    """Compare the rest of an operation with its rest at the poll before.

    An end that stays as far away as it was, or should have come by now, is not promised again. `session` is the
    coordinator's instance and SID.
    """
    rows = facts.deltas.previous.rows(SessionLongops) if facts.deltas.previous is not None else ()
    of_statement = (row for row in rows if (row.inst_id, row.qcsid or row.sid, row.sql_id) == (*session, sql_id))
    before = [row for row in of_statement if (row.opname, row.target) == (work.name, work.target)]
    known = [row.time_remaining for row in before if row.time_remaining is not None]
    seconds = facts.deltas.interval(SessionLongops)
    if not known or work.remaining is None or seconds is None:
        return Course(comes_nearer=True, overdue=False)
    # Polls may be nearer to each other than the estimate is exact: then it may stand still while the work goes on.
    goes_on = work.done > sum(row.sofar for row in before)
    is_as_expected = goes_on and work.remaining <= max(known) - seconds + _ROUGHLY
    return Course(work.remaining < max(known) or is_as_expected, max(known) <= max(0.0, seconds - _ROUGHLY))


def is_last(operation: str, lines: Iterable[PxPlanLine]) -> bool:
    """Tell whether a query ends with the operation that runs: it is the only one, or the topmost, that takes its time.

    `lines` are those of its plan, none where it was not read: then that is not known. DML and DDL go on after the
    last operation of their plan.
    """
    plan = sorted(lines, key=lambda line: line.id)
    if not plan or plan[0].operation != "SELECT STATEMENT":
        return False
    work = [line for line in plan if line.operation.startswith(_WORK) and line.options != "AGGREGATE"]
    named = _NAMED.get(operation, "")
    if not work or not named or not work[0].operation.startswith(named):
        return False
    alone = len(work) == 1 or named == "HASH JOIN"
    return alone and sum(line.operation.startswith(named) for line in work) == 1


BLOCKER_TIME = "MAX_IDLE_BLOCKER_TIME"
"""Minutes (19c and later, 0: none) that a session may be idle while it keeps what others wait for: a lock, or parallel
servers while statements are queued. It has no effect on sessions of SYS (Reference)."""

IDLE_TIME = "MAX_IDLE_TIME"
"""Minutes (12.2 and later, 0: none) that any session may be idle."""

LATE = 60.0
"""Seconds behind such a limit after which a session that is still there is not taken to be ended by it."""


def minutes(facts: Facts, inst_id: int, con_id: int, name: str) -> int | None:
    """Return the minutes of one of the parameters for a container's sessions; 0 for none, None where not known."""
    local = facts.system.parameters.setting(inst_id, con_id, name.lower())
    return facts.system.parameters.number(inst_id, name.lower()) if local is None else local


def ends_in(facts: Facts, session: Session, idle: float) -> tuple[float | None, str]:
    """Return in how many seconds Oracle ends an idle holder of servers, and by which parameter; None if it does not."""
    if session.username == "SYS" or session.last_call_et is None:
        return None, ""
    found = []
    if facts.sessions.queued:
        found.append((minutes(facts, session.inst_id, session.con_id, BLOCKER_TIME), BLOCKER_TIME))
    found.append((minutes(facts, session.inst_id, session.con_id, IDLE_TIME), IDLE_TIME))
    times = [(max(0.0, 60.0 * limit - idle), name) for limit, name in found if limit and idle <= 60.0 * limit + LATE]
    return min(times, default=(None, ""))
