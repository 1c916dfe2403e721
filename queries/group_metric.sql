-- What did each consumer group use in the last whole minute?
-- every: minute
-- needs: GV_$RSRCMGRMETRIC
-- pack: none
SELECT
    inst_id,
    0 AS con_id,
    begin_time,
    end_time,
    intsize_csec,
    consumer_group_name,
    cpu_consumed_time,
    cpu_wait_time,
    num_cpus,
    running_sessions_limit,
    avg_running_sessions,
    avg_waiting_sessions,
    cpu_utilization_limit,
    avg_cpu_utilization,
    io_requests,
    io_megabytes,
    NULL AS avg_active_parallel_stmts,
    NULL AS avg_queued_parallel_stmts,
    NULL AS avg_active_parallel_servers,
    NULL AS avg_queued_parallel_servers,
    NULL AS parallel_servers_limit
FROM gv$rsrcmgrmetric
