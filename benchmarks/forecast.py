"""How good the forecasts of the parallel queue are: `python -m benchmarks.forecast [SCENARIO …]`.

The simulator is the world, and presman knows of it what its views show, five seconds apart. Each statement counts
once, by the first forecast that was shown of it: whether it started between low and high, and how far off the median
was. Beside it stand the errors that two simple guesses made at the same moments: that it waits for as long as those of
its group have waited so far on average, or as the last of them that started. Waits under five seconds are not counted:
whoever is there at one poll and starts at the next needs no forecast.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from statistics import fmean, median
from typing import NamedTuple

from presman.analysis import analyse
from presman.analysis.caches import RowCache
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel.queue_rules import queue_rules
from presman.analysis.readings.reading import Reading
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.forecast.forecaster import Forecaster
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource

SCENARIOS = ("mixed", "storm", "queueing", "rac", "tenants", "pdb", "holders", "changes")
EVERY = 5.0
HOURS = 1.0
SEEDS = 3


class Forecasted(NamedTuple):
    """A forecast of a statement and what came of it, in seconds from the moment at which it was made."""

    median: float
    low: float
    high: float
    outcome: float
    mean_wait: float
    last_wait: float


class Scored(NamedTuple):
    """Forecasts of one scenario; `statements` had to queue, CPU seconds of `polls` went into forecasting."""

    forecasts: list[Forecasted]
    statements: int
    polls: int
    cpu: float


def readings(scenario: str, seed: int, seconds: float) -> Iterator[tuple[Snapshot | None, Snapshot, Reading, RowCache]]:
    """Yield what each poll of a scenario reads and means."""
    now = [0.0]
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    poller = Poller(SimulatorSource(scenario, seed=seed, clock=lambda: now[0], start=start))
    poller.detail_level = DetailLevel.NARROW
    poller.open()
    previous: Snapshot | None = None
    cache = RowCache()
    while now[0] < seconds:
        now[0] += EVERY
        snapshot = poller.poll()
        yield previous, snapshot, analyse(previous, snapshot, cache), cache
        previous = snapshot
    poller.close()


def score(scenario: str, seed: int, seconds: float) -> Scored:
    """Play a scenario and judge the forecasts."""
    forecaster, runs = Forecaster(seed), StatementRuns(kept=100_000)
    told: dict[tuple[int, int, int, str], tuple[Reading, tuple[float, float, float], float, float]] = {}
    found: list[Forecasted] = []
    waits: dict[tuple[int, str], list[float]] = {}
    cpu, polls, statements = 0.0, 0, 0
    for previous, snapshot, plain, cache in readings(scenario, seed, seconds):
        begun = time.process_time()
        facts = Facts.of(previous, snapshot, cache)
        reading = forecaster.add(plain, partial(queue_rules, facts, plain))
        cpu += time.process_time() - begun
        polls += 1
        runs.add(plain)
        for session in [each for each in told if (run := runs.now(each)) is None or run.started is not None]:
            first, (middle, low, high), mean, last = told.pop(session)
            run = runs.now(session)
            if run is not None and run.started is not None and run.started >= first.at:
                outcome = (run.started - first.at).total_seconds()
                found.append(Forecasted(middle, low, high, outcome, mean, last))
        for run in started(runs):
            statements += 1
            waits.setdefault((run.con_id, run.group), []).append((run.started - run.began).total_seconds())  # type: ignore[operator]
        for row in reading.queue:
            session = (row.inst_id, row.sid, row.serial, row.sql_id)
            past = waits.get((row.con_id, row.group))
            if session in told or row.starts is None or row.starts.median is None or not past:
                continue
            starts, waited = row.starts, row.waited or 0.0
            guesses = max(0.0, fmean(past) - waited), max(0.0, past[-1] - waited)
            told[session] = (reading, (starts.median, starts.low, starts.high), *guesses)  # type: ignore[assignment]
    return Scored(found, statements, polls, cpu)


def started(runs: StatementRuns) -> list[StatementRun]:
    """Return the runs that left the queue since the poll before."""
    found = [run for run in runs.open if run.started and run.queued and id(run) not in _SEEN]
    _SEEN.update(map(id, found))
    _KEPT.extend(found)
    return found


_SEEN: set[int] = set()
_KEPT: list[StatementRun] = []


def line(name: str, scored: Sequence[Scored]) -> str:
    """Return one line of the table."""
    found = [each for one in scored for each in one.forecasts if each.outcome >= EVERY]
    cost = 1000 * sum(each.cpu for each in scored) / (EVERY * sum(each.polls for each in scored))
    statements = sum(each.statements for each in scored)
    if not found:
        return f"{name:<12} {statements:>8} {0:>8} {'-':>9} {'-':>9} {'-':>9} {'-':>9} {'-':>9} {cost:>8.2f}"
    held = sum(each.low <= each.outcome <= each.high for each in found)
    error = median(abs(each.median - each.outcome) for each in found)
    by_mean = median(abs(each.mean_wait - each.outcome) for each in found)
    by_last = median(abs(each.last_wait - each.outcome) for each in found)
    wait = median(each.outcome for each in found)
    return (
        f"{name:<12} {statements:>8} {len(found):>8} {100 * held / len(found):>8.0f}% {wait:>9.0f} {error:>9.0f} "
        f"{by_mean:>9.0f} {by_last:>9.0f} {cost:>8.2f}"
    )


HEAD = (
    f"{'scenario':<12} {'queued':>8} {'forecast':>8} {'held':>9} {'wait s':>9} {'error s':>9} {'mean wait':>9} "
    f"{'last wait':>9} {'CPU ms/s':>8}"
)


def table(scenarios: Iterable[str], seeds: int, seconds: float) -> Iterator[str]:
    """Yield the lines of the table."""
    yield HEAD
    every: list[Scored] = []
    for scenario in scenarios:
        scored = [score(scenario, 100 + seed, seconds) for seed in range(seeds)]
        every += scored
        yield line(scenario, scored)
    yield line("all", every)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--hours", type=float, default=HOURS)
    options = parser.parse_args()
    for each in table(options.scenarios, options.seeds, 3600 * options.hours):
        print(each, flush=True)


if __name__ == "__main__":
    main()
