"""Store opening: a URL of PostgreSQL, a file that is written, a file that is read and may be a stranger's.

The password of a URL is never part of a text.
"""

import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import URL, Connection, Engine, Pool, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from presman.base.private_files import exists, is_folder
from presman.base.text import clean
from presman.recording import schema_check, sqlite_files
from presman.recording.statement_limits import StatementLimits, bytes_on_disk
from presman.recording.store_errors import RecordingError

_SILENT_MS = 30_000
"""Milliseconds after which PostgreSQL ends the session of a recorder that falls silent in the middle of a poll: its
machine was stopped or cut off, and others may wait for texts that it was writing. When it wakes it writes it anew."""


def is_url(location: str) -> bool:
    """Whether a location is the URL of a database, not the name of a file."""
    return bool(re.match(r"[a-z0-9]+(\+[a-z0-9]+)?://", location, re.IGNORECASE))


def shown(location: str) -> str:
    """Return a location as it may be shown: without a password."""
    if not is_url(location):
        return clean(location)
    try:
        return clean(make_url(location).render_as_string(hide_password=True))
    except ArgumentError:
        return "a URL that cannot be read"


def engine_of_url(location: str, *, writing: bool) -> Engine:
    """Return what connects to a database. Raises RecordingError for a URL that is none of PostgreSQL's."""
    try:
        url = make_url(location)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        raise RecordingError(
            "the URL of a store cannot be read: write postgresql+psycopg://user@host/database"
        ) from None
    if backend == "sqlite":
        raise RecordingError(f"write the file's name alone, not {shown(location)}")
    if backend != "postgresql":
        raise RecordingError(f"no store of kind {backend!r}: a file, or postgresql+psycopg://user@host/database")
    try:
        engine = create_engine(_with_driver(url), pool_pre_ping=True, connect_args={"connect_timeout": 10})
    except ModuleNotFoundError:
        raise RecordingError("PostgreSQL needs a driver: pip install 'presman[postgres]'") from None
    if writing:
        event.listen(engine, "connect", _for_writing)
    else:
        from presman.recording.server_reading import bound  # only where there is psycopg

        # Before SQLAlchemy asks for anything itself, which would be waited for as long as it takes.
        event.listen(engine, "connect", bound, insert=True)
    return engine


def _with_driver(url: URL) -> URL:
    return url.set(drivername="postgresql+psycopg") if url.drivername in {"postgresql", "postgres"} else url


def _for_writing(connection: Any, _record: object) -> None:
    """Have a session of PostgreSQL end whose other end is silent while it keeps something locked."""
    connection.execute(f"SET idle_in_transaction_session_timeout = {_SILENT_MS}")
    connection.commit()


# ---- files


def check_file(path: Path, name: str, *, writing: bool) -> None:
    """Raise RecordingError for a file that is no recording; one that is to be written is made if it is not there."""
    try:
        if not writing or (exists(path) and path.stat().st_size):
            if other := sqlite_files.other_than_a_recording(path):
                raise RecordingError(f"{name} {other}")
        elif not is_folder(path.parent):
            raise RecordingError(f"{name}: no such folder")
        elif not exists(path):
            sqlite_files.make_private(path)
    except OSError as error:
        raise RecordingError(f"{name}: {error.strerror or error}") from error


def writing_engine(path: Path, limits: StatementLimits, pool: type[Pool]) -> Engine:
    """Return what connects to a file for writing."""
    engine = create_engine("sqlite://", creator=partial(sqlite_files.connected, path, limits), poolclass=pool)
    event.listen(engine, "begin", _begin_immediately)
    return engine


def _begin_immediately(connection: Connection) -> None:
    connection.connection.cursor().execute("BEGIN IMMEDIATE")


def has_damaged_schema(path: Path, limits: StatementLimits) -> bool:
    """Whether the schema of a file is damaged in a way that a copy with a whole one mends."""
    has_hole = path.stat().st_size > 2 * bytes_on_disk(path)  # which a copy would fill
    if has_hole or not schema_check.has_layout_of_today(path):
        return False
    try:
        limits.begin()
        connection = sqlite_files.connected_for_reading(path.resolve(), lambda _: None, limits)
        with closing(connection):
            return not schema_check.is_whole(connection)
    except sqlite3.Error:  # told where it is read
        return False
    finally:
        limits.raise_again()


def copy_with_schema(path: Path, name: str, make: Callable[[Path], None]) -> tuple[Path, TemporaryDirectory[str]]:
    """Return a copy of a file with the schema of a new recording, which `make` makes, and the folder that it is in."""
    copies = TemporaryDirectory(prefix="presman-")
    try:
        return schema_check.rescued(path, Path(copies.name), make), copies
    except OSError as error:
        copies.cleanup()
        raise RecordingError(f"{name} is damaged, no room for a copy: {error.strerror or error}") from error
