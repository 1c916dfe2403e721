"""Layout of the Parallel tab: its lines in the order in which somebody woken at night needs to read them. Pure."""

from __future__ import annotations

from typing import NamedTuple

from presman.tui.widgets.table_frame import HEADER_LINES

TALL = 36
"""Lines of a tab from which its parts stand apart, and what happened over time has a place of its own."""

SHORT = 22
"""Lines of a tab below which the tables have fewer rows than they should."""

FLAT = 10
"""Lines of a tab below which there is room for one table and nothing else."""

_OVER_TIME = 9
"""The fewest lines for the chart of statements over time: four statements, the servers, the times."""

_GROUPS = 6
"""Rows that the servers by group have at first: those of groups that hold or want servers come first."""

_FEWEST = 4
"""Rows of the queue that come before the arithmetic of its first head."""

_STEP = 4
"""Rows that a table grows by, so that the parts do not move with each statement that comes or goes."""


class Contents(NamedTuple):
    """What there is to show: lines that tell why, rows of the tables, lines that sum up.

    `groups` are the rows of the table of servers by group, which `summary` lines stand for where it has no room.
    """

    why: int
    queued: int
    running: int
    groups: int
    summary: int


class Division(NamedTuple):
    """Lines of each part, 0 where it is not shown, with `gap` blank lines between them."""

    why: int
    queue: int
    running: int
    pools: int
    summary: int
    over_time: int
    gap: int

    @property
    def used(self) -> int:
        """Lines of all parts and of what is between them."""
        parts = self[:-1]
        return sum(parts) + self.gap * (sum(part > 0 for part in parts) - 1)


def most_for_why(height: int) -> int:
    """Return how many lines may tell why the queues wait, if the first one needs no more."""
    return height * 3 // 10


def room_for_why(height: int) -> int | None:
    """Return how many lines the first queue's reason may have where the table needs the others, None for all."""
    return height - HEADER_LINES - _FEWEST if height < SHORT else None


def divide(height: int, wanted: Contents) -> Division:
    """Divide `height` lines: first the least of each part by its importance, then what is left the same way."""
    if height < FLAT:
        queue = height if wanted.queued or not wanted.running else 0
        return Division(0, queue, height - queue, 0, 0, 0, 0)
    least_queued, least_running = (4, 3) if height < SHORT else (6, 4)
    found = Division(
        why=wanted.why,
        queue=HEADER_LINES + min(_stepped(wanted.queued), least_queued),
        running=HEADER_LINES + min(_stepped(wanted.running), least_running),
        pools=0,
        summary=wanted.summary,
        over_time=0,
        gap=int(height >= TALL),
    )
    by_group = found._replace(pools=HEADER_LINES + min(wanted.groups, _GROUPS), summary=0)
    over_time = by_group._replace(over_time=_OVER_TIME if height >= TALL else 0)
    for better in (by_group, over_time):
        found = better if better.used <= height else found
    return _grown(found, height, wanted) if found.used <= height else _cut(found, height)


def _grown(found: Division, height: int, wanted: Contents) -> Division:
    """Give out the lines that are left: a few to the groups, two to the queue for each of those running, then the rest.

    What nobody needs goes to what is over time.
    """
    left = height - found.used
    if found.pools:
        groups = min(left, HEADER_LINES + wanted.groups - found.pools, _GROUPS // 2)
        found, left = found._replace(pools=found.pools + groups), left - groups
    queue = max(0, HEADER_LINES + _stepped(wanted.queued) - found.queue)
    running = max(0, HEADER_LINES + _stepped(wanted.running) - found.running)
    if queue + running > left:
        running = min(running, max(left // 3, left - queue))
        queue = left - running
    left -= queue + running
    found = found._replace(queue=found.queue + queue, running=found.running + running)
    return found._replace(over_time=found.over_time + left) if found.over_time else found


def _cut(found: Division, height: int) -> Division:
    """Take what is too much from the least important part, then from the next."""
    for name in ("summary", "running", "queue"):
        beyond = found.used - height
        left = max(0, getattr(found, name) - max(0, beyond))
        found = found._replace(**{name: left if left > HEADER_LINES or name == "summary" else 0})
    return found._replace(why=min(found.why, height))


def _stepped(rows: int) -> int:
    """Return the lines for so many rows, in steps; an empty table has one, which says so."""
    return max(1, -(-rows // _STEP) * _STEP)
