"""Tables of parallel statements: the queue, and those that hold servers."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.reading import QueuedStatement, RunningStatement
from presman.columns import Bar, Column, State, Table
from presman.formats import ABSENT, count, duration
from presman.text import one_line

Queued = Column[QueuedStatement]
Running = Column[RunningStatement]

_SHOWN_SQL = 400


def statement_identity(row: QueuedStatement | RunningStatement) -> Hashable:
    """Return what makes a statement the same at the next poll: who runs which SQL where."""
    return row.inst_id, row.sid, row.serial, row.sql_id


def running_state(row: RunningStatement) -> str:
    """Return what a running statement is about, its trouble first."""
    if row.idle is not None:
        return f"○ idle holder {duration(row.idle)}"
    doing = one_line(row.event, 40) or "on CPU"
    if row.downgraded > 0:
        return f"▼ downgraded {row.downgraded:.0f} %, {doing}"
    return f"● {doing}"


def _running_color(row: RunningStatement) -> State:
    if row.idle is not None:
        return "bad"
    return "warn" if row.downgraded > 0 else ""


def _degree(row: RunningStatement) -> str:
    mark = " ▼" if row.downgraded > 0 else ""
    return f"{count(row.degree)}/{count(row.requested)}{mark}"


def at_timeout(row: QueuedStatement) -> str:
    """Return what happens to a queued statement at its timeout. Before 18 there is nothing but the error."""
    if row.timeout_action == "RUN":
        return "it starts at once, downgraded if there are too few servers (PQ_TIMEOUT_ACTION RUN)"
    return "it ends with ORA-07454"


def _timeout(row: QueuedStatement) -> str:
    if row.timeout_left is None:
        return ABSENT
    return f"{duration(row.timeout_left)} {'▶' if row.timeout_action == 'RUN' else '✕'}"


def _timeout_state(row: QueuedStatement) -> State:
    return "bad" if row.timeout_left is not None and row.timeout_left < 60 else ""


def _servers_bar(row: RunningStatement) -> Bar:
    return Bar(0.0, row.servers)


# fmt: off
_POSITION = Queued(
    "position", "#", 3, lambda row: str(row.position),
    "Place in the queue of its group, 1 is the head; groups take turns as the plan says. From V$SESSION: the longest "
    "waiting is first. An instant.",
    sort=lambda row: (row.position, row.group), align="right", state=lambda row: "warn" if row.position == 1 else "",
)
_Q_GROUP = Queued(
    "group", "Group", 12, lambda row: row.group,
    "Consumer group of the session (V$RSRC_SESSION_INFO, V$SESSION.RESOURCE_CONSUMER_GROUP).",
    sort=lambda row: row.group, most=22,
)
_Q_INST = Queued(
    "inst", "Inst", 4, lambda row: str(row.inst_id), "Instance of the query coordinator.",
    sort=lambda row: row.inst_id, align="right", narrow=False,
)
_WAITED = Queued(
    "waited", "Waited", 8, lambda row: duration(row.waited),
    "How long it has been queued (h:mm:ss): the age of the wait `resmgr:pq queued` in V$SESSION. An instant.",
    sort=lambda row: row.waited, align="right",
)
_TIMEOUT = Queued(
    "timeout", "Timeout in", 10, _timeout,
    "Time left to PARALLEL_QUEUE_TIMEOUT of its group's directive. Then: ✕ it ends with ORA-07454 (always before 18, "
    "later with PQ_TIMEOUT_ACTION CANCEL), ▶ it starts at once and may be downgraded (RUN). - without a timeout.",
    sort=lambda row: row.timeout_left, align="right", state=_timeout_state, narrow=False,
)
_Q_SQL_ID = Queued(
    "sql_id", "SQL_ID", 13, lambda row: row.sql_id or ABSENT, "V$SESSION.SQL_ID.", sort=lambda row: row.sql_id,
)
_Q_USER = Queued(
    "user", "User", 12, lambda row: row.user, "V$SESSION.USERNAME.", sort=lambda row: row.user, narrow=False,
)
_DOP = Queued(
    "dop", "DOP req/ch", 10, lambda row: f"{count(row.requested)}/{count(row.dop.degree)}",
    "Degree of parallelism asked for (V$RSRC_SESSION_INFO.DOP) and the one the optimizer chose "
    "(V$SQL_PLAN.OTHER_XML, `dop`): requested/chosen.",
    sort=lambda row: row.dop.degree if row.dop.degree is not None else row.requested, align="right",
)
_REASON = Queued(
    "reason", "DOP reason", 22, lambda row: row.dop.reason or ABSENT,
    "Why the optimizer chose that degree (V$SQL_PLAN.OTHER_XML, `dop_reason`), in Oracle's words.",
    sort=lambda row: row.dop.reason, narrow=False,
)
_WANTS = Queued(
    "servers", "Servers", 7, lambda row: str(row.wants or ABSENT),
    "Parallel servers it will take: DOP x server sets (2 with a producer and a consumer, else 1); a range where the "
    "plan does not tell.",
    sort=lambda row: row.wants.high if row.wants else None, align="right",
)
_Q_SESSION = Queued(
    "session", "QC inst:sid,serial", 18, lambda row: f"{row.inst_id}:{row.sid},{row.serial}",
    "Instance, SID and SERIAL# of the query coordinator (V$SESSION).",
    sort=lambda row: (row.inst_id, row.sid), narrow=False,
)
_Q_PROGRAM = Queued(
    "program", "Program", 18, lambda row: row.module or row.program,
    "V$SESSION.MODULE, or PROGRAM where it is empty.", sort=lambda row: row.module or row.program, narrow=False,
)
_Q_TEXT = Queued(
    "sql", "SQL", 12, lambda row: one_line(row.sql_text, _SHOWN_SQL) or ABSENT, "V$SQL.SQL_TEXT, on one line.",
    sort=lambda row: row.sql_text, flexible=True,
)

QUEUE: Table[QueuedStatement] = Table(
    "queue", "Queued",
    (_POSITION, _Q_GROUP, _Q_INST, _WAITED, _TIMEOUT, _Q_SQL_ID, _Q_USER, _DOP, _REASON, _WANTS, _Q_PROGRAM,
     _Q_SESSION, _Q_TEXT),
    statement_identity, "Nothing is queued.",
)

_R_SESSION = Running(
    "session", "QC inst:sid,serial", 18, lambda row: f"{row.inst_id}:{row.sid},{row.serial}",
    "Instance, SID and SERIAL# of the query coordinator (V$PX_SESSION, V$SESSION).",
    sort=lambda row: (row.inst_id, row.sid), narrow=False,
)
_R_SQL_ID = Running(
    "sql_id", "SQL_ID", 13, lambda row: row.sql_id or ABSENT,
    "V$SESSION.SQL_ID of the coordinator; its PREV_SQL_ID when the session is idle and still holds servers.",
    sort=lambda row: row.sql_id,
)
_R_GROUP = Running(
    "group", "Group", 12, lambda row: row.group,
    "Consumer group of the coordinator (V$RSRC_SESSION_INFO, V$SESSION.RESOURCE_CONSUMER_GROUP).",
    sort=lambda row: row.group, most=22,
)
_R_USER = Running(
    "user", "User", 12, lambda row: row.user, "V$SESSION.USERNAME of the coordinator.",
    sort=lambda row: row.user, narrow=False,
)
_R_SERVERS = Running(
    "servers", "Servers", 9, lambda row: str(row.servers),
    "Parallel servers it holds now, all instances (rows of V$PX_SESSION). The longest bar is the largest holder.",
    sort=lambda row: row.servers, align="right", bar=_servers_bar,
)
_DEGREE = Running(
    "degree", "DOP got/req", 11, _degree,
    "Degree it got and degree it asked for (V$PX_SESSION.DEGREE, REQ_DEGREE). ▼: it got less, it was downgraded.",
    sort=lambda row: row.degree, align="right", state=lambda row: "warn" if row.downgraded > 0 else "",
)
_ELAPSED = Running(
    "elapsed", "Elapsed", 8, lambda row: duration(row.elapsed),
    "Since the execution began (V$SESSION.SQL_EXEC_START), h:mm:ss.", sort=lambda row: row.elapsed, align="right",
)
_R_STATE = Running(
    "state", "State", 19, running_state,
    "What it does now. ○ idle holder: the coordinator is INACTIVE (LAST_CALL_ET shown) while its cursor keeps the "
    "servers; ▼ downgraded: percent of the degree it lost; ● the coordinator's wait event (V$SESSION.EVENT).",
    sort=lambda row: (row.idle is None, -(row.idle or 0), row.event), state=_running_color, most=44,
)
_PROGRESS = Running(
    "progress", "Progress", 8, lambda row: ABSENT if row.progress is None else f"{100 * row.progress:.0f} %",
    "How far what it works on at present has come (V$SESSION_LONGOPS: SOFAR / TOTALWORK over all its processes), as of "
    "the last minute. A statement does several things one after the other, so this is not the whole of it.",
    sort=lambda row: row.progress, align="right", narrow=False,
)
_BY_INSTANCE = Running(
    "by_instance", "by instance", 12,
    lambda row: " ".join(f"{inst}:{n}" for inst, n in sorted(row.servers_by_instance.items())),
    "Servers it holds per instance, as instance:servers (V$PX_SESSION.INST_ID).", narrow=False,
)
_R_REASON = Running(
    "reason", "DOP reason", 20, lambda row: row.dop.reason or ABSENT,
    "Why the optimizer chose its degree (V$SQL_PLAN.OTHER_XML, `dop_reason`), in Oracle's words.",
    sort=lambda row: row.dop.reason, narrow=False,
)
_R_TEXT = Running(
    "sql", "SQL", 10, lambda row: one_line(row.sql_text, _SHOWN_SQL) or ABSENT, "V$SQL.SQL_TEXT, on one line.",
    sort=lambda row: row.sql_text, flexible=True, narrow=False,
)

RUNNING: Table[RunningStatement] = Table(
    "running", "Running",
    (_R_SQL_ID, _R_GROUP, _R_USER, _R_SESSION, _R_SERVERS, _BY_INSTANCE, _DEGREE, _R_REASON, _ELAPSED, _PROGRESS,
     _R_STATE, _R_TEXT),
    statement_identity, "No parallel statement runs.",
)
