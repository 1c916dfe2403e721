"""Row statements: the INSERTs and UPDATEs of each poll, given to the driver as they are: a poll has a dozen of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table

_MARKS = {"sqlite": "?", "postgresql": "%s"}


class RowStatement(NamedTuple):
    """SQL for one row of values after the other; `names` tells the values of a row in their order."""

    texts: dict[str, str]
    names: tuple[str, ...]


def insert(table: Table, conflict: str = "") -> RowStatement:
    """Return the INSERT of whole rows; `conflict` is what follows for a row that is there already."""
    names = tuple(table.c.keys())
    values = ", ".join("?" * len(names))
    return _statement(
        f'INSERT INTO "{table.name}" ({", ".join(map(_quoted, names))}) VALUES ({values}) {conflict}', names
    )


def update(table: Table, changed: Sequence[str], key: Sequence[str]) -> RowStatement:
    """Return the UPDATE of some columns of the row that has a key; a row of values has the key behind them."""
    values, own = ", ".join(_equal(changed)), " AND ".join(_equal(key))
    return _statement(f'UPDATE "{table.name}" SET {values} WHERE {own}', (*changed, *key))


def run(connection: Connection, statement: RowStatement, rows: Sequence[Sequence[Any]]) -> None:
    """Run a statement for each row of values; nothing without rows. Raises errors of the driver as they are."""
    if rows:
        cursor = connection.connection.cursor()
        try:
            cursor.executemany(statement.texts[connection.dialect.name], rows)
        finally:
            cursor.close()


def run_named(connection: Connection, statement: RowStatement, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement for each row of values by name."""
    run(connection, statement, [[row[name] for name in statement.names] for row in rows])


def _statement(text: str, names: tuple[str, ...]) -> RowStatement:
    return RowStatement({kind: text.replace("?", mark) for kind, mark in _MARKS.items()}, names)


def _quoted(name: str) -> str:
    return f'"{name}"'


def _equal(names: Sequence[str]) -> list[str]:
    return [f"{_quoted(name)} = ?" for name in names]
