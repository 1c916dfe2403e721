-- How many CPUs has the host, and how busy are they?
-- every: refresh
-- needs: GV_$OSSTAT
-- pack: none
SELECT
    inst_id,
    stat_name,
    value
FROM gv$osstat
WHERE stat_name IN ('NUM_CPUS', 'NUM_CPU_CORES', 'NUM_CPU_SOCKETS', 'LOAD', 'BUSY_TIME', 'IDLE_TIME', 'IOWAIT_TIME', 'RSRC_MGR_CPU_WAIT_TIME')
