-- Which instances are open, since when, and of which release?
-- every: refresh
-- needs: GV_$INSTANCE
-- pack: none
SELECT
    inst_id,
    instance_name,
    host_name,
    version_full AS version,
    startup_time,
    status,
    parallel
FROM gv$instance
