"""The last operation of a plan: what V$SESSION_LONGOPS tells is one operation, and a statement does several.

A statement is about to end with the operation that runs only where its plan has nothing to do after that.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.detail_readings import Operation
from presman.rows.cursor_rows import PxPlanLine
from presman.rows.session_rows import SessionLongops

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


def course(facts: Facts, work: Operation, place: tuple[int, int], sql_id: str) -> Course:
    """Compare what is left of an operation with what was left at the poll before.

    An end that stays as far away as it was, or should have come by now, is not promised again. `place` is the
    coordinator's instance and SID.
    """
    rows = facts.deltas.previous.rows(SessionLongops) if facts.deltas.previous is not None else ()
    named = (row for row in rows if (row.inst_id, row.qcsid or row.sid, row.sql_id) == (*place, sql_id))
    left = [row.time_remaining for row in named if (row.opname, row.target) == (work.name, work.target)]
    known = [each for each in left if each is not None]
    seconds = facts.deltas.interval(SessionLongops)
    if not known or work.remaining is None or seconds is None:
        return Course(comes_nearer=True, overdue=False)
    return Course(work.remaining < max(known), max(known) <= max(0.0, seconds - _ROUGHLY))


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
