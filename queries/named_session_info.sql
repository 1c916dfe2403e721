-- What has Resource Manager done with the idle sessions that others name?
-- every: demand
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
WHERE sid IN (:sid_1, :sid_2, :sid_3, :sid_4, :sid_5, :sid_6, :sid_7, :sid_8)
