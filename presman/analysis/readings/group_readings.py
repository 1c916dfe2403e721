"""Readings of consumer groups: CPU, I/O, queue, and what becomes of them."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class Verdict(Enum):
    """What happens to a group's CPU, in the words shown."""

    UNKNOWN = "no delta yet"
    NOT_MANAGED = "CPU not managed"
    IDLE = "idle"
    NOT_THROTTLED = "not throttled"
    CAPPED = "at its limit"
    CONTENDED = "contended, gets its share"
    CAGED = "caged, gets its share"
    THROTTLED = "throttled, share not known"
    STARVED = "starved"
    ZERO_SHARE = "no share while others run"


class IoRates(NamedTuple):
    """I/O of one group per second since the last poll. `service_ms` is the mean service time of a request.

    `waits` are waits for I/O per second (IO_SERVICE_WAITS).
    """

    small_read_mb: float
    small_write_mb: float
    large_read_mb: float
    large_write_mb: float
    small_read_requests: float
    small_write_requests: float
    large_read_requests: float
    large_write_requests: float
    service_ms: float | None
    waits: float = 0.0

    @property
    def mb(self) -> float:
        """MB per second, all kinds."""
        return self.small_read_mb + self.small_write_mb + self.large_read_mb + self.large_write_mb

    @property
    def requests(self) -> float:
        """Requests per second, all kinds."""
        return (
            self.small_read_requests + self.small_write_requests + self.large_read_requests + self.large_write_requests
        )


class SessionTotals(NamedTuple):
    """Counters of a group's sessions since the plan was activated (V$RSRC_CONSUMER_GROUP).

    `pool_waits` calls had to wait for the active session pool, `pool_ms` milliseconds in all; `switched_in` and
    `switched_out` count sessions that SWITCH_TIME moved into and out of the group.
    """

    pool_waits: int = 0
    pool_ms: int = 0
    switched_in: int = 0
    switched_out: int = 0


class ActiveSessionPool(NamedTuple):
    """The active session pool of a group, now.

    `allowed` sessions may be in a call at a time (ACTIVE_SESS_POOL_P1, summed over the instances shown; None where it
    cannot be read), `queued` wait for a place (V$RSRC_CONSUMER_GROUP.QUEUE_LENGTH), the first of them for `longest`
    seconds (V$SESSION); after `timeout` seconds (QUEUEING_P1) its call ends with an error, None: never.
    """

    allowed: int | None
    queued: int
    longest: float | None = None
    timeout: int | None = None


class QueueTotals(NamedTuple):
    """Counters of a group's parallel statements since the plan was activated (V$RSRC_CONSUMER_GROUP)."""

    queued: int
    completed: int
    servers_used: int
    active_ms: int
    queued_ms: int
    timeouts: int


def demand(used: float | None, waiting: float | None) -> float | None:
    """Return CPUs wanted: used + waiting."""
    return None if used is None or waiting is None else used + waiting


def throttled_percent(used: float | None, waiting: float | None) -> float | None:
    """Return percent of CPU demand that had to wait: waiting / (used + waiting)."""
    wanted = demand(used, waiting)
    if wanted is None or waiting is None:
        return None
    return 100 * waiting / wanted if wanted > 0 else 0.0


class GroupReading(NamedTuple):
    """One consumer group on one instance, or on the cluster (`inst_id` 0).

    `used`, `waiting`: CPUs since the last poll (None without a delta); `capacity`: CPUs handed out; `limit`: CPUs
    at its UTILIZATION_LIMIT (limits above it multiplied in), None without one; `guaranteed`: CPUs it gets when
    everyone is busy; `entitled`: CPUs it is due now, of what all groups want; `share` is the guaranteed
    minimum as a fraction. `servers_limit` is in servers, `servers_limit_percent` says how it comes about.
    `cpu_waits_per_s` counts how often sessions were held off CPU for a time slice; `all_used` is the CPUs that all
    groups of the instance (the cluster) used together. `cpu_exhausted` is the percent of the last closed minute in
    which the CPUs were exhausted (the most of any instance), None before 23. `pool` is its active session pool, None
    without one. `container` is the pluggable database's
    name, "" outside of one. `limited_by` is whose limit holds the group where it is not its own, with the CPUs used
    under it and allowed; `hidden` is what keeps its due from being known; `inside` tells that other containers, with
    which it shares the CPUs, are not seen.
    """

    inst_id: int
    con_id: int
    name: str
    in_plan: bool
    used: float | None
    waiting: float | None
    capacity: float
    limit: float | None
    share: float
    guaranteed: float
    entitled: float | None
    verdict: Verdict
    active_sessions: int
    execution_waiters: int
    yields_per_s: float | None
    requests_per_s: float | None
    pool_queue_length: int
    io: IoRates | None
    px_active: int
    px_servers: int
    px_queued: int
    servers_limit: int | None
    servers_limit_percent: int | None
    head_waited: float | None
    totals: QueueTotals
    cpu_waits_per_s: float | None = None
    all_used: float | None = None
    cpu_exhausted: float | None = None
    sessions: SessionTotals = SessionTotals()
    pool: ActiveSessionPool | None = None
    container: str = ""
    limited_by: str = ""
    limit_used: float | None = None
    limit_allowed: float | None = None
    hidden: str = ""
    inside: bool = False

    @property
    def title(self) -> str:
        """Its name, with that of its container where several are seen."""
        return f"{self.name} ({self.container})" if self.container and not self.inside else self.name

    @property
    def wanted(self) -> float | None:
        """CPUs wanted: used + waiting."""
        return demand(self.used, self.waiting)

    @property
    def used_percent(self) -> float | None:
        """Percent of capacity used."""
        return None if self.used is None or not self.capacity else 100 * self.used / self.capacity

    @property
    def consumed_percent(self) -> float | None:
        """Percent of the CPU that all groups consumed."""
        return None if self.used is None or not self.all_used else 100 * self.used / self.all_used

    @property
    def throttled_percent(self) -> float | None:
        """Percent of CPU demand that had to wait: waiting / (used + waiting)."""
        return throttled_percent(self.used, self.waiting)

    @property
    def cpu_wait_ms(self) -> float | None:
        """Milliseconds that a session was held off CPU each time, on average."""
        if self.waiting is None or not self.cpu_waits_per_s:
            return None
        return 1000 * self.waiting / self.cpu_waits_per_s
