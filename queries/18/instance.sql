-- Which instances are open, since when, of which release, and is one being quiesced?
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
    parallel,
    active_state
FROM gv$instance
