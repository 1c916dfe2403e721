"""How good the what-if panel is: `python -m benchmarks.whatif_queue`.

The simulator is the world. A limit is really changed some seconds after the start of a scenario; at the poll before,
the panel is asked what that change would do. Each statement that is queued then is held against when it starts under
the change: whether that is within the range, how far off the median is, and how far off the forecast without the
change. Those that neither forecast says anything of, and those that leave the queue without a start, do not count.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
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

EVERY = 5.0
AFTER = HORIZON
"""Seconds for which it is seen who starts: as far as forecasts reach. With fewer, who starts late would be lost."""


class ChangedLimit(NamedTuple):
    """A change of a scenario: in the words of the simulator, and of the panel."""

    scenario: str
    alteration: str
    change: Change

    def text(self, at: float) -> str:
        """Return the scenario with the change at a second."""
        plain = (FOLDER / f"{self.scenario}.toml").read_text("utf-8")
        return f'{plain}\n[[alterations]]\nat = "{at:g}s"\n{self.alteration}\n'


def _limit(plan: str, group: str, percent: int) -> str:
    return f'plan = "{plan}"\ngroup = "{group}"\ndirective = {{ parallel_server_limit = {percent} }}'


CHANGES = (
    ChangedLimit("storm", "parallel_servers_target = 256", Change("target", None, 256)),  # as it is
    ChangedLimit("storm", _limit("STORM_PLAN", "BATCH", 60), Change("limits", Group(0, "BATCH"), 60)),
    ChangedLimit("storm", "parallel_servers_target = 400", Change("target", None, 400)),
    ChangedLimit("storm", "parallel_servers_target = 160", Change("target", None, 160)),
    ChangedLimit("mixed", "parallel_servers_target = 96", Change("target", None, 96)),
    ChangedLimit("mixed", _limit("DAYTIME_PLAN", "REPORTS", 50), Change("limits", Group(0, "REPORTS"), 50)),
)


class Judged(NamedTuple):
    """A start that was foreseen under the change, and after how many seconds it came."""

    told: ChangedStart
    outcome: float

    @property
    def held(self) -> bool:
        """Whether it came within the range."""
        return (self.told.then.low or 0.0) <= self.outcome <= (self.told.then.high or 0.0) + EVERY


def polls(changed: ChangedLimit, at: float, seed: int) -> Iterator[ReadingCame]:
    """Yield the polls of a scenario under a change."""
    now = [0.0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"{changed.scenario}.toml"
        path.write_text(changed.text(at), "utf-8")
        source = SimulatorSource(path, seed=seed, clock=lambda: now[0], start=datetime(2026, 3, 14, 9, tzinfo=UTC))
        poller, readings = Poller(source), Readings(foresees=True)
        poller.detail_level = DetailLevel.NARROW
        poller.open()
    while now[0] < at + AFTER:
        now[0] += EVERY
        if now[0] >= at:
            readings.foresees = False
        found = readings.of(Polled(poller.poll()))
        assert isinstance(found, ReadingCame)
        yield found
    poller.close()


def trial(changed: ChangedLimit, at: float, seed: int) -> list[Judged]:
    """Return what was foreseen at the poll before a change, and what came of it."""
    runs, told, found = StatementRuns(kept=100_000), dict[Executing, ChangedStart](), list[Judged]()
    asked: datetime | None = None
    for number, came in enumerate(polls(changed, at, seed), 1):
        reading = came.reading
        runs.add(reading)
        if asked is None and number * EVERY + EVERY >= at:
            if came.foresight is None or why_unknown(reading, came.foresight):
                return []
            limits = PresentLimits.of(reading, came.previous, came.snapshot, RowCache())
            starts = QueueCourses(came.foresight).compare(reading, limits.load, frozenset({changed.change}))
            told = {
                each.row.executing(): each
                for each in starts
                if each.then.median is not None and each.row.starts is not None and each.row.starts.median is not None
            }
            asked = reading.at
        if asked is None:
            continue
        for who in list(told):
            run = runs.now(who)
            if run is None:
                del told[who]
            elif run.started is not None:
                found.append(Judged(told.pop(who), (run.started - asked).total_seconds()))
        if not told:
            break
    return found


def main() -> None:
    """Print a line for each change."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    options = parser.parse_args()
    print(f"{'scenario':<9} {'change':<34} {'starts':>6} {'held':>5} {'off by':>7} {'without the change':>19}")
    for changed in CHANGES:
        found = [
            each
            for seed in range(options.first, options.first + options.seeds)
            for at in (900.0, 1500.0, 2100.0)
            for each in trial(changed, at, seed)
        ]
        kind, group, value = changed.change
        words = f"{kind} {group.name if group else ''} {value}".replace("  ", " ")
        if not found:
            print(f"{changed.scenario:<9} {words:<34} {0:>6}")
            continue
        held = 100 * sum(each.held for each in found) / len(found)
        off = median(abs((each.told.then.median or 0.0) - each.outcome) for each in found)
        shown = (each.told.row.starts for each in found)
        plain = median(
            abs((starts.median or 0.0 if starts else 0.0) - each.outcome)
            for starts, each in zip(shown, found, strict=True)
        )
        print(f"{changed.scenario:<9} {words:<34} {len(found):>6} {held:>4.0f}% {off:>6.0f}s {plain:>18.0f}s")


if __name__ == "__main__":
    main()
