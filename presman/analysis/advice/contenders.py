"""Other queues that want the servers a head waits for: where there are any, nobody knows who gets them.

The rules. Which group's head is next, the plan decides; where one queue serves all, who has waited longest. So a start
is promised only if, once the servers named are free, there are enough for the head and for all that others could take
before it. Those of another group can take no more than its own limit leaves them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from presman.analysis.advice.counted import Counted
from presman.analysis.parallel.queue_heads import SAME_WAIT
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    QueuedStatement,
    QueueHead,
    RunningStatement,
    WantsSource,
    group_title,
)

_ONE_QUEUE = frozenset({"FIFO", "OFF"})
"""V$RSRC_PLAN.PARALLEL_EXECUTION_MANAGED where one queue serves all groups, by the time they have waited."""


def contenders(
    head: QueueHead, freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> tuple[str, ...]:
    """Return the groups that could take the servers before `head`, once `freed` have ended; () if there are for all."""
    freed = [each for each in freed if counts.of_statement(each, everybody=True)]
    others = {
        group_title(other): taken
        for other in reading.heads
        if (other.con_id, other.group) != (head.con_id, head.group)
        and not _is_apart(head, other)
        and (taken := _could_take(other, _before(head, other, reading), freed)) > 0
    }
    near = {group_title(each) for each in reading.heads if each.con_id == head.con_id}
    within = {name: taken for name, taken in others.items() if name in near}
    found: set[str] = set()
    for names, left in ((others, _left_of_all(head, freed)), (within, _left_of_container(head, freed))):
        if left is not None and sum(names.values()) > left:
            found |= set(names)
    return tuple(sorted(found))


def too_large(
    head: QueueHead, rivals: Sequence[str], freed: Sequence[RunningStatement], reading: Reading, counts: Counted
) -> tuple[str, ...]:
    """Return the rivals whose head may want more than there is once `freed` have ended.

    If the plan serves such a one first, it goes on waiting, and `head` behind it: then nobody starts.
    """
    freed = [each for each in freed if counts.of_statement(each, everybody=True)]
    left = _left_of_all(head, freed)
    room = None if left is None or head.wants is None else left + head.wants.high
    heads = {group_title(each): each for each in reading.heads}
    return tuple(name for name in rivals if room is None or _most(heads[name]) > room)


def _most(head: QueueHead) -> float:
    known = head.wants is not None and head.wants.source is not WantsSource.MEAN
    return head.wants.high if known and head.wants is not None else inf


def _is_apart(head: QueueHead, other: QueueHead) -> bool:
    """Whether the two may run on no instance in common."""
    here, there = ({i for each in one.shortages for i in each.inst_ids} for one in (head, other))
    return bool(here and there and not here & there)


def _before(head: QueueHead, other: QueueHead, reading: Reading) -> list[QueuedStatement]:
    """Return the statements of another head's queue that may start before `head` does."""
    queue = [each for each in reading.queue if (each.con_id, each.group) == (other.con_id, other.group)]
    queue = queue or [other.statement]
    if reading.header.px_managed.upper() in _ONE_QUEUE and other.con_id == head.con_id:
        waited = head.statement.waited or 0.0
        return [each for each in queue if each.waited is None or each.waited > waited - SAME_WAIT]
    return queue


def _could_take(other: QueueHead, queue: Sequence[QueuedStatement], freed: Iterable[RunningStatement]) -> float:
    """Return the servers that a queue could take, at most what its own limit leaves it; 0 if its head has no room."""
    if not queue:
        return 0
    first = other.wants
    wanted: float = 0
    for each in queue:
        known = each.wants is not None and each.wants.source is not WantsSource.MEAN
        wanted += each.wants.high if known and each.wants is not None else inf
    if other.allowed is None:
        return wanted
    whole = other.con_id > 2  # its limit may be that of its container
    own = (each for each in freed if each.con_id == other.con_id and (whole or each.group == other.group))
    room = other.allowed - (other.held or 0) + sum(each.servers for each in own)
    needs = first.low if first is not None and first.source is not WantsSource.MEAN else 0
    return min(wanted, room) if room > 0 and room >= needs else 0


def _left_of_all(head: QueueHead, freed: Iterable[RunningStatement]) -> float | None:
    """Return what is left below the system's target once `head` has its servers, None where there is no target."""
    if head.target is None or head.wants is None or head.in_use is None:
        return None
    places = {inst_id for each in head.shortages for inst_id in each.inst_ids}
    servers = (
        sum(held for inst_id, held in each.servers_by_instance.items() if inst_id in places) if places else each.servers
        for each in freed
    )
    return head.target - head.in_use + sum(servers) - head.wants.high


def _left_of_container(head: QueueHead, freed: Iterable[RunningStatement]) -> float | None:
    """Return what is left below the container's limit once `head` has its servers, None where that does not bind."""
    short = next((each.short for each in head.shortages if not each.everybody and not each.group), None)
    if short is None:
        return None
    return sum(each.servers for each in freed if each.con_id == head.con_id) - short


def listed(names: Sequence[str]) -> str:
    """Return names as one says them."""
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))


def want_the_same(names: Sequence[str]) -> str:
    """Return that these want the same servers, "" for none."""
    return f"{listed(names)} {'want' if len(names) > 1 else 'wants'} the same servers" if names else ""
