"""Rows about plans: what is in force, what was, directives, mappings."""

from datetime import datetime
from typing import NamedTuple


class RsrcPlan(NamedTuple):
    """GV$RSRC_PLAN: the active plans; the top plan says what is managed.

    `parallel_servers_total` is the instance's PARALLEL_SERVERS_TARGET; `parallel_servers_active` is None where the view
    does not tell. `cpu_managed` and `instance_caging` are
    ON or OFF, `parallel_execution_managed` is OFF, STARTUP, FIFO or FULL. In the row of a pluggable database `shares`,
    `utilization_limit`, `parallel_server_limit` (percent) and `profile` are what the CDB plan gives it; on Autonomous
    Databases `utilization_limit` holds the number of CPUs.
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
    """DBA_RSRC_PLANS. `mgmt_method` is EMPHASIS (levels) or RATIO (weights), `con_id` 0."""

    con_id: int
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
    """DBA_CDB_RSRC_PLAN_DIRECTIVES (12.1 and later): what the CDB plan gives each PDB.

    A directive of a performance profile has no `pluggable_database`: it is for the containers whose
    DB_PERFORMANCE_PROFILE names it.
    """

    plan: str
    pluggable_database: str
    shares: int | None
    utilization_limit: int | None
    parallel_server_limit: int | None
    status: str
    profile: str


class GroupMapping(NamedTuple):
    """DBA_RSRC_GROUP_MAPPINGS: which sessions are put into which group (`attribute` has `value`). `con_id` is 0."""

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
    """CDB_RSRC_PLANS (12.1 and later, in the root): the same of each container, with its `con_id`."""

    __slots__ = ()


class ContainerGroupMapping(GroupMapping):
    """CDB_RSRC_GROUP_MAPPINGS (12.1 and later, in the root): the same of each container, with its `con_id`."""

    __slots__ = ()


class ContainerPlanDirective(PlanDirective):
    """CDB_RSRC_PLAN_DIRECTIVES (12.1 and later, in the root): the same of each container, with its `con_id`."""

    __slots__ = ()
