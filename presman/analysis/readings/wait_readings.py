"""Waits of the system: how many, for how long, how these are spread, and whether the values contradict each other."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

ESTIMATOR = 0.75
"""What part of its bucket's bound a wait is taken to have lasted: the middle, because each bound is twice the last."""


class Bucket(Struct, frozen=True):
    """Waits shorter than `upper_us` and not shorter than the bucket before; `delta` since the last poll."""

    upper_us: int
    count: int
    delta: int | None

    @property
    def estimated_us(self) -> float:
        """Microseconds all of its waits took: an estimate, 0.75 of the bound each."""
        return ESTIMATOR * self.upper_us * self.count

    @property
    def estimated_delta_us(self) -> float | None:
        """The same of the waits since the last poll."""
        return None if self.delta is None else ESTIMATOR * self.upper_us * self.delta


class EventWaits(Struct, frozen=True):
    """How often and how long an event was waited for, measured (V$SYSTEM_EVENT), not estimated."""

    waits: int
    microseconds: int

    @property
    def mean_us(self) -> float | None:
        """Microseconds of an average wait; None without waits."""
        return self.microseconds / self.waits if self.waits else None


class Histogram(Struct, frozen=True):
    """Latency of one event on one instance, buckets in order of their bounds, totals since startup.

    `seconds` lie between the two reads its deltas are of. `startup` and `now` are what V$SYSTEM_EVENT says of the
    event since startup and since the last poll; None for idle events, which that view is not asked for.
    """

    inst_id: int
    event: str
    buckets: tuple[Bucket, ...]
    seconds: float | None = None
    wait_class: str = ""
    startup: EventWaits | None = None
    now: EventWaits | None = None


class RedoHealth(Struct, frozen=True):
    """What commits and the redo writer wait for since the last poll; `inst_id` 0 is the cluster.

    `sync_ms` is the mean of 'log file sync' (a commit), `write_ms` of 'log file parallel write' (the write itself);
    None without such waits, or if they are missing. `outside_percent` is the part of a commit's wait that the write
    does not explain.
    """

    inst_id: int
    sync_ms: float | None
    write_ms: float | None
    syncs_per_s: float | None
    writes_per_s: float | None
    outside_percent: float | None
    redo_mb: float | None


class Outlier(Struct, frozen=True):
    """One row of V$IO_OUTLIER or V$LGWRIO_OUTLIER (`view`). Latencies in milliseconds, of the disks too.

    They are None, and the disks left out, where presman does not believe them.
    """

    view: str
    inst_id: int
    function: str
    size_kb: int
    event: str
    file: str
    latency_ms: int | None
    disks: tuple[tuple[str, int], ...] = ()


class OutlierReading(Struct, frozen=True):
    """What a view of I/O outliers says on request, `at` when it was asked.

    `doubts` tell why its latencies are not believed; then they are not in the rows.
    """

    view: str
    at: datetime | None
    rows: tuple[Outlier, ...]
    doubts: tuple[str, ...]


class WaitReading(Struct, frozen=True):
    """One wait event on one instance since the last poll: average sessions waiting, waits/s, mean wait in ms.

    V$SYSTEM_EVENT counts a wait when it ends: `per_second` and `mean_ms` are of those that did. `sessions` are those
    that wait now (V$SESSION) where waits last longer than the time between the polls. None: the view does not tell it.
    """

    inst_id: int
    event: str
    wait_class: str
    sessions: float | None
    per_second: float | None
    mean_ms: float | None

    @property
    def ended(self) -> float | None:
        """Seconds of waits that ended, per second: all of their time, however long before the last poll they began."""
        if self.per_second is None or (self.mean_ms is None and self.per_second):
            return None
        return self.per_second * (self.mean_ms or 0.0) / 1000
