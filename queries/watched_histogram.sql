-- How long do the waits for the event that the user chose take?
-- every: demand
-- needs: GV_$EVENT_HISTOGRAM
-- pack: none
SELECT
    inst_id,
    event,
    wait_time_milli * 1000 AS wait_time_micro,
    wait_count
FROM gv$event_histogram
WHERE event = :event
