-- Which plans exist, and how do they divide CPU?
-- every: minute
-- needs: DBA_RSRC_PLANS
-- pack: none
SELECT
    0 AS con_id,
    plan,
    mgmt_method,
    sub_plan,
    comments,
    status
FROM dba_rsrc_plans
