"""Parallel servers that statements held at each poll, from the lives of the statements."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from presman.recording.tape_values import StatementLife

_SEEN_EVERY = timedelta(seconds=60)
"""How often it is recorded that a statement is still there."""


def servers_held(lives: Iterable[StatementLife], polls: Sequence[datetime], width: int = 1) -> dict[str, list[int]]:
    """Return by SQL_ID the servers that its executions held at `polls` (in order of time), summed over `width` of them.

    One that waits holds none; one that has ended its work and still holds its servers does.
    """
    found: dict[str, list[int]] = {}
    for life in lives:
        span = _held(life)
        if span is None or not life.sql_id:
            continue
        low, high = bisect_left(polls, span[0]), bisect_right(polls, span[1])
        if low < high:
            own = found.setdefault(life.sql_id, [0] * -(-len(polls) // width))
            for place in range(low // width, (high - 1) // width + 1):
                there = min(high, (place + 1) * width) - max(low, place * width)
                own[place] += life.servers * there
    return found


def _held(life: StatementLife) -> tuple[datetime, datetime] | None:
    """Return from when to when servers were held; None for what was only ever seen in the queue."""
    if life.started_at is None and life.queued_at is not None:
        return None
    end = life.ended_at if life.ended_at is not None else life.last_seen + _SEEN_EVERY
    return life.started_at or life.first_seen, end
