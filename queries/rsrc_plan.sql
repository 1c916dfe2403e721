-- Which plan is active, what does it manage, and how many parallel servers does it count?
-- every: refresh
-- needs: GV_$RSRC_PLAN
-- pack: none
SELECT
    inst_id,
    0 AS con_id,
    name,
    is_top_plan,
    cpu_managed,
    instance_caging,
    parallel_servers_active,
    parallel_servers_total,
    parallel_execution_managed,
    NULL AS shares,
    NULL AS utilization_limit,
    NULL AS parallel_server_limit,
    '' AS profile
FROM gv$rsrc_plan
