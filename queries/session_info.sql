-- What has Resource Manager done with each session, idle ones only where that is asked for?
-- every: refresh
-- needs: GV_$RSRC_SESSION_INFO
-- pack: none
SELECT
    inst_id,
    con_id,
    sid,
    current_consumer_group_id,
    current_consumer_group,
    orig_consumer_group_id,
    mapped_consumer_group,
    mapping_attribute,
    state,
    cpu_wait_time,
    cpu_waits,
    consumed_cpu_time,
    yields,
    io_service_time,
    small_read_megabytes,
    small_write_megabytes,
    large_read_megabytes,
    large_write_megabytes,
    small_read_requests,
    small_write_requests,
    large_read_requests,
    large_write_requests,
    sql_canceled,
    dop,
    pq_servers,
    pq_status,
    current_pq_queued_time,
    pq_queued_time,
    last_action,
    last_action_reason,
    last_action_time
FROM gv$rsrc_session_info
WHERE :with_idle = 1
    OR COALESCE(state, ' ') NOT IN ('IDLE', 'NOT MANAGED')
    OR (state = 'NOT MANAGED' AND COALESCE(current_idle_time, 0) = 0)
