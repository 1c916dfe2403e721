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
from statistics import fmean, median
from typing import NamedTuple

from presman.analysis import analyse
from presman.analysis.caches import RowCache
from presman.analysis.readings.forecasts import Executing, StartForecast
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.forecast.forecaster import Forecaster
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource

SCENARIOS = ("mixed", "storm", "rac", "pdb", "changes")
"""Those in which statements queue again and again."""
EVERY = 5.0
HOURS = 1.0
SEEDS = 3


class Forecasted(NamedTuple):
    """A forecast of a statement and what came of it, in seconds from the moment at which it was made."""

    starts: StartForecast
    outcome: float
    mean_wait: float
    last_wait: float

    @property
    def held(self) -> bool:
        """Whether it started between low and high."""
        return (self.starts.low or 0.0) <= self.outcome <= (self.starts.high or 0.0)

    @property
    def error(self) -> float:
        """By how much the median was off."""
        return abs((self.starts.median or 0.0) - self.outcome)

    @property
    def by_mean(self) -> float:
        """By how much the mean wait of its group was off."""
        return abs(self.mean_wait - self.outcome)

    @property
    def by_last(self) -> float:
        """By how much the wait of the last that started was off."""
        return abs(self.last_wait - self.outcome)


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


class _First(NamedTuple):
    """The first forecast that was shown of a statement, with the guesses of that moment."""

    at: datetime
    starts: StartForecast
    mean_wait: float
    last_wait: float


class Trial:
    """One scenario, forecast poll after poll; what is told of each statement is held against when it starts."""

    def __init__(self, seed: int) -> None:
        self._forecaster, self._runs = Forecaster(seed), StatementRuns(kept=100_000)
        self._told: dict[Executing, _First] = {}
        self._waiting: dict[Executing, StatementRun] = {}
        self._waits: dict[tuple[int, str], list[float]] = {}
        self.found: list[Forecasted] = []
        self.cpu, self.polls, self.statements = 0.0, 0, 0

    def add(self, previous: Snapshot | None, snapshot: Snapshot, plain: Reading, cache: RowCache) -> None:
        """Take a poll."""
        begun = time.process_time()
        reading = self._forecaster.read(plain, previous, snapshot, cache)
        self.cpu += time.process_time() - begun
        self.polls += 1
        self._runs.add(plain)
        for who, run in [(who, run) for who, run in self._waiting.items() if run.started or run.ended]:
            del self._waiting[who]
            if run.started is not None:
                self._started(who, run, run.started)
        for row in reading.queue:
            if (run_now := self._runs.now(row.executing())) is not None:
                self._waiting[row.executing()] = run_now
            self._tell(row, reading.at)

    def _started(self, who: Executing, run: StatementRun, at: datetime) -> None:
        self.statements += 1
        self._waits.setdefault((run.con_id, run.group), []).append((at - run.began).total_seconds())
        first = self._told.pop(who, None)
        if first is not None and at >= first.at:
            outcome = (at - first.at).total_seconds()
            self.found.append(Forecasted(first.starts, outcome, first.mean_wait, first.last_wait))

    def _tell(self, row: QueuedStatement, at: datetime) -> None:
        past = self._waits.get((row.con_id, row.group))
        if row.executing() not in self._told and row.starts and row.starts.median is not None and past:
            waited = row.waited or 0.0
            guesses = max(0.0, fmean(past) - waited), max(0.0, past[-1] - waited)
            self._told[row.executing()] = _First(at, row.starts, *guesses)


def score(scenario: str, seed: int, seconds: float) -> Scored:
    """Play a scenario and judge the forecasts."""
    trial = Trial(seed)
    for poll in readings(scenario, seed, seconds):
        trial.add(*poll)
    return Scored(trial.found, trial.statements, trial.polls, trial.cpu)


def line(name: str, scored: Sequence[Scored]) -> str:
    """Return one line of the table."""
    found = [each for one in scored for each in one.forecasts if each.outcome >= EVERY]
    cost = 1000 * sum(each.cpu for each in scored) / (EVERY * sum(each.polls for each in scored))
    begin = f"{name:<12} {sum(each.statements for each in scored):>8} {len(found):>8}"
    if not found:
        return f"{begin} {'-':>6} {'-':>7} {'-':>8} {'-':>10} {'-':>10} {cost:>9.1f}"
    held = sum(each.held for each in found)
    figures = [median(getattr(each, name) for each in found) for name in ("outcome", "error", "by_mean", "by_last")]
    wait, error, by_mean, by_last = figures
    guesses = f"{by_mean:>10.0f} {by_last:>10.0f}"
    return f"{begin} {100 * held / len(found):>5.0f}% {wait:>7.0f} {error:>8.0f} {guesses} {cost:>9.1f}"


HEAD = (
    f"{'scenario':<12} {'queued':>8} {'forecast':>8} {'held':>6} {'start s':>7} {'error s':>8} {'mean wait':>10} "
    f"{'last wait':>10} {'CPU ms/s':>9}"
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
