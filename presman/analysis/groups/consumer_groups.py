"""Consumer groups of a reading: one row per instance and one over all of them."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from itertools import accumulate, chain, repeat
from operator import mul
from typing import Any, NamedTuple

from msgspec import Struct

from presman.analysis.facts import cdb_plan
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import UNNAMED, Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups import counter_deltas, entitlement, session_pools
from presman.analysis.groups.counter_deltas import CounterDeltas, GroupKey, by_group, of_groups
from presman.analysis.parallel import server_pools
from presman.analysis.parallel.server_pools import ServerBudget
from presman.analysis.readings.group_readings import LIMITED, ActiveSessionPool, GroupReading, GroupTotals, Verdict
from presman.analysis.readings.reading import CLUSTER, InstanceReading
from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement
from presman.analysis.view_availability import unavailable
from presman.base.sums import added, grouped, sum_of_known
from presman.rows.group_rows import CdbPlanDirective, ConsumerGroup, CpuExhausted, GroupMetric
from presman.rows.queries import null_row
from presman.rows.session_rows import PxSession, Session
from presman.rows.session_state import is_pooled
from presman.rows.snapshot import Snapshot


class Statements(Struct, frozen=True):
    """The parallel statements, queued and running, for groups that V$RSRC_CONSUMER_GROUP does not show."""

    queue: tuple[QueuedStatement, ...]
    running: tuple[RunningStatement, ...]


class _Parallel(Struct):
    sessions: int = 0
    active: int = 0
    held: int = 0
    queued: int = 0
    waited: float | None = None


_NONE = _Parallel()


class _Counted(NamedTuple):
    """Rows and counts of the groups, by instance, container and name; `loads` by instance, then by group.

    `waits` are those for session pools, None while the database is quiesced. `seconds` is the interval of the counters,
    None without one. `is_whole` means that V$RSRC_CONSUMER_GROUP has all its columns, `has_servers` that it shows the
    servers that limits count.
    """

    rows: Mapping[GroupKey, ConsumerGroup]
    grown: Mapping[GroupKey, CounterDeltas]
    parallel: Mapping[GroupKey, _Parallel]
    waits: Mapping[GroupKey, session_pools.PoolWaits] | None
    metrics: Mapping[GroupKey, GroupMetric]
    exhausted: Mapping[GroupKey, float | None]
    loads: Mapping[int, Mapping[Key, entitlement.Load]]
    seconds: float | None
    is_whole: bool
    has_servers: bool


class _OnInstance(NamedTuple):
    """Facts that the rows of one instance share; `capacities` and `containers`, the names, are by container."""

    snapshot: Snapshot
    inst_id: int
    counted: _Counted
    frame: entitlement.Frame
    capacities: Mapping[int, float]
    containers: Mapping[int, str]
    pools: Mapping[Key, ActiveSessionPool]
    hidden: str


def groups(
    facts: Facts,
    instances: tuple[InstanceReading, ...],
    found: Statements,
    budgets: Mapping[int, ServerBudget],
    waits: Mapping[GroupKey, session_pools.PoolWaits] | None,
) -> tuple[GroupReading, ...]:
    """Return the rows of the cluster, then those of the instances if there are several.

    `waits` are those for session pools, None while the database is quiesced: then no session waits for a pool. The rows
    are the groups of the plans in force and any other with activity, ordered by guaranteed share.
    """
    counted = _counted(facts, found, waits)
    by_instance = [_instance(facts, instance, counted) for instance in instances]
    by_key = grouped(chain.from_iterable(by_instance), lambda row: (row.con_id, row.name))
    keys = sorted(by_key, key=lambda key: (-max([row.share for row in by_key[key]]), *key))
    if not keys:
        return ()
    used = [max((row.all_used for row in rows if row.all_used is not None), default=None) for rows in by_instance]
    cluster = _cluster(facts, {key: by_key[key] for key in keys}, budgets, sum_of_known(used))
    if len(instances) < 2:
        return tuple(cluster)
    rank = {key: number for number, key in enumerate(keys)}
    for rows in by_instance:
        rows.sort(key=lambda row: rank[row.con_id, row.name])
    return tuple(chain(cluster, *by_instance))


def _counted(facts: Facts, found: Statements, waits: Mapping[GroupKey, session_pools.PoolWaits] | None) -> _Counted:
    section = facts.snapshot.section(ConsumerGroup)
    rows = {} if "name" in section.absent else by_group(section.rows)
    parallel = _parallel(found)
    if not rows or "active_sessions" in section.absent:
        _count_sessions(facts, parallel)
    for group_key in waits or ():
        parallel.setdefault(group_key, _Parallel())
    metrics = {(row.inst_id, row.con_id, row.consumer_group_name): row for row in facts.snapshot.rows(GroupMetric)}
    rows_of_23 = facts.snapshot.rows(CpuExhausted)
    exhausted = {(row.inst_id, row.con_id, row.consumer_group_name): row.cpu_exhausted for row in rows_of_23}
    before, seconds = by_group(facts.deltas.before(ConsumerGroup)), facts.deltas.interval(ConsumerGroup)
    grown = of_groups(facts.deltas, rows, before)
    loads: dict[int, dict[Key, entitlement.Load]] = defaultdict(dict)
    # Without the counters of CPU there are no loads, rather than loads of 0.
    changed = facts.deltas.changed(ConsumerGroup)
    is_counted = "consumed_cpu_time" not in section.absent | changed
    milliseconds = seconds * 1000 if seconds is not None and is_counted else 0.0
    for group_key, deltas in grown.items() if milliseconds else ():
        row, sessions_before = rows[group_key], before[group_key].active_sessions
        loads[row.inst_id][row.con_id, row.name] = entitlement.Load(
            deltas.consumed_cpu_time / milliseconds,
            deltas.cpu_wait_time / milliseconds,
            row.execution_waiters,
            1.0 if "active_sessions" in changed else entitlement.lasting(sessions_before, row.active_sessions),
            exhausted.get(group_key),
        )
    has_servers = server_pools.counts_servers(facts)
    return _Counted(rows, grown, parallel, waits, metrics, exhausted, loads, seconds, not section.absent, has_servers)


def _parallel(found: Statements) -> dict[GroupKey, _Parallel]:
    """Count statements and servers by instance and group; the servers where they run, not where the QC is."""
    counts: dict[GroupKey, _Parallel] = defaultdict(_Parallel)
    for queued in found.queue:
        entry = counts[queued.inst_id, queued.con_id, queued.group]
        entry.queued += 1
        if queued.waited is not None:
            entry.waited = max(entry.waited or 0.0, queued.waited)
    for running in found.running:
        if not running.orphaned:
            counts[running.inst_id, running.con_id, running.group].active += 1
        for inst_id, number in running.servers_by_instance.items():
            counts[inst_id, running.con_id, running.group].held += number
    return dict(counts)


def _count_sessions(facts: Facts, counts: dict[GroupKey, _Parallel]) -> None:
    """Count active sessions by group, for sources without V$RSRC_CONSUMER_GROUP, without those that wait for a pool."""
    for session in facts.sessions.users:
        if session.status == "ACTIVE" and not is_pooled(session.event, session.state):
            group_key = (session.inst_id, session.con_id, facts.sessions.group_of(session))
            counts.setdefault(group_key, _Parallel()).sessions += 1


def _instance(facts: Facts, instance: InstanceReading, counted: _Counted) -> list[GroupReading]:
    inst_id, waits = instance.inst_id, counted.waits or ()
    shares = facts.division.shares[inst_id]
    named = (key for key in counted.parallel if key[2] or key in waits)
    keys = {(con_id, name) for at, con_id, name in (*counted.rows, *named) if at == inst_id}
    keys |= {key for key in shares.shares if key[1] != UNNAMED}
    con_ids = {con_id for con_id, _ in keys}
    hidden = _hidden(facts, inst_id, con_ids)
    inside, loads = facts.plans.inside is not None, counted.loads.get(inst_id, {})
    frame = entitlement.frame_of(instance, shares, loads, not hidden, inside=inside)
    capacities = {con_id: facts.plans.num_cpus(inst_id, con_id) for con_id in con_ids}
    containers = {con_id: facts.system.container_name(con_id) for con_id in con_ids}
    pools = session_pools.of_groups(facts, counted.waits, counted.rows, shares.directives, inst_id, keys)
    here = _OnInstance(facts.snapshot, inst_id, counted, frame, capacities, containers, pools, hidden)
    full = frame.full
    return [_row(here, key, entitlement.verdict(key, frame, full)) for key in keys if _is_shown(here, key)]


def _is_shown(here: _OnInstance, key: Key) -> bool:
    """Whether a group is in the plan, or has activity without being in it."""
    shares, counted = here.frame.shares, here.counted
    if key in shares.shares:
        directive = shares.directives.get(key)
        return directive is None or directive.type != "PLAN"  # not a subplan, whose groups cannot be read
    group_key = (here.inst_id, *key)
    if group_key in counted.parallel:
        return True
    row = counted.rows.get(group_key)
    if row is None:
        return False
    gauges = (row.active_sessions, row.execution_waiters, row.queue_length, row.current_pqs_active)
    return any((*gauges, row.current_pq_servers_active, row.current_pqs_queued, *counted.grown.get(group_key, ())))


def _hidden(facts: Facts, inst_id: int, con_ids: Set[int]) -> str:
    """Return why no due is known, "" if it is: a relevant plan cannot be read, or CPU is not divided per instance.

    Inside a container V$RSRC_PLAN replaces the CDB plan.
    """
    if undivided := entitlement.why_not_divided(facts, inst_id):
        return undivided
    if not any(con_id > 2 for con_id in con_ids) or facts.snapshot.rows(CdbPlanDirective):
        return ""
    return "" if cdb_plan.directives(facts.plans, inst_id) else "the CDB plan above it cannot be read"


def _why_due_unknown(here: _OnInstance, key: Key) -> str:
    """Return why a group's due is not known, "" if it is."""
    if key in here.frame.shares.shares:
        return here.hidden
    if (key[0], UNNAMED) in here.frame.shares.shares:
        of = here.containers[key[0]]
        return f"the plan{f' of {of}' if of else ''} cannot be read"
    return "no plan that can be read names it" if not here.frame.shares.shares else "the active plan does not name it"


def _row(here: _OnInstance, key: Key, verdict: Verdict) -> GroupReading:
    con_id, name = key
    frame, counted, group_key = here.frame, here.counted, (here.inst_id, *key)
    found, deltas, seconds = counted.rows.get(group_key), counted.grown.get(group_key), counted.seconds
    shares, load = frame.shares, frame.loads.get(key)
    share = shares.shares.get(key, 0.0)
    why_unknown = _why_due_unknown(here, key)
    is_throttled = verdict is Verdict.THROTTLED
    guarantee_unknown = not frame.capacity or why_unknown or verdict is Verdict.NOT_MANAGED
    due = share * frame.capacity
    claim = frame.claims.get(key)
    counts, metric = counted.parallel.get(group_key, _NONE), counted.metrics.get(group_key)
    row = found if found is not None and counted.is_whole else _with_counts(found, counts, here.snapshot)
    limit = _limit(shares.limits.get(key), metric, frame.capacity) if frame.capacity else None
    percent = shares.servers.get(key)
    # If the plan of a container cannot be read, the limit of its unnamed branch holds all its groups.
    cap = frame.capped.get(key) or frame.capped.get((con_id, UNNAMED)) if verdict in LIMITED else None
    rated = deltas if deltas is not None and seconds else None
    return GroupReading(  # in the order of its fields: keyword arguments take more than twice as long
        here.inst_id,
        con_id,
        name,
        key in shares.shares,
        load.used if load else None,
        None if load is None or verdict is Verdict.NOT_MANAGED else load.waiting,  # not counted in that case
        here.capacities[con_id],
        limit,
        share,
        None if guarantee_unknown else due if limit is None else min(due, limit),  # guaranteed
        None if claim is None or not frame.whole_plan or is_throttled else claim * frame.capacity,  # entitled
        verdict,
        row.active_sessions,
        row.execution_waiters if found else None,
        rated.yields / seconds if rated and seconds else None,
        rated.requests / seconds if rated and seconds else None,
        row.queue_length if found else None,
        counter_deltas.rates(rated, seconds) if rated and seconds else None,
        row.current_pqs_active,
        row.current_pq_servers_active,
        # The two views are not read at one instant: the larger counts, as for session pools.
        None if row.current_pqs_queued is None else max(row.current_pqs_queued, counts.queued),
        None,  # servers_limit
        None if percent is None else round(100 * percent),
        counts.waited,
        rated.cpu_waits / seconds if rated and seconds else None,
        frame.used if load else None,
        counted.exhausted.get(group_key),
        here.pools.get(key),
        here.containers[con_id],
        cap.owner if cap else "",
        cap.used if cap else None,
        cap.limit if cap else None,
        why_unknown or (f"groups outside the plan used {frame.outside:.1f} CPUs" if is_throttled else ""),  # hidden
        frame.inside,
        counters=GroupTotals((found,)),
        px_queued_minute=None if metric is None else metric.avg_queued_parallel_stmts,
        level=shares.levels.get(key),
        is_counted=counted.has_servers,
    )


def _with_counts(found: ConsumerGroup | None, counts: _Parallel, snapshot: Snapshot) -> ConsumerGroup:
    """Return a group's row. Figures that V$RSRC_CONSUMER_GROUP lacks now are counted in the session views.

    Figures that neither shows are None.
    """
    sees_holders = not unavailable(snapshot, PxSession)
    counted: dict[str, Any] = {
        "active_sessions": None if unavailable(snapshot, Session, ("status",)) else counts.sessions,
        "current_pqs_active": counts.active if sees_holders else None,
        "current_pq_servers_active": counts.held if sees_holders else None,
        "current_pqs_queued": None if unavailable(snapshot, Session, ("event",)) else counts.queued,
    }
    if found is None:
        return null_row(ConsumerGroup)._replace(**counted)
    return found._replace(**{name: counted[name] for name in counted.keys() & snapshot.section(ConsumerGroup).absent})


def _limit(fraction: float | None, metric: GroupMetric | None, capacity: float) -> float | None:
    """Return a group's limit in CPUs: the plan's, else the one in V$RSRCMGRMETRIC if it is below the capacity."""
    if fraction is not None:
        return fraction * capacity
    shown = metric.running_sessions_limit if metric else 0.0
    return shown if 0 < shown < capacity else None


_ADDED = (
    *("limit", "guaranteed", "active_sessions", "execution_waiters", "pool_queue_length"),
    *("px_active", "px_servers", "px_queued"),
)
_ADDED_WHERE_MEASURED = ("used", "waiting", "yields_per_s", "requests_per_s", "cpu_waits_per_s")
"""Figures that are summed over the instances, None if one has none; rates over the instances that have the group."""

_MOST = ("head_waited", "cpu_exhausted", "px_queued_minute")


def _cluster(
    facts: Facts, groups: Mapping[Key, list[GroupReading]], budgets: Mapping[int, ServerBudget], together: float | None
) -> Iterable[GroupReading]:
    """Return each group's row over all instances that have it; figures are computed for all groups at once."""
    limits = [server_pools.known_group_limit(key, facts, budgets, rows[0].inst_id) for key, rows in groups.items()]
    wholes = [budgets.get(con_id) if con_id > ROOT else None for con_id, _ in groups]
    columns: dict[str, Iterable[Any]] = _by_field(rows[0] for rows in groups.values())._asdict() | {
        "inst_id": repeat(CLUSTER),
        "servers_limit": [limit.servers for limit in limits],
        "servers_limit_percent": [limit.percent for limit in limits],
        "limit_view": [limit.why_unknown for limit in limits],
        "all_used": repeat(together),
        "container_servers": [whole.target if whole is not None else None for whole in wholes],
    }
    if any(len(rows) > 1 for rows in groups.values()):
        columns |= _sums(groups.values())
    return map(GroupReading._make, zip(*columns.values(), strict=False))  # some are endless


def _sums(groups: Collection[Sequence[GroupReading]]) -> dict[str, Iterable[Any]]:
    """Return the sums over the instances, None if one of them has none; for rates over those that have the group."""
    each = measured = _values(groups)
    if not all(row.is_listed() for rows in groups for row in rows):
        # An instance without a row of the group in V$RSRC_CONSUMER_GROUP adds nothing.
        measured = _values([[row for row in rows if row.is_listed()] or rows for rows in groups])
    found: dict[str, Iterable[Any]] = {name: list(map(added, each(name))) for name in _ADDED}
    found |= {name: list(map(added, measured(name))) for name in _ADDED_WHERE_MEASURED}
    found |= {name: map(sum_of_known, each(name)) for name in ("limit_used", "limit_allowed")}
    found |= {
        name: [max((value for value in values if value is not None), default=None) for values in each(name)]
        for name in _MOST
    }
    capacities, verdicts = each("capacity"), measured("verdict")
    entitled = map(entitlement.together, measured("entitled"), verdicts)
    return found | {
        "in_plan": map(any, each("in_plan")),
        "capacity": map(sum, capacities),
        "share": map(_mean_share, each("share"), capacities),
        "entitled": [None if used is None else cpus for used, cpus in zip(found["used"], entitled, strict=True)],
        "verdict": map(entitlement.worst, verdicts),
        "io": [None if None in parts else counter_deltas.together(parts) for parts in measured("io")],
        "counters": [GroupTotals(tuple(chain(*[part.rows for part in parts]))) for parts in each("counters")],
        "pool": map(session_pools.together, each("pool"), each("inst_id")),
        "limited_by": map(_first_reached, each("limited_by"), each("limit_allowed")),
    }


def _values(groups: Collection[Sequence[GroupReading]]) -> Callable[[str], list[tuple[Any, ...]]]:
    """Return a function that returns the values of each group in a field."""
    columns, ends = _by_field(chain.from_iterable(groups)), list(accumulate(map(len, groups)))
    spans = list(map(slice, [0, *ends], ends))
    return lambda name: [getattr(columns, name)[span] for span in spans]


def _by_field(rows: Iterable[GroupReading]) -> Any:
    """Return the values of all rows in each field, under its name."""
    return GroupReading._make(zip(*rows, strict=True))


def _mean_share(shares: Sequence[float], capacities: Sequence[float]) -> float:
    """Return the mean share: shares are of each instance's CPUs, so it is weighted by these."""
    capacity = sum(capacities)
    return sum(map(mul, shares, capacities)) / capacity if capacity else shares[0]


def _first_reached(owners: Iterable[str], allowed: Iterable[float | None]) -> str:
    """Return the owner of the first limit that is reached on an instance, "" without one."""
    return next((owner for owner, cpus in zip(owners, allowed, strict=True) if cpus is not None), "")
