"""Active session pools: how many sessions of a group may work at a time, who waits for a place, and for how long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Key
from presman.analysis.groups.counter_deltas import GroupPlace
from presman.analysis.readings.group_readings import ActiveSessionPool
from presman.records.group_rows import ConsumerGroup
from presman.records.plan_rows import PlanDirective
from presman.records.session_rows import Session
from presman.records.wait_events import POOL_WAIT, is_pooled


def longest_waits(facts: Facts) -> dict[GroupPlace, float]:
    """Return the seconds that the session of each group waits which has waited longest for its pool (V$SESSION)."""
    found: dict[GroupPlace, float] = {}
    for row in facts.snapshot.rows(Session):
        if row.event == POOL_WAIT and is_pooled(row.event, row.state):
            place = (row.inst_id, row.con_id, facts.sessions.group_of(row))
            found[place] = max(found.get(place, 0.0), row.wait_time_micro / 1e6)
    return found


def pool(directive: PlanDirective | None, row: ConsumerGroup | None, longest: float | None) -> ActiveSessionPool | None:
    """Return the pool of a group on one instance; None where it has no limit that can be read, and nobody waits."""
    allowed = directive.active_sess_pool_p1 if directive else None
    queued = row.queue_length if row else 0
    if allowed is None and not queued and longest is None:
        return None
    timeout = directive.queueing_p1 if directive else None
    return ActiveSessionPool(allowed, queued if queued or longest is None else 1, longest, timeout)


def together(pools: Iterable[ActiveSessionPool | None]) -> ActiveSessionPool | None:
    """Return the pools of several instances as one."""
    found = [each for each in pools if each is not None]
    if not found:
        return None
    limits = [each.allowed for each in found if each.allowed is not None]
    waits = [each.longest for each in found if each.longest is not None]
    return ActiveSessionPool(
        sum(limits) if len(limits) == len(found) else None,
        sum(each.queued for each in found),
        max(waits, default=None),
        found[0].timeout,
    )


def of_groups(
    waits: Mapping[GroupPlace, float],
    rows: Mapping[GroupPlace, ConsumerGroup],
    directives: Mapping[Key, PlanDirective],
    inst_id: int,
    keys: Iterable[Key],
) -> dict[Key, ActiveSessionPool]:
    """Return the pools of the groups of one instance that have one."""
    places = ((key, (inst_id, *key)) for key in keys)
    found = {key: pool(directives.get(key), rows.get(place), waits.get(place)) for key, place in places}
    return {key: each for key, each in found.items() if each is not None}
