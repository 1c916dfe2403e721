-- What has this session done since it logged on?
-- every: demand
-- needs: GV_$SESSTAT
-- pack: none
SELECT
    inst_id,
    sid,
    "STATISTIC#" AS statistic,
    value
FROM gv$sesstat
WHERE inst_id = :at_inst_id
    AND sid = :sid
    AND value <> 0
