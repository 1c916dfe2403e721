-- Which lines of this statement's plan do parallel servers work for, in which set and tree, and what stands above?
-- every: demand
-- needs: GV_$SQL_PLAN
-- pack: none
SELECT
    inst_id,
    sql_id,
    child_number,
    id,
    depth,
    operation,
    options,
    object_node
FROM gv$sql_plan
WHERE inst_id = :at_inst_id
    AND sql_id = :sql_id
    AND child_number = :child_number
    AND (object_node LIKE '_Q%' OR operation = 'PX COORDINATOR' OR id < 3)
