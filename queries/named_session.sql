-- Who are the sessions that others name and the list lacks: idle or background coordinators, who holds a lock?
-- every: demand
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
WHERE (inst_id <> :own_inst_id OR COALESCE(sid, -1) <> :own_sid)
    AND sid IN (:sid_1, :sid_2, :sid_3, :sid_4, :sid_5, :sid_6, :sid_7, :sid_8)
