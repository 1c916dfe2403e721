"""SQLite files of recordings: created, opened for writing or for reading, removed.

For reading they are treated as files that a stranger may have forged. Reading leaves no files beside them.
"""

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.exc import DisconnectionError

from presman.recording.schema import APPLICATION_ID, LAYOUT
from presman.recording.schema_check import verify
from presman.recording.statement_limits import StatementLimits
from presman.recording.store_errors import ForeignSchemaError

BUSY_SECONDS = 5.0
"""How long a recorder waits for another one that writes to the same file."""

_MAGIC = b"SQLite format 3\0"


def which_file(path: Path) -> tuple[int, int]:
    """Return device and inode of a file, which another file of the same name does not share. Raises OSError."""
    found = path.stat()
    return found.st_dev, found.st_ino


def other_than_a_recording(path: Path) -> str:
    """Return what a file is if it is not a recording, "" if it is. Raises OSError."""
    if not path.is_file():
        path.stat()
        return "is no file"
    with path.open("rb") as file:
        head = file.read(100)
    if head[:16] != _MAGIC:
        return "is not a recording of presman"
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:  # where a SQLite file has PRAGMA application_id
        return "is a SQLite file, but not a recording of presman"
    return ""


def make_private(path: Path) -> None:
    """Create the file before SQLite does, readable only by the user: it will contain SQL texts. Raises OSError."""
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, 0o600))


def remove_blank(path: Path) -> None:
    """Remove a file without tables, and SQLite's files beside it; a file that cannot be read stays."""
    log = log_of(path)
    try:
        if path.stat().st_size:
            # Without a log it has no other content, and SQLite need not create a file to read the log.
            way = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"
            with closing(opened(path.resolve(), way, StatementLimits(path))) as connection:
                if connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                    return
    except (OSError, sqlite3.Error):
        return
    remove_recording(path)


def remove_recording(path: Path) -> None:
    """Remove a file and SQLite's files beside it."""
    for end in ("", "-wal", "-shm"):
        with suppress(OSError):
            Path(f"{path}{end}").unlink()


def remove_beside(path: Path) -> None:
    """Remove SQLite's files beside a file that is gone. Raises OSError."""
    for end in ("-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def has_a_name(file: tuple[int, int] | None) -> bool:
    """Whether a file that this process has open is still in a folder: moved there, not removed.

    The descriptors are only asked: closing one of its own would release SQLite's locks on the file.
    """
    for each in os.listdir("/dev/fd"):  # noqa: PTH208
        with suppress(OSError):
            found = os.fstat(int(each))
            if (found.st_dev, found.st_ino) == file:
                return found.st_nlink > 0
    return False


def connected(path: Path, limits: StatementLimits) -> sqlite3.Connection:
    """Connect for writing. Raises sqlite3.Error."""
    _check_beside(path)
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    with closed_on_error(connection):
        limits.hold(connection)
        connection.execute("PRAGMA trusted_schema=OFF")
        if path.stat().st_size:
            verify(connection)
        else:
            marks = f"application_id={APPLICATION_ID}", f"user_version={LAYOUT}"
            for pragma in ("page_size=8192", "auto_vacuum=INCREMENTAL", *marks):
                connection.execute(f"PRAGMA {pragma}")
        # In this mode a transaction outlives the process; a power failure may cost the last ones (SQLite's manual).
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL", "cache_size=-1024"):
            connection.execute(f"PRAGMA {pragma}")
    return connection


@contextmanager
def closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    """Close a connection if the body fails: its caller never gets it."""
    try:
        yield
    except BaseException:
        connection.close()
        raise


def empty_log(cursor: Any) -> bool:
    """Checkpoint the log into the file; return whether the file has all of it.

    A writer that closes leaves the log in place if there are readers.
    """
    cursor.execute("PRAGMA busy_timeout=0")  # while others read, the log stays: they are not waited for
    _, pages, copied = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(pages == copied)


def remove_empty_log(path: Path, limits: StatementLimits) -> None:
    """Have SQLite remove the log that a writer left for readers, if it is empty and the file is not in use any more.

    A connection that only reads may not remove it.
    """
    path = path.resolve()
    try:
        if not log_of(path).stat().st_size:
            with closing(opened(path, "mode=rw", limits)) as connection:
                connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except (OSError, sqlite3.Error):
        return


def log_of(path: Path) -> Path:
    """Return the path of SQLite's write-ahead log, which has the newest changes while a process writes."""
    return path.with_name(f"{path.name}-wal")


def log_needs_a_file(path: Path) -> bool:
    """Whether SQLite would have to create a file beside this one to read its log, and may not."""
    log = log_of(path)
    has_log = log.exists() and log.stat().st_size > 0 and not path.with_name(f"{path.name}-shm").exists()
    return has_log and not os.access(path.parent, os.W_OK)


def _check_beside(path: Path) -> None:
    """Raise ForeignSchemaError if a pipe, a device or a link has the name of one of SQLite's own files.

    SQLite would wait for a pipe forever, and no signal would interrupt that.
    """
    for end in ("-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(os.lstat(f"{path}{end}").st_mode):
                raise ForeignSchemaError(f"its *{end} is not a file")


class ReadConnection(sqlite3.Connection):
    """A connection for reading; `still` is the state of a file that no process was writing to, None if one was."""

    still: tuple[int, ...] | None = None


def opened(path: Path, way: str, limits: StatementLimits) -> ReadConnection:
    """Open a file, whose path has no links, with parameters of SQLite's URI (`way`); nothing is written or executed."""
    _check_beside(path)
    connection = sqlite3.connect(
        f"{path.as_uri()}?{way}",
        uri=True,
        timeout=BUSY_SECONDS,
        isolation_level=None,
        check_same_thread=False,
        factory=ReadConnection,
    )
    with closed_on_error(connection):
        limits.hold_reading(connection)
        # Functions in its schema do not run, nothing is written, and cells of a damaged page are found as it is read.
        for pragma in ("trusted_schema=OFF", "query_only=ON", "cell_size_check=ON"):
            connection.execute(f"PRAGMA {pragma}")
    return connection


REST_IS_READ = "what is left is read"
_RESCUED = f"its schema or its end is damaged: {REST_IS_READ}"


def connected_for_reading(path: Path, note: Callable[[str], None], limits: StatementLimits) -> ReadConnection:
    """Connect for reading. Nothing defined in the file is executed: no view, no trigger, no function.

    `note` is called with damage that would keep SQLite from opening it. Raises sqlite3.Error.
    """
    # Without a log no process writes. SQLite then takes the file as immutable, and makes no files beside it.
    still = None if log_of(path).exists() else _state(path)
    connection = opened(path, "mode=ro" if still is None else "immutable=1", limits)
    try:
        with closed_on_error(connection):
            _read_schema(connection, path, note)
    except sqlite3.OperationalError:
        limits.raise_again()
        # In a read-only folder SQLite cannot create the files that show writers, so there is no writer.
        connection = opened(path, "immutable=1", limits)
    connection.still = still
    with closed_on_error(connection):
        connection.execute("PRAGMA cache_size=-2048")
    return connection


def _read_schema(connection: ReadConnection, path: Path, note: Callable[[str], None]) -> None:
    """Make SQLite read the schema, as far as it is readable. Raises sqlite3.OperationalError."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        raise
    except (UnicodeDecodeError, sqlite3.DatabaseError):  # SQLite quotes the damaged bytes in its message
        # With this setting it accepts a schema up to the first damaged definition, and a file of any length. The first
        # statement still fails.
        connection.execute("PRAGMA writable_schema=ON")
        with suppress(UnicodeDecodeError, sqlite3.DatabaseError):
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        note(cut_short(path) or _RESCUED)


def _is_still_the_same(path: Path, connection: ReadConnection) -> bool:
    """Whether a connection reads the current content of a file; true for a removed file, which is read as it was."""
    if connection.still is None or not path.exists():
        return True
    return connection.still == _state(path) and not log_of(path).exists()


def _state(path: Path) -> tuple[int, ...]:
    """Return device, inode, size and modification time of a file. Raises sqlite3.OperationalError."""
    try:
        found = path.stat()
    except OSError as error:
        raise sqlite3.OperationalError(f"unable to open: {error.strerror}") from error
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def cut_short(path: Path) -> str:
    """Return how much of a file is left, compared with number and size of pages in its header; "" if it is complete."""
    with path.open("rb") as file:
        header = file.read(32)
        size = file.seek(0, os.SEEK_END)
    whole = int.from_bytes(header[16:18]) * int.from_bytes(header[28:32])
    if len(header) < 32 or size >= whole:
        return ""
    missing = f"{size / 1e6:.1f} of {whole / 1e6:.1f} MB are there"
    return f"it is cut short, {missing}: {REST_IS_READ}"


_PIECE = 512
"""Bytes read at once from a value whose end is missing; the smallest page size."""


def leading_bytes(connection: sqlite3.Connection, table: str, column: str, row: int) -> bytes:
    """Return the bytes of a value before the first that cannot be read."""
    found = bytearray()
    with suppress(sqlite3.Error), connection.blobopen(table, column, row, readonly=True) as blob:
        while piece := blob.read(_PIECE):
            found += piece
    return bytes(found)


def reading_engine(path: Path, note: Callable[[str], None], limits: StatementLimits, pool: type[Pool]) -> Engine:
    """Return the engine for a file; it reconnects if the file has changed or a process writes to it."""
    path = path.resolve()

    def connect() -> ReadConnection:
        connection = connected_for_reading(path, note, limits)
        with closed_on_error(connection):
            verify(connection)
        return connection

    def check_out(connection: ReadConnection, *_: Any) -> None:
        if not _is_still_the_same(path, connection):
            raise DisconnectionError  # the pool opens another connection

    def begin(connection: Connection) -> None:
        limits.begin()
        connection.connection.cursor().execute("BEGIN")

    engine = create_engine("sqlite://", creator=connect, poolclass=pool)
    event.listen(engine, "checkout", check_out)
    event.listen(engine, "begin", begin)
    return engine
