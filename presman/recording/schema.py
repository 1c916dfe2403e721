"""Schema: the tables and views of a recording. docs/recording.md describes it for who asks it by SQL.

Instants are microseconds since 1970 (UTC). Numbers of polls, cases and statements count within one database.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import BigInteger, Column, Integer, LargeBinary, MetaData, Table, Text, UniqueConstraint

from presman.recording.measure_tables import ARRIVALS, BUCKET, FLEET_FIGURES, ROW_TABLES, SPAN, KeptFigure

FORMAT = 3
"""The number of this format; each change that an older presman could not read counts it up."""

LAYOUT = 2
"""The format since which the tables are those of today: from this on a recording is read as it is."""

APPLICATION_ID = 0x50524D4E
"""What tells a recording from any other SQLite file ("PRMN")."""

METADATA = MetaData()


_TYPES = {"INTEGER": Integer, "BIGINT": BigInteger, "TEXT": Text, "BLOB": LargeBinary}


def _table(
    name: str, key: str, columns: str = "", figures: Sequence[KeptFigure] = (), *, has_rowid: bool = False
) -> Table:
    """Return a table. `key` and `columns` name its columns, each with its type and, where it has one, NOT NULL."""
    return Table(
        name,
        METADATA,
        *(_column(each, is_key=True) for each in key.split(", ")),
        *(_column(each) for each in filter(None, columns.split(", "))),
        *(Column(each.column, _kind(each)) for each in figures),
        sqlite_with_rowid=has_rowid,
    )


def _column(described: str, *, is_key: bool = False) -> Column[Any]:
    name, kind, *needed = described.split()
    if is_key:
        return Column(name, _TYPES[kind], primary_key=True, autoincrement=False)
    return Column(name, _TYPES[kind], nullable=not needed)


def _kind(each: KeptFigure) -> Text | BigInteger | Integer | LargeBinary:
    if each.is_numbered:
        return Integer()
    return LargeBinary() if each.is_long else Text() if each.is_text else BigInteger()


META = _table("meta", "name TEXT", "value TEXT NOT NULL", has_rowid=True)

DATABASES = Table(
    "databases",
    METADATA,
    Column("database_id", Integer, primary_key=True),
    *map(_column, ("target TEXT NOT NULL", "name TEXT NOT NULL", "kind TEXT NOT NULL")),
    UniqueConstraint("target"),
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
"""One row for each database: its newest poll, and what its recorder said last."""

BLOCKS = _table(
    "blocks",
    "database_id INTEGER, poll INTEGER",
    "chain INTEGER NOT NULL, polls INTEGER NOT NULL, first_at BIGINT NOT NULL, last_at BIGINT NOT NULL,"
    " content BLOB NOT NULL",
    has_rowid=True,
)

TEXTS = _table("texts", "hash BLOB", "text TEXT NOT NULL, last_at BIGINT NOT NULL")
"""Long texts, each once: statements, the notes of their plans. `last_at` is when the last chain that needs it began."""

WORDS = _table("words", "database_id INTEGER, word_id INTEGER", "word TEXT NOT NULL")
"""The few words that some figures are, by the number that stands in their place."""

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
"""The parallel statements with their whole life, as far as it was seen."""

ARRIVED = _table("arrived", "database_id INTEGER, statement INTEGER", "poll INTEGER NOT NULL", ARRIVALS)

CASES = {
    table.name: _table(f"{table.name}_cases", "database_id INTEGER, case_id INTEGER", figures=table.of_cases)
    for table in ROW_TABLES
}
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
"""The waits of a bucket in each poll of a span, side by side; NULL where there were none.

`waits_before` is their total before the first of these polls; `known` is 0 where it is not known how many came in that.
"""
