-- Which sessions go into which consumer group?
-- every: minute
-- needs: DBA_RSRC_GROUP_MAPPINGS
-- pack: none
SELECT
    0 AS con_id,
    attribute,
    value,
    consumer_group,
    status
FROM dba_rsrc_group_mappings
