"""End of a parallel statement without intervention: when its last operation ends, or when Oracle ends its idle session.

V$SESSION_LONGOPS shows one operation, and a statement does several: it is about to end with the running operation only
if its plan has nothing to do after that. Once a statement has gone on, presman does not predict again that it ends with
its operation. Oracle ends idle sessions itself, by MAX_IDLE_BLOCKER_TIME and MAX_IDLE_TIME.
"""

from collections.abc import Iterable
from datetime import timedelta
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.session_readings import Operation
from presman.analysis.readings.statement_readings import Executing
from presman.rows.session_rows import Session, SessionLongops

_ROUGHLY = 2.0
"""Seconds by which an end may come later than estimated: TIME_REMAINING is an estimate in whole seconds."""


class Course(NamedTuple):
    """Progress of an operation since the previous poll: whether its end `comes_nearer`, or is `overdue`."""

    comes_nearer: bool
    overdue: bool


def course(facts: Facts, work: Operation, session: tuple[int, int], sql_id: str) -> Course:
    """Compare the time left of an operation with that at the previous poll.

    An end that stays as far away as it was, or should have come by now, is not predicted again. `session` is the
    coordinator's instance and SID.
    """
    of_statement = facts.earlier_operations.get((*session, sql_id), ())
    before = [row for row in of_statement if (row.opname, row.target) == (work.name, work.target)]
    known = [row.time_remaining for row in before if row.time_remaining is not None]
    seconds = facts.deltas.interval(SessionLongops)
    if not known or work.remaining is None or seconds is None:
        return Course(comes_nearer=True, overdue=False)
    # The polls may be closer together than the estimate is precise: it may stay the same while the work goes on.
    goes_on = work.done > sum(row.sofar for row in before)
    is_as_expected = goes_on and work.remaining <= max(known) - seconds + _ROUGHLY
    return Course(work.remaining < max(known) or is_as_expected, max(known) <= max(0.0, seconds - _ROUGHLY))


_LATE = timedelta(seconds=10)
"""Time by which an end may come later than first predicted: estimates change while an operation goes on. In the
simulator's scenarios ends that do come are up to 6 s late."""


def has_gone_on(facts: Facts, executing: Executing, unfinished: Iterable[Operation], *, by_plan: bool) -> bool:
    """Whether a statement has gone on after the end that earlier readings predicted.

    It was to end at an instant; unless that rested on its plan (`by_plan`), with an operation that may be done by now.
    """
    promised = facts.promised_ends.get(executing)
    if promised is None or by_plan > promised.by_plan:
        return False
    is_done = (promised.opname, promised.target) not in {(each.name, each.target) for each in unfinished}
    return (is_done and not by_plan) or facts.snapshot.at > promised.until + _LATE


BLOCKER_TIME = "MAX_IDLE_BLOCKER_TIME"
"""Minutes (19c and later, 0: no limit) that a session may be idle while it holds what others wait for: a lock, or
parallel servers while statements are queued. It has no effect on sessions of SYS (Reference)."""

IDLE_TIME = "MAX_IDLE_TIME"
"""Minutes (12.2 and later, 0: no limit) that any session may be idle."""

LATE = 60.0
"""Seconds after such a limit from which a session that still exists is taken not to be ended by it."""


def minutes(facts: Facts, inst_id: int, con_id: int, name: str) -> int | None:
    """Return the value of one of these parameters for a container's sessions; 0 for no limit, None if not known."""
    local = facts.system.parameters.setting(inst_id, con_id, name.lower())
    return facts.system.parameters.number(inst_id, name.lower()) if local is None else local


def ends_in(facts: Facts, session: Session, idle: float) -> tuple[float | None, str]:
    """Return the seconds until Oracle ends an idle holder of servers, and the parameter; None if it does not."""
    if session.username == "SYS" or session.last_call_et is None:
        return None, ""
    names = (BLOCKER_TIME, IDLE_TIME) if facts.sessions.queued else (IDLE_TIME,)
    found = ((minutes(facts, session.inst_id, session.con_id, name), name) for name in names)
    times = [(max(0.0, 60.0 * limit - idle), name) for limit, name in found if limit and idle <= 60.0 * limit + LATE]
    return min(times, default=(None, ""))
