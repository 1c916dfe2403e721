"""Parallel statements seen in the last hour: how long they held their servers, and when they arrived."""

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Hashable, Iterable
from datetime import datetime, timedelta
from functools import cached_property
from math import exp, log
from operator import itemgetter
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing
from presman.analysis.trends.statement_runs import GapDetector, StatementRun, StatementRuns, longest_step

# ---- Durations for which statements hold their servers, learned from those seen: ended, or still running. The
# Kaplan-Meier estimate counts running statements for as long as they have run, and those that already ran when first
# seen from then on. Of n that have run for some time, the next end takes one part in n + 1/2 and not in n: a longer run
# than all before must remain possible, and with the mean that is then left to it the overall mean is exactly that of
# those seen. (One part in n + 1 made the mean of five an eighth too long.)


FEW = 5
"""Fewer ends than this give no distribution."""


class ObservedDuration(NamedTuple):
    """How long one statement held its servers, in seconds; censored if it has not `ended`.

    presman first saw it at the age `entry_age`: a statement that ends at a lower age is not seen (left truncation).
    """

    seconds: float
    ended: bool = True
    entry_age: float = 0.0


class Durations(Struct, frozen=True, dict=True):
    """A distribution of seconds: `survival` is the part that lasts longer than each of `times`, ascending.

    Between two times the ends are spread evenly. Statements that outlast the last time go on for `mean` seconds more,
    on average; `mean` is also the mean of all.
    """

    times: tuple[float, ...]
    survival: tuple[float, ...]
    mean: float

    def longer_than(self, seconds: float) -> float:
        """Return the part that lasts longer than `seconds`.

        >>> Durations((10.0, 20.0), (0.5, 0.25), 20.0).longer_than(15.0)
        0.375
        """
        after = bisect_right(self.times, seconds)
        if after == len(self.times):  # an exponential tail: it has no memory, so `mean` is left at any time in it
            return self.survival[-1] * exp((self.times[-1] - seconds) / self.mean)
        begin, part = (self.times[after - 1], self.survival[after - 1]) if after else (0.0, 1.0)
        way = (seconds - begin) / (self.times[after] - begin)
        return part + (self.survival[after] - part) * way

    def left(self, run: float, chance: float) -> float:
        """Return the seconds left after `run` seconds; a part of `chance` (0..1) of similar statements has less left.

        >>> Durations((10.0, 20.0), (0.5, 0.25), 20.0).left(10.0, 0.25)
        5.0
        """
        if run >= self.times[-1]:
            return -self.mean * log(1.0 - chance)
        # The inverse of `longer_than`, for the part of all statements that outlasts both `run` and the time sought.
        part = (self.longer_than(run) if run > 0.0 else 1.0) * (1.0 - chance)
        if part <= self.survival[-1]:
            return self.times[-1] + self.mean * log(self.survival[-1] / part) - run
        index = bisect_left(self._over, -part)
        begin, above = (self.times[index - 1], self.survival[index - 1]) if index else (0.0, 1.0)
        way = (above - part) / (above - self.survival[index])
        return max(0.0, begin + (self.times[index] - begin) * way - run)

    @cached_property
    def _over(self) -> tuple[float, ...]:
        """Return `survival` negated: ascending, as bisect needs it."""
        return tuple(-each for each in self.survival)


def kaplan_meier(seen: Iterable[ObservedDuration]) -> Durations | None:
    """Return the distribution of the durations of statements, None if fewer than five have ended.

    >>> five = [ObservedDuration(seconds) for seconds in (10, 20, 30, 40, 50)]
    >>> [round(part, 3) for part in kaplan_meier(five).survival]
    [0.818, 0.636, 0.455, 0.273, 0.091]
    """
    known = [each for each in seen if each.seconds > each.entry_age >= 0]
    ends = sorted(each.seconds for each in known if each.ended)
    if len(ends) < FEW:
        return None
    all_of_them = sorted(each.seconds for each in known)
    entries = sorted(each.entry_age for each in known)
    times: list[float] = []
    survival: list[float] = []
    part = 1.0
    for index, seconds in enumerate(ends):
        before = index - bisect_left(ends, seconds)  # ends at the same time
        # Those that were seen at a lower age, without those that were over by then.
        at_risk = bisect_left(entries, seconds) - bisect_left(all_of_them, seconds) - before
        part *= 1.0 - 1.0 / (at_risk + 0.5)
        times.append(seconds)
        survival.append(part)
    # The time observed, of running statements too, for each end: the mean of ended ones alone would be too short.
    exposed = sum(each.seconds - each.entry_age for each in known)
    return Durations(tuple(times), tuple(survival), exposed / len(ends))


# ---- What was seen. A statement that comes and ends between two polls is not, so the shortest ones teach nothing.


HOUR = timedelta(hours=1)
KEPT = 100
"""The most ended statements of one kind whose durations are kept: the newest."""
MOST_ARRIVALS = 1000
"""The most arrivals that are kept: the newest."""
_ANEW = timedelta(minutes=1)
"""The age at which a distribution is renewed even if no statement has ended: running ones have run for longer."""

_APART = timedelta(seconds=20)
"""The time between two records of a statement's remaining seconds in V$SESSION_LONGOPS."""

_ALL = ("all",)


class StatementHistory:
    """The ends and the arrivals of the last hour, and the distributions learned from them."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self.begun: datetime | None = None
        self.at: datetime | None = None
        self._runs = StatementRuns()
        self._arrivals: deque[tuple[datetime, StatementRun]] = deque(maxlen=MOST_ARRIVALS)
        """The arrivals and their times, by a clock that stops during gaps: a gap is not quiet time."""
        self._ends: dict[Hashable, deque[tuple[datetime, ObservedDuration]]] = {}
        self._made: dict[Hashable, tuple[datetime, Durations | None]] = {}
        self._lasting: dict[tuple[int, str, str], Durations | None] = {}
        """The answers of `lasting` since the last reading: a forecast asks for each arrival of the last hour."""
        self._remaining_of: dict[Executing, list[tuple[datetime, float]]] = {}
        self._times: dict[Hashable, deque[float]] = {}
        self.is_behind_gap = False
        """Whether the last step was much longer than usual: ends within it are unknown."""
        self._steps = GapDetector(longest_step(0.0))

    def begin(self, at: datetime, watched: timedelta, runs: Iterable[StatementRun]) -> None:
        """Begin after a reading at an instant, with the `runs` that were seen in the time `watched` before it."""
        self.at, self.begun = at, at - watched
        self._steps = GapDetector(timedelta.max)  # the time between the earlier polls is unknown
        known = sorted(runs, key=lambda run: run.began)
        self._runs.begin(at, known)
        self._take_arrivals(run for run in known if run.began >= at - watched)
        for run in sorted(known, key=lambda run: run.ended or at):
            if run.ended is not None:
                self._take(run, run.ended)

    def add(self, reading: Reading) -> None:
        """Take the next reading; a reading that is older than the last one resets everything.

        After a step that is much longer than usual the arrivals during it are unknown, and so are the times of ends.
        Statements that are gone with an instance would have run for longer.
        """
        if self.at is not None and reading.at < self.at:
            self._reset()
        before, self.at = self.at, reading.at
        self._lasting.clear()
        self._runs.add(reading)
        if before is None:
            self.begun = reading.at
            return
        gone = self._runs.ended_since(before)
        self.is_behind_gap = is_gap = self._steps.is_gap(reading.at - before)
        if is_gap:
            self._leave_out(reading.at - before)
        else:
            self._take_arrivals(run for run in self._runs.open if run.first_seen == reading.at)
        for run in gone:
            # A run that ended in a gap may have ended at any time in it: it counts as still running at its beginning.
            cut = is_gap or run.cut
            self._take(replace(run, cut=cut), before if cut else reading.at)
        self._forget(reading.at)
        self._note_remaining(reading)

    def _leave_out(self, step: timedelta) -> None:
        """Leave out a gap: shift earlier arrivals by its length, which keeps their rate; after an hour forget them."""
        assert self.at is not None
        assert self.begun is not None
        self.begun = self.at if step >= HOUR else self.begun + step
        self._arrivals = deque(((at + step, run) for at, run in self._arrivals if step < HOUR), maxlen=MOST_ARRIVALS)

    def _take_arrivals(self, runs: Iterable[StatementRun]) -> None:
        """Take the arrivals; if they are too many to keep, observation starts at the oldest kept."""
        self._arrivals.extend((run.began, run) for run in runs)
        if len(self._arrivals) == MOST_ARRIVALS and self.begun is not None:
            self.begun = max(self.begun, self._arrivals[0][0])

    def _take(self, run: StatementRun, at: datetime) -> None:
        """Take a run that was seen to be over at `at`; a run that is cut counts as still running then."""
        run = replace(run, ended=None) if run.cut else run
        noted = self._remaining_of.pop((run.inst_id, run.sid, run.serial, run.sql_id), ())
        ended = run.ended
        # For each estimate that was noted: the time from then to the end, as a multiple of the estimate.
        times = [(ended - when).total_seconds() / max(left, 1.0) for when, left in noted if ended and when < ended]
        for key, lasted in _kinds(run, at):
            self._ends.setdefault(key, deque(maxlen=KEPT)).append((at, lasted))
            self._made.pop(key, None)
            if times:
                self._times.setdefault(key, deque(maxlen=KEPT)).extend(times)

    def _forget(self, at: datetime) -> None:
        """Forget arrivals more than an hour old, and kinds without an end in the last hour."""
        while self._arrivals and self._arrivals[0][0] < at - HOUR:
            self._arrivals.popleft()
        for key in [key for key, ends in self._ends.items() if ends[-1][0] < at - HOUR]:
            del self._ends[key]
            self._times.pop(key, None)
        for key in [key for key, (made, _) in self._made.items() if at - made > _ANEW]:
            del self._made[key]

    def _note_remaining(self, reading: Reading) -> None:
        """Record the remaining time of operations in V$SESSION_LONGOPS, to compare it with the actual time."""
        for each in reading.running:
            if each.remaining is not None and each.idle is None:
                noted = self._remaining_of.setdefault(each.executing(), [])
                if not noted or reading.at - noted[-1][0] >= _APART:
                    noted.append((reading.at, each.remaining))
        running = {each.executing() for each in reading.running}
        self._remaining_of = {
            executing: noted for executing, noted in self._remaining_of.items() if executing in running
        }

    @property
    def watched(self) -> float:
        """Return the seconds observed, without gaps, at most an hour."""
        if self.at is None or self.begun is None:
            return 0.0
        return min(HOUR, self.at - self.begun).total_seconds()

    @property
    def ended(self) -> int:
        """Return the number of recent statements that were seen to end in the last hour and show a duration."""
        return sum(each.ended and each.seconds > each.entry_age for each in self._recent(_ALL))

    @property
    def arrivals(self) -> list[tuple[float, StatementRun]]:
        """Return the arrivals in the time `watched`, each with the seconds after its beginning, in that order."""
        if self.at is None:
            return []
        begin = self.at - timedelta(seconds=self.watched)
        found = (((at - begin).total_seconds(), run) for at, run in self._arrivals if at >= begin)
        return sorted(found, key=itemgetter(0))

    def run(self, executing: Executing) -> StatementRun | None:
        """Return the run of a statement that waits or runs now, None if there is none."""
        return self._runs.now(executing)

    def lasting(self, con_id: int, group: str, sql_id: str) -> Durations | None:
        """Return how long a statement holds its servers: by its own past, else its group's, else that of all.

        None if fewer than five have ended.
        """
        kind = con_id, group, sql_id
        if kind not in self._lasting:
            kinds = ((con_id, sql_id, "sql"), (con_id, group), _ALL)
            known = (self._durations(key) for key in kinds)
            self._lasting[kind] = next((found for found in known if found is not None), None)
        return self._lasting[kind]

    def times(self, con_id: int, group: str, sql_id: str) -> tuple[float, ...]:
        """Return the ratios of actual to estimated time (V$SESSION_LONGOPS) of statements, ascending.

        () if fewer than five ratios are known of the statement or its group.
        """
        known = (self._times.get(key, ()) for key in ((con_id, sql_id, "sql"), (con_id, group)))
        return tuple(sorted(next((found for found in known if len(found) >= FEW), ())))

    def idling(self, con_id: int, group: str) -> Durations | None:
        """Return how long idle holders of a group keep their servers; None if fewer than five have given them back."""
        return self._durations((con_id, group, "idle"))

    def _durations(self, key: Hashable) -> Durations | None:
        assert self.at is not None
        if key not in self._made:
            self._made[key] = self.at, kaplan_meier([*self._recent(key), *self._running(key)])
        return self._made[key][1]

    def _recent(self, key: Hashable) -> list[ObservedDuration]:
        since = None if self.at is None else self.at - HOUR
        return [lasted for when, lasted in self._ends.get(key, ()) if since and when >= since]

    def _running(self, wanted: Hashable) -> list[ObservedDuration]:
        at = self.at
        return [lasted for run in self._runs.open if at for key, lasted in _kinds(run, at) if key == wanted]


def _kinds(run: StatementRun, at: datetime) -> Iterable[tuple[Hashable, ObservedDuration]]:
    """Yield the durations of a run by kind: its SQL_ID, its group, all; also the group's idle holders if it is idle."""
    if run.started is None:
        return
    end = run.ended or at
    entry_age = ((run.first_seen or run.started) - run.started).total_seconds()
    lasted = ObservedDuration((end - run.started).total_seconds(), run.ended is not None, max(0.0, entry_age))
    yield _ALL, lasted
    yield (run.con_id, run.group), lasted
    if run.sql_id:
        yield (run.con_id, run.sql_id, "sql"), lasted
    if run.idle is not None:
        idle_from = ((run.first_seen or run.idle) - run.idle).total_seconds()
        idled = ObservedDuration((end - run.idle).total_seconds(), run.ended is not None, max(0.0, idle_from))
        yield (run.con_id, run.group, "idle"), idled
