"""Reasons why statements wait: for heads the limit that binds, for others that they are behind."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from presman.analysis.parallel.queue_causes import QueueState, head_reason, not_known, with_queue_reasons
from presman.analysis.parallel.server_pools import ServerBudget
from presman.analysis.readings.statement_readings import (
    Cause,
    QueuedStatement,
    QueueHead,
    QueueReason,
    Servers,
    Shortage,
)
from tests.tui.readings import queued

GROUP = Shortage(8, con_id=3, group="BATCH")
CONTAINER = Shortage(8, con_id=3)
TARGET = Shortage(8, everybody=True)


def head(cause: Cause, *shortages: Shortage, row: QueuedStatement | None = None) -> QueueHead:
    row = row or queued()
    return QueueHead(row.group, row, cause, row.wants, 0, 0, 0, 0, None, "", shortages=shortages)


@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (head(Cause.NEVER_FITS), QueueReason.NEVER_FITS),
        (head(Cause.SYSTEM, TARGET), QueueReason.TARGET),
        (head(Cause.GROUP, GROUP), QueueReason.GROUP_LIMIT),
        (head(Cause.GROUP, TARGET, GROUP, CONTAINER), QueueReason.GROUP_LIMIT),
        (head(Cause.CONTAINER, TARGET, CONTAINER), QueueReason.CONTAINER_LIMIT),
        (head(Cause.GROUP), QueueReason.GROUP_LIMIT),
        (head(Cause.BEHIND), QueueReason.OTHER_QUEUE),
        (head(Cause.NOT_CHOSEN), QueueReason.ORDER_OF_PLAN),
        (head(Cause.UNEXPLAINED), QueueReason.UNKNOWN),
        (head(Cause.UNKNOWN), QueueReason.UNKNOWN),
    ],
)
def test_a_head_waits_for_what_binds(found: QueueHead, reason: QueueReason) -> None:
    assert head_reason(found, (found, head(Cause.SYSTEM)), quiesced=False) is reason


def test_a_head_alone_is_not_passed_over_by_the_plan() -> None:
    found = head(Cause.NOT_CHOSEN)
    assert head_reason(found, (found,), quiesced=False) is QueueReason.UNKNOWN


def test_a_quiesced_database_explains_what_nothing_else_does() -> None:
    for cause, reason in (
        (Cause.UNEXPLAINED, QueueReason.QUIESCED),
        (Cause.NOT_CHOSEN, QueueReason.QUIESCED),
        (Cause.SYSTEM, QueueReason.TARGET),
    ):
        found = head(cause)
        assert head_reason(found, (found, found), quiesced=True) is reason


def test_the_others_are_behind_their_head() -> None:
    first, second = queued(1), queued(2)
    queue, heads = with_queue_reasons((first, second), (head(Cause.SYSTEM, row=first),), quiesced=False)
    assert [row.reason for row in queue] == [QueueReason.TARGET, QueueReason.BEHIND_IN_QUEUE]
    assert heads[0].statement is queue[0]


def test_of_statements_that_waited_alike_none_is_behind_the_head() -> None:
    rows = [replace(queued(sid), waited=waited) for sid, waited in ((1, 60.0), (2, 59.5), (3, 58.0), (4, None))]
    found, _ = with_queue_reasons(rows, (head(Cause.SYSTEM, row=rows[0]),), quiesced=False)
    behind = QueueReason.BEHIND_IN_QUEUE
    assert [row.reason for row in found] == [QueueReason.TARGET, QueueReason.TARGET, behind, behind]


@pytest.mark.parametrize(("cause", "unknown"), [(Cause.UNKNOWN, ["how many servers are free now"]), (Cause.SYSTEM, [])])
def test_a_silent_view_is_named_only_if_the_reason_needs_it(cause: Cause, unknown: list[str]) -> None:
    state = QueueState(ServerBudget(60, 64), outdated="V$PX_SESSION")
    found = not_known(Servers(16, 16), cause, state)
    assert [each.what for each in [found] if each is not None] == unknown
