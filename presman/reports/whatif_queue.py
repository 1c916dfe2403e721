"""Queue under other limits: its forecast beside that of now, from the same courses. Pure; times are seconds.

Each possible course is drawn once and played twice, so that nothing but the changed limits makes the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import inf, isfinite
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement, StartForecast
from presman.figures.statement_figures import NO_START, why_unforeseen
from presman.forecast.calibration import Interval
from presman.forecast.course import HORIZON, Came, Draw, Played, QueueNow, draw, play
from presman.forecast.durations import Durations
from presman.forecast.forecaster import (
    COURSES,
    ENOUGH,
    ONE_LOOK,
    PENDING,
    Foresight,
    is_not_within,
    not_within,
    queue_of,
    together,
)
from presman.forecast.scheduler import Group, Limits, QueueRule, ServerPoolLimit
from presman.reports.advise_load import Choice, ObservedLoad, rules_of

_SAME = 1.0
"""Seconds by which two starts may differ and are still called the same."""


class ChangedStart(NamedTuple):
    """When a queued statement starts: as things are in `row.starts`, `then` under changes, `sooner` in so many courses.

    `later` counts those in which it starts later. Where it does not start in most courses `beyond` and `then_beyond`
    tell within how many seconds.
    """

    row: QueuedStatement
    then: StartForecast
    sooner: int = 0
    later: int = 0
    courses: int = 0
    beyond: float | None = None
    then_beyond: float | None = None


def why_unknown(reading: Reading, foresight: Foresight | None) -> str:
    """Return why a queue cannot be forecast under other limits, "" if it can, or if nobody is queued."""
    record = None if reading.forecast is None else reading.forecast.record
    if not reading.queue:
        return ""
    if record is not None and record.is_poor():
        return f"forecasts held {record.held} of {record.judged} here: too few to say"
    return "" if foresight else why_unforeseen(reading).removeprefix(NO_START) or PENDING.why_none


class _Start(NamedTuple):
    """A start in a course: after how many seconds, infinite where it does not start in it, and after how many at least.

    A course that was not played to its end tells no more of who still waits.
    """

    seconds: float
    least: float

    @classmethod
    def of(cls, played: Played, place: int) -> _Start:
        return cls(played.starts[place], min(played.starts[place], played.until))


_Pair = tuple[_Start, _Start]
"""The start of one statement in a course as things are, and in the same under changes."""


def _in_courses(pairs: Sequence[tuple[Played, Played]], place: int | None) -> list[_Pair]:
    """Return the starts of who waits at a place; none where the model does not have it."""
    return [] if place is None else [(_Start.of(now, place), _Start.of(then, place)) for now, then in pairs]


def _reach(starts: Sequence[_Start]) -> float:
    """Return within how many seconds those do not start that do not start."""
    return min((each.least for each in starts if each.seconds == inf), default=HORIZON)


def _beyond(found: StartForecast, starts: Sequence[_Start]) -> float | None:
    """Return within how many seconds it does not start in most courses, None where it does or that is not why."""
    return _reach(starts) if is_not_within(found) else None


class QueueCourses:
    """Courses of the queue, drawn once for one foresight."""

    def __init__(self, foresight: Foresight) -> None:
        self.foresight = foresight
        self._drawn: list[tuple[Draw, Played]] = []
        steps = 0
        while len(self._drawn) < COURSES and (steps < ONE_LOOK / 2 or len(self._drawn) < ENOUGH):
            drawn = draw(foresight.model.now, f"{foresight.seed}/what if/{len(self._drawn)}")
            played = play(foresight.model.now, drawn)
            steps += played.steps
            self._drawn.append((drawn, played))

    def compare(self, reading: Reading, load: ObservedLoad, choice: Choice) -> list[ChangedStart]:
        """Return the starts under a choice, heads first. Nobody is shown to start before who stands before him.

        Those that came together have one forecast, as without a choice: which of them is first each course draws, so
        the latest of their medians would be that of an unlucky draw.
        """
        model = self.foresight.model
        pairs = self._pairs(under(model.now, load, choice))
        places = {each.executing(): place for place, each in enumerate(model.waiting)}
        found: list[ChangedStart] = []
        for _, queue in groupby(sorted(reading.queue, key=queue_of), queue_of):
            first: ChangedStart | None = None
            for alike in together(queue):
                own = [_in_courses(pairs, places.get(row.executing())) for row in alike]
                pooled = [pair for starts in own for pair in starts]
                changed = [
                    self._later(row, starts, pooled if starts else [], first)
                    for row, starts in zip(alike, own, strict=True)
                ]
                found, first = found + changed, changed[-1]
        return sorted(found, key=lambda each: (each.row.position, -(each.row.waited or 0.0)))

    def _pairs(self, other: QueueNow) -> list[tuple[Played, Played]]:
        """Return the courses as things are and under other limits: fewer of them where the queue is long in those."""
        if other is self.foresight.model.now:
            return [(now, now) for _, now in self._drawn]
        pairs: list[tuple[Played, Played]] = []
        for drawn, now in self._drawn:
            pairs.append((now, play(other, drawn)))
            if len(pairs) >= ENOUGH and sum(then.steps for _, then in pairs) > ONE_LOOK:
                break
        return pairs

    def _later(
        self, row: QueuedStatement, courses: Sequence[_Pair], pooled: Sequence[_Pair], first: ChangedStart | None
    ) -> ChangedStart:
        """Return the starts of a statement, by all that came with it, which is not before the `first` of its queue."""
        nows, thens = [now for now, _ in pooled], [then for _, then in pooled]
        starts = row.starts or PENDING
        if (starts == PENDING or is_not_within(starts)) and len(courses) >= ENOUGH:
            starts = _not_before(first and first.row.starts, self._start(row, nows, self._interval(nows)))
        then = _not_before(first and first.then, self._then(row, starts, nows, thens))
        sooner = sum(now.least - then.seconds > _SAME for now, then in courses)
        later = sum(then.least - now.seconds > _SAME for now, then in courses)
        beyond = _beyond(starts, nows), _beyond(then, thens)
        return ChangedStart(replace(row, starts=starts), then, sooner, later, len(courses), *beyond)

    def _then(
        self, row: QueuedStatement, shown: StartForecast, nows: Sequence[_Start], thens: Sequence[_Start]
    ) -> StartForecast:
        """Return a start under the changes: as much later than it is shown as it is in the courses, and as sure."""
        if len(nows) < ENOUGH:
            return shown if shown.why_none else PENDING
        if shown.why_none and _beyond(shown, nows) is None:
            return shown
        now, then = self._interval(nows), self._interval(thens)
        if shown.median is not None and shown.low is not None and shown.high is not None and isfinite(now.median):
            moved = Interval(*map(_moved, (shown.median, shown.low, shown.high), now, then))
            return self._start(row, thens, then, moved)
        return self._start(row, thens, then)

    def _start(
        self, row: QueuedStatement, starts: Sequence[_Start], raw: Interval, shown: Interval | None = None
    ) -> StartForecast:
        """Return what courses tell of a start: its interval, as it is `shown`, or why there is none."""
        reached = raw.median if isfinite(raw.median) else _reach(starts)
        if row.timeout_left is not None and reached >= row.timeout_left - self.foresight.least:
            return StartForecast(timeout=True)
        if raw.median == inf:
            return not_within(reached)
        found = shown or raw
        middle = max(0.0, found.median)
        return StartForecast(middle, max(0.0, min(middle, found.low)), max(middle, min(HORIZON, found.high)))

    def _interval(self, starts: Sequence[_Start]) -> Interval:
        times = sorted(each.seconds for each in starts)
        raw = Interval.of(times)
        if raw.median == inf:
            return raw
        return raw._replace(high=min(raw.high, HORIZON)).widened(self.foresight.factor, self.foresight.least)


def _moved(shown: float, now: float, then: float) -> float:
    """Return what is shown as much later as it is in the courses, or by as large a part sooner: at once is at once."""
    return shown + then - now if then >= now else shown * then / now


def _not_before(first: StartForecast | None, starts: StartForecast) -> StartForecast:
    if first is None or None in (first.median, starts.median):
        return starts
    pairs = ((first.median, starts.median), (first.low, starts.low), (first.high, starts.high))
    return StartForecast(*(max(one or 0.0, other or 0.0) for one, other in pairs))  # type: ignore[arg-type]


def under(now: QueueNow, load: ObservedLoad, choice: Choice) -> QueueNow:
    """Return the queue under a choice. Statements that wait keep their degree, and limits of containers stay."""
    if not choice:
        return now
    caps = {each.group: 2 * each.value for each in choice if each.kind == "degree"}
    came = tuple(_capped(each, caps.get(each.group, each.servers)) for each in now.came) if caps else now.came
    return now._replace(limits=_limits(now.limits, load, choice), came=came)


def _capped(each: Came, most: int) -> Came:
    """Return one that comes with fewer servers, for which it runs longer: its work, servers times seconds, stays."""
    if each.servers <= most:
        return each
    times, lasts = each.servers / most, each.lasts
    longer = Durations(tuple(times * one for one in lasts.times), lasts.lasts, times * lasts.mean)
    return each._replace(servers=most, lasts=longer)


def _limits(limits: Limits, load: ObservedLoad, choice: Choice) -> Limits:
    rules = rules_of(load, choice)
    table = {**limits.rules, **{group: _rule(limits, group, most) for group, most in rules.limits.items()}}
    root = rules.plan if any(each.kind in {"levels", "shares"} for each in choice) else limits.root
    return replace(limits, target=rules.target, rules=table, root=root)


def _rule(limits: Limits, group: Group, most: int) -> QueueRule:
    """Return a group's rule with another limit of its own; the limit of its container stays."""
    rule, name = limits.rule(group), f"{group.con_id} {group.name}"
    return replace(rule, pools=(*(pool for pool in rule.pools if pool.name != name), ServerPoolLimit(name, most)))
