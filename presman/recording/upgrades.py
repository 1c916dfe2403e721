"""Upgrades of recordings that an older presman made: one step from each format to the next, in one transaction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from sqlalchemy import Connection, text

from presman.recording.measure_tables import PART, SPAN
from presman.recording.measure_views import selects
from presman.recording.schema import META, METADATA, ROWS

Step = Callable[[Connection], None]


def upgrade(connection: Connection, found: int, wanted: int) -> None:
    """Bring a recording from format `found` to `wanted`. Raises LookupError where no way leads there."""
    views = selects(connection.dialect.name)
    for name in views:
        connection.execute(text(f'DROP VIEW IF EXISTS "{name}"'))
    for number in range(found, wanted):
        STEPS[number](connection)
    METADATA.create_all(connection)
    for name, select in views.items():
        connection.execute(text(f'CREATE VIEW "{name}" AS {select}'))
    connection.execute(META.update().where(META.c.name == "format").values(value=str(wanted)))


def _words_and_instants(connection: Connection) -> None:
    """Format 2: verdicts and states by their number, and in the queue since when one waits instead of how long."""
    for name in ("group_rows", "queued_rows"):
        _put_aside(name, connection)
    METADATA.create_all(connection)
    said = " UNION ".join(
        f"SELECT database_id, {each} AS word FROM group_rows_old WHERE {each} IS NOT NULL"
        for each in ("verdict", "state")
    )
    connection.exec_driver_sql(
        "INSERT INTO words (database_id, word_id, word) SELECT database_id,"
        f" ROW_NUMBER() OVER (PARTITION BY database_id ORDER BY word), word FROM ({said}) x"
    )
    number = "(SELECT w.word_id FROM words w WHERE w.database_id = r.database_id AND w.word = r.{})"
    of_words = {each: number.format(each) for each in ("verdict", "state")}
    _bring_back("group_rows", of_words, "", connection)
    place = f"p.poll - r.span * {SPAN}"
    # A row that lasts over several polls says for each of them how long one has waited.
    of_queue = {"first": place, "last": place, "waited_since": f"p.at - {PART} * r.waited_s"}
    join = (
        f"JOIN polls p ON p.database_id = r.database_id AND p.poll BETWEEN r.span * {SPAN} + r.first"
        f" AND r.span * {SPAN} + r.last"
    )
    _bring_back("queued_rows", of_queue, join, connection)


def _put_aside(name: str, connection: Connection) -> None:
    connection.exec_driver_sql(f"ALTER TABLE {name} RENAME TO {name}_old")
    if connection.dialect.name == "postgresql":  # names of constraints are of the whole schema
        connection.exec_driver_sql(f"ALTER INDEX {name}_pkey RENAME TO {name}_old_pkey")


def _bring_back(name: str, changed: Mapping[str, str], join: str, connection: Connection) -> None:
    """Fill a table from what was put aside; `changed` gives SQL of the old rows `r` for some of its columns."""
    columns = ROWS[name.removesuffix("_rows")].c.keys()
    values = ", ".join(changed.get(each, f'r."{each}"') for each in columns)
    names = ", ".join(f'"{each}"' for each in columns)
    connection.exec_driver_sql(f"INSERT INTO {name} ({names}) SELECT {values} FROM {name}_old r {join}")
    connection.exec_driver_sql(f"DROP TABLE {name}_old")


def _nothing(_connection: Connection) -> None:
    """Format 3: blocks are packed in another way; those that are there stay as they are (`codec/old_formats.py`)."""


STEPS: Mapping[int, Step] = MappingProxyType({1: _words_and_instants, 2: _nothing})
"""What leads from a format to the next, by the older one's number."""
