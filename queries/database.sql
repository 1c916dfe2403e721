-- Which database is this?
-- every: once
-- needs: V_$DATABASE
-- pack: none
SELECT
    name,
    db_unique_name,
    open_mode,
    database_role,
    'NO' AS cdb
FROM v$database
