"""Health of redo writes: what commits wait for, and how much of it is the write."""

from __future__ import annotations

from collections.abc import Iterable

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.instance_readings import CLUSTER
from presman.analysis.readings.wait_readings import RedoHealth, WaitReading
from presman.records.instance_rows import Sysstat

SYNC = "log file sync"
WRITE = "log file parallel write"
REDO_SIZE = "redo size"
_MB = 1 << 20


def redo(facts: Facts, waits: Iterable[WaitReading]) -> tuple[RedoHealth, ...]:
    """Return the redo writes of the cluster, then of each instance where there are several; empty without a delta."""
    rates = _rates(facts)
    found = [wait for wait in waits if wait.event in (SYNC, WRITE)]
    places = sorted({wait.inst_id for wait in found} | rates.keys())
    if not places:
        return ()
    whole = _health(CLUSTER, found, sum(rates.values()) if rates else None)
    if len(places) == 1:
        return (whole,)
    apart = [_health(place, [wait for wait in found if wait.inst_id == place], rates.get(place)) for place in places]
    return (whole, *apart)


def _rates(facts: Facts) -> dict[int, float]:
    """Return MB of redo per second by instance (V$SYSSTAT, 'redo size')."""
    deltas = facts.deltas
    seconds = deltas.interval(Sysstat)
    if seconds is None:
        return {}
    before = {row.inst_id: row.value for row in deltas.before(Sysstat) if row.name == REDO_SIZE}
    return {
        row.inst_id: (row.value - before[row.inst_id]) / seconds / _MB
        for row in facts.snapshot.rows(Sysstat)
        if row.name == REDO_SIZE
        and row.inst_id in before
        and row.value >= before[row.inst_id]
        and deltas.same_start(row.inst_id)
    }


def _health(inst_id: int, waits: Iterable[WaitReading], redo_mb: float | None) -> RedoHealth:
    sync, write = _sum(waits, SYNC), _sum(waits, WRITE)
    sync_ms, write_ms = _mean(*sync), _mean(*write)
    outside = None
    if sync_ms and write_ms is not None:
        outside = 100 * max(0.0, sync_ms - write_ms) / sync_ms
    return RedoHealth(inst_id, sync_ms, write_ms, sync[1], write[1], outside, redo_mb)


def _sum(waits: Iterable[WaitReading], event: str) -> tuple[float, float]:
    """Return the seconds of waits for an event that ended per second, and how many did."""
    found = [wait for wait in waits if wait.event == event]
    return sum(wait.ended for wait in found), sum(wait.per_second for wait in found)


def _mean(ended: float, per_second: float) -> float | None:
    return 1000 * ended / per_second if per_second else None
