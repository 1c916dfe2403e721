-- Which number has each statistic in this release?
-- every: once
-- needs: V_$STATNAME
-- pack: none
SELECT
    "STATISTIC#" AS statistic,
    name
FROM v$statname
WHERE name IN (
    'CPU used by this session',
    'DB time',
    'session logical reads',
    'physical read total bytes',
    'physical write total bytes',
    'physical reads direct temporary tablespace',
    'physical writes direct temporary tablespace',
    'bytes sent via SQL*Net to client',
    'SQL*Net roundtrips to/from client',
    'user calls',
    'user commits',
    'execute count',
    'parse count (hard)',
    'redo size',
    'sorts (rows)',
    'sorts (disk)',
    'session pga memory',
    'cell physical IO bytes eligible for predicate offload',
    'cell physical IO bytes saved by storage index',
    'cell physical IO interconnect bytes'
)
