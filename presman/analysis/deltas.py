"""When two counters may be subtracted, and their difference when they may.

A total means nothing alone, and a difference means nothing across a restart of the instance, a new plan window
or a reconnect. Every rate of a reading goes through here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from operator import sub
from typing import Any

from presman.rows import Instance, RsrcPlan, RsrcPlanHistory
from presman.snapshot import Snapshot

SHORTEST = 0.05
"""Seconds: two reads closer than this say nothing of a rate, because the counters move in ticks."""

Window = tuple[int, datetime | None, str]
"""One activation of a plan: its sequence in V$RSRC_PLAN_HISTORY, its start and its plan's name."""

_NO_WINDOW: Window = (-1, None, "")


def difference(after: tuple[Any, ...], before: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """Return the counters' growth, None if any of them went backwards (a reset of one is a reset of all)."""
    grown = tuple(map(sub, after, before))
    return None if min(grown) < 0 else grown


@dataclass(frozen=True, slots=True)
class Deltas:
    """The previous and the current snapshot of one database, and what has stayed the same between them.

    `previous` is None where nothing may be subtracted: the first poll, another target, a reconnect.
    """

    previous: Snapshot | None
    current: Snapshot
    starts_before: Mapping[int, datetime | None]
    starts_now: Mapping[int, datetime | None]
    windows_before: Mapping[tuple[int, int], Window]
    windows_now: Mapping[tuple[int, int], Window]

    @classmethod
    def between(cls, previous: Snapshot | None, current: Snapshot) -> Deltas:
        """Return the deltas of `current` against `previous`."""
        if previous is not None and (previous.epoch != current.epoch or previous.target != current.target):
            previous = None
        if previous is None:
            return cls(None, current, {}, {}, {}, _windows(current))
        return cls(previous, current, _starts(previous), _starts(current), _windows(previous), _windows(current))

    def before(self, record: type[Any]) -> tuple[Any, ...]:
        """Return the previous rows of one kind; none where there is no usable interval."""
        if self.previous is None or self.interval(record) is None:
            return ()
        return self.previous.section(record).rows

    def interval(self, record: type[Any] | None = None) -> float | None:
        """Return the seconds between the two reads of `record`'s section (or of the snapshots), None without."""
        if self.previous is None:
            return None
        before, now = self.previous.at, self.current.at
        if record is not None:
            old, new = self.previous.section(record), self.current.section(record)
            before, now = old.at or before, new.at or now
        seconds = (now - before).total_seconds()
        return seconds if seconds >= SHORTEST else None

    def same_start(self, inst_id: int) -> bool:
        """Whether the instance has not been restarted in between, as far as can be told."""
        return self.starts_before.get(inst_id) == self.starts_now.get(inst_id)

    def same_window(self, inst_id: int, con_id: int) -> bool:
        """Whether the same activation of the same plan rules the container of the instance."""
        before = self.windows_before.get((inst_id, con_id), _NO_WINDOW)
        return self.same_start(inst_id) and before == self.windows_now.get((inst_id, con_id), _NO_WINDOW)

    def window(self, inst_id: int, con_id: int) -> Window | None:
        """Return the open plan window of a container."""
        return self.windows_now.get((inst_id, con_id))


def _starts(snapshot: Snapshot) -> dict[int, datetime | None]:
    return {row.inst_id: row.startup_time for row in snapshot.rows(Instance)}


def _windows(snapshot: Snapshot) -> dict[tuple[int, int], Window]:
    """Return the open window of each (instance, container): the newest without an end, with its plan's name."""
    windows: dict[tuple[int, int], Window] = {}
    for row in snapshot.rows(RsrcPlanHistory):
        key = (row.inst_id, row.con_id)
        if row.end_time is None and row.sequence >= windows.get(key, _NO_WINDOW)[0]:
            windows[key] = (row.sequence, row.start_time, row.name)
    for plan in snapshot.rows(RsrcPlan):
        key = (plan.inst_id, plan.con_id)
        if plan.is_top_plan == "TRUE":
            sequence, start, _ = windows.get(key, _NO_WINDOW)
            windows[key] = (sequence, start, plan.name)
    return windows
