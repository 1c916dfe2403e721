"""Goal counts: which statements started in time and which did not, poll after poll or from a recording."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.goals import Goal, GoalReading
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import GapDetector, StatementRun, StatementRuns

RECENT = timedelta(minutes=30)
DAY = timedelta(days=1)
_MINUTE = timedelta(minutes=1)

_RunKey = tuple[int, int, int, str, datetime]


class _Minute(NamedTuple):
    """Statements that were judged in one minute."""

    at: datetime
    good: int
    bad: int


def judged(goal: Goal, run: StatementRun, at: datetime, step: float) -> bool | None:
    """Return whether a statement started in time, as known at an instant; None if it does not count (yet).

    A statement that was first seen running has waited less than the `step` in seconds between two polls; without a
    queue time it counts if that is no longer than the goal's. It counts in the group in which it came, once.
    """
    waited = run.waited(at)
    if waited is None:
        is_new = run.first_seen is not None and run.started is not None and run.started <= run.first_seen
        return True if is_new and step <= goal.seconds else None
    if waited > goal.seconds:
        return False
    return True if run.started is not None else None


class GoalCounts:
    """Counts the statements of each goal once, from reading to reading."""

    def __init__(self, goals: Sequence[Goal]) -> None:
        self._goals = goals
        self._reset()

    def _reset(self) -> None:
        self._runs = StatementRuns()
        self._steps = GapDetector(timedelta.max)
        self._watched = 0.0
        """Seconds watched, without the gaps between readings."""
        self._at: datetime | None = None
        self._counted: list[set[_RunKey]] = [set() for _ in self._goals]
        self._minutes: list[deque[_Minute]] = [deque() for _ in self._goals]
        self._sums = [(0, 0)] * len(self._goals)

    def add(self, reading: Reading) -> Reading:
        """Return the next reading with its results for the goals; an older reading than the last resets the counts."""
        if self._at is not None and reading.at < self._at:
            self._reset()
        before, self._at = self._at, reading.at
        self._runs.add(reading)
        runs = [*self._runs.open, *(() if before is None else self._runs.ended_since(before))]
        step = inf if before is None else (reading.at - before).total_seconds()
        if before is not None and not self._steps.is_gap(reading.at - before):
            self._watched += step
        goals = tuple(self._goal(index, runs, reading.at, step) for index in range(len(self._goals)))
        return with_goals(reading, goals)

    def _goal(self, index: int, runs: Iterable[StatementRun], at: datetime, step: float) -> GoalReading:
        goal, minutes = self._goals[index], self._minutes[index]
        running = {_key(run): run for run in runs if run.came_to == goal.group}
        counted = self._counted[index] & running.keys()
        new = ((executing, run) for executing, run in running.items() if executing not in counted)
        # Only of a statement that this poll saw first is it known that it came since the poll before.
        found = {executing: judged(goal, run, at, step if run.first_seen == at else inf) for executing, run in new}
        good, bad = (sum(each is wanted for each in found.values()) for wanted in (True, False))
        self._counted[index] = counted | {executing for executing, each in found.items() if each is not None}
        self._sums[index] = self._sums[index][0] + good, self._sums[index][1] + bad
        if good or bad:
            minutes.append(_Minute(at, good, bad))
        while minutes and minutes[0].at < at - DAY:
            minutes.popleft()
        # The polls of a minute share one entry, at the instant of the first of them.
        if len(minutes) > 1 and minutes[-1].at - minutes[-2].at < _MINUTE:
            last = minutes.pop()
            minutes[-1] = _Minute(minutes[-1].at, minutes[-1].good + last.good, minutes[-1].bad + last.bad)
        recent, day = (_sums(minutes, at - long) for long in (RECENT, DAY))
        return GoalReading(goal, *self._sums[index], recent, day, self._watched)


def _key(run: StatementRun) -> _RunKey:
    return run.inst_id, run.sid, run.serial, run.sql_id, run.began


def _sums(minutes: Iterable[_Minute], since: datetime) -> tuple[int, int]:
    found = [each for each in minutes if each.at >= since]
    return sum(each.good for each in found), sum(each.bad for each in found)


def with_goals(reading: Reading, goals: tuple[GoalReading, ...]) -> Reading:
    """Return a reading with the results for goals, and a note about goals for an undefined group."""
    names = {*(reading.group_names or ()), *(row.name for row in reading.cluster_groups())}
    lost = dict.fromkeys(each.group for each in goals if reading.group_names is not None and each.group not in names)
    notes = (f"Goals of {name}: there is no group {name}." for name in lost)
    return replace(reading, goals=goals, notes=(*reading.notes, *notes))


def recorded_goals(
    goals: Sequence[Goal],
    runs: Iterable[StatementRun],
    start: datetime,
    at: datetime,
    step: float,
    unwatched: float = 0.0,
) -> tuple[GoalReading, ...]:
    """Return the results for goals from `start` until an instant, from `runs`; `step` is the time between two polls.

    `unwatched` are the seconds without polls in that time.
    """
    every, watched = list(runs), max(0.0, (at - start).total_seconds() - unwatched)
    of_groups = ([run for run in every if run.came_to == goal.group] for goal in goals)
    pairs = zip(goals, of_groups, strict=True)
    return tuple(replace(_recorded(*each, start, at, step), watched=watched) for each in pairs)


def _recorded(goal: Goal, runs: Sequence[StatementRun], start: datetime, at: datetime, step: float) -> GoalReading:
    known = []
    for run in runs:
        good = judged(goal, run, at, step)
        if good is not None:
            late = max(start, run.began + timedelta(seconds=goal.seconds))  # it counts as late as long as it waits
            when = late if not good else run.started or late
            if when >= start:
                known.append(_Minute(when, int(good), int(not good)))
    return GoalReading(goal, *_sums(known, start), _sums(known, at - RECENT), _sums(known, at - DAY), 0.0)
