"""Counters: the resource usage of each consumer group on each instance, and histograms of wait times.

The metrics of one minute are differences of the counters; the totals of a wait event are the sums of its histogram.
"""

from __future__ import annotations

from array import array
from enum import IntEnum
from functools import cache
from math import erf, exp, inf, log, log2, sqrt
from typing import NamedTuple

from msgspec import Struct, field

from presman.forecast.scheduler import Group

HISTORY = 60
"""Minutes that V$RSRCMGRMETRIC_HISTORY keeps."""


Count = IntEnum(
    "Count",
    "CONSUMED_CPU_TIME CPU_WAIT_TIME CPU_WAITS YIELDS REQUESTS IO_SERVICE_TIME IO_SERVICE_WAITS"
    " SMALL_READ_MEGABYTES SMALL_WRITE_MEGABYTES LARGE_READ_MEGABYTES LARGE_WRITE_MEGABYTES"
    " SMALL_READ_REQUESTS SMALL_WRITE_REQUESTS LARGE_READ_REQUESTS LARGE_WRITE_REQUESTS PQ_QUEUED_TIME"
    " ACTIVE_STATEMENT_SECONDS ACTIVE_SERVER_SECONDS QUEUED_SERVER_SECONDS QUEUED_TIME PQS_QUEUED"
    " PQS_COMPLETED PQ_SERVERS_USED PQ_ACTIVE_TIME PQ_QUEUE_TIME_OUTS ACTIVE_SESSION_LIMIT_HIT"
    " SWITCHES_IN_CPU_TIME SWITCHES_OUT_CPU_TIME SQL_CANCELED IO_THROTTLE QUEUE_TIME_OUTS",
    start=0,
)
"""The counters of a group since the simulation began: seconds, requests, MB. Those in views have their names."""


ZERO = [0.0] * len(Count)


class GroupCounters:
    """One group's counters on one instance: totals, their current rates per second, and earlier totals to subtract.

    Totals never restart; a view shows the total minus `base` (at the plan's activation), a metric the total minus
    `mark` (at the begin of the interval).
    """

    __slots__ = ("base", "mark", "noted", "rates", "totals")

    def __init__(self) -> None:
        self.totals, self.rates, self.base, self.mark, self.noted = (list(ZERO) for _ in range(5))

    def flow(self, seconds: float) -> None:
        """Advance the totals by `seconds` at the current rates."""
        if any(self.rates):
            self.totals = [total + rate * seconds for total, rate in zip(self.totals, self.rates, strict=True)]

    def take_noted(self) -> list[float]:
        """Return what was counted since the last call."""
        # `flow` and `Cluster.count` replace the list and never change it: the same list means that nothing was counted.
        if self.noted is self.totals:
            return list(ZERO)
        delta = [total - noted for total, noted in zip(self.totals, self.noted, strict=True)]
        self.noted = self.totals
        return delta


class Minute(NamedTuple):
    """One group's closed interval on one instance: the data of V$RSRCMGRMETRIC. `deltas` is indexed by :class:`Count`.

    `exhausted` is the fraction of the interval in which the instance had less CPU than was demanded.
    """

    inst_id: int
    group: Group
    begin: float
    end: float
    num_cpus: int
    limit: float
    servers_limit: int
    exhausted: float
    deltas: array[float]


BUCKETS = 33
"""Bucket b holds waits shorter than 2**b microseconds and not shorter than 2**(b - 1)."""
_BOUNDS = (0.0, *(float(1 << bucket) for bucket in range(BUCKETS - 1)), inf)

Shape = tuple[tuple[int, float, float], ...]
"""For each bucket: its number, its share of the waits, and their mean in microseconds."""


@cache
def shape(*modes: tuple[float, float, float]) -> Shape:
    """Return the buckets of a mixture of log-normal modes: (weight, median in microseconds, sigma)."""
    parts, times = [0.0] * BUCKETS, [0.0] * BUCKETS
    for weight, median, sigma in modes:
        centre, mean = log(median), median * exp(sigma * sigma / 2)
        for bucket in range(BUCKETS):
            edges = _BOUNDS[bucket : bucket + 2]
            lower, upper = ((log(bound) - centre) / sigma if bound else -inf for bound in edges)
            parts[bucket] += weight * (_normal(upper) - _normal(lower))
            # The contribution to the mean between two bounds is the probability of a normal shifted by sigma.
            times[bucket] += weight * mean * (_normal(upper - sigma) - _normal(lower - sigma))
    # Every `record` goes through all buckets of a shape, so those that hardly any wait falls into are left out.
    kept = [bucket for bucket, part in enumerate(parts) if part > 1e-7]
    total = sum(parts[bucket] for bucket in kept)
    return tuple((bucket, parts[bucket] / total, times[bucket] / parts[bucket]) for bucket in kept)


def _normal(value: float) -> float:
    """Return the standard normal distribution at `value`."""
    return 0.5 * (1 + erf(value / sqrt(2)))


def mean_of(shape_: Shape) -> float:
    """Return the mean wait of a shape in microseconds."""
    return sum(part * mean for _, part, mean in shape_)


QUANTUM = shape((0.15, 9_000.0, 0.8), (0.85, 180_000.0, 0.6))
"""Waits for CPU of a group that gets a good part of its demand."""
STARVED = shape((0.55, 180_000.0, 0.7), (0.45, 25_000_000.0, 0.8))
"""Waits for CPU of a starved group: few, and some of them minutes long."""

# Devices answer most requests within a narrow band, which widens under load. So the error of 0.75 times a bucket's
# bound, the usual estimate of its mean, differs from event to event.
_LOG_WRITE = (
    shape((0.62, 390.0, 0.16), (0.375, 560.0, 0.28), (0.004, 2_400.0, 0.6), (0.001, 5_500.0, 0.4)),
    shape((0.90, 600.0, 0.5), (0.08, 3_500.0, 0.7), (0.02, 20_000.0, 0.8)),
)
_LOG_SYNC = shape((0.6, 610.0, 0.2), (0.38, 900.0, 0.35), (0.02, 5_000.0, 0.8)), _LOG_WRITE[1]
STORAGE = {
    "disk": (
        shape((0.22, 700.0, 0.6), (0.76, 9_500.0, 0.75), (0.001, 700_000.0, 0.4)),
        shape((0.10, 900.0, 0.6), (0.87, 17_000.0, 0.8), (0.004, 800_000.0, 0.5)),
    ),
    "flash": (
        shape((0.45, 238.0, 0.15), (0.45, 505.0, 0.25), (0.095, 2_200.0, 0.8), (0.001, 300_000.0, 0.9)),
        shape((0.62, 650.0, 0.6), (0.37, 5_200.0, 0.9), (0.003, 400_000.0, 0.9)),
    ),
}
STORAGE["exadata"] = STORAGE["flash"]

_PX_REPLY = shape((0.6, 900.0, 1.2), (0.4, 700_000.0, 1.0))


class Event(Struct):
    """One wait event of one instance: counts per bucket, total microseconds.

    `good` and `bad` are its shapes without and with load.
    """

    name: str
    wait_class: str
    good: Shape
    bad: Shape
    counts: list[int] = field(default_factory=lambda: [0] * BUCKETS)
    micros: float = 0.0
    _carry: list[float] = field(default_factory=lambda: [0.0] * BUCKETS)

    def record(self, waits: float, badness: float = 0.0, micros: float | None = None) -> None:
        """Count `waits` waits, spread over the buckets; fractions carry over. `micros` overrides their total time."""
        spent, counts, carry = 0.0, self.counts, self._carry
        for shape_, part in ((self.good, waits * (1 - badness)), (self.bad, waits * badness)):
            if part <= 0:
                continue
            for bucket, share, mean in shape_:
                amount = carry[bucket] + part * share
                if amount >= 1:
                    whole = int(amount)
                    counts[bucket] += whole
                    spent += whole * mean
                    amount -= whole
                carry[bucket] = amount
        self.micros += spent if micros is None else micros

    def record_one(self, seconds: float) -> None:
        """Count a single wait of a known length."""
        micros = max(1.0, seconds * 1e6)
        self.counts[min(BUCKETS - 1, int(log2(micros)) + 1)] += 1
        self.micros += micros


def events_of(storage: str, cluster: bool) -> dict[str, Event]:
    """Return the wait events of one instance for a kind of storage, with no waits yet."""
    good, bad = STORAGE[storage]
    single, scan = reading_events(storage)
    slow = shape((1.0, 3_000.0, 0.9))
    made = [
        Event("resmgr:cpu quantum", "Scheduler", QUANTUM, STARVED),
        Event("resmgr:pq queued", "Scheduler", slow, slow),
        Event("resmgr:become active", "Scheduler", slow, slow),
        Event(single, "User I/O", good, bad),
        Event(scan, "User I/O", good, bad),
        Event("direct path write", "User I/O", good, bad),
        Event("log file parallel write", "System I/O", *_LOG_WRITE),
        Event("log file sync", "Commit", *_LOG_SYNC),
        Event("control file sequential read", "System I/O", shape((1.0, 170.0, 0.2)), good),
        Event("latch free", "Other", shape((1.0, 1_100.0, 0.6)), slow),
        Event("enq: PS - contention", "Other", shape((1.0, 330.0, 0.3)), slow),
        Event("PX Deq: reap credit", "Other", shape((1.0, 7.6, 0.2)), slow),
        Event("PX Deq: Join ACK", "Idle", shape((1.0, 138.0, 0.2)), slow),
        Event("PX Deq: Execute Reply", "Idle", _PX_REPLY, _PX_REPLY),
        Event("SQL*Net message from client", "Idle", shape((1.0, 400_000.0, 1.2)), slow),
    ]
    if cluster:
        made.append(Event("gc cr block 2-way", "Cluster", shape((1.0, 250.0, 0.2)), slow))
    return {event.name: event for event in made}


def reading_events(storage: str) -> tuple[str, str]:
    """Return the events of single block reads and of parallel scans."""
    if storage == "exadata":
        return "cell single block physical read", "cell smart table scan"
    return "db file sequential read", "direct path read"
