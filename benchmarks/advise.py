"""Quality of the search of `presman advise`: `python -m benchmarks.advise [--seeds N] [--first SEED]`.

A plan gets a fault: a limit too low, a target too small, levels swapped, a degree too high; on an Autonomous Database
a concurrency limit too low. Trying every choice finds the best one; the search should come within 5 % of its score with
a tenth of the replays. The range that it promises is then compared with ten other observations of the same kind,
replayed with the choice of the search. At the end it measures the search on a day of statements.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import product
from random import Random
from typing import NamedTuple

from presman.analysis.facts.plan_book import PlanBook
from presman.analysis.goals import Goal
from presman.analysis.trends.statement_runs import Arrival, ArrivalOutcome
from presman.forecast.queue_now import plan_branch
from presman.forecast.scheduler import Group
from presman.reports.advice import AdviceWanted
from presman.reports.advise_load import ArrivalDay, Change, Choice, ObservedLoad, ObservedPlan, other_days
from presman.reports.advise_report import advise
from presman.reports.advise_search import Search, bounds, quantile
from presman.reports.whatif_replay import changed, observed_rules, replay
from presman.rows.group_rows import PlanDirective

BEGIN = datetime(2026, 11, 22, tzinfo=UTC)
GROUPS = ("BATCH", "ETL", "REPORTS")
TARGET = 64
FAMILIES = {
    "limit too low": ("target", "limits"),
    "target too small": ("target", "limits", "levels"),
    "levels swapped": ("limits", "levels"),
    "degree too high": ("limits", "degree"),
    "concurrency limit too low": ("concurrency", "shares"),
}
"""Each fault, and what may be changed to correct it."""


SERVICES = {"REPORTS": ("MEDIUM", 2), "ETL": ("HIGH", 4), "BATCH": ("TPURGENT", 12)}
"""The services of an Autonomous Database in place of the groups, with their shares."""


class Planted(NamedTuple):
    """Statements under a plan with a fault, and the goal that it misses."""

    arrivals: Sequence[Arrival]
    plan: ObservedPlan
    goal: Goal


def directive(group: str, level: int, percent: int, limit: int | None = None, plan: str = "DAY_PLAN") -> PlanDirective:
    """Return a directive with only a level and a limit."""
    given = dict.fromkeys(PlanDirective._fields) | dict.fromkeys((f"mgmt_p{n}" for n in range(1, 9)), 0)
    given |= {"con_id": 0, "plan": plan, "group_or_subplan": group, "type": "CONSUMER_GROUP", f"mgmt_p{level}": percent}
    return PlanDirective(**given | {"status": "", "comments": "", "parallel_server_limit": limit})  # type: ignore[arg-type]


def plan_of(*directives: PlanDirective, **more: object) -> ObservedPlan:
    """Return a plan as a recording has it."""
    shares = PlanBook.read((), directives).shares(directives[0].plan)
    rows = {Group(0, each.group_or_subplan): each for each in directives}
    return ObservedPlan(rows, plan_branch(shares.root), **more)  # type: ignore[arg-type]


def planted(family: str, seed: int, statements: int = 60, draw: int = 0) -> Planted:
    """Return one fault; another `draw` has other statements of the same kind."""
    random = Random(f"{family}/{seed}")
    level = {"REPORTS": 3, "ETL": 1, "BATCH": 1} if family == "levels swapped" else dict.fromkeys(GROUPS, 1)
    limit = {"REPORTS": 13} if family == "limit too low" else {}
    target = 32 if family == "target too small" else TARGET
    sizes = {
        "REPORTS": 16 if family == "concurrency limit too low" else 8,
        "ETL": random.choice([8, 16]),
        "BATCH": 48 if family == "degree too high" else 16,
    }
    runs = {"REPORTS": random.uniform(20, 40), "ETL": random.uniform(30, 90), "BATCH": random.uniform(60, 180)}
    work = sum(sizes[group] * runs[group] for group in GROUPS) / len(GROUPS)
    load = random.uniform(0.9, 1.0) if family == "levels swapped" else random.uniform(0.55, 0.75)
    every = work / (TARGET * load)
    plan = plan_of(*(directive(group, level[group], 30, limit.get(group)) for group in GROUPS))
    fresh = Random(f"{family}/{seed}/{draw}")
    came = sorted(fresh.uniform(0, every * statements) for _ in range(statements))
    arrivals = [_arrival(at, fresh.choice(GROUPS), sizes, runs, fresh, target, limit) for at in came]
    last = arrivals[-1].at + timedelta(seconds=600)
    arrivals = [each._replace(last=last) for each in arrivals]
    if family == "concurrency limit too low":
        arrivals = [each._replace(group=SERVICES[each.group][0]) for each in arrivals]
        rows = [directive(name, 1, shares, plan="DWCS_PLAN") for name, shares in SERVICES.values()]
        plan = plan_of(*(row._replace(parallel_degree_limit_p1=sizes["REPORTS"] // 2) for row in rows), autonomous=True)
    found = replay(arrivals, changed(observed_rules(arrivals), plan=plan.tree), seed, 1, frozenset())
    return Planted(
        [each._replace(waited=one.waited) for each, one in zip(arrivals, found.statements, strict=True)],
        plan,
        Goal("MEDIUM" if plan.autonomous else "REPORTS", 0.9, 5.0),
    )


def _arrival(
    at: float,
    group: str,
    sizes: dict[str, int],
    runs: dict[str, float],
    random: Random,
    target: int,
    limit: dict[str, int],
) -> Arrival:
    when = BEGIN + timedelta(seconds=at)
    own = target * limit[group] // 100 if group in limit else None
    ran = runs[group] * random.uniform(0.5, 1.5)
    return Arrival(
        when, 0, group, sizes[group], 0.0, ran, ArrivalOutcome.ENDED, target, own, 0.3, None, "", BEGIN, when
    )


def every_choice(search: Search) -> Iterator[Choice]:
    """Yield all possible choices."""
    values = [[None, *(Change(*knob, value) for value in some)] for knob, some in search.grid.items()]
    for each in product(*values):
        yield frozenset(change for change in each if change is not None)


class Found(NamedTuple):
    """One search: its score divided by the best score, its replays, all choices, and how many of ten promises held."""

    against_best: float
    replays: int
    choices: int
    kept: int


OTHERS = 10
"""Other observations of the same kind, against which a promise is checked."""


def tried(family: str, seed: int, statements: int = 60) -> Found:
    """Search, try every choice, and check whether the promise holds for other draws of statements."""
    arrivals, plan, goal = planted(family, seed, statements)
    seen = ObservedLoad.of(arrivals, plan, [goal], seed)
    search, whole = (Search(seen, [goal], [], FAMILIES[family]) for _ in range(2))
    search.courses = whole.courses = 1
    search.run(lambda *_: None)
    everything = list(every_choice(whole))
    best = min(whole.score(choice).total for choice in everything)
    kept = promises_kept(family, seed, seen, search)
    return Found(search.scored[search.best].total / best, len(search.scored), len(everything), kept)


def promises_kept(family: str, seed: int, seen: ObservedLoad, search: Search) -> int:
    """Return for how many of ten other observations the promised range of the advised choice holds."""
    goal, chosen = search.goals[0], search.settle(search.finalists(), 19)[0]

    def waited(load: ObservedLoad, *over: ArrivalDay) -> float:
        return quantile(load.played(chosen, 1, *over).of(goal.group), goal.part)

    low, high = bounds([waited(seen, day) for day in other_days(seen, 99, held_back=True)])
    others = (planted(family, seed, len(seen.arrivals), draw).arrivals for draw in range(1, OTHERS + 1))
    fresh = [waited(ObservedLoad.of(other, seen.plan, [goal], seed)) for other in others]
    return sum(low - 1 <= wait <= high + 1 for wait in fresh)


def day(statements: int = 5000, seed: int = 1) -> Planted:
    """Return a day of a busy database with four groups on one queue."""
    random, groups = Random(seed), ("ADHOC", "BATCH", "ETL", "REPORTS")
    run = 0.8 * 128 * 86_400 / (statements * 12)
    arrivals = []
    for at in sorted(random.uniform(0, 86_400) for _ in range(statements)):
        when, group = BEGIN + timedelta(seconds=at), random.choices(groups, [3, 2, 2, 4])[0]
        limit = 64 if group == "BATCH" else None
        ran, servers = random.expovariate(1 / run), random.choice([4, 8, 16, 16, 16])
        last = BEGIN + timedelta(days=1)
        arrivals.append(
            Arrival(
                when, 0, group, servers, 0.0, ran, ArrivalOutcome.ENDED, 128, limit, 0.25, None, "", BEGIN, last
            )
        )  # fmt: skip
    found = replay(arrivals, observed_rules(arrivals), seed, 1, frozenset())
    arrivals = [each._replace(waited=one.waited) for each, one in zip(arrivals, found.statements, strict=True)]
    return Planted(arrivals, ObservedPlan(), Goal("BATCH", 0.95, 60.0))


def table(seeds: range) -> Iterator[str]:
    """Yield the lines of the table of docs/proof.md."""
    yield "| fault | seeds | within 5 % of the best | replays, of how many choices | promised range held |"
    yield "|---|---|---|---|---|"
    for family in FAMILIES:
        found = [tried(family, seed) for seed in seeds]
        near, kept, many = (
            sum(each.against_best <= 1.05 for each in found),
            sum(each.kept for each in found),
            len(found),
        )
        replays, choices = sum(each.replays for each in found), sum(each.choices for each in found)
        part = f"{replays // many} of {choices // many:,} ({100 * replays / choices:.1f} %)"
        yield f"| {family} | {many} | {near} | {part} | {kept} of {OTHERS * many} |"


def main() -> None:
    """Print the table, and the cost of advice on a day."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1, help="the first of the seeds")
    options = parser.parse_args()
    for text in table(range(options.first, options.first + options.seeds)):
        print(text, flush=True)
    arrivals, plan, goal = day()
    start = time.process_time()
    found = advise(arrivals, plan, AdviceWanted([goal], (), ("target", "limits", "levels", "shares"))).advice
    seconds = time.process_time() - start
    print(
        f"\nadvice on a day of {len(arrivals):,} statements: {seconds:.1f} s of CPU, {found.replayed} choices replayed"
    )


if __name__ == "__main__":
    main()
