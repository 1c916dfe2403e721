"""Writes the SQL*Plus script behind `presman collect --sql`: it spools exactly what presman reads.

For sites that let no tool in: a colleague reads the script, runs it where he may, and sends the folder of CSV files,
which `presman spool:FOLDER` shows. It only selects; that its statements are SELECTs is proven by a test.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from presman.embedded import columns_of
from presman.events import QUEUE_WAITS
from presman.queries import Cadence, Query, load
from presman.release import Release
from presman.rows import OF_AN_UPDATE
from presman.selection import selection

SCRIPT = "presman_collect.sql"
"""The name under which the script calls itself for the second sample and those after it."""

_HEAD = """\
-- {script}: spools what presman reads from Oracle Database {release} and later, as CSV files in this folder.
--
-- Needs SQL*Plus 12.2 or later, or SQLcl; the client may be newer than the database. It only reads: every statement
-- is a SELECT, but for the two ALTER SESSION that fix how this session writes dates and numbers. No view of a
-- licensed pack is touched. A view that may not be read leaves its error in its file, and the rest goes on.
--
--   mkdir spool && cd spool              and put this file here, under this name
--   sqlplus user@service @{script}             one sample
--   sqlplus user@service @{script} 30 10       30 samples, 10 seconds apart
--   presman spool:.                      shows them, here or wherever the folder is copied to
--
-- Two samples are the least for rates. Running it again adds samples. On Windows, put `timeout /t` for sleep:
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

-- The instant of this sample, the same in all files, with the offset of the database's clock.
SELECT TO_CHAR(SYSTIMESTAMP, 'YYYY-MM-DD HH24:MI:SS.FF3 TZH:TZM') AS presman_taken FROM dual;
"""

_TAIL = """\
-- The samples that are still to come: a file that calls this one again, run last.
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
"""


class Spooled(NamedTuple):
    """What is spooled of one view: `columns` of the catalog, `conditions` of the queries ("" for all rows)."""

    view: str
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    once: bool
    answers: tuple[str, ...]

    @property
    def file(self) -> str:
        """The file's name; without `$`, which SQL*Plus would take for a variable."""
        return self.view.replace("$", "_").lower() + ".csv"

    @property
    def sql(self) -> str:
        """The SELECT, its sample time a substitution variable."""
        names = [f'"{name}"' if "#" in name else name.lower() for name in self.columns]
        items = ",\n    ".join(["'&presman_taken' AS sample_time", *names])
        return f"SELECT\n    {items}\nFROM {self.view.lower()}{self._where()}"

    def _where(self) -> str:
        conditions = list(self.conditions)
        if "" in conditions:
            conditions = []
        if len(conditions) > 1:
            conditions = [" OR ".join(f"({each})" for each in conditions)]
        if self.once:
            conditions = [*(f"({each})" for each in conditions), "'&presman_part' = 'first'"]
        return "\nWHERE " + "\n    AND ".join(conditions) if conditions else ""


def spooled(release: Release) -> list[Spooled]:
    """Return what the queries of `release` read, one entry for each view, none of a licensed pack."""
    views: dict[str, list[Query]] = {}
    for query in load(release).values():
        if query.pack == "none" and not _of_one_session(query) and query.record not in OF_AN_UPDATE:
            views.setdefault(selection(query).view, []).append(query)
    # What is asked on demand of a view that is read at each poll would add nothing.
    views = {
        view: [query for query in queries if query.cadence is not Cadence.DEMAND] or queries
        for view, queries in views.items()
    }
    return [_spooled(view, queries, release) for view, queries in sorted(views.items())]


def _of_one_session(query: Query) -> bool:
    """Whether a query follows one session that somebody looks at: a script has no such session."""
    return query.cadence is Cadence.DEMAND and ":sid" in query.cluster_sql


def _spooled(view: str, queries: Sequence[Query], release: Release) -> Spooled:
    words = frozenset().union(*(selection(query).words for query in queries))
    columns = tuple(column.name for column in columns_of(view, release) if column.name in words)
    conditions = tuple(dict.fromkeys(_condition(query) for query in queries))
    once = all(query.cadence is Cadence.ONCE for query in queries)
    return Spooled(view, columns, conditions, once, tuple(query.answers for query in queries))


def _condition(query: Query) -> str:
    where = selection(query).where
    if query.cadence is Cadence.DEMAND and ":" in where:
        own = [part for part in re.split(r"\s+AND\s+", where) if ":" not in part]
        return "\n    AND ".join([*own, _on_show()])
    for bind, name in ((":own_inst_id", "INSTANCE"), (":own_sid", "SID")):
        where = where.replace(bind, f"TO_NUMBER(SYS_CONTEXT('USERENV', '{name}'))")
    return where


def _on_show() -> str:
    """The statements that presman looks up: those in the parallel queue and those that hold parallel servers."""
    events = ", ".join(f"'{event}'" for event in sorted(QUEUE_WAITS))
    return f"""(inst_id, sql_id, child_number) IN (
        SELECT
            inst_id,
            COALESCE(sql_id, prev_sql_id),
            CASE WHEN sql_id IS NULL THEN prev_child_number ELSE COALESCE(sql_child_number, 0) END
        FROM gv$session
        WHERE event IN ({events})
            OR (inst_id, sid) IN (SELECT COALESCE(qcinst_id, inst_id), qcsid FROM gv$px_session)
    )"""


def collect_script(release: Release) -> str:
    """Return the script for databases of `release` and later."""
    return "\n".join(
        [_HEAD.format(script=SCRIPT, release=release), *_blocks(spooled(release)), _TAIL.format(script=SCRIPT)]
    )


def _blocks(views: Iterable[Spooled]) -> Iterable[str]:
    for each in views:
        comments = "".join(f"-- {line}\n" for line in each.answers)
        note = "-- (in the first sample only)\n" if each.once else ""
        yield f"{comments}{note}spool {each.file} append\n{each.sql};\nspool off\n"


def statements(script: str) -> list[str]:
    """Return the SQL statements of a script that :func:`collect_script` wrote, without their semicolons."""
    lines = [line for line in script.splitlines() if not line.startswith("--")]
    found = re.findall(r"^((?:SELECT|ALTER)\b.*?);$", "\n".join(lines), re.MULTILINE | re.DOTALL)
    return [str(statement) for statement in found]
