"""Advice: which directives would have met goals of service, found by replaying what was observed under others.

A choice is a set of changes to the plan in force. Each is judged by one replay of the first part of the observation
(the same arrivals and draws for all); the best are replayed again, in more orders and to the end. Times are seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import ceil, inf, log2
from random import Random
from statistics import median_low
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch
from presman.analysis.goals import Goal
from presman.analysis.parallel.queue_heads import has_one_queue
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import Arrival
from presman.base.release import Release
from presman.forecast.queue_now import PlanBranch, plan_branch
from presman.forecast.scheduler import LEVELS, Group
from presman.reports.whatif_replay import Replayed, Rules, bypassing, replay, rules_under
from presman.rows.plan_rows import PlanDirective
from presman.rows.snapshot import Snapshot

KINDS = ("target", "limits", "levels", "shares", "degree", "timeouts")
"""What may be changed. The last two cost statements time, or end them: they are changed only where that is asked."""

TRAINED = 0.6
"""The part of the statements with a goal that the search sees; the rest is held back to judge it."""

_UNKNOWN_TARGET = 1_000_000
_MOST_VALUES = 6
"""Values of one directive that are tried, at most."""


class SeenPlan(Struct, frozen=True):
    """The plan in force at the end, as far as it was seen: a file of arrivals has none of it.

    `tree` gives the order of the groups; `by_weight` are groups whose plan divides by shares; `maximum` is
    PARALLEL_MAX_SERVERS of all instances.
    """

    directives: Mapping[Group, PlanDirective] = field(default_factory=dict)
    tree: PlanBranch | None = None
    by_weight: frozenset[Group] = frozenset()
    one_queue: bool = False
    instances: int = 1
    maximum: int | None = None
    release: Release | None = None
    autonomous: bool = False

    @property
    def is_ordered(self) -> bool:
        """Whether one plan of levels, without subplans, orders all groups: only of such presman changes levels."""
        return len({row.plan for row in self.directives.values()}) == 1 and not self.by_weight and not self.one_queue


def seen_plan(previous: Snapshot | None, snapshot: Snapshot, reading: Reading) -> SeenPlan:
    """Return the plan of a poll."""
    facts = Facts.of(previous, snapshot)
    first = facts.system.inst_ids[0]
    shares = facts.division.shares[first]
    queues = {has_one_queue(facts, first, row.con_id) for row in reading.cluster_groups()}
    header = reading.header
    return SeenPlan(
        {Group(*key): row for key, row in shares.directives.items()},
        plan_branch(shares.root) if shares.shares else None,
        frozenset(_by_weight(shares.root)),
        queues == {True},
        max(1, len(header.instances)),
        header.servers.maximum,
        snapshot.release,
        header.autonomous,
    )


def _by_weight(branch: Branch) -> Iterator[Group]:
    for child in branch.branches:
        if child.key is not None and branch.by_weight:
            yield Group(*child.key)
        yield from _by_weight(child)


class Change(NamedTuple):
    """One directive as it would be: servers (target), percent (limits, shares), a level, a DOP, seconds (timeouts)."""

    kind: str
    group: Group | None
    value: int


Choice = frozenset[Change]
"""Changes to what is in force; without any it is that."""

PRESENT: Choice = frozenset()
Knob = tuple[str, Group | None]


class ObservedLoad(Struct, frozen=True):
    """What was observed, by time, and under which plan; `early` are the statements that the search sees.

    `free` are the numbers of those that never queue. The first ones, up to `skipped`, came before the observation: they
    are replayed, and count for nothing, because no plan of then changes how long they had waited.
    """

    arrivals: Sequence[Arrival]
    early: Sequence[Arrival]
    free: frozenset[int]
    early_free: frozenset[int]
    rules: Rules
    plan: SeenPlan
    seed: int
    skipped: int

    @classmethod
    def of(cls, arrivals: Sequence[Arrival], plan: SeenPlan, goals: Sequence[Goal], seed: int) -> ObservedLoad:
        """Split the statements where the part with a goal is trained on that is to be."""
        names = {goal.group for goal in goals}
        begin = min(each.first for each in arrivals)
        skipped = sum(each.at < begin for each in arrivals)
        asked = [each for each in arrivals[skipped:] if each.group in names] or arrivals
        cut = asked[int(TRAINED * len(asked))].at
        early = [each for each in arrivals if each.at < cut] or arrivals
        rules = rules_under(arrivals, plan.tree, one_queue=plan.one_queue)
        return cls(arrivals, early, bypassing(arrivals), bypassing(early), rules, plan, seed, skipped)

    @property
    def groups(self) -> list[Group]:
        """The groups of the statements."""
        return sorted({Group(each.con_id, each.group) for each in self.arrivals})

    def percent(self, group: Group) -> int:
        """Return the limit of a group's servers in percent of the target, 100 without one."""
        row = self.plan.directives.get(group)
        percent = None
        if row is not None:
            percent = row.utilization_limit if row.parallel_server_limit is None else row.parallel_server_limit
        elif group in self.rules.limits:
            percent = ceil(100 * self.rules.limits[group] / self.rules.target)
        return 100 if percent is None or not 0 <= percent <= 100 else percent

    def allowed(self, group: Group, percent: int) -> int:
        """Return the servers that a group may hold at a limit: within a container's limit percent are of less."""
        now, own = self.rules.limits.get(group), self.percent(group)
        if now is None or own == 0 or abs(self.rules.target * own // 100 - now) <= 1:
            return self.rules.target * percent // 100
        return now * percent // own

    def level(self, group: Group) -> int | None:
        """Return the level of a group, 1 to 8, None where it is not known or it has none."""
        row = self.plan.directives.get(group)
        if row is None or self.plan.tree is None or not self.plan.is_ordered:
            return None
        return next((index + 1 for index, part in enumerate(row[4:12]) if part > 0), None)

    def percentage(self, group: Group) -> int:
        """Return what a group has on its level: percent, or shares."""
        row = self.plan.directives[group]
        return max(row[4:12])

    def played(self, choice: Choice, courses: int, *, whole: bool) -> ReplayOutcome:
        """Replay under a choice: all statements, or the early ones."""
        arrivals, free = (self.arrivals, self.free) if whole else (self.early, self.early_free)
        caps = {each.group: 2 * each.value for each in choice if each.kind == "degree" and each.group is not None}
        capped = [_capped(each, caps) for each in arrivals] if caps else arrivals
        found = replay(capped, rules_of(self, choice), self.seed, courses, free)
        slower = [(new.ran or 0.0) - (old.ran or 0.0) for old, new in zip(arrivals, capped, strict=True)]
        end = max(each.last for each in arrivals)
        runs = {group for group, action in self.rules.actions.items() if action == "RUN"}
        return ReplayOutcome(
            found,
            tuple(each.group for each in found.statements),
            tuple(inf if each.timed_out and each.group not in runs else each.waited for each in found.statements),
            tuple(slower),
            frozenset(
                number
                for number, (each, came) in enumerate(zip(found.statements, arrivals, strict=True))
                if each.timed_out or each.waited >= (end - came.at).total_seconds() - 1e-3
            ),
            self.skipped,
        )


def _capped(each: Arrival, caps: Mapping[Group, int]) -> Arrival:
    """Return a statement with fewer servers, for which it runs longer: its work, servers times seconds, stays."""
    most = caps.get(Group(each.con_id, each.group), each.servers)
    if each.servers <= most:
        return each
    return each._replace(servers=most, ran=None if each.ran is None else each.ran * each.servers / most)


class ReplayOutcome(NamedTuple):
    """A replay, and each statement's group, its wait (endless if it timed out), and by how much longer it runs.

    `unstarted` are those that timed out or still wait at the end, for how much longer nobody knows.
    """

    replayed: Replayed
    groups: tuple[Group, ...]
    waits: tuple[float, ...]
    slower: tuple[float, ...]
    unstarted: frozenset[int]
    skipped: int

    def of(self, name: str, indexes: Iterable[int] | None = None) -> list[float]:
        """Return the waits of groups of a name, in order of arrival."""
        numbers = range(self.skipped, len(self.groups)) if indexes is None else indexes
        return [self.waits[n] for n in numbers if self.groups[n].name == name]


def rules_of(seen: ObservedLoad, choice: Choice) -> Rules:
    """Return the rules of the replay under a choice. A limit is percent: it grows with the target."""
    rules = seen.rules
    own: dict[Knob, int] = {(each.kind, each.group): each.value for each in choice}
    target = own.get(("target", None), rules.target)
    limits = dict(rules.limits)
    limits |= {group: seen.allowed(group, value) for kind, group, value in choice if kind == "limits" and group}
    limits = {group: limit * target // rules.target for group, limit in limits.items()}
    timeouts = {group: float(value) for kind, group, value in choice if kind == "timeouts" and group is not None}
    plan = rules.plan
    if isinstance(plan, PlanBranch):
        plan = _moved(plan, seen, own)
    return replace(rules, target=target, limits=limits, timeouts={**rules.timeouts, **timeouts}, plan=plan)


def _moved(branch: PlanBranch, seen: ObservedLoad, own: Mapping[Knob, int]) -> PlanBranch:
    """Return a plan with groups on other levels, or with other parts of them."""
    if branch.group is None:
        return replace(branch, children=tuple(_moved(each, seen, own) for each in branch.children))
    level, share = own.get(("levels", branch.group)), own.get(("shares", branch.group))
    weights = branch.weights
    if share is not None:
        factor = share / seen.percentage(branch.group)
        weights = tuple(weight * factor for weight in weights)
    if level is not None:
        weights = tuple(max(weights) if index == level - 1 else 0.0 for index in range(LEVELS))
    return replace(branch, weights=weights)


# ---- What is tried.


def grid(seen: ObservedLoad, kinds: Iterable[str], goals: Sequence[Goal]) -> dict[Knob, tuple[int, ...]]:
    """Return the values that each directive may have besides its own; those with a goal first."""
    names = {goal.group for goal in goals}
    groups = sorted(seen.groups, key=lambda group: (group.name not in names, group))
    found: dict[Knob, tuple[int, ...]] = {}
    for kind in (kind for kind in KINDS if kind in kinds):
        if kind == "target":
            found[kind, None] = _targets(seen)
        else:
            found |= {(kind, group): _VALUES[kind](seen, group, group.name in names) for group in groups}
    return {knob: values for knob, values in found.items() if values}


def _targets(seen: ObservedLoad) -> tuple[int, ...]:
    """Return larger targets, whole for each instance, up to twice the present one and PARALLEL_MAX_SERVERS."""
    target, instances = seen.rules.target, seen.plan.instances
    if target >= _UNKNOWN_TARGET:
        return ()
    steps = {ceil(target * factor / instances) * instances for factor in (1.125, 1.25, 1.5, 1.75, 2)}
    return tuple(sorted(step for step in steps if target < step <= (seen.plan.maximum or 2 * target + instances)))


def sizes(seen: ObservedLoad, group: Group) -> list[int]:
    """Return the servers of a group's statements."""
    return [each.servers for each in seen.arrivals if (each.con_id, each.group) == group and each.servers > 0]


def _limits(seen: ObservedLoad, group: Group, _has_goal: bool) -> tuple[int, ...]:
    """Return limits in steps of the group's usual statement: room for one, for two, and so on."""
    own = sizes(seen, group)
    steps = percents(seen, group, median_low(own)) if own else []
    return tuple(value for value in _thinned(steps) if value != seen.percent(group))


def percents(seen: ObservedLoad, group: Group, step: int) -> list[int]:
    """Return the limits that have room for one, two and more statements of `step` servers, and 100."""
    whole = seen.allowed(group, 100)
    if whole >= _UNKNOWN_TARGET or not whole:
        return []
    return sorted({min(100, ceil(100 * step * many / whole)) for many in range(1, whole // step + 1)} | {100})


def _levels(seen: ObservedLoad, group: Group, _has_goal: bool) -> tuple[int, ...]:
    own = seen.level(group)
    if own is None:
        return ()
    used = {level for each in seen.groups if (level := seen.level(each)) is not None}
    return tuple(level for level in sorted(used | {min(LEVELS, max(used) + 1)}) if level != own)


def _shares(seen: ObservedLoad, group: Group, _has_goal: bool) -> tuple[int, ...]:
    if seen.level(group) is None:
        return ()
    own = seen.percentage(group)
    values = {max(1, round(own * factor)) for factor in (0.25, 0.5, 2, 4)}
    return tuple(sorted(value for value in values - {own} if value <= 100))


def _degrees(seen: ObservedLoad, group: Group, _has_goal: bool) -> tuple[int, ...]:
    degree = max(sizes(seen, group), default=0) // 2
    return tuple(degree // part for part in (8, 4, 2) if degree // part >= 2)


def _timeouts(seen: ObservedLoad, group: Group, has_goal: bool) -> tuple[int, ...]:
    present = seen.rules.timeouts.get(group, inf)
    return () if has_goal else tuple(value for value in (60, 300, 900, 3600) if value < present)


_VALUES: Mapping[str, Callable[[ObservedLoad, Group, bool], tuple[int, ...]]] = {
    "limits": _limits,
    "levels": _levels,
    "shares": _shares,
    "degree": _degrees,
    "timeouts": _timeouts,
}


def _thinned(values: Sequence[int]) -> list[int]:
    """Return some of the values, evenly, the first and the last among them."""
    if len(values) <= _MOST_VALUES:
        return list(values)
    return [values[round(n * (len(values) - 1) / (_MOST_VALUES - 1))] for n in range(_MOST_VALUES)]


# ---- How a choice is judged.


def quantile(waits: Iterable[float], part: float) -> float:
    """Return the least wait that so large a part of them does not exceed, 0 for none."""
    ordered = sorted(waits)
    return ordered[max(0, ceil(part * len(ordered) - 1e-9) - 1)] if ordered else 0.0


class Scored(NamedTuple):
    """How good a choice is, the less the better: a goal that is met counts 1, one that is not 4 and 1 a doubling.

    Added to these is what it costs: what statements lose (a group whose delays double 1/2), more servers (twice as many
    1/2), each change. `keeps` tells that groups that must not lose do not.
    """

    total: float
    waits: tuple[float, ...]
    cost: float
    keeps: bool


class ChoiceJudge(NamedTuple):
    """Judges outcomes against that of the present plan, by the statements of some indexes."""

    seen: ObservedLoad
    goals: Sequence[Goal]
    keep: frozenset[str]
    before: ReplayOutcome
    indexes: Sequence[int]
    cautious: bool = False
    """Whether a goal counts as met only if it is in 9 cases of 10."""

    def __call__(self, choice: Choice, after: ReplayOutcome) -> Scored:
        """Return how good a choice is of which that came."""
        waits = tuple(self._wait(goal, after) for goal in self.goals)
        missed = sum(_missed(goal, wait) for goal, wait in zip(self.goals, waits, strict=True))
        groups = sorted({after.groups[n] for n in self.indexes})
        lost = {group: self._lost(group, after) for group in groups}
        target = next((each.value for each in choice if each.kind == "target"), self.seen.rules.target)
        cost = 0.5 * (sum(loss for loss, _ in lost.values()) + max(0.0, target / self.seen.rules.target - 1))
        cost += 0.02 * len(choice)
        keeps = not any(worse for group, (_, worse) in lost.items() if group.name in self.keep)
        return Scored(missed + cost + (0.0 if keeps else 1e9), waits, cost, keeps)

    def _wait(self, goal: Goal, after: ReplayOutcome) -> float:
        waits = after.of(goal.group, self.indexes)
        if self.cautious:
            return interval(waits, lambda some: quantile(some, goal.part), self.seen.seed)[1]
        return quantile(waits, goal.part)

    def _lost(self, group: Group, after: ReplayOutcome) -> tuple[float, bool]:
        """Return what a group loses, 1 if its delays double, and whether that is worth the name."""
        own = [n for n in self.indexes if after.groups[n] == group]
        sooner, later = self._delays(self.before, own), self._delays(after, own)
        pairs = [(quantile(sooner, part), quantile(later, part)) for part in (0.5, 0.95)]
        unstarted = sum(n in after.unstarted for n in own) - sum(n in self.before.unstarted for n in own)
        loss = max(_loss(*pair) for pair in pairs)
        worse = unstarted > 0 or any(after > 1.05 * before + 1 for before, after in pairs)
        return max(loss, _UNSTARTED * unstarted / len(own)), worse

    @staticmethod
    def _delays(outcome: ReplayOutcome, own: Sequence[int]) -> list[float]:
        return [outcome.waits[n] + outcome.slower[n] for n in own]


_MISSED = 4.0
"""What it counts that a goal is not met; its wait counts besides."""

_ENDLESS = 20.0
"""What a delay counts at most."""

_UNSTARTED = 6.0
"""What it counts if no statement of a group starts that did."""


def _loss(before: float, after: float) -> float:
    """Return what a longer delay counts: 1 for twice as long; a minute more is little where hours are usual."""
    return 0.0 if after <= before else min(_ENDLESS, log2(1 + (after - before) / (before + 60)))


def _missed(goal: Goal, wait: float) -> float:
    return 1.0 if wait <= goal.seconds else _MISSED + min(_ENDLESS, log2(max(1.0, wait / max(1.0, goal.seconds))))


# ---- The search: from the present plan and from one that gives the groups with a goal all, one directive at a time.


class Search:
    """Finds the best choices. What it has found stands in `scored`, also when it is interrupted."""

    def __init__(
        self, seen: ObservedLoad, goals: Sequence[Goal], keep: Iterable[str], kinds: Iterable[str], most: int = 0
    ) -> None:
        self.seen, self.goals, self.keep = seen, goals, frozenset(keep)
        self.grid = grid(seen, kinds, goals)
        self.courses = 3 if len(seen.early) <= 1000 else 1
        self.most = most or max(80, min(800, 1_000_000 // max(1, len(seen.early) * self.courses)))
        self.scored: dict[Choice, Scored] = {}
        self._judge: ChoiceJudge | None = None
        self._heard: Callable[[int, Scored], None] = lambda *_: None

    @property
    def best(self) -> Choice:
        """The best choice so far."""
        return min(self.scored, key=self._rank, default=PRESENT)

    def _rank(self, choice: Choice) -> tuple[float, int, list[tuple[str, Group | None, int]]]:
        found = self.scored[choice]
        return found.total, len(choice), sorted(choice, key=str)

    def run(self, heard: Callable[[int, Scored], None]) -> None:
        """Search; `heard` is told how many choices were replayed, and the best one's score."""
        self._heard = heard
        self.score(PRESENT)
        generous = self._generous()
        parts = [frozenset(each for each in generous if each.kind == kind) for kind in KINDS]
        for start in dict.fromkeys([PRESENT, generous, *parts]):
            self._descend(start)

    def score(self, choice: Choice) -> Scored:
        """Return the score of a choice, replayed once."""
        if choice not in self.scored:
            after = self.seen.played(choice, self.courses, whole=False)
            if self._judge is None:
                self._judge = ChoiceJudge(
                    self.seen, self.goals, self.keep, after, range(self.seen.skipped, len(self.seen.early))
                )
            self.scored[choice] = self._judge(choice, after)
            self._heard(len(self.scored), self.scored[self.best])
        return self.scored[choice]

    def _generous(self) -> Choice:
        """Return the choice that has the groups with a goal first and without a limit, with the largest target."""
        names = {goal.group for goal in self.goals}
        first = min(self.seen.level(group) or LEVELS for group in self.seen.groups if group.name in names)
        found = set()
        for (kind, group), values in self.grid.items():
            asked, level = group is not None and group.name in names, self.seen.level(group) if group else None
            if group is None or (kind == "limits" and asked and max(values) > self.seen.percent(group)):
                found.add(Change(kind, group, max(values)))
            elif kind == "levels" and asked and level is not None and min(values) < level:
                found.add(Change(kind, group, min(values)))
            elif kind == "levels" and not asked and level == first:
                found.add(Change(kind, group, max(values)))
        return frozenset(found)

    def _descend(self, start: Choice) -> None:
        best, before = start, None
        self.score(best)
        while best != before and len(self.scored) < self.most:
            before = best
            for knob in self.grid:
                best = self._better(best, self._with(best, knob))
            best = self._better(best, self._swapped(best))
            best = self._better(best, self._with_fewer_servers(best))

    def _better(self, best: Choice, others: Iterable[Choice]) -> Choice:
        for other in others:
            if len(self.scored) >= self.most:
                break
            self.score(other)
            best = min(best, other, key=self._rank)
        return best

    def _with(self, choice: Choice, knob: Knob) -> Iterator[Choice]:
        rest = frozenset(each for each in choice if (each.kind, each.group) != knob)
        yield rest
        for value in self.grid[knob]:
            yield rest | {Change(*knob, value)}

    def _with_fewer_servers(self, choice: Choice) -> Iterator[Choice]:
        """Yield choices with the next smaller target and one other change: neither alone may be any better."""
        target = next((each for each in choice if each.kind == "target"), None)
        if target is None:
            return
        lower = [value for value in self.grid["target", None] if value < target.value]
        rest = (choice - {target}) | {target._replace(value=value) for value in lower[-1:]}
        for knob in self.grid:
            if knob[0] != "target":
                yield from self._with(rest, knob)

    def _swapped(self, choice: Choice) -> Iterator[Choice]:
        """Yield choices in which two groups have each other's level."""
        moved = {each.group: each.value for each in choice if each.kind == "levels"}
        groups = [group for kind, group in self.grid if kind == "levels" and group is not None]
        for one, other in combinations(groups, 2):
            first, second = (moved.get(each) or self.seen.level(each) for each in (one, other))
            rest = frozenset(each for each in choice if each.kind != "levels" or each.group not in {one, other})
            changes = {(one, second), (other, first)}
            if first != second:
                yield rest | {
                    Change("levels", group, level)
                    for group, level in changes
                    if level is not None and level != self.seen.level(group)
                }

    def finalists(self, most: int = 8) -> list[Choice]:
        """Return the best choice, then those that come nearer to the goals than all that cost as little."""
        ranked = [each for each in sorted(self.scored, key=self._rank) if self.scored[each].keeps]
        found, least = ranked[:1], inf
        for each in sorted(ranked, key=lambda each: (self.scored[each].cost, self._rank(each))):
            pairs = zip(self.scored[each].waits, self.goals, strict=True)
            ratio = max(wait / max(1.0, goal.seconds) for wait, goal in pairs)
            if ratio < 0.95 * least:
                least = ratio
                found.append(each)
        near = sorted(dict.fromkeys(found), key=self._rank)
        return near[:most]


def servers_needed(seen: ObservedLoad, goals: Sequence[Goal], courses: int) -> int | None:
    """Return the least target that meets the goals with no limit on their groups, None if no target does."""
    free = frozenset(
        Change("limits", group, 100) for group in seen.groups if group.name in {goal.group for goal in goals}
    )

    def meets(target: int) -> bool:
        after = seen.played(free | {Change("target", None, target)}, courses, whole=True)
        return all(quantile(after.of(goal.group), goal.part) <= goal.seconds for goal in goals)

    low, high = seen.rules.target // seen.plan.instances, 1
    high = ceil(sum(each.servers for each in seen.arrivals) / seen.plan.instances)
    if low >= high or not meets(high * seen.plan.instances):
        return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle * seen.plan.instances) else (middle, high)
    return high * seen.plan.instances


_BLOCKS, _DRAWS = 20, 200


def interval(waits: Sequence[float], told: Callable[[Sequence[float]], float], seed: int) -> tuple[float, float]:
    """Return between what a figure of some waits should be in 9 cases of 10: waits side by side are drawn together.

    Statements that wait at the same time wait for the same reason, so single ones would say too much.
    """
    size = max(1, ceil(len(waits) / _BLOCKS))
    blocks = [waits[n : n + size] for n in range(0, len(waits), size)]
    random = Random(f"{seed}/advise")
    drawn = sorted(told([w for block in random.choices(blocks, k=len(blocks)) for w in block]) for _ in range(_DRAWS))
    return drawn[_DRAWS // 20], drawn[-1 - _DRAWS // 20]
