"""Calculated rows of views: small stand-ins, compared with values by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.sources.simulator.views.cursor_views import _plan_figures, _work
from presman.sources.simulator.views.session_views import BACKGROUND, _recovering


def of(**figures: Any) -> Any:
    return SimpleNamespace(**figures)


@pytest.mark.parametrize(("storage", "offloaded", "through"), [("flash", 0, 1 << 20), ("exadata", 1 << 20, 1 << 17)])
def test_what_a_cursor_reads_and_waits_for(storage: str, offloaded: int, through: int) -> None:
    """A megabyte is 128 blocks; four servers for ten seconds, 15 s of it on CPU: two fifths of the 25 s are waits."""
    cursor = of(mb=1.0, elapsed=10.0, dop=4, cpu=15.0, executions=3)
    running = [of(cursor=cursor), of(cursor=None), of(cursor=cursor)]
    simulation = of(workload=of(running=running), scenario=of(capacity=of(storage=storage)))
    assert _work(simulation, cursor) == (10_000_000, 0, 128, 128, 72, 1 << 20, (1 << 20) // 50, offloaded, through, 2)
    cursor.dop, cursor.cpu = 0, 11.0
    assert _work(simulation, cursor)[0] == 0, "a serial one was on CPU all the time"


def test_what_an_optimizer_would_estimate() -> None:
    line = of(operation="TABLE ACCESS", depth=5)
    assert _plan_figures(of(dop=4, sets=2), line) == (45_200, 40_000_000, 720_000_000, 56)
    line.depth = 4
    assert _plan_figures(of(dop=4, sets=2), line) == (45_240, 24, 432, 56)
    assert _plan_figures(of(dop=0, sets=1), line) == (180_240, 40_000_000, 720_000_000, 225)
    line.depth = 12
    assert _plan_figures(of(dop=1_000_000, sets=1), line) == (40, 40_000_000, 720_000_000, 1)
    for operation in ("PX COORDINATOR", "PX BLOCK"):
        assert _plan_figures(of(dop=4, sets=2), of(operation=operation, depth=2)) == (None,) * 4


def test_a_block_that_is_rolled_back_takes_a_hundredth_of_a_second() -> None:
    def execution(service: str, servers: int, left: float) -> Any:
        session = of(inst_id=2, client=of(service=service))
        return of(session=session, servers=(None,) * servers, work=6.0, left=left)

    running = [execution("sales", 4, 1), execution(BACKGROUND, 0, 1), execution(BACKGROUND, 4, 1.5)]
    running.append(execution(BACKGROUND, 1, -0.5))
    assert list(_recovering(of(workload=of(running=running)))) == [
        (2, "RECOVERING", 450, 600),
        (2, "RECOVERING", 600, 600),
    ]
