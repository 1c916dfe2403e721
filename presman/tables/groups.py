"""Tables of consumer groups: overview, CPU, I/O and parallel servers."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.reading import GroupReading, Verdict
from presman.analysis.verdicts import Loaded
from presman.columns import Bar, Column, State, Table
from presman.formats import ABSENT, compact, count, duration, number, percent

Group = Column[GroupReading]

VERDICT_MARKS: dict[Verdict, tuple[str, State]] = {
    Verdict.UNKNOWN: ("…", "dim"),
    Verdict.NOT_MANAGED: ("○", "dim"),
    Verdict.IDLE: ("·", "dim"),
    Verdict.NOT_THROTTLED: ("●", "good"),
    Verdict.CAPPED: ("▲", "warn"),
    Verdict.CONTENDED: ("▬", "note"),
    Verdict.CAGED: ("▬", "note"),
    Verdict.THROTTLED: ("▬", "note"),
    Verdict.STARVED: ("✕", "bad"),
    Verdict.ZERO_SHARE: ("✕", "bad"),
}
"""The glyph and the state that go with each verdict's words."""


def identity(row: GroupReading) -> Hashable:
    """Return what makes a group the same at the next poll."""
    return row.inst_id, row.con_id, row.name


def _name_state(row: GroupReading) -> State:
    return "" if row.in_plan else "dim"


def cpu_bar(row: Loaded) -> Bar | None:
    """Return CPUs used and waited for, of all there are, with entitlement and limit; None without a delta."""
    if row.used is None or not row.capacity:
        return None
    return Bar(row.capacity, row.used, row.waiting or 0.0, row.entitled, row.limit)


def _servers_bar(row: GroupReading) -> Bar | None:
    full = max(row.servers_limit or 0, row.px_servers)
    return Bar(full, row.px_servers, limit=row.servers_limit) if full else None


def _servers(row: GroupReading) -> str:
    return f"{row.px_servers}/{ABSENT if row.servers_limit is None else row.servers_limit}"


def _servers_state(row: GroupReading) -> State:
    return "warn" if row.servers_limit and row.px_queued and row.px_servers >= row.servers_limit else ""


def _queued_state(row: GroupReading) -> State:
    return "warn" if row.px_queued else "dim"


def _throttle_state(row: GroupReading) -> State:
    share = row.throttled_percent
    return "" if share is None or share < 25 else "warn"


_CONSUMER_GROUP = "V$RSRC_CONSUMER_GROUP"
_SINCE_POLL = "change since the last poll, per second."

# fmt: off
INST = Group(
    "inst", "Inst", 4, lambda row: str(row.inst_id or "all"),
    "INST_ID of the instance; `all` is the sum over the cluster.",
    sort=lambda row: row.inst_id, align="right",
)
CON = Group(
    "con", "Con", 4, lambda row: str(row.con_id),
    "CON_ID of the container whose plan the group belongs to; 0 before 12.1 and in a non-CDB.",
    sort=lambda row: row.con_id, align="right",
)
NAME = Group(
    "group", "Group", 12, lambda row: row.name,
    f"{_CONSUMER_GROUP}.NAME. Dim when the active plan has no directive for it.",
    sort=lambda row: row.name, state=_name_state, most=22,
)
CPU_BAR = Group(
    "cpu", "CPU", 12, lambda row: number(row.used),
    "The whole width is all CPUs Resource Manager hands out. █ CPUs used and ▒ CPUs waited for "
    "(resmgr:cpu quantum), both the change of CONSUMED_CPU_TIME and CPU_WAIT_TIME in "
    f"{_CONSUMER_GROUP} since the last poll; │ what the group may claim among those with demand now; "
    "┊ its UTILIZATION_LIMIT. A part that is over the edge ends in ▶.",
    sort=lambda row: row.used, bar=cpu_bar, flexible=True,
)
USED = Group(
    "used", "use CPU", 7, lambda row: number(row.used),
    f"CPUs used: change of {_CONSUMER_GROUP}.CONSUMED_CPU_TIME since the last poll / seconds between the polls.",
    sort=lambda row: row.used, align="right",
)
WANTED = Group(
    "wanted", "want", 6, lambda row: number(row.wanted),
    f"CPUs wanted: used + waiting, i.e. the change of CONSUMED_CPU_TIME + CPU_WAIT_TIME in {_CONSUMER_GROUP} "
    "since the last poll / seconds.",
    sort=lambda row: row.wanted, align="right",
)
VERDICT = Group(
    "verdict", "verdict", 18, lambda row: f"{VERDICT_MARKS[row.verdict][0]} {row.verdict.value}",
    "What happens to the group's CPU, since the last poll. ● not throttled: next to nothing waits. ▲ at its limit: "
    "UTILIZATION_LIMIT holds it, even if CPU is free. ▬ contended, gets its share: all CPUs are busy and it gets what "
    "the plan entitles it to. ✕ starved: it waits and gets less than that. ✕ no share while others run: the plan "
    "gives it nothing under contention. ○ CPU not managed: the plan leaves CPU to the operating system.",
    sort=lambda row: row.verdict.value, state=lambda row: VERDICT_MARKS[row.verdict][1], most=28,
)
PX_BAR = Group(
    "px", "PX servers", 18, _servers,
    f"Parallel servers the group holds now ({_CONSUMER_GROUP}.CURRENT_PQ_SERVERS_ACTIVE) of those the plan lets it "
    "hold (PARALLEL_SERVER_LIMIT, else UTILIZATION_LIMIT, as percent of the target; ┊ marks the limit). An instant. "
    "Statements that bypass the queue are not in it.",
    sort=lambda row: row.px_servers, bar=_servers_bar, state=_servers_state, narrow=False,
)
QUEUED = Group(
    "queued", "queued", 6, lambda row: count(row.px_queued),
    f"Parallel statements that wait in the group's queue now ({_CONSUMER_GROUP}.CURRENT_PQS_QUEUED). An instant.",
    sort=lambda row: row.px_queued, align="right", state=_queued_state,
)
HEAD = Group(
    "head", "head", 8, lambda row: duration(row.head_waited),
    "How long the first statement of the group's queue has waited (h:mm:ss), from V$SESSION. An instant.",
    sort=lambda row: row.head_waited, align="right", state=_queued_state,
)
IO_MB = Group(
    "io_mb", "I/O MB/s", 9, lambda row: ABSENT if row.io is None else compact(row.io.mb),
    f"Megabytes read and written, small and large, by the group: *_MEGABYTES of {_CONSUMER_GROUP}, {_SINCE_POLL} "
    "The database's view, not the storage cells'.",
    sort=lambda row: None if row.io is None else row.io.mb, align="right", narrow=False,
)
USED_TREND = Group(
    "used_trend", "CPU trend", 10, lambda row: number(row.used),
    "CPUs used over the last minutes, the newest at the right, scaled to the highest of the row.",
    trend=True, narrow=False,
)
IO_TREND = Group(
    "io_trend", "I/O trend", 10, lambda row: ABSENT if row.io is None else compact(row.io.mb),
    "MB/s over the last minutes, the newest at the right, scaled to the highest of the row.",
    trend=True, narrow=False,
)
ENTITLED = Group(
    "entitled", "entitled", 8, lambda row: number(row.entitled),
    "CPUs the group may claim now: the plan's levels or shares among the groups with demand, never above its limit.",
    sort=lambda row: row.entitled, align="right",
)
LIMIT = Group(
    "limit", "limit", 6, lambda row: number(row.limit),
    "CPUs at the group's UTILIZATION_LIMIT, limits of the subplans above it multiplied in; - without one.",
    sort=lambda row: row.limit, align="right",
)
GUARANTEED = Group(
    "guaranteed", "min", 6, lambda row: number(row.guaranteed),
    "CPUs the group is guaranteed when every group wants all it can get (DBA_RSRC_PLAN_DIRECTIVES, levels or shares).",
    sort=lambda row: row.guaranteed, align="right", narrow=False,
)
WAITING = Group(
    "waiting", "waiting", 7, lambda row: number(row.waiting),
    f"CPUs waited for: change of {_CONSUMER_GROUP}.CPU_WAIT_TIME (resmgr:cpu quantum only) since the last poll / "
    "seconds.",
    sort=lambda row: row.waiting, align="right", state=_throttle_state,
)
THROTTLED = Group(
    "throttled", "throt %", 7, lambda row: percent(row.throttled_percent),
    "Percent of the CPU demand that had to wait since the last poll: 100 x waiting / (used + waiting).",
    sort=lambda row: row.throttled_percent, align="right", state=_throttle_state, narrow=False,
)
USED_PERCENT = Group(
    "used_percent", "use %", 5, lambda row: percent(row.used_percent),
    "Percent of all CPUs that the group used since the last poll: 100 x used / capacity.",
    sort=lambda row: row.used_percent, align="right", narrow=False,
)
CONSUMED = Group(
    "consumed", "of all use %", 12, lambda row: percent(row.consumed_percent),
    "Percent of the CPU that all groups together used since the last poll; the whole width is 100 %. The bar further "
    "left is of all CPUs there are.",
    sort=lambda row: row.consumed_percent, narrow=False,
    bar=lambda row: None if row.consumed_percent is None else Bar(100.0, row.consumed_percent),
)
ACTIVE = Group(
    "active", "active", 6, lambda row: count(row.active_sessions),
    f"Active sessions now ({_CONSUMER_GROUP}.ACTIVE_SESSIONS). An instant.",
    sort=lambda row: row.active_sessions, align="right", narrow=False,
)
CPU_WAITERS = Group(
    "waiters", "wait now", 8, lambda row: count(row.execution_waiters),
    f"Active sessions that wait for a time slice right now ({_CONSUMER_GROUP}.EXECUTION_WAITERS). An instant.",
    sort=lambda row: row.execution_waiters, align="right", narrow=False,
)
YIELDS = Group(
    "yields", "yields/s", 8, lambda row: compact(row.yields_per_s),
    f"How often sessions gave up the CPU to others: {_CONSUMER_GROUP}.YIELDS, {_SINCE_POLL}",
    sort=lambda row: row.yields_per_s, align="right", narrow=False,
)
REQUESTS = Group(
    "requests", "reqs/s", 7, lambda row: compact(row.requests_per_s),
    f"Requests executed in the group: {_CONSUMER_GROUP}.REQUESTS, {_SINCE_POLL}",
    sort=lambda row: row.requests_per_s, align="right", narrow=False,
)
CPU_WAITS = Group(
    "cpu_waits", "held/s", 6, lambda row: compact(row.cpu_waits_per_s),
    f"How often sessions were held off CPU for a time slice: {_CONSUMER_GROUP}.CPU_WAITS, {_SINCE_POLL}",
    sort=lambda row: row.cpu_waits_per_s, align="right", narrow=False,
)
CPU_WAIT_MS = Group(
    "cpu_wait_ms", "ms held", 7, lambda row: number(row.cpu_wait_ms, 0),
    f"Milliseconds a session was held off CPU each time, on average since the last poll: CPU_WAIT_TIME / CPU_WAITS of "
    f"{_CONSUMER_GROUP}.", sort=lambda row: row.cpu_wait_ms, align="right", narrow=False,
)
CPU_EXHAUSTED = Group(
    "cpu_exhausted", "full %", 6, lambda row: percent(row.cpu_exhausted),
    "Percent of the last closed minute in which the CPUs were exhausted (V$RSRCMGRMETRIC.CPU_EXHAUSTED, an update of "
    "23 brought it). A group that waits while it is near 0 is held by a limit, not by lack of CPU.",
    sort=lambda row: row.cpu_exhausted, align="right", narrow=False,
)
POOL_QUEUE = Group(
    "pool", "pool q", 6, lambda row: count(row.pool_queue_length),
    f"Sessions that wait for the active session pool (ACTIVE_SESS_POOL_P1), not the parallel queue: "
    f"{_CONSUMER_GROUP}.QUEUE_LENGTH. An instant.",
    sort=lambda row: row.pool_queue_length, align="right", narrow=False,
)
RUNNING_NOW = Group(
    "running", "running", 7, lambda row: count(row.px_active),
    f"Parallel statements that run now ({_CONSUMER_GROUP}.CURRENT_PQS_ACTIVE). An instant.",
    sort=lambda row: row.px_active, align="right",
)
LIMIT_PERCENT = Group(
    "px_limit", "limit %", 7, lambda row: count(row.servers_limit_percent),
    "Percent of the servers target that the plan lets the group hold: PARALLEL_SERVER_LIMIT, else UTILIZATION_LIMIT.",
    sort=lambda row: row.servers_limit_percent, align="right", narrow=False,
)
EVER_QUEUED = Group(
    "ever_queued", "queued*", 8, lambda row: compact(row.totals.queued),
    f"Statements that had to queue since the plan was activated ({_CONSUMER_GROUP}.PQS_QUEUED).",
    sort=lambda row: row.totals.queued, align="right", narrow=False,
)
COMPLETED = Group(
    "completed", "done*", 7, lambda row: compact(row.totals.completed),
    f"Parallel statements completed since the plan was activated ({_CONSUMER_GROUP}.PQS_COMPLETED).",
    sort=lambda row: row.totals.completed, align="right", narrow=False,
)
TIMEOUTS = Group(
    "timeouts", "timeouts*", 9, lambda row: compact(row.totals.timeouts),
    f"Statements that ran into PARALLEL_QUEUE_TIMEOUT since the plan was activated "
    f"({_CONSUMER_GROUP}.PQ_QUEUE_TIME_OUTS).",
    sort=lambda row: row.totals.timeouts, align="right", narrow=False,
    state=lambda row: "warn" if row.totals.timeouts else "",
)

OVERVIEW: Table[GroupReading] = Table(
    "overview", "Consumer groups",
    (INST, CON, NAME, CPU_BAR, USED, WANTED, VERDICT, IO_MB, IO_TREND, PX_BAR, QUEUED, HEAD),
    identity, "No consumer groups: V$RSRC_CONSUMER_GROUP gave no rows.",
)
CPU: Table[GroupReading] = Table(
    "cpu", "CPU by consumer group",
    (INST, CON, NAME, CPU_BAR, USED, WAITING, VERDICT, ENTITLED, LIMIT, USED_PERCENT, THROTTLED, CPU_EXHAUSTED, ACTIVE,
     CPU_WAITERS, YIELDS, REQUESTS, CPU_WAITS, GUARANTEED, CONSUMED, CPU_WAIT_MS, USED_TREND, POOL_QUEUE),
    identity, "No consumer groups: V$RSRC_CONSUMER_GROUP gave no rows.",
)
PARALLEL_GROUPS: Table[GroupReading] = Table(
    "parallel_groups", "Servers by consumer group",
    (INST, CON, NAME, PX_BAR, RUNNING_NOW, QUEUED, HEAD, LIMIT_PERCENT, EVER_QUEUED, COMPLETED, TIMEOUTS),
    identity, "No consumer groups: V$RSRC_CONSUMER_GROUP gave no rows.",
)
