"""Store: a SQLite file or a PostgreSQL database with recordings; every error has one line.

The password of a URL is never part of a text.
"""

import logging
import os
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import quote
from weakref import finalize

from sqlalchemy import Connection, Engine, Executable, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool, QueuePool

from presman.base.formats import counted
from presman.base.private_files import exists, expanded, is_folder
from presman.base.running_out import has_room
from presman.base.text import clean, one_line
from presman.recording import schema_check, sqlite_files, statement_limits
from presman.recording.schema_check import damage_of_tables, prepare_tables
from presman.recording.statement_limits import LONG_VALUES, StatementLimits
from presman.recording.store_errors import DamagedStoreError, LargeNumberError, RecordingError, StoreLostError, trouble

# ---- Opening: a URL of PostgreSQL, a file for writing, or a file for reading, which may be forged.


_SILENT_MS = 30_000
"""Milliseconds after which PostgreSQL ends the session of a recorder that goes silent in the middle of a poll: its
machine was suspended or cut off, and others may wait for texts that it was writing. It writes the poll again later."""

_CUT_LINES = {"keepalives_idle": 30, "keepalives_interval": 10, "keepalives_count": 3, "tcp_user_timeout": 60_000}
"""Seconds, and milliseconds, after which a host that is gone without a word counts as gone. Without these the system
would wait for a quarter of an hour. A server that hangs keeps its line: statements may take long."""


def is_url(location: str) -> bool:
    """Whether a location is the URL of a database, not the name of a file."""
    return bool(re.match(r"[a-z0-9]+(\+[a-z0-9]+)?://", location, re.IGNORECASE))


def shown(location: str) -> str:
    """Return a location without its password."""
    if not is_url(location):
        return clean(location)
    try:
        return clean(make_url(location).render_as_string(hide_password=True))
    except ArgumentError:
        return "a URL that cannot be read"


def as_option(target: str) -> str:
    """Return the name of a recorded database as it is written after ?database=.

    >>> as_option("demo:storm?seed=71&speed=20")
    'demo:storm?seed=71%26speed=20'
    """
    return quote(target, safe=":/?@=")


def engine_of_url(location: str, *, writing: bool) -> Engine:
    """Return an engine for a database. Raises RecordingError if the URL is not one of PostgreSQL."""
    form = "postgresql+psycopg://user@host/database"
    try:
        url = make_url(location)
        backend = url.get_backend_name()
    except (ArgumentError, NoSuchModuleError):
        raise RecordingError(f"the URL of a store cannot be read: write {form}") from None
    if backend == "sqlite":
        raise RecordingError(f"write the file's name alone, not {shown(location)}")
    if backend != "postgresql":
        raise RecordingError(f"no store of kind {backend!r}: a file, or {form}")
    if url.drivername in {"postgresql", "postgres"}:
        url = url.set(drivername="postgresql+psycopg")
    try:
        # A connection is tried before it is used again: it may have been cut meanwhile.
        engine = create_engine(url, pool_pre_ping=True, connect_args={"connect_timeout": 10, **_CUT_LINES})
    except ModuleNotFoundError:
        raise RecordingError("PostgreSQL needs a driver: pip install 'presman[postgres]'") from None
    if writing:
        event.listen(engine, "connect", _for_writing, insert=True)
    else:
        from presman.recording.server_reading import bound  # it needs psycopg

        # Before SQLAlchemy's own first queries, which would have no time limit.
        event.listen(engine, "connect", bound, insert=True)
    return engine


def _for_writing(connection: Any, _record: object) -> None:
    """Make PostgreSQL end the session if its client goes silent while it holds locks.

    Statements may take long: the recorder itself notices that nothing is written.
    """
    from presman.recording.server_reading import leave_on_signals

    leave_on_signals(connection)
    connection.execute(f"SET idle_in_transaction_session_timeout = {_SILENT_MS}")
    connection.commit()


def files_of(location: str) -> list[str]:
    """Return the stores of a location: a file or URL itself, the files of a folder by name. Raises RecordingError."""
    if is_url(location) or not is_folder(expanded(location)):
        return [location]
    if not (found := sorted(map(str, expanded(location).glob(f"*{SUFFIX}")))):
        raise RecordingError(f"{shown(location)} has no files *{SUFFIX}")
    return found


def check_file(path: Path, name: str, *, writing: bool) -> None:
    """Raise RecordingError if a file is not a recording; for writing, create it if it is missing."""
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


def has_damaged_schema(path: Path, limits: StatementLimits) -> bool:
    """Whether the schema of a file is damaged in a way that a copy with an intact schema repairs."""
    has_hole = path.stat().st_size > 2 * statement_limits.bytes_on_disk(path)  # a copy would allocate it
    if has_hole or not schema_check.has_layout_of_today(path):
        return False
    try:
        limits.begin()
        connection = sqlite_files.connected_for_reading(path.resolve(), lambda _: None, limits)
        with closing(connection):
            return not schema_check.is_whole(connection)
    except sqlite3.Error:  # reported when it is read
        return False
    finally:
        limits.raise_again()


# ---- The store.


logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())  # without one it prints tracebacks after a signal

SUFFIX = ".presman"

MOST_DATABASES = 10_000
"""The most databases of a store: the chains of each are searched for."""

REMOVED = "it was removed or moved away"

_FETCHED = 1000
"""Rows fetched at once."""

_CLOSED = "This connection is closed"
"""What SQLAlchemy says if each new connection is found to be out of date at once."""


class Store:
    """An open store. `location` is a file name or a URL; `writing` creates the tables if they are missing.

    `alone` means that it is not one of many files, so that a connection may stay open for the next query. A query of a
    file ends once `is_unwanted` returns True. `damage` has sentences about what cannot be read. Raises RecordingError.
    """

    def __init__(
        self, location: str, *, writing: bool, alone: bool = True, is_unwanted: Callable[[], bool] = bool
    ) -> None:
        self.location = location
        self.name = shown(location)
        self.writing = writing
        self._alone = alone
        self.damage: list[str] = []
        self._note = partial(_add_once, self.damage, self.name)
        self._copies: TemporaryDirectory[str] | None = None
        path = expanded(location)
        is_new = writing and not is_url(location) and not exists(path)
        self._path = path
        self.limits = StatementLimits(path, is_unwanted)
        self._file: tuple[int, int] | None = None
        self.engine = self._engine()
        # Closes the connections of a store that is garbage: nothing that the engine refers to may refer to the store.
        finalize(self, self.engine.dispose).atexit = False
        # SQLite allows one writer at a time: threads of this process wait in turn instead of retrying.
        self._turn: AbstractContextManager[object] = Lock() if self.kind == "sqlite" and writing else nullcontext()
        try:
            with self.translating_errors():
                self._check()
            self._file = _which_file(self)
        except RecordingError:
            self.close()
            if is_new:
                sqlite_files.remove_blank(path)
            raise

    @property
    def kind(self) -> str:
        """The kind of database: sqlite or postgresql."""
        return self.engine.dialect.name

    def is_conflict(self, error: BaseException | None) -> bool:
        """Whether an error of the database says that a row with that key already exists."""
        return isinstance(error, (IntegrityError, _driver(self.engine).IntegrityError))

    def was_removed(self) -> bool:
        """Whether its file was removed or replaced: then anything written to it is lost."""
        return self._file != _which_file(self)

    def abandon(self) -> None:
        """Leave a file that was moved away or removed, so that another can be created in its place.

        A moved file first gets what only its log has. The log must go: SQLite would take it for the new file's.
        Raises StoreLostError while the moved file cannot be completed, RecordingError if the log cannot be removed.
        """
        path = self._path.resolve()
        with self._turn, self.translating_errors():
            if os.path.lexists(path):  # another file replaced it, which may have its own log
                return
            pool = self.engine.pool
            if sqlite_files.has_a_name(self._file) and isinstance(pool, QueuePool) and pool.checkedin():
                with closing(self.engine.raw_connection()) as connection:
                    is_complete = sqlite_files.empty_log(connection.cursor())
                if not is_complete:
                    raise StoreLostError(
                        f"{self.name} was moved away and is in use: its last polls are still to be added"
                    )
            try:
                sqlite_files.remove_beside(path)
            except OSError as error:
                raise RecordingError(f"{error.filename}: {error.strerror or error}") from error

    def close(self) -> None:
        """Close all connections."""
        is_file = self.kind == "sqlite" and not self.was_removed()
        if is_file and self.writing:
            with suppress(RecordingError), self._cursor() as cursor:
                sqlite_files.empty_log(cursor)
        self.engine.dispose()
        if is_file and not self.writing:
            sqlite_files.remove_empty_log(self._path, self.limits)
        if self._copies is not None:
            self._copies.cleanup()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run the body as one transaction. Raises StoreLostError or RecordingError."""
        with self._turn:
            if self.writing and self.was_removed():
                raise StoreLostError(f"{self.name}: {REMOVED}")
            with self.translating_errors(), self.engine.begin() as connection:
                yield connection

    def rows(self, statement: Executable, binds: dict[str, Any] | None = None) -> Sequence[Any]:
        """Return the rows of a query. Raises StoreLostError, DamagedStoreError."""
        return list(self.each_row(statement, binds))

    def each_row(self, statement: Executable, binds: dict[str, Any] | None = None) -> Iterator[Any]:
        """Yield the rows of a query as they come. Raises as `rows` does, also for more rows than the store can have."""
        with self.reading() as connection, connection.execute(statement, binds or {}) as found:
            yield from self.all_of(found.fetchmany)

    @contextmanager
    def reading(self, *, blocks: bool = False) -> Iterator[Connection]:
        """Run the body as one query, whose rows are fetched as needed; only `blocks` may be as long as blocks."""
        with self.translating_errors(), self.engine.connect() as connection:
            file = connection.connection.driver_connection if blocks else None
            with self.limits.blocks(file) if isinstance(file, sqlite3.Connection) else nullcontext():
                yield connection.execution_options(stream_results=True, max_row_buffer=_FETCHED)

    @property
    def most_bytes(self) -> int:
        """The most bytes that the blocks can have in a store of this size."""
        return self.limits.most_bytes

    def all_of(self, fetch: Callable[[int], Sequence[Sequence[Any]]]) -> Iterator[Any]:
        """Yield all rows that `fetch` returns. Raises DamagedStoreError for more than the store can have."""
        most, many, is_server, size = self.limits.most_rows, 0, self.kind != "sqlite", 0
        while part := fetch(_FETCHED):
            many += len(part)
            if many > most:
                raise DamagedStoreError(f"{self.name} is damaged: it decompresses to more than {counted(most, 'row')}")
            if is_server:  # those of files are counted before they are kept
                size += statement_limits.bytes_of_long_values(part)
            if size > LONG_VALUES:
                raise DamagedStoreError(f"{self.name} is damaged: longer texts than any that were recorded")
            yield from part

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turn errors of the database into RecordingError."""
        try:
            yield
        except (DBAPIError, _driver(self.engine).Error) as error:  # the latter of a command passed directly to it
            self.limits.raise_again()
            self.check_wanted()
            message = error.orig if isinstance(error, DBAPIError) else error
            is_gone = isinstance(error, DBAPIError) and error.connection_invalidated
            is_lost = is_gone or isinstance(message, _driver(self.engine).OperationalError)
            is_file = self.kind == "sqlite"
            raise trouble(self.name, message, is_file=is_file, writing=self.writing, is_lost=is_lost) from error
        except PoolTimeoutError as error:
            raise StoreLostError(f"{self.name}: all connections to it are taken") from error
        except SQLAlchemyError as error:
            reason = str(error)
            if self.kind == "sqlite" and reason == _CLOSED:
                reason = "it changes all the time, and not as a recorder writes"
            raise RecordingError(f"{self.name}: {one_line(clean(reason), 200)}") from error
        except MemoryError as error:
            if self.kind != "sqlite" or not has_room(statement_limits.HEAP):
                raise
            raise DamagedStoreError(f"{self.name} is damaged: it has a row larger than any recorded one") from error
        except OverflowError as error:  # raised by the driver
            raise LargeNumberError(f"{self.name}: a number is larger than any that a database keeps") from error

    def check_wanted(self) -> None:
        """Raise StoreLostError once the result is unwanted."""
        if self.limits.is_unwanted():
            raise StoreLostError(f"{self.name} is not read any further")

    def size(self, enough: int = 0, targets: Sequence[str] | None = None) -> int | None:
        """Return the bytes in use, None if unknown; files of at most `enough` bytes are not examined further.

        In PostgreSQL, only those of the databases `targets` count, None for all.
        """
        with self.translating_errors(), self.engine.connect() as connection:
            if self.kind != "sqlite":
                connection.execution_options(isolation_level="AUTOCOMMIT")
                return statement_limits.bytes_in_use(connection, enough, targets)
            names = "page_count", "freelist_count", "page_size"
            pages, free, size = (connection.exec_driver_sql(f"PRAGMA {name}").scalar_one() for name in names)
        return int((pages - free) * size)

    def shrink(self) -> None:
        """Return free pages to the file system."""
        if self.kind != "sqlite":
            return
        with self._cursor() as cursor:
            cursor.execute("PRAGMA incremental_vacuum")
            cursor.fetchall()  # each step frees a page

    @contextmanager
    def _cursor(self) -> Iterator[Any]:
        """Run the body with a cursor of the driver, outside of transactions."""
        with self._turn, self.translating_errors(), closing(self.engine.raw_connection()) as connection:
            yield connection.cursor()

    # ---- opening

    def _engine(self) -> Engine:
        if is_url(self.location):
            return engine_of_url(self.location, writing=self.writing)
        check_file(self._path, self.name, writing=self.writing)
        pool = QueuePool if self._alone else NullPool
        if not self.writing:
            return sqlite_files.reading_engine(self._readable(), self._note, self.limits, pool)
        connect = partial(sqlite_files.connected, self._path, self.limits)
        engine = create_engine("sqlite://", creator=connect, poolclass=pool)
        event.listen(engine, "begin", lambda begun: begun.connection.cursor().execute("BEGIN IMMEDIATE"))
        return engine

    def _readable(self) -> Path:
        """Return the path of the file, or of a copy: if its own schema is damaged, with an intact one."""
        copy: Callable[[Path, Path], Path] = schema_check.copied
        if sqlite_files.log_needs_a_file(self._path):
            self._note("its folder may not be written, and without that SQLite cannot read its log: a copy is read")
        elif not has_damaged_schema(self._path, self.limits):
            return self._path
        else:
            copy = partial(schema_check.rescued, make=lambda fresh: Store(str(fresh), writing=True).close())
            self._note("its schema is damaged: the one that presman writes is used")
            if missing := sqlite_files.cut_short(self._path):
                self._note(missing)
        self._copies = TemporaryDirectory(prefix="presman-")
        try:
            return copy(self._path, Path(self._copies.name))
        except OSError as error:
            self._copies.cleanup()
            raise RecordingError(f"{self.name}: no room for a copy: {error.strerror or error}") from error

    def _check(self) -> None:
        """Create the tables for writing; note what is missing. Raises RecordingError if it is not a recording."""
        if self.writing:
            with self.engine.begin() as connection:
                prepare_tables(connection, self.name, self.limits)
        with self.engine.connect() as connection:
            for damage in damage_of_tables(connection, self.name, self.translating_errors, writing=self.writing):
                self._note(damage)


def _driver(engine: Engine) -> Any:
    """Return the DB-API module of the database."""
    return engine.dialect.loaded_dbapi


def _which_file(store: Store) -> tuple[int, int] | None:
    """Return device and inode of a store's file, None if there is none."""
    try:
        return sqlite_files.which_file(expanded(store.location)) if store.kind == "sqlite" else None
    except OSError:
        return None


def _add_once(damage: list[str], name: str, text: str) -> None:
    if (messages := f"{name}: {text}") not in damage:
        damage.append(messages)
