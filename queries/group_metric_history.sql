-- What did each consumer group use, minute by minute, in the last hour?
-- every: once
-- needs: GV_$RSRCMGRMETRIC_HISTORY
-- pack: none
SELECT
    inst_id,
    con_id,
    end_time,
    intsize_csec,
    consumer_group_name,
    num_cpus,
    running_sessions_limit,
    avg_running_sessions,
    avg_waiting_sessions,
    io_requests,
    io_megabytes,
    avg_active_parallel_stmts,
    avg_queued_parallel_stmts,
    avg_active_parallel_servers,
    parallel_servers_limit
FROM gv$rsrcmgrmetric_history
