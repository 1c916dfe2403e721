"""Rows about pluggable databases: counters, metrics, exhausted CPU."""

from datetime import datetime
from typing import NamedTuple


class RsrcPdb(NamedTuple):
    """GV$RSRC_PDB (12.2 and later): each container's totals since the CDB plan was activated, the same for all.

    Unlike V$RSRC_CONSUMER_GROUP, whose totals restart when a container changes its own plan, it is made for comparing
    containers. Times in milliseconds; the `current_` columns and bytes are gauges.
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

    `iops` and `iombps` are per second, the `_exempt` parts of them are not throttled; `avg_io_throttle` is
    milliseconds of throttling per I/O. CPU times in milliseconds of the interval. `running_sessions_limit` is the CPUs
    it may use, of `num_cpus`.
    """

    inst_id: int
    con_id: int
    avg_io_throttle: float | None
    parallel_servers_limit: int | None
    running_sessions_limit: float | None
    num_cpus: int | None


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
