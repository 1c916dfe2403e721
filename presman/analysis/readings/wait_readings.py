"""Waits of the system: their number, time and distribution, and whether the values contradict each other."""

from datetime import datetime

from msgspec import Struct

ESTIMATOR = 0.75
"""The part of its bucket's upper bound that a wait is taken to have lasted: the middle, as each bound is twice the
last."""


class Bucket(Struct, frozen=True):
    """Waits shorter than `upper_us` and not shorter than the bucket before; `delta` since the last poll."""

    upper_us: int
    count: int
    delta: int | None

    @property
    def estimated_us(self) -> float:
        """Estimated total of its waits in microseconds: 0.75 of the bound for each."""
        return ESTIMATOR * self.upper_us * self.count

    @property
    def estimated_delta_us(self) -> float | None:
        """The same for the waits since the last poll."""
        return None if self.delta is None else ESTIMATOR * self.upper_us * self.delta


class EventWaits(Struct, frozen=True):
    """Number and total time of the waits for an event, measured (V$SYSTEM_EVENT), not estimated."""

    waits: int
    microseconds: int

    @property
    def mean_us(self) -> float | None:
        """Mean time of a wait in microseconds; None without waits."""
        return self.microseconds / self.waits if self.waits else None


class Histogram(Struct, frozen=True):
    """Latency of one event on one instance, with buckets in order of their bounds; totals are since startup.

    `seconds` is the time between the two reads that give its deltas. `startup` and `now` are the values of
    V$SYSTEM_EVENT for the event since startup and since the last poll; None for idle events, for which that view is not
    queried.
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

    `sync_ms` is the mean of 'log file sync' (a commit), `write_ms` the mean of 'log file parallel write' (the write
    itself); None without such waits, or if they are missing. `outside_percent` is the part of a commit's wait that the
    write does not explain.
    """

    inst_id: int
    sync_ms: float | None
    write_ms: float | None
    syncs_per_s: float | None
    writes_per_s: float | None
    outside_percent: float | None
    redo_mb: float | None


class Outlier(Struct, frozen=True):
    """One row of V$IO_OUTLIER or V$LGWRIO_OUTLIER (`view`). Latencies, also those of disks, are in milliseconds.

    If presman does not trust them, they are None, and the disks are left out.
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
    """The rows of a view of I/O outliers, queried on request, `at` the time of the query.

    `doubts` say why its latencies are not trusted; then the rows do not have them.
    """

    view: str
    at: datetime | None
    rows: tuple[Outlier, ...]
    doubts: tuple[str, ...]


class WaitReading(Struct, frozen=True):
    """One wait event on one instance since the last poll: average sessions waiting, waits/s, mean wait in ms.

    V$SYSTEM_EVENT counts a wait when it ends: `per_second` and `mean_ms` are of ended waits. `sessions` is the number
    that wait now (V$SESSION) if waits last longer than the time between the polls. None means that the view does not
    show it.
    """

    inst_id: int
    event: str
    wait_class: str
    sessions: float | None
    per_second: float | None
    mean_ms: float | None

    @property
    def ended(self) -> float | None:
        """Total time of ended waits per second, including time before the last poll."""
        if self.per_second is None or (self.mean_ms is None and self.per_second):
            return None
        return self.per_second * (self.mean_ms or 0.0) / 1000
