"""Instances of a cluster that were seen: V$INSTANCE has no row of one that is gone, so that only memory tells of it."""

from collections.abc import Collection
from datetime import datetime, timedelta

from presman.rows.instance_rows import Instance
from presman.rows.snapshot import GoneInstance, Section

REMEMBERED = timedelta(hours=1)
"""For how long an instance that is gone is told of: one that was taken out for good is no news for ever."""


class SeenInstances:
    """The open instances of one database, by when they were seen last.

    They are remembered over reconnections, but not over another scope, another database, or a clock that goes back.
    """

    def __init__(self) -> None:
        self._seen: dict[int, GoneInstance] = {}
        self._of: tuple[object, ...] = ()
        self._at: datetime | None = None

    def note(self, rows: Collection[Instance], at: datetime, of: tuple[object, ...]) -> None:
        """Take what V$INSTANCE told at an instant `of` a database in a scope."""
        if self._of != of or (self._at is not None and at < self._at):
            self._seen = {}
        self._of, self._at = of, at
        there = [row for row in rows if not row.status or row.status.startswith("OPEN")] or rows
        self._seen |= {row.inst_id: GoneInstance(row.inst_id, row.instance_name, at) for row in there}

    def gone(self, at: datetime) -> Section | None:
        """Return those that were not there when V$INSTANCE was last asked, None where all are."""
        kept = self._seen.values()
        rows = tuple(each for each in kept if each.last_seen != self._at and at - each.last_seen < REMEMBERED)
        return Section(rows, at) if rows else None
