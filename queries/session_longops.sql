-- How far has what runs for long come?
-- every: minute
-- needs: GV_$SESSION_LONGOPS
-- pack: none
SELECT
    inst_id,
    sid,
    "SERIAL#" AS serial,
    qcsid,
    sql_id,
    opname,
    target,
    sofar,
    totalwork,
    units,
    time_remaining
FROM gv$session_longops
WHERE sofar < totalwork
