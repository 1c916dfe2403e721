"""Statements by the minute: how many sessions and servers each kept busy, from the samples of the polls."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import NamedTuple

from presman.analysis.readings.activity_readings import SqlSample
from presman.analysis.readings.reading import Reading

KEPT = 120
"""Minutes kept: two hours, as long as the history."""

MOST = 60
"""Statements kept of a minute that is over, those that were busiest."""

GAP = 120.0
"""Seconds that a sample is taken to stand for at most; where nobody looked for longer, nothing is known."""


class SqlActivity(NamedTuple):
    """A statement over a stretch of time: average sessions active, on CPU and waiting, and servers held."""

    con_id: int
    sql_id: str
    group: str
    user: str
    active: float
    on_cpu: float
    waiting: float
    servers: float


class _Minute:
    """The sums of one minute: seconds that were watched, and seconds on CPU, waiting and of servers by statement."""

    __slots__ = ("begin", "seconds", "sums", "who")

    def __init__(self, begin: float) -> None:
        self.begin = begin
        self.seconds = 0.0
        self.sums: dict[tuple[int, str], list[float]] = {}
        self.who: dict[tuple[int, str], tuple[str, str]] = {}

    def finish(self) -> None:
        """Keep the busiest statements only."""
        if len(self.sums) > MOST:
            busiest = sorted(self.sums, key=lambda key: -sum(self.sums[key]))[:MOST]
            self.sums = {key: self.sums[key] for key in busiest}
            self.who = {key: self.who[key] for key in busiest}


class SqlMinutes:
    """The last two hours of statements, fed by `add`. Each sample stands for the time since the one before."""

    def __init__(self) -> None:
        self._minutes: deque[_Minute] = deque(maxlen=KEPT)
        self._last: float | None = None

    def begin(self, at: datetime) -> None:
        """Begin behind a reading at an instant: the first sample stands for the time since then."""
        self._last = at.timestamp()

    def add(self, reading: Reading) -> None:
        """Take the next reading. One that is not newer than the last begins anew."""
        at = reading.at.timestamp()
        if self._last is not None and at <= self._last:
            self._minutes.clear()
            self._last = None
        seconds = at - self._last if self._last is not None else 0.0
        self._last = at
        if reading.activity is None or not 0.0 < seconds <= GAP:
            return
        minute = self._minute(at // 60 * 60)
        minute.seconds += seconds
        for sample in reading.activity.statements:
            self._count(minute, sample, seconds)
        for row in reading.running:
            if row.sql_id:
                sums = minute.sums.setdefault((row.con_id, row.sql_id), [0.0, 0.0, 0.0])
                sums[2] += seconds * row.servers
                minute.who.setdefault((row.con_id, row.sql_id), (row.group, row.user))

    def _minute(self, begin: float) -> _Minute:
        if not self._minutes or self._minutes[-1].begin != begin:
            if self._minutes:
                self._minutes[-1].finish()
            self._minutes.append(_Minute(begin))
        return self._minutes[-1]

    @staticmethod
    def _count(minute: _Minute, sample: SqlSample, seconds: float) -> None:
        key = sample.con_id, sample.sql_id
        sums = minute.sums.setdefault(key, [0.0, 0.0, 0.0])
        sums[0] += seconds * sample.on_cpu
        sums[1] += seconds * sample.waiting
        minute.who.setdefault(key, (sample.group, sample.user))

    def _chosen(self, at: datetime, minutes: int) -> list[_Minute]:
        end = at.timestamp()
        return [each for each in self._minutes if end - 60 * minutes < each.begin <= end]

    def watched(self, at: datetime, minutes: int) -> float:
        """Return the seconds that were watched of the same minutes."""
        return sum(each.seconds for each in self._chosen(at, minutes))

    def top(self, at: datetime, minutes: int) -> tuple[SqlActivity, ...]:
        """Return the statements of the whole minutes up to that of an instant, in no order."""
        chosen = self._chosen(at, minutes)
        seconds = sum(each.seconds for each in chosen)
        totals: dict[tuple[int, str], list[float]] = {}
        who: dict[tuple[int, str], tuple[str, str]] = {}
        for minute in chosen:
            who |= minute.who
            for key, sums in minute.sums.items():
                total = totals.setdefault(key, [0.0, 0.0, 0.0])
                for place, value in enumerate(sums):
                    total[place] += value
        return tuple(
            SqlActivity(*key, *who[key], (cpu + wait) / seconds, cpu / seconds, wait / seconds, servers / seconds)
            for key, (cpu, wait, servers) in totals.items()
        )
