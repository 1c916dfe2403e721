"""Quality of the what-if panel: `python -m benchmarks.whatif_queue`.

The simulator is the database. It changes a limit some seconds after the start of a scenario; at the poll before, the
panel forecasts the effect of that change. For each statement that is queued then, its start after the change is
compared: whether it is within the range, how far off the median is, and how far off the forecast without the change is.
The last figure is all waits together as part of all medians: less than 100 % if statements start sooner than forecast.
Statements without any forecast, and those that leave the queue without a start, do not count.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import median
from typing import NamedTuple

from presman.analysis.caches import RowCache
from presman.analysis.readings.statement_readings import Executing
from presman.analysis.trends.statement_runs import StatementRuns
from presman.forecast.course import HORIZON
from presman.forecast.scheduler import Group
from presman.polling.poll_events import Polled
from presman.polling.poller import Poller
from presman.reports.advise_load import Change
from presman.reports.whatif_queue import ChangedStart, PresentLimits, QueueCourses, why_unknown
from presman.rows.queries import DetailLevel
from presman.services.live import ReadingCame, Readings
from presman.sources.simulator.loading import FOLDER
from presman.sources.simulator_source import SimulatorSource

EVERY, LATER = 5.0, 15.0
"""Seconds between two polls, until the change and after it: SQL_EXEC_START shows a start to the second."""
AFTER = HORIZON
"""Seconds for which starts are observed: as far as forecasts reach. With fewer, late starts would be lost."""


class ChangedLimit(NamedTuple):
    """A change of a scenario, as the simulator and as the panel write it."""

    scenario: str
    alteration: str
    change: Change

    def text(self, at: float) -> str:
        """Return the scenario with the change `at` seconds after its start."""
        plain = (FOLDER / f"{self.scenario}.toml").read_text("utf-8")
        return f'{plain}\n[[alterations]]\nat = "{at:g}s"\n{self.alteration}\n'


def _limit(plan: str, group: str, percent: int) -> str:
    return f'plan = "{plan}"\ngroup = "{group}"\ndirective = {{ parallel_server_limit = {percent} }}'


CHANGES = (
    ChangedLimit(
        "storm", "parallel_servers_target = 256", Change("target", None, 256)
    ),  # the value that it already has
    ChangedLimit("storm", _limit("STORM_PLAN", "BATCH", 60), Change("limits", Group(0, "BATCH"), 60)),
    ChangedLimit("storm", "parallel_servers_target = 400", Change("target", None, 400)),
    ChangedLimit("storm", "parallel_servers_target = 160", Change("target", None, 160)),
    ChangedLimit("mixed", "parallel_servers_target = 96", Change("target", None, 96)),
    ChangedLimit("mixed", _limit("DAYTIME_PLAN", "REPORTS", 50), Change("limits", Group(0, "REPORTS"), 50)),
)


class Judged(NamedTuple):
    """A start that was forecast under the change, and after how many seconds it came."""

    forecast: ChangedStart
    outcome: float

    @property
    def held(self) -> bool:
        """Whether it came within the range."""
        return (self.forecast.then.low or 0.0) <= self.outcome <= (self.forecast.then.high or 0.0) + EVERY


def polls(changed: ChangedLimit, at: float, seed: int) -> Iterator[ReadingCame]:
    """Yield the polls of a scenario under a change."""
    now = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{changed.scenario}.toml"
        path.write_text(changed.text(at), "utf-8")
        source = SimulatorSource(path, seed=seed, clock=lambda: now[0], start=datetime(2026, 3, 14, 9, tzinfo=UTC))
        poller, readings = Poller(source), Readings(with_forecasts=True)
        poller.detail_level = DetailLevel.NARROW
        poller.open()
    while now[0] < at + AFTER:
        now[0] += EVERY if now[0] < at else LATER
        if now[0] >= at:
            readings.with_forecasts = False
        found = readings.of(Polled(poller.poll()))
        assert isinstance(found, ReadingCame)
        yield found
    poller.close()


def trial(changed: ChangedLimit, at: float, seed: int) -> list[Judged]:
    """Return the forecasts at the poll before a change, with the outcomes."""
    runs, forecasts, found = StatementRuns(kept=100_000), dict[Executing, ChangedStart](), list[Judged]()
    asked: datetime | None = None
    for number, came in enumerate(polls(changed, at, seed), 1):
        reading = came.reading
        runs.add(reading)
        if asked is None and number * EVERY + EVERY >= at:
            if came.forecast_basis is None or why_unknown(reading, came.forecast_basis):
                return []
            limits = PresentLimits.of(reading, came.previous, came.snapshot, RowCache())
            starts = QueueCourses(came.forecast_basis).compare(reading, limits.load, frozenset({changed.change}))
            forecasts = {
                each.row.executing(): each
                for each in starts
                if each.then.median is not None and each.row.starts is not None and each.row.starts.median is not None
            }
            asked = reading.at
        if asked is None:
            continue
        for who in list(forecasts):
            run = runs.now(who)
            if run is None:
                del forecasts[who]
            elif run.started is not None:
                found.append(Judged(forecasts.pop(who), (run.started - asked).total_seconds()))
        if not forecasts:
            break
    return found


HEAD = (
    f"{'scenario':<9} {'change':<34} {'starts':>6} {'held':>5} {'off by':>7} {'without the change':>19} "
    f"{'of medians':>11}"
)


def line(changed: ChangedLimit, found: Sequence[Judged]) -> str:
    """Return the line of a change."""
    kind, group, value = changed.change
    words = f"{kind} {group.name if group else ''} {value}".replace("  ", " ")
    begin = f"{changed.scenario:<9} {words:<34} {len(found):>6}"
    if not found:
        return begin
    held = sum(each.held for each in found) / len(found)
    medians = [each.forecast.then.median or 0.0 for each in found]
    off = median(abs(middle - each.outcome) for middle, each in zip(medians, found, strict=True))
    shown = [each.forecast.row.starts for each in found]
    plain = median(
        abs((starts.median or 0.0 if starts else 0.0) - each.outcome) for starts, each in zip(shown, found, strict=True)
    )
    part = sum(each.outcome for each in found) / max(1.0, sum(medians))
    return f"{begin} {held:>5.0%} {off:>6.0f}s {plain:>18.0f}s {part:>11.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--change", type=int, choices=range(1, len(CHANGES) + 1), help="one of the lines only")
    options = parser.parse_args()
    print(HEAD)
    for changed in CHANGES if options.change is None else CHANGES[options.change - 1 : options.change]:
        moments = product(range(options.first, options.first + options.seeds), (900.0, 1500.0, 2100.0))
        print(line(changed, [each for seed, at in moments for each in trial(changed, at, seed)]), flush=True)


if __name__ == "__main__":
    main()
