"""Pools of parallel servers, and how many of them a consumer group may hold."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from presman.analysis.facts.cdb_plan import percent_fraction, whole_servers
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.reading import CLUSTER, ServerPool
from presman.analysis.readings.statement_readings import NotKnown
from presman.analysis.view_availability import unavailable, view_of, without_rows
from presman.base.formats import as_of, counted
from presman.base.release import Release
from presman.base.sums import added, summed
from presman.rows.group_rows import CdbPlanDirective, ConsumerGroup, GroupMetric, RsrcPlan
from presman.rows.instance_rows import SEED, Instance, Parameter, PdbMetric, RsrcPdb
from presman.rows.queries import RecordType
from presman.rows.session_rows import PxProcess, PxProcessSysstat, PxSession
from presman.rows.session_state import serves_gv

DIFFERENT_PLANS = "the instances run different plans"

OWN_TARGETS = Release(12, 2)
"""The first release in which a container has its own PARALLEL_SERVERS_TARGET, set or by default (Reference)."""


class ServerBudget(NamedTuple):
    """Servers that the queue counts: `in_use` of a `target`; either is None if it cannot be read.

    `where` names the instances (`inst_ids`) in words; it is "" and `inst_ids` empty for all. `instances` is the number
    of instances whose targets are added up. `age` is how old the servers in use are, None if they are of the poll.
    `left` is how many servers, counted or not, the instances have left of their `maximum` (PARALLEL_MAX_SERVERS), at
    least; `shows_maximum` is the view that shows it.
    """

    in_use: int | None
    target: int | None
    where: str = ""
    inst_ids: tuple[int, ...] = ()
    instances: int = 1
    age: float | None = None
    left: float = inf
    maximum: int | None = None
    shows_maximum: str = ""

    @property
    def used(self) -> str:
        """The servers in use of the target, in words."""
        added_up = f" (the targets of {self.instances} instances added up)" if self.instances > 1 else ""
        words = f"{self.in_use} of the target's {self.target}{self.where} are in use"
        return f"{as_of(words, self.age)}{added_up}"

    @property
    def free(self) -> int | None:
        """Servers left below the target; negative if statements that bypass the queue exceed it."""
        return None if self.in_use is None or self.target is None else self.target - self.in_use


class ServerLimit(NamedTuple):
    """Servers `held` of those `allowed` to a group or a container, and what that limit is a part of.

    `con_id` is the container's; `group` is "" for a container as a whole. `uncounted` names the view that shows which
    of the held servers the limit counts, if that view has no values: the limit may count none of them. `age` is how old
    the number held is, `limit_age` how old the limit is, None if it is of the poll or proves as much. With
    `is_contradicted` another view shows another limit.
    """

    owner: str
    held: int
    allowed: int
    part: str = ""
    con_id: int = 0
    group: str = ""
    uncounted: str = ""
    age: float | None = None
    limit_age: float | None = None
    is_contradicted: bool = False

    @property
    def free(self) -> int:
        """Servers left below the limit, at least."""
        return self.allowed - self.held

    @property
    def not_known(self) -> NotKnown | None:
        """That it is not known which servers it counts, None if it is."""
        return NotKnown(f"which servers the limit of {self.owner} counts", self.uncounted) if self.uncounted else None

    def __str__(self) -> str:
        if self.uncounted:
            limit = f"the limit of {self.owner}, {as_of(str(self.allowed), self.limit_age)}{self.part},"
            return f"which of the {counted(self.held, 'server')} held {limit} counts is not known ({self.uncounted})"
        allowed_then = as_of(f"{self.allowed} allowed", self.limit_age)
        return as_of(f"{self.owner} holds {self.held} of {allowed_then}{self.part}", self.age)


def pools(facts: Facts) -> dict[int, ServerPool]:
    """Return the pool of each instance."""
    section = facts.snapshot.section(PxProcessSysstat)
    valued_rows = section.rows if "value" not in section.absent else ()
    statistics = {(row.inst_id, row.statistic.strip().lower()): row.value for row in valued_rows}
    sees_sessions = not unavailable(facts.snapshot, PxSession)
    is_counted = all((inst_id, "servers in use") in statistics for inst_id in facts.system.inst_ids)
    busy = Counter[int]() if is_counted else servers_held(facts)
    # The servers counted by an older V$RSRC_PLAN would contradict those in use, which are shown beside them.
    is_older = facts.snapshot.age_if_late(RsrcPlan) is not None and section.problem is None
    found: dict[int, ServerPool] = {}
    for inst_id in facts.system.inst_ids:
        row = facts.plans.top_rows.get(inst_id)
        # In use: by V$PX_PROCESS_SYSSTAT, else by the rows of V$PX_SESSION, else as the queue counts, which leaves out
        # statements that bypass it. It is 0 only if a view that was read shows no server.
        active = row.parallel_servers_active if row else None
        in_use = statistics.get((inst_id, "servers in use"))
        target = row.parallel_servers_total if row and row.parallel_servers_total > 0 else None
        found[inst_id] = ServerPool(
            inst_id=inst_id,
            in_use=in_use if in_use is not None else busy[inst_id] or active or (0 if sees_sessions else active),
            available=statistics.get((inst_id, "servers available")),
            counted=None if is_older and in_use is not None else active,
            target=target if target is not None else facts.system.parameters.number(inst_id, "parallel_servers_target"),
            maximum=facts.system.parameters.number(inst_id, "parallel_max_servers"),
            highwater=statistics.get((inst_id, "servers highwater")),
        )
    return found


def servers_held(facts: Facts) -> Counter[int]:
    """Return the servers that V$PX_SESSION lists on each instance.

    GV$ queries have servers of their own, which PARALLEL_MAX_SERVERS does not count.
    """
    serves_gv_query = facts.sessions.servers.serves_gv_query
    rows = (row for row in facts.snapshot.rows(PxSession) if not is_coordinator(row))
    return Counter(row.inst_id for row in rows if not serves_gv_query(row.inst_id, row.sid, row.serial))


def together(found: Iterable[ServerPool]) -> ServerPool:
    """Return the cluster's pool: the target of the queue is the sum over the instances."""
    parts = tuple(found)
    _, *numbers = ServerPool.__struct_fields__
    return ServerPool(CLUSTER, *(added(getattr(pool, name) for pool in parts) if parts else None for name in numbers))


def is_coordinator(row: PxSession) -> bool:
    """Whether a row of V$PX_SESSION is the query coordinator itself: it has no degree and no other session's SID."""
    is_own_qc = row.sid == row.qcsid and (row.qcinst_id is None or row.qcinst_id == row.inst_id)
    return is_own_qc and row.degree is None


def budget_of(facts: Facts, pool: ServerPool, where: str = "", inst_ids: tuple[int, ...] = ()) -> ServerBudget:
    """Return the servers that the queue counts in a pool: by V$RSRC_PLAN, else by V$PX_PROCESS_SYSSTAT."""
    age = facts.snapshot.age_if_late(PxProcessSysstat if pool.counted is None else RsrcPlan)
    in_use = pool.in_use if pool.counted is None else pool.counted
    return ServerBudget(
        in_use,
        pool.target,
        where,
        inst_ids,
        age=age,
        left=_left(facts, pool, inst_ids or facts.system.inst_ids),
        maximum=pool.maximum,
        shows_maximum=view_of(facts.snapshot, Parameter),
    )


def _left(facts: Facts, pool: ServerPool, inst_ids: Iterable[int]) -> float:
    """Return the servers left in the pool of these instances, at least.

    While V$PX_PROCESS_SYSSTAT does not answer, V$PX_SESSION may show that fewer are left than it did. Where
    PARALLEL_MAX_SERVERS is not known and more servers are in use than the queue counts, only those are sure that
    PARALLEL_SERVERS_TARGET leaves, which is never more.
    """
    if facts.snapshot.age_if_late(PxProcessSysstat) is not None and pool.maximum is not None:
        held = servers_held(facts)
        return max(0, min(pool.left(), pool.maximum - sum(held[inst_id] for inst_id in inst_ids)))
    if pool.maximum is not None or pool.in_use is None or pool.target is None or pool.counted is None:
        return pool.left()
    is_more = pool.in_use > pool.counted and bool(facts.snapshot.rows(PxProcessSysstat))
    return max(0, pool.target - pool.in_use) if is_more else inf


def counts_servers(facts: Facts) -> bool:
    """Whether it is known which servers the limits of groups count: statements that did not queue do not count.

    The session views show only what all statements hold.
    """
    is_counted = not unavailable(facts.snapshot, ConsumerGroup, ("current_pq_servers_active",))
    return is_counted and not without_rows(facts.system, ConsumerGroup)


def budgets(facts: Facts, cluster: ServerPool) -> dict[int, ServerBudget]:
    """Return the budget of the whole system (under ROOT) and of each container that may use less.

    A pluggable database's target is the smaller of its PARALLEL_SERVERS_TARGET and what the CDB plan allows it. What it
    holds comes from V$RSRC_PDB, else from its groups; without both it is not known. Nothing is known if only a part of
    the cluster is in view: targets and limits are the cluster's.
    """
    if facts.system.part:
        return {ROOT: ServerBudget(None, None)}
    # A container whose target is not below the whole never binds first, so it has no budget of its own.
    whole = cluster.target
    found = {ROOT: budget_of(facts, cluster)._replace(instances=len(facts.system.inst_ids))}
    held = summed((row.con_id, row.current_pq_servers_active) for row in facts.snapshot.rows(ConsumerGroup))
    active = summed((row.con_id, row.current_pq_servers_active) for row in facts.snapshot.rows(RsrcPdb))
    for con_id in facts.system.pdbs.keys() | facts.plans.own_containers:
        target = container_target(facts, con_id, whole)
        if target is not None and (whole is None or target < whole):
            of_groups = held.get(con_id, 0) if counts_servers(facts) else None
            age = facts.snapshot.age_if_late(RsrcPdb) if con_id in active else None
            found[con_id] = ServerBudget(active.get(con_id, of_groups), target, age=age)
    return found


def container_target(facts: Facts, con_id: int, whole: int | None) -> int | None:
    """Return the servers a container may hold: by its own target, the CDB plan, or V$RSRCPDBMETRIC; None if not known.

    Statements queue at the container's own target first, then at the target of the whole system. A container has a
    target on each instance on which it is open.
    """
    limits, shown = _limits_now(facts, con_id, whole), _limit_by_metric(facts, con_id)
    if shown is not None and (facts.plans.inside == con_id or not limits):
        return shown
    return min(limits, default=None)


def _is_by_metric_only(facts: Facts, con_id: int, whole: int | None) -> bool:
    """Whether V$RSRCPDBMETRIC shows a container's target that no current view confirms."""
    now, shown = min(_limits_now(facts, con_id, whole), default=None), _limit_by_metric(facts, con_id)
    return shown is not None and container_target(facts, con_id, whole) == shown != now


def _limits_now(facts: Facts, con_id: int, whole: int | None) -> list[int]:
    """Return the servers a container may hold by its own target and by the CDB plan, each if that is known."""
    inside, inst_ids = facts.plans.inside == con_id, facts.plans.open_on(con_id)
    own = None if inside or not inst_ids else added(_own_target(facts, inst_id, con_id) for inst_id in inst_ids)
    given = _given(facts, con_id, inside=inside)
    by_plan = None if given is None or whole is None else whole_servers(given, whole)
    return [each for each in (own, by_plan) if each is not None]


def _limit_by_metric(facts: Facts, con_id: int) -> int | None:
    """Return the limit that V$RSRCPDBMETRIC shows for a container on the one instance on which it is open, else None.

    It is not documented whether the view shows the part of its instance or the total.
    """
    shown = [row.parallel_servers_limit for row in facts.snapshot.rows(PdbMetric) if row.con_id == con_id]
    return shown[0] if len(facts.plans.open_on(con_id)) == len(shown) == 1 else None


def _own_target(facts: Facts, inst_id: int, con_id: int) -> int | None:
    """Return the PARALLEL_SERVERS_TARGET of a container on an instance: set, shown by V$RSRC_PLAN, or its default.

    The default (Reference, since 12.2) is computed from its own CPU_COUNT, whatever the root's value is: CPU_COUNT x
    PARALLEL_THREADS_PER_CPU x 2 x 4 with SGA_TARGET or MEMORY_TARGET, x 2 with PGA_AGGREGATE_TARGET, else x 1.
    """
    system = facts.system
    target = facts.plans.own_target(inst_id, con_id)
    if target is not None or facts.snapshot.release < OWN_TARGETS:
        return target
    sga, memory, pga, cpu_count, threads = (system.parameters.number(inst_id, name) for name in _DEFAULT_TARGET)
    cpus = system.parameters.setting(inst_id, con_id, "cpu_count") or cpu_count
    if sga is None or not cpus or not threads:
        return None
    users = 4 if sga or memory else 2 if pga else 1
    return cpus * threads * users * 2


_DEFAULT_TARGET = ("sga_target", "memory_target", "pga_aggregate_target", "cpu_count", "parallel_threads_per_cpu")
"""The parameters that the default of PARALLEL_SERVERS_TARGET is computed from."""


def _given(facts: Facts, con_id: int, *, inside: bool) -> float | None:
    """Return the part of the servers that the CDB plan gives a container, None if the plan does not limit them.

    From inside a container V$RSRC_PLAN shows it; the target visible there is taken as the one that it is a part of.
    """
    inst_ids = facts.plans.open_on(con_id)
    if not inst_ids:
        return None
    if inside:
        row = facts.plans.plan_rows.get((inst_ids[0], con_id))
        return percent_fraction(row.parallel_server_limit) if row is not None else None
    allocation = facts.division.allocations(inst_ids[0]).get(con_id)
    return allocation.servers if allocation is not None else None


def why_target_unknown(facts: Facts, con_id: int, found: Mapping[int, ServerBudget]) -> str:
    """Return the view that should show how many servers a container may hold, "" if that is known.

    It is known by its own target, which it does not have before 12.2, and by what the CDB plan gives it; on one
    instance V$RSRCPDBMETRIC shows the smaller of both.
    """
    if con_id <= SEED or _limit_by_metric(facts, con_id) is not None:
        return ""
    is_inside = facts.plans.inside == con_id
    has_own = con_id not in found and facts.snapshot.release >= OWN_TARGETS and not is_inside
    if has_own and container_target(facts, con_id, found[ROOT].target) is None:
        return view_of(facts.snapshot, Parameter)
    record: RecordType = RsrcPlan if is_inside else CdbPlanDirective
    lacks = unavailable(facts.snapshot, record, ("parallel_server_limit",))
    is_known = _shows_given(facts, con_id, inside=is_inside) or facts.snapshot.age_if_late(record) is not None
    return view_of(facts.snapshot, record) if lacks and not is_known else ""


def _shows_given(facts: Facts, con_id: int, *, inside: bool) -> bool:
    """Whether V$RSRC_PLAN shows what the CDB plan gives a container; in the root its SHARES say that it does."""
    if "parallel_server_limit" in facts.snapshot.section(RsrcPlan).absent:
        return False
    rows = (facts.plans.plan_rows.get((inst_id, con_id)) for inst_id in facts.plans.open_on(con_id))
    return any(row is not None and (inside or row.shares is not None) for row in rows)


class GroupLimit(NamedTuple):
    """A group's limit on servers: their number, and the percentage of the cluster-wide target; None without a limit.

    `why_unknown` is why it is not known whether there is a limit, as a rule the view that should show it; "" if known.
    """

    servers: int | None
    percent: int | None
    why_unknown: str


def group_limit(key: Key, facts: Facts, found: Mapping[int, ServerBudget]) -> GroupLimit:
    """Return the limit of a group.

    The queue is one for all instances: no limit is known if their plans differ in it. If its plan cannot be read,
    V$RSRCMGRMETRIC shows the limit, without a cluster: there it is not documented whose servers it counts, and it may
    be older than the loss of an instance.
    """
    inst_ids, shown = facts.division.with_different_plans, _shown_limit(key, facts, found)
    readable = [inst_id for inst_id in inst_ids if _has_directives(key, facts, inst_id)]
    why = _why_limit_unknown(key, facts, shown, readable)
    if not readable:
        return GroupLimit(shown, None, why)
    fraction, target = facts.division.shares[inst_ids[0]].servers.get(key), _target(key, found)
    if why or fraction is None:
        return GroupLimit(None, None, why)
    return GroupLimit(None if target is None else whole_servers(fraction, target), round(100 * fraction), why)


def _target(key: Key, found: Mapping[int, ServerBudget]) -> int | None:
    """Return the target that the limit of a group is a part of, None if not known."""
    budget = found.get(key[0]) or found[ROOT]
    return budget.target if budget.target is not None else found[ROOT].target


def _shown_limit(key: Key, facts: Facts, found: Mapping[int, ServerBudget]) -> int | None:
    """Return the limit that V$RSRCMGRMETRIC shows for a group; one of the target or more limits nothing."""
    shown, target = facts.plans.shown_servers_limits.get(key), _target(key, found)
    if shown is None or not facts.system.is_alone or (target is not None and shown >= target):
        return None
    return shown


def _why_limit_unknown(key: Key, facts: Facts, shown: int | None, readable: Sequence[int]) -> str:
    """Return why it is not known whether a group has a limit: the view that should show it; "" if it is.

    It is known by the directives of its plan, which can be read on the instances `readable`, and on one instance by
    V$RSRCMGRMETRIC, which has `shown` it. If the instances run plans with different limits, it is not documented which
    one holds.
    """
    inst_ids, shares = facts.division.with_different_plans, facts.division.shares
    if why := next(filter(None, (_why_not_in_force(key, facts, inst_id) for inst_id in inst_ids)), ""):
        return why
    if key in facts.plans.shown_servers_limits and facts.system.is_alone:
        return shares[inst_ids[0]].unclear.get(key, "") if shown is None and inst_ids else ""
    unknown = (_why_no_directives(key, facts, inst_id) for inst_id in inst_ids if inst_id not in readable)
    limits = {shares[inst_id].servers.get(key) for inst_id in inst_ids}
    return next(filter(None, unknown), DIFFERENT_PLANS if len(limits) > 1 else "")


def _why_no_directives(key: Key, facts: Facts, inst_id: int) -> str:
    """Return why the directives of a group's plan do not show its limit, "" if it has none."""
    plans, unclear = facts.plans, facts.division.shares[inst_id].unclear
    if key in unclear:
        return unclear[key]
    is_shown = plans.is_plan_shown(inst_id, key[0])
    record: RecordType = plans.books.record_of(key[0]) if is_shown else RsrcPlan
    why = unavailable(facts.snapshot, record, _columns(key, facts, inst_id) if is_shown else ())
    # Without V$RSRC_PLAN, other views show which plan should be in force, not which one is.
    if not why and (is_shown or not plans.plan_of(inst_id, key[0])):
        return ""
    view = view_of(facts.snapshot, record)
    return why if why.startswith(f"{view} lacks ") else view


def _columns(key: Key, facts: Facts, inst_id: int) -> tuple[str, ...]:
    """Return the columns of directives that show the limit of a group: UTILIZATION_LIMIT only if there is no other."""
    by_cpu = key not in facts.division.shares[inst_id].servers and facts.plans.books.of(key[0]).cpu_limits_servers
    return ("plan", "group_or_subplan", "parallel_server_limit", *(("utilization_limit",) if by_cpu else ()))


def _has_directives(key: Key, facts: Facts, inst_id: int) -> bool:
    """Whether the plan of a group is known to be in force, and its directives say how many servers it may hold."""
    plans, shares, con_id = facts.plans, facts.division.shares[inst_id], key[0]
    absent = facts.snapshot.section(plans.books.record_of(con_id)).absent
    lacks = bool(absent) and not absent.isdisjoint(_columns(key, facts, inst_id))
    if lacks or key in shares.unclear or not plans.is_plan_shown(inst_id, con_id):
        return False
    return key in shares.shares or plans.plan_of(inst_id, con_id) in plans.books.of(con_id).directives


def _why_not_in_force(key: Key, facts: Facts, inst_id: int) -> str:
    """Return why it is not known that the limit of a group is in force, "" if PARALLEL_EXECUTION_MANAGED says so."""
    is_limited = key in facts.division.shares[inst_id].servers and facts.plans.is_plan_shown(inst_id, key[0])
    managed = facts.plans.managed(inst_id, key[0])
    why = _unmanaged(managed) if managed else view_of(facts.snapshot, RsrcPlan)
    return why if is_limited else ""


def _unmanaged(managed: str) -> str:
    """Return that nothing manages parallel statements now, "" if something does.

    Oracle shows OFF, DISABLED, or STARTUP (while a cluster changes) then, else FULL or FIFO.
    """
    return "" if managed in {"FULL", "FIFO", ""} else f"PARALLEL_EXECUTION_MANAGED is {managed}"


def limit_not_known(key: Key, facts: Facts, found: Mapping[int, ServerBudget], inst_id: int) -> NotKnown | None:
    """Return what is not known of the limits that hold back what a group queues, None if they are known and current."""
    if why := group_limit(key, facts, found).why_unknown:
        return NotKnown(f"how many servers {key[1]} may hold", why)
    managed = (facts.plans.managed(each, key[0]) for each in facts.system.inst_ids)
    if why := next(filter(None, map(_unmanaged, managed)), ""):  # then the target may not hold it back either
        return NotKnown(f"what limits the queue of {key[1]}", why)
    return old_limit(key, facts, inst_id) or _limit_of_last_minute(key, facts, found, inst_id)


def _limit_of_last_minute(key: Key, facts: Facts, found: Mapping[int, ServerBudget], inst_id: int) -> NotKnown | None:
    """Return the unknown fact whether a limit has changed since the last full minute, None if it is current.

    V$RSRCMGRMETRIC and V$RSRCPDBMETRIC show a limit as it was in a minute that is over when they are read.
    """
    con_id, group = key
    by_metric = key in facts.plans.shown_servers_limits and facts.system.is_alone
    if other := other_limit(key, facts, found, inst_id):
        return NotKnown(f"how many servers {group} may hold", other, _age(GroupMetric, facts), is_recent=True)
    if by_metric and not _has_directives(key, facts, inst_id):
        limited = group_limit(key, facts, found).servers is not None
        if limited or facts.plans.plan_of(inst_id, con_id) or unavailable(facts.snapshot, RsrcPlan):
            return _of_last_minute(group, GroupMetric, facts)
    if con_id in found and _is_by_metric_only(facts, con_id, found[ROOT].target):
        return _of_last_minute(facts.system.container_name(con_id), PdbMetric, facts)
    return None


_DOCUMENTED = Release(19)
"""The first release whose documents say that UTILIZATION_LIMIT limits parallel servers, too."""


def other_limit(key: Key, facts: Facts, found: Mapping[int, ServerBudget], inst_id: int) -> str:
    """Return the sentence that V$RSRCMGRMETRIC shows another limit than UTILIZATION_LIMIT gives, "" if not.

    Without V$INSTANCE the instance may be alone: then no other limit proves anything.
    """
    may_be_alone = facts.system.is_alone or not facts.snapshot.rows(Instance)
    is_documented = facts.snapshot.release >= _DOCUMENTED
    if is_documented or key not in facts.plans.shown_servers_limits or not may_be_alone:
        return ""
    directive, limit = facts.division.shares[inst_id].directives.get(key), group_limit(key, facts, found).servers
    if directive is None or directive.parallel_server_limit is not None:
        return ""
    shown, view = facts.plans.shown_servers_limits[key], view_of(facts.snapshot, GroupMetric)
    is_other = limit is not None and abs(shown - limit) > 1
    return f"{limit} by UTILIZATION_LIMIT, {shown} by {view}" if is_other else ""


def known_group_limit(key: Key, facts: Facts, found: Mapping[int, ServerBudget], inst_id: int) -> GroupLimit:
    """Return the limit of a group, not known if V$RSRCMGRMETRIC shows another one."""
    other = other_limit(key, facts, found, inst_id)
    return GroupLimit(None, None, other) if other else group_limit(key, facts, found)


def _of_last_minute(owner: str, record: RecordType, facts: Facts) -> NotKnown:
    what = f"whether the limit of servers of {owner} has changed since the last full minute"
    return NotKnown(what, view_of(facts.snapshot, record), _age(record, facts), is_recent=True)


def _age(record: RecordType, facts: Facts) -> float:
    read_at = facts.snapshot.section(record).at
    return (facts.snapshot.at - read_at).total_seconds() if read_at else 0.0


OLD_LIMIT = 15.0
"""Seconds after which a limit that was read proves nothing: while statements queue it is read more often than that."""


def old_limit(key: Key, facts: Facts, inst_id: int) -> NotKnown | None:
    """Return the unknown fact whether limits of a group or its container have changed since they were read.

    None if they are current. The last answer is good enough for other figures, but no session should be ended because
    of a limit that no longer applies.
    """
    if not facts.plans.plan_of(inst_id, key[0]):
        return None
    for record in (facts.plans.books.record_of(key[0]), *_limits_of_container(key[0], facts)):
        if (age := _age_if_old(record, facts)) is not None:
            return NotKnown(f"how many servers {key[1]} may hold now", view_of(facts.snapshot, record), age)
    return None


def _limits_of_container(con_id: int, facts: Facts) -> tuple[RecordType, ...]:
    """Return the records from which the limit of a container comes: the CDB plan, and its own target if it has one."""
    if con_id <= SEED or facts.plans.inside is not None:
        return ()
    own = (con_id, "parallel_servers_target")
    has_own = any((row.con_id, row.name) == own for row in facts.snapshot.rows(Parameter))
    return (CdbPlanDirective, Parameter) if has_own else (CdbPlanDirective,)


def _age_if_old(record: RecordType, facts: Facts) -> float | None:
    """Return how old the rows of a view of limits are if they prove nothing, else None."""
    age = _age(record, facts)
    return age if age > OLD_LIMIT or facts.snapshot.age_if_late(record) else None


def container_limit_age(con_id: int, facts: Facts, found: Mapping[int, ServerBudget]) -> float | None:
    """Return how old the limit of a container is if it may have changed since it was read, None if not."""
    if _is_by_metric_only(facts, con_id, found[ROOT].target):
        return _age(PdbMetric, facts)
    ages = (_age_if_old(record, facts) for record in _limits_of_container(con_id, facts))
    return max((age for age in ages if age is not None), default=None)


def group_limit_age(key: Key, facts: Facts, inst_id: int) -> float | None:
    """Return how old the limit of a group is if it may have changed since it was read, None if not."""
    if key not in facts.division.shares[inst_id].servers:
        return _age(GroupMetric, facts)
    return _age_if_old(facts.plans.books.record_of(key[0]), facts)


def of_monitors(facts: Facts, seen: Iterable[int]) -> int:
    """Return the servers of GV$ queries: the count of V$PX_PROCESS, else those `seen` in V$PX_SESSION."""
    processes = facts.snapshot.rows(PxProcess)
    return sum(map(serves_gv, processes)) if processes else sum(seen)


def unmanaged(facts: Facts, cluster: ServerPool) -> int | None:
    """Return the servers in use that no group counts: those of bypassing statements, GV$ queries, recovery.

    None if not known: the views are not read at one instant and may disagree, even more so if one did not answer.
    """
    groups = facts.snapshot.rows(ConsumerGroup)
    if any(facts.snapshot.age_if_late(record) for record in (ConsumerGroup, PxProcessSysstat)):
        return None
    if not groups or cluster.in_use is None or not facts.snapshot.rows(PxProcessSysstat):
        return None
    rest = cluster.in_use - sum(row.current_pq_servers_active for row in groups)
    return rest if rest >= 0 else None
