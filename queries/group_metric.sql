-- What did each consumer group use in the last whole minute?
-- every: minute
-- needs: GV_$RSRCMGRMETRIC
-- pack: none
SELECT
    inst_id,
    con_id,
    intsize_csec,
    consumer_group_name,
    cpu_consumed_time,
    cpu_wait_time,
    num_cpus,
    running_sessions_limit,
    cpu_utilization_limit,
    avg_queued_parallel_stmts,
    avg_queued_parallel_servers,
    parallel_servers_limit
FROM gv$rsrcmgrmetric
