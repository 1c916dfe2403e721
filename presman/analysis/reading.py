"""The Reading: what one snapshot means, given the one before. Everything a screen, CSV or JSON shows is here.

Conventions: `inst_id` 0 is the whole cluster (the sum or the union of the instances). Numbers that need two
snapshots are None until there are two of the same plan window and instance start. CPUs are average running or
waiting sessions, i.e. CPU seconds per second. Seconds are seconds; MB are 2**20 bytes as Oracle counts them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from types import MappingProxyType
from typing import NamedTuple

from presman.analysis.drill import Detail
from presman.analysis.waiting import Histogram, OutlierReading, RedoHealth

CLUSTER = 0
"""The `inst_id` of figures over all instances."""


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


class Cause(Enum):
    """Why the head of a group's queue waits, in the words shown."""

    SYSTEM = "servers target reached"
    GROUP = "group limit reached"
    BEHIND = "behind others in its queue"
    NOT_CHOSEN = "not chosen yet"
    NEVER_FITS = "wants more than its limit"
    UNKNOWN = "not known"


@dataclass(frozen=True, slots=True)
class ServerPool:
    """Parallel servers of one instance (V$PX_PROCESS_SYSSTAT, V$RSRC_PLAN, V$SYSTEM_PARAMETER).

    `in_use` and `available` are processes now; `counted` is PARALLEL_SERVERS_ACTIVE, what the queue counts;
    `target` is PARALLEL_SERVERS_TARGET and `maximum` PARALLEL_MAX_SERVERS, None where not readable.
    """

    inst_id: int
    in_use: int
    available: int
    counted: int | None
    target: int | None
    maximum: int | None
    highwater: int | None = None


@dataclass(frozen=True, slots=True)
class InstanceReading:
    """One instance: identity, what its plan manages, its CPUs and its parallel servers.

    `num_cpus` is what Resource Manager hands out (CPU_COUNT when caged, else the host's); `host_busy` the share
    of host CPU time that was busy since the last poll (0..1).
    """

    inst_id: int
    name: str
    host: str
    started: datetime | None
    plan: str
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float
    host_cpus: float | None
    host_busy: float | None
    load: float | None
    servers: ServerPool


@dataclass(frozen=True, slots=True)
class Header:
    """What the top line shows. `px_managed` etc. are those of the first instance; `mixed_plans` tells they differ.

    `exadata` tells that storage cells answered, so that the database's I/O figures are not all there is to say;
    `autonomous` that the session is in a service of the Autonomous Database.
    `nature` are the words for what kind of database it is (CDB root, PDB, non-CDB, RAC, Exadata,
    Autonomous Database).
    """

    database: str
    version: str
    role: str
    cdb: bool
    container: str
    instances: tuple[InstanceReading, ...]
    plan: str
    plan_since: datetime | None
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float
    servers: ServerPool
    uptime: float | None
    mixed_plans: bool = False
    exadata: bool = False
    autonomous: bool = False
    nature: tuple[str, ...] = ()


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
    everyone is busy; `entitled`: CPUs it may claim among the groups with demand now; `share` is the guaranteed
    minimum as a fraction. `servers_limit` is in servers, `servers_limit_percent` says how it comes about.
    `cpu_waits_per_s` counts how often sessions were held off CPU for a time slice; `all_used` is the CPUs that all
    groups of the instance (the cluster) used together. `cpu_exhausted` is the percent of the last closed minute in
    which the CPUs were exhausted (the most of any instance), None before 23.
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


@dataclass(frozen=True, slots=True)
class DopStory:
    """What OTHER_XML says of a statement's degree. The first occurrence of each fact counts.

    `degree` is the chosen DOP; None and "" where the document is silent.
    """

    degree: int | None = None
    reason: str = ""
    operation_reason: str = ""
    cpu_degree: int | None = None
    io_degree: int | None = None
    queuing_reason: str = ""
    facts: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class Servers:
    """How many servers a queued statement wants: exact if `low` == `high`, a range where the plan is not known."""

    low: int
    high: int

    def __str__(self) -> str:
        return str(self.low) if self.low == self.high else f"{self.low}-{self.high}"


@dataclass(frozen=True, slots=True)
class QueuedStatement:
    """One statement in the parallel queue. `position` counts within its group from 1, oldest first.

    `timeout_left` is seconds to PARALLEL_QUEUE_TIMEOUT, None without one; `wants` is None if no DOP is known.
    """

    position: int
    inst_id: int
    sid: int
    serial: int
    group: str
    user: str
    program: str
    module: str
    service: str
    machine: str
    sql_id: str
    child: int | None
    waited: float
    timeout_left: float | None
    timeout_action: str
    requested: int | None
    dop: DopStory
    wants: Servers | None
    event: str
    sql_text: str
    con_id: int = 0


@dataclass(frozen=True, slots=True)
class RunningStatement:
    """One parallel statement that holds servers, by its coordinator.

    `degree` of `requested` (V$PX_SESSION, largest over its server sets), `downgraded` the percent lost; `idle` is
    seconds the coordinator has been INACTIVE while it holds servers, None while it works. `progress` (0..1) and
    `remaining` (seconds) are those of `operation`, what it works on at present (V$SESSION_LONGOPS), not of all of it.
    """

    inst_id: int
    sid: int
    serial: int
    group: str
    user: str
    program: str
    module: str
    service: str
    machine: str
    sql_id: str
    child: int | None
    servers: int
    sets: int
    degree: int | None
    requested: int | None
    downgraded: float
    elapsed: float | None
    idle: float | None
    status: str
    event: str
    servers_by_instance: Mapping[int, int]
    dop: DopStory
    sql_text: str
    con_id: int = 0
    progress: float | None = None
    remaining: float | None = None
    operation: str = ""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Servers that a head is `short` of under one ceiling that binds: what must be freed there before it can start.

    The system's target concerns `everybody`; a container's limit those of `con_id`, a group's those of `group` in it.
    """

    short: int
    everybody: bool = False
    con_id: int = 0
    group: str = ""


@dataclass(frozen=True, slots=True)
class QueueHead:
    """Why the first statement of a group's queue waits, with the figures of the sentence.

    All in servers: `wants`, the group's `held` of `allowed` (None: no group limit), the system's `in_use` of
    `target`; `short` is what must be freed, None where it cannot be known. `shortages` has every ceiling that binds;
    where the servers wanted are a range, they are for the most it may want.
    """

    group: str
    statement: QueuedStatement
    cause: Cause
    wants: Servers | None
    held: int
    allowed: int | None
    in_use: int
    target: int | None
    short: int | None
    sentence: str
    con_id: int = 0
    shortages: tuple[Shortage, ...] = ()


class SessionReading(NamedTuple):
    """One user session; a named tuple, because thousands are made at each poll.

    Rates are since the last poll, None without a delta of the same session.

    Three groups: `mapped_group` is the mapping rule's (by `mapping_attribute`), `original_group` where the active plan
    put the session at first (OTHER_GROUPS if it has no directive for the mapped one), `group` where it is now.
    `last_action` is what Resource Manager last did to it, as the view words it ("" before 12.1).
    """

    inst_id: int
    con_id: int
    sid: int
    serial: int
    user: str
    group: str
    mapped_group: str
    status: str
    state: str
    event: str
    wait_class: str
    waited: float | None
    sql_id: str
    child: int | None
    used: float | None
    waiting: float | None
    io_mb: float | None
    io_requests: float | None
    last_call: float
    px_role: str
    px_servers: int
    dop: int | None
    pq_status: str
    program: str
    module: str
    service: str
    machine: str
    logon: datetime | None
    original_group: str = ""
    mapping_attribute: str = ""
    last_action: str = ""
    last_action_reason: str = ""
    last_action_time: datetime | None = None


@dataclass(frozen=True, slots=True)
class WaitReading:
    """One wait event on one instance since the last poll: average sessions waiting, waits/s, mean wait in ms."""

    inst_id: int
    event: str
    wait_class: str
    sessions: float
    per_second: float
    mean_ms: float | None


@dataclass(frozen=True, slots=True)
class Downgrades:
    """Parallel operations per class since the last poll and since startup (V$SYSSTAT)."""

    inst_id: int
    name: str
    total: int
    delta: int | None


@dataclass(frozen=True, slots=True)
class Usual:
    """A group's parallel queue over some `seconds` (None: not known how many): means and shares, None where unknown.

    `mean_wait` is seconds per statement that had to queue, `queued_share` the part of all statements' life that they
    queued (0..1), `mean_servers` servers per completed statement, `mean_queue` statements queued on average.
    """

    seconds: float | None
    percent_queued: float | None
    mean_wait: float | None
    queued_share: float | None
    mean_servers: float | None
    mean_queue: float | None
    timeouts: int | None


@dataclass(frozen=True, slots=True)
class HourReading:
    """What V$RSRCMGRMETRIC_HISTORY says of one group's queue over the last hour, all instances."""

    con_id: int
    name: str
    usual: Usual


@dataclass(frozen=True, slots=True)
class Trouble:
    """A question that got no answer: the query's name, what is wrong and what cures it."""

    query: str
    view: str
    text: str
    cure: str


@dataclass(frozen=True, slots=True)
class Reading:
    """All of it. `interval` is seconds between the two snapshots on the database's clock, None without a delta.

    `detail` is what a close look at one session adds, None without; `hour` comes from the metric history. `sessions`
    are worked out when first looked at: there can be thousands, and few pages show them.
    `groups` holds the cluster rows (inst_id 0) first, then those per instance where there is more than one.
    """

    target: str
    kind: str
    at: datetime
    number: int
    interval: float | None
    poll_seconds: float
    round_trips: int
    header: Header
    groups: tuple[GroupReading, ...]
    queue: tuple[QueuedStatement, ...]
    heads: tuple[QueueHead, ...]
    running: tuple[RunningStatement, ...]
    sessions: Sequence[SessionReading]
    waits: tuple[WaitReading, ...]
    histograms: tuple[Histogram, ...]
    downgrades: tuple[Downgrades, ...]
    unmanaged_servers: int | None
    troubles: tuple[Trouble, ...]
    notes: tuple[str, ...] = ()
    redo: tuple[RedoHealth, ...] = ()
    outliers: tuple[OutlierReading, ...] = ()
    detail: Detail | None = None
    hour: tuple[HourReading, ...] = ()

    def cluster_groups(self) -> tuple[GroupReading, ...]:
        """Return the groups summed over the instances."""
        return tuple(group for group in self.groups if group.inst_id == CLUSTER)

    def instance_groups(self, inst_id: int) -> tuple[GroupReading, ...]:
        """Return the groups of one instance (the cluster's if `inst_id` is 0 or there is just one instance)."""
        own = tuple(group for group in self.groups if group.inst_id == inst_id)
        return own or self.cluster_groups()
