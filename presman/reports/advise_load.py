"""Observed load for advice: the plan, the statements, and their replay under other directives.

The search sees the first part of the observation. The ranges of the advice come from other days, drawn from the part
that was held back: a choice that suits only its own statements by chance gains nothing there. Times are seconds.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from math import ceil, inf
from random import Random
from typing import NamedTuple

from msgspec import Struct, field
from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import Branch
from presman.analysis.goals import Goal
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome, StatementRuns, arrival_of
from presman.base.release import Release
from presman.forecast.queue_now import PlanBranch, plan_branch
from presman.forecast.scheduler import LEVELS, Group
from presman.forecast.statement_history import Durations, ObservedDuration, kaplan_meier
from presman.reports import advise_services as services
from presman.reports.whatif_replay import UNLIMITED, Replayed, Rules, bypassing, changed, observed_rules, replay
from presman.rows.group_rows import PlanDirective
from presman.rows.snapshot import Snapshot

TRAINING_PART = 0.6
"""The part of the statements with a goal that the search sees; the rest is held back to judge its result."""

_TRIES = 20
"""How often a day is drawn until it has a statement: statements may come in bursts, with nothing between them."""

_STRETCHES = 20
"""Number of stretches into which an observation is cut to draw other days from it."""


class ObservedPlan(Struct, frozen=True):
    """The plan in force at the end, as far as it was seen: a file of arrivals has nothing of it.

    `tree` gives the order of the groups; `by_weight` are groups whose plan divides by shares; `maximum` is
    PARALLEL_MAX_SERVERS of all instances; `titles` are the display names of groups.
    """

    directives: Mapping[Group, PlanDirective] = field(default_factory=dict)
    tree: PlanBranch | None = None
    by_weight: frozenset[Group] = frozenset()
    one_queue: bool = False
    instances: int = 1
    maximum: int | None = None
    release: Release | None = None
    autonomous: bool = False
    titles: Mapping[Group, str] = field(default_factory=dict)

    @property
    def is_old(self) -> bool:
        """Whether it is older than 12.1: limits had other names, and UTILIZATION_LIMIT did not limit servers."""
        return self.release is not None and self.release < Release(12, 1)

    @property
    def is_ordered(self) -> bool:
        """Whether one plan of levels without subplans orders all groups: only then presman changes levels."""
        return len({row.plan for row in self.directives.values()}) == 1 and not self.by_weight and not self.one_queue

    @property
    def services(self) -> frozenset[Group]:
        """The services of an Autonomous Database that its customer may change; none elsewhere, or in another plan."""
        found = (group for group, row in self.directives.items() if self.autonomous and row.plan in services.PLANS)
        return frozenset(group for group in found if group.name in services.SERVICES)


def observed_plan(previous: Snapshot | None, snapshot: Snapshot, reading: Reading) -> ObservedPlan:
    """Return the plan of a poll."""
    facts = Facts.of(previous, snapshot)
    shares = facts.division.naming_most({(row.con_id, row.name) for row in reading.cluster_groups()})
    queues = {facts.plans.has_one_queue(row.con_id) for row in reading.cluster_groups()}
    directives = {Group(*key): row for key, row in shares.directives.items()}
    tree = plan_branch(shares.root) if shares.shares else None
    by_weight = frozenset(_by_weight(shares.root))
    titles = {Group(row.con_id, row.name): row.title for row in reading.cluster_groups()}
    header = reading.header
    database = max(1, len(header.instances)), header.servers.maximum, snapshot.release, header.autonomous
    return ObservedPlan(directives, tree, by_weight, queues == {True}, *database, titles)


def _by_weight(branch: Branch) -> Iterator[Group]:
    for child in branch.branches:
        if child.key is not None and branch.by_weight:
            yield Group(*child.key)
        yield from _by_weight(child)


LONGEST = timedelta(hours=1)
"""How far back from a reading the statements of a live screen are taken."""


def observed_arrivals(runs: StatementRuns, reading: Reading, plan: ObservedPlan) -> list[Arrival]:
    """Return the statements of the last hour, in order of time.

    Statements that came before the complete record begins are marked as earlier than the observation.
    """
    since = max(reading.at - LONGEST, runs.whole_since or reading.at - LONGEST)
    timeouts = {group: (row.parallel_queue_timeout, row.pq_timeout_action) for group, row in plan.directives.items()}
    known = ((run, timeouts.get(Group(run.con_id, run.group), (None, ""))) for run in runs.within(since, reading.at))
    found = (arrival_of(run, reading, timeout, reading.at) for run, timeout in known)
    return sorted((each._replace(first=max(each.first, since)) for each in found), key=lambda each: each.at)


class Change(NamedTuple):
    """A directive with a new value: servers (target), percent (limits, shares), a level, a DOP, seconds (timeouts).

    On an Autonomous Database: shares, or a number of statements at once (concurrency).
    """

    kind: str
    group: Group | None
    value: int


Choice = frozenset[Change]
"""Changes to what is in force; empty for no change."""

PRESENT: Choice = frozenset()
Knob = tuple[str, Group | None]


class ArrivalDay(NamedTuple):
    """Statements in order of time; `free` are the numbers of those that never queue."""

    arrivals: Sequence[Arrival]
    free: frozenset[int]

    @classmethod
    def of(cls, arrivals: Sequence[Arrival]) -> ArrivalDay:
        """Return the day that was observed."""
        return cls(arrivals, bypassing(arrivals))


class ObservedLoad(Struct, frozen=True):
    """The observed statements, and the plan in force; the search sees only `early`.

    The first `skipped` statements came before the observation: they are replayed but not counted, because no change of
    the plan affects how long they had already waited.
    """

    whole: ArrivalDay
    early: ArrivalDay
    rules: Rules
    plan: ObservedPlan
    seed: int
    skipped: int

    @classmethod
    def of(cls, arrivals: Sequence[Arrival], plan: ObservedPlan, goals: Sequence[Goal], seed: int) -> ObservedLoad:
        """Return the load, split where the training part of the statements with a goal ends."""
        names = {goal.group for goal in goals}
        begin = min(each.first for each in arrivals)
        skipped = sum(each.at < begin for each in arrivals)
        asked = [each for each in arrivals[skipped:] if each.group in names] or arrivals
        cut = asked[int(TRAINING_PART * len(asked))].at
        early = [each for each in arrivals if each.at < cut] or arrivals
        rules = changed(observed_rules(arrivals), plan=plan.tree, one_queue=plan.one_queue)
        return cls(ArrivalDay.of(arrivals), ArrivalDay.of(early), rules, plan, seed, skipped)

    @property
    def arrivals(self) -> Sequence[Arrival]:
        """All statements."""
        return self.whole.arrivals

    @property
    def groups(self) -> list[Group]:
        """The groups of the statements."""
        return sorted({Group(each.con_id, each.group) for each in self.arrivals})

    def percent(self, group: Group) -> int:
        """Return the limit of a group's servers in percent of the target, 100 if there is none."""
        row = self.plan.directives.get(group)
        percent = None
        if row is not None:
            of_cpu = None if self.plan.is_old else row.utilization_limit
            percent = of_cpu if row.parallel_server_limit is None else row.parallel_server_limit
        elif group in self.rules.limits:
            percent = ceil(100 * self.rules.limits[group] / self.rules.target)
        return 100 if percent is None or not 0 <= percent <= 100 else percent

    def limits_servers(self, kind: str, group: Group) -> bool:
        """Whether this kind of change limits a group's servers: the CPU limit does if there is no limit of servers."""
        row = self.plan.directives.get(group)
        of_cpu = row is not None and row.parallel_server_limit is None and not self.plan.is_old
        return kind == "limits" or (kind == "cpu" and of_cpu)

    def allowed(self, group: Group, percent: int) -> int:
        """Return the servers that a limit in percent allows a group; in a limited container it is a part of that."""
        now, present = self.rules.limits.get(group), self.percent(group)
        # If the present servers are not the present percentage of the target, except for rounding, the percentage is of
        # something else, such as a container's limit. Then the new limit is to the present one as the percentages are.
        if now is None or present == 0 or abs(self.rules.target * present // 100 - now) <= 1:
            return self.rules.target * percent // 100
        return now * percent // present

    def level(self, group: Group) -> int | None:
        """Return the level of a group, 1 to 8, None if it is unknown or there is none."""
        row = self.plan.directives.get(group)
        if row is None or self.plan.tree is None or not self.plan.is_ordered:
            return None
        # Fields 4 to 11 of a directive are MGMT_P1 to MGMT_P8.
        return next((index + 1 for index, part in enumerate(row[4:12]) if part > 0), None)

    def percentage(self, group: Group) -> int:
        """Return the group's figure on its level: percent, or shares."""
        return max(self.plan.directives[group][4:12])

    def concurrency(self, group: Group) -> int | None:
        """Return the concurrency limit of MEDIUM on an Autonomous Database, None if it is unknown or another group's.

        It is the room that MEDIUM has for statements of its degree.
        """
        if group.name != services.MEDIUM or group not in self.plan.services or self.rules.target >= UNLIMITED:
            return None
        degree = self.plan.directives[group].parallel_degree_limit_p1 or 0
        return self.allowed(group, self.percent(group)) // (2 * degree) if degree > 1 else None

    def played(self, choice: Choice, courses: int, over: ArrivalDay | None = None) -> ReplayOutcome:
        """Return the replay of a choice, over all statements unless a day is given."""
        arrivals, free = over or self.whole
        sizes = sizes_under(self, choice)
        resized = [_resized(each, sizes) for each in arrivals] if sizes else arrivals
        found = replay(resized, rules_of(self, choice), self.seed, courses, free)
        slower = [(new.ran or 0.0) - (old.ran or 0.0) for old, new in zip(arrivals, resized, strict=True)]
        # With PQ_TIMEOUT_ACTION RUN a statement starts at its timeout; otherwise it never does.
        runs = {group for group, action in self.rules.actions.items() if action == "RUN"}
        played = found.statements
        waits = tuple(inf if each.timed_out and each.group not in runs else each.waited for each in played)
        unstarted = frozenset(number for number, each in enumerate(played) if each.timed_out or each.is_cut)
        groups = tuple(each.group for each in played)
        return ReplayOutcome(found, groups, waits, tuple(slower), unstarted, self.skipped)


class Size(NamedTuple):
    """The servers of a group's statements under a choice.

    Those that had `usual` servers or more get `then`, all others at most `then`.
    """

    usual: float
    then: int

    def of(self, servers: int) -> int:
        """Return the servers of a statement that had so many."""
        return self.then if servers >= self.usual else min(servers, self.then)


def sizes_under(load: ObservedLoad, choice: Choice) -> dict[Group, Size]:
    """Return the sizes that a choice changes: by a degree limit, or by the degree that a concurrency limit sets."""
    found = {}
    for kind, group, value in choice:
        if kind == "degree" and group is not None:
            found[group] = Size(inf, 2 * value)
        elif kind == "concurrency" and group is not None:
            now = load.plan.directives[group].parallel_degree_limit_p1 or 0
            found[group] = Size(2 * now, 2 * services.degree(rules_of(load, choice).target, value))
    return found


def _resized(each: Arrival, sizes: Mapping[Group, Size]) -> Arrival:
    """Return a statement with other servers: with fewer it runs longer, servers times seconds staying the same.

    With more it runs no shorter: by how much it would is unknown.
    """
    size = sizes.get(Group(each.con_id, each.group))
    servers = each.servers if size is None else size.of(each.servers)
    longer = max(1.0, each.servers / max(1, servers))
    return each._replace(servers=servers, ran=None if each.ran is None else each.ran * longer)


class ReplayOutcome(NamedTuple):
    """A replay, with each statement's group, its wait (infinite if it timed out), and how much longer it runs.

    `unstarted` are statements that timed out or still wait at the end; how much longer they wait is unknown.
    """

    replayed: Replayed
    groups: tuple[Group, ...]
    waits: tuple[float, ...]
    slower: tuple[float, ...]
    unstarted: frozenset[int]
    skipped: int

    @property
    def at_worst(self) -> ReplayOutcome:
        """The same outcome, with infinite waits for the statements that had not started at the end."""
        return self._replace(waits=tuple(inf if n in self.unstarted else wait for n, wait in enumerate(self.waits)))

    def of(self, name: str, indexes: Iterable[int] | None = None) -> list[float]:
        """Return the waits in groups with this name, in order of arrival."""
        numbers = range(self.skipped, len(self.groups)) if indexes is None else indexes
        return [self.waits[n] for n in numbers if self.groups[n].name == name]


def rules_of(load: ObservedLoad, choice: Choice) -> Rules:
    """Return the rules of the replay for a choice. A limit is a percentage, so it grows with the target."""
    rules = load.rules
    values: dict[Knob, int] = {(each.kind, each.group): each.value for each in choice}
    target = values.get(("target", None), rules.target)
    limits = dict(rules.limits)
    for kind, group, value in sorted(choice, key=str):  # the limit of servers sorts after that of CPU, and overrides it
        if group is not None and load.limits_servers(kind, group):
            limits[group] = load.allowed(group, value)
    limits = {group: limit * target // rules.target for group, limit in limits.items()}
    for kind, group, value in choice:
        if kind == "concurrency" and group is not None:
            limits[group] = services.servers(target, value)
    timeouts = {group: float(value) for kind, group, value in choice if kind == "timeouts" and group is not None}
    plan = rules.plan
    if isinstance(plan, PlanBranch):
        plan = _moved(plan, load, values)
    return replace(rules, target=target, limits=limits, timeouts={**rules.timeouts, **timeouts}, plan=plan)


def _moved(branch: PlanBranch, load: ObservedLoad, values: Mapping[Knob, int]) -> PlanBranch:
    """Return a plan whose groups have other levels or other parts of their level."""
    if branch.group is None:
        return replace(branch, children=tuple(_moved(each, load, values) for each in branch.children))
    level, share = values.get(("levels", branch.group)), values.get(("shares", branch.group))
    weights = branch.weights
    if share is not None:
        factor = share / load.percentage(branch.group)
        weights = tuple(weight * factor for weight in weights)
    if level is not None:
        weights = tuple(max(weights) if index == level - 1 else 0.0 for index in range(LEVELS))
    return replace(branch, weights=weights)


# ---- Other days: loads that could have come instead.


def other_days(load: ObservedLoad, many: int, *, held_back: bool) -> Iterator[ArrivalDay]:
    """Yield days as long as the observation, of statements that were held back from the search or of those it saw.

    Each begins with what ran and waited when the observation began, and continues with stretches of it in any order:
    statements that came together still come together.
    """
    begin = min(each.first for each in load.arrivals)
    came = [(each.at - begin).total_seconds() for each in load.arrivals]
    cut = len(load.early.arrivals)
    first, last = (cut, len(came)) if held_back else (load.skipped, cut)
    if first == last:
        return
    spans = came[first] if held_back else 0.0, came[last] if last < len(came) else came[-1] + 1e-3
    lasting = _run_times(load.arrivals)
    for number in range(many):
        random = Random(f"{load.seed}/day/{held_back}/{number}")
        drawn = [(came[n], n) for n in range(load.skipped)]
        tries = (_drawn(came, (first, last), spans, came[-1], random) for _ in range(_TRIES))
        drawn += next(filter(None, tries), [(came[n], n) for n in range(first, last)])
        yield ArrivalDay(
            [
                load.arrivals[n]
                if at < 0
                else _repeated(load.arrivals[n], begin + timedelta(seconds=at), lasting, random)
                for at, n in drawn
            ],
            frozenset(number for number, (_, n) in enumerate(drawn) if n in load.whole.free),
        )


def _drawn(
    came: Sequence[float], section: tuple[int, int], spans: tuple[float, float], length: float, random: Random
) -> list[tuple[float, int]]:
    """Return the arrival times and numbers of a day's statements, drawn from `section`, which came within `spans`.

    First some stretches are drawn, and then the day is drawn from these. So days differ by chance, and also because the
    observation is only a sample of the usual load.
    """
    begin, size = spans[0], (spans[1] - spans[0]) / _STRETCHES
    # The section followed by itself, so that a stretch that begins near its end goes on at its beginning.
    ring = [*came[section[0] : section[1]], *(at + spans[1] - begin for at in came[section[0] : section[1]])]
    known = [random.uniform(*spans) for _ in range(_STRETCHES)]
    found = []
    for number in range(ceil(length / size)):
        start = random.choice(known)
        for index in range(bisect_left(ring, start), bisect_left(ring, start + size)):
            found.append((number * size + ring[index] - start, section[0] + index % (section[1] - section[0])))
    return sorted(each for each in found if each[0] <= length)


def _run_times(arrivals: Iterable[Arrival]) -> dict[str, Durations | None]:
    """Return how long each group's statements run; those still running count as censored."""
    found: dict[str, list[ObservedDuration]] = {}
    for each in arrivals:
        if each.ran is not None:
            has_ended = each.outcome is not ArrivalOutcome.RUNNING
            found.setdefault(each.group, []).append(ObservedDuration(each.ran, has_ended))
    return {group: kaplan_meier(lasted) for group, lasted in found.items()}


def _repeated(each: Arrival, at: datetime, lasting: Mapping[str, Durations | None], random: Random) -> Arrival:
    """Return a statement again at another time; if its end was not seen, its run time is drawn from its group."""
    ran, known = each.ran, lasting.get(each.group)
    if each.outcome is not ArrivalOutcome.ENDED and known is not None:
        ran = (ran or 0.0) + known.left(ran or 0.0, random.random())
    return each._replace(at=at, waited=0.0, ran=ran, outcome=ArrivalOutcome.ENDED)
