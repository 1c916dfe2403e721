"""Cursors and LOB locators of a session: parsed statements and the rows that were not fetched yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tests.oracle_server import requests as ask
from tests.oracle_server.answers import NO_MORE_ROWS, Answer, form_of
from tests.oracle_server.backend import Backend, OraError, Result
from tests.oracle_server.faults import Ora

LOB_LENGTH, LOB_READ, LOB_CHUNK_SIZE = 1, 2, 0x4000


@dataclass(slots=True)
class Cursor:
    """A parsed statement and the rows of its result that were not fetched yet."""

    number: int
    sql: str
    binds: tuple[ask.Bind, ...] = ()
    defines: tuple[ask.Bind, ...] | None = None
    result: Result | None = None
    at: int = 0

    @property
    def waits_for_defines(self) -> bool:
        """Whether the client must first define how it wants LOB columns."""
        columns = self.result.columns if self.result else ()
        return self.defines is None and any(form_of(column.kind).type == ask.TYPE_CLOB for column in columns)


class Cursors:
    """The open cursors of one session, by number, and the LOBs whose locators it has."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._open: dict[int, Cursor] = {}
        self._lobs: dict[int, str | bytes] = {}

    def binds(self) -> dict[int, tuple[ask.Bind, ...]]:
        """Return the bind descriptions by cursor, which a re-execution does not repeat."""
        return {number: cursor.binds for number, cursor in self._open.items()}

    def drop(self, numbers: Iterable[int]) -> None:
        """Close cursors; unknown numbers are ignored."""
        for number in numbers:
            self._open.pop(number, None)

    def of(self, call: ask.Call) -> Cursor:
        """Return the cursor of a call, or a new one for a new statement. Raises KeyError for an unknown number."""
        if call.code == ask.EXECUTE and not call.cursor:
            number = max(self._open, default=0) + 1
            self._open[number] = Cursor(number, call.sql)
        cursor = self._open[call.cursor or number]
        if call.code == ask.EXECUTE and call.sql:
            cursor.sql = call.sql
        if call.defines is not None:
            cursor.defines = call.defines
        elif call.code == ask.EXECUTE and call.options & ask.OPTION_EXECUTE:
            cursor.binds = call.binds
        return cursor

    def run(self, cursor: Cursor, call: ask.Call, context: Mapping[str, str]) -> bool:
        """Execute the cursor's statement; True if its columns are to be described."""
        known = cursor.result.columns if cursor.result else None
        cursor.result = self._backend.execute(cursor.sql, call.values, context)
        cursor.at = 0
        return bool(cursor.result.columns) and (bool(call.options & ask.OPTION_PARSE) or known != cursor.result.columns)

    @staticmethod
    def wanted(call: ask.Call, cursor: Cursor) -> int:
        """Return how many rows the client wants with this answer."""
        if call.options & ask.OPTION_DESCRIBE or cursor.waits_for_defines:
            return 0
        if call.code != ask.EXECUTE or call.cursor:
            return call.count
        return call.prefetch  # some clients ask to fetch, others only send the number of rows

    def put_rows(self, answer: Answer, cursor: Cursor, wanted: int, failure: Ora | None = None) -> None:
        """Answer with the next `wanted` rows; `failure` is raised after the first few. Raises OraError."""
        result = cursor.result or Result()
        rows = result.rows[cursor.at : cursor.at + wanted]
        if failure is not None:
            answer.rows(result.columns, rows[: failure.after], cursor.defines, self._keep_lobs(cursor, rows))
            raise OraError(failure.code, failure.text)
        answer.rows(result.columns, rows, cursor.defines, self._keep_lobs(cursor, rows))
        cursor.at += len(rows)
        if result.columns and len(rows) < wanted:
            answer.error(NO_MORE_ROWS, "no data found", cursor=cursor.number, rows=cursor.at)
        else:
            answer.error(cursor=cursor.number, rows=cursor.at)

    def _keep_lobs(self, cursor: Cursor, rows: list[tuple[Any, ...]]) -> int:
        """Keep the LOBs that are sent as locators; return the number of the first."""
        first = max(self._lobs, default=0) + 1
        if cursor.result is None or (cursor.defines and all(d.type != ask.TYPE_CLOB for d in cursor.defines)):
            return first
        columns = [i for i, c in enumerate(cursor.result.columns) if form_of(c.kind).type == ask.TYPE_CLOB]
        values = [row[i] for row in rows for i in columns if row[i] is not None]
        self._lobs.update(enumerate(values, first))
        for number in sorted(self._lobs)[: -max(1000, len(values))]:
            del self._lobs[number]
        return first

    def fetch(self, answer: Answer, call: ask.Call) -> None:
        """Answer a FETCH."""
        cursor = self._open.get(call.cursor)
        if cursor is None:
            answer.error(1001, "invalid cursor")
        else:
            self.put_rows(answer, cursor, call.count)

    def read_lob(self, answer: Answer, call: ask.Call) -> None:
        """Answer a request for a LOB's size or for a part of it."""
        value = self._lobs.get(int.from_bytes(call.locator[-8:], "big"), "")
        if call.operation == LOB_LENGTH:
            answer.lob(call.locator, None, len(value))
        elif call.operation == LOB_CHUNK_SIZE:
            answer.lob(call.locator, None, 8060)
        elif call.operation == LOB_READ:
            part = value[call.offset - 1 : call.offset - 1 + call.count]
            answer.lob(call.locator, part if isinstance(part, bytes) else part.encode(), len(part))
        else:
            answer.error(22275, "invalid LOB locator specified")
            return
        answer.error()
