-- What does each plan of each container give each group?
-- every: minute
-- needs: CDB_RSRC_PLAN_DIRECTIVES
-- pack: none
-- only: root
SELECT
    con_id,
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
    pq_timeout_action,
    parallel_stmt_critical,
    active_sess_pool_p1,
    queueing_p1,
    switch_group,
    switch_time,
    switch_for_call,
    max_idle_time,
    status,
    comments,
    switch_io_megabytes,
    switch_io_reqs,
    switch_io_logical,
    switch_elapsed_time,
    switch_estimate,
    max_est_exec_time,
    undo_pool,
    max_idle_blocker_time,
    session_pga_limit
FROM cdb_rsrc_plan_directives
