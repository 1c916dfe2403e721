"""V$, GV$ and DBA_ views as SQL tables: the embedded database that the simulator and the spool share.

The tables are made from `catalog.csv` (which view has which column since which release), so the very text of
queries/ that runs on Oracle runs here, on SQLite in memory, through SQLAlchemy.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from sys import intern
from time import perf_counter
from typing import Any, NamedTuple
from weakref import finalize

from sqlalchemy import Connection, DateTime, Engine, Float, Integer, String, TextualSelect, column, create_engine, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlalchemy.types import TypeEngine

from presman.base.release import Release
from presman.base.text import clean
from presman.records.conversion import field_types, to_records
from presman.records.queries import Query, Scope
from presman.records.rows import RecordType
from presman.records.snapshot import Problem, Section

CATALOG = Path(__file__).with_name("catalog.csv")

_SQL_TYPES: Mapping[str, TypeEngine[Any]] = {
    "int": Integer(),
    "float": Float(),
    "str": String(),
    "datetime": DateTime(),
}

_VIEW = re.compile(r"\b(?:G?V\$|DBA_|CDB_)\w+", re.IGNORECASE)


class SqlColumn(NamedTuple):
    """One column of the catalog."""

    view: str
    name: str
    datatype: str
    since: Release


@cache
def catalog() -> Mapping[str, Mapping[str, SqlColumn]]:
    """Return the catalog: view (``V$SESSION``, ``DBA_RSRC_PLANS``) → column → facts."""
    views: dict[str, dict[str, SqlColumn]] = {}
    release = cache(Release.parse)
    with CATALOG.open(encoding="utf-8", newline="") as file:
        lines = csv.reader(file)
        next(lines)
        for view, name, datatype, since, *_ in lines:
            # Twelve hundred rows use some sixty views and fifty types: one string each.
            fact = SqlColumn(intern(view), name, intern(datatype), release(since))
            views.setdefault(fact.view, {})[fact.name] = fact
    return views


def columns_of(view: str, release: Release) -> list[SqlColumn]:
    """Return the columns that `view` (V$, GV$ or DBA_ name) has in `release`; empty if it does not exist there."""
    is_global = view.startswith("GV$")
    base = catalog().get(view[1:] if is_global else view, {})
    present = [fact for fact in base.values() if fact.since <= release]
    if is_global and present:
        present.insert(0, SqlColumn(view, "INST_ID", "NUMBER", Release(11, 2)))
    return present


class EmbeddedDatabase:
    """The views of one release as tables in memory, empty at first.

    A table is made when it is first named: all two hundred of them would take some 4 MB.
    Not thread safe by design: it is used from the thread that made the first call.
    """

    def __init__(self, release: Release) -> None:
        self.release = release
        self._connection: Connection = _engine().connect()
        self._drop = finalize(self, self._connection.close)
        self._made: set[str] = set()
        self._provided: set[str] = set()

    @property
    def driver(self) -> Any:
        """The DBAPI connection, for bulk loading."""
        return self._connection.connection.driver_connection

    def provide(self, sql: str) -> None:
        """Make the tables of all views that `sql` names and the release has."""
        if sql in self._provided:
            return
        self._provided.add(sql)
        for view in {name.upper() for name in _VIEW.findall(sql)} - self._made:
            facts = columns_of(view, self.release)
            if facts:
                columns = ", ".join(f'"{fact.name}" "{_declared(fact)}"' for fact in facts)
                self.driver.execute(f'CREATE TABLE "{view}" ({columns})')
                self._made.add(view)

    def replace(self, view: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
        """Make `rows` the content of `view`; columns not named are NULL. Datetimes are given as naive UTC text."""
        self.provide(view)
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" * len(columns))
        self.driver.execute(f'DELETE FROM "{view}"')
        self.driver.executemany(f'INSERT INTO "{view}" ({names}) VALUES ({marks})', rows)

    def run(self, query: Query, scope: Scope, binds: Mapping[str, Any]) -> Section:
        """Run one query and return its section (without an instant); an SQL error becomes its problem."""
        begun = perf_counter()
        sql = query.sql(scope)
        try:
            self.provide(sql)
            found = self._connection.execute(_statement(sql, query.record), binds).all()
            rows = to_records(query.record, found)
        except (SQLAlchemyError, ValueError, TypeError) as error:
            cause = getattr(error, "orig", None) or error
            problem = Problem("", clean(str(cause)), query.view)
            return Section(seconds=perf_counter() - begun, problem=problem)
        return Section(rows, seconds=perf_counter() - begun)

    def close(self) -> None:
        """Drop the database; whoever forgets it has it dropped all the same."""
        self._drop()


@cache
def _engine() -> Engine:
    """Return what all embedded databases share: each connection is a database of its own, and gone when closed.

    What SQLAlchemy works out for a statement, which takes ten times as long as to run it, is kept with the engine.
    """
    return create_engine("sqlite://", poolclass=NullPool, connect_args={"check_same_thread": False})


@cache
def _statement(sql: str, record: RecordType) -> TextualSelect:
    # By position: SQLite reports a column by the name it was created with, in capitals.
    return text(sql).columns(
        *(column(name, _SQL_TYPES[kind.__name__]) for name, (kind, _) in field_types(record).items())
    )


def _declared(fact: SqlColumn) -> str:
    """Return the column's type for SQLite: Oracle's, kept for who asks, and the word that decides the affinity."""
    return f"{fact.datatype} {'NUMERIC' if fact.datatype.startswith('NUMBER') else 'TEXT'}"
