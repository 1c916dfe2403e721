-- What has each pluggable database used since the CDB plan was activated?
-- every: refresh
-- needs: GV_$RSRC_PDB
-- pack: none
-- only: cdb
SELECT
    inst_id,
    con_id,
    pdb_name,
    cpu_wait_time,
    consumed_cpu_time,
    io_service_time,
    io_service_waits,
    small_read_megabytes,
    small_write_megabytes,
    large_read_megabytes,
    large_write_megabytes,
    small_read_requests,
    small_write_requests,
    large_read_requests,
    large_write_requests,
    current_pqs_active,
    current_pq_servers_active,
    current_pqs_queued,
    sga_bytes,
    pga_bytes
FROM gv$rsrc_pdb
