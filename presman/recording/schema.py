"""Schema: the tables and views of a recording. docs/recording.md describes it for who asks it by SQL.

Instants are microseconds since 1970 (UTC). Numbers of polls, cases and statements count within one database.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from presman.recording.measure_tables import ARRIVALS, BUCKET, FLEET_FIGURES, ROW_TABLES, SPAN, KeptFigure, RowTable

FORMAT = 3
"""The number of this format; each change that an older presman could not read counts it up."""

LAYOUT = 2
"""The format since which the tables are those of today: from this on a recording is read as it is."""

APPLICATION_ID = 0x50524D4E
"""What tells a recording from any other SQLite file ("PRMN")."""

METADATA = MetaData()


def _key(name: str) -> Column[int]:
    return Column(name, Integer, primary_key=True, autoincrement=False)


def _kind(each: KeptFigure) -> Text | BigInteger | Integer | LargeBinary:
    if each.is_numbered:
        return Integer()
    return LargeBinary() if each.is_long else Text() if each.is_text else BigInteger()


def _column(each: KeptFigure) -> Column[object]:
    return Column(each.column, _kind(each))


META = Table("meta", METADATA, Column("name", Text, primary_key=True), Column("value", Text, nullable=False))

DATABASES = Table(
    "databases",
    METADATA,
    Column("database_id", Integer, primary_key=True),
    Column("target", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("kind", Text, nullable=False),
    UniqueConstraint("target"),
)

POLLS = Table(
    "polls",
    METADATA,
    _key("database_id"),
    _key("poll"),
    Column("at", BigInteger, nullable=False),
    Column("number", Integer, nullable=False),
    Column("epoch", Integer, nullable=False),
    Column("interval_us", BigInteger),
    Column("queued", Integer, nullable=False),
    Column("servers_in_use", Integer),
    Column("servers_target", Integer),
    Column("used_cpus", BigInteger),
    Column("waited_cpus", BigInteger),
    sqlite_with_rowid=False,
)

FLEET = Table(
    "fleet",
    METADATA,
    Column("database_id", Integer, primary_key=True, autoincrement=False),
    Column("polled_at", BigInteger),
    Column("every_us", BigInteger),
    Column("link", Text, nullable=False),
    Column("link_at", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("severity", Text, nullable=False),
    Column("worst", Text, nullable=False),
    *(_column(each) for each in FLEET_FIGURES),
)
"""One row for each database: its newest poll, and what its recorder said last."""

BLOCKS = Table(
    "blocks",
    METADATA,
    _key("database_id"),
    _key("poll"),
    Column("chain", Integer, nullable=False),
    Column("polls", Integer, nullable=False),
    Column("first_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("content", LargeBinary, nullable=False),
)

TEXTS = Table(
    "texts",
    METADATA,
    Column("hash", LargeBinary, primary_key=True),
    Column("text", Text, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""Long texts, each once: statements, the notes of their plans. `last_at` is when the last chain that needs it began."""

WORDS = Table(
    "words",
    METADATA,
    _key("database_id"),
    _key("word_id"),
    Column("word", Text, nullable=False),
    sqlite_with_rowid=False,
)
"""The few words that some figures are, by the number that stands in their place."""

EVENTS = Table(
    "events",
    METADATA,
    _key("database_id"),
    _key("event"),
    Column("at", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("consumer_group", Text, nullable=False),
    Column("sql_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    sqlite_with_rowid=False,
)

STATEMENTS = Table(
    "statements",
    METADATA,
    _key("database_id"),
    _key("statement"),
    Column("inst_id", Integer, nullable=False),
    Column("sid", Integer, nullable=False),
    Column("serial", Integer, nullable=False),
    Column("sql_id", Text, nullable=False),
    Column("con_id", Integer, nullable=False),
    Column("consumer_group", Text, nullable=False),
    Column("user", Text, nullable=False),
    Column("servers", Integer, nullable=False),
    *(
        Column(name, BigInteger)
        for name in ("queued_at", "started_at", "idle_at", "ended_at", "first_seen", "last_seen")
    ),
    sqlite_with_rowid=False,
)
"""The parallel statements with their whole life, as far as it was seen."""

ARRIVED = Table(
    "arrived",
    METADATA,
    _key("database_id"),
    _key("statement"),
    Column("poll", Integer, nullable=False),
    *(_column(each) for each in ARRIVALS),
    sqlite_with_rowid=False,
)


def _cases(table: RowTable) -> Table:
    return Table(
        f"{table.name}_cases",
        METADATA,
        _key("database_id"),
        _key("case_id"),
        *(_column(each) for each in table.of_cases),
        sqlite_with_rowid=False,
    )


def _rows(table: RowTable) -> Table:
    return Table(
        f"{table.name}_rows",
        METADATA,
        _key("database_id"),
        _key("span"),
        _key("first"),
        _key("case_id"),
        Column("last", Integer, nullable=False),
        *(_column(each) for each in table.of_rows),
        sqlite_with_rowid=False,
    )


CASES = {table.name: _cases(table) for table in ROW_TABLES}
ROWS = {table.name: _rows(table) for table in ROW_TABLES}

BUCKETS = Table(
    "buckets",
    METADATA,
    _key("database_id"),
    _key("bucket_id"),
    *(_column(each) for each in BUCKET),
    sqlite_with_rowid=False,
)

BUCKET_WAITS = Table(
    "bucket_waits",
    METADATA,
    _key("database_id"),
    _key("span"),
    _key("first"),
    _key("bucket_id"),
    Column("last", Integer, nullable=False),
    Column("known", Integer, nullable=False),
    Column("waits_before", BigInteger, nullable=False),
    *(Column(f"waits_{place}", BigInteger) for place in range(SPAN)),
    sqlite_with_rowid=False,
)
"""The waits of a bucket in each poll of a span, side by side; NULL where there were none.

`waits_before` is their total before the first of these polls; `known` is 0 where it is not known how many came in that.
"""
