-- Which consumer groups exist?
-- every: minute
-- needs: DBA_RSRC_CONSUMER_GROUPS
-- pack: none
SELECT
    consumer_group_id,
    consumer_group,
    mgmt_method,
    category,
    comments,
    status
FROM dba_rsrc_consumer_groups
