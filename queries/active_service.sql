-- On which instances does each service run?
-- every: minute
-- needs: GV_$ACTIVE_SERVICES
-- pack: none
-- only: cluster
SELECT
    inst_id,
    name
FROM gv$active_services
