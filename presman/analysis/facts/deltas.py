"""Differences of counters, and the rules for when two counters may be subtracted.

A total means nothing alone, and a difference means nothing across a restart of the instance, a new plan window or a
reconnect. Every rate of a reading is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping
from datetime import datetime, timedelta
from operator import sub
from typing import Any, NamedTuple, TypeVar

from msgspec import Struct

from presman.base.formats import duration
from presman.rows.group_rows import RsrcPlan, RsrcPlanHistory
from presman.rows.instance_rows import Instance
from presman.rows.snapshot import Snapshot

SHORTEST = 0.05
"""Seconds: two reads that are closer than this give no rate, because the counters move in ticks."""

_USUAL = 5.0
"""Seconds between two polls, unless more passed."""

_TOGETHER = timedelta(minutes=1)

ContainerKey = tuple[int, int]
"""Instance and container."""


Row = TypeVar("Row", bound=Any)


class PlanWindow(NamedTuple):
    """One activation of a plan (V$RSRC_PLAN_HISTORY): its sequence, its start, its plan's name."""

    sequence: int
    start: datetime | None
    plan: str


def difference(after: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the growth of the counters; None if one of them went backwards, because all are reset together."""
    grown = tuple(map(sub, after, before))
    return None if min(grown) < 0 else grown


class Deltas(Struct, frozen=True):
    """The previous and the current snapshot of one database, and the changes between them.

    `previous` is None if nothing may be subtracted: the first poll, another target, a reconnect. Facts that one of the
    two snapshots could not read count as unchanged; a reset then shows in counters that go backwards.
    """

    previous: Snapshot | None
    current: Snapshot
    windows: Mapping[ContainerKey, PlanWindow]
    restarted: frozenset[int] = frozenset()
    activated: frozenset[ContainerKey] = frozenset()

    @classmethod
    def between(cls, previous: Snapshot | None, current: Snapshot) -> Deltas:
        """Return the deltas of `current` against `previous`."""
        windows = _windows(current)
        if previous is None or previous.epoch != current.epoch or previous.target != current.target:
            return cls(None, current, windows)
        activated = _changed(_windows(previous), windows) | _changed(_plans(previous), _plans(current))
        return cls(previous, current, windows, _restarted(previous, current), activated)

    def before(self, record: type[Any]) -> tuple[Any, ...]:
        """Return the previous rows of one kind; empty without a usable interval."""
        if self.previous is None or self.interval(record) is None:
            return ()
        return self.previous.section(record).rows

    def changed(self, record: type[Any]) -> frozenset[str]:
        """Return the columns that have values in only one of the two reads: they did not grow from 0, or fall to 0."""
        if self.previous is None:
            return frozenset()
        return self.previous.section(record).absent ^ self.current.section(record).absent

    def counters_before(self, record: type[Any]) -> tuple[Any, ...]:
        """Return the previous rows of one kind to subtract; empty if a column has values in only one of the reads."""
        return () if self.changed(record) else self.before(record)

    def pairs(self, record: type[Row], key: Callable[[Row], Hashable]) -> Iterator[tuple[Row, Row | None]]:
        """Yield the rows of one kind, each with its previous row of the same key; None if its instance restarted."""
        before = {key(row): row for row in self.counters_before(record)}
        for row in self.current.rows(record):
            yield row, before.get(key(row)) if self.same_start(row.inst_id) else None

    def interval(self, record: type[Any] | None = None) -> float | None:
        """Return the seconds between the two reads of `record`'s section (or of the snapshots), None without two."""
        if self.previous is None:
            return None
        before, now = self.previous.at, self.current.at
        if record is not None:
            old, new = self.previous.section(record), self.current.section(record)
            before, now = old.at or before, new.at or now
        seconds = (now - before).total_seconds()
        return seconds if seconds >= SHORTEST else None

    def plan_starts(self) -> dict[int, datetime | None]:
        """Return when the plan of each container was activated, None if its instances do not agree to the minute."""
        found: dict[int, datetime | None] = {}
        for (_, con_id), window in self.windows.items():
            start, other = window.start, found.get(con_id, window.start)
            is_same = start is not None and other is not None and abs(start - other) < _TOGETHER
            found[con_id] = start if is_same else None
        return found

    def outlived(self, timeout: float | None, longest: float | None, waiting: str) -> str:
        """Return a sentence if `waiting` has waited for `longest` seconds, two polls longer than a timeout; "" if not.

        Then another timeout may apply to the statements that wait.
        """
        late = longest - timeout if timeout and longest is not None else 0.0
        if not timeout or late <= 2 * max(_USUAL, self.interval() or 0.0):
            return ""
        return f"the plan's is {duration(timeout)}, but {waiting} still waits {duration(late)} after it"

    def same_start(self, inst_id: int) -> bool:
        """Whether the instance has not restarted in between."""
        return inst_id not in self.restarted

    def same_window(self, inst_id: int, con_id: int) -> bool:
        """Whether the same activation of the same plan is in force in the container of the instance."""
        return inst_id not in self.restarted and (inst_id, con_id) not in self.activated


def _restarted(previous: Snapshot, current: Snapshot) -> frozenset[int]:
    before = {row.inst_id: row.startup_time for row in previous.rows(Instance)}
    seen = (row for row in current.rows(Instance) if row.inst_id in before)
    return frozenset(row.inst_id for row in seen if before[row.inst_id] != row.startup_time)


def _changed(before: Mapping[ContainerKey, Any], now: Mapping[ContainerKey, Any]) -> frozenset[ContainerKey]:
    """Return the keys whose entry differs or exists only once; empty if either side could not be read."""
    if not before or not now:
        return frozenset()
    return frozenset(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def _windows(snapshot: Snapshot) -> dict[ContainerKey, PlanWindow]:
    """Return the open window of each container: the latest one without an end."""
    found = [row for row in snapshot.rows(RsrcPlanHistory) if row.end_time is None]
    found.sort(key=lambda row: row.sequence)  # so that the latest remains if several are open
    return {(row.inst_id, row.con_id): PlanWindow(row.sequence, row.start_time, row.name) for row in found}


def _plans(snapshot: Snapshot) -> dict[ContainerKey, str]:
    """Return the names of the top plans, for databases whose history cannot be read."""
    return {(row.inst_id, row.con_id): row.name for row in snapshot.rows(RsrcPlan) if row.is_top_plan == "TRUE"}
