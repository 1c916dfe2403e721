"""Quality of the forecasts of the parallel queue: `python -m benchmarks.forecast [SCENARIO …]`.

The simulator is the database, and presman knows what its views show every five seconds. Each statement counts once,
with the first forecast that was shown for it: whether it started between low and high, and how far off the median was.
Beside it are the errors of two simple guesses at the same moments: that the statement waits as long as the last of its
group that started, or as the head of its group has waited until now (Ibrahim and Whitt). Waits under five seconds do
not count: a statement that is queued at one poll and starts before the next needs no forecast.

If several hours are simulated, each has a line; forecasts count in the hour in which they were made. `drift`, with its
drifting load (benchmarks/drift.toml), has four hours; it is simulated only if it is named.

The correlation is that of medians and outcomes. `a minute` is how many of those that waited less than ten minutes were
within one minute of the median. The loss is the pinball loss of low, median and high together, in seconds; a guess
takes the place of all three.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import correlation, fmean, median
from typing import NamedTuple

from presman.analysis.assemble import analyse
from presman.analysis.caches import RowCache
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing, QueuedStatement, StartForecast
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.forecast.forecaster import Forecaster
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot
from presman.sources.simulator_source import SimulatorSource

SCENARIOS = ("mixed", "storm", "rac", "pdb", "changes")
"""Scenarios in which statements queue repeatedly."""
OWN = {"drift": Path(__file__).with_name("drift.toml")}
"""Scenarios that only this benchmark plays."""
EVERY = 5.0
HOURS = {"drift": 4}
"""How many hours of a scenario are simulated; one for others."""
SEEDS = 3


class Forecasted(NamedTuple):
    """A forecast for a statement and the outcome, in seconds from the moment of the forecast."""

    starts: StartForecast
    outcome: float
    last_wait: float
    head_age: float
    hour: int

    @property
    def held(self) -> bool:
        """Whether it started between low and high."""
        return (self.starts.low or 0.0) <= self.outcome <= (self.starts.high or 0.0)

    @property
    def median(self) -> float:
        """The median that was forecast."""
        return self.starts.median or 0.0

    def off(self, guess: float) -> float:
        """Return by how much a guess was off."""
        return abs(guess - self.outcome)

    def loss(self, guess: float | None = None) -> float:
        """Return the pinball loss of the forecast, or of a guess in its place."""
        starts = (self.starts.low, self.starts.median, self.starts.high)
        over = [self.outcome - ((each or 0.0) if guess is None else guess) for each in starts]
        return fmean(
            part * each if each > 0 else (part - 1) * each for part, each in zip((0.1, 0.5, 0.9), over, strict=True)
        )


class Scored(NamedTuple):
    """Forecasts of one scenario, how many `statements` had to queue in each hour, and CPU seconds of all `polls`."""

    forecasts: list[Forecasted]
    statements: Counter[int]
    polls: int
    cpu: float

    def of_hour(self, hour: int) -> Scored:
        """Return the part of one hour; the first is 0."""
        own = [each for each in self.forecasts if each.hour == hour]
        return self._replace(forecasts=own, statements=Counter({hour: self.statements[hour]}))


def readings(scenario: str, seed: int, seconds: float) -> Iterator[tuple[Snapshot | None, Snapshot, Reading, RowCache]]:
    """Yield the snapshot and the reading of each poll of a scenario."""
    now = [0.0]
    start = datetime(2026, 3, 14, 9, tzinfo=UTC)
    poller = Poller(SimulatorSource(OWN.get(scenario, scenario), seed=seed, clock=lambda: now[0], start=start))
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
    """The first forecast that was shown for a statement, with the guesses of that moment."""

    at: datetime
    starts: StartForecast
    last_wait: float
    head_age: float


class Trial:
    """One scenario, forecast poll after poll; the first forecast of each statement is compared with its start."""

    def __init__(self, seed: int) -> None:
        self._forecaster, self._runs = Forecaster(seed), StatementRuns(kept=100_000)
        self._first: dict[Executing, _First] = {}
        self._waiting: dict[Executing, StatementRun] = {}
        self._last_wait: dict[tuple[int, str], float] = {}
        self.found: list[Forecasted] = []
        self.cpu, self.polls, self.statements = 0.0, 0, Counter[int]()
        self._begun: datetime | None = None

    def add(self, previous: Snapshot | None, snapshot: Snapshot, plain: Reading, cache: RowCache) -> None:
        """Take a poll."""
        begun = time.process_time()
        reading = self._forecaster.read(plain, previous, snapshot, cache)
        self.cpu += time.process_time() - begun
        self.polls += 1
        self._begun = self._begun or reading.at
        self._runs.add(plain)
        for who, run in [(who, run) for who, run in self._waiting.items() if run.started or run.ended]:
            del self._waiting[who]
            first = self._first.pop(who, None)  # a later execution of the same SQL_ID counts as another statement
            if run.started is not None:
                self._started(first, run, run.started)
        ages: dict[tuple[int, str], float] = {}
        for row in reading.queue:
            group = row.con_id, row.group
            ages[group] = max(ages.get(group, 0.0), row.waited or 0.0)
        for row in reading.queue:
            if (run_now := self._runs.now(row.executing())) is not None:
                self._waiting[row.executing()] = run_now
            self._tell(row, reading.at, ages[row.con_id, row.group])

    def _started(self, first: _First | None, run: StatementRun, at: datetime) -> None:
        self.statements[self._hour(at)] += 1
        self._last_wait[run.con_id, run.group] = (at - run.began).total_seconds()
        if first is not None and at >= first.at:
            outcome = (at - first.at).total_seconds()
            hour = self._hour(first.at)
            self.found.append(Forecasted(first.starts, outcome, first.last_wait, first.head_age, hour))

    def _hour(self, at: datetime) -> int:
        return 0 if self._begun is None else int((at - self._begun).total_seconds() // 3600)

    def _tell(self, row: QueuedStatement, at: datetime, head_age: float) -> None:
        last = self._last_wait.get((row.con_id, row.group))
        if row.executing() not in self._first and row.starts and row.starts.median is not None and last is not None:
            waited = row.waited or 0.0
            self._first[row.executing()] = _First(at, row.starts, max(0.0, last - waited), head_age - waited)


def score(scenario: str, seed: int, seconds: float) -> Scored:
    """Simulate a scenario and judge the forecasts."""
    trial = Trial(seed)
    for poll in readings(scenario, seed, seconds):
        trial.add(*poll)
    return Scored(trial.found, trial.statements, trial.polls, trial.cpu)


def line(name: str, scored: Sequence[Scored]) -> str:
    """Return one line of the table."""
    found = [each for one in scored for each in one.forecasts if each.outcome >= EVERY]
    cost = 1000 * sum(each.cpu for each in scored) / (EVERY * sum(each.polls for each in scored))
    begin = f"{name:<12} {sum(each.statements.total() for each in scored):>8} {len(found):>8}"
    if len(found) < 2:
        return begin
    held, wait = sum(each.held for each in found) / len(found), median(each.outcome for each in found)
    errors = [
        median(each.off(guess) for each, guess in zip(found, guesses, strict=True))
        for guesses in zip(*((each.median, each.last_wait, each.head_age) for each in found), strict=True)
    ]
    short = [each.off(each.median) <= 60 for each in found if each.outcome < 600]
    minute = sum(short) / len(short) if short else 0.0
    like = correlation([each.median for each in found], [each.outcome for each in found])
    losses = [fmean(each.loss() for each in found)]
    losses.append(
        min(fmean(each.loss(each.last_wait) for each in found), fmean(each.loss(each.head_age) for each in found))
    )
    return (
        f"{begin} {held:>6.0%} {wait:>7.0f} {errors[0]:>7.0f} {errors[1]:>9.0f} {errors[2]:>8.0f} {like:>11.2f} "
        f"{minute:>8.0%} {losses[0]:>5.0f} {losses[1]:>11.0f} {cost:>9.1f}"
    )


HEAD = (
    f"{'scenario':<12} {'queued':>8} {'forecast':>8} {'held':>6} {'start s':>7} {'error s':>7} {'last wait':>9} "
    f"{'head age':>8} {'correlation':>11} {'a minute':>8} {'loss':>5} {'of a guess':>11} {'CPU ms/s':>9}"
)


def table(scenarios: Iterable[str], seeds: Sequence[int], hours: int | None) -> Iterator[str]:
    """Yield the lines of the table."""
    yield HEAD
    every: list[Scored] = []
    for scenario in scenarios:
        lasts = hours or HOURS.get(scenario, 1)
        scored = [score(scenario, seed, 3600.0 * lasts) for seed in seeds]
        every += scored
        yield line(scenario, scored)
        for hour in range(lasts) if lasts > 1 else ():
            yield line(f"... hour {hour + 1}", [each.of_hour(hour) for each in scored])
    yield line("all", every)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", default=SCENARIOS)
    parser.add_argument("--seeds", type=int, default=SEEDS, help="how many")
    parser.add_argument("--first", type=int, default=100, help="the first seed")
    parser.add_argument("--hours", type=int, help="1, and 4 of drift, if it is not given")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for each in table(options.scenarios, seeds, options.hours):
        print(each, flush=True)


if __name__ == "__main__":
    main()
