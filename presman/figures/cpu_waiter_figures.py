"""Figures that explain CPU waits: the statements behind them."""

from __future__ import annotations

from presman.analysis.groups.cpu_waiters import CpuWaiter
from presman.base.formats import ABSENT
from presman.base.text import one_line
from presman.figures.figure import COUNT, CPUS, NAME, NUMBER, SECONDS, TEXT, Figure, State, Table

Waiter = Figure[CpuWaiter]


def _state(row: CpuWaiter) -> State:
    return "warn" if row.held else ""


# fmt: off
CPU_WAITERS: Table[CpuWaiter] = Table(
    "cpu_waiters", "Statements behind resmgr:cpu quantum",
    (
        Waiter("con_id", "Con", NUMBER, "CON_ID.", "con_id"),
        Waiter("consumer_group", "Group", TEXT, "Consumer group of its sessions.", "group", width=12, most=22),
        Waiter("sql_id", "SQL_ID", NAME, "V$SESSION.SQL_ID.", "sql_id", width=13),
        Waiter("held_sessions", "held", COUNT,
               "Sessions throttled at this moment: V$SESSION.EVENT resmgr:cpu quantum while STATE is WAITING; where "
               "STATE was not read, V$RSRC_SESSION_INFO.STATE WAITING FOR CPU.", "held", width=5, state=_state),
        Waiter("sessions", "of", COUNT, "Sessions that run it now.", "sessions"),
        Waiter("used_cpus", "use CPU", CPUS, "CPUs they used since the last poll.", "used"),
        Waiter("waited_cpus", "wait CPU", CPUS, "CPUs they waited for since the last poll.", "waiting", state=_state),
        Waiter("longest_s", "longest", SECONDS, "Age of the oldest of these waits.", "longest", narrow=False),
        Waiter("users", "User", TEXT, "V$SESSION.USERNAME.", lambda row: ", ".join(row.users), width=10, narrow=False,
               most=20),
        Waiter("sql_text", "SQL text", NAME, "V$SQL.SQL_FULLTEXT, where it was read; on one line.", "sql_text",
               text=lambda row: one_line(row.sql_text, 200) or row.no_text or ABSENT, sortable=False, width=20,
               flexible=True),
    ),
    lambda row: (row.con_id, row.group, row.sql_id), "No session is throttled.", order="waited_cpus",
    descending=True,
    json="assessment.cpu_waiters",
)
# fmt: on
