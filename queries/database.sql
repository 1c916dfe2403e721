-- Which database is this?
-- every: once
-- needs: V_$DATABASE
-- pack: none
SELECT
    dbid,
    name,
    db_unique_name,
    open_mode,
    database_role,
    platform_name,
    'NO' AS cdb
FROM v$database
