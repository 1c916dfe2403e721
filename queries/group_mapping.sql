-- Which sessions go into which consumer group?
-- every: minute
-- needs: DBA_RSRC_GROUP_MAPPINGS
-- pack: none
SELECT
    attribute,
    value,
    consumer_group,
    status
FROM dba_rsrc_group_mappings
