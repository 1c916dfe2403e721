"""Figures of consumer groups (CPU, parallel servers and queue, plan directives) and of pluggable databases."""

from collections.abc import Hashable
from dataclasses import replace

from presman.analysis.facts.system_facts import ROOT
from presman.analysis.plans.plan_view import PlanRow
from presman.analysis.readings.container_readings import IoVerdict, PdbReading
from presman.analysis.readings.group_readings import BELOW_MINIMUM, GroupReading, Verdict, verdict_words
from presman.base.formats import ABSENT, count, duration, number, size
from presman.figures.figure import BYTES, COUNT, CPUS, FLAG, MEGABYTES, NUMBER, PERCENT, RATE, SECONDS, SHARE, TEXT

# Units in lines by themselves, as in session_figures.py.
# isort: split
from presman.figures.figure import TOTAL, WORD, Bar, Figure, Figures, State, Table, Unit

Group = Figure[GroupReading]

_LEVEL_MARKS: dict[str, str] = {"bad": "✕", "warn": "▲", "note": "▬", "good": "●", "dim": "·"}
_OWN_MARKS = {verdict.name.lower(): verdict.glyph for verdict in Verdict}


def identity(row: GroupReading) -> Hashable:
    """Return the identity of a group across polls."""
    return row.inst_id, row.con_id, row.name


def instance_number(inst_id: int) -> str:
    """Return the number of an instance as text, or the word for all of them."""
    return str(inst_id or "all")


INSTANCE = Unit("number", instance_number, 4)
MILLISECONDS_EACH = Unit("milliseconds", lambda value: number(value, 0), 7)


def cpu_bar(row: GroupReading | PlanRow | PdbReading) -> Bar | None:
    """Return a bar of CPUs used and waited for, out of all CPUs, with entitlement and limit; None without a delta."""
    if row.used is None or not row.capacity:
        return None
    limit = None if row.verdict is Verdict.NOT_MANAGED else row.limit  # then nothing limits CPU
    return Bar(row.capacity, row.used, row.waiting or 0.0, row.entitled, limit)


def state_text(row: GroupReading) -> str:
    """Return the state of a group with its glyph."""
    state = row.state
    return f"{_OWN_MARKS.get(state.word, _LEVEL_MARKS[state.level])} {state.text}"


def verdict_text(row: GroupReading | PlanRow | PdbReading) -> str:
    """Return the CPU verdict with its glyph, and whose limit it is if not the group's own; ``-`` without one."""
    return ABSENT if row.verdict is None else f"{row.verdict.glyph} {verdict_words(row.verdict, row.limited_by)}"


def _servers_bar(row: GroupReading) -> Bar | None:
    return None if row.px_servers is None else Bar(0.0, row.px_servers, limit=row.may_hold if row.is_counted else None)


def held_servers(row: GroupReading) -> str:
    """Return the servers that a group holds, with a mark if its limit may count fewer."""
    return f"{'≤' if row.px_servers and not row.is_counted else ''}{count(row.px_servers)}"


def _servers(row: GroupReading) -> str:
    """Return the servers held of those allowed: on one of several instances, which share the limit, as its percent."""
    percent = None if row.may_hold is not None else row.servers_limit_percent
    is_unknown = row.may_hold is None and percent is None and bool(row.limit_view)
    allowed = "?" if is_unknown else count(row.may_hold) if percent is None else f"{percent} %"
    return f"{held_servers(row)}/{allowed}"


def _servers_state(row: GroupReading) -> State:
    return "warn" if row.px_queued and row.is_full else ""


def _queued_state(row: GroupReading) -> State:
    return "warn" if row.px_queued else "dim"


def _pool_text(row: GroupReading) -> str:
    if row.pool is None:
        return ABSENT
    waits = f" +{row.pool.queued} {duration(row.pool.longest)}" if row.pool.queued else ""
    active, allowed = (ABSENT if each is None else each for each in (row.active_sessions, row.pool.allowed))
    return f"{active}/{allowed}{waits}"


def _pool_state(row: GroupReading) -> State:
    return "warn" if row.pool is not None and row.pool.queued else "dim"


def _throttle_state(row: GroupReading) -> State:
    share = row.throttled_percent
    return "" if share is None or share < 25 else "warn"


_VIEW = "V$RSRC_CONSUMER_GROUP"
_SINCE_POLL = "change since the last poll, per second."


def _container(row: GroupReading) -> str:
    return row.container or ("CDB$ROOT" if row.con_id == ROOT else str(row.con_id))


# fmt: off
GROUPS: Figures[GroupReading] = Figures(
    Group("inst_id", "Inst", INSTANCE, "INST_ID of the instance; `all` is the sum over the cluster.", "inst_id"),
    Group("con_id", "PDB", NUMBER, "The container whose plan the group belongs to, by its name where V$PDBS shows it; "
          "in files its CON_ID, 0 before 12.1 and in a non-CDB.", "con_id", text=_container, width=6, most=14,
          side="left"),
    Group("consumer_group", "Group", TEXT, f"{_VIEW}.NAME. Dim when the active plan has no directive for it.", "name",
          width=12, most=30, state=lambda row: "" if row.in_plan else "dim", vital=True),
    Group("cpu_bar", "CPU", CPUS, "The whole width is all CPUs that Resource Manager manages. █ CPUs used and ▒ CPUs "
          f"waited for (resmgr:cpu quantum), both the change of CONSUMED_CPU_TIME and CPU_WAIT_TIME in {_VIEW} since "
          "the last poll; │ its entitlement among the groups with demand now; ┊ its UTILIZATION_LIMIT. ▶ marks a bar "
          "that does not fit.", "used", side="left", width=12, bar=cpu_bar, flexible=True),
    Group("used_cpus", "use CPU", CPUS, f"CPUs used: change of {_VIEW}.CONSUMED_CPU_TIME since the last poll / seconds "
          "between the polls.", "used"),
    Group("wanted_cpus", "want", CPUS, "CPUs wanted: used + waiting, the change of CONSUMED_CPU_TIME + CPU_WAIT_TIME "
          f"in {_VIEW} since the last poll / seconds.", "wanted"),
    Group("waited_cpus", "waiting", CPUS, f"CPUs waited for: change of {_VIEW}.CPU_WAIT_TIME (resmgr:cpu quantum only) "
          "since the last poll / seconds. Not counted where CPU is not managed.", "waiting", state=_throttle_state),
    Group("capacity_cpus", "CPUs", CPUS, "CPUs that Resource Manager manages: V$RSRCMGRMETRIC.NUM_CPUS, else "
          "UTILIZATION_LIMIT of V$RSRC_PLAN on an Autonomous Database, else CPU_COUNT if the instance is caged, else "
          "the host's.", "capacity"),
    Group("state", "state", TEXT, "The group's problems, the worst first: its CPU (the state on the CPU tab), its "
          "parallel queue (statements queued, how long the first has waited, why), its active session pool (sessions "
          "active of those allowed, + sessions waiting, how long the first has waited), servers that its statements "
          "hold while they wait for another session, an I/O limit of its container that throttles it, a CPU_MIN_COUNT "
          "that its container does not get. ✕ critical, ▲ warning, ▬ note. Files have one word for the worst.",
          "state.word", text=state_text, order=lambda row: (row.rank, row.state.word), width=18, most=56,
          state=lambda row: row.state.level, vital=True),
    Group("verdict", "CPU state", WORD, "The group's CPU since the last poll. ✕ held, database quiesced: its "
          "sessions wait until the quiesce ends. ● not throttled: it hardly waits for CPU. ▬ at its limit: "
          "UTILIZATION_LIMIT caps it, even if CPU is free (▬ HR at its limit: that of HR, which it is in). ▬ near its "
          "limit: it uses 90 to 95 % of it, which may be why it waits. ▬ contended, entitlement met: all CPUs are busy "
          "and it gets what it is entitled to. ▬ caged, entitlement met: the same, and the host has CPU to spare. ▬ "
          "contended part of the time: some of its sessions were there only part of the time, so whether it got what "
          "it is entitled to is not known. ✕ starved: it waits and is far below its entitlement, and other groups have "
          "the rest. ▲ below its entitlement: the same by a little, or while not all CPUs were used. ▲ host used by "
          "others: the host is full, and it is not the groups that use it. ▬ waits, CPUs not exhausted: CPUs were left "
          "over. ✕ no share while others run: the plan gives it nothing under contention. ▬ throttled, cause not "
          "known: so is what it is entitled to. · CPU not managed: the operating system schedules CPU, not the plan.",
          "verdict", text=verdict_text, width=18, most=28, narrow=False, state=lambda row: row.verdict.level),
    Group("limit_cpus", "limit", CPUS, "CPUs at the group's UTILIZATION_LIMIT, limits of the subplans above it "
          "multiplied in; empty without one.", "limit"),
    Group("guaranteed_cpus", "min", CPUS, "CPUs the group is guaranteed when every group wants all it can get "
          "(DBA_RSRC_PLAN_DIRECTIVES, levels or shares); not known where CPU is divided over all instances of the "
          "server (RESOURCE_MANAGER_CPU_SCOPE).", "guaranteed", narrow=False),
    Group("guaranteed_share", "share", SHARE, "Part of all CPU the group is guaranteed when every group wants all it "
          "can get, 0 to 1: levels or shares, nested plans multiplied in.", "share"),
    Group("entitled_cpus", "entitled", CPUS, "CPUs the group is entitled to now: the plan's levels or shares, applied "
          "to what each group wants, never above its limit. For a group that gets all it wants: what it is "
          "guaranteed.", "entitled"),
    Group("in_plan", "in plan", FLAG, "Whether the active plan has a directive for the group.", "in_plan"),
    Group("used_percent", "use %", PERCENT, "Percent of all CPUs that the group used since the last poll: 100 x used / "
          "capacity.", "used_percent", narrow=False),
    Group("throttled_percent", "throttled %", PERCENT, "Percent of the CPU demand that had to wait since the last "
          "poll: 100 x waiting / (used + waiting).", "throttled_percent", state=_throttle_state, narrow=False),
    Group("consumed_percent", "of all use %", PERCENT, "Percent of the CPU that all groups together used since the "
          "last poll; the whole width is 100 %. The bar further left is of all CPUs.", "consumed_percent", side="left",
          narrow=False, bar=lambda row: None if row.consumed_percent is None else Bar(100.0, row.consumed_percent)),
    Group("used_trend", "CPU trend", CPUS, "CPUs used over the last minutes, the newest at the right; a full block is "
          "the highest value in the table.", "used", sortable=False, side="left", width=10, trend=True, narrow=False),
    Group("active_sessions", "active", COUNT, f"Active sessions now ({_VIEW}.ACTIVE_SESSIONS). At the poll.",
          "active_sessions", narrow=False),
    Group("execution_waiters", "wait now", COUNT, "Active sessions that wait for a time slice right now "
          f"({_VIEW}.EXECUTION_WAITERS). At the poll.", "execution_waiters", narrow=False),
    Group("yields_per_s", "yields/s", RATE, f"How often sessions gave up the CPU to others: {_VIEW}.YIELDS, "
          f"{_SINCE_POLL}", "yields_per_s", narrow=False),
    Group("requests_per_s", "reqs/s", RATE, f"Requests executed in the group: {_VIEW}.REQUESTS, {_SINCE_POLL}",
          "requests_per_s", width=7, narrow=False),
    Group("cpu_waits_per_s", "held/s", RATE, f"How often sessions were throttled for a time slice: {_VIEW}.CPU_WAITS, "
          f"{_SINCE_POLL}", "cpu_waits_per_s", narrow=False),
    Group("cpu_wait_ms", "ms held", MILLISECONDS_EACH, "Milliseconds that a session was throttled each time, on "
          f"average since the last poll: CPU_WAIT_TIME / CPU_WAITS of {_VIEW}.", "cpu_wait_ms", narrow=False),
    Group("cpu_exhausted_percent", "full %", PERCENT, "Percent of the last full minute in which the CPUs were "
          "exhausted (V$RSRCMGRMETRIC.CPU_EXHAUSTED, from an update of 23 on). A group that waits while it is near 0 "
          "waits because of a limit, not for lack of CPU.", "cpu_exhausted", narrow=False),
    Group("pool_queue_length", "pool q", COUNT, "Sessions that wait for the active session pool (ACTIVE_SESS_POOL_P1), "
          f"not the parallel queue: {_VIEW}.QUEUE_LENGTH. At the poll.", "pool_queue_length"),
    Group("session_pool", "session pool", TEXT, "Sessions of the group in a call, of those its active session pool "
          f"allows (ACTIVE_SESS_POOL_P1, summed over the instances shown; {_VIEW}.ACTIVE_SESSIONS), + those that wait "
          "to become active and how long the first has waited (V$SESSION, resmgr:become active). At the poll.",
          "pool.queued", text=_pool_text, state=_pool_state, side="left", width=14, narrow=False),
    Group("session_pool_limit", "pool", COUNT, "Sessions that the group's active session pool allows in a call at a "
          "time: ACTIVE_SESS_POOL_P1, summed over the instances shown; empty without one.", "pool.allowed"),
    Group("session_pool_longest_s", "pool head", SECONDS, "The longest wait of a session to become active: V$SESSION, "
          "resmgr:become active.", "pool.longest"),
    Group("session_pool_timeout_s", "pool timeout", SECONDS, "How long a session waits to become active before its "
          "call ends with an error: QUEUEING_P1; empty: none, or not known.", "pool.timeout"),
    Group("pool_waits_total", "pool waits*", TOTAL, "Calls that had to wait for the active session pool since the plan "
          f"was activated ({_VIEW}.ACTIVE_SESSION_LIMIT_HIT).", "sessions.pool_waits", width=8, narrow=False),
    Group("pool_ms_total", "pool ms*", TOTAL, "Milliseconds that calls waited for the active session pool since the "
          f"plan was activated ({_VIEW}.QUEUED_TIME).", "sessions.pool_ms", width=8, narrow=False),
    Group("switched_in_total", "in*", TOTAL, "Sessions that SWITCH_TIME moved into the group since the plan was "
          f"activated ({_VIEW}.SWITCHES_IN_CPU_TIME).", "sessions.switched_in", narrow=False),
    Group("switched_out_total", "out*", TOTAL, "Sessions that SWITCH_TIME moved out of the group since the plan was "
          f"activated ({_VIEW}.SWITCHES_OUT_CPU_TIME).", "sessions.switched_out", narrow=False),
    Group("io_mb_per_s", "I/O MB/s", MEGABYTES, "Megabytes read and written, small and large, by the group: "
          f"*_MEGABYTES of {_VIEW}, {_SINCE_POLL} The database's view, not the storage cells'.", "io.mb", width=9,
          narrow=False),
    Group("io_trend", "I/O trend", MEGABYTES, "MB/s over the last minutes, the newest at the right; a full block is "
          "the highest value in the table.", "io.mb", sortable=False, side="left", width=10, trend=True, narrow=False),
    Group("px_statements_active", "running", COUNT, f"Parallel statements that run now ({_VIEW}.CURRENT_PQS_ACTIVE). "
          "At the poll.", "px_active"),
    Group("px_servers_active", "PX servers", COUNT, "Parallel servers the group holds now "
          f"({_VIEW}.CURRENT_PQ_SERVERS_ACTIVE) of those the plan lets it hold (PARALLEL_SERVER_LIMIT of "
          "DBA_RSRC_PLAN_DIRECTIVES, else UTILIZATION_LIMIT, as percent of the target; without either what its PDB may "
          "hold; ┊ marks the limit; ?: it is not known). On one instance of a cluster the limit is a percent of the "
          "target of all, and counts what all hold together. The whole width of the bar is PARALLEL_SERVERS_TARGET, or "
          "what is held if that is more. At the poll. Statements that bypass the queue are not in it. ≤: that view "
          "does not show it now; this is what all its statements hold.",
          "px_servers", text=_servers, side="left", width=18, most=26,
          bar=_servers_bar, state=_servers_state, narrow=False, vital=True),
    Group("px_servers_limit", "PX limit", COUNT, "Servers the plan lets the group hold: PARALLEL_SERVER_LIMIT of "
          "DBA_RSRC_PLAN_DIRECTIVES, else UTILIZATION_LIMIT, of the target; empty without a limit.", "servers_limit"),
    Group("px_servers_limit_percent", "limit %", COUNT, "Percent of the servers target that the plan lets the group "
          "hold: PARALLEL_SERVER_LIMIT, else UTILIZATION_LIMIT.", "servers_limit_percent", narrow=False),
    Group("px_statements_queued", "queued", COUNT, "Parallel statements that wait in the group's queue now "
          f"({_VIEW}.CURRENT_PQS_QUEUED, V$SESSION if it lists more). At the poll.",
          "px_queued", state=_queued_state, vital=True),
    Group("head_waited_s", "head", SECONDS, "How long the first statement of the group's queue has waited, from "
          "V$SESSION. At the poll.", "head_waited", state=_queued_state),
    Group("statements_queued_total", "queued*", TOTAL, "Statements that had to queue since the plan was activated "
          f"({_VIEW}.PQS_QUEUED).", "totals.queued", width=8, narrow=False),
    Group("statements_completed_total", "done*", TOTAL, "Parallel statements completed since the plan was activated "
          f"({_VIEW}.PQS_COMPLETED).", "totals.completed", width=7, narrow=False),
    Group("servers_used_total", "servers*", TOTAL, "Servers used by completed parallel statements since the plan was "
          f"activated ({_VIEW}.PQ_SERVERS_USED).", "totals.servers_used"),
    Group("active_ms_total", "ran ms*", TOTAL, "Milliseconds that parallel statements ran since the plan was activated "
          f"({_VIEW}.PQ_ACTIVE_TIME).", "totals.active_ms"),
    Group("queued_ms_total", "queued ms*", TOTAL, "Milliseconds that parallel statements queued since the plan was "
          f"activated ({_VIEW}.PQ_QUEUED_TIME).", "totals.queued_ms"),
    Group("queue_timeouts_total", "timeouts*", TOTAL, "Statements that reached PARALLEL_QUEUE_TIMEOUT since the plan "
          f"was activated ({_VIEW}.PQ_QUEUE_TIME_OUTS).", "totals.timeouts", narrow=False,
          state=lambda row: "warn" if row.totals.timeouts else ""),
)
"""All figures of a group."""
# fmt: on

WHICH = GROUPS.pick("inst_id con_id consumer_group")

IN_CPU = GROUPS.pick(
    "inst_id con_id consumer_group used_cpus waited_cpus capacity_cpus limit_cpus guaranteed_cpus entitled_cpus "
    "used_percent throttled_percent verdict state active_sessions execution_waiters yields_per_s requests_per_s "
    "pool_queue_length session_pool_limit session_pool_longest_s session_pool_timeout_s"
)
IN_PARALLEL = GROUPS.pick(
    "inst_id con_id consumer_group px_statements_active px_servers_active px_statements_queued px_servers_limit "
    "px_servers_limit_percent head_waited_s statements_queued_total statements_completed_total servers_used_total "
    "active_ms_total queued_ms_total queue_timeouts_total"
)
IN_EMPHASIS = GROUPS.pick(
    "inst_id con_id consumer_group in_plan guaranteed_share guaranteed_cpus entitled_cpus limit_cpus px_servers_limit"
)
"""The figures of a group in files, by name of the measure."""

NO_GROUPS = "No consumer groups: V$RSRC_CONSUMER_GROUP has no rows."

OVERVIEW: Table[GroupReading] = Table(
    "overview",
    "Consumer groups",
    (
        *(replace(each, vital=True) for each in WHICH),
        *(replace(GROUPS["cpu_bar"], width=9, most=12), GROUPS["used_cpus"]),
        *(replace(GROUPS["wanted_cpus"], narrow=False, vital=True), replace(GROUPS["state"], width=25)),
        *GROUPS.pick("io_mb_per_s io_trend"),
        # The facts behind the state come second.
        *(replace(each, narrow=False) for each in GROUPS.pick("px_statements_queued head_waited_s")),
        *(replace(GROUPS["px_servers_active"], narrow=True, width=10), GROUPS["session_pool"]),
    ),
    identity,
    NO_GROUPS,
    json="groups",
    worst_first=True,
)
CPU: Table[GroupReading] = Table(
    "cpu",
    "CPU by consumer group",
    (
        *(replace(each, vital=True) for each in WHICH),
        replace(GROUPS["cpu_bar"], width=9),
        *(replace(GROUPS["used_cpus"], vital=True), GROUPS["waited_cpus"]),
        *(replace(GROUPS["state"], width=25), GROUPS["entitled_cpus"]),
        replace(GROUPS["limit_cpus"], narrow=False),  # the bar has a mark for it, and the state needs the room
        *GROUPS.pick(
            "used_percent throttled_percent cpu_exhausted_percent active_sessions execution_waiters yields_per_s "
            "requests_per_s cpu_waits_per_s guaranteed_cpus consumed_percent cpu_wait_ms used_trend session_pool "
            "verdict pool_waits_total pool_ms_total switched_in_total switched_out_total"
        ),
    ),
    identity,
    NO_GROUPS,
    json="groups",
    worst_first=True,
)
PARALLEL_GROUPS: Table[GroupReading] = Table(
    "parallel_groups",
    "Servers by consumer group",
    (
        *(*WHICH, replace(GROUPS["px_servers_active"], narrow=True)),
        *GROUPS.pick(
            "px_statements_active px_statements_queued head_waited_s px_servers_limit_percent statements_queued_total "
            "statements_completed_total queue_timeouts_total"
        ),
    ),
    identity,
    NO_GROUPS,
    json="groups",
    worst_first=True,
)


# ---- Pluggable databases


Pdb = Figure[PdbReading]

_PDB = "V$RSRC_PDB"
_METRIC = "V$RSRCPDBMETRIC"


def _pdb_state(row: PdbReading) -> tuple[str, State]:
    """Return a container's problem and its colour: the CPU verdict, unless it misses its minimum or is held by I/O."""
    is_well = row.verdict.level not in {"bad", "warn"}
    if is_well and row.missed_minimum is not None:
        return f"▲ {BELOW_MINIMUM}", "warn"
    if is_well and row.io_verdict is IoVerdict.THROTTLED:
        return f"{row.io_verdict.glyph} I/O held by {row.held_by or 'its limits'}", row.io_verdict.level
    return verdict_text(row), row.verdict.level


def _io_limits(row: PdbReading) -> str:
    if row.iops_limit is None and row.mb_limit is None:
        return ABSENT
    return f"{count(row.iops_limit)}/{count(row.mb_limit)}"


_HELD_MS = Unit("milliseconds", number, 7)

# fmt: off
PDBS: Table[PdbReading] = Table(
    "pdbs", "Pluggable databases",
    (
        Pdb("inst_id", "Inst", INSTANCE, "INST_ID; `all` is the sum over the cluster.", "inst_id"),
        Pdb("con_id", "Con", NUMBER, "CON_ID.", "con_id", narrow=False),
        Pdb("pdb", "PDB", TEXT, "GV$PDBS.NAME.", "name", width=10, most=22),
        Pdb("cpu_bar", "CPU", CPUS, "The whole width is all CPUs. █ CPUs used and ▒ waited for, both the change of "
            f"CONSUMED_CPU_TIME and CPU_WAIT_TIME in {_PDB} since the last poll; │ its entitlement now; ┊ its limit.",
            "used", side="left", width=8, bar=cpu_bar, flexible=True),
        Pdb("used_cpus", "use CPU", CPUS, f"CPUs used since the last poll ({_PDB}).", "used"),
        Pdb("waited_cpus", "waiting", CPUS, f"CPUs waited for since the last poll ({_PDB}).", "waiting"),
        Pdb("verdict", "state", WORD,
            "The state of its CPU since the last poll, as on the CPU tab, or, where that is well, the limit "
            "that throttles its I/O, or that it gets less than its CPU_MIN_COUNT. Files have the state of the CPU.",
            "verdict", text=lambda row: _pdb_state(row)[0], width=22, most=28, state=lambda row: _pdb_state(row)[1]),
        Pdb("entitled_cpus", "entitled", CPUS,
            "CPUs it is entitled to now: shares applied to what each container wants, never above its limit. Where the "
            "CDB plan sets neither SHARES nor UTILIZATION_LIMIT, by CPU_MIN_COUNT (18: CPU_COUNT).", "entitled"),
        Pdb("limit_cpus", "limit", CPUS,
            "CPUs at its UTILIZATION_LIMIT in the CDB plan, or its own CPU_COUNT if that is less.", "limit"),
        Pdb("shares", "shares", COUNT, "DBA_CDB_RSRC_PLAN_DIRECTIVES.SHARES.", "shares"),
        Pdb("px_statements_queued", "queued", COUNT, f"Parallel statements queued now ({_PDB}.CURRENT_PQS_QUEUED).",
            "px_queued", state=lambda row: "warn" if row.px_queued else "dim"),
        Pdb("active_sessions", "sess", COUNT, "User sessions that are ACTIVE, of all (V$SESSION). At the poll.",
            "active_sessions", text=lambda row: f"{row.active_sessions}/{row.sessions}", width=7, narrow=False),
        Pdb("throttled_percent", "throttled %", PERCENT, "Percent of its CPU demand that waited since the last poll.",
            "throttled_percent", narrow=False),
        Pdb("io_mb_per_s", "MB/s", MEGABYTES,
            f"MB per second, all kinds: change of *_MEGABYTES in {_PDB} since the last poll.", "io.mb", narrow=False),
        Pdb("io_requests_per_s", "IOPS", RATE, f"I/O requests per second: change of *_REQUESTS in {_PDB} since the "
            "last poll.", "io.requests", narrow=False),
        Pdb("io_limits", "max IOPS/MB", TEXT, "MAX_IOPS and MAX_MBPS of the container (12.2 and later, not on "
            "Exadata); - without.", "iops_limit", text=_io_limits, side="right", narrow=False, most=15),
        Pdb("io_throttle_ms", "held ms", _HELD_MS,
            f"Milliseconds each I/O was throttled on average in the last full minute ({_METRIC}.AVG_IO_THROTTLE).",
            "io_throttle_ms", narrow=False, state=lambda row: "warn" if row.io_throttle_ms else ""),
        Pdb("px_servers_active", "PX", COUNT, f"Parallel servers held now ({_PDB}.CURRENT_PQ_SERVERS_ACTIVE) of those "
            "it may hold before it queues (DBA_CDB_RSRC_PLAN_DIRECTIVES).", "px_servers",
            text=lambda row: f"{count(row.px_servers)}/{count(row.servers_limit)}", width=8, narrow=False),
        Pdb("memory_bytes", "SGA/PGA", BYTES, f"SGA and PGA in use now ({_PDB}.SGA_BYTES, PGA_BYTES).", "sga_bytes",
            text=lambda row: f"{size(row.sga_bytes)}/{size(row.pga_bytes)}", width=11, narrow=False),
        Pdb("cpu_exhausted_percent", "full %", PERCENT, "Percent of the checks of the last full minute at which CPU "
            f"was exhausted ({_METRIC}.CPU_EXHAUSTED, from an update of 23 on).", "cpu_exhausted", narrow=False),
        Pdb("guaranteed_cpus", "min", CPUS, "CPUs it is guaranteed when all open containers are busy.", "guaranteed",
            narrow=False),
        Pdb("plan", "Plan", TEXT, "The container's own plan (V$RSRC_PLAN); without one all its sessions have equal "
            "shares.", "plan", text=lambda row: row.plan or "(none)", width=10, narrow=False, most=20),
        Pdb("io_verdict", "I/O state", WORD, "What MAX_IOPS and MAX_MBPS do to it: throttled: the limit delayed I/O in "
            "the last full minute; near: 95 % of a limit was used since the last poll.", "io_verdict",
            text=lambda row: row.io_verdict.text, width=13, narrow=False, most=18,
            state=lambda row: row.io_verdict.level),
    ),
    lambda row: (row.inst_id, row.con_id), "No pluggable databases are visible from here.",
    json="assessment.pdbs",
)
