"""Rows about instances, their parameters and hosts, pluggable databases, and waits with their histograms."""

from datetime import datetime
from typing import NamedTuple

SEED = 2
"""CON_ID of a container database's seed, which only the root sees in V$PDBS."""


class Instance(NamedTuple):
    """GV$INSTANCE: one row per running instance; `status` is OPEN, or OPEN MIGRATE, while the database is open.

    `active_state` is NORMAL, QUIESCING or QUIESCED.
    """

    inst_id: int
    instance_name: str
    host_name: str
    version: str
    startup_time: datetime | None
    status: str
    parallel: str
    active_state: str


class Database(NamedTuple):
    """V$DATABASE: the database's identity. `cdb` is YES or NO (NO before 12.1)."""

    name: str
    db_unique_name: str
    open_mode: str
    database_role: str
    cdb: str


class Pdb(NamedTuple):
    """GV$PDBS (12.1 and later): the containers visible to this connection, and their open mode on each instance.

    `inst_id` is 0 in older recordings, which lack it: then the row is about the instance presman was connected to.
    """

    inst_id: int
    con_id: int
    name: str
    open_mode: str


class Parameter(NamedTuple):
    """GV$SYSTEM_PARAMETER: the parameters that control CPU management, the parallel queue and a container's I/O.

    `con_id` is 0 or 1 for the instance's value; in the root, a container that sets its own value has a separate row.
    """

    inst_id: int
    name: str
    value: str
    con_id: int


class Sysstat(NamedTuple):
    """GV$SYSSTAT: statistics of parallel execution and the redo written, totals since instance start."""

    inst_id: int
    name: str
    value: int


class Osstat(NamedTuple):
    """GV$OSSTAT: the host. NUM_CPUS and LOAD are current values, *_TIME are centiseconds since the host started."""

    inst_id: int
    stat_name: str
    value: float


class ActiveService(NamedTuple):
    """GV$ACTIVE_SERVICES: the services that run on each instance of a cluster, by the name that V$SESSION shows."""

    inst_id: int
    name: str


class RsrcPdb(NamedTuple):
    """GV$RSRC_PDB (12.2 and later): each container's totals, all counted since the CDB plan was activated.

    It is meant for comparing containers, unlike V$RSRC_CONSUMER_GROUP, whose totals restart when a container changes
    its own plan. Times in milliseconds; the `current_` columns and bytes are gauges.
    """

    inst_id: int
    con_id: int
    pdb_name: str
    cpu_wait_time: int
    consumed_cpu_time: int
    io_service_time: int
    io_service_waits: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int
    current_pqs_active: int
    current_pq_servers_active: int
    current_pqs_queued: int
    sga_bytes: int | None
    pga_bytes: int | None


class PdbMetric(NamedTuple):
    """GV$RSRCPDBMETRIC (12.2 and later): the last full minute of each container. It has no name, only CON_ID.

    `iops` and `iombps` are per second, `avg_io_throttle` milliseconds of throttling per I/O.
    `running_sessions_limit` is the number of CPUs it may use.
    """

    inst_id: int
    con_id: int
    avg_io_throttle: float | None
    iops: float | None
    iombps: float | None
    parallel_servers_limit: int | None
    running_sessions_limit: float | None


class PdbCpuExhausted(NamedTuple):
    """GV$RSRCPDBMETRIC.CPU_EXHAUSTED (an update of 23): percent of the checks at which CPU was exhausted."""

    inst_id: int
    con_id: int
    cpu_exhausted: float | None


class PdbMetricHistory(NamedTuple):
    """GV$RSRCPDBMETRIC_HISTORY (12.2 and later): the last hour of :class:`PdbMetric` rows."""

    inst_id: int
    con_id: int
    end_time: datetime | None
    avg_running_sessions: float
    avg_waiting_sessions: float


class SystemEvent(NamedTuple):
    """GV$SYSTEM_EVENT without idle events: waits and microseconds waited since instance start; None: not known."""

    inst_id: int
    event: str
    wait_class: str
    total_waits: int | None
    time_waited_micro: int | None


class EventHistogram(NamedTuple):
    """GV$EVENT_HISTOGRAM_MICRO (12.1 and later) or GV$EVENT_HISTOGRAM: waits since instance start.

    `wait_time_micro` is the bucket's upper bound in microseconds: waits below it and not below the one before.
    Before 12.1 the bounds are milliseconds times 1,000.
    """

    inst_id: int
    event: str
    wait_time_micro: int
    wait_count: int


class WatchedHistogram(EventHistogram):
    """The same views for an event of the user's choice."""

    __slots__ = ()


class IoOutlier(NamedTuple):
    """GV$IO_OUTLIER (12.1 and later), read only on request: I/Os that took longer than about half a second.

    `io_latency` and the disk latencies are milliseconds, `io_size` is probably KB. On some platforms `io_latency` is
    not a latency.
    """

    inst_id: int
    function_name: str
    io_size: int
    wait_event: str
    file_name: str
    io_latency: int
    disk1_name: str
    disk1_latency: int
    disk2_name: str
    disk2_latency: int
    disk3_name: str
    disk3_latency: int


class LgwrioOutlier(IoOutlier):
    """GV$LGWRIO_OUTLIER (12.1 and later), read only on request: long I/Os of the redo writer."""

    __slots__ = ()
