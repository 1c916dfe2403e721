-- What does each plan give each group and subplan?
-- every: minute
-- needs: DBA_RSRC_PLAN_DIRECTIVES
-- pack: none
SELECT
    plan,
    group_or_subplan,
    type,
    mgmt_p1,
    mgmt_p2,
    mgmt_p3,
    mgmt_p4,
    mgmt_p5,
    mgmt_p6,
    mgmt_p7,
    mgmt_p8,
    utilization_limit,
    parallel_server_limit,
    parallel_degree_limit_p1,
    parallel_queue_timeout,
    '' AS pq_timeout_action,
    parallel_stmt_critical,
    active_sess_pool_p1,
    queueing_p1,
    switch_group,
    switch_time,
    switch_for_call,
    max_idle_time,
    status,
    comments
FROM dba_rsrc_plan_directives
