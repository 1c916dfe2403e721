-- What have the executions of this statement cost so far?
-- every: demand
-- needs: GV_$SQL
-- pack: none
SELECT
    inst_id,
    sql_id,
    child_number,
    plan_hash_value,
    executions,
    px_servers_executions,
    elapsed_time,
    cpu_time,
    user_io_wait_time,
    concurrency_wait_time,
    buffer_gets,
    disk_reads,
    rows_processed,
    physical_read_bytes,
    physical_write_bytes,
    io_cell_offload_eligible_bytes,
    io_interconnect_bytes,
    users_executing
FROM gv$sql
WHERE inst_id = :at_inst_id
    AND sql_id = :sql_id
    AND child_number = :child_number
