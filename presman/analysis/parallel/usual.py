"""Comparison of the queue with its usual state: the part of statements that wait, how long, and for how many servers.

From counters (V$RSRC_CONSUMER_GROUP), between any two marks of the same plan window:

    statements that came = completed + timed out + those now running and queued, their change
    percent queued       = PQS_QUEUED / statements that came
    mean wait            = PQ_QUEUED_TIME / (queued when it began + PQS_QUEUED)
    share of life queued = PQ_QUEUED_TIME / (PQ_QUEUED_TIME + PQ_ACTIVE_TIME)
    servers each         = PQ_SERVERS_USED / PQS_COMPLETED
    mean queue           = PQ_QUEUED_TIME / time             (Little's law)

The mean wait divides the time queued in that interval by all statements that queued in it. These include statements
that were already queued when it began; without them the mean could be longer than any wait.

Means that do not need counters come from the minutes of the last hour (V$RSRCMGRMETRIC_HISTORY), up to the time when
presman began to watch.

Counters are kept each minute for an hour, so that now can be compared with the last minute and the last hour.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from itertools import pairwise
from operator import sub
from types import MappingProxyType
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.readings.group_readings import GroupReading, QueueTotals
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import HourReading, UsualQueue, is_downgrade
from presman.base.sums import summed
from presman.rows.group_rows import GroupMetricHistory

NONE = QueueTotals(0, 0, 0, 0, 0, 0)

WORSE = 2.0
"""A mean queue this many times the usual one is called worse."""
FEW = 2.0
"""A mean queue shorter than this is never called worse than usual."""


class CounterMark(Struct, frozen=True):
    """A group's counters at an instant, with the numbers of running and queued statements at that instant."""

    at: datetime
    totals: QueueTotals
    running: int
    queued: int

    @classmethod
    def of(cls, at: datetime, group: GroupReading) -> CounterMark:
        """Return the mark of a group in a reading."""
        return cls(at, group.totals, group.px_active or 0, group.px_queued or 0)

    @property
    def came(self) -> int:
        """Statements that have come since the counters began, as far as the counters show."""
        return (self.totals.completed or 0) + (self.totals.timeouts or 0) + self.running + self.queued


class Comparison(NamedTuple):
    """One group's queue since its plan was activated, over the last hour, and now."""

    con_id: int
    name: str
    plan: UsualQueue | None
    hour: UsualQueue | None
    now: UsualQueue
    worse: bool


def between(before: CounterMark | None, after: CounterMark, seconds: float | None) -> UsualQueue | None:
    """Return the figures between two marks; None if a counter went backwards (another plan window) or is not known.

    Without `before` the interval begins when the counters began; `seconds` None means that its length is not known.
    """
    old = before.totals if before else NONE
    new = after.totals
    if None in new or None in old:
        return None
    queued, completed, servers_used, active_ms, queued_ms, timeouts = map(sub, new, old)
    came = after.came - (before.came if before else 0)
    # All that queue at the end have waited in the interval, whatever the counters say.
    waited = max(queued + (before.queued if before else 0), after.queued)
    if min(queued, completed, servers_used, active_ms, queued_ms, timeouts) < 0:
        return None
    life = queued_ms + active_ms
    is_short = seconds is not None and queued_ms / 1000 > waited * seconds  # statements queued that are not counted
    return UsualQueue(
        seconds=seconds,
        percent_queued=100 * min(queued, came) / came if came > 0 else None,
        mean_wait=None if is_short or not waited else queued_ms / 1000 / waited,
        queued_share=queued_ms / life if life else None,
        mean_servers=servers_used / completed if completed else None,
        mean_queue=queued_ms / 1000 / seconds if seconds else None,
        timeouts=timeouts,
    )


def hours(rows: Iterable[GroupMetricHistory], at: datetime) -> dict[tuple[int, str], UsualQueue]:
    """Return the figures of each group from the metric history, over all instances, for the hour before an instant.

    The history may have been read long ago: minutes older than an hour are left out. Empty if no others remain, and
    before 12.1. The mean of a group over a period is the sum of its minutes, each weighted by its length, divided by
    the period.
    """
    sums: dict[tuple[int, str], list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    minutes: dict[tuple[int, datetime | None], float] = {}
    for row in rows:
        is_over = row.intsize_csec <= 0 or (row.end_time is not None and row.end_time <= at - HOUR)
        if is_over or row.avg_queued_parallel_stmts is None or row.avg_active_parallel_stmts is None:
            continue
        length = row.intsize_csec / 100
        minutes[row.inst_id, row.end_time] = length
        total = sums[row.con_id, row.consumer_group_name]
        total[0] += row.avg_queued_parallel_stmts * length
        total[1] += row.avg_active_parallel_stmts * length
        total[2] += (row.avg_active_parallel_servers or 0.0) * length
    # The sums add up all instances, so they are divided by the time of one: the one watched longest.
    longest = max(summed((inst_id, length) for (inst_id, _), length in minutes.items()).values(), default=0.0)
    return {key: _hour(total, longest) for key, total in sums.items()}


def _hour(sums: list[float], seconds: float) -> UsualQueue:
    queued, active, servers = sums
    return UsualQueue(
        seconds,
        queued_share=queued / (queued + active) if queued + active > 0 else None,
        mean_servers=servers / active if active > 0 else None,
        mean_queue=queued / seconds,
    )


GroupMarks = Mapping[tuple[int, str], CounterMark]
"""A mark of each group, by container and name."""

_NO_MARKS: GroupMarks = MappingProxyType({})


def compare(reading: Reading, recent: GroupMarks = _NO_MARKS, hour: GroupMarks = _NO_MARKS) -> tuple[Comparison, ...]:
    """Return the comparison for each group that has, or had, a queue.

    `recent` has a mark of each group about a minute old, `hour` the oldest of the last hour. Without them (the first
    minutes, or a single reading) "now" is the queue of this instant and the hour is that of the metric history.
    """
    known = {(each.con_id, each.name): each for each in reading.hour}
    found = []
    for group in reading.cluster_groups():
        key = (group.con_id, group.name)
        mark = CounterMark.of(reading.at, group)
        if not (mark.came or group.totals.queued):
            continue
        plan = between(None, mark, _since(reading, reading.header.plan_starts.get(group.con_id)))
        before = (marks.get(key) for marks in (recent, hour))
        now, watched = (between(old, mark, _since(reading, old.at)) if old is not None else None for old in before)
        past = _together(known.get(key), watched, reading.at)
        present = now or UsualQueue(0.0, mean_queue=None if group.px_queued is None else float(group.px_queued))
        found.append(Comparison(*key, plan, past, present, _is_worse(group, present, past, plan)))
    return tuple(found)


def _together(history: HourReading | None, watched: UsualQueue | None, at: datetime) -> UsualQueue | None:
    """Return the watched hour and the history before it as one period: only its mean queue is known.

    A history that was read again while presman watched covers the same time twice: the longer one is used.
    """
    if history is None or watched is None:
        return watched if history is None else history.usual
    before, seen = history.usual.seconds or 0.0, watched.seconds or 0.0
    # Periods can be added only if the history ends before the watched time begins.
    if history.until is None or at - history.until <= timedelta(seconds=seen) - MINUTE:
        return watched if seen >= before else history.usual
    seconds, queue = before + seen, before * (history.usual.mean_queue or 0.0) + seen * (watched.mean_queue or 0.0)
    return UsualQueue(seconds, mean_queue=queue / seconds) if seconds else None


def _is_worse(group: GroupReading, now: UsualQueue, hour: UsualQueue | None, plan: UsualQueue | None) -> bool:
    """Whether the queue shown for now is much longer than the usual one shown beside it, and still exists."""
    means = [each.mean_queue for each in (hour, plan) if each is not None and each.mean_queue is not None]
    queue = now.mean_queue or 0.0
    return bool(group.px_queued) and queue >= FEW and bool(means) and queue > WORSE * means[0]


def _since(reading: Reading, at: datetime | None) -> float | None:
    seconds = (reading.at - at).total_seconds() if at is not None else 0.0
    return seconds if seconds > 0 else None


def counter_marks(reading: Reading) -> GroupMarks:
    """Return a mark of each group of a reading, for later comparison."""
    return {(group.con_id, group.name): CounterMark.of(reading.at, group) for group in reading.cluster_groups()}


MINUTE = timedelta(seconds=60)
HOUR = timedelta(hours=1)


class _Minute(Struct, frozen=True):
    at: datetime
    groups: GroupMarks
    operations: Mapping[str, int]


class QueueMarks:
    """Marks about once a minute, kept for an hour; cleared when the counters are reset."""

    def __init__(self) -> None:
        self._minutes: deque[_Minute] = deque()

    def add(self, reading: Reading) -> None:
        """Add a mark if a minute has passed since the last one, or at once if the counters were reset.

        Waiting for the minute after a reset would lose what came in between for an hour.
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
        """Return the comparison of each group at `reading` with the last minute and hour, and since the plan began."""
        older = [minute for minute in self._minutes if reading.at - minute.at >= MINUTE]
        recent = older[-1].groups if older else _NO_MARKS
        hour = next((minute.groups for minute in older if reading.at - minute.at <= HOUR), _NO_MARKS)
        return compare(reading, recent, hour)

    def downgrades(self, reading: Reading) -> dict[str, int]:
        """Return the number of parallel operations by class since the oldest mark of the last hour before `reading`."""
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
    """Return the number of parallel operations by class since startup, over all instances, as named in V$SYSSTAT."""
    return summed((row.name, row.total) for row in reading.downgrades if "downgraded" in row.name)


def _began_anew(before: _Minute, after: _Minute) -> bool:
    """Whether time or a counter has gone back: another plan window, a restart, another position in a recording."""
    if after.at < before.at:
        return True
    pairs = [(before.groups[key].totals, mark.totals) for key, mark in after.groups.items() if key in before.groups]
    counts = [pair for then, now in pairs for pair in ((then.queued, now.queued), (then.completed, now.completed))]
    return any((now or 0) < (then or 0) for then, now in counts)
