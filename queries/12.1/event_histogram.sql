-- How long do the waits for CPU, the parallel queue, storage and the redo log take?
-- every: refresh
-- shown: histograms
-- needs: GV_$EVENT_HISTOGRAM_MICRO
-- pack: none
SELECT
    inst_id,
    event,
    wait_time_micro,
    wait_count
FROM gv$event_histogram_micro
WHERE event LIKE 'resmgr:%'
    OR event LIKE 'log file%'
    OR event LIKE 'db file%'
    OR event LIKE 'direct path%'
    OR event LIKE 'cell %'
    OR event LIKE 'PX %'
