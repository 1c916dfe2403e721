-- Which sessions go into which consumer group?
-- every: minute
-- needs: CDB_RSRC_GROUP_MAPPINGS
-- pack: none
-- only: root
SELECT
    con_id,
    attribute,
    value,
    consumer_group,
    status
FROM cdb_rsrc_group_mappings
