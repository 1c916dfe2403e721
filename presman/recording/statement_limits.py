"""Limits of a recording: the work that SQLite may do on a file, and the size of a recording in PostgreSQL.

The file may be forged; a signal interrupts SQLite's work on it.

In PostgreSQL the size is that of the rows, without the free space that deleted rows left. PostgreSQL does not return
that space: its files stay as large as they were and are refilled. So retention does not use the size of the files,
pg_total_relation_size: it would stay too large until nothing was left. Instead, rows are counted and weighed with
PostgreSQL's statistics, which ANALYZE updates. Long values, which statistics count only as pointers, are summed up.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from math import inf
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, bindparam, text

from presman.recording.schema import BLOCKS, METADATA, TEXTS

LONGEST_BLOCK = 32 << 20
"""The most bytes of a block; 256 polls of a busy database take half a million."""

_LONGEST = 1 << 20
"""The most bytes of any other value that is read: a recorder writes texts of at most 250,000 characters."""

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LONGEST_BLOCK,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 10,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 0,
}
"""SQLite's limits: a block is the longest value, the view of latencies the longest SQL."""

HEAP = 128 << 20
"""The most bytes that SQLite may take in a process that reads a recording. It copies whole rows to compare their keys,
and no limit on values applies to that. It holds for all that this process does with SQLite from then on, so a process
that only writes has none: the simulated databases that it records may need more."""

_EACH = 50_000
"""Steps of SQLite, about a millisecond, between two checks whether to continue."""

_STEPS, _STEPS_PER_BYTE = 50_000_000, 50
_ROWS, _BYTES_PER_ROW, _ROWS_OF_A_SERVER = 100_000, 8, 10_000_000
_TEXT, _BYTES_OF_A_SERVER = 16 << 20, 1 << 40
"""A report of 600 polls takes less than a step for each byte of the file, and a row for each 1,000."""

_SHORT, LONG_VALUES = 1_000, 64 << 20
"""Values of up to so many bytes, nearly all, are short; longer ones may have so many in all, as all may be kept."""


class StatementLimits:
    """The limits of one query: steps, rows and bytes in proportion to the file, so that no query is endless.

    A signal also ends it, and so does another thread once `is_unwanted` returns True. SQLite would lose the exception
    of the signal's handler: `raise_again` raises it.
    """

    def __init__(self, path: Path, is_unwanted: Callable[[], bool] = bool) -> None:
        self._path = path
        self.is_unwanted = is_unwanted
        self._raised: BaseException | None = None
        self.most_rows = _ROWS_OF_A_SERVER
        self.most_bytes = _BYTES_OF_A_SERVER
        self._checks_left = self._bytes_left = self._long_left = inf

    def begin(self) -> None:
        """Reset the count: another query follows."""
        # The log has the newest rows until SQLite moves them into the file.
        size = sum(bytes_on_disk(Path(f"{self._path}{end}")) for end in ("", "-wal"))
        self._checks_left = (_STEPS + _STEPS_PER_BYTE * size) // _EACH
        self._bytes_left, self._long_left = _TEXT + size, LONG_VALUES
        self.most_rows = min(_ROWS + size // _BYTES_PER_ROW, _ROWS_OF_A_SERVER)
        self.most_bytes = _TEXT + size

    def end(self) -> None:
        """Lift the limits: what follows is presman's own work. Signals still end it."""
        self._checks_left = self._bytes_left = self._long_left = inf

    def hold(self, connection: sqlite3.Connection) -> None:
        """Apply the limits to a connection."""
        for limit, value in _LIMITS.items():
            connection.setlimit(limit, value)
        check = _checking(self._must_stop)
        next(check)
        connection.set_progress_handler(check.__next__, _EACH)
        connection.text_factory = self._text

    def hold_reading(self, connection: sqlite3.Connection) -> None:
        """Apply the limits to a connection that only reads: outside of `blocks`, no value may be as long as a block."""
        self.hold(connection)
        connection.execute(f"PRAGMA hard_heap_limit={HEAP}")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)
        connection.row_factory = self._row

    @contextmanager
    def blocks(self, connection: sqlite3.Connection) -> Iterator[None]:
        """Allow values as long as blocks, whose bytes the reader counts."""
        before, connection.row_factory = connection.row_factory, None
        longest = connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_BLOCK)
        try:
            yield
        finally:
            connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, longest)
            connection.row_factory = before

    def raise_again(self) -> None:
        """Raise the exception that a signal's handler raised while SQLite was working."""
        raised, self._raised = self._raised, None
        if raised is not None:
            raise raised

    def _must_stop(self, raised: BaseException | None) -> bool:
        """Return whether SQLite must stop; `raised` is the exception of a signal's handler, if any."""
        self._raised = raised
        self._checks_left -= 1
        return raised is not None or self._checks_left < 0 or self.is_unwanted()

    def _text(self, content: bytes) -> str:
        self._count(content)
        return content.decode("utf-8", "replace")

    def _row(self, _cursor: sqlite3.Cursor, row: tuple[Any, ...]) -> tuple[Any, ...]:
        """Count the bytes of a row other than text, which SQLite passes to no factory."""
        for value in row:
            if type(value) is bytes:
                self._count(value)
        return row

    def _count(self, content: bytes) -> None:
        size = len(content)
        self._bytes_left -= size
        if size > _SHORT:
            self._long_left -= size
        if self._bytes_left < 0 or self._long_left < 0:
            raise sqlite3.DataError("it decompresses to more than a recording of its size has")


def _checking(check: Callable[[BaseException | None], Any]) -> Iterator[bool]:
    """Yield what `check` returns. Python runs signal handlers within this generator: it catches what they raise."""
    ended = False
    while True:
        raised = None
        try:
            yield ended
        except GeneratorExit:
            raise
        except BaseException as error:
            raised = error
        ended = check(raised)


def bytes_of_long_values(rows: Iterable[Iterable[Any]]) -> int:
    """Return the characters and bytes of the long values in some rows."""
    sizes = (len(value) for row in rows for value in row if isinstance(value, (str, bytes)))
    return sum(size for size in sizes if size > _SHORT)


def bytes_on_disk(path: Path) -> int:
    """Return the allocated bytes of a file, as a sparse one may claim terabytes; 0 if there is no file.

    A compressing file system allocates fewer than the file has; the limits leave room for that.
    """
    with suppress(OSError):
        found = path.stat()
        return min(found.st_size, 512 * found.st_blocks)
    return 0


_ROW = 80
"""Bytes of a row in addition to its columns: header, pointer, entry in the index of the primary key."""

_LONG = (BLOCKS.c.content, TEXTS.c.text)
"""Columns whose values are stored outside of their table (TOAST)."""

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
"""The share of some databases in all snapshots; it also estimates their share in the tables of figures."""


def bytes_in_use(connection: Connection, enough: int, targets: Sequence[str] | None = None) -> int | None:
    """Return the bytes that the rows of a recording take, or the size of its files if that is at most `enough`.

    With `targets`, return the share of these databases. None if PostgreSQL has no statistics and presman may not create
    them.
    """
    files = connection.execute(_FILES, _NAMES).scalar()
    if files is None or files <= enough:
        return None if files is None else int(files)
    # First: if another recorder removes polls meanwhile, the result is too small, and so not too much is removed.
    share = 1.0 if targets is None else float(connection.execute(_SHARE, {"targets": targets}).scalar() or 0.0)
    for name in _NAMES["names"]:
        connection.exec_driver_sql(f'ANALYZE "{name}"')
    least, rows = connection.execute(_COUNTED_ROWS, {**_NAMES, **_LEFT_OUT, "row": _ROW}).one()
    if least is None or least < 0:  # a table that was never analyzed
        return None
    sums = (f'SELECT sum(pg_column_size("{each.name}")) FROM "{each.table.name}"' for each in _LONG)
    beside = sum(int(connection.execute(text(each)).scalar() or 0) for each in sums)
    return int(share * min(int(files), int(rows) + beside))
