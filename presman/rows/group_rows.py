"""Rows about consumer groups (counters, metrics, exhausted CPU) and plans (active, past, directives, mappings)."""

from datetime import datetime
from typing import NamedTuple

CPU_COLUMNS = ("consumed_cpu_time", "cpu_wait_time")
"""The CPU counters of V$RSRC_CONSUMER_GROUP, V$RSRC_PDB and V$RSRC_SESSION_INFO, in milliseconds."""

_SIZES = ("small_read", "small_write", "large_read", "large_write")
IO_COLUMNS = tuple(f"{size}_{unit}" for unit in ("megabytes", "requests") for size in _SIZES)
"""The I/O counters of the same three views: megabytes, then requests."""


class ConsumerGroup(NamedTuple):
    """GV$RSRC_CONSUMER_GROUP: current gauges, and totals since the plan was activated.

    Times in milliseconds. `queued_time`, `queue_length` and `queue_time_outs` are the active session pool's; the
    columns of the parallel queue have "pq" in their names.
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
    `avg_queued_parallel_servers` is the number of servers that the queued statements requested,
    `parallel_servers_limit` the number that the group may use before its statements are queued.
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
    num_cpus: int | None
    running_sessions_limit: float | None
    avg_running_sessions: float
    avg_waiting_sessions: float
    io_requests: int | None
    io_megabytes: int
    avg_active_parallel_stmts: float | None
    avg_queued_parallel_stmts: float | None
    avg_active_parallel_servers: float | None
    parallel_servers_limit: int | None


class CpuExhausted(NamedTuple):
    """GV$RSRCMGRMETRIC.CPU_EXHAUSTED (an update of 23): percent of the last minute in which the CPUs were exhausted."""

    inst_id: int
    con_id: int
    consumer_group_name: str
    cpu_exhausted: float | None


# ---- Plans


class RsrcPlan(NamedTuple):
    """GV$RSRC_PLAN: the active plans; the row of the top plan shows what is managed.

    `parallel_servers_total` is the instance's PARALLEL_SERVERS_TARGET; `parallel_servers_active` is None where the view
    has no value. `cpu_managed` and `instance_caging` are ON or OFF, `parallel_execution_managed` is OFF, STARTUP, FIFO
    or FULL. In the row of a pluggable database `shares`, `utilization_limit`, `parallel_server_limit` (percent) and
    `profile` are what the CDB plan gives it; on Autonomous Databases `utilization_limit` holds the number of CPUs.
    """

    inst_id: int
    con_id: int
    name: str
    is_top_plan: str
    cpu_managed: str
    instance_caging: str
    parallel_servers_active: int | None
    parallel_servers_total: int
    parallel_execution_managed: str
    shares: int | None
    utilization_limit: int | None
    parallel_server_limit: int | None
    profile: str


class RsrcPlanHistory(NamedTuple):
    """GV$RSRC_PLAN_HISTORY: the newest plan windows; the open one has no end. Deltas never span two sequences.

    `allowed_automated_switches` is FALSE where the plan was set in such a way that scheduler windows do not change it.
    """

    inst_id: int
    con_id: int
    sequence: int
    name: str
    start_time: datetime | None
    end_time: datetime | None
    enabled_by_scheduler: str
    window_name: str
    allowed_automated_switches: str


class Plan(NamedTuple):
    """DBA_RSRC_PLANS. `mgmt_method` is EMPHASIS (levels) or RATIO (weights), `con_id` 0."""

    con_id: int
    plan: str
    mgmt_method: str
    sub_plan: str
    comments: str
    status: str


class PlanDirective(NamedTuple):
    """DBA_RSRC_PLAN_DIRECTIVES: the directives of a plan for its groups and subplans.

    `mgmt_p1`..`mgmt_p8` are percent per level (shares in a share-based plan), `utilization_limit` and
    `parallel_server_limit` percent, times seconds. The names are those of 12.1 and later; 11.2's
    MAX_UTILIZATION_LIMIT and PARALLEL_TARGET_PERCENTAGE are read under them. `switch_io_logical` and
    `switch_elapsed_time` are None before 12.1, `session_pga_limit` (MB) before 12.2. `con_id` is 0.
    """

    con_id: int
    plan: str
    group_or_subplan: str
    type: str
    mgmt_p1: int
    mgmt_p2: int
    mgmt_p3: int
    mgmt_p4: int
    mgmt_p5: int
    mgmt_p6: int
    mgmt_p7: int
    mgmt_p8: int
    utilization_limit: int | None
    parallel_server_limit: int | None
    parallel_degree_limit_p1: int | None
    parallel_queue_timeout: int | None
    pq_timeout_action: str
    parallel_stmt_critical: str
    active_sess_pool_p1: int | None
    queueing_p1: int | None
    switch_group: str
    switch_time: int | None
    switch_for_call: str
    max_idle_time: int | None
    status: str
    comments: str
    switch_io_megabytes: int | None
    switch_io_reqs: int | None
    switch_io_logical: int | None
    switch_elapsed_time: int | None
    switch_estimate: str
    max_est_exec_time: int | None
    undo_pool: int | None
    max_idle_blocker_time: int | None
    session_pga_limit: int | None


class CdbPlanDirective(NamedTuple):
    """DBA_CDB_RSRC_PLAN_DIRECTIVES (12.1 and later): the directives of a CDB plan for its PDBs.

    A directive for a performance profile has no `pluggable_database`: it holds for the PDBs whose
    DB_PERFORMANCE_PROFILE names that profile.
    """

    plan: str
    pluggable_database: str
    shares: int | None
    utilization_limit: int | None
    parallel_server_limit: int | None
    status: str
    profile: str


class GroupMapping(NamedTuple):
    """DBA_RSRC_GROUP_MAPPINGS: sessions whose `attribute` has `value` go to `consumer_group`. `con_id` is 0."""

    con_id: int
    attribute: str
    value: str
    consumer_group: str
    status: str


class ConsumerGroupDefinition(NamedTuple):
    """DBA_RSRC_CONSUMER_GROUPS: the groups that exist, whether or not a plan names them."""

    consumer_group_id: int
    consumer_group: str
    status: str


class ContainerPlan(Plan):
    """CDB_RSRC_PLANS (12.1 and later, in the root): the same for every container, with its `con_id`."""

    __slots__ = ()


class ContainerGroupMapping(GroupMapping):
    """CDB_RSRC_GROUP_MAPPINGS (12.1 and later, in the root): the same for every container, with its `con_id`."""

    __slots__ = ()


class ContainerPlanDirective(PlanDirective):
    """CDB_RSRC_PLAN_DIRECTIVES (12.1 and later, in the root): the same for every container, with its `con_id`."""

    __slots__ = ()
