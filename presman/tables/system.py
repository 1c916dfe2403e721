"""Tables of the instances: parallel servers, waits, downgrades."""

from __future__ import annotations

from collections.abc import Hashable

from presman.analysis.reading import Downgrades, InstanceReading, WaitReading
from presman.columns import Bar, Column, Table
from presman.formats import ABSENT, compact, count, number, percent

Server = Column[InstanceReading]
Wait = Column[WaitReading]
Downgrade = Column[Downgrades]


def _pool_bar(row: InstanceReading) -> Bar | None:
    pool = row.servers
    full = max(pool.maximum or 0, pool.target or 0, pool.in_use)
    return Bar(full, pool.in_use, limit=pool.target) if full else None


def _instance(row: InstanceReading) -> Hashable:
    return row.inst_id


def _wait(row: WaitReading) -> Hashable:
    return row.inst_id, row.event


def _downgrade(row: Downgrades) -> Hashable:
    return row.inst_id, row.name


# fmt: off
SERVERS: Table[InstanceReading] = Table(
    "servers", "Servers by instance",
    (
        Server("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", sort=lambda row: row.inst_id,
               align="right"),
        Server("name", "Instance", 10, lambda row: row.name, "V$INSTANCE.INSTANCE_NAME.", sort=lambda row: row.name),
        Server("bar", "in use of max", 13, lambda row: count(row.servers.in_use),
               "Parallel servers in use now (V$PX_PROCESS_SYSSTAT, 'Servers In Use'); the whole width is "
               "PARALLEL_MAX_SERVERS, ┊ is PARALLEL_SERVERS_TARGET, above which statements queue. An instant.",
               sort=lambda row: row.servers.in_use, bar=_pool_bar, flexible=True),
        Server("in_use", "in use", 6, lambda row: count(row.servers.in_use),
               "Processes that work now (V$PX_PROCESS_SYSSTAT, 'Servers In Use'). An instant.",
               sort=lambda row: row.servers.in_use, align="right"),
        Server("counted", "counted", 7, lambda row: count(row.servers.counted),
               "Servers the queue counts against the target (V$RSRC_PLAN.PARALLEL_SERVERS_ACTIVE); those of statements "
               "that bypass the queue are not in it. An instant.",
               sort=lambda row: row.servers.counted, align="right"),
        Server("target", "target", 6, lambda row: count(row.servers.target), "PARALLEL_SERVERS_TARGET.",
               sort=lambda row: row.servers.target, align="right"),
        Server("maximum", "max", 5, lambda row: count(row.servers.maximum), "PARALLEL_MAX_SERVERS.",
               sort=lambda row: row.servers.maximum, align="right"),
        Server("available", "spare", 6, lambda row: count(row.servers.available),
               "Started processes without work (V$PX_PROCESS_SYSSTAT, 'Servers Available'). An instant.",
               sort=lambda row: row.servers.available, align="right", narrow=False),
        Server("highwater", "highest", 7, lambda row: count(row.servers.highwater),
               "Most servers in use at once since startup (V$PX_PROCESS_SYSSTAT, 'Servers Highwater').",
               sort=lambda row: row.servers.highwater, align="right", narrow=False),
        Server("busy", "host %", 6,
               lambda row: percent(None if row.host_busy is None else 100 * row.host_busy),
               "Percent of the host's CPU time that was busy since the last poll (V$OSSTAT, BUSY_TIME and IDLE_TIME).",
               sort=lambda row: row.host_busy, align="right", narrow=False),
    ),
    _instance, "No instances: V$INSTANCE gave no rows.",
)
WAITS: Table[WaitReading] = Table(
    "waits", "Top waits",
    (
        Wait("inst", "Inst", 4, lambda row: str(row.inst_id), "INST_ID.", sort=lambda row: row.inst_id,
             align="right"),
        Wait("event", "Wait event", 20, lambda row: row.event, "V$SYSTEM_EVENT.EVENT, idle events left out.",
             sort=lambda row: row.event, flexible=True,
             state=lambda row: "warn" if row.wait_class == "Scheduler" else ""),
        Wait("sessions", "avg sess", 8, lambda row: number(row.sessions),
             "Average sessions that waited: change of TIME_WAITED_MICRO in V$SYSTEM_EVENT since the last poll / time.",
             sort=lambda row: row.sessions, align="right"),
        Wait("per_second", "waits/s", 8, lambda row: compact(row.per_second),
             "Change of TOTAL_WAITS in V$SYSTEM_EVENT since the last poll, per second.",
             sort=lambda row: row.per_second, align="right"),
        Wait("mean", "mean ms", 8, lambda row: number(row.mean_ms),
             "Mean wait since the last poll: change of TIME_WAITED_MICRO / change of TOTAL_WAITS, in milliseconds.",
             sort=lambda row: row.mean_ms, align="right"),
        Wait("class", "class", 14, lambda row: row.wait_class, "V$SYSTEM_EVENT.WAIT_CLASS.",
             sort=lambda row: row.wait_class, narrow=False),
    ),
    _wait, "No waits since the last poll.", order="sessions", descending=True,
)
DOWNGRADES: Table[Downgrades] = Table(
    "downgrades", "Parallel operations",
    (
        Downgrade("inst", "Inst", 4, lambda row: str(row.inst_id or "all"), "INST_ID.",
                  sort=lambda row: row.inst_id, align="right"),
        Downgrade("name", "Statistic", 20, lambda row: row.name, "V$SYSSTAT.NAME.", sort=lambda row: row.name,
                  flexible=True),
        Downgrade("delta", "now", 6, lambda row: ABSENT if row.delta is None else count(row.delta),
                  "Operations since the last poll (change of V$SYSSTAT.VALUE).",
                  sort=lambda row: row.delta, align="right", state=lambda row: "warn" if row.delta else ""),
        Downgrade("total", "total*", 8, lambda row: compact(row.total), "Operations since startup (V$SYSSTAT.VALUE).",
                  sort=lambda row: row.total, align="right"),
    ),
    _downgrade, "V$SYSSTAT gave no statistics of parallel execution.",
)
