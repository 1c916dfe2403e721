"""Figures of the instances (parallel servers, waits, downgrades) and of pluggable databases."""

from collections.abc import Hashable

from presman.analysis.readings.container_readings import IoVerdict, PdbReading
from presman.analysis.readings.reading import InstanceReading, ServerPool, WaitReading
from presman.analysis.readings.statement_readings import Downgrades
from presman.base.formats import ABSENT, count, milliseconds, number, size
from presman.figures.figure import (
    BYTES,
    COUNT,
    CPUS,
    MEGABYTES,
    NUMBER,
    PERCENT,
    RATE,
    SESSIONS,
    TEXT,
    TOTAL,
    WORD,
    Bar,
    Figure,
    State,
    Table,
    Unit,
)
from presman.figures.group_figures import INSTANCE, cpu_bar, verdict_text

Server = Figure[InstanceReading]
Wait = Figure[WaitReading]
Downgrade = Figure[Downgrades]

_MEAN_MS = Unit("milliseconds", lambda value: milliseconds(value, number), 8)


def pool_bar(pool: ServerPool) -> Bar | None:
    """Return the servers in use against the target, which is what can be full; behind it the maximum."""
    if pool.in_use is None:
        return None
    full, most = pool.target or pool.maximum or pool.in_use, max(pool.maximum or 0, pool.in_use)
    return Bar(full, pool.in_use, limit=pool.target, beyond=most if most > full else 0.0) if full else None


# fmt: off
SERVERS: Table[InstanceReading] = Table(
    "servers", "Servers by instance",
    (
        Server("inst_id", "Inst", NUMBER, "INST_ID.", "inst_id"),
        Server("instance", "Instance", TEXT, "V$INSTANCE.INSTANCE_NAME.", "name", width=10),
        Server("servers_bar", "in use of target", COUNT,
               "Parallel servers in use now (V$PX_PROCESS_SYSSTAT, 'Servers In Use'). ┊ is PARALLEL_SERVERS_TARGET, "
               "above which statements queue; the rest goes up to PARALLEL_MAX_SERVERS. At the poll.",
               "servers.in_use", side="left", bar=lambda row: pool_bar(row.servers), flexible=True),
        Server("servers_in_use", "in use", COUNT,
               "Processes in use now (V$PX_PROCESS_SYSSTAT, 'Servers In Use'). At the poll.", "servers.in_use"),
        Server("servers_counted", "counted", COUNT,
               "Servers the queue counts against the target (V$RSRC_PLAN.PARALLEL_SERVERS_ACTIVE); presman assumes "
               "that servers of statements that bypass the queue are not counted. At the poll.", "servers.counted"),
        Server("servers_target", "target", COUNT, "PARALLEL_SERVERS_TARGET.", "servers.target"),
        Server("servers_maximum", "max", COUNT, "PARALLEL_MAX_SERVERS.", "servers.maximum", width=5),
        Server("servers_available", "spare", COUNT,
               "Idle processes (V$PX_PROCESS_SYSSTAT, 'Servers Available'). At the poll.",
               "servers.available", width=6, narrow=False),
        Server("servers_highwater", "highest", COUNT,
               "Most servers in use at once since startup (V$PX_PROCESS_SYSSTAT, 'Servers Highwater').",
               "servers.highwater", narrow=False),
        Server("host_busy_percent", "host %", PERCENT,
               "Percent of the host's CPU time that was busy since the last poll (V$OSSTAT, BUSY_TIME and IDLE_TIME).",
               lambda row: None if row.host_busy is None else 100 * row.host_busy, narrow=False),
    ),
    lambda row: row.inst_id, "No instances: V$INSTANCE has no rows.",
    json="header.instances",
)
WAITS: Table[WaitReading] = Table(
    "waits", "Top waits",
    (
        Wait("inst_id", "Inst", NUMBER, "INST_ID.", "inst_id"),
        Wait("event", "Wait event", TEXT, "V$SYSTEM_EVENT.EVENT, idle events left out.", "event", width=20,
             flexible=True, state=lambda row: "warn" if row.wait_class == "Scheduler" else ""),
        Wait("waiting_sessions", "avg sess", SESSIONS,
             "Average sessions that waited since the last poll: change of TIME_WAITED_MICRO in V$SYSTEM_EVENT / time. "
             "That view counts a wait when it ends; where waits last longer than the time between polls, it is the "
             "sessions that wait now (V$SESSION).", "sessions"),
        Wait("ended_waits", "ended", SESSIONS,
             "Seconds of waits that ended since the last poll, per second (V$SYSTEM_EVENT). Each wait counts in full: "
             "when waits of minutes end together, this is more than the number of sessions.", "ended", narrow=False),
        Wait("waits_per_s", "waits/s", RATE, "Change of TOTAL_WAITS in V$SYSTEM_EVENT since the last poll, per second.",
             "per_second", width=8),
        Wait("mean_ms", "mean ms", _MEAN_MS,
             "Mean wait since the last poll: change of TIME_WAITED_MICRO / change of TOTAL_WAITS, in milliseconds.",
             "mean_ms"),
        Wait("wait_class", "class", TEXT, "V$SYSTEM_EVENT.WAIT_CLASS.", "wait_class", width=14, narrow=False),
    ),
    lambda row: (row.inst_id, row.event),
    "No waits since the last poll, or there is no delta yet.", order="waiting_sessions", descending=True,
    json="waits",
)
DOWNGRADES: Table[Downgrades] = Table(
    "downgrades", "Parallel operations",
    (
        Downgrade("inst_id", "Inst", INSTANCE, "INST_ID.", "inst_id"),
        Downgrade("statistic", "Statistic", TEXT, "V$SYSSTAT.NAME.", "name", width=20, flexible=True),
        Downgrade("operations", "now", COUNT,
                  "Operations since the last poll (change of V$SYSSTAT.VALUE). On a cluster every query of a GV$ view "
                  "runs in parallel and counts as a query parallelized: several of presman's own at each poll, and "
                  "those of other monitors too.", "delta", width=6, state=lambda row: "warn" if row.delta else ""),
        Downgrade("operations_total", "total*", TOTAL, "Operations since startup (V$SYSSTAT.VALUE).", "total", width=8),
    ),
    lambda row: (row.inst_id, row.name), "V$SYSSTAT gave no statistics of parallel execution.",
    json="downgrades",
)


# ---- Pluggable databases


Pdb = Figure[PdbReading]

_VIEW = "V$RSRC_PDB"
_METRIC = "V$RSRCPDBMETRIC"


def identity(row: PdbReading) -> Hashable:
    """Return what makes a container the same at the next poll."""
    return row.inst_id, row.con_id


def _state(row: PdbReading) -> tuple[str, State]:
    """Return what is wrong with a container, and how it is marked: its CPU, unless its I/O limit throttles it."""
    cpu = row.verdict.level
    if row.io_verdict is IoVerdict.THROTTLED and cpu not in {"bad", "warn"}:
        return f"{row.io_verdict.glyph} I/O held by {row.held_by or 'its limits'}", row.io_verdict.level
    return verdict_text(row), cpu


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
        Pdb("cpu_bar", "CPU", CPUS,
            "The whole width is all CPUs. █ CPUs used and ▒ waited for, both the change of CONSUMED_CPU_TIME and "
            f"CPU_WAIT_TIME in {_VIEW} since the last poll; │ its entitlement now; ┊ its limit.", "used", side="left",
            width=8, bar=cpu_bar, flexible=True),
        Pdb("used_cpus", "use CPU", CPUS, f"CPUs used since the last poll ({_VIEW}).", "used"),
        Pdb("waited_cpus", "waiting", CPUS, f"CPUs waited for since the last poll ({_VIEW}).", "waiting"),
        Pdb("verdict", "state", WORD,
            "The state of its CPU since the last poll, as on the CPU tab, or, where that is well, the limit "
            "that throttles its I/O. Files have the state of the CPU.",
            "verdict", text=lambda row: _state(row)[0], width=22, most=28, state=lambda row: _state(row)[1]),
        Pdb("entitled_cpus", "entitled", CPUS,
            "CPUs it is due now: shares applied to what each container wants, never above its limit. Where the CDB "
            "plan sets neither SHARES nor UTILIZATION_LIMIT, by CPU_MIN_COUNT (18: CPU_COUNT).", "entitled"),
        Pdb("limit_cpus", "limit", CPUS,
            "CPUs at its UTILIZATION_LIMIT in the CDB plan, or its own CPU_COUNT if that is less.", "limit"),
        Pdb("shares", "shares", COUNT, "DBA_CDB_RSRC_PLAN_DIRECTIVES.SHARES.", "shares"),
        Pdb("px_statements_queued", "queued", COUNT,
            f"Parallel statements queued now ({_VIEW}.CURRENT_PQS_QUEUED).", "px_queued",
            state=lambda row: "warn" if row.px_queued else "dim"),
        Pdb("active_sessions", "sess", COUNT, "User sessions that are ACTIVE, of all (V$SESSION). At the poll.",
            "active_sessions", text=lambda row: f"{row.active_sessions}/{row.sessions}", width=7, narrow=False),
        Pdb("throttled_percent", "throttled %", PERCENT, "Percent of its CPU demand that waited since the last poll.",
            "throttled_percent", narrow=False),
        Pdb("io_mb_per_s", "MB/s", MEGABYTES,
            f"MB per second, all kinds: change of *_MEGABYTES in {_VIEW} since the last poll.", "io.mb", narrow=False),
        Pdb("io_requests_per_s", "IOPS", RATE,
            f"I/O requests per second: change of *_REQUESTS in {_VIEW} since the last poll.", "io.requests",
            narrow=False),
        Pdb("io_limits", "max IOPS/MB", TEXT,
            "MAX_IOPS and MAX_MBPS of the container (12.2 and later, not on Exadata); - without.", "iops_limit",
            text=_io_limits, side="right", narrow=False, most=15),
        Pdb("io_throttle_ms", "held ms", _HELD_MS,
            f"Milliseconds each I/O was throttled on average in the last full minute ({_METRIC}.AVG_IO_THROTTLE).",
            "io_throttle_ms", narrow=False, state=lambda row: "warn" if row.io_throttle_ms else ""),
        Pdb("px_servers_active", "PX", COUNT,
            f"Parallel servers held now ({_VIEW}.CURRENT_PQ_SERVERS_ACTIVE) of those it may hold before it queues.",
            "px_servers", text=lambda row: f"{row.px_servers}/{count(row.servers_limit)}", width=8, narrow=False),
        Pdb("memory_bytes", "SGA/PGA", BYTES, f"SGA and PGA in use now ({_VIEW}.SGA_BYTES, PGA_BYTES).", "sga_bytes",
            text=lambda row: f"{size(row.sga_bytes)}/{size(row.pga_bytes)}", width=11, narrow=False),
        Pdb("cpu_exhausted_percent", "full %", PERCENT,
            f"Percent of the checks of the last full minute at which CPU was exhausted ({_METRIC}.CPU_EXHAUSTED, from "
            "an update of 23 on).", "cpu_exhausted", narrow=False),
        Pdb("guaranteed_cpus", "min", CPUS, "CPUs it is guaranteed when all open containers are busy.", "guaranteed",
            narrow=False),
        Pdb("plan", "Plan", TEXT, "The container's own plan (V$RSRC_PLAN); without one all its sessions have equal "
            "shares.",
            "plan", text=lambda row: row.plan or "(none)", width=10, narrow=False, most=20),
        Pdb("io_verdict", "I/O state", WORD,
            "What MAX_IOPS and MAX_MBPS do to it: throttled: the limit delayed I/O in the last full minute; near: "
            "95 % of a limit was used since the last poll.", "io_verdict",
            text=lambda row: row.io_verdict.text, width=13, narrow=False,
            most=18, state=lambda row: row.io_verdict.level),
    ),
    identity, "No pluggable databases are visible from here.",
    json="assessment.pdbs",
)
