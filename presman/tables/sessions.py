"""The table of user sessions."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.reading import SessionReading
from presman.columns import Column, State, Table
from presman.formats import ABSENT, clock, compact, count, duration, number

Session = Column[SessionReading]

_INFO = "V$RSRC_SESSION_INFO"
_DELTA = "change since the last poll / seconds; - until two polls saw the session."


def identity(row: SessionReading) -> Hashable:
    """Return what makes a session the same at the next poll: SERIAL# tells the users of a SID apart."""
    return row.inst_id, row.sid, row.serial


def _event(row: SessionReading) -> str:
    return row.event if row.event else ("on CPU" if row.status == "ACTIVE" else ABSENT)


def _state(row: SessionReading) -> State:
    if row.wait_class == "Scheduler":
        return "warn"
    return "dim" if row.status == "INACTIVE" else ""


def _switched(row: SessionReading) -> str:
    """Return the group with the one the session came from; unlike its mapping, that is one of the plan's."""
    origin = row.original_group or row.mapped_group
    return f"{row.group} ◂ {origin}" if origin and origin != row.group else row.group


def why_there(row: SessionReading) -> str:
    """Return how a session came to its group: what switched it, the rule that mapped it, what the plan lacks."""
    told = []
    origin = row.original_group or row.mapped_group
    if origin and origin != row.group:
        told.append(f"switched to {row.group}")
    if row.last_action:
        reason = f" ({row.last_action_reason})" if row.last_action_reason else ""
        at = f" at {clock(row.last_action_time)}" if row.last_action_time else ""
        told.append(f"last action: {row.last_action}{reason}{at}")
    if row.mapped_group:
        by = f" by {row.mapping_attribute}" if row.mapping_attribute else ""
        told.append(f"mapped to {row.mapped_group}{by}")
    if row.original_group and row.mapped_group and row.original_group != row.mapped_group:
        told.append(f"which the plan does not name, so {row.original_group}")
    return "; ".join(told)


# fmt: off
SESSIONS: Table[SessionReading] = Table(
    "sessions", "Sessions",
    (
        Session("sid", "Session", 13, lambda row: f"{row.inst_id}:{row.sid},{row.serial}",
                "inst:sid,serial: INST_ID, SID and SERIAL# (V$SESSION).",
                sort=lambda row: (row.inst_id, row.sid), most=18),
        Session("user", "User", 10, lambda row: row.user, "V$SESSION.USERNAME.", sort=lambda row: row.user, most=20),
        Session("group", "Group", 12, _switched,
                f"Consumer group now ({_INFO}). ◂ tells the group the mapping rules put it in, where that is "
                "another one: it was switched.", sort=lambda row: row.group, most=34),
        Session("status", "Status", 8, lambda row: row.status, "V$SESSION.STATUS. An instant.",
                sort=lambda row: row.status, state=lambda row: "dim" if row.status == "INACTIVE" else ""),
        Session("used", "use CPU", 7, lambda row: number(row.used, 2),
                f"CPUs used: {_INFO}.CONSUMED_CPU_TIME, {_DELTA}", sort=lambda row: row.used, align="right"),
        Session("waiting", "wait CPU", 8, lambda row: number(row.waiting, 2),
                f"CPUs waited for (resmgr:cpu quantum): {_INFO}.CPU_WAIT_TIME, {_DELTA}",
                sort=lambda row: row.waiting, align="right",
                state=lambda row: "warn" if row.waiting and row.waiting >= 0.25 else ""),
        Session("event", "Waits for", 12, _event,
                "V$SESSION.EVENT while it waits, else `on CPU`. An instant. Scheduler waits are Resource Manager's.",
                sort=_event, state=_state, flexible=True),
        Session("sql_id", "SQL_ID", 13, lambda row: row.sql_id or ABSENT, "V$SESSION.SQL_ID.",
                sort=lambda row: row.sql_id, narrow=False),
        Session("px", "PX", 6, lambda row: row.px_role,
                "QC for a query coordinator, else its part as a parallel server (V$PX_SESSION). An instant.",
                sort=lambda row: row.px_role, narrow=False),
        Session("io_mb", "I/O MB/s", 8, lambda row: compact(row.io_mb),
                f"MB read and written: *_MEGABYTES of {_INFO}, {_DELTA}", sort=lambda row: row.io_mb,
                align="right", narrow=False),
        Session("state", "RM state", 15, lambda row: row.state,
                f"What Resource Manager says of the session ({_INFO}.STATE). An instant.",
                sort=lambda row: row.state, narrow=False),
        Session("why", "why in its group", 16, lambda row: why_there(row) or ABSENT,
                f"{_INFO}: MAPPED_CONSUMER_GROUP and MAPPING_ATTRIBUTE, ORIG_CONSUMER_GROUP_ID, and since 12.1 "
                "LAST_ACTION, LAST_ACTION_REASON and LAST_ACTION_TIME, as the view words them.",
                sort=why_there, narrow=False, most=60),
        Session("waited", "for", 8, lambda row: duration(row.waited),
                "Age of the present wait (V$SESSION.WAIT_TIME_MICRO), h:mm:ss. An instant.",
                sort=lambda row: row.waited, align="right", narrow=False),
        Session("servers", "Servers", 7, lambda row: count(row.px_servers or None),
                "Parallel servers the coordinator holds (V$PX_SESSION). An instant.",
                sort=lambda row: row.px_servers, align="right", narrow=False),
        Session("dop", "DOP", 4, lambda row: count(row.dop), f"{_INFO}.DOP.", sort=lambda row: row.dop,
                align="right", narrow=False),
        Session("last_call", "last call", 9, lambda row: duration(row.last_call),
                "Since the session became ACTIVE or INACTIVE (V$SESSION.LAST_CALL_ET), h:mm:ss. An instant.",
                sort=lambda row: row.last_call, align="right", narrow=False),
        Session("program", "Program", 18, lambda row: row.module or row.program,
                "V$SESSION.MODULE, or PROGRAM where it is empty.", sort=lambda row: row.module or row.program,
                narrow=False),
        Session("machine", "Machine", 14, lambda row: row.machine, "V$SESSION.MACHINE.",
                sort=lambda row: row.machine, narrow=False),
        Session("service", "Service", 12, lambda row: row.service, "V$SESSION.SERVICE_NAME.",
                sort=lambda row: row.service, narrow=False),
    ),
    identity, "No user sessions but presman's own.", order="used", descending=True,
)
