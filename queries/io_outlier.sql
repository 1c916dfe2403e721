-- Which I/Os took longer than about half a second?
-- every: demand
-- needs: GV_$IO_OUTLIER
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
FROM gv$io_outlier
