-- What is the text of this statement?
-- every: demand
-- needs: GV_$SQL
-- pack: none
SELECT
    inst_id,
    sql_id,
    child_number,
    sql_fulltext AS sql_text
FROM gv$sql
WHERE inst_id = :at_inst_id
    AND sql_id = :sql_id
    AND child_number = :child_number
