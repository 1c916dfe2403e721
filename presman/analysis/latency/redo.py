"""Health of redo writes: what commits wait for, and how much of it is the write."""

from __future__ import annotations

from collections.abc import Iterable

from presman.analysis.facts.facts import Facts
from presman.analysis.readings.instance_readings import CLUSTER
from presman.analysis.readings.wait_readings import RedoHealth, WaitReading, added
from presman.rows.instance_rows import Sysstat
from presman.rows.snapshot import Snapshot

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
        inst_id: (size - before[inst_id]) / seconds / _MB
        for inst_id, size in redo_sizes(facts.snapshot).items()
        if size >= before.get(inst_id, size + 1) and deltas.same_start(inst_id)
    }


def redo_sizes(snapshot: Snapshot) -> dict[int, int]:
    """Return the bytes of redo since startup by instance; empty where V$SYSSTAT has no values."""
    if "value" in snapshot.section(Sysstat).absent:
        return {}
    return {row.inst_id: row.value for row in snapshot.rows(Sysstat) if row.name == REDO_SIZE}


def _health(inst_id: int, waits: Iterable[WaitReading], redo_mb: float | None) -> RedoHealth:
    sync, write = _sum(waits, SYNC), _sum(waits, WRITE)
    sync_ms, write_ms = _mean(*sync), _mean(*write)
    outside = None
    if sync_ms and write_ms is not None:
        outside = 100 * max(0.0, sync_ms - write_ms) / sync_ms
    return RedoHealth(inst_id, sync_ms, write_ms, sync[1], write[1], outside, redo_mb)


def _sum(waits: Iterable[WaitReading], event: str) -> tuple[float | None, float | None]:
    """Return the seconds of waits for an event that ended per second, and how many did."""
    found = [wait for wait in waits if wait.event == event]
    return added(wait.ended for wait in found), added(wait.per_second for wait in found)


def _mean(ended: float | None, per_second: float | None) -> float | None:
    return 1000 * ended / per_second if ended is not None and per_second else None
