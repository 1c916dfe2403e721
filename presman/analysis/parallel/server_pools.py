"""The pools of parallel servers, and how many of them a consumer group may hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts.facts import ROOT, Facts, percent_fraction
from presman.analysis.facts.plan_book import Key
from presman.analysis.readings.instance_readings import CLUSTER, ServerPool
from presman.records.group_rows import ConsumerGroup
from presman.records.gv_servers import serves_gv
from presman.records.parallel_rows import PxProcess, PxProcessSysstat, PxSession


class ServerBudget(NamedTuple):
    """What the queue counts: servers `in_use` of a `target`, either None where it cannot be read."""

    in_use: int | None
    target: int | None

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
        told = facts.servers.serves_gv_query
        rows = (row for row in facts.snapshot.rows(PxSession) if not is_coordinator(row))
        busy.update(row.inst_id for row in rows if not told(row.inst_id, row.sid, row.serial))
    found: dict[int, ServerPool] = {}
    for inst_id in facts.inst_ids:
        row = facts.top_rows.get(inst_id)
        counted = row.parallel_servers_active if row else None
        in_use = statistics.get((inst_id, "servers in use"))
        target = row.parallel_servers_total if row and row.parallel_servers_total > 0 else None
        found[inst_id] = ServerPool(
            inst_id=inst_id,
            in_use=in_use if in_use is not None else busy[inst_id] or counted or 0,
            available=statistics.get((inst_id, "servers available"), 0),
            counted=counted,
            target=target if target is not None else facts.number(inst_id, "parallel_servers_target"),
            maximum=facts.number(inst_id, "parallel_max_servers"),
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


def budgets(facts: Facts, cluster: ServerPool) -> dict[int, ServerBudget]:
    """Return the budget of the whole (under ROOT) and of each container that may use less.

    A pluggable database's target is the smaller of its PARALLEL_SERVERS_TARGET and what the CDB plan allows it; what
    it holds is what its groups hold.
    """
    whole = cluster.target
    found = {ROOT: ServerBudget(cluster.counted if cluster.counted is not None else cluster.in_use, whole)}
    targets: dict[int, int] = {}
    for (_, con_id), row in facts.plan_rows.items():
        if con_id > 2 and row is not facts.top_rows[row.inst_id]:
            targets[con_id] = targets.get(con_id, 0) + row.parallel_servers_total
    if whole is not None:
        for con_id, fraction in container_fractions(facts).items():
            targets[con_id] = min(targets.get(con_id) or whole, int(fraction * whole + 1e-9))
    held = Counter[int]()
    for group in facts.snapshot.rows(ConsumerGroup):
        held[group.con_id] += group.current_pq_servers_active
    for con_id, target in targets.items():
        if target > 0 and (whole is None or target < whole):
            found[con_id] = ServerBudget(held[con_id], target)
    return found


def container_fractions(facts: Facts) -> dict[int, float]:
    """Return the part of the servers target that the CDB plan allows each limited container."""
    if not facts.inst_ids:
        return {}
    limits = {
        con_id: percent_fraction(row.parallel_server_limit)
        for con_id, row in facts.cdb_directives(facts.inst_ids[0]).items()
    }
    return {con_id: limit for con_id, limit in limits.items() if limit is not None}


def allowed(key: Key, servers: Mapping[Key, float], found: Mapping[int, ServerBudget]) -> tuple[int | None, int | None]:
    """Return a group's limit in servers and in percent of the cluster-wide target, None where nothing limits it."""
    fraction = servers.get(key)
    if fraction is None:
        return None, None
    budget = found.get(key[0]) or found[ROOT]
    target = budget.target if budget.target is not None else found[ROOT].target
    # 84 percent of 96 is 80.64, and 80 servers ran: what is allowed is rounded down.
    return (None if target is None else int(fraction * target + 1e-9)), round(100 * fraction)


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
