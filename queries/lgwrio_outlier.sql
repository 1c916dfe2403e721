-- Which I/Os of the redo writer took unusually long?
-- every: demand
-- needs: GV_$LGWRIO_OUTLIER
-- pack: none
SELECT
    inst_id,
    function_name,
    io_size,
    wait_event,
    file_name,
    io_latency,
    disk1_name,
    disk1_latency,
    disk2_name,
    disk2_latency,
    disk3_name,
    disk3_latency
FROM gv$lgwrio_outlier
