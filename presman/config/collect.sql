-- {script}: spools what presman reads from Oracle Database {release} and later, as CSV files in this folder.
--
-- Needs SQL*Plus 12.2 or later, or SQLcl; the client may be newer than the database. It only reads: every statement
-- is a SELECT, except the two ALTER SESSION that set this session's format of dates and numbers. No view of a
-- licensed pack is read. If a view may not be read, its file has the error, and the script continues.
--
-- Cost: {selects} SELECTs a sample, each on one view in memory; the largest are V$SESSION and the histograms.
-- V$SQL and V$SQL_PLAN are only read by SQL_ID, instance and child, never searched: {lookups} SELECTs for each
-- statement that is queued or holds parallel servers. On a cluster each needs a parallel server on every instance.
--
--   mkdir spool && cd spool              and put this file there, under this name
--   sqlplus user@service @{script}             one sample
--   sqlplus user@service @{script} 30 10       30 samples, 10 seconds apart
--   presman spool:.                      shows them, here or on any machine with a copy
--
-- Rates need at least two samples. Running it again adds samples. On Windows, use `timeout /t` instead of sleep:
define presman_sleep = 'sleep'

set echo off verify off feedback off termout off timing off trimspool on tab off wrap on recsep off
set heading on pagesize 50000 linesize 32767 numwidth 38 long 2000000 longchunksize 2000000 arraysize 500
set define '&' sqlblanklines off
set markup csv on delimiter ',' quote on

-- The arguments, with their defaults: samples, seconds between them, and (for the samples after the first) "again".
column 1 new_value 1 noprint
column 2 new_value 2 noprint
column 3 new_value 3 noprint
SELECT '' AS "1", '' AS "2", '' AS "3" FROM dual WHERE 1 = 2;
column presman_samples new_value presman_samples noprint
column presman_pause new_value presman_pause noprint
column presman_part new_value presman_part noprint
column presman_taken new_value presman_taken noprint
SELECT
    COALESCE('&1', '1') AS presman_samples,
    COALESCE('&2', '10') AS presman_pause,
    COALESCE('&3', 'first') AS presman_part
FROM dual;

ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD HH24:MI:SS';
ALTER SESSION SET NLS_NUMERIC_CHARACTERS = '.,';

-- The time of this sample, the same in all files, with the UTC offset of the database's clock.
SELECT TO_CHAR(SYSTIMESTAMP, 'YYYY-MM-DD HH24:MI:SS.FF3 TZH:TZM') AS presman_taken FROM dual;

{views}
-- {answers}
-- Statements in the parallel queue and those that hold parallel servers, each read by its key. One file has the query
-- for one of them (&1 instance, &2 SQL_ID, &3 child), another file calls it for each.
set define off
set heading off
set markup csv off
spool {cursor}
{prompts}
spool off
set define '&'
spool {cursors}
{keys};
spool off
set heading on
set markup csv on delimiter ',' quote on
@{cursors}

-- This sample is complete.
spool {samples} append
SELECT '&presman_taken' AS sample_time FROM dual;
spool off

-- The remaining samples: a file that calls this one again, run last.
set markup csv off
set heading off
spool presman_next_&presman_samples..sql
SELECT 'host &presman_sleep &presman_pause' || CHR(10) || '@{script} 1 0 again'
FROM (SELECT LEVEL AS presman_number FROM dual CONNECT BY LEVEL <= &presman_samples)
WHERE presman_number > 1;
spool off
@presman_next_&presman_samples..sql
undefine 1
undefine 2
undefine 3
set termout on
