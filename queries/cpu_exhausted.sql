-- How much of the last whole minute were the CPUs exhausted?
-- every: minute
-- needs: GV_$RSRCMGRMETRIC
-- pack: none
-- since: 23
SELECT
    inst_id,
    con_id,
    consumer_group_name,
    cpu_exhausted
FROM gv$rsrcmgrmetric
