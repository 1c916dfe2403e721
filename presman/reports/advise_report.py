"""Advice as values, as text and as a page: the curves, the choices, how sure it is, the scripts. Times are seconds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import partial
from math import ceil, inf
from textwrap import wrap
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.goals import Goal
from presman.analysis.trends.statement_runs import Arrival
from presman.base.errors import InputError
from presman.base.formats import count, counted, duration, spelled
from presman.base.markup import BAD, WIDTH, Markup, drawing, element, label
from presman.figures.drawing.lines import bar_runs, shared_scale
from presman.figures.figure import Bar
from presman.forecast.scheduler import Group
from presman.reports.advise_load import (
    PRESENT,
    Change,
    Choice,
    ObservedLoad,
    ReplayOutcome,
    SeenPlan,
    other_days,
    short_of_cpu,
)
from presman.reports.advise_script import Scripts, scripts
from presman.reports.advise_search import Scored, Search, bounds, percents, quantile, servers_needed, sizes
from presman.reports.html_page import bullets, page, section, word_table
from presman.reports.whatif_cpu import CpuChange, CpuDemand, replay_cpu
from presman.reports.whatif_replay import COURSES, error, observed

T = TypeVar("T")

ASSUMPTIONS = (
    "statements come when they came, whatever happens to earlier ones",
    "a run time does not depend on what runs beside it: with more servers at once on the same CPUs it would be longer, "
    "and presman cannot say by how much",
    "under a lower degree limit a statement runs longer, so that servers times seconds stay the same; its servers are "
    "taken for two sets, twice the degree",
    "levels and shares divide CPU, too: that is told where CPU was seen, not of a file of arrivals, and by what groups "
    "wanted under the present plan",
    "limits of containers stay as they were, and are not replayed",
    "a statement that timed out counts as one that never started; one that came before the observation began is "
    "replayed, and is in no figure",
)


class GroupWaits(Struct, frozen=True):
    """Waits of a group's statements before and after: median, 95th percentile, None where those timed out.

    `unstarted` are those that timed out or still waited at the end: the waits of these are longer than told.
    """

    con_id: int
    group: str
    statements: int
    median_before: float | None
    median_after: float | None
    p95_before: float | None
    p95_after: float | None
    unstarted_before: int
    unstarted_after: int
    runs_longer: float


class ReplayedChoice(Struct, frozen=True):
    """A choice: its changes in words, whether it meets all goals, the most servers at once, each group's waits."""

    changes: tuple[str, ...]
    meets: bool
    peak: int
    groups: tuple[GroupWaits, ...]


class WaitCurve(Struct, frozen=True):
    """The wait at a goal's part under each value of one directive; `now` is the value in force."""

    goal: str
    seconds: float
    what: str
    unit: str
    now: int
    points: tuple[tuple[int, float | None], ...]


class GoalFinding(Struct, frozen=True):
    """A goal: the wait it allows at its part, and that wait as it was observed, replayed, and under the advice.

    `within` is the part that starts in time under the advice, of the statements held back. What is `advised` is the
    middle of other days, and `advised_low` and `advised_high`, `low` and `high` bound 9 of 10 of them. None without.
    """

    goal: str
    limit: float
    percentile: str
    statements: int
    needed: int
    observed: float
    now: float | None
    advised: float | None = None
    advised_low: float | None = None
    advised_high: float | None = None
    held_back: int = 0
    within: float | None = None
    low: float | None = None
    high: float | None = None


class CpuLack(Struct, frozen=True):
    """The CPU that a group wanted, and what it lacks of it under the present plan and under the first choice."""

    con_id: int
    group: str
    wanted: float
    before: float
    after: float


class Advice(Struct, frozen=True):
    """All that is told. `verdict` is met, advised, unmet, too_short, or autonomous.

    `cpu` is () where the first choice changes neither levels nor shares, or no CPU was seen.
    """

    verdict: str
    message: str
    statements: int
    seconds: float
    seed: int
    replay_error: float
    replayed: int
    interrupted: bool
    goals: tuple[GoalFinding, ...]
    curves: tuple[WaitCurve, ...]
    now: ReplayedChoice
    choices: tuple[ReplayedChoice, ...]
    servers_needed: int | None
    scripts: Scripts | None
    notes: tuple[str, ...]
    cpu: tuple[CpuLack, ...] = ()
    assumptions: tuple[str, ...] = ASSUMPTIONS


def advise(
    arrivals: Sequence[Arrival],
    plan: SeenPlan,
    goals: Sequence[Goal],
    keep: Iterable[str],
    kinds: Sequence[str],
    seed: int,
    heard: Callable[[int, Scored], None] = lambda *_: None,
    cpu: Sequence[CpuDemand] = (),
) -> Advice:
    """Return advice on statements by time, each goal's group among them. Ctrl-C ends the search early.

    `cpu` are the demands of the same time, where they were seen.
    """
    seen = ObservedLoad.of(arrivals, plan, goals, seed)
    courses = _few(arrivals, COURSES, 3)
    before = seen.played(PRESENT, courses)
    found = tuple(_finding(goal, before, seen) for goal in goals)
    verdict, message = _at_once(found, goals, plan)
    search, patience = Search(seen, goals, keep, kinds), _Patience()
    finals: list[tuple[Choice, ReplayOutcome]] = []
    if not verdict:
        patience.while_it_lasts(lambda: search.run(heard), None)
        once_more = partial(_finals, search, before)
        finals = patience.while_it_lasts(lambda: once_more(courses, _few(arrivals, 19, 5)), finals) or once_more(1, 1)
        verdict, message = ("advised", "") if finals and _meets(finals[0][1], goals) else ("unmet", _unmet(kinds))
    needed = None
    if verdict == "unmet":
        needed = patience.while_it_lasts(lambda: servers_needed(seen, goals, courses), None)
    best = finals[0][0] if finals else PRESENT
    if best:
        nothing: list[ReplayOutcome] = []
        days = patience.while_it_lasts(lambda: _days(seen, best), nothing)
        found = tuple(_promised(*each, finals[0][1], days, seen) for each in zip(found, goals, strict=True))
    no_curves: tuple[WaitCurve, ...] = ()
    curves = patience.while_it_lasts(lambda: tuple(_curves(seen, goals, courses)), no_curves)
    written, notes = _written(seen, best)
    begin, end = min(each.first for each in arrivals), max(each.last for each in arrivals)
    return Advice(
        verdict,
        message,
        len(arrivals),
        (end - begin).total_seconds(),
        seed,
        error(observed(arrivals), before.replayed.statements),
        len(search.scored),
        patience.is_over,
        found,
        curves,
        _told(seen, PRESENT, before, before, goals),
        tuple(_told(seen, choice, before, after, goals) for choice, after in finals),
        needed,
        written,
        (*notes, *_on_no_more_cpu(seen, best), *_notes(seen, kinds)),
        _cpu(best, cpu),
    )


class _Patience:
    """That of whoever waits: over with the first Ctrl-C, after which nothing is begun that takes long."""

    def __init__(self) -> None:
        self.is_over = False

    def while_it_lasts(self, work: Callable[[], T], otherwise: T) -> T:
        """Return what the work comes to, `otherwise` where it is broken off or not begun."""
        try:
            return otherwise if self.is_over else work()
        except KeyboardInterrupt:
            self.is_over = True
            return otherwise


def _few(arrivals: Sequence[Arrival], usual: int, fewer: int) -> int:
    """Return how often something is replayed: fewer times where a replay takes long."""
    return usual if len(arrivals) <= 1000 else fewer


def least(part: float) -> int:
    """Return how many statements of a group it takes to speak of so large a part of them."""
    return max(20, min(200, ceil(2 / max(1e-9, 1 - part) - 1e-6)))


def _finding(goal: Goal, before: ReplayOutcome, seen: ObservedLoad) -> GoalFinding:
    own = [each.waited for each in seen.arrivals[seen.skipped :] if each.group == goal.group]
    now = quantile(before.of(goal.group), goal.part)
    return GoalFinding(
        str(goal), goal.seconds, goal.percentile, len(own), least(goal.part), quantile(own, goal.part), _finite(now)
    )


def _at_once(found: Sequence[GoalFinding], goals: Sequence[Goal], plan: SeenPlan) -> tuple[str, str]:
    """Return what is to be said without a search, "" if that is nothing."""
    if plan.autonomous:
        return "autonomous", (
            "this is an Autonomous Database: its directives are changed by CS_RESOURCE_MANAGER, not by "
            "DBMS_RESOURCE_MANAGER, and its target follows its CPUs; what CS_RESOURCE_MANAGER's concurrency_limit and "
            "degree_of_parallelism make of servers is not known well enough to advise on them"
        )
    for each in found:
        if each.statements < each.needed:
            few = f"{counted(each.statements, 'statement')} of the {each.needed} or more that {each.percentile} takes"
            return "too_short", f"the observation is too short to advise on {each.goal!r}: {few}"
    pairs = [*zip(found, goals, strict=True)]
    if all(each.now is not None and max(each.now, each.observed) <= goal.seconds for each, goal in pairs):
        return "met", "every goal is met already: nothing is to be changed"
    return "", ""


def _unmet(kinds: Sequence[str]) -> str:
    return f"no choice that was tried meets every goal by changes to {', '.join(kinds)}"


def _finals(search: Search, before: ReplayOutcome, courses: int, days: int) -> list[tuple[Choice, ReplayOutcome]]:
    """Return the best choices and replays of all statements, the best first, none that another beats.

    Which is the best is told by what the search saw, and by days like that; what is held back does not choose.
    """
    judge = search.judge(before, len(search.seen.early.arrivals))
    played = {choice: search.seen.played(choice, courses) for choice in search.finalists()}
    kept: list[Choice] = []
    for each in search.settle([each for each in played if judge(each, played[each]).keeps], days):
        if not any(_as_good(_figures(one, played[one], search), _figures(each, played[each], search)) for one in kept):
            kept.append(each)
    return [(choice, played[choice]) for choice in kept if choice or choice in kept[:1]]


def _figures(choice: Choice, outcome: ReplayOutcome, search: Search) -> list[float]:
    """Return what is to be small: the waits of goals and of groups, the target, how much is changed."""
    waits = [quantile(outcome.of(goal.group), goal.part) for goal in search.goals]
    others = [quantile(outcome.of(group.name), 0.95) for group in search.seen.groups]
    target = next((each.value for each in choice if each.kind == "target"), search.seen.rules.target)
    return [*waits, *others, target, len(choice)]


def _as_good(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether one is nowhere worse by more than a second and a twentieth, with no more servers and changes."""
    waits = all(a <= 1.05 * b + 1 for a, b in zip(one[:-2], other[:-2], strict=True))
    return waits and all(a <= b for a, b in zip(one[-2:], other[-2:], strict=True))


def _meets(outcome: ReplayOutcome, goals: Sequence[Goal]) -> bool:
    return all(quantile(outcome.of(goal.group), goal.part) <= goal.seconds for goal in goals)


def _days(seen: ObservedLoad, best: Choice) -> list[ReplayOutcome]:
    """Return other days under the best choice, of statements that the search did not see."""
    return [seen.played(best, 1, day) for day in other_days(seen, _few(seen.arrivals, 99, 39), held_back=True)]


def _promised(
    found: GoalFinding, goal: Goal, after: ReplayOutcome, days: Sequence[ReplayOutcome], seen: ObservedLoad
) -> GoalFinding:
    """Add how the statements held back fared under the advice, and what it promises for other days."""

    def within(some: Sequence[float]) -> float:
        return sum(wait <= goal.seconds for wait in some) / len(some)

    later = after.of(goal.group, range(len(seen.early.arrivals), len(seen.arrivals)))
    if later:
        found = replace(found, held_back=len(later), within=within(later))
    waits = [own for day in days if (own := day.of(goal.group))]
    if not waits or len(waits) < len(days):
        return found
    far = [quantile(own, goal.part) for own in waits]
    advised = quantile(far, 0.5), *bounds(far)
    low, high = bounds([within(own) for own in waits])
    names = ("advised", "advised_low", "advised_high")
    return replace(found, **dict(zip(names, map(_finite, advised), strict=True)), low=low, high=high)


def _cpu(choice: Choice, demands: Sequence[CpuDemand]) -> tuple[CpuLack, ...]:
    """Return what levels and shares of a choice do to CPU, of the groups that wanted a second or more of it."""
    changes: dict[str, CpuChange] = {}
    for kind, group, value in choice:
        if group is not None and kind in {"levels", "shares"}:
            name = "level" if kind == "levels" else "share"
            changes[group.name] = changes.get(group.name, CpuChange())._replace(**{name: value})
    found = replay_cpu(demands, changes) if changes else {}
    return tuple(
        CpuLack(*key, each.wanted, each.replayed, each.changed)
        for key, each in sorted(found.items())
        if each.wanted >= 1
    )


def _finite(seconds: float) -> float | None:
    return None if seconds == inf else seconds


def _written(seen: ObservedLoad, choice: Choice) -> tuple[Scripts | None, list[str]]:
    if not choice:
        return None, []
    try:
        return scripts(seen, choice), []
    except InputError as problem:
        return None, [str(problem)]


def _on_no_more_cpu(seen: ObservedLoad, best: Choice) -> Iterable[str]:
    for group, percent in short_of_cpu(seen, best):
        yield (
            f"the first choice gives {group.name} more servers, and its UTILIZATION_LIMIT leaves it {percent} % of the "
            "CPUs as before: where it needs more its statements run longer, which no replay tells"
        )


def _notes(seen: ObservedLoad, kinds: Sequence[str]) -> Iterable[str]:
    if not seen.plan.directives:
        yield (
            "a file of arrivals names neither the plan nor its levels: all groups are taken to be on one level, and "
            "levels and shares are not tried; a recording has them"
        )
    elif not seen.plan.is_ordered and {"levels", "shares"} & set(kinds):
        yield (
            "levels and shares are not tried: groups stand in subplans or several containers, divide by shares, or one "
            "queue serves all of them"
        )
    if seen.plan.instances > 1:
        yield f"the target is that of {seen.plan.instances} instances together; each gets the same part of it"
    elif not seen.plan.directives:
        yield "the target is that of all instances together: on RAC divide it by their number"
    if seen.plan.maximum is None:
        yield "PARALLEL_MAX_SERVERS is not known: the target should stay below it"


def _curves(seen: ObservedLoad, goals: Sequence[Goal], courses: int) -> Iterable[WaitCurve]:
    """Yield for each goal its wait against the target and against its groups' limits."""
    target, instances = seen.rules.target, seen.plan.instances
    factors = (0.5, 0.75, 0.875, 1, 1.125, 1.25, 1.5, 2)
    targets = sorted({max(1, round(target * factor / instances)) * instances for factor in factors} | {target})
    for goal in goals:
        yield _curve(seen, goal, "PARALLEL_SERVERS_TARGET", ("target", None), target, targets, courses)
        for group in (each for each in seen.groups if each.name == goal.group):
            steps = percents(seen, group, min(sizes(seen, group), default=1))
            values = sorted({*steps[:: max(1, len(steps) // 8)], seen.percent(group), 100})
            what = f"the limit of {group.name}"
            yield _curve(seen, goal, what, ("limits", group), seen.percent(group), values, courses)


def _curve(
    seen: ObservedLoad,
    goal: Goal,
    what: str,
    knob: tuple[str, Group | None],
    now: int,
    values: Sequence[int],
    courses: int,
) -> WaitCurve:
    points = []
    for value in values:
        choice = PRESENT if value == now else frozenset({Change(*knob, value)})
        waits = seen.played(choice, courses).of(goal.group)
        points.append((value, _finite(quantile(waits, goal.part))))
    unit = "servers" if knob[0] == "target" else "%"
    return WaitCurve(f"{goal.percentile} wait of {goal.group}", goal.seconds, what, unit, now, tuple(points))


def _told(
    seen: ObservedLoad, choice: Choice, before: ReplayOutcome, after: ReplayOutcome, goals: Sequence[Goal]
) -> ReplayedChoice:
    changes = tuple(in_words(seen, each) for each in sorted(choice, key=str))
    there = {*after.groups[seen.skipped :]}
    groups = tuple(_group_waits(group, before, after) for group in seen.groups if group in there)
    return ReplayedChoice(changes, _meets(after, goals), after.replayed.peak, groups)


def _group_waits(group: Group, before: ReplayOutcome, after: ReplayOutcome) -> GroupWaits:
    own = [n for n in range(after.skipped, len(after.groups)) if after.groups[n] == group]
    first, then = ([outcome.waits[n] for n in own] for outcome in (before, after))
    return GroupWaits(
        con_id=group.con_id,
        group=group.name,
        statements=len(own),
        median_before=_finite(quantile(first, 0.5)),
        median_after=_finite(quantile(then, 0.5)),
        p95_before=_finite(quantile(first, 0.95)),
        p95_after=_finite(quantile(then, 0.95)),
        unstarted_before=sum(n in before.unstarted for n in own),
        unstarted_after=sum(n in after.unstarted for n in own),
        runs_longer=sum(after.slower[n] for n in own) / len(own),
    )


def in_words(seen: ObservedLoad, change: Change) -> str:
    """Return a change as people say it: ``limit of BATCH 50 % -> 75 %``."""
    kind, group, value = change
    name = group.name if group is not None else ""
    if kind == "target":
        return f"PARALLEL_SERVERS_TARGET {seen.rules.target} -> {value}"
    if kind == "limits" and group is not None:
        return f"limit of {name} {seen.percent(group)} % -> {value} %"
    if kind == "levels" and group is not None:
        return f"level of {name} {seen.level(group)} -> {value}"
    if kind == "shares" and group is not None:
        return f"share of {name} {seen.percentage(group)} -> {value}"
    return f"degree limit of {name} -> {value}" if kind == "degree" else f"queue timeout of {name} -> {value} s"


# ---- The text.

_WIDE = 100
_BAR = 36


def as_text(advice: Advice, *, wide: int = _WIDE) -> str:
    """Return all of it as lines. Ends in a newline."""
    lines = [*wrap(_first(advice), wide), *_goals(advice), ""]
    for curve in advice.curves:
        lines += [*_drawn(curve), ""]
    lines += _choices(advice)
    for line in _closing(advice):
        lines += wrap(line, wide)
    if advice.scripts is not None:
        lines += ["", "The first choice as a script, which presman never runs:", "", advice.scripts.change]
        lines += ["The script that undoes it:", "", advice.scripts.undo.rstrip()]
    for name, texts in (("notes", advice.notes), ("assumptions", advice.assumptions)):
        if texts:
            lines += ["", f"{name}:"]
            lines += [each for text in texts for each in wrap(f"  - {text}", wide, subsequent_indent="    ")]
    return "\n".join(lines) + "\n"


def _first(advice: Advice) -> str:
    return (
        f"{count(advice.statements)} parallel statements in {spelled(advice.seconds)}; replayed under the plan of that "
        f"time, a wait is off by {advice.replay_error:.1f} s on average; seed {advice.seed}"
    )


def _goals(advice: Advice) -> Iterable[str]:
    for each in advice.goals:
        now = f"{each.percentile} was {_time(each.observed)}, replayed {_time(each.now)}"
        yield f"goal: {each.goal}; {now}, of {count(each.statements)} statements"


def _time(seconds: float | None) -> str:
    return "timed out" if seconds is None else duration(seconds)


def _drawn(curve: WaitCurve) -> Iterable[str]:
    """Yield a curve as bars; a mark stands where the goal is."""
    yield f"{curve.goal} against {curve.what} (┊ goal, {duration(curve.seconds)})"
    bars = [None if wait is None else Bar(0, wait, limit=curve.seconds) for _, wait in curve.points]
    scale = shared_scale(bars)
    for (value, wait), bar in zip(curve.points, bars, strict=True):
        cells = "".join(text for text, _ in bar_runs(bar, _BAR, scale)) if bar is not None else "".ljust(_BAR)
        mark = "now" if value == curve.now else ""
        yield f"{value:>7} {curve.unit:<7} {mark:<3} {cells} {_time(wait):>9}".rstrip()


def _choices(advice: Advice) -> Iterable[str]:
    if not advice.choices:
        return
    yield "choices, none of which another beats in everything; waits before -> after"
    yield f"{'':3} {'group':<24} {'statements':>10} {'median':>18} {'p95':>18} {'not started':>11}"
    for number, choice in enumerate(advice.choices, 1):
        told = "; ".join(choice.changes) or "as it is"
        meets, peak = "meets" if choice.meets else "misses", counted(choice.peak, "server")
        yield f"{number:>2}. {told} ({meets} the goals; peak {peak})"
        yield from (_row(each) for each in choice.groups)
    yield "(not started: timed out, or still queued at the end, where waits are cut)"
    yield ""


def _row(each: GroupWaits) -> str:
    name, statements, middle, most, unstarted, longer = _cells(each)
    return f"{'':3} {name:<24} {statements:>10} {middle:>18} {most:>18} {unstarted:>11}  {longer}".rstrip()


def _cells(each: GroupWaits) -> tuple[str, ...]:
    middle, most = (
        f"{_time(before)} -> {_time(after)}"
        for before, after in ((each.median_before, each.median_after), (each.p95_before, each.p95_after))
    )
    return (
        f"{each.group}#{each.con_id}" if each.con_id else each.group,
        count(each.statements),
        middle,
        most,
        f"{each.unstarted_before} -> {each.unstarted_after}" if each.unstarted_before + each.unstarted_after else "",
        f"run {duration(each.runs_longer)} longer" if each.runs_longer >= 1 else "",
    )


def _closing(advice: Advice) -> Iterable[str]:
    """Yield what comes of it, and how sure that is."""
    if advice.message:
        yield advice.message[0].upper() + advice.message[1:] + "."
    if advice.servers_needed is not None:
        yield (
            f"It would take a target of {counted(advice.servers_needed, 'server')}, if the CPUs are enough for them, "
            "and no limit on the groups of the goals."
        )
    elif advice.verdict == "unmet" and not advice.interrupted:
        yield "No target alone would do."
    if any(advice.replay_error > each.limit for each in advice.goals) and advice.choices:
        yield "A replayed wait is off by more than a goal allows: take the waits under other directives as rough."
    if advice.choices and (losers := [_lost(each) for each in advice.choices[0].groups if _loses(each)]):
        yield f"The first choice costs others: {'; '.join(losers)}. Who must not lose is named with --keep."
    if advice.cpu:
        moved = [each for each in advice.cpu if abs(each.after - each.before) > max(1, 0.01 * each.wanted)]
        lacks = (f"{each.group} {duration(each.before)} -> {duration(each.after)}" for each in moved)
        yield f"CPU that groups lack under the first choice: {'; '.join(lacks) or 'as it is'}."
    if advice.interrupted:
        yield f"Interrupted after {counted(advice.replayed, 'choice')}: these are the best of them."
    for each in advice.goals:
        if advice.choices and advice.choices[0].changes:
            yield _sureness(each)


def _loses(each: GroupWaits) -> bool:
    pairs = ((each.median_before, each.median_after), (each.p95_before, each.p95_after))
    later = any(before is not None and (after is None or after > 1.05 * before + 1) for before, after in pairs)
    return later or each.unstarted_after > each.unstarted_before or each.runs_longer >= 1


def _lost(each: GroupWaits) -> str:
    _, _, middle, most, unstarted, longer = _cells(each)
    more = [f"{unstarted} do not start"] * (each.unstarted_after > each.unstarted_before) + [longer] * bool(longer)
    return ", ".join([f"{each.group} median {middle}, p95 {most}", *more])


def _sureness(each: GoalFinding) -> str:
    if each.within is None:
        return f"{each.goal}: nothing was held back to judge the first choice by."
    own = f"of the {count(each.held_back)} statements held back from the search {100 * each.within:.0f} % start in time"
    if each.low is None or each.high is None:
        return f"{each.goal}: under the first choice {own}; how sure that is was not worked out."
    promise = f"{each.percentile} {_time(each.advised)} ({_time(each.advised_low)} to {_time(each.advised_high)} "
    promise += f"on 9 days of 10 like this one, when {100 * each.low:.0f} to {100 * each.high:.0f} % start in time)"
    return f"{each.goal}: the first choice promises {promise}; {own}."


# ---- The page.

_LINE, _TOP, _LEFT, _ROOM = 20.0, 6.0, 150.0, 100.0


def as_page(advice: Advice, made: datetime) -> str:
    """Return all of it as one HTML page without a script."""
    story = [_first(advice), *_goals(advice), *_closing(advice)]
    parts = [element("header", element("h1", "Advice on goals of service"), *(element("p", line) for line in story))]
    for curve in advice.curves:
        note = f"The mark is the goal, {duration(curve.seconds)}."
        parts.append(section(f"{curve.goal} against {curve.what}", element("figure", _picture(curve)), note=note))
    for number, choice in enumerate(advice.choices, 1):
        parts.append(_choice_section(number, choice))
    if advice.scripts is not None:
        note = "presman never runs it."
        parts.append(section("The first choice as a script", element("pre", advice.scripts.change), note=note))
        parts.append(section("The script that undoes it", element("pre", advice.scripts.undo)))
    for name, texts in (("Notes", advice.notes), ("Assumptions", advice.assumptions)):
        if texts:
            parts.append(section(name, bullets(texts)))
    parts.append(element("p", f"Seed {advice.seed}; {made.astimezone():%Y-%m-%d %H:%M:%S}.", class_="note"))
    return page("Advice on goals of service", *parts)


def _choice_section(number: int, choice: ReplayedChoice) -> Markup:
    heads = ("Group", "Statements", "Median before -> after", "95th percentile", "Not started", "")
    told = "; ".join(choice.changes) or "As it is"
    note = f"{'Meets' if choice.meets else 'Misses'} the goals; at most {counted(choice.peak, 'server')} at once."
    return section(f"{number}. {told}", word_table(heads, map(_cells, choice.groups)), note=note)


def _picture(curve: WaitCurve) -> Markup:
    """Return a curve as bars, one below the other."""
    longest = max([curve.seconds, *(wait for _, wait in curve.points if wait is not None)]) or 1.0
    scale = (WIDTH - _LEFT - _ROOM) / longest
    parts = []
    for index, (value, wait) in enumerate(curve.points):
        y = _TOP + _LINE * index
        mark = " (now)" if value == curve.now else ""
        parts.append(label(_LEFT - 8, y + 13, f"{value} {curve.unit}{mark}", "end"))
        width = (longest if wait is None else wait) * scale
        parts.append(element("rect", x=_LEFT, y=y, width=max(1.0, width), height=_LINE - 4, fill="#0072b2"))
        parts.append(label(_LEFT + width + 6, y + 13, _time(wait), "start"))
    bottom, at = _TOP + _LINE * len(curve.points), _LEFT + curve.seconds * scale
    parts.append(element("path", d=f"M{at:.1f} {_TOP}V{bottom}", stroke=BAD, stroke_width=2))
    return drawing(bottom + 8, f"{curve.goal} against {curve.what}", parts)
