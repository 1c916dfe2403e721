"""Parallel servers that statements held at each poll, from the lives of the statements."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime

from presman.recording.tape_values import StatementLife


def servers_held(lives: Iterable[StatementLife], polls: Sequence[datetime], width: int = 1) -> dict[str, list[int]]:
    """Return by SQL_ID the servers that its executions held at `polls` (in order of time), summed over `width` of them.

    One that waits holds none; one that has ended its work and still holds its servers does.
    """
    found: dict[str, list[int]] = {}
    for life in lives:
        if life.held_from is None or not life.sql_id:
            continue
        low, high = bisect_left(polls, max(life.held_from, life.first_seen)), bisect_right(polls, life.gone)
        if low < high:
            own = found.setdefault(life.sql_id, [0] * -(-len(polls) // width))
            for place in range(low // width, (high - 1) // width + 1):
                there = min(high, (place + 1) * width) - max(low, place * width)
                own[place] += life.servers * there
    return found
