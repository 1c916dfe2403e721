"""Pluggable databases side by side: CPU, I/O with its limits, servers, memory, and their part by the CDB plan.

The data comes from V$RSRC_PDB and V$RSRCPDBMETRIC. Their window is the CDB plan's and so the same for all containers;
V$RSRC_CONSUMER_GROUP restarts with each container's own plan and is never summed here. The rows are built only while a
page shows them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from presman.analysis.facts.cdb_plan import BY_MINIMUM, Allocation, directives, whole_servers
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch, Key, PlanShares
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups import entitlement
from presman.analysis.groups.container_io import grown_io, held_by, io_verdict, limits_of, worst_io
from presman.analysis.groups.counter_deltas import of_containers, together
from presman.analysis.groups.entitlement import held_by_own_limits, slack
from presman.analysis.readings.container_readings import MissedMinimum, PdbReading
from presman.analysis.readings.group_readings import GroupReading, Verdict
from presman.analysis.readings.reading import CLUSTER, InstanceReading, Reading
from presman.analysis.totals import together_used, usage_of_container
from presman.analysis.view_availability import unavailable
from presman.base.sums import added, grouped, sum_of_known, summed
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import SEED, PdbCpuExhausted, PdbMetric, RsrcPdb
from presman.rows.queries import null_row
from presman.rows.snapshot import Snapshot


def pdbs(reading: Reading, previous: Snapshot | None, current: Snapshot) -> tuple[PdbReading, ...]:
    """Return the containers of the cluster, then those of each instance if there are several; by CON_ID.

    Empty if this is no container database. Before 12.2, which introduced V$RSRC_PDB, only the parts by the plan are
    known.
    """
    if not reading.header.cdb:
        return ()
    facts = Facts.of(previous, current)
    least = {(each.inst_id, each.con_id): each.least for each in reading.missed_minimums}
    rows = [row for instance in reading.header.instances for row in _instance(facts, instance)]
    rows = [_by_its_groups(row, reading.instance_groups(row.inst_id)) for row in rows]
    rows = [replace(row, missed_minimum=least.get((row.inst_id, row.con_id))) for row in rows]
    cluster = [_together(same) for _, same in sorted(grouped(rows, lambda row: row.con_id).items())]
    return tuple(cluster + (rows if len(reading.header.instances) > 1 else []))


def _by_its_groups(row: PdbReading, groups: Sequence[GroupReading]) -> PdbReading:
    """Return a container with the results of its groups: limits inside that hold it, and what these leave to others.

    If V$RSRC_PDB does not show activity, that of its groups is used. The plan's tree also sums the CPU that groups are
    due: if it is known for all of them, that figure is used.
    """
    members = [group for group in groups if group.con_id == row.con_id]
    due = None if row.entitled is None else sum_of_known([group.entitled for group in members])
    due = row.entitled if due is None else due if row.limit is None else min(due, row.limit)
    found = replace(row, entitled=due, **held_by_own_limits(members, row.waiting))
    if row.usage is not None or not members:
        return found
    servers = added(group.px_servers if group.is_counted else None for group in members)
    active, queued = (added(getattr(group, name) for group in members) for name in ("px_active", "px_queued"))
    return replace(found, px_active=active, px_servers=servers, px_queued=queued)


def _instance(facts: Facts, instance: InstanceReading) -> list[PdbReading]:
    inst_id = instance.inst_id
    here = (row for row in facts.snapshot.rows(RsrcPdb) if row.inst_id == inst_id and row.con_id > SEED)
    rows = {row.con_id: row for row in here if not facts.system.is_closed(inst_id, row.con_id)}
    names = {con_id: row.pdb_name for con_id, row in rows.items()} | dict(facts.system.open_pdbs(inst_id))
    grown = of_containers(facts, inst_id)
    exhausted = _exhausted(facts, inst_id)
    hidden, given = _hidden(facts, inst_id), facts.division.allocations(inst_id)
    frame = entitlement.frame_of(instance, PlanShares.of(_tree(names, given)), loads(facts, inst_id, names), not hidden)
    metrics = {row.con_id: row for row in facts.snapshot.rows(PdbMetric) if row.inst_id == inst_id}
    found, no_metric, doubt = [], null_row(PdbMetric), unavailable(facts.snapshot, RsrcPdb)
    for con_id, name in sorted(names.items()):
        row = _row(facts, inst_id, (con_id, name), frame, rows.get(con_id), metrics.get(con_id, no_metric))
        io, shares = grown_io(facts, grown.get(con_id)), given[con_id].shares if con_id in given else None
        row = replace(row, io=io, shares=shares, hidden=hidden, cpu_exhausted=exhausted.get(con_id))
        found.append(replace(row, io_verdict=io_verdict(row), doubt=doubt))
    return found


def loads(facts: Facts, inst_id: int, names: Mapping[int, str]) -> dict[Key, entitlement.Load]:
    """Return the CPU that containers used and waited for on an instance since the last poll."""
    grown, seconds = of_containers(facts, inst_id), facts.deltas.interval(RsrcPdb)
    lasting, exhausted = _lasting(facts, inst_id), _exhausted(facts, inst_id)
    return {
        (con_id, names[con_id]): entitlement.Load(
            deltas.consumed_cpu_time / 1000 / seconds,
            deltas.cpu_wait_time / 1000 / seconds,
            lasting=lasting.get(con_id, 1.0),
            exhausted=exhausted.get(con_id),
        )
        for con_id, deltas in grown.items()
        if seconds and con_id in names
    }


def _exhausted(facts: Facts, inst_id: int) -> dict[int, float | None]:
    return {row.con_id: row.cpu_exhausted for row in facts.snapshot.rows(PdbCpuExhausted) if row.inst_id == inst_id}


def _hidden(facts: Facts, inst_id: int) -> str:
    """Return why no container's due is known, "" if it is."""
    if undivided := entitlement.why_not_divided(facts, inst_id):
        return undivided
    if facts.plans.inside is not None:
        return "what other containers want cannot be seen from inside one"
    return "" if directives(facts.plans, inst_id) else "the CDB plan cannot be read"


def _tree(names: Mapping[int, str], given: Mapping[int, Allocation]) -> Branch:
    branches = []
    for con_id, name in names.items():
        each = given.get(con_id, Allocation())
        cap = f"{name} ({each.limited_by})"
        branches.append(Branch(name, (each.weight,), (con_id, name), each.limit, each.servers, cap=cap))
    return Branch("", (100.0,), by_weight=True, branches=tuple(branches))


def _lasting(facts: Facts, inst_id: int) -> dict[int, float]:
    """Return the part of each container's active sessions that were there before and still are, as far as known."""
    if "active_sessions" in facts.deltas.changed(ConsumerGroup):
        return {}
    both = (facts.deltas.before(ConsumerGroup), facts.snapshot.rows(ConsumerGroup))
    before, now = (summed((row.con_id, row.active_sessions) for row in rows if row.inst_id == inst_id) for rows in both)
    return {con_id: entitlement.lasting(before.get(con_id, 0), sessions) for con_id, sessions in now.items()}


def _row(
    facts: Facts, inst_id: int, key: Key, frame: entitlement.Frame, seen: RsrcPdb | None, metric: PdbMetric
) -> PdbReading:
    con_id, name = key
    row = seen or null_row(RsrcPdb)
    load, limit = frame.loads.get(key), frame.shares.limits.get(key)
    share = frame.shares.shares.get(key, 0.0)
    most = None if limit is None else limit * frame.capacity
    due = share * frame.capacity if most is None else min(share * frame.capacity, most)
    claim = frame.claims.get(key)
    counts = [each for each in facts.sessions.counts if (each.inst_id, each.con_id) == (inst_id, con_id)]
    target = facts.system.parameters.number(inst_id, "parallel_servers_target")
    most_requests, most_mb = limits_of(facts, inst_id, con_id)
    servers = frame.shares.servers.get(key)
    by_plan = None if servers is None or target is None else whole_servers(servers, target)
    return PdbReading(
        inst_id=inst_id,
        con_id=con_id,
        name=name,
        plan=facts.plans.plan_of(inst_id, con_id),
        shares=None,
        share=share,
        used=load.used if load else None,
        waiting=load.waiting if load else None,
        capacity=frame.capacity,
        limit=most,
        guaranteed=None if facts.plans.server_wide(inst_id) else due,
        entitled=claim * frame.capacity if claim is not None and frame.whole_plan else None,
        verdict=entitlement.verdict(key, frame, frame.full),
        io=None,
        io_throttle_ms=metric.avg_io_throttle,
        iops_limit=most_requests,
        mb_limit=most_mb,
        sessions=sum(each.sessions for each in counts),
        active_sessions=sum(each.sessions for each in counts if each.status == "ACTIVE"),
        px_active=None if seen is None else seen.current_pqs_active,
        px_servers=None if seen is None else seen.current_pq_servers_active,
        px_queued=None if seen is None else seen.current_pqs_queued,
        servers_limit=by_plan if metric.parallel_servers_limit is None else metric.parallel_servers_limit,
        sga_bytes=row.sga_bytes,
        pga_bytes=row.pga_bytes,
        all_used=frame.used if load else None,
        usage=usage_of_container(seen),
        held_by=held_by(metric, most_requests, most_mb),
    )


_ADDED = ("limit", "guaranteed", "sessions", "active_sessions", "px_active", "px_servers", "px_queued")
_ADDED_WHERE_COUNTED = ("used", "waiting", "all_used")
"""Figures that are summed over the instances if each has one; these over the instances that V$RSRC_PDB counts."""

_MOST = ("io_throttle_ms", "cpu_exhausted", "servers_limit", "missed_minimum")


def _together(rows: list[PdbReading]) -> PdbReading:
    """Return a container's row over the instances on which it is open; rates only if each of them has one.

    An instance without a row in V$RSRC_PDB adds nothing to them. Group limits that hold it on some instances count for
    the whole if they are the same ones.
    """

    def each(name: str, of: Sequence[PdbReading] = rows) -> list[Any]:
        return [getattr(row, name) for row in of]

    measured = [row for row in rows if row.usage is not None] or rows
    held = [row for row in rows if row.limited_by]
    capacity, ios = sum(each("capacity")), [row.io for row in measured if row.io is not None]
    found: dict[str, Any] = {name: added(each(name)) for name in _ADDED}
    found |= {name: added(each(name, measured)) for name in _ADDED_WHERE_COUNTED}
    found |= {name: sum_of_known(each(name)) for name in ("entitled", "sga_bytes", "pga_bytes")}
    found |= {"entitled": None} if found["used"] is None else {}
    found |= {name: max((value for value in each(name) if value is not None), default=None) for name in _MOST}
    if len({row.limited_by for row in held}) == 1:
        found |= {name: added(each(name, held)) for name in ("limit_used", "limit_allowed")}
    else:
        found |= {"limited_by": "", "limit_used": None, "limit_allowed": None}
    return replace(
        rows[0],
        inst_id=CLUSTER,
        capacity=capacity,
        share=sum(row.share * row.capacity for row in rows) / capacity if capacity else rows[0].share,
        verdict=entitlement.worst(each("verdict", measured)),
        io=together(ios) if len(ios) == len(measured) else None,
        io_verdict=worst_io(each("io_verdict")),
        usage=together_used(each("usage", measured)),
        held_by=max(rows, key=lambda row: row.io_throttle_ms or 0.0).held_by,
        **found,
    )


# ---- Missed CPU_MIN_COUNT: it applies if the CDB plan has no rule about CPU, and the minima may add up to more CPUs
# than there are (Database Reference 19: CPU_MIN_COUNT, over-provisioning).


def missed_minimums(facts: Facts) -> tuple[MissedMinimum, ...]:
    """Return the open containers that wait for CPU while they get less than the minimum they set themselves.

    Empty if the minima add up to no more than there is: then each gets its own, and one that does not is starved.
    """
    return tuple(each for inst_id in facts.system.inst_ids for each in _on_instance(facts, inst_id))


def with_minimums(rows: Sequence[GroupReading], missed: Iterable[MissedMinimum]) -> tuple[GroupReading, ...]:
    """Return the groups with the CPU_MIN_COUNT that their container misses, if they wait and get their share."""
    least = {(inst_id, each.con_id): each.least for each in missed for inst_id in (CLUSTER, each.inst_id)}
    if not least:
        return tuple(rows)
    waits = {Verdict.CONTENDED, Verdict.CAGED}
    return tuple(
        row._replace(missed_minimum=least.get((row.inst_id, row.con_id))) if row.verdict in waits else row
        for row in rows
    )


def _on_instance(facts: Facts, inst_id: int) -> Iterable[MissedMinimum]:
    names, cpus = facts.system.open_pdbs(inst_id), facts.plans.num_cpus(inst_id)
    given = {con_id: each for con_id, each in facts.division.allocations(inst_id).items() if con_id in names}
    in_force = facts.plans.cpu_managed(inst_id, ROOT) and not facts.plans.server_wide(inst_id)
    minima = sum(each.weight for each in given.values() if each.weighed_by == BY_MINIMUM)
    if not in_force or minima <= cpus:
        return
    seen = loads(facts, inst_id, names)
    for con_id, name in names.items():
        least = facts.system.parameters.amount(inst_id, con_id, "cpu_min_count")
        load = seen.get((con_id, name))
        if least is None or load is None:
            continue
        most = given[con_id].limit  # a limit below the minimum holds it, however little others use
        due = load.due(least if most is None else min(least, most * cpus))
        if due - load.used > slack(due):
            yield MissedMinimum(inst_id, con_id, name, load.used, least, minima, cpus)
