"""Figures of user sessions, and of the statements behind waits for CPU."""

from collections.abc import Hashable

from presman.analysis.collapsed_rows import ServerBelow, collapsed_servers
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.session_list import CpuWaiter
from presman.base.formats import ABSENT, clock, count, number
from presman.base.text import one_line
from presman.figures.figure import COUNT, CPUS, MEGABYTES, NAME, NUMBER, SECONDS, TEXT

# Units on one line, by themselves: one more unit is one more word, not a line for each.
# isort: split
from presman.figures.figure import Figure, State, Table, Unit
from presman.rows.session_state import comma_serial

Session = Figure[SessionReading]

_INFO = "V$RSRC_SESSION_INFO"
_CPUS = Unit("CPUs", lambda value: number(value, 2), 7)
_FEW = Unit("count", lambda value: count(value or None), 4)
"""A count that is 0, and then shown as missing, for most sessions."""
_DELTA = "change since the last poll / seconds; - until the session was in two polls."


def identity(row: SessionReading) -> Hashable:
    """Return the identity of a session across polls: SERIAL# distinguishes sessions that reuse a SID."""
    return row.inst_id, row.sid, row.serial


def stands_for(row: SessionReading) -> int:
    """Return how many sessions a row represents."""
    return 0 if isinstance(row, ServerBelow) else 1 + collapsed_servers(row)


def _coordinator(row: SessionReading) -> Hashable:
    return row.coordinator if isinstance(row, ServerBelow) else None


def _session(row: SessionReading) -> str:
    servers = collapsed_servers(row)
    below = "└ " if isinstance(row, ServerBelow) else ""
    return f"{below}{row.inst_id}:{row.sid}{comma_serial(row.serial)}" + (f"+{servers}" if servers else "")


def _state(row: SessionReading) -> State:
    if row.wait_class == "Scheduler":
        return "warn"
    return "dim" if row.status == "INACTIVE" else ""


def _switched(row: SessionReading) -> str:
    """Return the group with the group before the switch, which, unlike the mapped group, is always in the plan."""
    origin = row.original_group or row.mapped_group
    return f"{row.group} ◂ {origin}" if origin and origin != row.group else row.group


def why_in_group(row: SessionReading) -> str:
    """Return why a session is in its group: a switch, the mapping rule, or a mapped group that the plan lacks."""
    reasons = []
    origin = row.original_group or row.mapped_group
    if origin and origin != row.group:
        reasons.append(f"switched to {row.group}")
    if row.last_action:
        reason = f" ({row.last_action_reason})" if row.last_action_reason else ""
        at = f" at {clock(row.last_action_time)}" if row.last_action_time else ""
        reasons.append(f"last action: {row.last_action}{reason}{at}")
    if row.mapped_group:
        by = f" by {row.mapping_attribute}" if row.mapping_attribute else ""
        reasons.append(f"mapped to {row.mapped_group}{by}")
    if row.original_group and row.mapped_group and row.original_group != row.mapped_group:
        reasons.append(f"which the plan does not name, so {row.original_group}")
    return "; ".join(reasons)


# fmt: off
SESSIONS: Table[SessionReading] = Table(
    "sessions", "Sessions",
    (
        Session("session", "Session", TEXT,
                "inst:sid,serial: INST_ID, SID and SERIAL# (V$SESSION). `+32`: it coordinates 32 parallel servers; "
                "CPU and I/O of its row are the sums of all 33. u unfolds the servers: └, below it.",
                _session, order=lambda row: (row.inst_id, row.sid), width=13, most=22),
        Session("user", "User", TEXT, "V$SESSION.USERNAME.", "user", width=10, most=20),
        Session("consumer_group", "Group", TEXT, f"Consumer group now ({_INFO}). ◂ shows the group of the mapping "
                "rules where that differs: the session was switched.", "group", text=_switched, width=12, most=34),
        Session("status", "Status", TEXT, "V$SESSION.STATUS. At the poll.", "status", width=8,
                state=lambda row: "dim" if row.status == "INACTIVE" else ""),
        Session("used_cpus", "use CPU", _CPUS, f"CPUs used: {_INFO}.CONSUMED_CPU_TIME, {_DELTA}", "used"),
        Session("waited_cpus", "wait CPU", _CPUS, f"CPUs waited for (resmgr:cpu quantum): {_INFO}.CPU_WAIT_TIME, "
                f"{_DELTA}", "waiting", state=lambda row: "warn" if row.waiting and row.waiting >= 0.25 else ""),
        Session("event", "Waits for", NAME, "V$SESSION.EVENT while STATE is WAITING, else `on CPU`. At the poll. "
                "Scheduler waits are Resource Manager's.", "event", width=12, state=_state, flexible=True),
        Session("blocked_by", "blocked by", NAME, "The session that blocks it, inst:sid: V$SESSION.BLOCKING_INSTANCE "
                "and BLOCKING_SESSION while STATE is WAITING. At the poll.", "blocker", width=10, narrow=False,
                state=lambda row: "warn" if row.blocker else ""),
        Session("sql_id", "SQL_ID", NAME, "V$SESSION.SQL_ID.", "sql_id", width=13, narrow=False),
        Session("px_role", "PX", TEXT, "QC for a query coordinator, else its role as a parallel server (V$PX_SESSION); "
                "GV$ for a monitor's query of a cluster. At the poll.", "px_role", width=6, narrow=False),
        Session("io_mb_per_s", "I/O MB/s", MEGABYTES, f"MB read and written: *_MEGABYTES of {_INFO}, {_DELTA}", "io_mb",
                narrow=False),
        Session("state", "RM state", TEXT, f"Resource Manager's state of the session ({_INFO}.STATE). At the poll.",
                "state", width=15, narrow=False),
        Session("why", "why in its group", NAME, f"{_INFO}: MAPPED_CONSUMER_GROUP and MAPPING_ATTRIBUTE, "
                "ORIG_CONSUMER_GROUP_ID, and since 12.1 LAST_ACTION, LAST_ACTION_REASON and LAST_ACTION_TIME, in the "
                "view's words.", why_in_group, narrow=False, most=60),
        Session("waited_s", "for", SECONDS, "Age of the current wait (V$SESSION.WAIT_TIME_MICRO). At the poll.",
                "waited", narrow=False),
        Session("px_servers", "Servers", _FEW, "Parallel servers the coordinator holds (V$PX_SESSION). At the poll.",
                "px_servers", narrow=False),
        Session("dop", "DOP", COUNT, f"{_INFO}.DOP.", "dop", narrow=False),
        Session("last_call_s", "last call", SECONDS, "Since the session became ACTIVE or INACTIVE "
                "(V$SESSION.LAST_CALL_ET). At the poll.", "last_call", narrow=False),
        Session("program", "Module", TEXT, "V$SESSION.MODULE, or PROGRAM where it is empty.",
                lambda row: row.module or row.program, width=18, narrow=False),
        Session("machine", "Machine", TEXT, "V$SESSION.MACHINE.", "machine", width=14, narrow=False),
        Session("service", "Service", TEXT, "V$SESSION.SERVICE_NAME.", "service", width=12, narrow=False),
        Session("action", "Action", NAME, "V$SESSION.ACTION, which applications set.", "action", width=12,
                narrow=False),
        Session("client_id", "Client id", NAME, "V$SESSION.CLIENT_IDENTIFIER, which applications set.", "client_id",
                width=12, narrow=False),
        Session("os_user", "OS user", NAME, "V$SESSION.OSUSER.", "os_user", width=10, narrow=False),
    ),
    identity, "No user sessions but presman's own.", order="used_cpus", descending=True,
    json="sessions", stands_for=stands_for, parent=_coordinator,
)


Waiter = Figure[CpuWaiter]


def _held_state(row: CpuWaiter) -> State:
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
               "STATE was not read, V$RSRC_SESSION_INFO.STATE WAITING FOR CPU.", "held", width=5, state=_held_state),
        Waiter("sessions", "of", COUNT, "Sessions that run it now.", "sessions"),
        Waiter("used_cpus", "use CPU", CPUS, "CPUs they used since the last poll.", "used"),
        Waiter("waited_cpus", "wait CPU", CPUS, "CPUs they waited for since the last poll.", "waiting",
               state=_held_state),
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
