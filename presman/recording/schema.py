"""Schema: the tables and views of a recording. docs/recording.md describes it for users who query it with SQL.

Instants are microseconds since 1970 (UTC). Polls, cases and statements are numbered within one database.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from presman.recording.measure_tables import ARRIVALS, BUCKET, FLEET_FIGURES, ROW_TABLES, SPAN, KeptFigure

FORMAT = 3
"""The number of this format; each change that an older presman cannot read increments it."""

LAYOUT = 2
"""The first format with today's tables: recordings from this format on are read as they are."""

APPLICATION_ID = 0x50524D4E
"""The application ID of a recording, which distinguishes it from any other SQLite file ("PRMN")."""

METADATA = sa.MetaData()


_TYPES = {"INTEGER": sa.Integer, "BIGINT": sa.BigInteger, "TEXT": sa.Text, "BLOB": sa.LargeBinary}


def _table(
    name: str, key: str, columns: str = "", figures: Sequence[KeptFigure] = (), *, has_rowid: bool = False
) -> sa.Table:
    """Return a table. `key` and `columns` list its columns, each with its type and NOT NULL if that applies.

    Without `has_rowid` SQLite stores the rows themselves in the index of the key, and needs no second one.
    """
    return sa.Table(
        name,
        METADATA,
        *(_column(each, is_key=True) for each in key.split(", ")),
        *(_column(each) for each in filter(None, columns.split(", "))),
        *(sa.Column(each.column, _kind(each)) for each in figures),
        sqlite_with_rowid=has_rowid,
    )


def _column(described: str, *, is_key: bool = False) -> sa.Column[Any]:
    name, kind, *needed = described.split()
    if is_key:
        return sa.Column(name, _TYPES[kind], primary_key=True, autoincrement=False)
    return sa.Column(name, _TYPES[kind], nullable=not needed)


def _kind(each: KeptFigure) -> sa.Text | sa.BigInteger | sa.Integer | sa.LargeBinary:
    if each.is_numbered:
        return sa.Integer()
    return sa.LargeBinary() if each.is_long else sa.Text() if each.is_text else sa.BigInteger()


META = _table("meta", "name TEXT", "value TEXT NOT NULL", has_rowid=True)

DATABASES = sa.Table(
    "databases",
    METADATA,
    sa.Column("database_id", sa.Integer, primary_key=True),
    *map(_column, ("target TEXT NOT NULL", "name TEXT NOT NULL", "kind TEXT NOT NULL")),
    sa.UniqueConstraint("target"),
)

POLLS = _table(
    "polls",
    "database_id INTEGER, poll INTEGER",
    "at BIGINT NOT NULL, number INTEGER NOT NULL, epoch INTEGER NOT NULL, interval_us BIGINT, queued INTEGER NOT NULL,"
    " servers_in_use INTEGER, servers_target INTEGER, used_cpus BIGINT, waited_cpus BIGINT",
)

FLEET = _table(
    "fleet",
    "database_id INTEGER",
    "polled_at BIGINT, every_us BIGINT, link TEXT NOT NULL, link_at BIGINT NOT NULL, reason TEXT NOT NULL,"
    " severity TEXT NOT NULL, worst TEXT NOT NULL",
    FLEET_FIGURES,
    has_rowid=True,
)
"""One row for each database: its newest poll, and the last state that its recorder reported."""

BLOCKS = _table(
    "blocks",
    "database_id INTEGER, poll INTEGER",
    "chain INTEGER NOT NULL, polls INTEGER NOT NULL, first_at BIGINT NOT NULL, last_at BIGINT NOT NULL,"
    " content BLOB NOT NULL",
    has_rowid=True,
)

TEXTS = _table("texts", "hash BLOB", "text TEXT NOT NULL, last_at BIGINT NOT NULL")
"""Long texts, each stored once: statements and notes of plans. `last_at` is when the last chain that needs it began."""

WORDS = _table("words", "database_id INTEGER, word_id INTEGER", "word TEXT NOT NULL")
"""The words that are the values of some figures, by the number stored in their place."""

EVENTS = _table(
    "events",
    "database_id INTEGER, event INTEGER",
    "at BIGINT NOT NULL, kind TEXT NOT NULL, consumer_group TEXT NOT NULL, sql_id TEXT NOT NULL, text TEXT NOT NULL",
)

STATEMENTS = _table(
    "statements",
    "database_id INTEGER, statement INTEGER",
    "inst_id INTEGER NOT NULL, sid INTEGER NOT NULL, serial INTEGER NOT NULL, sql_id TEXT NOT NULL,"
    " con_id INTEGER NOT NULL, consumer_group TEXT NOT NULL, user TEXT NOT NULL, servers INTEGER NOT NULL,"
    " queued_at BIGINT, started_at BIGINT, idle_at BIGINT, ended_at BIGINT, first_seen BIGINT, last_seen BIGINT",
)
"""The parallel statements with their whole lives, as far as they were seen."""

ARRIVED = _table("arrived", "database_id INTEGER, statement INTEGER", "poll INTEGER NOT NULL", ARRIVALS)

_CASE = "database_id INTEGER, case_id INTEGER"
CASES = {table.name: _table(f"{table.name}_cases", _CASE, figures=table.of_cases) for table in ROW_TABLES}
ROWS = {
    table.name: _table(
        f"{table.name}_rows",
        "database_id INTEGER, span INTEGER, first INTEGER, case_id INTEGER",
        "last INTEGER NOT NULL",
        table.of_rows,
    )
    for table in ROW_TABLES
}

BUCKETS = _table("buckets", "database_id INTEGER, bucket_id INTEGER", figures=BUCKET)

BUCKET_WAITS = _table(
    "bucket_waits",
    "database_id INTEGER, span INTEGER, first INTEGER, bucket_id INTEGER",
    ", ".join(
        (
            "last INTEGER NOT NULL, known INTEGER NOT NULL, waits_before BIGINT NOT NULL",
            *(f"waits_{index} BIGINT" for index in range(SPAN)),
        )
    ),
)
"""The waits of a bucket in each poll of a span, side by side; NULL if there were none.

`waits_before` is their total before the first of these polls; `known` is 0 if the number in that first poll is unknown.
"""


# ---- Row commands: the INSERTs and UPDATEs of each poll, a dozen, passed directly to the driver.

_MARKS = {"sqlite": "?", "postgresql": "%s"}

NOW = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
}
"""A store's current time in microseconds since 1970: its writers and readers may run on different machines."""


class RowCommand(NamedTuple):
    """SQL that is run for each row of values; `names` are the names of the values in order."""

    texts: dict[str, str]
    names: tuple[str, ...]


def command(text: str) -> RowCommand:
    """Return a command whose values have no names, with a question mark for each."""
    return RowCommand({kind: text.replace("?", mark) for kind, mark in _MARKS.items()}, ())


def insert(table: sa.Table, conflict: str = "") -> RowCommand:
    """Return the INSERT of whole rows; `conflict` is the clause for a row that already exists."""
    names = tuple(table.c.keys())
    columns, values = ", ".join(map(_quoted, names)), ", ".join("?" * len(names))
    return command(f'INSERT INTO "{table.name}" ({columns}) VALUES ({values}) {conflict}')._replace(names=names)


def update(table: sa.Table, changed: Sequence[str], key: Sequence[str], clocks: Sequence[str] = ()) -> RowCommand:
    """Return the UPDATE of some columns of the row with a key; in a row of values the key comes last.

    `clocks` are columns set to the store's current time, in microseconds since 1970.
    """
    values, condition = _equal(changed), " AND ".join(_equal(key))
    texts = {}
    for kind, mark in _MARKS.items():
        now = [f"{_quoted(name)} = {NOW[kind]}" for name in clocks]
        texts[kind] = f'UPDATE "{table.name}" SET {", ".join([*values, *now])} WHERE {condition}'.replace("?", mark)
    return RowCommand(texts, (*changed, *key))


def run(connection: sa.Connection, command: RowCommand, rows: Sequence[Sequence[Any]]) -> None:
    """Run a command for each row of values, if there are any. Raises the driver's own errors."""
    if rows:
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(command.texts[connection.dialect.name], rows)
        finally:
            cursor.close()


def run_named(connection: sa.Connection, command: RowCommand, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a command for each row of values, given by name."""
    run(connection, command, [[row[name] for name in command.names] for row in rows])


def next_number(connection: sa.Connection, column: sa.Column[int], database_id: int, first: int = 1) -> int:
    """Return the next number of a database in a column, `first` if it has no row."""
    is_own = column.table.c.database_id == database_id
    highest = connection.execute(sa.select(sa.func.max(column)).where(is_own)).scalar()
    return first if highest is None else int(highest) + 1


def _quoted(name: str) -> str:
    return f'"{name}"'


def _equal(names: Sequence[str]) -> list[str]:
    return [f"{_quoted(name)} = ?" for name in names]
