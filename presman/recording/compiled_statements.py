"""Statements that run at each poll: compiled once for a kind of database, because a poll has a dozen of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import Connection
from sqlalchemy.engine.interfaces import Dialect

_Compiled = tuple[str, list[str] | None]
_compiled: WeakKeyDictionary[Dialect, dict[int, tuple[Any, _Compiled]]] = WeakKeyDictionary()


def run(connection: Connection, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run an INSERT or UPDATE for each row of values; nothing without rows. The rows have all the same keys."""
    if not rows:
        return
    known = _compiled.setdefault(connection.dialect, {})
    found = known.get(id(statement))
    if found is None or found[0] is not statement:
        made = statement.compile(dialect=connection.dialect, column_keys=list(rows[0]))
        found = known[id(statement)] = (statement, (str(made), made.positiontup))
    text, order = found[1]
    if order is None:
        connection.exec_driver_sql(text, [dict(row) for row in rows])
    else:
        connection.exec_driver_sql(text, [tuple([row[name] for name in order]) for row in rows])
