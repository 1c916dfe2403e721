-- Which consumer groups exist?
-- every: minute
-- needs: DBA_RSRC_CONSUMER_GROUPS
-- pack: none
SELECT
    consumer_group_id,
    consumer_group,
    status
FROM dba_rsrc_consumer_groups
