-- What does the CDB plan give each pluggable database?
-- every: minute
-- needs: DBA_CDB_RSRC_PLAN_DIRECTIVES
-- pack: none
-- only: cdb
SELECT
    plan,
    pluggable_database,
    shares,
    utilization_limit,
    parallel_server_limit,
    status,
    profile
FROM dba_cdb_rsrc_plan_directives
