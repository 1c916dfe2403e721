-- How much of the last minute was CPU exhausted for each pluggable database?
-- every: minute
-- needs: GV_$RSRCPDBMETRIC
-- pack: none
-- since: 23
-- only: cdb
SELECT
    inst_id,
    con_id,
    cpu_exhausted
FROM gv$rsrcpdbmetric
