-- What did each pluggable database use in the last minute?
-- every: minute
-- needs: GV_$RSRCPDBMETRIC
-- pack: none
-- only: cdb
SELECT
    inst_id,
    con_id,
    avg_io_throttle,
    iops,
    iombps,
    parallel_servers_limit,
    running_sessions_limit
FROM gv$rsrcpdbmetric
