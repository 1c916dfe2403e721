"""Backend of the server: runs a client's SQL on the embedded views and returns rows with Oracle's column types."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from presman.sources.embedded import EmbeddedDatabase

NO_CONTEXT: Mapping[str, str] = MappingProxyType({})

_TOKENS = re.compile(
    r"(?P<keep>--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|\"[^\"]*\")"
    r"|(?P<bind>:\w+)"
    r"|(?P<utc>\bSYS_EXTRACT_UTC\s*\(\s*SYSTIMESTAMP\s*\))"
    r"|\b(?P<word>SYSDATE|SYSTIMESTAMP|DBTIMEZONE|SESSIONTIMEZONE)\b"
    r"|(?P<date>\bDATE\s+(?='))",
    re.IGNORECASE | re.DOTALL,
)
_INSTANT = re.compile(r"-?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?")
_NOT_VISIBLE = re.compile(r"no such table: (?:\w+\.)?(\S+)")
_NO_COLUMN = re.compile(r"no such column: (\S+)")


class OraError(Exception):
    """An error in Oracle's words: the number, and the text without the number."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"ORA-{code:05}: {text}")
        self.code = code
        self.text = text


class ResultColumn(NamedTuple):
    """One column of a result: its name and Oracle type (``NUMBER``, ``VARCHAR2(30)``, ``DATE``, ``CLOB``, ...)."""

    name: str
    kind: str


@dataclass(slots=True)
class Result:
    """The result of a statement; `columns` is empty unless the statement is a query."""

    columns: tuple[ResultColumn, ...] = ()
    rows: list[tuple[Any, ...]] = field(default_factory=list)


def _placeholders(sql: str) -> list[str]:
    """Return the names of a PL/SQL block's placeholders without duplicates: in PL/SQL a repeated name is one bind."""
    return list(dict.fromkeys(match["bind"][1:] for match in _TOKENS.finditer(sql) if match["bind"]))


class Backend:
    """The database behind the server: the tables of an EmbeddedDatabase, read only.

    `now` is the database's clock (aware); `zone` its time zone, in which DATE columns are returned although the
    tables hold UTC. `prepare` is called with each SQL text before it runs. Values of `context` take precedence over
    those that a session set itself.
    """

    def __init__(
        self,
        database: EmbeddedDatabase,
        *,
        now: Callable[[], datetime] | None = None,
        zone: tzinfo = UTC,
        prepare: Callable[[str], None] = lambda _sql: None,
        context: Mapping[str, str] = NO_CONTEXT,
        order: Callable[[str, Mapping[str, Any]], bool] = lambda _sql, _binds: False,
    ) -> None:
        self._order = order
        self.database = database
        self.zone = zone
        self._now = now or (lambda: datetime.now(UTC))
        self._prepare = prepare
        self._given = context
        self._context: Mapping[str, str] = context
        connection: sqlite3.Connection = database.driver
        connection.create_function("sys_context", 2, self._sys_context)
        connection.execute('CREATE TABLE "DUAL" ("DUMMY" "VARCHAR2(1)")')
        connection.execute("""INSERT INTO "DUAL" VALUES ('X')""")
        connection.execute(
            'CREATE TABLE "SYS$NOW" ("SYSDATE" DATE, "SYSTIMESTAMP" TIMESTAMPTZ, "UTC" TIMESTAMPUTC,'
            ' "DBTIMEZONE" "VARCHAR2(6)", "SESSIONTIMEZONE" "VARCHAR2(6)")'
        )
        self._declared: dict[str, list[str]] = {}

    def _sys_context(self, namespace: str, key: str) -> str | None:
        return self._context.get(key.upper()) if namespace.upper() == "USERENV" else None

    def execute(self, sql: str, binds: Sequence[Any], context: Mapping[str, str]) -> Result:
        """Run one statement; `binds` are its values in the order of their placeholders. Raises OraError."""
        first = re.match(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*\(*\s*(\w+)", sql, re.DOTALL)
        word = first[1].upper() if first else ""
        if word in {"ALTER", "BEGIN"} and self._order(sql, dict(zip(_placeholders(sql), binds, strict=False))):
            return Result()
        if word == "ALTER" and re.search(r"\bSESSION\b", sql, re.IGNORECASE):
            return Result()
        if word not in {"SELECT", "WITH"}:
            raise OraError(16000, "database or pluggable database open for read-only access")
        self._context = {**context, **self._given}
        connection: sqlite3.Connection = self.database.driver
        self.database.provide(sql)
        self._prepare(sql)
        text = _portable(sql, "?")
        try:
            connection.execute('DELETE FROM "SYS$NOW"')
            now = self._now()
            stamp = now.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
            offset = now.astimezone(self.zone).isoformat()[-6:]
            connection.execute(
                'INSERT INTO "SYS$NOW" VALUES (?, ?, ?, ?, ?)', (stamp[:19], stamp, stamp, offset, offset)
            )
            cursor = connection.execute(text, tuple(binds))
            rows = cursor.fetchall()
            names = [column[0] for column in cursor.description]
            return Result(self._columns(connection, sql, names, rows), rows)
        except (sqlite3.Error, OverflowError) as error:
            raise _as_oracle(error) from error

    def _columns(
        self, connection: sqlite3.Connection, sql: str, names: list[str], rows: list[tuple[Any, ...]]
    ) -> tuple[ResultColumn, ...]:
        kinds = self._declared.get(sql)
        if kinds is None:
            kinds = self._declared[sql] = _declared_types(connection, _portable(sql, "NULL"))
        return tuple(
            ResultColumn(name.strip('"').upper(), kind or _kind_of_values(row[index] for row in rows))
            for index, (name, kind) in enumerate(zip(names, kinds, strict=True))
        )


def _declared_types(connection: sqlite3.Connection, text: str) -> list[str]:
    """Return the Oracle type of each column of a query, "" for expressions; SQLite knows them of a view."""
    connection.execute(f'CREATE TEMP VIEW "SYS$DESCRIBE" AS {text}')
    try:
        declared = [column[2] for column in connection.execute('PRAGMA table_info("SYS$DESCRIBE")')]
    finally:
        connection.execute('DROP VIEW "SYS$DESCRIBE"')
    return [re.sub(r" (TEXT|NUMERIC)$", "", kind) for kind in declared]


def _kind_of_values(values: Iterable[Any]) -> str:
    found = [value for value in values if value is not None]
    if found and all(isinstance(value, int | float) for value in found):
        return "NUMBER"
    if found and all(_INSTANT.fullmatch(str(value)) for value in found):
        return "DATE"
    return "VARCHAR2(4000)" if all(len(str(value)) <= 4000 for value in found) else "CLOB"


@lru_cache(maxsize=500)
def _portable(sql: str, mark: str) -> str:
    """Return `sql` for SQLite: `mark` for each placeholder, subqueries for SYSDATE and the like."""

    def replace(found: re.Match[str]) -> str:
        if found["bind"]:
            return mark
        if found["utc"]:
            return '(SELECT "UTC" FROM "SYS$NOW")'
        if found["word"]:
            return f'(SELECT "{found["word"].upper()}" FROM "SYS$NOW")'
        return "" if found["date"] else found[0]

    return _TOKENS.sub(replace, sql.strip().rstrip(";"))


def placeholders(sql: str) -> list[str]:
    """Return the names of the placeholders without the colon, in order of occurrence."""
    return [found["bind"][1:] for found in _TOKENS.finditer(sql) if found["bind"]]


def _as_oracle(error: Exception) -> OraError:
    text = str(error)
    if _NOT_VISIBLE.search(text):
        return OraError(942, "table or view does not exist")
    if found := _NO_COLUMN.search(text):
        return OraError(904, f'"{found[1].upper()}": invalid identifier')
    return OraError(900, f"invalid SQL statement ({text})")
