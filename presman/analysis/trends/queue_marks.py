"""Counters remembered each minute for an hour, so that the last minute and the last hour can be told from now."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from datetime import datetime, timedelta
from itertools import pairwise

from msgspec import Struct

from presman.analysis.parallel.usual import Comparison, CounterMark, compare, counter_marks
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import is_downgrade

MINUTE = timedelta(seconds=60)
HOUR = timedelta(hours=1)

_DOWNGRADED = "downgraded"

GroupMarks = tuple[tuple[int, str, CounterMark], ...]


class _Minute(Struct, frozen=True):
    at: datetime
    groups: GroupMarks
    operations: Mapping[str, int]


class QueueMarks:
    """A mark about once a minute, for an hour; forgotten when the counters begin anew."""

    def __init__(self) -> None:
        self._minutes: deque[_Minute] = deque()

    def add(self, reading: Reading) -> None:
        """Take a mark if a minute has passed since the last, or the counters have begun anew: at once, or what came
        since then would be missing for an hour.
        """
        last = self._minutes[-1] if self._minutes else None
        taken = _Minute(reading.at, counter_marks(reading), operations(reading))
        if last is not None and _began_anew(last, taken):
            self._minutes.clear()
        elif last is not None and reading.at - last.at < MINUTE:
            return
        self._minutes.append(taken)
        while self._minutes[-1].at - self._minutes[0].at > HOUR + MINUTE:
            self._minutes.popleft()

    def compare(self, reading: Reading) -> tuple[Comparison, ...]:
        """Return the queue of each group at `reading`, over the minute and the hour before it, and since its plan."""
        older = [minute for minute in self._minutes if reading.at - minute.at >= MINUTE]
        recent = older[-1].groups if older else ()
        hour = next((minute.groups for minute in older if reading.at - minute.at <= HOUR), ())
        return compare(reading, recent, hour)

    def downgrades(self, reading: Reading) -> dict[str, int]:
        """Return the parallel operations by class since the oldest mark of the last hour before `reading`."""
        now = operations(reading)
        oldest = next((minute for minute in self._minutes if timedelta() < reading.at - minute.at <= HOUR), None)
        before = oldest.operations if oldest else now
        return {name: max(0, value - before.get(name, value)) for name, value in now.items()}

    def downgraded_by_minute(self, reading: Reading, minutes: int = 20) -> tuple[int, ...]:
        """Return how many operations were downgraded between one mark and the next before `reading`, oldest first."""
        points = [minute.operations for minute in self._minutes if minute.at <= reading.at][-minutes - 1 :]
        sums = [sum(value for name, value in point.items() if is_downgrade(name)) for point in points]
        return tuple(max(0, after - before) for before, after in pairwise(sums))


def operations(reading: Reading) -> dict[str, int]:
    """Return the parallel operations by class since startup, over all instances, as V$SYSSTAT names them."""
    found: dict[str, int] = {}
    for row in reading.downgrades:
        if _DOWNGRADED in row.name:
            found[row.name] = found.get(row.name, 0) + row.total
    return found


def _began_anew(before: _Minute, after: _Minute) -> bool:
    """Whether time or a counter has gone back: another plan window, a restart, another moment of a recording."""
    if after.at < before.at:
        return True
    old = {(con_id, name): mark.totals for con_id, name, mark in before.groups}
    pairs = [(old[con_id, name], mark.totals) for con_id, name, mark in after.groups if (con_id, name) in old]
    return any(
        (now.queued or 0) < (then.queued or 0) or (now.completed or 0) < (then.completed or 0) for then, now in pairs
    )
