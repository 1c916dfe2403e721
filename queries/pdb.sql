-- Which pluggable databases does this connection see, and on which instances are they open?
-- every: minute
-- needs: GV_$PDBS
-- pack: none
SELECT
    inst_id,
    con_id,
    name,
    open_mode
FROM gv$pdbs
