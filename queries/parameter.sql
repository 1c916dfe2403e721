-- How are CPU management and the parallel queue set up?
-- every: minute
-- needs: GV_$SYSTEM_PARAMETER
-- pack: none
SELECT
    inst_id,
    name,
    value,
    con_id
FROM gv$system_parameter
WHERE name IN (
    'cpu_count',
    'cpu_min_count',
    'db_performance_profile',
    'max_idle_blocker_time',
    'max_idle_time',
    'max_iops',
    'max_mbps',
    'memory_target',
    'parallel_adaptive_multi_user',
    'parallel_degree_limit',
    'parallel_degree_policy',
    'parallel_force_local',
    'parallel_instance_group',
    'parallel_max_servers',
    'parallel_min_time_threshold',
    'parallel_servers_target',
    'parallel_threads_per_cpu',
    'pga_aggregate_limit',
    'pga_aggregate_target',
    'resource_limit',
    'resource_manager_cpu_allocation',
    'resource_manager_cpu_scope',
    'resource_manager_plan',
    'sga_target',
    'statistics_level'
)
