"""Limits of a recording: the work SQLite may do on a file, and the size of a recording in PostgreSQL.

The file may be a stranger's; a signal ends what SQLite does with it.

In PostgreSQL the size is what its rows take, without the room that removed ones left behind. PostgreSQL gives no room
back when rows are deleted: its files stay as large as they were and are filled anew. So their size,
pg_total_relation_size, is not what is removed by: it would stay too large until nothing was left. Here rows are counted
and weighed by PostgreSQL's own statistics, which ANALYZE brings up to date; long values, which statistics know only as
pointers, are added up.
"""

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from math import inf
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, text

from presman.recording.schema import BLOCKS, METADATA, TEXTS

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: 32 << 20,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
}
"""A chain of polls is the longest value, the view of latencies the longest text."""

_EACH = 50_000
"""Steps of SQLite, a millisecond or so, after which is looked whether to go on."""

_STEPS, _STEPS_PER_BYTE = 50_000_000, 50
_ROWS, _BYTES_PER_ROW, _ROWS_OF_A_SERVER = 100_000, 8, 10_000_000
_TEXT, _BYTES_OF_A_SERVER = 16 << 20, 1 << 40
"""A report of 600 polls takes less than a step for each byte of the file, and a row for each 1,000."""


class StatementLimits:
    """What one question may take: steps, rows and text in proportion to the file, so that none is without end.

    A signal ends it, too, and so does another thread, once `is_unwanted` says so. SQLite would lose what the signal's
    handler raises: `raise_again` raises it.
    """

    def __init__(self, path: Path, is_unwanted: Callable[[], bool] = bool) -> None:
        self._path = path
        self.is_unwanted = is_unwanted
        self._raised: BaseException | None = None
        self.most_rows = _ROWS_OF_A_SERVER
        self.most_bytes = _BYTES_OF_A_SERVER
        self._looks_left = self._text_left = inf

    def begin(self) -> None:
        """Reset the count: another query follows."""
        size = sum(bytes_on_disk(Path(f"{self._path}{end}")) for end in ("", "-wal"))
        self._looks_left = (_STEPS + _STEPS_PER_BYTE * size) // _EACH
        self._text_left = _TEXT + size
        self.most_rows = min(_ROWS + size // _BYTES_PER_ROW, _ROWS_OF_A_SERVER)
        self.most_bytes = _TEXT + size

    def end(self) -> None:
        """Bound nothing any more: what follows is presman's own; signals still end it."""
        self._looks_left = self._text_left = inf

    def hold(self, connection: sqlite3.Connection) -> None:
        """Have a connection keep to the limits."""
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        look = _looking(self._look)
        next(look)
        connection.set_progress_handler(look.__next__, _EACH)
        connection.text_factory = self._text

    def raise_again(self) -> None:
        """Raise what a signal's handler raised while SQLite was at work."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _look(self, raised: BaseException | None) -> bool:
        """Return whether SQLite has to end; `raised` is what a signal's handler has raised."""
        self._raised = raised
        self._looks_left -= 1
        return raised is not None or self._looks_left < 0 or self.is_unwanted()

    def _text(self, content: bytes) -> str:
        self._text_left -= len(content)
        if self._text_left < 0:
            raise sqlite3.DataError("it unfolds to more text than a recording of its size has")
        return content.decode("utf-8", "replace")


def _looking(look: Callable[[BaseException | None], Any]) -> Iterator[bool]:
    """Yield what `look` says. Python runs the handlers of signals as this goes on: there what they raise is caught."""
    ended = False
    while True:
        raised = None
        try:
            yield ended
        except GeneratorExit:
            raise
        except BaseException as error:
            raised = error
        ended = look(raised)


def bytes_on_disk(path: Path) -> int:
    """Return the bytes of a file that are there: one with a hole may say that it has terabytes. 0 where there is none.

    A file system that compresses has fewer than the file, which the limits leave room for.
    """
    with suppress(OSError):
        found = path.stat()
        return min(found.st_size, 512 * found.st_blocks)
    return 0


_ROW = 80
"""Bytes of a row beside its columns: its header, the pointer to it, its entry in the index of the primary key."""

_LONG = (BLOCKS.c.content, TEXTS.c.text)
"""Columns whose values stand beside their table (TOAST)."""

_NAMES = {"names": sorted(METADATA.tables)}
_LEFT_OUT = {"left_out": [f"{column.table.name}.{column.name}" for column in _LONG]}

_FILES = text(
    "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class c"
    " WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN :names"
).bindparams(bindparam("names", expanding=True))

_COUNTED_ROWS = text(
    "SELECT min(c.reltuples), sum(c.reltuples * (:row + COALESCE(w.width, 0)))::bigint FROM pg_class c LEFT JOIN ("
    " SELECT s.tablename, sum(s.avg_width * (1 - s.null_frac)) AS width FROM pg_stats s"
    " WHERE s.schemaname = current_schema() AND s.tablename || '.' || s.attname NOT IN :left_out GROUP BY s.tablename"
    ") w ON w.tablename = c.relname WHERE c.relnamespace = current_schema()::regnamespace AND c.relname IN :names"
).bindparams(bindparam("names", expanding=True), bindparam("left_out", expanding=True))


_SHARE = text(
    "SELECT 1.0 * sum(pg_column_size(b.content)) FILTER (WHERE d.target IN :targets) / sum(pg_column_size(b.content))"
    " FROM blocks b JOIN databases d ON d.database_id = b.database_id"
).bindparams(bindparam("targets", expanding=True))
"""What the snapshots of some databases are of those of all: their figures have rows in the tables of all."""


def bytes_in_use(connection: Connection, enough: int, targets: Sequence[str] | None = None) -> int | None:
    """Return the bytes that the rows of a recording take; of files no larger than `enough`, the files' own size.

    Of the databases `targets` alone that is their share. None where PostgreSQL has no statistics and may not be told
    to make them.
    """
    files = connection.execute(_FILES, _NAMES).scalar()
    if files is None or files <= enough:
        return None if files is None else int(files)
    # First: where another recorder removes its own meanwhile, what comes out is too small, and not too much goes.
    share = 1.0 if targets is None else float(connection.execute(_SHARE, {"targets": targets}).scalar() or 0.0)
    for name in _NAMES["names"]:
        connection.exec_driver_sql(f'ANALYZE "{name}"')
    least, rows = connection.execute(_COUNTED_ROWS, {**_NAMES, **_LEFT_OUT, "row": _ROW}).one()
    if least is None or least < 0:  # a table that was never looked at
        return None
    beside = sum(int(connection.execute(text(_sum_of(column))).scalar() or 0) for column in _LONG)
    return int(share * min(int(files), int(rows) + beside))


def _sum_of(column: Any) -> str:
    return f'SELECT sum(pg_column_size("{column.name}")) FROM "{column.table.name}"'
