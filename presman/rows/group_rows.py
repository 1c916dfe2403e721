"""Rows about consumer groups: counters, metrics, exhausted CPU."""

from datetime import datetime
from typing import NamedTuple

CPU_COLUMNS = ("consumed_cpu_time", "cpu_wait_time")
"""What V$RSRC_CONSUMER_GROUP, V$RSRC_PDB and V$RSRC_SESSION_INFO count of CPU, in milliseconds."""

IO_COLUMNS = tuple(
    f"{size}_{kind}_{unit}"
    for unit in ("megabytes", "requests")
    for size in ("small", "large")
    for kind in ("read", "write")
)
"""What the three count of I/O: megabytes, then requests."""


class ConsumerGroup(NamedTuple):
    """GV$RSRC_CONSUMER_GROUP: gauges now, totals since the plan was activated.

    Times in milliseconds. `queued_time`, `queue_length` and `queue_time_outs` are the active session pool's; the
    parallel queue has "pq" in every name.
    """

    inst_id: int
    con_id: int
    id: int
    name: str
    active_sessions: int
    execution_waiters: int
    requests: int
    cpu_wait_time: int
    cpu_waits: int
    consumed_cpu_time: int
    yields: int
    queue_length: int
    queued_time: int
    active_session_limit_hit: int
    queue_time_outs: int
    switches_in_cpu_time: int
    switches_out_cpu_time: int
    sql_canceled: int
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
    pqs_queued: int
    pqs_completed: int
    pq_servers_used: int
    pq_active_time: int
    pq_queued_time: int
    pq_queue_time_outs: int


class GroupMetric(NamedTuple):
    """GV$RSRCMGRMETRIC: the last closed interval of about a minute (`intsize_csec` centiseconds).

    CPU times in milliseconds of the interval. The parallel columns are None before 12.1, where the view lacks them;
    `avg_queued_parallel_servers` are the servers that the queued statements asked for, `parallel_servers_limit` those
    that the group may use before it queues.
    """

    inst_id: int
    con_id: int
    intsize_csec: int
    consumer_group_name: str
    cpu_consumed_time: int
    cpu_wait_time: int
    num_cpus: int
    running_sessions_limit: float
    cpu_utilization_limit: float
    avg_queued_parallel_stmts: float | None
    avg_queued_parallel_servers: float | None
    parallel_servers_limit: int | None


class GroupMetricHistory(NamedTuple):
    """GV$RSRCMGRMETRIC_HISTORY: the last hour of :class:`GroupMetric` rows."""

    inst_id: int
    con_id: int
    end_time: datetime | None
    intsize_csec: int
    consumer_group_name: str
    avg_running_sessions: float
    avg_waiting_sessions: float
    io_megabytes: int
    avg_active_parallel_stmts: float | None
    avg_queued_parallel_stmts: float | None
    avg_active_parallel_servers: float | None


class CpuExhausted(NamedTuple):
    """GV$RSRCMGRMETRIC.CPU_EXHAUSTED (an update of 23): percent of the last minute in which the CPUs were exhausted."""

    inst_id: int
    con_id: int
    consumer_group_name: str
    cpu_exhausted: float | None
