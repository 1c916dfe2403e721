-- How often was parallel execution downgraded, queued or run as asked, and how much redo was written?
-- every: refresh
-- needs: GV_$SYSSTAT
-- pack: none
SELECT
    inst_id,
    name,
    value
FROM gv$sysstat
WHERE name LIKE 'Parallel operations%'
    OR name IN ('queries parallelized', 'DML statements parallelized', 'DDL statements parallelized', 'DFO trees parallelized', 'redo size')
