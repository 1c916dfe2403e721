"""SQLite recordings for reading: as what a stranger may have made or changed; nothing stays beside them."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, Pool, create_engine, event
from sqlalchemy.exc import DisconnectionError

from presman.recording.schema_check import verified
from presman.recording.sqlite_files import ReadConnection, closed_on_error, log_of, opened
from presman.recording.statement_limits import StatementLimits

_RESCUED = "its schema or its end is damaged, the rest is read"


def connected_for_reading(path: Path, tell: Callable[[str], None], limits: StatementLimits) -> ReadConnection:
    """Connect for reading. Nothing that a file brings along is executed: no view, no trigger, no function.

    `tell` hears of damage for which SQLite would not open it. Raises sqlite3.Error.
    """
    still = None if log_of(path).exists() else _state(path)
    connection = opened(path, "mode=ro" if still is None else "immutable=1", limits)
    try:
        with closed_on_error(connection):
            _first_look(connection, path, tell)
    except sqlite3.OperationalError:
        limits.raise_again()
        # A folder that may not be written has no room for the files by which SQLite knows of writers: there is none.
        connection = opened(path, "immutable=1", limits)
    connection.still = still
    with closed_on_error(connection):
        connection.execute("PRAGMA cache_size=-2048")
    return connection


def _first_look(connection: ReadConnection, path: Path, tell: Callable[[str], None]) -> None:
    """Have SQLite read the schema, as far as it can be read. Raises sqlite3.OperationalError."""
    try:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError:
        raise
    except (UnicodeDecodeError, sqlite3.DatabaseError):  # SQLite quotes the damaged bytes in its message
        _rescue(connection)
        tell(cut_short(path) or _RESCUED)


def _is_still_the_same(path: Path, connection: ReadConnection) -> bool:
    """Whether a connection reads what is in a file now; one that is gone is read as it was."""
    if connection.still is None or not path.exists():
        return True
    return connection.still == _state(path) and not log_of(path).exists()


def _state(path: Path) -> tuple[int, ...]:
    """Return what changes with a file: device, number, size, when it was changed. Raises sqlite3.OperationalError."""
    try:
        found = path.stat()
    except OSError as error:
        raise sqlite3.OperationalError(f"unable to open: {error.strerror}") from error
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _rescue(connection: sqlite3.Connection) -> None:
    """Let SQLite read what it can of a file that is cut short, or of a schema with some definitions damaged.

    With this setting it takes a schema as read up to the first damaged definition, and a file as long as it is. The
    first statement still fails.
    """
    connection.execute("PRAGMA writable_schema=ON")
    with suppress(UnicodeDecodeError, sqlite3.DatabaseError):
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()


def cut_short(path: Path) -> str:
    """Say how much of a file is missing, by the number of pages and their size in its header; "" if it is all there."""
    with path.open("rb") as file:
        header = file.read(32)
        there = file.seek(0, os.SEEK_END)
    whole = int.from_bytes(header[16:18]) * int.from_bytes(header[28:32])
    if len(header) < 32 or there >= whole:
        return ""
    missing = f"{there / 1e6:.1f} of {whole / 1e6:.1f} MB are there"
    return f"it is cut short, {missing}: what was recorded last is lost, the rest is read"


def reading_engine(path: Path, tell: Callable[[str], None], limits: StatementLimits, pool: type[Pool]) -> Engine:
    """Return what connects to a file; anew where somebody has begun to write to it."""
    path = path.resolve()

    def connect() -> ReadConnection:
        connection = connected_for_reading(path, tell, limits)
        with closed_on_error(connection):
            verified(connection)
        return connection

    def check_out(connection: ReadConnection, *_: Any) -> None:
        if not _is_still_the_same(path, connection):
            raise DisconnectionError  # the pool opens another one

    def begin(connection: Connection) -> None:
        limits.begin()
        connection.connection.cursor().execute("BEGIN")

    engine = create_engine("sqlite://", creator=connect, poolclass=pool)
    event.listen(engine, "checkout", check_out)
    event.listen(engine, "begin", begin)
    return engine
