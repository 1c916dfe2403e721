"""Views of I/O outliers: V$IO_OUTLIER with believable latencies, V$LGWRIO_OUTLIER as broken platforms show it."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TYPE_CHECKING

from presman.sources.simulator.latency_shapes import BUCKETS, reading_events
from presman.sources.simulator.views.view import Row, View, columns

if TYPE_CHECKING:
    from presman.sources.simulator.machine import Machine
    from presman.sources.simulator.simulation import Simulation

_LONG = 20
"""The first bucket above half a second."""
_MOST = 12


def _slow_reads(machine: Machine, event: str) -> list[int]:
    """Return the buckets of the reads that took longer than half a second, one entry per read, some of them."""
    counts = machine.events[event].counts
    return [bucket for bucket in range(_LONG, BUCKETS) for _ in range(min(counts[bucket], _MOST))][-_MOST:]


def _io_outlier(simulation: Simulation) -> Iterator[Row]:
    storage = simulation.scenario.capacity.storage
    for machine in simulation.machines:
        event, _ = reading_events(storage)
        rng = Random(f"{simulation.seed}/outliers/{machine.inst_id}")
        buckets = _slow_reads(machine, event)
        rng.shuffle(buckets)
        for number, bucket in enumerate(buckets):
            latency = int(rng.uniform(0.5, 1.0) * (1 << bucket) / 1000)
            file, disk = f"+DATA/dw/datafile/sales_{number % 5:02}.dbf", f"DATA_{rng.randrange(12):04}"
            yield (machine.inst_id, "Buffer Cache Reads", 8, event, file, latency, disk, latency, None, 0, None, 0, 0)


def _lgwrio_outlier(simulation: Simulation) -> Iterator[Row]:
    """Values that only grow, a few milliseconds of a clock apart, as published of some platforms."""
    for machine in simulation.machines:
        start = 1_190_000_000 + int(simulation.scenario.header.uptime * 1000)
        for number in range(8):
            value = start + 40_000 * number
            file = f"+REDO/dw/onlinelog/group_{number % 4 + 1}.log"
            event = "log file parallel write"
            yield (
                machine.inst_id,
                "LGWR",
                4 << number % 3,
                event,
                file,
                value,
                "REDO_0001",
                value,
                None,
                0,
                None,
                0,
                0,
            )


_COLUMNS = columns(
    "INST_ID FUNCTION_NAME IO_SIZE WAIT_EVENT FILE_NAME IO_LATENCY DISK1_NAME DISK1_LATENCY DISK2_NAME DISK2_LATENCY"
    " DISK3_NAME DISK3_LATENCY CON_ID"
)

VIEWS = (View("V$IO_OUTLIER", _COLUMNS, _io_outlier), View("V$LGWRIO_OUTLIER", _COLUMNS, _lgwrio_outlier))
