-- When did the plan change, and who changed it?
-- every: refresh
-- needs: GV_$RSRC_PLAN_HISTORY
-- pack: none
SELECT
    inst_id,
    con_id,
    "SEQUENCE#" AS sequence,
    name,
    start_time,
    end_time,
    enabled_by_scheduler,
    window_name,
    allowed_automated_switches
FROM gv$rsrc_plan_history
