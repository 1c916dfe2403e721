"""Search for advice: which directives would have met the goals of service, found by replaying the observation.

A choice is a set of changes to the plan in force. Each is judged by one replay of the first part of the observation
(the same arrivals and draws for all); the best are judged by days that could have come instead. Times are seconds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil, inf, log2, prod
from statistics import fmean, median_low
from typing import NamedTuple

from presman.analysis.goals import Goal
from presman.forecast.scheduler import LEVELS, Group
from presman.reports import advise_services as services
from presman.reports.advise_load import PRESENT, Change, Choice, Knob, ObservedLoad, ReplayOutcome, other_days
from presman.reports.whatif_replay import UNLIMITED, is_longer

KINDS = ("target", "limits", "levels", "shares", "degree", "timeouts")
"""Kinds of changes. The last two delay or end statements, so they are tried only on request."""

EVERY_KIND = tuple(dict.fromkeys((*KINDS, *services.KINDS)))


def kinds_of(*, autonomous: bool) -> tuple[str, ...]:
    """Return the kinds of changes that the owner of a database can make; four at most are tried unless asked for."""
    return services.KINDS if autonomous else KINDS


_MOST_VALUES = 6
"""The most values to try for one directive."""

# ---- Values to try.


def grid(load: ObservedLoad, kinds: Iterable[str], goals: Sequence[Goal]) -> dict[Knob, tuple[int, ...]]:
    """Return the other values to try for each directive; groups with a goal come first."""
    names = {goal.group for goal in goals}
    groups = sorted(load.groups, key=lambda group: (group.name not in names, group))
    found: dict[Knob, tuple[int, ...]] = {}
    for kind in (kind for kind in kinds_of(autonomous=load.plan.autonomous) if kind in kinds):
        if kind == "target":
            found[kind, None] = _targets(load)
        else:
            found |= {(kind, group): _VALUES[kind](load, group) for group in groups}
    for group in groups:
        if group.name in names:
            found.pop(("timeouts", group), None)  # it would end what is to start in time
    return {knob: values for knob, values in found.items() if values}


def _targets(load: ObservedLoad) -> tuple[int, ...]:
    """Return larger targets, whole for each instance, up to about twice the present one and PARALLEL_MAX_SERVERS."""
    target, instances = load.rules.target, load.plan.instances
    if target >= UNLIMITED:
        return ()
    steps = {ceil(target * factor / instances) * instances for factor in (1.125, 1.25, 1.5, 1.75, 2)}
    return tuple(sorted(step for step in steps if target < step <= (load.plan.maximum or 2 * target + instances)))


def sizes(load: ObservedLoad, group: Group) -> list[int]:
    """Return the number of servers of each of a group's statements."""
    return [each.servers for each in load.arrivals if (each.con_id, each.group) == group and each.servers > 0]


def _limits(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    """Return limits in steps of the group's median statement, with room for one, two and so on, and for the largest."""
    degrees = sizes(load, group)
    steps = fitting(load, group, percents(load, group, median_low(degrees))) if degrees else []
    return tuple(value for value in _thinned(steps) if value != load.percent(group))


def percents(load: ObservedLoad, group: Group, step: int) -> list[int]:
    """Return the limits that have room for one, two and more statements of `step` servers, and 100."""
    whole = load.allowed(group, 100)
    if whole >= UNLIMITED or not whole:
        return []
    return sorted({min(100, ceil(100 * step * many / whole)) for many in range(1, whole // step + 1)} | {100})


def fitting(load: ObservedLoad, group: Group, limits: Iterable[int]) -> list[int]:
    """Return the limits with room for each statement that fits now: no larger one was seen to start."""
    least = min(max(sizes(load, group), default=0), load.allowed(group, load.percent(group)))
    return [percent for percent in limits if load.allowed(group, percent) >= least]


def _levels(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    present = load.level(group)
    if present is None:
        return ()
    used = {level for each in load.groups if (level := load.level(each)) is not None}
    return tuple(level for level in sorted(used | {min(LEVELS, max(used) + 1)}) if level != present)


def _shares(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    if load.level(group) is None and group not in load.plan.services:
        return ()
    present = load.percentage(group)
    values = {max(1, round(present * factor)) for factor in (0.25, 0.5, 2, 4)}
    return tuple(sorted(value for value in values - {present} if value <= 100))


def _degrees(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    degree = max(sizes(load, group), default=0) // 2
    return tuple(degree // part for part in (8, 4, 2) if degree // part >= 2)


def _concurrencies(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    """Return the concurrency limits that give MEDIUM its present degree or a lower one, above the present limit."""
    present, target = load.concurrency(group), load.rules.target
    if present is None:
        return ()
    degree = load.plan.directives[group].parallel_degree_limit_p1 or 0
    limits = {target // (2 * max(2, round(degree * factor))) for factor in (0.25, 0.5, 0.75, 1)}
    return tuple(sorted(limit for limit in limits if limit > present))


def _timeouts(load: ObservedLoad, group: Group) -> tuple[int, ...]:
    present = load.rules.timeouts.get(group, inf)
    return tuple(value for value in (60, 300, 900, 3600) if value < present)


_VALUES: Mapping[str, Callable[[ObservedLoad, Group], tuple[int, ...]]] = {
    "limits": _limits,
    "levels": _levels,
    "shares": _shares,
    "degree": _degrees,
    "timeouts": _timeouts,
    "concurrency": _concurrencies,
}


def _thinned(values: Sequence[int]) -> list[int]:
    """Return some of the values, evenly spaced, including the first and the last."""
    if len(values) <= _MOST_VALUES:
        return list(values)
    return [values[round(n * (len(values) - 1) / (_MOST_VALUES - 1))] for n in range(_MOST_VALUES)]


# ---- Judging a choice.


def quantile(waits: Iterable[float], part: float) -> float:
    """Return the smallest wait that this part of the waits does not exceed, 0 if there are none."""
    ordered = sorted(waits)
    # A product such as 0.07 x 100 is a little above the whole number that it should be: it must not be rounded up.
    return ordered[max(0, ceil(part * len(ordered) - 1e-9) - 1)] if ordered else 0.0


class Scored(NamedTuple):
    """The score of a choice, where less is better: a goal counts 1 if met, else 4 plus 1 for each doubling of its wait.

    The cost is added: 1/2 for each group whose delays double, 1/2 for twice as many servers, and something for each
    change. `keeps` is whether the groups that must not lose do not.
    """

    total: float
    waits: tuple[float, ...]
    cost: float
    keeps: bool


def price(load: ObservedLoad, choice: Choice) -> float:
    """Return the cost of a choice if no group loses: its servers and its number of changes."""
    target = next((each.value for each in choice if each.kind == "target"), load.rules.target)
    return 0.5 * max(0.0, target / load.rules.target - 1) + 0.02 * len(choice)


class ChoiceJudge(NamedTuple):
    """Judge of outcomes compared with that of the present plan, by the statements at `indexes`."""

    load: ObservedLoad
    goals: Sequence[Goal]
    keep: frozenset[str]
    before: ReplayOutcome
    indexes: Sequence[int]

    def __call__(self, choice: Choice, after: ReplayOutcome) -> Scored:
        """Return the score of a choice, given its replay."""
        waits = tuple(quantile(after.of(goal.group, self.indexes), goal.part) for goal in self.goals)
        missed = sum(_missed(goal, wait) for goal, wait in zip(self.goals, waits, strict=True))
        lost = {group: self._lost(group, after) for group in sorted({after.groups[n] for n in self.indexes})}
        cost = 0.5 * sum(loss for loss, _ in lost.values()) + price(self.load, choice)
        keeps = not any(worse for group, (_, worse) in lost.items() if group.name in self.keep)
        return Scored(missed + cost, waits, cost, keeps)

    def _lost(self, group: Group, after: ReplayOutcome) -> tuple[float, bool]:
        """Return the loss of a group, 1 if its delays double, and whether it counts as a loss at all."""
        members = [n for n in self.indexes if after.groups[n] == group]
        sooner, later = self._delays(self.before, members), self._delays(after, members)
        pairs = [(quantile(sooner, part), quantile(later, part)) for part in (0.5, 0.95)]
        unstarted = sum(n in after.unstarted for n in members) - sum(n in self.before.unstarted for n in members)
        loss = max(_loss(*pair) for pair in pairs)
        worse = unstarted > 0 or any(is_longer(*pair) for pair in pairs)
        return max(loss, _UNSTARTED * unstarted / len(members)), worse

    @staticmethod
    def _delays(outcome: ReplayOutcome, members: Sequence[int]) -> list[float]:
        return [outcome.waits[n] + outcome.slower[n] for n in members]


_MISSED = 4.0
"""The score of a goal that is not met; the excess of its wait is added."""

_ENDLESS = 20.0
"""The largest score of a delay."""

_UNSTARTED = 6.0
"""The loss if none of a group's statements starts that started before."""

_FAR = 0.3
"""The weight of each doubling of the wait of a missed goal, when the choice to vary next is chosen."""


def _loss(before: float, after: float) -> float:
    """Return the loss from a longer delay: 1 for twice as long; a minute more counts little if hours are usual."""
    return 0.0 if after <= before else min(_ENDLESS, log2(1 + (after - before) / (before + 60)))


def _missed(goal: Goal, wait: float) -> float:
    return 1.0 if wait <= goal.seconds else _MISSED + _excess(goal, wait)


def _excess(goal: Goal, wait: float) -> float:
    """Return how often the wait of a goal would have to be halved to meet it."""
    return min(_ENDLESS, log2(max(1.0, wait / max(1.0, goal.seconds))))


# ---- The search. It changes one directive at a time: first of the present plan, then of a plan that favours the groups
# with a goal in everything, then of one that limits all other groups, and then of choices found that cost little and
# meet the goals or nearly do. Choices that could not be the best whatever their result are not replayed.


class Search:
    """Search for the best choices. The choices judged so far are in `scored`, even if it is interrupted."""

    def __init__(
        self, load: ObservedLoad, goals: Sequence[Goal], keep: Iterable[str], kinds: Iterable[str], most: int = 0
    ) -> None:
        self.load, self.goals, self.keep = load, goals, frozenset(keep)
        self.grid = grid(load, kinds, goals)
        self.is_quick = most > 0
        self.courses = 3 if len(load.early.arrivals) <= 1000 else 1
        choices = prod(1 + len(values) for values in self.grid.values())
        # A replay takes as long as it has statements, so of many statements there are fewer replays; but no more than a
        # tenth of all choices, unless that is below 40.
        steps = len(load.early.arrivals) * self.courses
        self.most = most or max(40, min(choices // 10, max(80, 500_000 // max(1, steps))))
        self.scored: dict[Choice, Scored] = {}
        self.best: Choice = PRESENT
        """The best choice so far."""
        self._tried: set[Choice] = set()
        self._outcomes: set[tuple[frozenset[Knob], Scored]] = set()
        self._judge: ChoiceJudge | None = None
        self._on_choice: Callable[[int, Scored], None] = lambda *_: None

    def _rank(self, choice: Choice) -> tuple[bool, float, int, list[Change]]:
        # The changes themselves come last, so that of equally good choices each run takes the same.
        found = self.scored[choice]
        return not found.keeps, found.total, len(choice), sorted(choice, key=str)

    def _may_be_best(self, choice: Choice) -> bool:
        """Whether a choice would be the best so far if it met the goals and no group lost."""
        # The best score that any replay of it can have: each goal met counts 1, and no group loses.
        least = len(self.goals) + price(self.load, choice)
        return (False, least, len(choice), sorted(choice, key=str)) <= self._rank(self.best)

    def run(self, on_choice: Callable[[int, Scored], None]) -> None:
        """Run the search; `on_choice` is called with the number of choices replayed and the best score."""
        self._on_choice = on_choice
        self.score(PRESENT)
        generous = self._generous()
        parts = [frozenset(each for each in generous if each.kind == kind) for kind in EVERY_KIND]
        self._vary(PRESENT, self.grid)
        for start in dict.fromkeys([PRESENT, generous, *parts, self._others_limited()]):
            self._descend(start, self._distinct())
        # First without the values that make no difference by themselves, then with all of them.
        for values in (self._distinct(), self.grid):
            self._tried.clear()
            while len(self.scored) < self.most and (choice := self._next()) is not None:
                self._vary(choice, values)

    def score(self, choice: Choice) -> Scored:
        """Return the score of a choice, which is replayed only once."""
        if choice not in self.scored:
            after = self.load.played(choice, self.courses, self.load.early)
            if self._judge is None:  # the first choice is the present plan, which all others are compared with
                self._judge = self.judge(after, len(self.load.early.arrivals))
            self.scored[choice] = self._judge(choice, after)
            if self.best not in self.scored or self._rank(choice) < self._rank(self.best):
                self.best = choice
            self._on_choice(len(self.scored), self.scored[self.best])
        return self.scored[choice]

    def judge(self, before: ReplayOutcome, end: int) -> ChoiceJudge:
        """Return a judge of replays, by the statements up to `end`, against `before`, that of the present plan."""
        return ChoiceJudge(self.load, self.goals, self.keep, before, range(self.load.skipped, end))

    def settle(self, choices: Sequence[Choice], days: int) -> list[Choice]:
        """Return choices, best first, ranked by days that could have come instead of those that the search saw.

        The smallest of many scores on the same statements may be smallest by chance.
        """
        totals: dict[Choice, list[float]] = {choice: [] for choice in choices}
        for day in other_days(self.load, days, held_back=False):
            judge = self.judge(self.load.played(PRESENT, 1, day), len(day.arrivals))
            for choice, found in totals.items():
                found.append(judge(choice, self.load.played(choice, 1, day)).total)
        return sorted(choices, key=lambda choice: (fmean(totals[choice]), len(choice)))

    def _generous(self) -> Choice:
        """Return the choice that puts groups with a goal first, removes their limits, and has the largest target.

        Services of an Autonomous Database have no levels: those with a goal get the most shares, the others the fewest.
        """
        names = {goal.group for goal in self.goals}
        first = min(self.load.level(group) or LEVELS for group in self.load.groups if group.name in names)
        found = set()
        for (kind, group), values in self.grid.items():
            asked, level = group is not None and group.name in names, self.load.level(group) if group else None
            if group is None or (kind == "limits" and asked and max(values) > self.load.percent(group)):
                found.add(Change(kind, group, max(values)))
            elif kind == "levels" and asked and level is not None and min(values) < level:
                found.add(Change(kind, group, min(values)))
            elif kind in services.KINDS and self.load.plan.autonomous:
                found.add(Change(kind, group, max(values) if asked else min(values)))
            elif kind == "levels" and not asked and level == first:
                found.add(Change(kind, group, max(values)))
        return frozenset(found)

    def _others_limited(self) -> Choice:
        """Return the choice that limits all groups without a goal: one limit alone gives the room to another."""
        names, found = {goal.group for goal in self.goals}, set()
        for (kind, group), values in self.grid.items():
            if kind == "limits" and group is not None and group.name not in names:
                below = [value for value in values if value < self.load.percent(group)]
                found |= {Change(kind, group, median_low(below))} if below else set()
        return frozenset(found)

    def _descend(self, start: Choice, values: Mapping[Knob, Iterable[int]]) -> None:
        best, before = self._better(start, [start]), None
        while best in self.scored and best != before and len(self.scored) < self.most:
            before = best
            for knob in self.grid:
                best = self._better(best, self._with(best, knob, values[knob]))
            best = self._better(best, self._exchanged(best))

    def _distinct(self) -> dict[Knob, list[int]]:
        """Return the values to try for each directive.

        A value is left out if it alone has the same score as a smaller value alone.
        """
        found: dict[Knob, list[int]] = {}
        for knob, values in self.grid.items():
            alone = {value: self.scored.get(frozenset({Change(*knob, value)})) for value in values}
            firsts = {outcome: value for value, outcome in reversed(alone.items())}
            found[knob] = [value for value, outcome in alone.items() if outcome is None or firsts[outcome] == value]
        return found

    def _next(self) -> Choice | None:
        """Return the choice not varied yet that one more change is likeliest to make the best; None if there is none.

        Such a choice costs little, and its goals are met or nearly so: one more change makes no expensive choice cheap.
        A choice comes last if its result equals that of a choice with fewer changes or with other values.
        """

        def rank(choice: Choice) -> tuple[object, ...]:
            found = self.scored[choice]
            fewer = [self.scored[choice - {each}] for each in choice if choice - {each} in self.scored]
            is_worth_less = any(other.waits == found.waits and other.total < found.total for other in fewer)
            is_like_another = is_worth_less or self._outcome(choice) in self._outcomes
            hope = found.cost + _FAR * sum(map(_excess, self.goals, found.waits))
            return is_like_another, not found.keeps, hope, self._rank(choice)

        left = [each for each in self.scored if each not in self._tried and self._may_be_best(each)]
        return min(left, key=rank, default=None)

    def _outcome(self, choice: Choice) -> tuple[frozenset[Knob], Scored]:
        return frozenset(each[:2] for each in choice), self.scored[choice]

    def _vary(self, choice: Choice, values: Mapping[Knob, Iterable[int]]) -> None:
        """Replay the variations of a choice in which one directive differs."""
        self._tried.add(choice)
        self._outcomes.add(self._outcome(choice))
        self._better(choice, self._exchanged(choice))
        for knob in self.grid:
            self._better(choice, self._with(choice, knob, values[knob]))

    def _better(self, best: Choice, others: Iterable[Choice]) -> Choice:
        for other in others:
            if len(self.scored) >= self.most:
                break
            if other in self.scored or self._may_be_best(other):
                self.score(other)
                best = min(best, other, key=self._rank)
        return best

    @staticmethod
    def _with(choice: Choice, knob: Knob, values: Iterable[int]) -> Iterator[Choice]:
        rest = frozenset(each for each in choice if (each.kind, each.group) != knob)
        yield rest
        for value in values:
            yield rest | {Change(*knob, value)}

    def _exchanged(self, choice: Choice) -> Iterator[Choice]:
        """Yield choices that move a change to another group without a goal.

        In two steps, first without the change and then with the other, the search might reject the choice in between.
        """
        names = {goal.group for goal in self.goals}
        for each in sorted(choice, key=str):
            for knob, values in self.grid.items():
                groups = {group.name for group in (each.group, knob[1]) if group is not None}
                if knob[0] == each.kind and knob != each[:2] and not groups & names and each.value in values:
                    rest = frozenset(one for one in choice if one[:2] not in {knob, each[:2]})
                    yield rest | {Change(*knob, each.value)}

    def finalists(self, most: int = 8) -> list[Choice]:
        """Return the best choice, then those that come closer to the goals than all choices that cost no more."""
        ranked = [each for each in sorted(self.scored, key=self._rank) if self.scored[each].keeps]
        found, least = ranked[:1], inf
        for each in sorted(ranked, key=lambda each: (self.scored[each].cost, self._rank(each))):
            pairs = zip(self.scored[each].waits, self.goals, strict=True)
            if (ratio := max(wait / max(1.0, goal.seconds) for wait, goal in pairs)) < 0.95 * least:
                least = ratio
                found.append(each)
        return sorted(dict.fromkeys(found), key=self._rank)[:most]


def meets(outcome: ReplayOutcome, goals: Sequence[Goal]) -> bool:
    """Whether a replay meets all goals."""
    return all(quantile(outcome.of(goal.group), goal.part) <= goal.seconds for goal in goals)


def is_target_free(load: ObservedLoad) -> bool:
    """Whether the target can change alone.

    The target of an Autonomous Database follows its CPUs. So does the degree of HIGH, and that of MEDIUM if it has a
    concurrency limit of its own (then its PARALLEL_SERVER_LIMIT is 100).
    """
    percents = {group.name: load.percent(group) for group in load.groups}
    return not load.plan.autonomous or ("HIGH" not in percents and percents.get(services.MEDIUM, 0) < 100)


def servers_needed(load: ObservedLoad, goals: Sequence[Goal], courses: int) -> int | None:
    """Return the smallest target that meets the goals, None if none does or that cannot be replayed.

    Limits on the groups of the goals are lifted for this where they can be changed.
    """
    names = {goal.group for goal in goals if not load.plan.autonomous}
    free = frozenset(Change("limits", group, 100) for group in load.groups if group.name in names)
    if not is_target_free(load):
        return None

    def suffices(target: int) -> bool:
        return meets(load.played(free | {Change("target", None, target)}, courses), goals)

    low, high = load.rules.target // load.plan.instances, 1
    high = ceil(sum(each.servers for each in load.arrivals) / load.plan.instances)
    if low >= high or not suffices(high * load.plan.instances):
        return None
    while high - low > max(1, high // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle * load.plan.instances) else (middle, high)
    return high * load.plan.instances


def bounds(days: Sequence[float]) -> tuple[float, float]:
    """Return the range in which a figure lies on another day in 9 of 10 cases, from 19, 39, 59 or 99 similar days.

    Whatever the distribution, another value is below the k-th of n similar ones in k of n + 1 cases.
    """
    ordered = sorted(days)
    outside = (len(ordered) + 1) // 20
    return ordered[outside - 1], ordered[-outside]
