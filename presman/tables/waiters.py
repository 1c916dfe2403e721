"""Tables that explain CPU waits: the statements behind them, and how well each instance keeps its plan."""

from __future__ import annotations

from presman.analysis.verdicts import Conformance
from presman.analysis.waiters import CpuWaiter
from presman.columns import Column, State, Table
from presman.formats import ABSENT, count, duration, number, percent
from presman.text import one_line

Waiter = Column[CpuWaiter]
Kept = Column[Conformance]


def _state(row: CpuWaiter) -> State:
    return "warn" if row.held else ""


def _score(row: Conformance) -> State:
    if row.score is None:
        return "dim"
    return "good" if row.score >= 99.95 else "bad"


# fmt: off
CPU_WAITERS: Table[CpuWaiter] = Table(
    "cpu_waiters", "Statements behind resmgr:cpu quantum",
    (
        Waiter("con", "Con", 4, lambda row: str(row.con_id), "CON_ID.", sort=lambda row: row.con_id, align="right"),
        Waiter("group", "Group", 12, lambda row: row.group, "Consumer group of its sessions.",
               sort=lambda row: row.group, most=22),
        Waiter("sql_id", "SQL_ID", 13, lambda row: row.sql_id or ABSENT, "V$SESSION.SQL_ID.",
               sort=lambda row: row.sql_id),
        Waiter("held", "held", 5, lambda row: count(row.held),
               "Sessions held off CPU at this moment: V$SESSION.EVENT resmgr:cpu quantum, or WAITING FOR CPU in "
               "V$RSRC_SESSION_INFO.STATE.", sort=lambda row: row.held, align="right", state=_state),
        Waiter("sessions", "of", 4, lambda row: count(row.sessions), "Sessions that run it now.",
               sort=lambda row: row.sessions, align="right"),
        Waiter("used", "use CPU", 7, lambda row: number(row.used), "CPUs they used since the last poll.",
               sort=lambda row: row.used, align="right"),
        Waiter("waiting", "wait CPU", 8, lambda row: number(row.waiting), "CPUs they waited for since the last poll.",
               sort=lambda row: row.waiting, align="right", state=_state),
        Waiter("longest", "longest", 8, lambda row: duration(row.longest), "Age of the oldest of these waits, h:mm:ss.",
               sort=lambda row: row.longest, align="right", narrow=False),
        Waiter("users", "User", 10, lambda row: ", ".join(row.users), "V$SESSION.USERNAME.",
               sort=lambda row: row.users, narrow=False, most=20),
        Waiter("text", "SQL text", 20, lambda row: one_line(row.sql_text, 200) or ABSENT,
               "V$SQL.SQL_TEXT, where it was read.", flexible=True),
    ),
    lambda row: (row.con_id, row.group, row.sql_id), "No session is held off CPU.", order="waiting", descending=True,
)
CONFORMANCE: Table[Conformance] = Table(
    "conformance", "Is the plan kept?",
    (
        Kept("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", sort=lambda row: row.inst_id, align="right"),
        Kept("score", "kept %", 6, lambda row: percent(row.score),
             "100 x (1 - missing / due): 100 while no group is starved, however many are throttled.",
             sort=lambda row: row.score, align="right", state=_score),
        Kept("due", "due", 6, lambda row: number(row.due),
             "CPUs: over all groups that want some, the lesser of what each wants and is entitled to now.",
             sort=lambda row: row.due, align="right"),
        Kept("missing", "missing", 7, lambda row: number(row.missing), "CPUs that starved groups get less than that.",
             sort=lambda row: row.missing, align="right"),
        Kept("used", "use CPU", 7, lambda row: number(row.used), "CPUs all groups use.", sort=lambda row: row.used,
             align="right"),
        Kept("capacity", "of", 5, lambda row: number(row.capacity, 0), "CPUs Resource Manager hands out.",
             sort=lambda row: row.capacity, align="right"),
        Kept("busy", "host %", 6, lambda row: percent(None if row.host_busy is None else 100 * row.host_busy),
             "Percent of the host's CPU time that was busy (V$OSSTAT).", sort=lambda row: row.host_busy, align="right"),
        Kept("sentence", "in words", 30, lambda row: row.sentence or ABSENT, "The same as a sentence.", flexible=True),
    ),
    lambda row: row.inst_id, "No instance is visible.",
)
