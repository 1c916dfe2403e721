-- What did each pluggable database use, minute by minute, in the last hour?
-- every: once
-- needs: GV_$RSRCPDBMETRIC_HISTORY
-- pack: none
-- only: cdb
SELECT
    inst_id,
    con_id,
    begin_time,
    end_time,
    intsize_csec,
    cpu_consumed_time,
    cpu_wait_time,
    num_cpus,
    running_sessions_limit,
    avg_running_sessions,
    avg_waiting_sessions,
    cpu_utilization_limit,
    avg_cpu_utilization,
    iops,
    iombps,
    iops_throttle_exempt,
    iombps_throttle_exempt,
    avg_io_throttle,
    avg_active_parallel_stmts,
    avg_queued_parallel_stmts,
    avg_active_parallel_servers,
    avg_queued_parallel_servers,
    parallel_servers_limit,
    sga_bytes,
    buffer_cache_bytes,
    shared_pool_bytes,
    pga_bytes
FROM gv$rsrcpdbmetric_history
