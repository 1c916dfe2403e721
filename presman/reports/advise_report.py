"""Making of advice: the curves, the choices, their certainty, the scripts. `advise_text.py` puts it into words."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import ceil, inf
from statistics import fmean

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.goals import Goal
from presman.analysis.trends.statement_runs import Arrival
from presman.base.formats import counted, duration
from presman.forecast.scheduler import Group
from presman.reports import advise_load, advise_search
from presman.reports import advise_services as services
from presman.reports.advice import (
    ASSUMPTIONS,
    SERVICE_ASSUMPTIONS,
    Advice,
    AdviceFound,
    AdviceWanted,
    CpuLack,
    GoalFinding,
    GroupWaits,
    ReplayedChoice,
    WaitCurve,
)
from presman.reports.advise_load import PRESENT, Change, Choice, Knob, ObservedLoad, ObservedPlan, ReplayOutcome
from presman.reports.advise_script import Scripts, written
from presman.reports.advise_search import Scored, Search, fitting, meets, quantile
from presman.reports.whatif_cpu import CpuDemand, changes_of_cpu, replay_cpu
from presman.reports.whatif_replay import COURSES, error, is_longer, observed
from presman.reports.whatif_text import peak_beyond_maximum, titled

_Asked = Sequence[tuple[Goal, GoalFinding]]


def advise(
    arrivals: Sequence[Arrival],
    plan: ObservedPlan,
    wanted: AdviceWanted,
    on_choice: Callable[[int, Scored], None] = lambda *_: None,
    cpu: Sequence[CpuDemand] = (),
) -> AdviceFound:
    """Return advice on statements by time, with each goal's group among them. KeyboardInterrupt stops the search.

    `cpu` are the CPU demands of the same period, if they were observed.
    """
    goals, keep, kinds, seed, quick, scripted = wanted
    kinds = kinds or advise_search.kinds_of(autonomous=plan.autonomous)[:4]
    load, courses = ObservedLoad.of(arrivals, plan, goals, seed), 3 if quick else _replays(arrivals, COURSES, 3)
    before = load.played(PRESENT, courses)
    error_now = error(observed(arrivals)[load.skipped :], before.replayed.statements[load.skipped :])
    found = tuple(_finding(goal, before, load) for goal in goals)
    asked: _Asked = tuple(zip(goals, found, strict=True))
    verdict, message = _early_verdict(found, plan)
    search = Search(load, goals, keep, kinds, quick)
    results = _searched(search, before, courses, verdict, on_choice)
    finals, best = results.finals, results.best
    if not verdict:
        verdict, message = _judged([_meets_all(after, asked, error_now) for _, after in finals], kinds, error_now)
    if best:
        found = tuple(_with_promise(*each, finals[0][1], results.days, load) for each in zip(found, goals, strict=True))

    def replayed(choice: Choice, after: ReplayOutcome) -> ReplayedChoice:
        return _replayed_choice(load, choice, before, after, _meets_all(after, asked, error_now))

    scripts, notes = _script_and_notes(load, results, kinds, scripted)
    advice = Advice(
        verdict=verdict,
        message=message,
        statements=len(arrivals) - load.skipped,
        seconds=(max(each.last for each in arrivals) - min(each.first for each in arrivals)).total_seconds(),
        seed=seed,
        replay_error=error_now,
        replayed=len(search.scored),
        interrupted=results.interrupted,
        goals=found,
        curves=tuple(results.curves),
        now=replayed(PRESENT, before),
        choices=tuple(replayed(*each) for each in finals),
        servers_needed=results.servers_needed,
        scripts=scripts,
        notes=notes,
        cpu=_cpu(best, cpu),
        assumptions=SERVICE_ASSUMPTIONS if plan.autonomous else ASSUMPTIONS,
        servers_maximum=plan.maximum,
        before=load.skipped,
        autonomous_target=load.rules.target if plan.autonomous else None,
        scripted=scripted,
    )
    return AdviceFound(advice, tuple(choice for choice, _ in finals))


class _Results(Struct):
    """Results of a search: the best choices with their replays, the first one's on other days, curves of waits."""

    finals: list[tuple[Choice, ReplayOutcome]] = []
    days: list[ReplayOutcome] = []
    curves: list[WaitCurve] = []
    servers_needed: int | None = None
    interrupted: bool = False

    @property
    def best(self) -> Choice:
        """The first choice; if there is none, the present plan."""
        return self.finals[0][0] if self.finals else PRESENT


def _searched(
    search: Search, before: ReplayOutcome, courses: int, verdict: str, on_choice: Callable[[int, Scored], None]
) -> _Results:
    """Run a search, unless there is a verdict without it. If it is interrupted, return what was found so far."""
    load, goals, quick, found = search.load, search.goals, search.is_quick, _Results()
    try:
        if not verdict:
            search.run(on_choice)
            found.finals = _finals(search, before, courses, 5 if quick else _replays(load.arrivals, 19, 5))
            if not (found.finals and meets(found.finals[0][1], goals)):
                found.servers_needed = advise_search.servers_needed(load, goals, courses)
        if found.best:
            many = advise_load.other_days(load, 19 if quick else _replays(load.arrivals, 99, 39), held_back=True)
            found.days = [load.played(found.best, 1, day) for day in many]
        found.curves += _curves(load, () if quick or verdict == "too_short" else goals, courses)
    except KeyboardInterrupt:
        found.interrupted = True
    if not verdict and not found.finals:
        found.finals = _finals(search, before, 1, 1)  # the best so far, judged quickly
    return found


def _meets_all(outcome: ReplayOutcome, asked: _Asked, error_now: float | None) -> bool | None:
    """Return whether a replay meets all goals, None if its error is too large to decide.

    A replay whose error is above a goal's limit can still show that the goal is missed: by more than the error, and by
    more than the replay of the present plan makes this wait longer than observed. A replay shows that a goal is met
    only if its error is within the limit, and if the wait is short enough even with the part that the replay of the
    present plan lacks.
    """
    if error_now is None:
        return None
    met = set[bool | None]()
    for goal, found in asked:
        wait = quantile(outcome.of(goal.group), goal.part)
        was, now = (inf if each is None else each for each in (found.observed, found.now))
        longer = 0.0 if now == was else now - was
        if wait > goal.seconds:
            can_tell = error_now <= goal.seconds or wait > goal.seconds + max(error_now, longer)
        else:
            can_tell = error_now <= goal.seconds and wait + max(0.0, -longer) <= goal.seconds
        met.add(wait <= goal.seconds if can_tell else None)
    return False if False in met else None if None in met else True


def _judged(met: Sequence[bool | None], kinds: Sequence[str], error_now: float | None) -> tuple[str, str]:
    """Return the verdict on the best choice, and its message; `met` says for each choice whether it meets all goals."""
    off = "" if error_now is None else f", on average by {duration(error_now)}"
    unsure = f"is not known: the replay misses what was observed{off}"
    if None in met[:1]:
        return "unsure", f"whether the first choice meets the goals {unsure}"
    if met[:1] == [True]:
        return "advised", ""
    missed = "the first choice misses a goal"
    if True in met:
        return "unmet", f"{missed}; one below it would have met them all, at a higher cost or by chance"
    if None in met:
        return "unmet", f"{missed}; whether one below it meets them all {unsure}"
    return "unmet", f"nothing that was tried meets every goal; tried were changes to {', '.join(kinds)}"


def _script_and_notes(
    load: ObservedLoad, results: _Results, kinds: Sequence[str], scripted: int
) -> tuple[Scripts | None, tuple[str, ...]]:
    """Return the scripts of the choice of that number, None if there are none, and notes about the advice."""
    choices = [choice for choice, _ in results.finals] or [PRESENT]
    peaks = [after.replayed.peak for _, after in results.finals]
    script, notes = None, [f"there is no choice {scripted}, and so no script of it"]
    if scripted <= len(choices):
        script, notes = written(load, choices[scripted - 1])
    too_many = filter(None, [peak_beyond_maximum(peaks, load.plan.maximum)])
    more = (*_on_no_more_cpu(load, results.best), *too_many, *_notes(load, kinds))
    return script, (*notes, *more, "with --keep you name a group that must not wait longer")


def _replays(arrivals: Sequence[Arrival], usual: int, fewer: int) -> int:
    """Return the number of replays: fewer if a replay takes long."""
    return usual if len(arrivals) <= 1000 else fewer


def least(part: float) -> int:
    """Return how many statements of a group a percentile needs: from 20 to 200, so that about two lie beyond it."""
    # 2 / (1 - 0.9) is a little above 20 in floating point: it must not become 21.
    return max(20, min(200, ceil(2 / max(1e-9, 1 - part) - 1e-6)))


def _wait_of(goal: Goal, outcome: ReplayOutcome) -> tuple[float, float]:
    """Return the wait at a goal's percentile, and how long it may be as statements still waited at the end."""
    return quantile(outcome.of(goal.group), goal.part), quantile(outcome.at_worst.of(goal.group), goal.part)


def _finding(goal: Goal, before: ReplayOutcome, load: ObservedLoad) -> GoalFinding:
    asked = [each for each in observed(load.arrivals)[load.skipped :] if each.group.name == goal.group]
    waits = [inf if each.timed_out else each.waited for each in asked]
    never = [inf if each.is_cut else wait for each, wait in zip(asked, waits, strict=True)]
    was, (now, most) = quantile(waits, goal.part), _wait_of(goal, before)
    longer = (is_longer(was, quantile(never, goal.part)), is_longer(now, most))
    needed, there, replayed = least(goal.part), _finite(was), _finite(now)
    return GoalFinding(str(goal), goal.seconds, goal.percentile, len(waits), needed, there, replayed, longer=longer)


def _early_verdict(found: Sequence[GoalFinding], plan: ObservedPlan) -> tuple[str, str]:
    """Return the verdict and message that need no search, "" if there is none."""
    if plan.autonomous and not plan.services:
        return "autonomous", (
            "this is an Autonomous Database, where CS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE changes DWCS_PLAN and "
            "OLTP_PLAN: no directive of these was seen, and on a plan of your own there is no advice"
        )
    for each in found:
        if each.statements < each.needed:
            few = f"{counted(each.statements, 'statement')}, and {each.percentile} needs {each.needed} or more"
            return "too_short", f"the observation is too short to advise on {each.goal!r}: {few}"
        if each.longer[0] and each.observed is not None and each.observed <= each.limit:
            why = f"{duration(each.observed)} or longer, because statements still waited at the end"
            return "too_short", f"whether {each.goal!r} is met is not known: {each.percentile} is {why}"
    if all(wait is not None and wait <= each.limit for each in found for wait in (each.observed, each.now)):
        return "met", "every goal is met already: nothing is to be changed"
    return "", ""


def _finals(search: Search, before: ReplayOutcome, courses: int, days: int) -> list[tuple[Choice, ReplayOutcome]]:
    """Return the best choices with replays of all statements, best first, without those that another one beats.

    They are ranked by the statements of the search and by days drawn from these, not by those held back.
    """
    judge = search.judge(before, len(search.load.early.arrivals))
    played = {choice: search.load.played(choice, courses) for choice in search.finalists()}
    kept: list[Choice] = []
    for each in search.settle([each for each in played if judge(each, played[each]).keeps], days):
        if not any(_as_good(_figures(one, played[one], search), _figures(each, played[each], search)) for one in kept):
            kept.append(each)
    return [(choice, played[choice]) for choice in kept if choice or choice in kept[:1]]


def _figures(choice: Choice, outcome: ReplayOutcome, search: Search) -> list[float]:
    """Return the figures to minimise: the waits of goals and groups, longer runs, the target, the number of changes."""
    waits = [quantile(outcome.of(goal.group), goal.part) for goal in search.goals]
    others = [quantile(outcome.of(group.name), 0.95) for group in search.load.groups]
    target = next((each.value for each in choice if each.kind == "target"), search.load.rules.target)
    return [*waits, *others, fmean(outcome.slower), target, len(choice)]


def _as_good(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether no wait is longer by more than a second and a twentieth, with no more servers and changes."""
    waits = all(a <= 1.05 * b + 1 for a, b in zip(one[:-2], other[:-2], strict=True))
    return waits and all(a <= b for a, b in zip(one[-2:], other[-2:], strict=True))


def _with_promise(
    found: GoalFinding, goal: Goal, after: ReplayOutcome, days: Sequence[ReplayOutcome], load: ObservedLoad
) -> GoalFinding:
    """Return the finding with the waits of held-back statements under the advice, and its range on other days."""

    def within(some: Sequence[float]) -> float:
        return sum(wait <= goal.seconds for wait in some) / len(some)

    if later := after.of(goal.group, range(len(load.early.arrivals), len(load.arrivals))):
        found = replace(found, held_back=len(later), within=within(later))
    waits = [of_goal for day in days if (of_goal := day.of(goal.group))]
    if not waits or len(waits) < len(days):
        return found
    far = [quantile(of_goal, goal.part) for of_goal in waits]
    median, low, high = (_finite(each) for each in (quantile(far, 0.5), *advise_search.bounds(far)))
    least_within, most_within = advise_search.bounds([within(of_goal) for of_goal in waits])
    return replace(found, advised=median, advised_low=low, advised_high=high, low=least_within, high=most_within)


def _cpu(choice: Choice, demands: Sequence[CpuDemand]) -> tuple[CpuLack, ...]:
    """Return how levels and shares of a choice change CPU, for groups that wanted a second or more of it."""
    changes = changes_of_cpu(choice)
    found = replay_cpu(demands, changes) if changes else {}
    wanting = ((key, each) for key, each in sorted(found.items()) if each.wanted >= 1)
    return tuple(CpuLack(*key, each.wanted, each.replayed, each.changed) for key, each in wanting)


def _finite(seconds: float) -> float | None:
    return None if seconds == inf else seconds


def _on_no_more_cpu(load: ObservedLoad, best: Choice) -> Iterable[str]:
    """Yield a note for each group that gets more servers under a choice but no more CPU."""
    rules = advise_load.rules_of(load, best)
    for group in load.groups:
        row = load.plan.directives.get(group)
        percent = 100 if row is None or row.utilization_limit is None else row.utilization_limit
        now, then = (each.limits.get(group, each.target) for each in (load.rules, rules))
        if then > now and 0 <= percent < 100:
            yield (
                f"the first choice gives {group.name} more servers, and its UTILIZATION_LIMIT leaves it {percent} % of "
                "the CPUs as before: if it needs more, its statements run longer, which no replay shows"
            )


def _service_notes(load: ObservedLoad, kinds: Sequence[str]) -> Iterable[str]:
    """Yield notes on an Autonomous Database."""
    medium = next((limit for group in load.groups if (limit := load.concurrency(group))), None)
    if "concurrency" in kinds and medium is None:
        yield "the concurrency limit of MEDIUM is not tried: no statement of it was seen, or not its degree"
    if medium is not None and medium <= services.SAME_DEGREE:
        yield (
            "the concurrency limit of MEDIUM is 1, 2 or 3, no view shows which, and presman assumes 3: to undo a "
            "change, set the limit that the first query of the script showed"
        )
    if "concurrency" in kinds:
        yield (
            "no concurrency limit below the present one is tried: by how much the higher degree would shorten a run is "
            "not known"
        )
    yield (
        "presman assumes that a concurrency limit sets the degree to the target divided by twice the limit, from 2 to "
        "a sixth of the target, as was measured on 19c; the manual has no rule, so check it with the query at the end "
        "of the script"
    )
    yield "no other service's concurrency limit can be changed, and the target follows the ECPUs (or OCPUs)"


def _notes(load: ObservedLoad, kinds: Sequence[str]) -> Iterable[str]:
    if load.plan.autonomous:
        yield from _service_notes(load, kinds)
        return
    if not load.plan.directives:
        yield (
            "a file of arrivals names neither the plan nor its levels: presman assumes that all groups are on one "
            "level; levels and shares are not tried; a recording has them"
        )
    elif not load.plan.is_ordered and {"levels", "shares"} & set(kinds):
        yield (
            "levels and shares are not tried: groups are in subplans or several containers, divide by shares, or one "
            "queue serves all of them"
        )
    if load.plan.instances > 1:
        yield f"the target is that of {load.plan.instances} instances together; each gets the same part of it"
    elif not load.plan.directives:
        yield "the target is that of all instances together: on RAC divide it by their number"
    if load.plan.maximum is None:
        yield "PARALLEL_MAX_SERVERS is not known: the target should stay below it"


def _curves(load: ObservedLoad, goals: Sequence[Goal], courses: int) -> Iterable[WaitCurve]:
    """Yield for each goal its wait as a function of the target and of its groups' limits."""
    target, instances = load.rules.target, load.plan.instances
    factors = (0.5, 0.75, 0.875, 1, 1.125, 1.25, 1.5, 2)
    parts = (max(1, round(target * factor / instances)) for factor in factors)
    # A target above PARALLEL_MAX_SERVERS allows no more statements than that.
    if load.plan.maximum and not load.plan.autonomous:
        parts = (min(part, load.plan.maximum // instances) for part in parts)
    targets = sorted({part * instances for part in parts} | {target})
    for goal in goals:
        knobs: list[_Axis] = []
        if advise_search.is_target_free(load):
            knobs.append(("PARALLEL_SERVERS_TARGET", ("target", None), target, targets))
        knobs += [axis for each in load.groups if each.name == goal.group for axis in _limit_axes(load, each)]
        for what, knob, now, values in knobs:
            choices = (PRESENT if value == now else frozenset({Change(*knob, value)}) for value in values)
            waits = [_wait_of(goal, load.played(choice, courses)) for choice in choices]
            points = tuple(zip(values, (_finite(wait) for wait, _ in waits), strict=True))
            longer = tuple(is_longer(*pair) for pair in waits)
            unit = _UNITS[knob[0]]
            yield WaitCurve(f"{goal.percentile} wait of {goal.group}", goal.seconds, what, unit, now, points, longer)


_Axis = tuple[str, Knob, int, list[int]]
_UNITS = {"target": "servers", "limits": "%", "concurrency": "at once"}


def _limit_axes(load: ObservedLoad, group: Group) -> Iterable[_Axis]:
    """Yield a curve's axis for the limit of a group that can be changed: name, directive, present value, values."""
    if not load.plan.autonomous:
        steps = advise_search.percents(load, group, min(advise_search.sizes(load, group), default=1))
        values = sorted({*fitting(load, group, steps[:: max(1, len(steps) // 8)]), load.percent(group), 100})
        yield f"the limit of {group.name}", ("limits", group), load.percent(group), values
    elif (limit := load.concurrency(group)) is not None:
        knob = "concurrency", group
        values = sorted({limit, *advise_search.grid(load, ["concurrency"], ()).get(knob, ())})
        yield f"the concurrency limit of {group.name}", knob, limit, values


def _replayed_choice(
    load: ObservedLoad, choice: Choice, before: ReplayOutcome, after: ReplayOutcome, met: bool | None
) -> ReplayedChoice:
    changes = tuple(in_words(load, each) for each in sorted(choice, key=str))
    replayed, titles = {*after.groups[load.skipped :]}, load.plan.titles
    groups = tuple(_group_waits(group, before, after, titles) for group in load.groups if group in replayed)
    return ReplayedChoice(changes, met, after.replayed.peak, groups)


def _group_waits(group: Group, before: ReplayOutcome, after: ReplayOutcome, titles: Mapping[Group, str]) -> GroupWaits:
    members = [n for n in range(after.skipped, len(after.groups)) if after.groups[n] == group]
    pairs = [
        tuple(quantile([waits[n] for n in members], part) for waits in (outcome.waits, outcome.at_worst.waits))
        for part in (0.5, 0.95)
        for outcome in (before, after)
    ]
    median_before, median_after, p95_before, p95_after = (_finite(wait) for wait, _ in pairs)
    return GroupWaits(
        con_id=group.con_id,
        group=group.name,
        statements=len(members),
        median_before=median_before,
        median_after=median_after,
        p95_before=p95_before,
        p95_after=p95_after,
        unstarted_before=sum(n in before.unstarted for n in members),
        unstarted_after=sum(n in after.unstarted for n in members),
        runs_longer=sum(after.slower[n] for n in members) / len(members),
        longer=tuple(is_longer(*pair) for pair in pairs),
        title=titled(group, titles),
    )


def in_words(load: ObservedLoad, change: Change) -> str:
    """Return a change in words: ``limit of BATCH 50 % -> 75 %``."""
    kind, group, value = change
    if group is None:
        return f"PARALLEL_SERVERS_TARGET {load.rules.target} -> {value}"
    name = group.name
    match kind:
        case "limits":
            return f"limit of {name} {load.percent(group)} % -> {value} %"
        case "levels":
            return f"level of {name} {load.level(group)} -> {value}"
        case "shares":
            return f"share of {name} {load.percentage(group)} -> {value}"
        case "concurrency":
            degree, now = load.plan.directives[group].parallel_degree_limit_p1, load.concurrency(group)
            many, then = services.at_once(load.rules.target, value), services.degree(load.rules.target, value)
            more = f", which has room for more than {value}" if many > value else ""
            return f"concurrency limit of {name} {now} -> {many} (degree {degree} -> {then}{more})"
    return f"degree limit of {name} -> {value}" if kind == "degree" else f"queue timeout of {name} -> {value} s"
