-- Which plans does each container have, and how do they divide CPU?
-- every: minute
-- needs: CDB_RSRC_PLANS
-- pack: none
-- only: root
SELECT
    con_id,
    plan,
    mgmt_method,
    sub_plan,
    comments,
    status
FROM cdb_rsrc_plans
