"""Totals of a reading: the few figures that say in one line how a database is."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.readings.reading import Reading


class Totals(Struct, frozen=True):
    """Figures over all groups and instances; None where what they are made of could not be read.

    `queued` statements wait in the parallel statement queue (V$SESSION), the one that came first for `longest` seconds;
    `pool_queued` sessions wait for their group's active session pool. `servers` processes are in use
    (V$PX_PROCESS_SYSSTAT), of `target` (PARALLEL_SERVERS_TARGET) and at most `maximum`; `idle_held` of them are held by
    idle statements. `downgraded` statements run with fewer than they asked for. `used` and `waiting` are CPUs since the
    last poll (V$RSRC_CONSUMER_GROUP), of `cpus`.
    """

    queued: int | None
    longest: float | None
    pool_queued: int
    servers: int
    target: int | None
    maximum: int | None
    idle_held: int | None
    downgraded: int | None
    used: float | None
    waiting: float | None
    cpus: float | None


def totals(reading: Reading) -> Totals:
    """Return the totals of a reading."""
    lacking = {each.what for each in reading.basis if each.lacking}
    queue = None if "queue" in lacking else reading.queue
    running = None if "downgrade" in lacking else reading.running
    groups, pool = reading.cluster_groups(), reading.header.servers
    return Totals(
        queued=None if queue is None else len(queue),
        longest=None if queue is None else max((each.waited for each in queue), default=0.0),
        pool_queued=sum(each.pool.queued for each in groups if each.pool),
        servers=pool.in_use,
        target=pool.target,
        maximum=pool.maximum,
        idle_held=None if running is None else sum(each.servers for each in running if each.idle is not None),
        downgraded=None if running is None else sum(each.downgraded > 0 for each in running),
        used=_sum([each.used for each in groups]),
        waiting=_sum([each.waiting for each in groups]),
        cpus=reading.header.num_cpus or None,
    )


def _sum(values: list[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return sum(known) if known and len(known) == len(values) else None
