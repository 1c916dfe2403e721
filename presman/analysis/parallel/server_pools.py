"""The pools of parallel servers, and how many of them a consumer group may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts.cdb_plan import whole_servers
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.readings.instance_readings import CLUSTER, ServerPool
from presman.records.container_rows import PdbMetric
from presman.records.group_rows import ConsumerGroup
from presman.records.gv_servers import serves_gv
from presman.records.parallel_rows import PxProcess, PxProcessSysstat, PxSession


class ServerBudget(NamedTuple):
    """What the queue counts: servers `in_use` of a `target`, either None where it cannot be read.

    `where` says on which instances, in words, "" for all.
    """

    in_use: int | None
    target: int | None
    where: str = ""

    @property
    def free(self) -> int | None:
        """Servers left below the target; below zero once statements that bypass the queue went past it."""
        return None if self.in_use is None or self.target is None else self.target - self.in_use


def pools(facts: Facts) -> dict[int, ServerPool]:
    """Return the pool of each instance."""
    statistics = {
        (row.inst_id, row.statistic.strip().lower()): row.value for row in facts.snapshot.rows(PxProcessSysstat)
    }
    busy: Counter[int] = Counter()
    if not statistics:
        told = facts.sessions.servers.serves_gv_query
        rows = (row for row in facts.snapshot.rows(PxSession) if not is_coordinator(row))
        busy.update(row.inst_id for row in rows if not told(row.inst_id, row.sid, row.serial))
    found: dict[int, ServerPool] = {}
    for inst_id in facts.system.inst_ids:
        row = facts.plans.top_rows.get(inst_id)
        counted = row.parallel_servers_active if row else None
        in_use = statistics.get((inst_id, "servers in use"))
        target = row.parallel_servers_total if row and row.parallel_servers_total > 0 else None
        found[inst_id] = ServerPool(
            inst_id=inst_id,
            in_use=in_use if in_use is not None else busy[inst_id] or counted or 0,
            available=statistics.get((inst_id, "servers available"), 0),
            counted=counted,
            target=target if target is not None else facts.system.number(inst_id, "parallel_servers_target"),
            maximum=facts.system.number(inst_id, "parallel_max_servers"),
            highwater=statistics.get((inst_id, "servers highwater")),
        )
    return found


def together(found: Iterable[ServerPool]) -> ServerPool:
    """Return the cluster's pool: the target of the queue is the sum over the instances."""
    parts = tuple(found)
    return ServerPool(
        inst_id=CLUSTER,
        in_use=sum(pool.in_use for pool in parts),
        available=sum(pool.available for pool in parts),
        counted=_sum(pool.counted for pool in parts),
        target=_sum(pool.target for pool in parts),
        maximum=_sum(pool.maximum for pool in parts),
        highwater=_sum(pool.highwater for pool in parts),
    )


def is_coordinator(row: PxSession) -> bool:
    """Whether a row of V$PX_SESSION is the query coordinator itself: it has neither degree nor another's SID."""
    own = row.sid == row.qcsid and (row.qcinst_id is None or row.qcinst_id == row.inst_id)
    return own and row.degree is None


def _sum(values: Iterable[int | None]) -> int | None:
    """Return the sum, None if there is nothing to sum or a part is not known."""
    known = tuple(values)
    return None if not known or None in known else sum(value for value in known if value is not None)


def budget_of(pool: ServerPool, where: str = "") -> ServerBudget:
    """Return what the queue counts in a pool: what V$RSRC_PLAN counts, else what V$PX_PROCESS_SYSSTAT tells."""
    return ServerBudget(pool.in_use if pool.counted is None else pool.counted, pool.target, where)


def budgets(facts: Facts, cluster: ServerPool) -> dict[int, ServerBudget]:
    """Return the budget of the whole (under ROOT) and of each container that may use less.

    A pluggable database's target is the smaller of its PARALLEL_SERVERS_TARGET and what the CDB plan allows it; what
    it holds is what its groups hold.
    """
    whole = cluster.target
    found = {ROOT: budget_of(cluster)}
    held = Counter[int]()
    for group in facts.snapshot.rows(ConsumerGroup):
        held[group.con_id] += group.current_pq_servers_active
    for con_id in facts.system.pdbs.keys() | facts.plans.own_containers:
        target = container_target(facts, con_id, whole)
        if target is not None and (whole is None or target < whole):
            found[con_id] = ServerBudget(held[con_id], target)
    return found


def container_target(facts: Facts, con_id: int, whole: int | None) -> int | None:
    """Return the servers a container may hold: by its own target, the CDB plan, or V$RSRCPDBMETRIC; None if not known.

    The first statements queue at the container's own target, then at that of the whole.
    """
    limits = []
    if facts.plans.inside != con_id:
        own = [facts.plans.own_target(inst_id, con_id) for inst_id in facts.system.inst_ids]
        limits += [sum(each or 0 for each in own)] if own and None not in own else []
        allotment = facts.division.allotments(facts.system.inst_ids[0]).get(con_id) if facts.system.inst_ids else None
        given = allotment.servers if allotment is not None else None
        limits += [] if given is None or whole is None else [whole_servers(given, whole)]
    shown = [row.parallel_servers_limit for row in facts.snapshot.rows(PdbMetric) if row.con_id == con_id]
    # Whether the view of each instance has its own part or all of it is not documented.
    if (
        len(facts.system.inst_ids) == 1
        and shown
        and shown[0] is not None
        and (facts.plans.inside == con_id or not limits)
    ):
        limits.append(shown[0])
    return min(limits, default=None)


def allowed(key: Key, facts: Facts, found: Mapping[int, ServerBudget]) -> tuple[int | None, int | None]:
    """Return a group's limit in servers and in percent of the cluster-wide target, None where nothing limits it.

    Where its plan cannot be read V$RSRCMGRMETRIC says the limit, on one instance.
    """
    budget = found.get(key[0]) or found[ROOT]
    target = budget.target if budget.target is not None else found[ROOT].target
    shares = facts.division.shares[facts.system.inst_ids[0]]
    fraction = shares.servers.get(key)
    if fraction is not None:
        return (None if target is None else whole_servers(fraction, target)), round(100 * fraction)
    shown = facts.plans.shown_servers_limits.get(key)
    if (
        key in shares.shares
        or shown is None
        or len(facts.system.inst_ids) != 1
        or (target is not None and shown >= target)
    ):
        return None, None
    return shown, None


def of_monitors(facts: Facts, seen: Iterable[int]) -> int:
    """Return the servers of GV$ queries: as V$PX_PROCESS counts them, else those `seen` in V$PX_SESSION."""
    processes = facts.snapshot.rows(PxProcess)
    return sum(map(serves_gv, processes)) if processes else sum(seen)


def unmanaged(facts: Facts, cluster: ServerPool) -> int | None:
    """Return the servers in use that no group counts: bypassing statements, GV$ queries, recovery.

    None where it cannot be known: the views are not read at one instant and may disagree.
    """
    groups = facts.snapshot.rows(ConsumerGroup)
    if not groups or not facts.snapshot.rows(PxProcessSysstat):
        return None
    rest = cluster.in_use - sum(row.current_pq_servers_active for row in groups)
    return rest if rest >= 0 else None
