-- Who works, waits or serves a parallel statement, and, where that is asked for, who idles?
-- every: refresh
-- needs: GV_$SESSION
-- pack: none
SELECT
    inst_id,
    con_id,
    sid,
    "SERIAL#" AS serial,
    username,
    status,
    resource_consumer_group,
    service_name,
    machine,
    program,
    module,
    action,
    client_identifier,
    osuser,
    sql_id,
    sql_child_number,
    prev_sql_id,
    prev_child_number,
    sql_exec_id,
    sql_exec_start,
    logon_time,
    last_call_et,
    event,
    wait_class,
    state,
    wait_time_micro,
    blocking_instance,
    blocking_session,
    type,
    final_blocking_instance,
    final_blocking_session
FROM gv$session
WHERE COALESCE(type, 'USER') = 'USER'
    AND (inst_id <> :own_inst_id OR COALESCE(sid, -1) <> :own_sid)
    AND (:with_idle = 1
        OR COALESCE(status, 'ACTIVE') NOT IN ('INACTIVE', 'SNIPED', 'CACHED')
        OR (state = 'WAITING' AND COALESCE(wait_class, ' ') <> 'Idle')
        OR program LIKE '%(P___)')
