"""Parallel servers that statements held at each poll, from the lives of the statements."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import accumulate

from presman.recording.tape_values import StatementLife

_SEEN_EVERY = timedelta(seconds=60)
"""How often it is recorded that a statement is still there."""


def servers_held(lives: Iterable[StatementLife], polls: Sequence[datetime]) -> dict[str, list[int]]:
    """Return by SQL_ID the servers that its executions held at each of `polls` (in order of time).

    One that waits holds none; one that has ended its work and still holds its servers does.
    """
    changes: dict[str, list[int]] = {}
    for life in lives:
        span = _held(life)
        if span is None or not life.sql_id:
            continue
        low, high = bisect_left(polls, span[0]), bisect_right(polls, span[1])
        if low < high:
            own = changes.setdefault(life.sql_id, [0] * (len(polls) + 1))
            own[low] += life.servers
            own[high] -= life.servers
    return {sql_id: list(accumulate(own[:-1])) for sql_id, own in changes.items()}


def _held(life: StatementLife) -> tuple[datetime, datetime] | None:
    """Return from when to when servers were held; None for what was only ever seen in the queue."""
    if life.started_at is None and life.queued_at is not None:
        return None
    end = life.ended_at if life.ended_at is not None else life.last_seen + _SEEN_EVERY
    return life.started_at or life.first_seen, end
