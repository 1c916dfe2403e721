"""Forecaster: takes successive readings, and forecasts when each queued statement should start.

It plays possible courses from the current state, a few at each reading, and keeps those of the last minute. A budget of
model steps, not a clock, limits how many, so that the same readings give the same forecasts.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from math import inf
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.counted_servers import Bypassed
from presman.analysis.readings.forecast_readings import QueueForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import SAME_WAIT, Executing, QueuedStatement, StartForecast, is_known
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import clock, counted, spelled
from presman.forecast.calibration import Calibration, ForecastOutcome, Interval, KeptForecast, QueueCalibration, tenths
from presman.forecast.course import HORIZON, Draw, Played, draw, play
from presman.forecast.effects import Effects
from presman.forecast.queue_now import Modelled, QueueRules, modelled, queue_rules
from presman.forecast.shown import as_shown
from presman.forecast.statement_history import FEW, StatementHistory
from presman.rows.session_state import NEXT_IN_LINE
from presman.rows.snapshot import Snapshot

COURSES = 40
"""The most courses behind a forecast."""
ENOUGH = 6
"""The fewest courses behind a forecast: with fewer none is shown."""
FRESH = 8
"""Courses that each reading adds if no statement is new; up to as many are replayed without the ended holders."""
_LASTS = timedelta(minutes=1)
"""How long courses are kept."""
_LASTS_LONG = timedelta(minutes=5)
"""How long the last few courses are kept: with a long queue, no more are played in a minute."""

STEPS_PER_SECOND = 300.0
"""Steps of the model for each second that passes: about 3 ms of CPU."""
MOST_STEPS = 9_000.0
"""Steps that may accumulate."""
ONE_LOOK = 40_000.0
"""Steps if there is only one poll: about 400 ms of CPU."""

_LOOK_EVERY = timedelta(minutes=1)
"""The time between the polls whose forecasts are all judged."""

LEADING_POLLS = 30
"""Polls of a recording before the one whose forecasts are shown: they show how accurate the forecasts are."""

SEED = 1

_RESTS_ON = ("V$SESSION", "V$PX_SESSION", "V$RSRC_PLAN", "V$RSRC_CONSUMER_GROUP", "DBA_RSRC_PLAN_DIRECTIVES")
"""Views required for a forecast: they show the waiting statements, the holders of servers, and the limits."""

_QUIESCED = "the database is quiesced, for how long is not known"
_BEHIND_BROKEN = StartForecast(why_none="a statement ahead of it should have started by now and has not")
_NEVER_KNOWN = "and it is not known whether such a statement ever starts"
_BEHIND_TOO_LARGE = StartForecast(why_none=f"a statement ahead of it wants more than its limit allows, {_NEVER_KNOWN}")
PENDING = StartForecast(why_none="it is being calculated")
"""A start that is not known yet."""
_TOO_LONG = StartForecast(why_none="the queue is so long that the calculation takes more than 5 minutes")
_NOT_WITHIN = "it does not start within "
NEVER = f"{_NOT_WITHIN}4 hours in most courses"
_MINUTE = 60.0


_Wait = tuple[Executing, datetime | None]
"""One wait: the statement that a session waits to execute, and since when. A session may queue the same SQL again."""


def not_within(seconds: float) -> StartForecast:
    """Return a forecast that gives only the time within which the statement does not start."""
    if seconds >= HORIZON:
        return StartForecast(why_none=NEVER)
    whole = seconds if seconds < _MINUTE else seconds - seconds % _MINUTE
    return StartForecast(why_none=f"{_NOT_WITHIN}{spelled(whole)} in most courses")


def is_not_within(starts: StartForecast) -> bool:
    """Return whether a forecast only gives the time within which the statement does not start."""
    return starts.why_none.startswith(_NOT_WITHIN)


class _Course(NamedTuple):
    at: datetime
    until: float
    """The end of the course, infinity if it reached the horizon. Times are seconds since 1970."""
    starts: Mapping[_Wait, float]
    """When each statement starts, infinity if it does not start before the end."""


def queue_of(row: QueuedStatement) -> tuple[int, str]:
    """Return the key of the queue that a statement waits in."""
    return row.con_id, row.group


def together(queue: Iterable[QueuedStatement]) -> list[list[QueuedStatement]]:
    """Return the statements of one queue grouped by arrival, oldest first: the order within a group is unknown."""
    found: list[list[QueuedStatement]] = []
    for row in sorted(queue, key=lambda row: row.position):
        first = found[-1][0] if found else row
        if found and first.event != NEXT_IN_LINE and abs((first.waited or 0.0) - (row.waited or 0.0)) < SAME_WAIT:
            found[-1].append(row)
        else:
            found.append([row])
    return found


def _last(starts: Collection[StartForecast]) -> float | None:
    """Return in how many seconds the last statement should start, None if a statement has no forecast.

    Also None if several share the latest: they came together, and the last of them starts later than their median.
    """
    medians = [each.median for each in starts if each.median is not None]
    latest = max(medians, default=0.0)
    return latest if len(medians) == len(starts) and medians.count(latest) == 1 else None


class _FirstForecast(NamedTuple):
    """The first forecast of a statement, which is judged when it starts; in seconds from `at`."""

    at: datetime
    raw: Interval
    shown: Interval
    least: float


class ForecastBasis(NamedTuple):
    """The basis of the forecasts of a reading `at` an instant: the queue as the model has it.

    Intervals of waiting statements are `factor` times as wide as in the courses, where each half counts as at least
    `least` seconds.
    """

    at: datetime
    model: Modelled
    factor: float
    least: float
    seed: int


class _Missed(NamedTuple):
    """A statement that did not start when forecast: why it has no forecast now, and its outcome until it starts."""

    why: str
    outcome: ForecastOutcome


def _why_none(row: QueuedStatement, rules: QueueRules) -> str:
    """Return why a statement has no forecast, "" if it has one."""
    lacking = {
        "how many servers it wants is not known": not is_known(row.wants),
        "the target is not known": rules.target is None,
        "in which order the queues are served is not known": rules.one_queue is None,
        "on which instances its servers may run is limited or not known": (row.inst_id, row.sid) in rules.confined,
        f"it wants more than its limit allows, {_NEVER_KNOWN}": _is_too_large(row, rules),
    }
    return next((why for why, lacks in lacking.items() if lacks), rules.unknown_limits.get(queue_of(row), ""))


def _is_too_large(row: QueuedStatement, rules: QueueRules) -> bool:
    """Return whether a statement wants more than its group or its container may ever have.

    Courses start it once no servers are in use, which was observed for the target, but not for these limits.
    """
    limits = rules.limits.get(queue_of(row), ())
    return row.wants is not None and any(row.wants.low > each.allowed for each in limits)


class Forecaster:
    """Forecasts of one database's queue. `seed` is for its random numbers; `steps` is the initial budget of steps."""

    def __init__(self, seed: int = SEED, steps: float = MOST_STEPS) -> None:
        self._seed = seed
        self._steps_at_first = steps
        self._reset()

    def _reset(self) -> None:
        self._history = StatementHistory()
        self._bypassed = Bypassed()
        self._calibration = Calibration()
        self._queue_calibration = QueueCalibration()
        self._standing: dict[_Wait, KeptForecast] = {}
        self._looked: datetime | None = None
        self._effects = Effects()
        self._courses: deque[_Course] = deque(maxlen=COURSES)
        self._first: dict[_Wait, _FirstForecast] = {}
        self._missed: dict[_Wait, _Missed] = {}
        self._rules: object = None
        self._pending: dict[_Wait, datetime] = {}
        self._working: frozenset[Executing] = frozenset()
        self._number = 0
        self._steps = self._steps_at_first
        self._at: datetime | None = None
        self._judged_since: datetime | None = None
        self._least = 1.0
        self._is_recorded = False
        self.forecast_basis: ForecastBasis | None = None
        """The basis of the newest forecasts, None if there are none."""

    def begin(self, at: datetime, watched: timedelta, runs: Iterable[StatementRun]) -> None:
        """Begin after a reading at an instant, with the statements that were seen in the time `watched` before it."""
        self._history.begin(at, watched, runs)
        self._at, self._is_recorded = at, True

    def read(self, reading: Reading, previous: Snapshot | None, current: Snapshot, cache: RowCache | None) -> Reading:
        """Return the reading of two snapshots with its forecasts: those of a recorded poll if it has any."""
        found = self.add(reading, lambda: queue_rules(Facts.of(previous, current, cache), reading))
        return as_shown(found, current)

    def add(self, reading: Reading, rules: Callable[[], QueueRules]) -> Reading:
        """Return the next reading with its forecasts; `rules` is called only if a forecast is possible."""
        if self._at is not None and reading.at < self._at:  # another position in a recording
            self._reset()
        passed = 0.0 if self._at is None else (reading.at - self._at).total_seconds()
        self._judged_since = self._judged_since or reading.at
        # A start is seen at the next poll, so a range cannot be narrower than the time between two polls.
        self._at, self._least = reading.at, max(1.0, min(passed, 60.0))
        # The first budget may be larger than what accumulates (ONE_LOOK): it is spent, never cut.
        self._steps = max(self._steps, min(MOST_STEPS, self._steps + STEPS_PER_SECOND * passed))
        self._history.add(reading)
        if bypassed := self._bypassed.add(reading):
            reading = replace(reading, bypassed=bypassed)
        lacking = next(filter(None, map(reading.why_unavailable, _RESTS_ON)), "") or reading.why_unknown("queue")
        if reading.quiesce is not None or self._history.is_behind_gap:
            self._forget_open()
        if lacking := lacking or (_QUIESCED if reading.quiesce is not None else ""):
            return self._nothing(reading, lacking)
        self._judge(reading)
        if not reading.queue:
            self._forget_courses()
            return reading if not self._calibration.record().judged else replace(reading, forecast=self._behind())
        if (ended := self._history.ended) < FEW:
            few = f"a forecast needs {counted(FEW, 'statement')} that have ended, and presman has seen {ended}"
            return self._nothing(reading, few)
        found = rules()
        self._forget_old(reading, found)
        # With the budget overdrawn, the forecasts come from the courses of earlier readings alone.
        model = modelled(reading, found, self._history) if self._steps > 0 else None
        if model is not None:
            self._play(model, reading)
            self.forecast_basis = ForecastBasis(reading.at, model, self._factor, self._least, self._seed)
        starts = self._starts(reading, found)
        self._look(reading.at)
        return reading.with_forecast(starts, self._behind(_last(starts.values())))

    def _nothing(self, reading: Reading, why: str) -> Reading:
        """Return a reading without forecasts, for one reason that applies to the whole queue."""
        self._forget_courses()
        nothing = StartForecast(why_none=why)
        return reading.with_forecast({each.executing(): nothing for each in reading.queue}, self._behind())

    @property
    def _factor(self) -> float:
        """The factor by which intervals are wider than in the courses for statements that have waited for a while."""
        return self._queue_calibration.factor or self._calibration.factor

    def _look(self, at: datetime) -> None:
        """Keep the forecasts of all waiting statements once a minute, to judge them when the statements start."""
        if self._looked is None or at - self._looked >= _LOOK_EVERY:
            self._looked = at
            self._queue_calibration.look(at.timestamp(), tuple(self._standing.items()))

    def _behind(self, last: float | None = None) -> QueueForecast:
        """Return the basis of the forecasts; the `last` queued statement should start in this many seconds."""
        record, at = self._calibration.record(), self._at
        trusted = record.is_proof() and not self._is_recorded
        effects = () if at is None else self._effects.known(at, trusted=trusted, last=last, factor=self._factor)
        return QueueForecast(
            record=record,
            effects=effects if record.shows_effects() else (),
            ended=self._history.ended,
            watched=self._history.watched,
            courses=len(self._courses),
            seed=self._seed,
            judged_since=self._judged_since,
            worked_out_again=self._is_recorded,
        )

    def _forget_courses(self) -> None:
        self._courses.clear()
        self.forecast_basis = None
        self._effects = Effects()

    def _forget_open(self) -> None:
        """Forget the forecasts of waiting statements: their conditions have changed, or their outcome was not seen."""
        self._first.clear()
        self._missed.clear()
        self._queue_calibration.forget_open()

    def _forget_old(self, reading: Reading, rules: QueueRules) -> None:
        """Forget courses that are too old or were played under other rules; keep the last few for longer.

        In courses a statement may end that has gone idle since and keeps its servers: these are forgotten, too.
        Forecasts made under other rules are not judged: they were for a queue that no longer exists.
        """
        now = rules.target, rules.plan, {key: [each.allowed for each in limits] for key, limits in rules.limits.items()}
        if now != self._rules:
            self._forget_courses()
            self._forget_open()
        self._rules = now
        if any(each.idle is not None and each.executing() in self._working for each in reading.running):
            self._courses.clear()
        self._working = frozenset(each.executing() for each in reading.running if each.idle is None)
        at = reading.at
        while self._courses and at - self._courses[0].at > (_LASTS if len(self._courses) > ENOUGH else _LASTS_LONG):
            self._courses.popleft()

    def _play(self, model: Modelled, reading: Reading) -> None:
        """Play as many courses as the budget allows; half of the steps is for the effects of ends.

        If enough courses include all statements that wait now, a few new courses suffice.
        """
        now = reading.at.timestamp()
        waits = {self._wait(each) for each in model.waiting}
        wanted = max(FRESH, COURSES - sum(waits <= each.starts.keys() for each in self._courses))
        rest = self._steps / 2 if self._effects.offer(reading) else 0.0
        fresh: list[tuple[Draw, Played]] = []
        # Forecasts come before effects: until there are enough courses, they may take the whole budget.
        while len(fresh) < wanted and self._steps > (rest if len(self._courses) > 2 * ENOUGH else 0.0):
            self._number += 1
            drawn = draw(model.now, f"{self._seed}/{self._number}")
            played = play(model.now, drawn)
            self._steps -= played.steps
            fresh.append((drawn, played))
            starts = zip(model.waiting, played.starts, strict=True)
            known = {self._wait(each): now + start for each, start in starts}
            self._courses.append(_Course(reading.at, inf if played.whole else now + played.until, known))
        self._steps -= self._effects.play(model, fresh[:FRESH], reading.at, self._steps)

    def _starts(self, reading: Reading, rules: QueueRules) -> dict[Executing, StartForecast]:
        """Return the forecasts. In each queue the first arrival starts first; of several that came together any may.

        If a statement missed its forecast, those behind it have none: they depend on the start that did not happen.
        """
        found: dict[Executing, StartForecast] = {}
        self._standing = {}
        missed = [row for row in reading.queue if self._wait(row) in self._missed] if self._missed else []
        # With one queue for all groups, a start that did not come holds up the later statements of every group.
        broken = max((row.waited or 0.0 for row in missed), default=0.0) if rules.one_queue else 0.0
        for _, queue in groupby(sorted(reading.queue, key=queue_of), queue_of):
            after = StartForecast(0.0, 0.0, 0.0)
            for alike in together(queue):
                if (alike[0].waited or 0.0) < broken - SAME_WAIT:
                    after = _BEHIND_BROKEN
                times = self._times(alike, reading.at.timestamp())
                starts = [self._start(row, times, after, rules, reading.at) for row in alike]
                found |= {row.executing(): each for row, each in zip(alike, starts, strict=True)}
                # Those that came together have one forecast, so the first known one stands for all.
                after = next((each for each in starts if each.median is not None), after)
                if missed and any(self._wait(row) in self._missed for row in alike):
                    after = _BEHIND_BROKEN
                elif any(_is_too_large(row, rules) for row in alike):
                    after = _BEHIND_TOO_LARGE
        return found

    def _times(self, alike: Sequence[QueuedStatement], now: float) -> list[float]:
        """Return the seconds after which statements that came together start in the courses, ascending."""
        waits = [self._wait(row) for row in alike]
        known = (each.starts[wait] - now for each in self._courses for wait in waits if wait in each.starts)
        # In some courses it should have started by now: they are refuted, because it still waits.
        return sorted(start for start in known if start >= 0.0)

    def _reach(self, wait: _Wait, now: float) -> float:
        """Return the seconds to the earliest end of a course in which the statement does not start."""
        return min((each.until for each in self._courses if each.starts.get(wait) == inf), default=inf) - now

    def _start(
        self, row: QueuedStatement, starts: Sequence[float], after: StartForecast, rules: QueueRules, at: datetime
    ) -> StartForecast:
        """Return the forecast of a statement from `starts` in the courses, at the earliest that of `after`."""
        wait = self._wait(row)
        missed = self._missed[wait].why if wait in self._missed else after.why_none
        if why := _why_none(row, rules) or missed:
            return StartForecast(why_none=why)
        if len(starts) < ENOUGH:
            return PENDING if at - self._pending.setdefault(wait, at) < _LASTS_LONG else _TOO_LONG
        self._pending.pop(wait, None)
        raw = Interval.of(starts)
        # In most courses it does not start: the first of them to end shows for how long at least.
        at_least = raw.median if raw.median < inf else self._reach(wait, at.timestamp())
        if row.timeout_left is not None and at_least >= row.timeout_left - self._least:
            return StartForecast(timeout=True)
        if raw.median == inf:
            return not_within(at_least)
        latest = HORIZON if row.timeout_left is None else row.timeout_left
        raw = raw._replace(high=min(raw.high, latest))
        self._standing[wait] = KeptForecast(at.timestamp(), raw, self._least)
        is_first = wait not in self._first
        shown = self._calibration.widened(raw, self._least) if is_first else raw.widened(self._factor, self._least)
        # Few courses may have a later statement start earlier: no forecast is below that of the statement before.
        before = after.median or 0.0, after.low or 0.0, after.high or 0.0
        shown = Interval(*map(max, shown._replace(high=min(shown.high, latest)), before))
        self._first.setdefault(wait, _FirstForecast(at, raw, shown, self._least))
        return StartForecast(tenths(shown.median), tenths(shown.low), tenths(shown.high))

    def _wait(self, row: QueuedStatement) -> _Wait:
        run = self._history.run(row.executing())
        return row.executing(), None if run is None else run.queued

    def _judge(self, reading: Reading) -> None:
        """Judge the first forecasts of the statements that have started, or should have by now (those were wrong).

        A statement that started and ended between two polls, or left without a start, is not judged.
        """
        queued = {self._wait(each) for each in reading.queue}
        self._pending = {wait: since for wait, since in self._pending.items() if wait in queued}
        for wait, first in list(self._first.items()):
            if wait not in queued:
                self._judge_start(wait, self._first.pop(wait), self._missed.pop(wait, None))
                continue
            # A start at the end of the range is seen at the next poll only.
            latest = first.at + timedelta(seconds=first.shown.high + first.least)
            if reading.at > latest and wait not in self._missed:
                waited = (reading.at - first.at).total_seconds()
                outcome = self._calibration.judge(first.raw, first.shown, waited, first.least)
                self._missed[wait] = _Missed(f"it should have started by {clock(latest)} and has not", outcome)

    def _judge_start(self, wait: _Wait, first: _FirstForecast, missed: _Missed | None) -> None:
        executing, since = wait
        run = self._history.run(executing)
        # Another time means that the session has queued the same SQL again: that run is another wait.
        started = run.started if run is not None and run.queued == since else None
        self._queue_calibration.start(wait, None if started is None else started.timestamp())
        if started is not None and started >= first.at:
            seconds = (started - first.at).total_seconds()
            before = None if missed is None else missed.outcome
            self._calibration.judge(first.raw, first.shown, seconds, first.least, before)
