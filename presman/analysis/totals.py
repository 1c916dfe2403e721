"""Totals of a reading: the few figures that say in one line how a database is."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement, is_downgrade, longest_wait


class Totals(Struct, frozen=True):
    """Figures over all groups and instances; None where what they are made of could not be read.

    `queued` statements wait in the parallel statement queue (V$SESSION), the one that came first for `longest` seconds;
    `pool_queued` sessions wait for their group's active session pool. `servers` processes are in use
    (V$PX_PROCESS_SYSSTAT), of `target` (PARALLEL_SERVERS_TARGET) and at most `maximum`; `idle_held` of them are held by
    idle statements. `downgraded` statements run with fewer than they asked for; `downgrades` operations were downgraded
    per minute since the last poll (V$SYSSTAT). `used` and `waiting` are CPUs since the
    last poll (V$RSRC_CONSUMER_GROUP), of `cpus`.
    """

    queued: int | None
    longest: float | None
    pool_queued: int | None
    servers: int | None
    target: int | None
    maximum: int | None
    idle_held: int | None
    downgraded: int | None
    used: float | None
    waiting: float | None
    cpus: float | None
    downgrades: float | None = None


def totals(reading: Reading) -> Totals:
    """Return the totals of a reading."""
    lacking = {each.what for each in reading.basis if each.lacking}
    queue = None if "queue" in lacking else reading.queue
    running = None if reading.why_unavailable("V$PX_SESSION") else reading.running
    groups, pool = reading.cluster_groups(), reading.header.servers
    return Totals(
        queued=None if queue is None else len(queue),
        longest=None if queue is None else longest_wait(queue) if queue else 0.0,
        pool_queued=_pool_queued(reading, sessions_seen=queue is not None),
        servers=pool.in_use,
        target=pool.target,
        maximum=pool.maximum,
        idle_held=None if running is None else sum(each.servers for each in running if each.idle is not None),
        downgraded=None if running is None or not all(map(_has_degrees, running)) else _downgraded(running),
        downgrades=downgrades_per_minute(reading),
        used=_sum([None if each.doubt else each.used for each in groups]),
        waiting=_sum([None if each.doubt else each.waiting for each in groups]),
        cpus=reading.header.num_cpus or None,
    )


def _pool_queued(reading: Reading, *, sessions_seen: bool) -> int | None:
    """Return the sessions that wait for a session pool; None where neither V$SESSION nor QUEUE_LENGTH tells."""
    groups = reading.cluster_groups()
    if not sessions_seen and (not groups or any(each.pool_queue_length is None for each in groups)):
        return None
    return sum(each.pool.queued for each in groups if each.pool)


def _has_degrees(running: RunningStatement) -> bool:
    """Whether V$PX_SESSION told the degree of a statement and the one it asked for."""
    return running.degree is not None and running.requested is not None


def _downgraded(running: Iterable[RunningStatement]) -> int:
    return sum(each.downgraded > 0 for each in running)


def downgrades_per_minute(reading: Reading) -> float | None:
    """Return the parallel operations downgraded per minute since the last poll, None where V$SYSSTAT did not tell."""
    deltas = [each.delta for each in reading.downgrades if is_downgrade(each.name)]
    known = [each for each in deltas if each is not None]
    return 60 * sum(known) / reading.interval if known and len(known) == len(deltas) and reading.interval else None


def _sum(values: list[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known and len(known) == len(values) else None
