"""V$, GV$ and DBA_ views as SQL tables: the embedded database that the simulator and the spool share.

The tables are created from the catalog (the columns of each view in each release), so the SQL in queries/ runs here
unchanged, on SQLite in memory.
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from time import perf_counter
from typing import Any
from weakref import finalize

from presman.base.release import Release
from presman.base.text import clean
from presman.rows.queries import Query, Scope, columns_of, null_columns, to_records
from presman.rows.query_files import SqlColumn, views_named
from presman.rows.snapshot import Problem, Section

_STATEMENTS = 256
"""Prepared statements that are cached: some forty queries in two scopes, and the INSERTs into their tables."""


class EmbeddedDatabase:
    """The views of one release as tables in memory, empty at first.

    A table is created when a query first names it: all two hundred would take some 4 MB.
    Not thread safe: one thread uses it at a time.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self.driver = sqlite3.connect(":memory:", check_same_thread=False, cached_statements=_STATEMENTS)
        """The connection, for bulk loading."""
        self._drop = finalize(self, self.driver.close)
        self._drop.atexit = False  # a daemon thread may still be running a query
        self._made: set[str] = set()

    def provide(self, sql: str) -> None:
        """Create the tables of all views that `sql` names, if the release has them."""
        for view in views_named(sql):
            if view not in self._made and (facts := columns_of(view, self.release)):
                columns = ", ".join(f'"{fact.name}" "{_declared(fact)}"' for fact in facts)
                self.driver.execute(f'CREATE TABLE "{view}" ({columns})')
            self._made.add(view)

    def replace(self, view: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Replace the rows of `view`; other columns than `columns` are NULL. Datetimes are given as naive UTC text."""
        self.provide(view)
        self.driver.execute(f'DELETE FROM "{view}"')
        names, marks = ", ".join(f'"{name}"' for name in columns), ", ".join("?" * len(columns))
        self.driver.executemany(f'INSERT INTO "{view}" ({names}) VALUES ({marks})', rows)

    def run(self, query: Query, scope: Scope, binds: Mapping[str, Any]) -> Section:
        """Run one query and return its section (without an instant); an SQL error becomes its problem."""
        begun, sql = perf_counter(), query.sql(scope)
        try:
            self.provide(sql)
            values = self.driver.execute(sql, binds).fetchall()
            rows = to_records(query.record, values)
        except (sqlite3.Error, ValueError, TypeError, OverflowError) as error:
            problem = Problem("", clean(str(error)), query.view)
            return Section(seconds=perf_counter() - begun, problem=problem)
        return Section(rows, seconds=perf_counter() - begun, absent=null_columns(query.record, values))

    def close(self) -> None:
        """Drop the database. Garbage collection does so, too."""
        self._drop()


def _declared(fact: SqlColumn) -> str:
    """Return the column's type for SQLite: Oracle's type, for information, and the word that sets the affinity."""
    return f"{fact.datatype} {'NUMERIC' if fact.datatype.startswith('NUMBER') else 'TEXT'}"
