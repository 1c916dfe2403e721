"""Totals of counters: what groups, containers and instances have used and waited for so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import attrgetter, itemgetter
from typing import Any

from presman.analysis.latency.system_waits import redo_sizes
from presman.analysis.readings.group_readings import QueueTotals, SessionTotals
from presman.analysis.readings.session_readings import OTHER
from presman.analysis.readings.wait_readings import EventWaits, InstanceTotals, UsageTotals
from presman.rows.group_rows import CPU_COLUMNS, IO_COLUMNS, ConsumerGroup
from presman.rows.instance_rows import RsrcPdb, SystemEvent
from presman.rows.snapshot import Snapshot

_COLUMNS = (*CPU_COLUMNS, "io_service_time", *IO_COLUMNS)
"""What both views count, in the order of UsageTotals."""


def _columns(record: Any, *more: str) -> Callable[[Any], tuple[int, ...]]:
    return itemgetter(*(record._fields.index(name) for name in (*_COLUMNS, *more)))


USAGE_COLUMNS = (*_COLUMNS, "requests", "cpu_waits")
"""The columns of V$RSRC_CONSUMER_GROUP that UsageTotals has, in its order."""

QUEUE_COLUMNS = (
    "pqs_queued", "pqs_completed", "pq_servers_used", "pq_active_time", "pq_queued_time", "pq_queue_time_outs",
)  # fmt: skip
"""The columns of V$RSRC_CONSUMER_GROUP that QueueTotals has, in its order."""

SESSION_COLUMNS = ("active_session_limit_hit", "queued_time", "switches_in_cpu_time", "switches_out_cpu_time")
"""The columns of V$RSRC_CONSUMER_GROUP that SessionTotals has, in its order."""

_of_queue, _of_sessions = attrgetter(*QUEUE_COLUMNS), attrgetter(*SESSION_COLUMNS)
_of_group = _columns(ConsumerGroup, "requests", "cpu_waits")
_of_container = _columns(RsrcPdb)


def usage_of_group(row: ConsumerGroup | None) -> UsageTotals | None:
    """Return what a consumer group has used; None without a row of V$RSRC_CONSUMER_GROUP."""
    return None if row is None else UsageTotals._make(_of_group(row))


def queue_totals(row: ConsumerGroup | None) -> QueueTotals:
    """Return what was counted of a group's parallel statements."""
    return QueueTotals._make(_of_queue(row) if row is not None else (None,) * len(QUEUE_COLUMNS))


def session_totals(row: ConsumerGroup | None) -> SessionTotals:
    """Return what was counted of a group's sessions."""
    return SessionTotals._make(_of_sessions(row) if row is not None else (None,) * len(SESSION_COLUMNS))


def usage_of_container(row: RsrcPdb | None) -> UsageTotals | None:
    """Return what a container has used; None without a row of V$RSRC_PDB."""
    return None if row is None else UsageTotals(*_of_container(row))


def together_used(parts: Sequence[UsageTotals | None]) -> UsageTotals | None:
    """Return the sum over instances; None where one of them is not known."""
    known = [each for each in parts if each is not None]
    if len(known) < len(parts) or len(known) < 2:
        return known[0] if len(known) == len(parts) == 1 else None
    return UsageTotals._make(None if None in values else sum(values) for values in zip(*known, strict=True))


def instance_totals(snapshot: Snapshot) -> tuple[InstanceTotals, ...]:
    """Return the counters of each instance since it started, in order; of those that a view speaks of."""
    waits: dict[int, dict[str, EventWaits]] = {}
    untold: set[tuple[int, str]] = set()
    for row in snapshot.rows(SystemEvent):
        classes = waits.setdefault(row.inst_id, {})
        name = row.wait_class or OTHER
        if row.total_waits is None or row.time_waited_micro is None:
            untold.add((row.inst_id, name))
            continue
        known = classes.get(name)
        before = (known.waits, known.microseconds) if known else (0, 0)
        classes[name] = EventWaits(before[0] + row.total_waits, before[1] + row.time_waited_micro)
    for inst_id, name in untold:
        waits[inst_id].pop(name, None)
    redo = redo_sizes(snapshot)
    return tuple(
        InstanceTotals(inst_id, waits.get(inst_id, {}), redo.get(inst_id)) for inst_id in sorted(waits.keys() | redo)
    )
