"""Cost of a poll on the Latency tab at 200x50, with its heat maps and without them."""

from __future__ import annotations

import gc
import statistics
import time

from benchmarks.idle_feed import IdleFeed

POLLS = 110
"""Enough to fill most of a map; the last third of them is measured."""


async def refresh_cost(*, maps: bool) -> float:
    """Return the CPU ms from a reading's arrival to the screen that shows it; without `maps` they are not drawn."""
    from presman.analysis.assemble import analyse
    from presman.polling.poller import Poller
    from presman.sources.simulator_source import SimulatorSource
    from presman.tui.app import MonitorApp
    from presman.tui.feed import Arrived
    from presman.tui.widgets.heatmap import HeatMap

    now = [0.0]
    poller = Poller(SimulatorSource("mixed", seed=1, clock=lambda: now[0]))
    poller.open()
    arrivals, previous = [], None
    for _ in range(POLLS):
        now[0] += 2.0
        snapshot = poller.poll()
        arrivals.append(Arrived(analyse(previous, snapshot), snapshot))
        previous = snapshot
    poller.close()
    app = MonitorApp(lambda _post, _refresh: IdleFeed(), name="load")
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.pause(0.5)
        await pilot.press("7")
        taken = []
        for number, arrived in enumerate(arrivals):
            if number == POLLS // 2 and not maps:
                for each in app.query(HeatMap):
                    each.show = lambda *_: None  # type: ignore[method-assign]
            gc.collect()
            begun = time.process_time()
            app.post_message(arrived)
            await pilot.pause()
            taken.append(time.process_time() - begun)
    return statistics.median(taken[-POLLS // 3 :]) * 1e3
