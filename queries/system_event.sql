-- What do sessions wait for, in all?
-- every: refresh
-- needs: GV_$SYSTEM_EVENT
-- pack: none
SELECT
    inst_id,
    event,
    wait_class,
    total_waits,
    time_waited_micro
FROM gv$system_event
WHERE COALESCE(wait_class, 'Other') <> 'Idle'
