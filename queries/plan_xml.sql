-- Why has this statement this degree of parallelism?
-- every: demand
-- needs: GV_$SQL_PLAN
-- pack: none
SELECT
    inst_id,
    sql_id,
    child_number,
    other_xml
FROM gv$sql_plan
WHERE inst_id = :at_inst_id
    AND sql_id = :sql_id
    AND child_number = :child_number
    AND other_xml IS NOT NULL
