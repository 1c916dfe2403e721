"""Totals of a reading: the few figures that describe a database in one line."""

from collections.abc import Iterable, Sequence
from operator import itemgetter

from msgspec import Struct

from presman.analysis.latency.system_waits import redo_sizes
from presman.analysis.readings.group_readings import UsageTotals
from presman.analysis.readings.reading import InstanceTotals, Reading
from presman.analysis.readings.session_readings import OTHER
from presman.analysis.readings.statement_readings import RunningStatement, is_downgrade, longest_wait
from presman.analysis.readings.wait_readings import EventWaits
from presman.base.sums import added, grouped, sums_of
from presman.rows.group_rows import CPU_COLUMNS, IO_COLUMNS
from presman.rows.instance_rows import RsrcPdb, SystemEvent
from presman.rows.snapshot import Snapshot

_of_container = itemgetter(*map(RsrcPdb._fields.index, (*CPU_COLUMNS, "io_service_time", *IO_COLUMNS)))


def usage_of_container(row: RsrcPdb | None) -> UsageTotals | None:
    """Return the usage of a container; None without a row of V$RSRC_PDB."""
    return None if row is None else UsageTotals(*_of_container(row))


def together_used(parts: Sequence[UsageTotals | None]) -> UsageTotals | None:
    """Return the sum over instances; None if one of them is not known."""
    known = [each for each in parts if each is not None]
    return UsageTotals._make(sums_of(known)) if known and len(known) == len(parts) else None


def instance_totals(snapshot: Snapshot) -> tuple[InstanceTotals, ...]:
    """Return the counters of each instance since it started, in order, for the instances in any view."""
    # An instance all of whose classes are incomplete has no waits, but it was read.
    waits: dict[int, dict[str, EventWaits]] = {row.inst_id: {} for row in snapshot.rows(SystemEvent)}
    by_class = grouped(snapshot.rows(SystemEvent), lambda row: (row.inst_id, row.wait_class or OTHER))
    for (inst_id, name), rows in by_class.items():
        number, time = sums_of((row.total_waits, row.time_waited_micro) for row in rows)
        if number is not None and time is not None:
            waits[inst_id][name] = EventWaits(number, time)
    redo = redo_sizes(snapshot)
    inst_ids = sorted(waits.keys() | redo)
    return tuple(InstanceTotals(inst_id, waits.get(inst_id, {}), redo.get(inst_id)) for inst_id in inst_ids)


# ---- Totals of a reading.


class Totals(Struct, frozen=True):
    """Figures over all groups and instances; None if their source could not be read.

    `queued` statements wait in the parallel statement queue (V$SESSION, else V$RSRC_CONSUMER_GROUP), the first of them
    for `longest` seconds. `pool_queued` sessions wait for their group's active session pool, `held` sessions for the
    end of a quiesce. `servers` processes are in use (V$PX_PROCESS_SYSSTAT), of `target` (PARALLEL_SERVERS_TARGET) and
    at most `maximum`; `idle_held` of them are held by idle statements. `downgraded` statements run with fewer servers
    than they requested; `downgrades` is the number of operations downgraded per minute since the last poll (V$SYSSTAT).
    `used` and `waiting` are CPUs since the last poll (V$RSRC_CONSUMER_GROUP), of `cpus`.
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
    held: int | None = None


def totals(reading: Reading) -> Totals:
    """Return the totals of a reading."""
    queue = reading.queue if reading.lists_queue() else None
    no_wait = None if reading.part else 0.0
    running = None if reading.why_unavailable("V$PX_SESSION") else reading.running
    has_degrees = all(each.degree is not None and each.requested is not None for each in running or ())
    groups, pool = reading.cluster_groups(), reading.header.servers
    return Totals(
        queued=queued_now(reading),
        longest=None if queue is None else longest_wait(queue) if queue else no_wait,
        pool_queued=_pool_queued(reading, sessions_visible=queue is not None),
        servers=pool.in_use,
        target=pool.target,
        maximum=pool.maximum,
        idle_held=_idle_held(reading),
        downgraded=None if running is None or not has_degrees else len(downgraded(running)),
        downgrades=downgrades_in_a_minute(reading),
        used=added(None if each.doubt else each.used for each in groups) if groups else None,
        waiting=added(None if each.doubt else each.waiting for each in groups) if groups else None,
        cpus=reading.header.num_cpus,
        held=_held(reading, sessions_visible=queue is not None),
    )


def queued_now(reading: Reading) -> int | None:
    """Return the number of queued statements, from V$SESSION or else V$RSRC_CONSUMER_GROUP."""
    queued = sum(reading.queued_by_group().values()) or len(reading.queue)
    return (queued or None) if reading.why_unknown("queue") else queued


def _idle_held(reading: Reading) -> int | None:
    """Return the servers of idle holders; None if no view shows all holders, or which of them are idle."""
    if any(map(reading.why_unavailable, ("V$PX_SESSION", "V$SESSION"))):
        return None
    held = sum(each.servers for each in reading.running if each.idle is not None)
    return (held or None) if reading.part else held


def _held(reading: Reading, *, sessions_visible: bool) -> int | None:
    """Return the sessions that a quiesce holds; None if no view shows them, or whether the database is quiesced."""
    if reading.quiesce is not None:
        return reading.quiesce.waiting
    return 0 if sessions_visible and not reading.why_unavailable("V$INSTANCE") else None


def _pool_queued(reading: Reading, *, sessions_visible: bool) -> int | None:
    """Return the sessions that wait for a session pool; None if neither V$SESSION nor QUEUE_LENGTH shows it."""
    groups = reading.cluster_groups()
    if not sessions_visible and (not groups or any(each.pool_queue_length is None for each in groups)):
        return None
    return sum(each.pool.queued for each in groups if each.pool)


def downgraded(running: Iterable[RunningStatement]) -> list[RunningStatement]:
    """Return the statements that run with fewer servers than they requested."""
    return [each for each in running if each.downgraded > 0 and not each.orphaned]


def downgrades_in_a_minute(reading: Reading) -> float | None:
    """Return the parallel operations downgraded since the last poll, per minute if that is longer than a minute ago.

    Within less than a minute it is their number: one within two seconds does not make thirty in a minute. None if
    V$SYSSTAT had no values of an instance.
    """
    rows = [each for each in reading.downgrades if is_downgrade(each.name)]
    number = added(each.delta for each in rows)
    is_counted = {each.inst_id for each in rows} >= {each.inst_id for each in reading.header.instances}
    if not rows or not is_counted or number is None or not reading.interval:
        return None
    return 60 * number / max(60.0, reading.interval)
