"""Why the scheduler holds a statement back, from the figures that decide: the screen must agree with it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from presman.forecast.scheduler import QueueEntry, Queueing, StatementQueue, _exceeds


class HoldReason(Enum):
    """Why a statement is held in the queue."""

    SYSTEM = "servers in use and wanted exceed the target"
    GROUP = "servers held and wanted exceed a limit of the group"
    BEHIND = "an earlier statement of the same queue waits"
    NOT_CHOSEN = "it fits, but another group's statement is next"


class QueueHold(NamedTuple):
    """Why a statement waits, with its figures: the result of both tests, even if one is enough.

    Of the tightest limit `held` of `allowed` are taken; `never_fits` says that it needs more than the target or a
    limit in all.
    """

    cause: HoldReason
    wants: int
    in_use: int
    target: int
    held: int
    allowed: int | None
    system_binds: bool
    group_binds: bool
    never_fits: bool


def why_of(queue: StatementQueue, entry: QueueEntry) -> QueueHold:
    """Explain why `entry` waits."""
    limits, needs = queue.limits, entry.needs
    rule = limits.rule(entry.group)
    system, group = _exceeds(needs, queue.in_use, limits.target), queue.held.binds(entry, rule)
    tightest = min(rule.pools, key=lambda pool: pool.limit - queue.held.of(pool.name), default=None)
    first = min(queue.queued(), key=lambda other: (other.submitted, other.number))
    if queue._queues[entry.group][0] is not entry:
        cause = HoldReason.BEHIND
    elif group or system:
        cause = HoldReason.GROUP if group else HoldReason.SYSTEM
    else:
        fifo = limits.queueing is Queueing.FIFO
        cause = HoldReason.BEHIND if fifo and first is not entry else HoldReason.NOT_CHOSEN
    return QueueHold(
        cause,
        needs,
        queue.in_use,
        limits.target,
        queue.held.of(tightest.name) if tightest else 0,
        tightest.limit if tightest else None,
        system,
        group,
        needs > limits.target or any(needs > pool.limit for pool in rule.pools),
    )
