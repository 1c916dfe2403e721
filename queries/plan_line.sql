-- What is the execution plan of this statement?
-- every: demand
-- needs: GV_$SQL_PLAN
-- pack: none
SELECT
    inst_id,
    sql_id,
    child_number,
    plan_hash_value,
    id,
    depth,
    operation,
    options,
    object_node,
    object_name,
    other_tag,
    distribution,
    cost,
    cardinality,
    bytes,
    time,
    partition_start,
    partition_stop,
    access_predicates,
    filter_predicates
FROM gv$sql_plan
WHERE inst_id = :at_inst_id
    AND sql_id = :sql_id
    AND child_number = :child_number
