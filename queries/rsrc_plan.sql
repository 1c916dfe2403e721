-- Which plan is active, what does it manage, how many parallel servers does it count, and what does the CDB give it?
-- every: refresh
-- needs: GV_$RSRC_PLAN
-- pack: none
SELECT
    inst_id,
    con_id,
    name,
    is_top_plan,
    cpu_managed,
    instance_caging,
    parallel_servers_active,
    parallel_servers_total,
    parallel_execution_managed,
    shares,
    utilization_limit,
    parallel_server_limit,
    profile
FROM gv$rsrc_plan
