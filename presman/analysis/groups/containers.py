"""The pluggable databases side by side: CPU, I/O, parallel servers, memory, what the CDB plan gives them.

Made from V$RSRC_PDB and V$RSRCPDBMETRIC, whose window is the CDB plan's and so the same for all containers;
V$RSRC_CONSUMER_GROUP restarts with each container's own plan and is never summed here. Made only while somebody looks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.facts.cdb_plan import Allotment, whole_servers
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch, Key, PlanShares
from presman.analysis.groups import container_io, entitlement
from presman.analysis.groups.container_io import grown_counters, grown_io
from presman.analysis.groups.counter_deltas import together
from presman.analysis.groups.entitlement import held_by_own_limits
from presman.analysis.readings.group_readings import IoRates, IoVerdict, Verdict, demand, throttled_percent
from presman.analysis.readings.instance_readings import CLUSTER, InstanceReading
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import UsageTotals
from presman.analysis.totals import together_used, usage_of_container
from presman.rows.conversion import null_row
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import SEED, PdbCpuExhausted, PdbMetric, RsrcPdb
from presman.rows.snapshot import Snapshot


class PdbReading(Struct, frozen=True):
    """One container on one instance, or on the cluster (`inst_id` 0).

    CPUs as in a group's reading. `shares` are those of the CDB plan, `share` the guaranteed minimum as a fraction,
    `servers_limit` its parallel servers. `io` is per second since the last poll; `io_throttle_ms` the milliseconds each
    I/O was held back on average in the last full minute, None before 18; `iops_limit` and `mb_limit` are its MAX_IOPS
    and MAX_MBPS (on each instance), None without; `io_verdict` says what they do. `cpu_exhausted` is percent of the
    last full minute, None before 23; `all_used` is the CPUs of all containers together. Bytes are gauges. `plan` is
    its own plan, "" without one. `limited_by` names the groups inside whose own limits hold it, with the CPUs they use
    and may use (`limit_used`, `limit_allowed`), "" where none do. `usage` are its counters as they stand, None before
    12.2. `doubt` is why its CPU is judged by no rule.
    """

    inst_id: int
    con_id: int
    name: str
    plan: str
    shares: int | None
    share: float
    used: float | None
    waiting: float | None
    capacity: float
    limit: float | None
    guaranteed: float | None
    entitled: float | None
    verdict: Verdict
    io: IoRates | None
    io_throttle_ms: float | None
    iops_limit: int | None
    mb_limit: int | None
    sessions: int
    active_sessions: int
    px_active: int
    px_servers: int
    px_queued: int
    servers_limit: int | None
    sga_bytes: int | None
    pga_bytes: int | None
    execution_waiters: int = 0
    io_verdict: IoVerdict = IoVerdict.UNKNOWN
    cpu_exhausted: float | None = None
    all_used: float | None = None
    limited_by: str = ""
    limit_used: float | None = None
    limit_allowed: float | None = None
    hidden: str = ""
    inside: bool = False
    usage: UsageTotals | None = None
    doubt: str = ""

    @property
    def wanted(self) -> float | None:
        """CPUs wanted: used + waiting."""
        return demand(self.used, self.waiting)

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait."""
        return throttled_percent(self.used, self.waiting)


def pdbs(reading: Reading, previous: Snapshot | None, current: Snapshot) -> tuple[PdbReading, ...]:
    """Return the containers of the cluster, then those of each instance where there are several; by CON_ID.

    Empty where this is no container database. V$RSRC_PDB came with 12.2: before, only what the plan gives is known.
    """
    if not reading.header.cdb:
        return ()
    facts = Facts.of(previous, current)
    apart = [
        replace(row, **held_by_own_limits(reading.instance_groups(row.inst_id), row.con_id, row.waiting))
        for instance in reading.header.instances
        for row in _instance(facts, instance)
    ]
    by_container: dict[int, list[PdbReading]] = {}
    for row in apart:
        by_container.setdefault(row.con_id, []).append(row)
    cluster = [_together(rows) for _, rows in sorted(by_container.items())]
    return tuple(cluster + (apart if len(reading.header.instances) > 1 else []))


def io_limited(rows: tuple[PdbReading, ...]) -> tuple[PdbReading, ...]:
    """Return the rows with I/O limits, those of instances where there are several: a limit holds on each of them."""
    apart = tuple(row for row in rows if row.inst_id != CLUSTER)
    return tuple(row for row in apart or rows if row.iops_limit is not None or row.mb_limit is not None)


def _instance(facts: Facts, instance: InstanceReading) -> list[PdbReading]:
    inst_id = instance.inst_id
    rows = {
        row.con_id: row
        for row in facts.snapshot.rows(RsrcPdb)
        if row.inst_id == inst_id and row.con_id > SEED and not facts.system.is_closed(inst_id, row.con_id)
    }
    names = {con_id: row.pdb_name for con_id, row in rows.items()} | dict(facts.system.open_pdbs(inst_id))
    given = facts.division.allotments(inst_id)
    shares = PlanShares.of(_tree(names, given))
    grown = grown_counters(facts, inst_id)
    seconds = facts.deltas.interval(RsrcPdb)
    lasting = _lasting(facts, inst_id)
    exhausted = {
        row.con_id: row.cpu_exhausted for row in facts.snapshot.rows(PdbCpuExhausted) if row.inst_id == inst_id
    }
    loads = {
        (con_id, names[con_id]): entitlement.Load(
            deltas.consumed_cpu_time / 1000 / seconds,
            deltas.cpu_wait_time / 1000 / seconds,
            lasting=lasting.get(con_id, 1.0),
            exhausted=exhausted.get(con_id),
        )
        for con_id, deltas in grown.items()
        if seconds and con_id in names
    }
    hidden = _hidden(facts, inst_id)
    frame = entitlement.frame_of(instance, shares, loads, not hidden)
    metrics = {row.con_id: row for row in facts.snapshot.rows(PdbMetric) if row.inst_id == inst_id}
    found, no_row, no_metric = [], null_row(RsrcPdb), null_row(PdbMetric)
    for con_id, name in sorted(names.items()):
        deltas = grown.get(con_id) if seconds else None
        io = grown_io(facts, deltas, seconds)
        counters, metric = rows.get(con_id, no_row), metrics.get(con_id, no_metric)
        row = _row(facts, inst_id, (con_id, name), frame, counters, metric)
        row = replace(row, io=io, shares=given[con_id].shares if con_id in given else None, hidden=hidden)
        row = replace(row, guaranteed=None) if hidden == entitlement.SERVER_WIDE else row
        used = usage_of_container(rows.get(con_id))
        found.append(
            replace(row, io_verdict=container_io.verdict(row), cpu_exhausted=exhausted.get(con_id), usage=used)
        )
    return found


def _hidden(facts: Facts, inst_id: int) -> str:
    """Return why no container's due is known, "" if it is."""
    if facts.plans.server_wide(inst_id):
        return entitlement.SERVER_WIDE
    if facts.plans.inside is not None:
        return "what other containers want cannot be seen from inside one"
    return "" if facts.division.cdb_directives(inst_id) else "the CDB plan cannot be read"


def _tree(names: Mapping[int, str], given: Mapping[int, Allotment]) -> Branch:
    branches = []
    for con_id, name in names.items():
        own = given.get(con_id, Allotment())
        cap = f"{name} ({own.limited_by})"
        branches.append(Branch(name, (own.weight,), (con_id, name), own.limit, own.servers, cap=cap))
    return Branch("", (100.0,), by_weight=True, branches=tuple(branches))


def _lasting(facts: Facts, inst_id: int) -> dict[int, float]:
    """Return the part of each container's active sessions that were there before and are now."""
    before, now = Counter[int](), Counter[int]()
    for found, rows in ((before, facts.deltas.before(ConsumerGroup)), (now, facts.snapshot.rows(ConsumerGroup))):
        for row in rows:
            if row.inst_id == inst_id:
                found[row.con_id] += row.active_sessions
    return {con_id: entitlement.lasting(before[con_id], sessions) for con_id, sessions in now.items()}


def _row(facts: Facts, inst_id: int, key: Key, frame: entitlement.Frame, row: RsrcPdb, metric: PdbMetric) -> PdbReading:
    con_id, name = key
    load, limit = frame.loads.get(key), frame.shares.limits.get(key)
    share = frame.shares.shares.get(key, 0.0)
    most = None if limit is None else limit * frame.capacity
    claim = frame.claims.get(key)
    counts = [each for each in facts.sessions.counts if (each.inst_id, each.con_id) == (inst_id, con_id)]
    target = facts.system.parameters.number(inst_id, "parallel_servers_target")
    most_requests, most_mb = container_io.limits_of(facts, inst_id, con_id)
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
        guaranteed=share * frame.capacity if most is None else min(share * frame.capacity, most),
        entitled=claim * frame.capacity if claim is not None and frame.whole_plan else None,
        verdict=entitlement.verdict(key, frame, frame.full),
        io=None,
        io_throttle_ms=metric.avg_io_throttle,
        iops_limit=most_requests,
        mb_limit=most_mb,
        sessions=sum(each.sessions for each in counts),
        active_sessions=sum(each.sessions for each in counts if each.status == "ACTIVE"),
        px_active=row.current_pqs_active,
        px_servers=row.current_pq_servers_active,
        px_queued=row.current_pqs_queued,
        servers_limit=by_plan if metric.parallel_servers_limit is None else metric.parallel_servers_limit,
        sga_bytes=row.sga_bytes,
        pga_bytes=row.pga_bytes,
        all_used=frame.used if load else None,
    )


def _together(rows: list[PdbReading]) -> PdbReading:
    """Return a container's row over the instances on which it is open; rates only where each of them has one.

    One of which V$RSRC_PDB has no row adds nothing to them.
    """
    first = rows[0]
    there = [row for row in rows if row.usage is not None] or rows
    capacity = sum(row.capacity for row in rows)
    ios = [row.io for row in there if row.io is not None]
    claims = [row.entitled for row in there if row.entitled is not None]
    throttles = [row.io_throttle_ms for row in rows if row.io_throttle_ms is not None]
    return replace(
        first,
        inst_id=CLUSTER,
        share=sum(row.share * row.capacity for row in rows) / capacity if capacity else first.share,
        used=_sum(row.used for row in there),
        waiting=_sum(row.waiting for row in there),
        capacity=capacity,
        limit=_sum(row.limit for row in rows),
        guaranteed=_sum(row.guaranteed for row in rows),
        entitled=sum(claims) if claims else None,
        verdict=entitlement.worst(row.verdict for row in rows),
        io=together(ios) if len(ios) == len(there) else None,
        io_throttle_ms=max(throttles, default=None),
        io_verdict=container_io.worst(row.io_verdict for row in rows),
        cpu_exhausted=max([row.cpu_exhausted for row in rows if row.cpu_exhausted is not None], default=None),
        sessions=sum(row.sessions for row in rows),
        active_sessions=sum(row.active_sessions for row in rows),
        px_active=sum(row.px_active for row in rows),
        px_servers=sum(row.px_servers for row in rows),
        px_queued=sum(row.px_queued for row in rows),
        servers_limit=max((row.servers_limit for row in rows if row.servers_limit is not None), default=None),
        all_used=_sum(row.all_used for row in there),
        **_together_limited(rows),
        sga_bytes=_whole(row.sga_bytes for row in rows),
        pga_bytes=_whole(row.pga_bytes for row in rows),
        usage=together_used([row.usage for row in there]),
    )


def _together_limited(rows: list[PdbReading]) -> dict[str, str | float | None]:
    """Return the limits of groups that hold a container on some instances, where they are the same ones."""
    held = [row for row in rows if row.limited_by]
    if len({row.limited_by for row in held}) != 1:
        return {"limited_by": "", "limit_used": None, "limit_allowed": None}
    return {
        "limited_by": held[0].limited_by,
        "limit_used": _sum(row.limit_used for row in held),
        "limit_allowed": _sum(row.limit_allowed for row in held),
    }


def _sum(values: Iterable[float | None]) -> float | None:
    known = list(values)
    return None if None in known else sum(value for value in known if value is not None)


def _whole(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
