"""Row commands: the INSERTs and UPDATEs of each poll, given to the driver as they are: a poll has a dozen of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Table, func, select

_MARKS = {"sqlite": "?", "postgresql": "%s"}

NOW = {
    "sqlite": "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)",
    "postgresql": "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT)",
}
"""A store's present time in microseconds since 1970: those who write and those who look may be on several machines."""


class RowCommand(NamedTuple):
    """SQL for one row of values after the other; `names` tells the values of a row in their order."""

    texts: dict[str, str]
    names: tuple[str, ...]


def insert(table: Table, conflict: str = "") -> RowCommand:
    """Return the INSERT of whole rows; `conflict` is what follows for a row that is there already."""
    names = tuple(table.c.keys())
    values = ", ".join("?" * len(names))
    return _command(
        f'INSERT INTO "{table.name}" ({", ".join(map(_quoted, names))}) VALUES ({values}) {conflict}', names
    )


def update(table: Table, changed: Sequence[str], key: Sequence[str], clocks: Sequence[str] = ()) -> RowCommand:
    """Return the UPDATE of some columns of the row that has a key; a row of values has the key behind them.

    `clocks` are columns that become the store's present time, in microseconds since 1970.
    """
    values, own = _equal(changed), " AND ".join(_equal(key))
    texts = {}
    for kind, mark in _MARKS.items():
        now = [f"{_quoted(name)} = {NOW[kind]}" for name in clocks]
        texts[kind] = f'UPDATE "{table.name}" SET {", ".join([*values, *now])} WHERE {own}'.replace("?", mark)
    return RowCommand(texts, (*changed, *key))


def run(connection: Connection, command: RowCommand, rows: Sequence[Sequence[Any]]) -> None:
    """Run a command for each row of values; nothing without rows. Raises errors of the driver as they are."""
    if rows:
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(command.texts[connection.dialect.name], rows)
        finally:
            cursor.close()


def run_named(connection: Connection, command: RowCommand, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a command for each row of values by name."""
    run(connection, command, [[row[name] for name in command.names] for row in rows])


def next_number(connection: Connection, column: Column[int], database_id: int, first: int = 1) -> int:
    """Return the number that the next row of a database has in a column; `first` without any."""
    highest = connection.execute(select(func.max(column)).where(column.table.c.database_id == database_id)).scalar()
    return first if highest is None else int(highest) + 1


def _command(text: str, names: tuple[str, ...]) -> RowCommand:
    return RowCommand({kind: text.replace("?", mark) for kind, mark in _MARKS.items()}, names)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _equal(names: Sequence[str]) -> list[str]:
    return [f"{_quoted(name)} = ?" for name in names]
