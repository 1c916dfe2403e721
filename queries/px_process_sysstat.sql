-- How many parallel servers does each instance have, and how many are in use?
-- every: refresh
-- needs: GV_$PX_PROCESS_SYSSTAT
-- pack: none
SELECT
    inst_id,
    statistic,
    value
FROM gv$px_process_sysstat
