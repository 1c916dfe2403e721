"""Active session pools: how many sessions of a group may work at a time, which wait, and for how long.

While the database is quiesced, sessions wait for the same event, but not for the pool.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.groups.counter_deltas import GroupKey
from presman.analysis.readings.group_readings import ActiveSessionPool, GroupReading, Verdict
from presman.analysis.readings.reading import CLUSTER, Quiesce
from presman.analysis.view_availability import unavailable
from presman.base.sums import added, grouped, largest, summed
from presman.rows.group_rows import ConsumerGroup, PlanDirective
from presman.rows.session_rows import Session
from presman.rows.session_state import POOL_WAIT, QUIESCE_PLAN, QUIESCE_STATES, QUIESCE_WAIT, is_pooled, is_quiescing
from presman.rows.snapshot import Quiescer


class PoolWaits(NamedTuple):
    """The sessions of a group that wait for its pool now, and the seconds the first has waited; None: not known."""

    sessions: int
    longest: float | None


def waits(facts: Facts) -> dict[GroupKey, PoolWaits]:
    """Return the sessions that wait for the pool of each group on each instance (V$SESSION)."""
    pooled = (row for row in facts.sessions.users if row.event == POOL_WAIT and is_pooled(row.event, row.state))
    found = grouped(pooled, lambda row: (row.inst_id, row.con_id, facts.sessions.group_of(row)))
    longest = {group_key: largest(row.wait_time_micro for row in rows) for group_key, rows in found.items()}
    seconds = {group_key: None if micro is None else micro / 1e6 for group_key, micro in longest.items()}
    return {group_key: PoolWaits(len(rows), seconds[group_key]) for group_key, rows in found.items()}


def quiesce(facts: Facts, plans: Iterable[str], found: Mapping[GroupKey, PoolWaits]) -> Quiesce | None:
    """Return the quiesce of the database, under way or complete; None if nothing shows one.

    The evidence is V$INSTANCE.ACTIVE_STATE, the `plans` in force, or a session that waits for the quiesce to finish.
    """
    states = {row.active_state for row in facts.system.instances.values()} & QUIESCE_STATES
    quiescers = [row for row in facts.sessions.users if row.event == QUIESCE_WAIT]
    finishing = [row for row in quiescers if is_quiescing(row.event, row.state)]
    if not states and QUIESCE_PLAN not in plans and not finishing:
        return None
    state = min(states, default="QUIESCING" if finishing else "")  # while one is QUIESCING, the database is
    seen = tuple(map(_named, quiescers or facts.snapshot.rows(Quiescer)))
    if unavailable(facts.snapshot, Session, ("event",)):
        return Quiesce(state, (), None, None, seen)
    waiting = sum(each.sessions for each in found.values())
    longest = max((each.longest for each in found.values() if each.longest is not None), default=None)
    return Quiesce(state, tuple(map(_named, finishing)), waiting, longest, () if finishing else seen)


def _named(row: Session | Quiescer) -> str:
    return f"{row.username or 'session'} {row.inst_id}:{row.sid}"


_LET_IN = frozenset({"SYS_GROUP", "_ORACLE_BACKGROUND_GROUP_"})
"""Groups whose sessions a quiesce does not hold, as a rule."""


def held_by_quiesce(
    rows: Iterable[GroupReading], found: Mapping[GroupKey, PoolWaits], of: Quiesce
) -> tuple[GroupReading, ...]:
    """Return the groups of a quiesced database: those with waiting sessions get no CPU, whatever the plan.

    If V$SESSION does not show who waits, any group that is not let in may have some: what they want is not known.
    """
    # The rows of the cluster have the sessions of all instances.
    held = {key: each.sessions for key, each in found.items()}
    held |= summed(((CLUSTER, *key[1:]), sessions) for key, sessions in held.items())
    return tuple(_quiesced(row, held.get((row.inst_id, row.con_id, row.name), 0), of) for row in rows)


def _quiesced(row: GroupReading, held: int, of: Quiesce) -> GroupReading:
    if held:
        return row._replace(verdict=Verdict.QUIESCED, held=held)
    if of.waiting is not None or row.name in _LET_IN or row.used is None:
        return row
    return row._replace(verdict=Verdict.UNKNOWN, waiting=None)


def pool(
    facts: Facts, con_id: int, directive: PlanDirective | None, row: ConsumerGroup | None, found: PoolWaits | None
) -> ActiveSessionPool | None:
    """Return the pool of a group on one instance; None if no limit can be read and no session waits.

    QUEUE_LENGTH and V$SESSION are not read at one instant: the larger counts. Without a directive, or if QUEUEING_P1
    was not read, it is not known whether the wait ends; nor if a session still waits although it should have ended.
    """
    allowed = directive.active_sess_pool_p1 if directive else None
    queued = max(row.queue_length if row else 0, found.sessions if found else 0)
    if allowed is None and not queued:
        return None
    longest, why = found.longest if found else None, ""
    timeout = directive.queueing_p1 if directive else None
    if directive is None or "queueing_p1" in facts.snapshot.section(facts.plans.books.record_of(con_id)).absent:
        why = "the timeout is not known"
    elif outlived := facts.deltas.outlived(timeout, longest, "one"):
        why = f"the timeout is not known ({outlived})"
    return ActiveSessionPool(allowed, queued, longest, None if why else timeout, why)


def together(pools: Iterable[ActiveSessionPool | None], inst_ids: Sequence[int]) -> ActiveSessionPool | None:
    """Return the pools of a group on several instances as one."""
    at = {inst_id: each for inst_id, each in zip(inst_ids, pools, strict=True) if each is not None}
    if not at:
        return None
    found = list(at.values())
    waits_on = tuple(inst_id for inst_id, each in at.items() if each.queued)
    why = next((each.no_timeout for each in found if each.no_timeout), "")
    return ActiveSessionPool(
        added(each.allowed for each in found),
        sum(each.queued for each in found),
        max((each.longest for each in found if each.longest is not None), default=None),
        None if why else found[0].timeout,
        why,
        waits_on if len(waits_on) < len(inst_ids) else (),
    )


def of_groups(
    facts: Facts,
    found: Mapping[GroupKey, PoolWaits] | None,
    rows: Mapping[GroupKey, ConsumerGroup],
    directives: Mapping[Key, PlanDirective],
    inst_id: int,
    keys: Iterable[Key],
) -> dict[Key, ActiveSessionPool]:
    """Return the pools of an instance's groups that have one; empty while all sessions wait for another reason."""
    is_limited = any(each.active_sess_pool_p1 is not None for each in directives.values())
    if found is None or not (found or is_limited or any(row.queue_length for row in rows.values())):
        return {}
    pools: dict[Key, ActiveSessionPool] = {}
    for key in keys:
        row, waits_now = rows.get((inst_id, *key)), found.get((inst_id, *key))
        if (each := pool(facts, key[0], directives.get(key), row, waits_now)) is not None:
            pools[key] = each
    return pools
