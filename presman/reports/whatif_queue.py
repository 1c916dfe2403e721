"""The queue under other limits: which limits can be changed, and the forecast with and without the changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from math import inf, isfinite
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.readings.group_readings import LIMITED, Verdict
from presman.analysis.readings.reading import Alert, Reading
from presman.analysis.readings.statement_readings import (
    Cause,
    QueuedStatement,
    QueueHead,
    StartForecast,
    is_known,
    urgency,
)
from presman.base.formats import number
from presman.figures.statement_figures import NO_START, why_no_forecast
from presman.forecast import forecaster
from presman.forecast.calibration import Interval
from presman.forecast.course import HORIZON, Draw, PastArrival, Played, QueueNow, draw, play
from presman.forecast.forecaster import ONE_LOOK, PENDING, ForecastBasis
from presman.forecast.scheduler import LEVELS, Group, Limits, QueueRule, ServerPoolLimit
from presman.forecast.statement_history import Durations
from presman.reports import advise_load
from presman.reports import advise_services as services
from presman.reports.advise_load import ArrivalDay, Choice, Knob, ObservedLoad, observed_plan
from presman.reports.whatif_cpu import CpuDemands, changes_of_cpu, replay_cpu
from presman.reports.whatif_replay import UNLIMITED, Rules, changed, observed_rules
from presman.rows.snapshot import Snapshot

# ---- The limits of the plan in force: the present value of each, and changes by keys.


TARGET: Knob = "target", None

_OF_GROUPS = {
    "limits": ("PARALLEL_SERVER_LIMIT", "PARALLEL_TARGET_PERCENTAGE", " %", 100, 5),
    "cpu": ("UTILIZATION_LIMIT", "MAX_UTILIZATION_LIMIT", " %", 100, 5),
    "shares": ("MGMT_P1 to MGMT_P8", "", "", 100, 5),
    "levels": ("level of MGMT_P1 to P8", "", "", LEVELS, 1),
    "degree": ("PARALLEL_DEGREE_LIMIT_P1", "", "", 10_000, 1),
}
"""By kind: its name in Oracle, its name before 12.1, its unit, its largest value, the step of a key."""


class PlanLimit(NamedTuple):
    """A limit: its group, its name, its value `now` (None: no limit) and its new value `then` (None: unchanged).

    `why_most` explains the largest value `most`.
    """

    knob: Knob
    title: str
    name: str
    now: int | None
    unit: str
    most: int
    step: int
    then: int | None = None
    why_most: str = ""

    def refusal(self, value: int) -> str:
        """Return why the limit cannot have this value, "" if it can."""
        return "" if 1 <= value <= self.most else f"{self.name} is from 1 to {self.most}{self.why_most}."


class PresentLimits(Struct, frozen=True):
    """The limits at a poll: a load without statements, and the CPU demands of the groups.

    `titles` are the display names of groups, ordered by their number of parallel statements, largest first.
    """

    load: ObservedLoad
    demands: CpuDemands
    titles: dict[Group, str]

    @classmethod
    def of(cls, reading: Reading, previous: Snapshot | None, snapshot: Snapshot, cache: RowCache) -> PresentLimits:
        """Return the limits in force at a poll, from the snapshots of its reading."""
        plan, demands, none = observed_plan(previous, snapshot, reading), CpuDemands(), ArrivalDay((), frozenset())
        demands.take(Facts.of(previous, snapshot, cache), reading)
        rows = {Group(row.con_id, row.name): row for row in reading.cluster_groups()}
        limits = {group: row.servers_limit for group, row in rows.items() if row.servers_limit is not None}
        target = reading.header.servers.target
        rules = changed(observed_rules(()), target=target, limits=limits, plan=plan.tree, one_queue=plan.one_queue)
        load = ObservedLoad(none, none, rules, plan, 1, 0)
        most = sorted(rows.items(), key=lambda each: -(each[1].totals.completed or 0))
        return cls(load, demands, {group: row.title for group, row in most})

    def limits(self, first: Group | None) -> Iterator[PlanLimit]:
        """Yield the limits that can be changed: of the `first` group, the target, then of other groups by activity."""
        plan, target = self.load.plan, self.load.rules.target
        ranks = {group: index for index, group in enumerate(self.titles)}
        groups = sorted(plan.directives, key=lambda group: (group != first, ranks.get(group, len(ranks))))
        of_group = self._of_service if plan.autonomous else self._of_group
        limits = [limit for group in groups for limit in of_group(group)]
        yield from (limit for limit in limits if limit.knob[1] == first)
        if target < UNLIMITED and not plan.autonomous:
            # About a sixteenth of the target, and the same for each instance.
            step = max(1, target // (16 * plan.instances)) * plan.instances
            most, why = plan.maximum or 10 * target, " (PARALLEL_MAX_SERVERS)" if plan.maximum else ""
            yield PlanLimit(TARGET, "all", "PARALLEL_SERVERS_TARGET", target, " servers", most, step, why_most=why)
        yield from (limit for limit in limits if limit.knob[1] != first)

    def _of_group(self, group: Group) -> Iterator[PlanLimit]:
        load, row = self.load, self.load.plan.directives[group]
        level, cpu = load.level(group), row.utilization_limit
        now = {
            "limits": load.percent(group),
            "cpu": 100 if cpu is None or cpu < 0 else cpu,
            "shares": None if level is None else load.percentage(group),
            "levels": level,
            "degree": row.parallel_degree_limit_p1,
        }
        for kind, (name, before, unit, most, step) in _OF_GROUPS.items():
            if now[kind] is not None or kind == "degree":
                called = before if before and load.plan.is_old else name
                title = self.titles.get(group, group.name)
                yield PlanLimit((kind, group), title, called, now[kind], unit, most, step)

    def _of_service(self, group: Group) -> Iterator[PlanLimit]:
        load, title = self.load, self.titles.get(group, group.name)
        if (limit := load.concurrency(group)) is not None:
            most = services.most_limit(load.rules.target)
            yield PlanLimit(("concurrency", group), title, "concurrency limit", limit, "", most, 1)
        if group in load.plan.services:
            yield PlanLimit(("shares", group), title, "shares", load.percentage(group), "", 100, 1)

    def possible(self, choice: Choice) -> Choice:
        """Return the changes whose groups the plan still has."""
        return frozenset(each for each in choice if each.group is None or each.group in self.load.plan.directives)

    def cautions(self, choice: Choice) -> list[str]:
        """Return the side effects of a choice, and what is unknown about it, as sentences."""
        now, then = self.load.rules, advise_load.rules_of(self.load, choice)
        found = [self._lacks(choice)] if changes_of_cpu(choice) else []
        if then.target > now.target or any(
            most > now.limits.get(group, now.target) for group, most in then.limits.items()
        ):
            found.append("More servers at once share the same CPUs: statements may run longer than presman assumes.")
        if any(each.kind == "degree" for each in choice):
            found.append("Statements already queued keep their degree; a lower limit is for those that come later.")
        for each in choice:
            if each.kind == "concurrency":
                many, degree = (rule(then.target, each.value) for rule in (services.at_once, services.degree))
                found.append(f"MEDIUM then runs {many} at once, with a degree of {degree}; those queued keep theirs.")
        return found

    def _lacks(self, choice: Choice) -> str:
        """Return a sentence on the CPUs that groups lack at this poll, now and under a choice."""
        demands = self.demands.found
        if not demands:
            why = f": {self.demands.hidden}" if self.demands.hidden else ""
            return f"What CPU groups would get is not known{why}."
        seconds = demands[0].seconds
        lacks = []
        for (_, name), each in replay_cpu(demands, changes_of_cpu(choice)).items():
            now, then = each.replayed / seconds, each.changed / seconds
            if max(now, then) >= 0.05:
                lacks.append(f"{name} {number(now)} -> {number(then)}")
        return f"CPUs that groups lack at this poll, now -> what if: {', '.join(lacks) or 'none'}."


class LimitChanges:
    """Changes of limits by keys: the new `values`."""

    def __init__(self) -> None:
        self.values: dict[Knob, int] = {}
        self._typed: tuple[Knob | None, str] = (None, "")

    @property
    def choice(self) -> Choice:
        """The changes as a choice for advice."""
        return frozenset(advise_load.Change(*knob, value) for knob, value in self.values.items())

    def type(self, limit: PlanLimit, digit: str) -> str:
        """Append a digit to the value typed for a limit; return why it is refused, "" if it is accepted."""
        typed = (self._typed[1] if self._typed[0] == limit.knob else "") + digit
        refused = limit.refusal(int(typed))
        self._typed = (None, "") if refused else (limit.knob, typed)
        if not refused:
            self._put(limit, int(typed))
        return refused

    def step(self, limit: PlanLimit, direction: int) -> None:
        """Change a limit to its next larger (1) or smaller value (-1), or back to the value in force (0)."""
        self._typed = None, ""
        value = (self.values.get(limit.knob, limit.now) or 0) + direction * limit.step
        self._put(limit, min(limit.most, max(1, value)) if direction else limit.now)

    def _put(self, limit: PlanLimit, value: int | None) -> None:
        self.values.pop(limit.knob, None)
        if value is not None and value != limit.now:
            self.values[limit.knob] = value


# ---- The limit that a group or an alert is about.


def of_group(group: Group, reading: Reading, *, of_cpu: bool = False) -> Knob:
    """Return the limit that delays a group: the limit that the head of its queue waits for, else that of its CPU."""
    head = reading.head_of(group)
    of_servers = "concurrency" if reading.header.autonomous and group.name == services.MEDIUM else "limits"
    if head is not None and not of_cpu:
        by_group = any(each.group for each in head.shortages) or head.cause is Cause.GROUP
        if by_group or (head.cause is Cause.NEVER_FITS and not head.is_too_large_for_target):
            return of_servers, group
        return ("shares", group) if head.cause is Cause.NOT_CHOSEN else TARGET
    row = reading.group_of(group)
    verdict = None if row is None else row.verdict
    if verdict in LIMITED:
        return "cpu", group
    if verdict in {Verdict.STARVED, Verdict.SHORT, Verdict.ZERO_SHARE}:
        return "shares", group
    return of_servers, group


def of_alerts(alerts: Sequence[Alert], reading: Reading, subject: str) -> tuple[Group | None, Knob]:
    """Return the group and the limit of the alert about `subject`; if it names no group, of the first that does."""
    groups = {name: Group(row.con_id, row.name) for row in reading.cluster_groups() for name in (row.name, row.title)}
    named = [each for each in alerts if each.subject in groups]
    for alert in sorted(named, key=lambda each: each.subject != subject):
        group = groups[alert.subject]
        return group, of_group(group, reading, of_cpu=alert.key.startswith("cpu_"))
    return None, TARGET


# ---- The queue under these limits. Times are seconds. Each possible course is drawn once and played twice, with and
# without the changes, so that only these make the difference.


_SAME = 1.0
"""Seconds by which two starts may differ and still count as the same."""


class ChangedStart(NamedTuple):
    """Start of a queued statement: without changes in `row.starts`, with changes in `then`.

    `sooner` and `later` count the courses in which the changes make it start sooner or later. If it does not start in
    most courses, `beyond` and `then_beyond` are the seconds within which it does not.
    """

    row: QueuedStatement
    then: StartForecast
    sooner: int = 0
    later: int = 0
    courses: int = 0
    beyond: float | None = None
    then_beyond: float | None = None


def why_unknown(reading: Reading, forecast_basis: ForecastBasis | None) -> str:
    """Return why a queue cannot be forecast under other limits, "" if it can, or if it is empty."""
    record = None if reading.forecast is None else reading.forecast.record
    if not reading.queue:
        return ""
    if record is not None and record.is_poor():
        return f"{record.in_words()}: too few to say"
    return "" if forecast_basis else why_no_forecast(reading).removeprefix(NO_START) or PENDING.why_none


def room_sentences(reading: Reading, load: ObservedLoad, choice: Choice) -> list[str]:
    """Return a sentence on each head, the most urgent first, that says whether changed limits of servers give it room.

    It needs no forecast. A head without a known deciding limit has no sentence.
    """
    then = advise_load.rules_of(load, choice)
    if (then.target, then.limits) == (load.rules.target, load.rules.limits):
        return []
    found = []
    for head in sorted(reading.heads, key=urgency):
        left, limit = _left_for(head, reading, load.rules, then)
        if left is None or not is_known(head.wants):
            continue
        lacks = head.wants.high - left
        verdict = f"is short by {lacks} ({limit})" if lacks > 0 else "has room"
        name = f"{head.group} ({head.container})" if head.container else head.group
        found.append(f"Under the changes the head of {name} {verdict}: it wants {head.wants}, {max(0, left)} are free.")
    return found


def _left_for(head: QueueHead, reading: Reading, now: Rules, then: Rules) -> tuple[int | None, str]:
    """Return how many servers a head could get under other rules, and the limit that decides; None if not known.

    No choice changes the limit of a container or PARALLEL_MAX_SERVERS, or moves a head to other instances.
    """
    group = reading.group_of((head.con_id, head.group))
    is_confined = head.target != now.target or any(each.inst_ids for each in head.shortages)
    has_container_limit = group is not None and group.container_servers is not None
    has_container_limit = has_container_limit or any(each.limit == "container limit" for each in head.shortages)
    pool, wants = head.statement.servers_left, head.wants
    is_pool_short = pool is not None and wants is not None and pool < wants.high
    if head.not_known or head.in_use is None or is_confined or has_container_limit or is_pool_short:
        return None, ""
    found = [(then.target - head.in_use, "target")]
    if pool is not None:  # it has room for the head, but maybe for less than the target then leaves
        found.append((pool, "PARALLEL_MAX_SERVERS"))
    if (most := then.limits.get(Group(head.con_id, head.group))) is not None:
        held = group.px_servers if group is not None and group.is_counted else None
        if held is None:
            return None, ""
        found.append((most - held, "group limit"))
    return min(found)


class _Start(NamedTuple):
    """A start in a course: its `seconds` from now, infinity if the statement does not start, and the `least` of them.

    A course that was not played to its end shows only that a statement waits at least until then.
    """

    seconds: float
    least: float

    @classmethod
    def of(cls, played: Played, index: int) -> _Start:
        return cls(played.starts[index], min(played.starts[index], played.until))


_Pair = tuple[_Start, _Start]
"""The start of one statement in a course without and with the changes."""


class _Starts(NamedTuple):
    """Starts in all courses, of one statement or of several that came together: their interval to display.

    Where the statement does not start, that is known for `reach` seconds.
    """

    interval: Interval
    reach: float

    def beyond(self, found: StartForecast) -> float | None:
        """Return the seconds within which it does not start in most courses, None if it does, or for other reasons."""
        return self.reach if forecaster.is_not_within(found) else None


class QueueCourses:
    """Courses of the queue, drawn once for a basis of forecasts."""

    def __init__(self, forecast_basis: ForecastBasis) -> None:
        self.forecast_basis = forecast_basis
        self._drawn: list[tuple[Draw, Played]] = []
        steps = 0
        # Fewer courses of a long queue, so that a look takes no longer; but enough of them for a median.
        while len(self._drawn) < forecaster.COURSES and (steps < ONE_LOOK / 2 or len(self._drawn) < forecaster.ENOUGH):
            drawn = draw(forecast_basis.model.now, f"{forecast_basis.seed}/what if/{len(self._drawn)}")
            played = play(forecast_basis.model.now, drawn)
            steps += played.steps
            self._drawn.append((drawn, played))

    def compare(self, reading: Reading, load: ObservedLoad, choice: Choice) -> list[ChangedStart]:
        """Return the starts under a choice, heads first. No statement is shown to start before the one in front of it.

        Statements that came together share one forecast, as without changes. Each course draws which of them is first,
        so the latest of their medians would only be that of an unlucky draw.
        """
        model = self.forecast_basis.model
        pairs = self._pairs(under(model.now, load, choice))
        starts_of: dict[object, list[_Pair]] = {}
        for index, each in enumerate(model.waiting):
            starts_of[each.executing()] = [(_Start.of(now, index), _Start.of(then, index)) for now, then in pairs]
        found: list[ChangedStart] = []
        for _, queue in groupby(sorted(reading.queue, key=forecaster.queue_of), forecaster.queue_of):
            first: ChangedStart | None = None
            for alike in forecaster.together(queue):
                own = [starts_of.get(row.executing(), []) for row in alike]
                now, then = (self._starts([pair[way] for starts in own for pair in starts]) for way in (0, 1))
                changed = [self._change(row, starts, now, then, first) for row, starts in zip(alike, own, strict=True)]
                found, first = found + changed, changed[-1]
        return sorted(found, key=lambda each: (each.row.position, -(each.row.waited or 0.0)))

    def _pairs(self, other: QueueNow) -> list[tuple[Played, Played]]:
        """Return the courses without and with the changes; fewer if the queue is long in the changed ones."""
        if other is self.forecast_basis.model.now:
            return [(now, now) for _, now in self._drawn]
        pairs: list[tuple[Played, Played]] = []
        for drawn, now in self._drawn:
            pairs.append((now, play(other, drawn)))
            if len(pairs) >= forecaster.ENOUGH and sum(then.steps for _, then in pairs) > ONE_LOOK:
                break
        return pairs

    def _change(
        self, row: QueuedStatement, courses: Sequence[_Pair], now: _Starts, then: _Starts, first: ChangedStart | None
    ) -> ChangedStart:
        """Return the start of a statement, from `now` and `then` of all that came with it, and not before `first`."""
        shown = row.starts or PENDING
        is_known = len(courses) >= forecaster.ENOUGH
        if (shown == PENDING or forecaster.is_not_within(shown)) and is_known:
            shown = _not_before(first and first.row.starts, self._start(row, now))
        if is_known and (not shown.why_none or forecaster.is_not_within(shown)):
            changed = self._shifted_start(row, shown, now, then)
        else:
            changed = shown if shown.why_none else PENDING
        changed = _not_before(first and first.then, changed)
        sooner = sum(one.least - other.seconds > _SAME for one, other in courses)
        later = sum(other.least - one.seconds > _SAME for one, other in courses)
        beyond = now.beyond(shown), then.beyond(changed)
        return ChangedStart(replace(row, starts=shown), changed, sooner, later, len(courses), *beyond)

    def _shifted_start(self, row: QueuedStatement, shown: StartForecast, now: _Starts, then: _Starts) -> StartForecast:
        """Return the changed start: `shown`, shifted by the difference in the courses, and equally certain."""
        if None in (shown.median, shown.low, shown.high) or now.interval.median == inf:
            return self._start(row, then)
        ends = zip((shown.median or 0.0, shown.low or 0.0, shown.high or 0.0), now.interval, then.interval, strict=True)
        # Later by the same seconds as in the courses, or sooner by the same factor, so never negative.
        moved = (end + later - sooner if later >= sooner else end * later / sooner for end, sooner, later in ends)
        return self._start(row, then, Interval(*moved))

    def _start(self, row: QueuedStatement, starts: _Starts, shown: Interval | None = None) -> StartForecast:
        """Return the start in the courses: its interval, or `shown` in place of it, or why there is none."""
        raw = starts.interval
        reached = raw.median if isfinite(raw.median) else starts.reach
        if row.timeout_left is not None and reached >= row.timeout_left - self.forecast_basis.least:
            return StartForecast(timeout=True)
        if raw.median == inf:
            return forecaster.not_within(reached)
        found = shown or raw
        middle = max(0.0, found.median)
        return StartForecast(middle, max(0.0, min(middle, found.low)), max(middle, min(HORIZON, found.high)))

    def _starts(self, starts: Sequence[_Start]) -> _Starts:
        reach = min((each.least for each in starts if each.seconds == inf), default=HORIZON)
        times = sorted(each.seconds for each in starts) or [inf]
        raw = Interval.of(times)
        if raw.median < inf:
            basis = self.forecast_basis
            raw = raw._replace(high=min(raw.high, HORIZON)).widened(basis.factor, basis.least)
        return _Starts(raw, reach)


def _not_before(first: StartForecast | None, starts: StartForecast) -> StartForecast:
    if first is None or None in (first.median, starts.median):
        return starts
    pairs = ((first.median, starts.median), (first.low, starts.low), (first.high, starts.high))
    return StartForecast(*(max(one or 0.0, other or 0.0) for one, other in pairs))  # type: ignore[arg-type]


def under(now: QueueNow, load: ObservedLoad, choice: Choice) -> QueueNow:
    """Return the queue under a choice. Waiting statements keep their degree; limits of containers stay."""
    if not choice:
        return now  # the same object, so that no course is played twice
    sizes = advise_load.sizes_under(load, choice)
    arrivals = [_resized(each, sizes.get(each.group)) for each in now.arrivals] if sizes else now.arrivals
    return now._replace(limits=_limits(now.limits, load, choice), arrivals=arrivals)


def _resized(each: PastArrival, size: advise_load.Size | None) -> PastArrival:
    """Return an arrival with other servers: with fewer it runs longer, servers times seconds staying the same."""
    servers = each.servers if size is None else size.of(each.servers)
    if servers >= each.servers:
        return each._replace(servers=servers)
    times, lasts = each.servers / servers, each.duration
    longer = Durations(tuple(times * one for one in lasts.times), lasts.survival, times * lasts.mean)
    return each._replace(servers=servers, duration=longer)


def _limits(limits: Limits, load: ObservedLoad, choice: Choice) -> Limits:
    rules = advise_load.rules_of(load, choice)
    table = {**limits.rules, **{group: _rule(limits, group, most) for group, most in rules.limits.items()}}
    root = rules.plan if any(each.kind in {"levels", "shares"} for each in choice) else limits.root
    return replace(limits, target=rules.target, rules=table, root=root)


def _rule(limits: Limits, group: Group, most: int) -> QueueRule:
    """Return a group's rule with a new limit of its own; the limit of its container stays."""
    rule, name = limits.rule(group), f"{group.con_id} {group.name}"
    return replace(rule, pools=(*(pool for pool in rule.pools if pool.name != name), ServerPoolLimit(name, most)))
