-- Which parallel servers work for which coordinator, and with how much of the degree it asked for?
-- every: refresh
-- needs: GV_$PX_SESSION
-- pack: none
SELECT
    inst_id,
    sid,
    "SERIAL#" AS serial,
    qcsid,
    "QCSERIAL#" AS qcserial,
    qcinst_id,
    server_group,
    server_set,
    degree,
    req_degree
FROM gv$px_session
WHERE COALESCE(qcsid, -1) <> :own_sid
    OR COALESCE(qcinst_id, inst_id) <> :own_inst_id
