-- Which pluggable databases does this connection see?
-- every: minute
-- needs: V_$PDBS
-- pack: none
SELECT
    con_id,
    name,
    open_mode
FROM v$pdbs
