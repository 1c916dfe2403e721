"""Figures of the instances: parallel servers, waits, downgrades."""

from presman.analysis.readings.reading import InstanceReading, ServerPool
from presman.analysis.readings.statement_readings import Downgrades
from presman.analysis.readings.wait_readings import WaitReading
from presman.base.formats import milliseconds
from presman.figures.figure import COUNT, NUMBER, PERCENT, RATE, SESSIONS, TEXT, TOTAL, Bar, Figure, Table, Unit
from presman.figures.group_figures import INSTANCE

Server = Figure[InstanceReading]
Wait = Figure[WaitReading]
Downgrade = Figure[Downgrades]

_MEAN_MS = Unit("milliseconds", lambda value: milliseconds(value, 1, 8), 8)


def pool_bar(pool: ServerPool) -> Bar | None:
    """Return a bar of the servers in use: full at the target, with the maximum beyond it."""
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
        Server("servers_available", "spare", COUNT, "Idle processes (V$PX_PROCESS_SYSSTAT, 'Servers Available'). At "
               "the poll.", "servers.available", width=6, narrow=False),
        Server("servers_highwater", "highest", COUNT, "Most servers in use at once since startup "
               "(V$PX_PROCESS_SYSSTAT, 'Servers Highwater').", "servers.highwater", narrow=False),
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
        Wait("waiting_sessions", "avg sess", SESSIONS, "Average sessions that waited since the last poll: change of "
             "TIME_WAITED_MICRO in V$SYSTEM_EVENT / time. That view counts a wait when it ends; where waits last "
             "longer than the time between polls, it is the sessions that wait now (V$SESSION).", "sessions"),
        Wait("ended_waits", "ended", SESSIONS,
             "Seconds of waits that ended since the last poll, per second (V$SYSTEM_EVENT). Each wait counts in full: "
             "when waits of minutes end together, this is more than the number of sessions.", "ended", narrow=False),
        Wait("waits_per_s", "waits/s", RATE, "Change of TOTAL_WAITS in V$SYSTEM_EVENT since the last poll, per second.",
             "per_second", width=8),
        Wait("mean_ms", "mean ms", _MEAN_MS, "Mean wait since the last poll: change of TIME_WAITED_MICRO / change of "
             "TOTAL_WAITS, in milliseconds.", "mean_ms"),
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
