-- How is the work of this statement spread over its parallel servers?
-- every: demand
-- needs: GV_$PX_SESSTAT
-- pack: none
SELECT
    inst_id,
    sid,
    qcsid,
    qcinst_id,
    server_set,
    "SERVER#" AS server,
    degree,
    "STATISTIC#" AS statistic,
    value
FROM gv$px_sesstat
WHERE qcsid = :sid
    AND "STATISTIC#" IN (:cpu_number, :logical_number, :read_number)
