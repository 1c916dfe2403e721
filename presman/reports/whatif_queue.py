"""Queue under other limits: its forecast beside that of now, from the same courses. Pure; times are seconds.

Each possible course is drawn once and played twice, so that nothing but the changed limits makes the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement, StartForecast
from presman.figures.statement_figures import why_unforeseen
from presman.forecast.calibration import Interval
from presman.forecast.course import HORIZON, Came, Draw, Played, QueueNow, draw, play
from presman.forecast.durations import Durations
from presman.forecast.forecaster import COURSES, ENOUGH, NEVER, ONE_LOOK, Foresight
from presman.forecast.scheduler import Group, Limits, QueueRule, ServerPoolLimit
from presman.reports.advise_load import Choice, ObservedLoad, rules_of

_SAME = 1.0
"""Seconds by which two starts may differ and are still called the same."""

_WORKED_OUT = StartForecast(why_none="it is being worked out")


class LaterStart(NamedTuple):
    """When a queued statement starts: as things are in `row.starts`, `then` under changes, `sooner` in so many courses.

    `later` counts those in which it starts later.
    """

    row: QueuedStatement
    then: StartForecast
    sooner: int
    later: int
    courses: int


def why_unknown(reading: Reading, foresight: Foresight | None) -> str:
    """Return why nothing can be said of a queue under other limits, "" where something can, or nobody is queued."""
    record = None if reading.forecast is None else reading.forecast.record
    if not reading.queue:
        return ""
    if record is not None and record.is_poor():
        return f"forecasts held {record.held} of {record.judged} here, which is too few"
    return "" if foresight else why_unforeseen(reading).removeprefix("starts in: not known, ") or _WORKED_OUT.why_none


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

    def compare(self, reading: Reading, load: ObservedLoad, choice: Choice) -> list[LaterStart]:
        """Return the starts under a choice, heads first. Nobody is shown to start before who stands before him."""
        model = self.foresight.model
        other = under(model.now, load, choice)
        played = [(now, play(other, drawn)) for drawn, now in self._drawn]
        pairs = [(now.starts, then.starts) for now, then in played if now.whole and then.whole]
        places = {each.executing(): place for place, each in enumerate(model.waiting)}
        found: list[LaterStart] = []
        before: dict[tuple[int, str], StartForecast] = {}
        for row in sorted(reading.queue, key=lambda row: row.position):
            place = places.get(row.executing())
            own = [] if place is None else [(now[place], then[place]) for now, then in pairs]
            then = _not_before(before.get((row.con_id, row.group)), self._then(row, own))
            before[row.con_id, row.group] = then
            sooner, later = (sum(sign * (now - then) > _SAME for now, then in own) for sign in (1, -1))
            found.append(LaterStart(row, then, sooner, later, len(own)))
        return sorted(found, key=lambda each: (each.row.position, -(each.row.waited or 0.0)))

    def _then(self, row: QueuedStatement, pairs: Sequence[tuple[float, float]]) -> StartForecast:
        """Return a start under the changes: as much later than it is shown as it is in the courses, and as sure."""
        shown = row.starts or _WORKED_OUT
        if shown.why_none not in {"", NEVER, _WORKED_OUT.why_none}:
            return shown
        if len(pairs) < ENOUGH:
            return _WORKED_OUT
        now, then = (self._interval(sorted(times)) for times in zip(*pairs, strict=True))
        if row.timeout_left is not None and then.median >= row.timeout_left - self.foresight.least:
            return StartForecast(timeout=True)
        if then.median == inf:
            return StartForecast(why_none=NEVER)
        if shown.median is not None and shown.low is not None and shown.high is not None and isfinite(now.median):
            then = Interval(*map(_moved, (shown.median, shown.low, shown.high), now, then))
        middle = max(0.0, then.median)
        return StartForecast(middle, max(0.0, min(middle, then.low)), max(middle, min(HORIZON, then.high)))

    def _interval(self, starts: Sequence[float]) -> Interval:
        raw = Interval(*(starts[int(part * (len(starts) - 1) + 0.5)] for part in (0.5, 0.1, 0.9)))
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
    """Return the rule of a group that may hold so many servers itself; what its container may hold stays."""
    rule, name = limits.rule(group), f"{group.con_id} {group.name}"
    return replace(rule, pools=(*(pool for pool in rule.pools if pool.name != name), ServerPoolLimit(name, most)))
