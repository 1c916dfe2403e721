"""Cost of one refresh in a storm: 200 statements queued and 100 running, with all their parallel servers.

The polls come from the simulator (`storm`, eight times as big, in the minute after its burst), two seconds apart.
A refresh is what happens between a poll's answer and the screen that shows it: the analysis (in the sampler's thread),
keeping the reading (history, figures over time) and drawing the Parallel tab. It measures the CPU time of the process
and prints the lower quartile of the polls, because other load on the machine only adds to it. Run it alone with
`python -m benchmarks.storm`.
"""

from __future__ import annotations

import gc
import statistics
import time
from typing import NamedTuple

from textual.pilot import Pilot

from benchmarks.idle_feed import IdleFeed
from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.rows.snapshot import Snapshot

SIZE = 8
"""Multiple of the scenario's machine and load."""

BURST = 300.0
"""Simulated seconds after the start: 200 are queued, 100 run."""

POLLS = 32
WARM = 8
"""Polls that do not count: caches fill, and lines are laid out."""

Poll = tuple[Snapshot | None, Snapshot]


class Cost(NamedTuple):
    """CPU milliseconds of one refresh and of its parts, and how much it showed."""

    analysis: float
    keeping: float
    refresh: float
    queued: int
    running: int
    sessions: int

    @property
    def drawing(self) -> float:
        """The rest of the refresh: drawing."""
        return self.refresh - self.analysis - self.keeping


def polls() -> list[Poll]:
    """Return consecutive polls of the storm, each with the one before it."""
    from presman.polling.poller import Poller
    from presman.rows.queries import Focus
    from presman.sources.simulator_source import SimulatorSource

    now = [0.0]
    poller = Poller(SimulatorSource("storm", seed=15, size=SIZE, clock=lambda: now[0]))
    poller.open()
    poller.focus(Focus())  # as the Parallel tab does
    found: list[Poll] = []
    for number in range(POLLS):
        now[0] = BURST + 2.0 * number
        found.append((found[-1][1] if found else None, poller.poll()))
    poller.close()
    return found


async def storm(size: tuple[int, int] = (200, 50)) -> Cost:
    """Measure a refresh of the Parallel tab on a terminal of that size."""
    from presman.tui.app import MonitorApp
    from presman.tui.feed import Arrived
    from presman.tui.textual_internals import settle_garbage

    moments = polls()
    taken: list[tuple[float, float, float]] = []
    readings: list[Reading] = []
    app = MonitorApp(lambda _post, _refresh: IdleFeed(), name="load")
    keep, keeping = app.monitor.timeline.add, 0.0

    def timed_keep(reading: Reading, snapshot: Snapshot | None) -> None:
        nonlocal keeping
        begun = time.process_time()
        keep(reading, snapshot)
        keeping = time.process_time() - begun

    app.monitor.timeline.add = timed_keep  # type: ignore[method-assign]
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        await pilot.press("4")
        idle = 0.0
        for number, (before, after) in enumerate(moments):
            if number == WARM:
                settle_garbage()
                idle = await _idle(pilot)
            gc.collect()
            begun = time.process_time()
            reading = analyse(before, after)
            analysed = time.process_time()
            app.post_message(Arrived(reading, after))
            await pilot.pause()
            taken.append((analysed - begun, keeping, time.process_time() - begun - idle))
            readings.append(reading)
    middle = readings[len(readings) // 2]
    analysis, kept, refresh = (1e3 * statistics.quantiles(column, n=4)[0] for column in zip(*taken[WARM:], strict=True))
    return Cost(analysis, kept, refresh, len(middle.queue), len(middle.running), len(middle.sessions))


async def _idle(pilot: Pilot[None]) -> float:
    """Return the CPU seconds of waiting for the screen alone, for which Textual's pilot asks every widget."""
    await pilot.pause(0.3)
    taken = []
    for _ in range(9):
        begun = time.process_time()
        await pilot.pause()
        taken.append(time.process_time() - begun)
    return min(taken)


def main() -> None:
    import asyncio

    for size in ((200, 50), (160, 45), (80, 24)):
        cost = asyncio.run(storm(size))
        print(
            f"{size[0]}x{size[1]}: {cost.queued} queued, {cost.running} running, {cost.sessions} sessions: "
            f"analysis {cost.analysis:.1f} ms, keeping {cost.keeping:.1f} ms, drawing {cost.drawing:.1f} ms; "
            f"refresh {cost.refresh:.1f} ms"
        )


if __name__ == "__main__":
    main()
