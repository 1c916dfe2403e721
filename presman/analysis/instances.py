"""Instances: the top line, the kind of database, its plan and what the plan manages. Unknown parts are left out."""

import math
from collections.abc import Iterable, Mapping, Sequence

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.reading import Header, InstanceReading, ServerPool
from presman.base.sums import added
from presman.rows.instance_rows import SEED, Database, Instance, Osstat, Pdb, SystemEvent


def host_busy(facts: Facts) -> dict[int, float]:
    """Return the busy fraction (0..1) of each instance's host since the last poll."""
    before = {(row.inst_id, row.stat_name): row.value for row in facts.deltas.counters_before(Osstat)}
    grown = {key: now - before[key] for key, now in facts.system.osstat.items() if key in before and now >= before[key]}
    found: dict[int, float] = {}
    for inst_id in facts.system.inst_ids:
        # A missing statistic is NaN, which no comparison lets through.
        busy, idle = (grown.get((inst_id, name), math.nan) for name in ("BUSY_TIME", "IDLE_TIME"))
        if 0 < busy + idle < math.inf:
            found[inst_id] = busy / (busy + idle)
    return found


def instances(facts: Facts, pools: Mapping[int, ServerPool]) -> tuple[InstanceReading, ...]:
    """Return one reading per instance, in order."""
    busy = host_busy(facts)
    return tuple(_instance(facts, inst_id, pools[inst_id], busy.get(inst_id)) for inst_id in facts.system.inst_ids)


def _instance(facts: Facts, inst_id: int, pool: ServerPool, busy: float | None) -> InstanceReading:
    row, plan = facts.system.instances.get(inst_id), facts.plans.top_rows.get(inst_id)
    started = row.startup_time if row else None
    return InstanceReading(
        inst_id=inst_id,
        name=row.instance_name if row else "",
        host=row.host_name if row else "",
        started=started,
        plan=facts.plans.plan_of(inst_id, plan.con_id if plan else 0),
        cpu_managed=plan.cpu_managed if plan else "",
        caging=plan.instance_caging if plan else "",
        px_managed=plan.parallel_execution_managed if plan else "",
        num_cpus=facts.plans.num_cpus(inst_id) or None,
        host_cpus=facts.system.host_cpus(inst_id),
        host_busy=busy,
        load=facts.system.osstat.get((inst_id, "LOAD")),
        servers=pool,
        uptime=None if started is None else max(0.0, (facts.snapshot.at - started).total_seconds()),
    )


def header(facts: Facts, found: tuple[InstanceReading, ...], cluster: ServerPool) -> Header:
    """Return the header; values that cannot be read are "" or None."""
    database, snapshot = facts.system.database, facts.snapshot
    events = snapshot.rows(SystemEvent)
    first = found[0] if found else None
    instance = facts.system.instances.get(first.inst_id) if first else None
    plan = facts.plans.top_rows.get(first.inst_id) if first else None
    window = facts.deltas.windows.get((first.inst_id, plan.con_id if plan else 0)) if first else None
    return Header(
        database=(database.name or database.db_unique_name) if database else "",
        version=instance.version if instance else "",
        role=database.database_role if database else "",
        cdb=facts.system.cdb,
        container=container_of(snapshot.rows(Pdb)) if facts.system.cdb else "",
        instances=found,
        plan=first.plan if first else "",
        plan_since=window.start if window else None,
        cpu_managed=first.cpu_managed if first else "",
        caging=first.caging if first else "",
        px_managed=first.px_managed if first else "",
        num_cpus=added(each.num_cpus for each in found) or None,
        servers=cluster,
        uptime=min((each.uptime for each in found if each.uptime is not None), default=None),
        mixed_plans=len(_plans(facts, found)) > 1,
        exadata=on_exadata(events),
        autonomous=facts.plans.autonomous,
        nature=database_kind(
            snapshot.rows(Database), snapshot.rows(Instance), snapshot.rows(Pdb), events, snapshot.cloud_service
        ),
        idle_blocker_minutes=facts.system.parameters.number(first.inst_id, "max_idle_blocker_time") if first else None,
        plan_starts=facts.deltas.plan_starts(),
    )


def _plans(facts: Facts, found: Iterable[InstanceReading]) -> set[str]:
    """Return the plans of the instances, without those that V$RSRC_PLAN does not show although it shows others."""
    shown = facts.plans.top_rows
    return {each.plan for each in found if each.inst_id in shown or not shown}


ROOT = "CDB$ROOT"


def container_of(pdbs: Sequence[Pdb]) -> str:
    """Return the container connected to: a pluggable database sees only itself in V$PDBS, the root sees the seed."""
    return pdbs[0].name if len({row.con_id for row in pdbs}) == 1 and pdbs[0].con_id > SEED else ROOT


def on_exadata(events: Iterable[SystemEvent]) -> bool:
    """Whether storage cells answered: their waits begin with "cell" and are counted nowhere else (V$SYSTEM_EVENT)."""
    return any(row.event.startswith("cell ") and (row.total_waits or 0) > 0 for row in events)


def database_kind(
    databases: Sequence[Database],
    instances: Sequence[Instance],
    pdbs: Sequence[Pdb],
    events: Iterable[SystemEvent],
    cloud_service: str = "",
) -> tuple[str, ...]:
    """Return the words for the kind of a database, read from its views.

    Containers: V$DATABASE.CDB and V$PDBS. RAC: V$INSTANCE.PARALLEL, or several instances. Exadata: waits for storage
    cells; left out as long as there are none. Autonomous: `cloud_service`, which is SYS_CONTEXT's CLOUD_SERVICE.
    """
    words = []
    if databases:
        in_root = container_of(pdbs) == ROOT
        words.append("non-CDB" if databases[0].cdb != "YES" else "CDB root" if in_root else "PDB")
    if len({row.inst_id for row in instances}) > 1 or any(row.parallel == "YES" for row in instances):
        words.append("RAC")
    if on_exadata(events):
        words.append("Exadata")
    if cloud_service:
        words.append(f"Autonomous Database ({cloud_service})")
    return tuple(words)
