"""Blocking: who waits for whom, as a tree, by V$SESSION.BLOCKING_SESSION."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from presman.analysis.readings.session_readings import SessionReading


class Blocking(NamedTuple):
    """A session that others wait for, or that waits for one, at its `depth` in the tree (0: it waits for nobody seen).

    `place` is ``instance:SID``. `session` is None where it is not seen: a background process, or one that is gone.
    `below` counts who waits for it, directly or not.
    """

    place: str
    depth: int
    below: int
    session: SessionReading | None


def blocking(sessions: Iterable[SessionReading]) -> tuple[Blocking, ...]:
    """Return the sessions that block or are blocked, each below the one it waits for; who holds up most comes first.

    Rows are read one after the other, so that they may go round in a ring: each session is told once.
    """
    seen = {f"{row.inst_id}:{row.sid}": row for row in sessions}
    waiting: dict[str, list[str]] = {}
    for place, row in seen.items():
        if row.blocker and row.blocker != place:
            waiting.setdefault(row.blocker, []).append(place)
    if not waiting:
        return ()
    told: set[str] = set()
    roots = [place for place in waiting if place not in seen or not seen[place].blocker]
    trees = [tuple(_tree(place, 0, waiting, seen, told)) for place in (*roots, *waiting) if place not in told]
    return tuple(row for tree in sorted(trees, key=lambda tree: -len(tree)) for row in tree)


def _tree(
    place: str, depth: int, waiting: dict[str, list[str]], seen: dict[str, SessionReading], told: set[str]
) -> Iterator[Blocking]:
    """Return a session and all below it, the deepest path bounded by the sessions there are."""
    stack = [(place, depth)]
    order: list[tuple[str, int]] = []
    while stack:
        here, level = stack.pop()
        if here in told:
            continue
        told.add(here)
        order.append((here, level))
        longest = sorted(waiting.get(here, ()), key=lambda each: seen[each].waited or 0.0)
        stack += [(each, level + 1) for each in longest]
    for index, (here, level) in enumerate(order):
        after = next((i for i in range(index + 1, len(order)) if order[i][1] <= level), len(order))
        yield Blocking(here, level, after - index - 1, seen.get(here))
