"""Reasons besides CPU why a group waits: the cause of its queue, who blocks it, the I/O limit of its container."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from presman.analysis.readings.group_readings import GroupReading, IoVerdict, LimitedContainer
from presman.analysis.readings.instance_readings import CLUSTER
from presman.analysis.readings.statement_readings import QueuedStatement, QueueHead, RunningStatement


def with_reasons(
    rows: Iterable[GroupReading],
    heads: Iterable[QueueHead],
    queue: Iterable[QueuedStatement],
    limited: Iterable[LimitedContainer],
    running: Iterable[RunningStatement],
) -> tuple[GroupReading, ...]:
    """Return the groups with the causes of their queues, and what holds their I/O back while they do some."""
    first = {(head.con_id, head.group): head for head in heads}
    left: dict[tuple[int, str], float] = {}
    starts: dict[tuple[int, str], float] = {}
    for each in queue:
        if each.timeout_left is not None and each.timeout_action:
            key, found = (each.con_id, each.group), starts if each.timeout_action == "RUN" else left
            found[key] = min(found.get(key, each.timeout_left), each.timeout_left)
    held = {
        (inst_id, each.con_id): each.nearest or "its PDB's limit"
        for each in limited
        if each.verdict is IoVerdict.THROTTLED
        for inst_id in (CLUSTER, each.inst_id)
    }
    blocked: Counter[tuple[int, int, str]] = Counter()
    for one in running:
        if one.blocker:
            blocked[CLUSTER, one.con_id, one.group] += one.servers
            for inst_id, servers in one.servers_by_instance.items():
                blocked[inst_id, one.con_id, one.group] += servers
    queues = first.keys() | left.keys() | starts.keys()

    def has_one(row: GroupReading) -> bool:
        """Whether there is a reason: a row is large, and costly to copy."""
        key, place = (row.con_id, row.name), (row.inst_id, row.con_id)
        return key in queues or place in held or (*place, row.name) in blocked

    return tuple(
        row._replace(
            head_cause=head.cause if (head := first.get((row.con_id, row.name))) is not None else None,
            queue_hurts=head is not None and head.is_critical,
            timeout_left=left.get((row.con_id, row.name)),
            starts_in=starts.get((row.con_id, row.name)),
            blocked=blocked[row.inst_id, row.con_id, row.name],
            io_held_by=held.get((row.inst_id, row.con_id), "") if row.io is not None and row.io.requests else "",
        )
        if has_one(row)
        else row
        for row in rows
    )
