-- How much of the last minute was CPU exhausted for each pluggable database?
-- every: minute
-- needs: GV_$RSRCPDBMETRIC
-- pack: none
-- only: cdb
SELECT
    inst_id,
    con_id,
    cpu_exhausted
FROM gv$rsrcpdbmetric
