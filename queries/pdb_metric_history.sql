-- What did each pluggable database use, minute by minute, in the last hour?
-- every: once
-- needs: GV_$RSRCPDBMETRIC_HISTORY
-- pack: none
-- only: cdb
SELECT
    inst_id,
    con_id,
    end_time,
    avg_running_sessions,
    avg_waiting_sessions
FROM gv$rsrcpdbmetric_history
