"""Writer of the SQL*Plus script of `presman collect --sql`, which spools exactly what presman reads.

It is for sites that allow no tool in: a colleague reads the script, runs it where that is allowed, and sends the
folder of CSV files, which `presman spool:FOLDER` shows. It only selects; a test proves that all its statements are
SELECTs.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from presman.base.release import Release
from presman.rows.queries import OF_AN_UPDATE, Cadence, Query, columns_of, load, selection
from presman.rows.session_state import QUEUE_WAITS
from presman.sources.spool.spool_file import SAMPLES

SCRIPT = "presman_collect.sql"
"""The file name by which the script calls itself for the second sample and those after it."""

CURSOR, CURSORS = "presman_cursor.sql", "presman_cursors.sql"
"""Files that the script writes to query V$SQL and V$SQL_PLAN: the query for one cursor, and the list of cursors."""

_TEMPLATE = Path(__file__).with_suffix(".sql")
"""The rest of the script around the spooled views: its head, the cursors, and the remaining samples."""


class Spooled(NamedTuple):
    """The part of one view that is spooled: `columns` of the catalog, `conditions` of the queries ("" for all rows).

    `once` means in the first sample only; `by_key` means one cursor at a time, by the key of V$SQL.
    """

    view: str
    columns: tuple[str, ...]
    conditions: tuple[str, ...]
    once: bool
    by_key: bool
    answers: tuple[str, ...]

    @property
    def file(self) -> str:
        """The name of the file, without `$`, which SQL*Plus would treat as part of a variable."""
        return self.view.replace("$", "_").lower() + ".csv"

    @property
    def sql(self) -> str:
        """The SELECT; its sample time is a substitution variable. A view without rows returns one empty row.

        So every sample appears in every file, and rows of an earlier sample are not taken for current ones.
        """
        first = "\nWHERE '&presman_part' = 'first'" if self.once else ""
        names = ",\n        ".join(f'"{name}"' if "#" in name else name.lower() for name in self.columns)
        rows = f"    SELECT\n        {names}\n    FROM {self.view.lower()}{self._where()}"
        marked = "SELECT\n    '&presman_taken' AS sample_time,\n    r.*\nFROM dual"
        return f"{marked}\nLEFT JOIN (\n{rows}\n) r ON 1 = 1{first}"

    def _where(self) -> str:
        conditions = [] if "" in self.conditions else list(self.conditions)
        if len(conditions) > 1:
            conditions = [" OR ".join(f"({each})" for each in conditions)]
        return "\n    WHERE " + "".join(conditions).replace("\n", "\n    ") if conditions else ""


def spooled(release: Release) -> list[Spooled]:
    """Return the views that the queries of `release` read, each once, without those of licensed packs."""
    views: dict[str, list[Query]] = {}
    for query in load(release).values():
        is_of_one_session = query.cadence is Cadence.DEMAND and ":sid" in query.cluster_sql  # that the user selected
        if query.pack == "none" and not is_of_one_session and query.record not in OF_AN_UPDATE:
            views.setdefault(selection(query).view, []).append(query)
    found = []
    for view, of_view in sorted(views.items()):  # an on-demand query on a view that is read anyway would add nothing
        queries = [query for query in of_view if query.cadence is not Cadence.DEMAND] or of_view
        words = frozenset().union(*(selection(query).words for query in queries))
        columns = tuple(column.name for column in columns_of(view, release) if column.name in words)
        by_key = all(query.cadence is Cadence.DEMAND and ":sql_id" in selection(query).where for query in queries)
        conditions = (_KEY,) if by_key else tuple(dict.fromkeys(map(_condition, queries)))
        once = all(query.cadence is Cadence.ONCE for query in queries)
        found.append(Spooled(view, columns, conditions, once, by_key, tuple(query.answers for query in queries)))
    return found


_KEY = "inst_id = &1 AND sql_id = '&2' AND child_number = &3"


_NARROW = re.compile(r"(?:\s*AND \()?:with_idle = 1\b.*", re.DOTALL)
"""The condition that leaves idle sessions out of a poll: a script takes few samples, and reads all sessions in each."""


def _condition(query: Query) -> str:
    where = _NARROW.sub("", selection(query).where)
    for bind, name in ((":own_inst_id", "INSTANCE"), (":own_sid", "SID")):
        where = where.replace(bind, f"TO_NUMBER(SYS_CONTEXT('USERENV', '{name}'))")
    return where


def keys_of_cursors() -> str:
    """Return the SELECT that writes a line for each cursor to query: those queued and those of parallel servers.

    V$PX_SESSION has coordinators and servers, and the servers show which statement an idle coordinator holds them for.
    """
    events = ", ".join(f"'{event}'" for event in sorted(QUEUE_WAITS))
    return f"""\
SELECT DISTINCT
    '@{CURSOR} ' || inst_id || ' ' || COALESCE(sql_id, prev_sql_id) || ' '
        || COALESCE(CASE WHEN sql_id IS NULL THEN prev_child_number ELSE sql_child_number END, 0) AS presman_key
FROM gv$session
WHERE COALESCE(sql_id, prev_sql_id) IS NOT NULL
    AND (event IN ({events})
        OR (inst_id, sid) IN (SELECT inst_id, sid FROM gv$px_session))"""


def collect_script(release: Release) -> str:
    """Return the script for databases of `release` and later."""
    views = spooled(release)
    by_key = [each for each in views if each.by_key]
    whole = [each for each in views if not each.by_key]
    return _TEMPLATE.read_text("utf-8").format(
        script=SCRIPT,
        release=release,
        selects=len(whole) + 1,
        lookups=len(by_key),
        views="\n".join(map(_block, whole)),
        answers="\n-- ".join(text for each in by_key for text in each.answers),
        cursor=CURSOR,
        cursors=CURSORS,
        prompts=_prompts(by_key),
        keys=keys_of_cursors(),
        samples=SAMPLES,
    )


def _block(each: Spooled) -> str:
    comments = "".join(f"-- {line}\n" for line in each.answers)
    note = "-- (in the first sample only)\n" if each.once else ""
    return f"{comments}{note}spool {each.file} append\n{each.sql};\nspool off\n"


def _prompts(views: Sequence[Spooled]) -> str:
    """Return the commands that write the query for each cursor key: SQL*Plus has no loop, so it runs what it wrote."""
    asked = "\n".join(f"spool {each.file} append\n{each.sql}\n/\nspool off" for each in views)
    return "\n".join(f"prompt {line}" for line in asked.splitlines())
