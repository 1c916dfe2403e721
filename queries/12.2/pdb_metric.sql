-- What did each pluggable database use in the last minute?
-- every: minute
-- needs: GV_$RSRCPDBMETRIC
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
    NULL AS iombps_throttle_exempt,
    NULL AS avg_io_throttle,
    avg_active_parallel_stmts,
    avg_queued_parallel_stmts,
    avg_active_parallel_servers,
    avg_queued_parallel_servers,
    parallel_servers_limit,
    NULL AS sga_bytes,
    NULL AS buffer_cache_bytes,
    NULL AS shared_pool_bytes,
    NULL AS pga_bytes
FROM gv$rsrcpdbmetric
