"""Readings of counters as they stand: totals that only grow, until an instance starts or a plan is activated anew."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.readings.wait_readings import EventWaits


class UsageTotals(NamedTuple):
    """What a group or container used since the plan was activated (V$RSRC_CONSUMER_GROUP, V$RSRC_PDB).

    Milliseconds, megabytes, counts. None where the view has no such column: V$RSRC_PDB counts neither requests nor how
    often CPU was waited for.
    """

    cpu_ms: int | None
    cpu_wait_ms: int | None
    io_service_ms: int | None
    small_read_mb: int | None
    small_write_mb: int | None
    large_read_mb: int | None
    large_write_mb: int | None
    small_read_requests: int | None
    small_write_requests: int | None
    large_read_requests: int | None
    large_write_requests: int | None
    requests: int | None = None
    cpu_waits: int | None = None


class InstanceTotals(Struct, frozen=True):
    """Counters of one instance since it started.

    `waits` are those that ended, by wait class (V$SYSTEM_EVENT, without idle waits; classes that were not told in full
    are left out); `redo_bytes` is the redo that was
    made (V$SYSSTAT), None where it cannot be read.
    """

    inst_id: int
    waits: Mapping[str, EventWaits]
    redo_bytes: int | None = None
