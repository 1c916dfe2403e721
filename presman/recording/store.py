"""Store: a SQLite file or a PostgreSQL database that holds recordings; every trouble with it in one line.

The password of a URL is never part of a text.
"""

from __future__ import annotations

import logging
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any, TypeVar
from weakref import finalize

from sqlalchemy import URL, Connection, Engine, Executable, create_engine, event, inspect, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, IntegrityError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import NullPool, QueuePool

from presman.base.errors import InputError
from presman.base.formats import counted
from presman.base.private_files import exists, expanded, is_folder
from presman.base.text import clean, one_line
from presman.recording import schema_check, sqlite_files
from presman.recording.measure_tables import selects
from presman.recording.schema import APPLICATION_ID, FORMAT, LAYOUT, META, METADATA
from presman.recording.statement_limits import StatementLimits, bytes_in_use, bytes_on_disk

logging.getLogger("sqlalchemy").addHandler(logging.NullHandler())  # it would print tracebacks when a signal ends it

T = TypeVar("T")

SUFFIX = ".presman"

MOST_DATABASES = 10_000
"""Databases that one store may name; of each the chains are looked for."""

_FETCHED = 1000
"""Rows that come at once."""

_LONGEST_MS = 60_000
"""Milliseconds that PostgreSQL may take to answer who reads."""

_SILENT_MS = 30_000
"""Milliseconds after which PostgreSQL ends the session of a recorder that falls silent in the middle of a poll: its
machine was stopped or cut off, and others may wait for texts that it was writing. When it wakes it writes it anew."""


class RecordingError(InputError):
    """A recording cannot be opened, read or written; the text is one line free of secrets."""


class LargeNumberError(RecordingError):
    """What is to be written has a number that no database keeps: whoever it was read of may be a stranger."""


class DamagedStoreError(RecordingError):
    """Something of the store cannot be read, now or ever; the rest may be."""


class StoreLostError(RecordingError):
    """The store cannot be written now: a full disk, a lock, a server that is away. It may come back."""


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


class Store:
    """An open store. `location` is a file's name or a URL; `writing` makes the tables where there are none.

    `alone` tells that it is not one of many files, so that a connection may stay open for the next question. A question
    to a file ends once `is_unwanted` says so.
    `damage` are sentences about what cannot be read of it. Raises RecordingError.
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
        self._limits = StatementLimits(path, is_unwanted)
        self._file: tuple[int, int] | None = None
        self.engine = self._engine()
        # Connections of a store that is forgotten are closed; nothing that the engine knows may know the store.
        finalize(self, self.engine.dispose).atexit = False
        # SQLite lets one write at a time: threads of this process wait in order instead of trying again.
        self._turn: AbstractContextManager[object] = Lock() if self.kind == "sqlite" and writing else nullcontext()
        try:
            with self.translating_errors():
                if writing:
                    self._prepare()
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

    @property
    def _driver(self) -> Any:
        """The module that talks to the database."""
        return self.engine.dialect.loaded_dbapi

    def is_conflict(self, error: BaseException | None) -> bool:
        """Whether an error of the database says that a row with that key is there already."""
        return isinstance(error, (IntegrityError, self._driver.IntegrityError))

    def was_removed(self) -> bool:
        """Whether its file is not there any more, or another one in its place: what is written is lost then."""
        return self._file != _which_file(self)

    def close(self) -> None:
        """Let go of all connections."""
        is_file = self.kind == "sqlite" and not self.was_removed()
        if is_file and self.writing:
            with (
                suppress(RecordingError),
                self._turn,
                self.translating_errors(),
                closing(self.engine.raw_connection()) as connection,
            ):
                sqlite_files.empty_log(connection.cursor())
        self.engine.dispose()
        if is_file and not self.writing:
            sqlite_files.remove_empty_log(self._path, self._limits)
        if self._copies is not None:
            self._copies.cleanup()

    @contextmanager
    def transaction(self) -> Iterator[Connection]:
        """Run what is inside as one transaction. Raises StoreLostError or RecordingError."""
        with self._turn, self.translating_errors(), self.engine.begin() as connection:
            yield connection

    def rows(self, statement: Executable, binds: dict[str, Any] | None = None) -> Sequence[Any]:
        """Return the rows of a statement that reads. Raises StoreLostError, DamagedStoreError."""
        return list(self.each_row(statement, binds))

    def each_row(self, statement: Executable, binds: dict[str, Any] | None = None) -> Iterator[Any]:
        """Yield the rows of a statement as they come. Raises as `rows` does, for more than the store can hold, too."""
        with self.reading() as connection, connection.execute(statement, binds or {}) as found:
            yield from self.all_of(found.fetchmany)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Run what is inside as one question; rows come as they are asked for."""
        with self.translating_errors(), self.engine.connect() as connection:
            yield connection.execution_options(stream_results=True, max_row_buffer=_FETCHED)

    @property
    def most_rows(self) -> int:
        """Rows that a table can have in a store of its size, at most."""
        return self._limits.most_rows

    @property
    def most_bytes(self) -> int:
        """Bytes that the blocks can have in a store of its size, at most."""
        return self._limits.most_bytes

    def all_of(self, fetch: Callable[[int], Sequence[T]]) -> Iterator[T]:
        """Yield all rows that `fetch` gives. Raises DamagedStoreError for more than the store can hold."""
        most, many = self.most_rows, 0
        while part := fetch(_FETCHED):
            many += len(part)
            if many > most:
                raise DamagedStoreError(f"{self.name} is damaged: it unfolds to more than {counted(most, 'row')}")
            yield from part

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Turn errors of the database into RecordingError."""
        try:
            yield
        except (DBAPIError, self._driver.Error) as error:  # the second of a statement that went to it as it is
            self._limits.raise_again()
            self.check_wanted()
            message = error.orig if isinstance(error, DBAPIError) else error
            is_gone = isinstance(error, DBAPIError) and error.connection_invalidated
            is_lost = is_gone or isinstance(message, self._driver.OperationalError)
            raise _trouble(self, message, is_lost=is_lost) from error
        except PoolTimeoutError as error:
            raise StoreLostError(f"{self.name}: all connections to it are taken") from error
        except SQLAlchemyError as error:
            raise RecordingError(f"{self.name}: {one_line(clean(str(error)), 200)}") from error
        except OverflowError as error:  # of the driver
            raise LargeNumberError(f"{self.name}: a number is larger than any that a database keeps") from error

    def check_wanted(self) -> None:
        """Raise StoreLostError once nobody wants to know any more."""
        if self._limits.is_unwanted():
            raise StoreLostError(f"{self.name} is not read any further")

    def size(self, enough: int = 0, targets: Sequence[str] | None = None) -> int | None:
        """Return the bytes in use, None where that is not known; no closer look is taken at files up to `enough`.

        Of PostgreSQL those of the databases `targets`, None for all.
        """
        if self.kind != "sqlite":
            with (
                self.translating_errors(),
                self.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection,
            ):
                return bytes_in_use(connection, enough, targets)
        with self.translating_errors(), self.engine.connect() as connection:
            pages, free, size = (
                connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()
                for name in ("page_count", "freelist_count", "page_size")
            )
        return int((pages - free) * size)

    def shrink(self) -> None:
        """Give back to the disk what nothing is in any more."""
        if self.kind != "sqlite":
            return
        with self._turn, self.translating_errors(), closing(self.engine.raw_connection()) as connection:
            cursor = connection.cursor()
            cursor.execute("PRAGMA incremental_vacuum")
            cursor.fetchall()  # each step frees a page

    # ---- opening

    def _engine(self) -> Engine:
        if is_url(self.location):
            return _engine_of_url(self.location, writing=self.writing)
        path = expanded(self.location)
        try:
            if not self.writing or (exists(path) and path.stat().st_size):
                if other := sqlite_files.other_than_a_recording(path):
                    raise RecordingError(f"{self.name} {other}")
            elif not is_folder(path.parent):
                raise RecordingError(f"{self.name}: no such folder")
            elif not exists(path):
                sqlite_files.make_private(path)
        except OSError as error:
            raise RecordingError(f"{self.name}: {error.strerror or error}") from error
        pool = QueuePool if self._alone else NullPool
        if self.writing:
            connect = partial(sqlite_files.connected, path, self._limits)
            engine = create_engine("sqlite://", creator=connect, poolclass=pool)
            event.listen(engine, "begin", _begin_immediately)
            return engine
        return sqlite_files.reading_engine(self._readable(path), self._note, self._limits, pool)

    def _readable(self, path: Path) -> Path:
        """Return the file, or, where its schema is damaged, a copy of it with a whole one."""
        has_hole = path.stat().st_size > 2 * bytes_on_disk(path)  # which a copy would fill
        if has_hole or not schema_check.has_layout_of_today(path):
            return path
        try:
            self._limits.begin()
            connection = sqlite_files.connected_for_reading(path.resolve(), lambda _: None, self._limits)
            with closing(connection):
                if schema_check.is_whole(connection):
                    return path
        except sqlite3.Error:  # told where it is read
            return path
        finally:
            self._limits.raise_again()
        self._note("its schema is damaged: the one that presman writes is used")
        if missing := sqlite_files.cut_short(path):
            self._note(missing)
        copies = TemporaryDirectory(prefix="presman-")
        try:
            found = schema_check.rescued(path, Path(copies.name), lambda fresh: Store(str(fresh), writing=True).close())
            self._copies = copies
            return found
        except OSError as error:
            copies.cleanup()
            raise RecordingError(f"{self.name} is damaged, no room for a copy: {error.strerror or error}") from error

    def _prepare(self) -> None:
        with self.engine.begin() as connection:
            if self.kind == "postgresql":  # recorders that start at the same time would make the tables twice
                connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({APPLICATION_ID})")
            _check_relations(connection, self.name, writing=self.writing)
            if inspect(connection).has_table("meta"):
                if _format(connection, self.name) < FORMAT:
                    self._limits.begin()
                    schema_check.upgrade(connection, FORMAT)
                    self._limits.end()
                return
            METADATA.create_all(connection)
            for name, select in selects(self.kind).items():
                connection.execute(text(f'CREATE VIEW "{name}" AS {select}'))
            from presman import __version__

            connection.execute(
                META.insert(),
                [{"name": "format", "value": str(FORMAT)}, {"name": "made_by", "value": f"presman {__version__}"}],
            )

    def _check(self) -> None:
        with self.engine.connect() as connection:
            _check_relations(connection, self.name, writing=self.writing)
            missing = set(METADATA.tables) - set(inspect(connection).get_table_names())
            if len(missing) == len(METADATA.tables):
                raise RecordingError(f"{self.name} is not a recording of presman")
            self._check_format(connection)
        if missing >= {"blocks", "polls"}:
            raise DamagedStoreError(f"{self.name} is damaged: without {', '.join(sorted(missing))}")
        if missing:
            self._note(f"without {', '.join(sorted(missing))}")

    def _check_format(self, connection: Connection) -> None:
        """Raise RecordingError for a format that is not known; one that is damaged is taken to be today's."""
        try:
            with self.translating_errors():
                _format(connection, self.name)
        except DamagedStoreError as error:
            if self.writing:
                raise
            self._note(f"its format cannot be read and taken to be {FORMAT}: {error}")


_DAMAGES = ("malformed", "not a database", "corrupt", "too big", "unfolds")
_TROUBLES = {
    "database or disk is full": "no room left on its disk",
    "attempt to write a readonly": "it may not be written",
    "readonly database": "it may not be written",
    "unable to open": "it cannot be opened",
    "locked": "another process keeps it locked",
    "disk i/o error": "its disk cannot be written or read",
}


def _trouble(store: Store, error: BaseException | None, *, is_lost: bool) -> RecordingError:
    """Return what the database said as an error; `is_lost` where it may come back."""
    message = one_line(clean(str(error)), 200)
    kind = StoreLostError if is_lost else RecordingError
    if store.kind != "sqlite" or isinstance(error, schema_check.ForeignSchemaError):
        return kind(f"{store.name}: {message}")
    lowered = message.lower()
    if lowered == "interrupted":
        return RecordingError(f"{store.name} is damaged: reading it takes longer than a recording of its size can")
    for words, what in _TROUBLES.items():
        if words in lowered:
            return StoreLostError(f"{store.name}: {what}")
    # Names of tables and columns are in the file: those that a reader misses are damaged.
    if any(words in lowered for words in _DAMAGES) or ("no such" in lowered and not store.writing):
        return DamagedStoreError(f"{store.name} is damaged: {message}")
    return kind(f"{store.name}: {message}")


def _which_file(store: Store) -> tuple[int, int] | None:
    """Return which file it is, None of what is none or is not there."""
    try:
        return sqlite_files.which_file(expanded(store.location)) if store.kind == "sqlite" else None
    except OSError:
        return None


def _engine_of_url(location: str, *, writing: bool) -> Engine:
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
    event.listen(engine, "connect", _for_writing if writing else _for_reading)
    return engine


def _format(connection: Connection, name: str) -> int:
    """Return the format of what is there. Raises RecordingError where there is none, or one not known."""
    version = connection.execute(META.select().where(META.c.name == "format")).first()
    number = str(version.value) if version is not None else ""
    if not number.isdecimal() or len(number) > 6:
        raise DamagedStoreError(f"{name} is not a recording of presman: it has no format")
    if int(number) > FORMAT:
        raise RecordingError(f"{name} has format {int(number)}; this presman reads up to {FORMAT}: install a newer one")
    if int(number) < LAYOUT:
        raise RecordingError(f"{name} has format {int(number)}, which no release of presman wrote")
    return int(number)


def _check_relations(connection: Connection, name: str, *, writing: bool) -> None:
    """Raise RecordingError where something else than a table stands in PostgreSQL; files look for themselves."""
    is_server = connection.dialect.name == "postgresql"
    if is_server and (relation := schema_check.foreign_relation(connection, writing=writing)):
        raise RecordingError(f"{name}: its {relation} is not what a recorder makes")


def _add_once(damage: list[str], name: str, text: str) -> None:
    if (messages := f"{name}: {text}") not in damage:
        damage.append(messages)


def _with_driver(url: URL) -> URL:
    return url.set(drivername="postgresql+psycopg") if url.drivername in {"postgresql", "postgres"} else url


def _begin_immediately(connection: Connection) -> None:
    connection.connection.cursor().execute("BEGIN IMMEDIATE")


def _for_writing(connection: Any, _record: object) -> None:
    """Have a session of PostgreSQL end whose other end is silent while it keeps something locked."""
    connection.execute(f"SET idle_in_transaction_session_timeout = {_SILENT_MS}")
    connection.commit()


def _for_reading(connection: Any, _record: object) -> None:
    """Have a session of PostgreSQL write nothing, and wait for nobody for ever."""
    connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    connection.execute(f"SET statement_timeout = {_LONGEST_MS}")
    connection.commit()
