"""One immutable record per query: the only shapes that leave a database.

The fields of a record are the select list of its query, in order and by name; the file is the record's name in
snake case (``PxSession`` is read by ``queries/px_session.sql``). ``int`` and ``str`` fields turn NULL into 0 and
"", because there NULL means nothing counted or nothing said; ``| None`` marks the columns in which NULL is a
fact of its own. Datetimes are aware, in UTC. Every text has passed :func:`presman.text.clean`.
Named tuples, because hundreds are made at each poll. Annotations are evaluated here: as texts each of the five hundred
would be compiled, and the code kept.
"""

from datetime import datetime
from typing import Any, NamedTuple, TypeAlias

RecordType: TypeAlias = type[tuple[Any, ...]]
"""One of the classes below."""


class Instance(NamedTuple):
    """GV$INSTANCE: one row per open instance."""

    inst_id: int
    instance_name: str
    host_name: str
    version: str
    startup_time: datetime | None
    status: str
    parallel: str


class Database(NamedTuple):
    """V$DATABASE: the database's identity. `cdb` is YES or NO (NO before 12.1)."""

    dbid: int
    name: str
    db_unique_name: str
    open_mode: str
    database_role: str
    platform_name: str
    cdb: str


class Pdb(NamedTuple):
    """V$PDBS (12.1 and later): the containers this connection may see."""

    con_id: int
    name: str
    open_mode: str


class Parameter(NamedTuple):
    """GV$SYSTEM_PARAMETER: the parameters that steer CPU management, the parallel queue and a container's I/O.

    `con_id` is 0 or 1 for the instance's own value; in the root a container that sets its own has a row of its own.
    """

    inst_id: int
    name: str
    value: str
    isdefault: str
    con_id: int


class RsrcPlan(NamedTuple):
    """GV$RSRC_PLAN: the active plans; the top plan says what is managed.

    `parallel_servers_total` is the instance's PARALLEL_SERVERS_TARGET. `cpu_managed` and `instance_caging` are
    ON or OFF, `parallel_execution_managed` is OFF, STARTUP, FIFO or FULL.
    """

    inst_id: int
    con_id: int
    id: int
    name: str
    is_top_plan: str
    cpu_managed: str
    instance_caging: str
    parallel_servers_active: int
    parallel_servers_total: int
    parallel_execution_managed: str


class RsrcPlanHistory(NamedTuple):
    """GV$RSRC_PLAN_HISTORY: the newest plan windows; the open one has no end. Its sequence keys deltas.

    `allowed_automated_switches` is FALSE where the plan was set so that scheduler windows do not change it.
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
    """DBA_RSRC_PLANS. `mgmt_method` is EMPHASIS (levels) or RATIO (weights)."""

    plan: str
    mgmt_method: str
    sub_plan: str
    comments: str
    status: str


class PlanDirective(NamedTuple):
    """DBA_RSRC_PLAN_DIRECTIVES: what a plan gives a group or subplan.

    `mgmt_p1`..`mgmt_p8` are percent per level (shares in a share-based plan), `utilization_limit` and
    `parallel_server_limit` percent, times seconds. The names are those of 12.1 and later; 11.2's
    MAX_UTILIZATION_LIMIT and PARALLEL_TARGET_PERCENTAGE are read under them. `switch_io_logical` and
    `switch_elapsed_time` are None before 12.1, `session_pga_limit` (MB) before 12.2.
    """

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
    """DBA_CDB_RSRC_PLAN_DIRECTIVES (12.1 and later): what the CDB plan gives each PDB."""

    plan: str
    pluggable_database: str
    shares: int | None
    utilization_limit: int | None
    parallel_server_limit: int | None
    status: str


class GroupMapping(NamedTuple):
    """DBA_RSRC_GROUP_MAPPINGS: which sessions are put into which consumer group (`attribute` has `value`)."""

    attribute: str
    value: str
    consumer_group: str
    status: str


class ConsumerGroupDefinition(NamedTuple):
    """DBA_RSRC_CONSUMER_GROUPS: the groups that exist, whether or not a plan names them."""

    consumer_group_id: int
    consumer_group: str
    mgmt_method: str
    category: str
    comments: str
    status: str


class ConsumerGroup(NamedTuple):
    """GV$RSRC_CONSUMER_GROUP: gauges now, totals since the plan was activated.

    Times in milliseconds. `queued_time` and `queue_length` are the active session pool's; the parallel queue has
    "pq" in every name.
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

    CPU times in milliseconds of the interval. The parallel columns are None before 12.1, where the view lacks them.
    """

    inst_id: int
    con_id: int
    begin_time: datetime | None
    end_time: datetime | None
    intsize_csec: int
    consumer_group_name: str
    cpu_consumed_time: int
    cpu_wait_time: int
    num_cpus: int
    running_sessions_limit: float
    avg_running_sessions: float
    avg_waiting_sessions: float
    cpu_utilization_limit: float
    avg_cpu_utilization: float
    io_requests: int
    io_megabytes: int
    avg_active_parallel_stmts: float | None
    avg_queued_parallel_stmts: float | None
    avg_active_parallel_servers: float | None
    avg_queued_parallel_servers: float | None
    parallel_servers_limit: int | None


class GroupMetricHistory(NamedTuple):
    """GV$RSRCMGRMETRIC_HISTORY: the last hour of :class:`GroupMetric` rows."""

    inst_id: int
    con_id: int
    begin_time: datetime | None
    end_time: datetime | None
    intsize_csec: int
    consumer_group_name: str
    cpu_consumed_time: int
    cpu_wait_time: int
    num_cpus: int
    running_sessions_limit: float
    avg_running_sessions: float
    avg_waiting_sessions: float
    cpu_utilization_limit: float
    avg_cpu_utilization: float
    io_requests: int
    io_megabytes: int
    avg_active_parallel_stmts: float | None
    avg_queued_parallel_stmts: float | None
    avg_active_parallel_servers: float | None
    avg_queued_parallel_servers: float | None
    parallel_servers_limit: int | None


class CpuExhausted(NamedTuple):
    """GV$RSRCMGRMETRIC.CPU_EXHAUSTED (an update of 23): percent of the last minute in which the CPUs were exhausted."""

    inst_id: int
    con_id: int
    consumer_group_name: str
    cpu_exhausted: float | None


class RsrcPdb(NamedTuple):
    """GV$RSRC_PDB (12.2 and later): each container's totals since the CDB plan was activated, the same for all.

    Unlike V$RSRC_CONSUMER_GROUP, whose totals restart when a container changes its own plan, it is made for comparing
    containers. Times in milliseconds; the `current_` columns and bytes are gauges.
    """

    inst_id: int
    con_id: int
    pdb_name: str
    cpu_wait_time: int
    cpu_waits: int
    consumed_cpu_time: int
    yields: int
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
    pqs_queued: int
    pqs_completed: int
    pq_servers_used: int
    pq_active_time: int
    pq_queued_time: int
    pq_queue_time_outs: int
    current_pqs_active: int
    current_pq_servers_active: int
    current_pqs_queued: int
    sga_bytes: int | None
    buffer_cache_bytes: int | None
    shared_pool_bytes: int | None
    pga_bytes: int | None


class PdbMetric(NamedTuple):
    """GV$RSRCPDBMETRIC (12.2 and later): the last closed minute of each container. It has no name, only CON_ID.

    `iops` and `iombps` are per second, the `_exempt` parts of them are not throttled; `avg_io_throttle` is
    milliseconds of throttling per I/O. CPU times in milliseconds of the interval.
    """

    inst_id: int
    con_id: int
    begin_time: datetime | None
    end_time: datetime | None
    intsize_csec: int
    cpu_consumed_time: int
    cpu_wait_time: int
    num_cpus: int
    running_sessions_limit: float
    avg_running_sessions: float
    avg_waiting_sessions: float
    cpu_utilization_limit: float
    avg_cpu_utilization: float
    iops: float
    iombps: float
    iops_throttle_exempt: float
    iombps_throttle_exempt: float | None
    avg_io_throttle: float | None
    avg_active_parallel_stmts: float
    avg_queued_parallel_stmts: float
    avg_active_parallel_servers: float
    avg_queued_parallel_servers: float
    parallel_servers_limit: int | None
    sga_bytes: int | None
    buffer_cache_bytes: int | None
    shared_pool_bytes: int | None
    pga_bytes: int | None


class PdbCpuExhausted(NamedTuple):
    """GV$RSRCPDBMETRIC.CPU_EXHAUSTED (an update of 23): percent of the checks at which CPU was exhausted."""

    inst_id: int
    con_id: int
    cpu_exhausted: float | None


class PdbMetricHistory(NamedTuple):
    """GV$RSRCPDBMETRIC_HISTORY (12.2 and later): the last hour of :class:`PdbMetric` rows."""

    inst_id: int
    con_id: int
    begin_time: datetime | None
    end_time: datetime | None
    intsize_csec: int
    cpu_consumed_time: int
    cpu_wait_time: int
    num_cpus: int
    running_sessions_limit: float
    avg_running_sessions: float
    avg_waiting_sessions: float
    cpu_utilization_limit: float
    avg_cpu_utilization: float
    iops: float
    iombps: float
    iops_throttle_exempt: float
    iombps_throttle_exempt: float | None
    avg_io_throttle: float | None
    avg_active_parallel_stmts: float
    avg_queued_parallel_stmts: float
    avg_active_parallel_servers: float
    avg_queued_parallel_servers: float
    parallel_servers_limit: int | None
    sga_bytes: int | None
    buffer_cache_bytes: int | None
    shared_pool_bytes: int | None
    pga_bytes: int | None


class Session(NamedTuple):
    """GV$SESSION, user sessions (parallel servers among them), presman's own left out.

    `wait_time_micro` is the current wait's age while `state` is WAITING; `last_call_et` counts seconds since the
    session became ACTIVE or INACTIVE.
    """

    inst_id: int
    con_id: int
    sid: int
    serial: int
    username: str
    status: str
    resource_consumer_group: str
    service_name: str
    machine: str
    program: str
    module: str
    action: str
    client_identifier: str
    osuser: str
    sql_id: str
    sql_child_number: int | None
    prev_sql_id: str
    prev_child_number: int | None
    sql_exec_start: datetime | None
    logon_time: datetime | None
    last_call_et: int
    event: str
    wait_class: str
    state: str
    wait_time_micro: int
    blocking_instance: int | None
    blocking_session: int | None


class SessionInfo(NamedTuple):
    """GV$RSRC_SESSION_INFO: what Resource Manager knows of a session. Times in milliseconds.

    `state` is one of a closed list (semantics: RUNNING, WAITING FOR CPU, QUEUED for the active session pool, ...);
    `pq_status` is free text. Plain counters are the session's, `current_` ones this call's. 11.2 has only group
    ids, so there `current_consumer_group` is "" and `current_consumer_group_id` names the group. The `last_action`
    fields (12.1 and later, free text) tell what Resource Manager last did to the session, by which limit, and when.
    """

    inst_id: int
    con_id: int
    sid: int
    current_consumer_group_id: int
    current_consumer_group: str
    orig_consumer_group_id: int
    mapped_consumer_group: str
    mapping_attribute: str
    state: str
    active: str
    cpu_wait_time: int
    cpu_waits: int
    consumed_cpu_time: int
    yields: int
    queued_time: int
    io_service_time: int
    small_read_megabytes: int
    small_write_megabytes: int
    large_read_megabytes: int
    large_write_megabytes: int
    small_read_requests: int
    small_write_requests: int
    large_read_requests: int
    large_write_requests: int
    sql_canceled: int
    dop: int | None
    pq_servers: int | None
    pq_active: str
    pq_status: str
    current_pq_active_time: int
    current_pq_queued_time: int
    pq_queued_time: int
    last_action: str
    last_action_reason: str
    last_action_time: datetime | None


class PxSession(NamedTuple):
    """GV$PX_SESSION: parallel servers and their coordinators (rows whose `degree` is NULL).

    A coordinator's own row has no `qcinst_id` either. `serial` tells a SID's users apart in time.
    """

    inst_id: int
    sid: int
    serial: int
    qcsid: int
    qcserial: int | None
    qcinst_id: int | None
    server_group: int | None
    server_set: int | None
    server: int | None
    degree: int | None
    req_degree: int | None


class PxProcessSysstat(NamedTuple):
    """GV$PX_PROCESS_SYSSTAT: the pool of parallel servers ("Servers In Use", "Servers Available", ...)."""

    inst_id: int
    statistic: str
    value: int


class Sysstat(NamedTuple):
    """GV$SYSSTAT: statistics of parallel execution and the redo written, totals since instance start."""

    inst_id: int
    name: str
    value: int


class Osstat(NamedTuple):
    """GV$OSSTAT: the host. NUM_CPUS and LOAD are instants, *_TIME centiseconds since the host started."""

    inst_id: int
    stat_name: str
    value: float


class SystemEvent(NamedTuple):
    """GV$SYSTEM_EVENT without idle events: waits and microseconds waited since instance start."""

    inst_id: int
    event: str
    wait_class: str
    total_waits: int
    time_waited_micro: int


class EventHistogram(NamedTuple):
    """GV$EVENT_HISTOGRAM_MICRO (12.1 and later) or GV$EVENT_HISTOGRAM: waits since instance start.

    `wait_time_micro` is the bucket's upper bound in microseconds: waits below it and not below the one before.
    Before 12.1 the bounds are milliseconds times 1,000.
    """

    inst_id: int
    event: str
    wait_time_micro: int
    wait_count: int


class WatchedHistogram(NamedTuple):
    """The same views as :class:`EventHistogram` for one event that the user chose, whatever its name."""

    inst_id: int
    event: str
    wait_time_micro: int
    wait_count: int


class IoOutlier(NamedTuple):
    """GV$IO_OUTLIER (12.1 and later), read only on request: I/Os of longer than about half a second.

    `io_latency` and the disks' are milliseconds, `io_size` probably KB. On some platforms the column is no latency.
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


class LgwrioOutlier(NamedTuple):
    """GV$LGWRIO_OUTLIER (12.1 and later), read only on request: long I/Os of the redo writer, as :class:`IoOutlier`."""

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


class PlanXml(NamedTuple):
    """GV$SQL_PLAN.OTHER_XML of one cursor, read once per (instance, sql_id, child)."""

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    other_xml: str


class SqlText(NamedTuple):
    """GV$SQL: text and totals of one cursor, read once per (instance, sql_id, child). Times in microseconds."""

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    sql_text: str
    executions: int
    px_servers_executions: int
    elapsed_time: int


class SessionLongops(NamedTuple):
    """GV$SESSION_LONGOPS: operations that are not done yet. `qcsid` is the coordinator's SID for a parallel server.

    A statement has several operations one after the other; only the one at work is listed. Times in seconds.
    """

    inst_id: int
    sid: int
    serial: int
    qcsid: int
    sql_id: str
    opname: str
    target: str
    sofar: int
    totalwork: int
    units: str
    time_remaining: int | None
    elapsed_seconds: int


class PlanLine(NamedTuple):
    """GV$SQL_PLAN: one line of the execution plan of a cursor.

    `object_node` is the table queue (:Qnnnnn) the line works for, `other_tag` how it passes rows on, `distribution` how
    they are spread. `time` in seconds, as the optimizer estimates.
    """

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    id: int
    parent_id: int | None
    depth: int
    operation: str
    options: str
    object_node: str
    object_owner: str
    object_name: str
    other_tag: str
    distribution: str
    cost: int | None
    cardinality: int | None
    bytes: int | None
    time: int | None
    partition_start: str
    partition_stop: str
    access_predicates: str
    filter_predicates: str


class CursorTotals(NamedTuple):
    """GV$SQL: what all executions of a cursor have cost so far. Times in microseconds."""

    inst_id: int
    sql_id: str
    child_number: int
    plan_hash_value: int
    executions: int
    px_servers_executions: int
    elapsed_time: int
    cpu_time: int
    user_io_wait_time: int
    concurrency_wait_time: int
    buffer_gets: int
    disk_reads: int
    rows_processed: int
    physical_read_bytes: int
    physical_write_bytes: int
    io_cell_offload_eligible_bytes: int
    io_interconnect_bytes: int
    users_executing: int


class StatisticName(NamedTuple):
    """V$STATNAME: the numbers that the statistics of a session have in this release."""

    statistic: int
    name: str


class SessionStatistic(NamedTuple):
    """GV$SESSTAT: a session's statistics that are not 0, totals since it logged on."""

    inst_id: int
    sid: int
    statistic: int
    value: int


class PxStatistic(NamedTuple):
    """GV$PX_SESSTAT: a few statistics of the parallel servers of one coordinator, and of itself (no `degree`)."""

    inst_id: int
    sid: int
    qcsid: int
    qcinst_id: int | None
    server_group: int | None
    server_set: int | None
    server: int | None
    degree: int | None
    statistic: int
    value: int


OF_AN_UPDATE: frozenset[RecordType] = frozenset({CpuExhausted, PdbCpuExhausted})
"""What only newer updates of a release have the columns for: a database that lacks them has no trouble."""
