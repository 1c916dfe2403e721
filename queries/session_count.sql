-- How many sessions are there in each group, and of which status?
-- every: refresh
-- needs: GV_$SESSION
-- pack: none
SELECT
    inst_id,
    con_id,
    resource_consumer_group,
    status,
    COUNT(*) AS sessions
FROM gv$session
WHERE COALESCE(type, 'USER') = 'USER'
    AND (inst_id <> :own_inst_id OR COALESCE(sid, -1) <> :own_sid)
GROUP BY inst_id, con_id, resource_consumer_group, status
