"""Streams of sessions of a pool: their states at a moment, and their totals, compared with values by hand."""

from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from presman.sources.simulator.executions import SessionStream


def stream(sessions: int = 40, *, cpu: float = 0.02, io: float = 0.03, cycle: float = 0.1) -> SessionStream:
    spec: Any = SimpleNamespace(group="ETL", cpu=cpu, io=io, think=cycle - cpu - io)
    found = SessionStream(spec, 1, [SimpleNamespace(number=number) for number in range(sessions)], Random(1))  # type: ignore[misc]
    found.cycle, found.duty = cycle, cpu / cycle
    return found


@pytest.mark.parametrize(
    ("fraction", "pace", "parts"),
    [
        (1.0, 1.0, (8, 0, 12, 0)),  # 20 % of 40 on CPU, 30 % read, the others think
        (0.5, 1.0, (4, 20, 6, 0)),  # half of the active sessions wait for CPU
        (1.0, 0.5, (4, 0, 6, 20)),  # half of the reading sessions are throttled
        (0.5, 0.5, (2, 20, 3, 10)),
    ],
)
def test_sessions_are_on_cpu_wait_read_or_are_held_back(
    fraction: float, pace: float, parts: tuple[int, int, int, int]
) -> None:
    found = stream()
    found.fraction, found.pace = fraction, pace
    found.wait_rate = 40 * (1 - fraction)
    assert found.split() == parts


def test_no_session_waits_for_a_plan_that_does_not_divide_cpu() -> None:
    """The operating system lets it wait, which no view counts: V$SESSION shows it as on CPU."""
    found = stream()
    found.fraction = 0.5
    assert found.split() == (24, 0, 6, 0)


def test_work_is_the_rate_times_the_time() -> None:
    found = stream()
    found.cpu_rate, found.wait_rate, found.call_rate, found.read_rate = 2.0, 1.0, 30.0, 8.0
    found.flow(0.5)
    found.flow(1.5)
    assert (found.cpu, found.wait, found.requests, found.reads) == (4.0, 2.0, 60.0, 16.0)


def test_without_wave_and_swing_a_session_wants_cpu_for_its_part_of_a_cycle() -> None:
    found = stream()
    found.spec.wave, found.spec.swing = SimpleNamespace(depth=0.0, period=60.0), 0.0
    found.change_activity(5.0, 1.0)
    assert (found.cycle, found.duty) == (pytest.approx(0.1), pytest.approx(0.2))
    found.spec.wave = SimpleNamespace(depth=1.0, period=60.0)
    found.change_activity(15.0, 1.0)  # a quarter of the wave: twice as active, so 0.05 s of thinking become 0.025
    assert (found.cycle, found.duty) == (pytest.approx(0.075), pytest.approx(0.02 / 0.075))
    found.change_activity(45.0, 1.0)  # three quarters of the wave: at least a tenth as active
    assert found.cycle == pytest.approx(0.05 + 0.5)
