-- Which parallel servers work, and which of them for GV$ queries, a monitor's and not a statement's?
-- every: refresh
-- needs: GV_$PX_PROCESS
-- pack: none
-- only: cluster
SELECT
    inst_id,
    server_name,
    sid,
    "SERIAL#" AS serial,
    CASE WHEN server_name LIKE 'PZ%' THEN 'TRUE' ELSE 'FALSE' END AS is_gv
FROM gv$px_process
WHERE status = 'IN USE'
