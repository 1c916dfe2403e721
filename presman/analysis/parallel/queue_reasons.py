"""Reasons why queued statements wait, out of a closed set: that of a head by its cause, those behind it wait for it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from presman.analysis.parallel.queue_heads import SAME_WAIT
from presman.analysis.readings.forecasts import Executing
from presman.analysis.readings.statement_readings import Cause, QueuedStatement, QueueHead, QueueReason

_REASONS = {
    Cause.NEVER_FITS: QueueReason.NEVER_FITS,
    Cause.SYSTEM: QueueReason.TARGET,
    Cause.GROUP: QueueReason.GROUP_LIMIT,
    Cause.BEHIND: QueueReason.OTHER_QUEUE,
    Cause.NOT_CHOSEN: QueueReason.ORDER_OF_PLAN,
}


def with_queue_reasons(
    queue: Iterable[QueuedStatement], heads: Sequence[QueueHead], *, quiesced: bool
) -> tuple[tuple[QueuedStatement, ...], tuple[QueueHead, ...]]:
    """Return the queue and its heads with the reason of each statement."""
    found = {(head.con_id, head.group): (head, head_reason(head, heads, quiesced=quiesced)) for head in heads}
    by_statement: dict[Executing, QueuedStatement] = {}
    for each in queue:
        head, reason = found.get((each.con_id, each.group), (None, QueueReason.BEHIND_IN_QUEUE))
        if head is not None and not _is_first(each, head):
            reason = QueueReason.BEHIND_IN_QUEUE
        by_statement[each.executing()] = replace(each, reason=reason)
    return tuple(by_statement.values()), tuple(
        replace(head, statement=by_statement[head.statement.executing()]) for head in heads
    )


def _is_first(each: QueuedStatement, head: QueueHead) -> bool:
    """Whether it is the head, or has waited as long, so that which of them is first is not known."""
    first = head.statement
    if each.executing() == first.executing():
        return True
    return each.waited is not None and first.waited is not None and abs(each.waited - first.waited) < SAME_WAIT


def head_reason(head: QueueHead, heads: Sequence[QueueHead], *, quiesced: bool) -> QueueReason:
    """Return why the head of a queue waits.

    One that has room and is not chosen waits for the order of the plan only where there is another head to choose. If
    nothing that is counted explains it and the database is quiesced, that does.
    """
    found = _REASONS.get(head.cause, QueueReason.UNKNOWN)
    if found is QueueReason.ORDER_OF_PLAN and len(heads) < 2:
        found = QueueReason.UNKNOWN
    if quiesced and found in {QueueReason.UNKNOWN, QueueReason.ORDER_OF_PLAN}:
        return QueueReason.QUIESCED
    if found is QueueReason.GROUP_LIMIT:
        binds = [each for each in head.shortages if not each.everybody]
        return QueueReason.CONTAINER_LIMIT if binds and not any(each.group for each in binds) else found
    return found
