"""Connection to the database with the thin driver; each statement has a time limit.

There are two kinds of connections: the thin driver with asyncio, which supports pipelines on 23ai and whose calls can
all be cancelled, and the thick driver, which is synchronous (thick_connection.py). Both are used from one thread; only
`cancel` is called from others.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import closing, suppress
from enum import Enum
from typing import Any, NamedTuple, TypeVar

import oracledb

from presman import __version__
from presman.base.running_out import ANSWERS
from presman.sources.oracle.guard import MOST, AnswerTooLarge, Sockets, meaningful_error
from presman.sources.oracle.oracle_errors import is_lost
from presman.sources.oracle.settings import ConnectSettings

MODES = {
    "default": oracledb.AUTH_MODE_DEFAULT,
    "sysdba": oracledb.AUTH_MODE_SYSDBA,
    "sysoper": oracledb.AUTH_MODE_SYSOPER,
    "sysbackup": oracledb.AUTH_MODE_SYSBKP,
    "sysdg": oracledb.AUTH_MODE_SYSDGD,
    "syskm": oracledb.AUTH_MODE_SYSKMT,
    "sysrac": oracledb.AUTH_MODE_SYSRAC,
}


def connect_arguments(settings: ConnectSettings, timeout: float) -> dict[str, Any]:
    """Return the arguments of `oracledb.connect`; they contain the password, so they must not be kept.

    `user` may be ``proxy[user]``; without it the database identifies the user by other means: a wallet's certificate
    over TLS, or, with the thick driver, Kerberos, the operating system, or a password stored in the wallet.
    """
    names = ("dsn", "user", "config_dir", "wallet_location", "https_proxy", "https_proxy_port")
    arguments = {name: value for name in names if (value := getattr(settings, name)) is not None}
    secrets = {"password": settings.password, "wallet_password": settings.wallet_password}
    arguments |= {name: secret.reveal() for name, secret in secrets.items() if secret}
    arguments["mode"] = MODES[settings.mode]
    if settings.user is None:
        arguments["externalauth"] = True
    if not settings.thick:
        arguments |= {"program": "presman", "tcp_connect_timeout": timeout}
    return arguments


def label(connection: Any) -> None:
    """Identify the session as presman's in V$SESSION; this is sent with the next call."""
    connection.module = "presman"
    connection.action = "monitor"
    connection.clientinfo = f"presman {__version__}"


def output_type(cursor: Any, column: Any) -> Any:
    """Fetch strings with invalid UTF-8 bytes replaced, and CLOBs as strings."""
    kind = column.type_code
    if kind in {oracledb.DB_TYPE_VARCHAR, oracledb.DB_TYPE_CHAR}:
        size = column.internal_size or 4000
        return cursor.var(kind, size, arraysize=cursor.arraysize, encoding_errors="replace")
    if kind is oracledb.DB_TYPE_CLOB:  # as LONG it comes with its row, without a locator and another round trip
        return cursor.var(oracledb.DB_TYPE_LONG, arraysize=cursor.arraysize, encoding_errors="replace")
    return None


GRACE = 0.2
"""Seconds that a cancelled call may take to end before the connection is dropped."""

AFTERMATH, ROUNDS = 0.02, 4
"""Seconds for a call on a dropped connection to end after each cancellation, and how often it is cancelled."""

CUT = "DPY-4011: the database or network closed the connection"

PARTING = 0.2
"""Seconds that logging off may take."""

CACHED_STATEMENTS = 60
"""Statements that stay parsed: more than presman has queries, which are the same at each poll."""
PIPELINES_SINCE = "23"
"""The first release whose server answers pipelines (python-oracledb's guide)."""

T = TypeVar("T")
Rows = Sequence[tuple[Any, ...]]


class BoundSelect(NamedTuple):
    """A SELECT, its binds, and the number of rows to fetch per round trip.

    `shorten` is given if rows may be huge: it is applied to the rows of each round trip as they arrive.
    """

    sql: str
    binds: Mapping[str, Any]
    rows: int
    shorten: Callable[[Rows], Rows] | None = None


class ConnectionLost(Exception):  # noqa: N818 - it is an event, not a mistake
    """The connection is lost, or was dropped because a call could not be ended; `cause` is the error.

    `stuck` is set if the database may still be reachable: a statement timed out and could not be interrupted, or its
    answer was too large or not convertible.
    """

    def __init__(self, cause: Any, *, stuck: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.stuck = stuck


class Cancelled(Exception):  # noqa: N818 - the user's wish
    """`cancel` was called."""


class CallEnd(Enum):
    """Why the wait for a call ended."""

    DONE = "done"
    STOPPED = "stopped"
    CUT = "cut"
    LATE = "late"


UNDERSTOOD = (oracledb.Error, ValueError, OverflowError, OSError, ConnectionLost, Cancelled)
"""The driver's normal exceptions. It raises others only if an answer is invalid."""


class ThinConnection:
    """The thin driver with asyncio, in its own guarded event loop. `round_trips` counts since it connected.

    ThickConnection has the same interface.
    """

    def __init__(self, settings: ConnectSettings) -> None:
        self._settings = settings
        self._loop = Sockets()
        self._stop = asyncio.Event()
        self._connection: Any = None
        self.round_trips = 0
        self.pipelines = False
        self.version = ""

    @property
    def received(self) -> int:
        """Bytes received so far."""
        return self._loop.received

    def connect(self, timeout: float) -> None:
        """Log in. Raises oracledb.Error, NotOracle, TimeoutError or Cancelled."""
        try:
            self._connection = self._wait(self._connect(timeout), timeout)
        except Cancelled:
            raise
        except Exception as error:
            # The driver stumbles over an answer that the guard refused; what the guard saw explains it.
            stumbled = self._loop.received and not isinstance(error, UNDERSTOOD)
            reported = meaningful_error(error) if stumbled else error
            raise self._loop.fault or self._loop.incomplete_answer() or reported from None
        self._loop.settle()
        self.version = self._connection.version
        self.pipelines = int(self.version.split(".", 1)[0]) >= int(PIPELINES_SINCE)

    async def _connect(self, timeout: float) -> Any:
        arguments = connect_arguments(self._settings, timeout)
        connection = await oracledb.connect_async(**arguments, stmtcachesize=CACHED_STATEMENTS)
        connection.outputtypehandler = output_type
        with suppress(AttributeError):
            connection.round_trip_callback = self._count
        label(connection)
        return connection

    def _count(self, *_: Any) -> None:
        self.round_trips += 1

    def fetch(self, statement: BoundSelect, timeout: float) -> Rows:
        """Run one SELECT.

        Raises oracledb.Error or ValueError if it failed, TimeoutError if it was interrupted, ConnectionLost, Cancelled.
        """
        return self._alone(_fetched(self._connection, statement, self._loop.allow), timeout)

    def run(self, sql: str, binds: Mapping[str, Any], timeout: float) -> None:
        """Run one statement that returns no rows. Raises the same errors as `fetch`."""
        self._alone(_executed(self._connection, sql, binds), timeout)

    def _alone(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        try:
            return self._wait(work, timeout)
        except oracledb.Error as error:
            if is_lost(error) or self._loop.lost.is_set() or not self._connection.is_healthy():
                raise ConnectionLost(error) from error
            raise
        except UNDERSTOOD:
            raise
        except Exception as error:
            raise ConnectionLost(meaningful_error(error)) from error

    def fetch_all(self, statements: Sequence[BoundSelect], timeout: float) -> list[Rows | Any]:
        """Run several SELECTs in one round trip; a failed one yields its error. Raises ConnectionLost or Cancelled."""
        pipeline = oracledb.create_pipeline()
        for statement in statements:
            pipeline.add_fetchall(statement.sql, dict(statement.binds), arraysize=statement.rows)
        self.round_trips += 1  # the driver does not report the round trip of a pipeline
        try:
            results = self._wait(self._connection.run_pipeline(pipeline, continue_on_error=True), timeout)
        except TimeoutError as error:  # a pipeline cannot be interrupted: the connection is unusable
            raise ConnectionLost(error, stuck=True) from error
        except (oracledb.Error, ValueError, OverflowError) as error:
            lost = isinstance(error, oracledb.Error) and is_lost(error)
            raise ConnectionLost(error, stuck=not lost) from error
        except UNDERSTOOD:
            raise
        except Exception as error:
            raise ConnectionLost(meaningful_error(error)) from error
        if failed := next((result.error for result in results if result.error and is_lost(result.error)), None):
            raise ConnectionLost(failed)
        return [result.error or result.rows or [] for result in results]

    def _wait(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """Run `work` until it ends, `timeout` has passed, `cancel` is called, or the connection is lost."""
        with ANSWERS.bounded():
            return self._loop.run_until_complete(self._bounded(work, timeout))

    async def _bounded(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        self._loop.allow()
        task = asyncio.ensure_future(work)
        why = await self._watch(task, timeout)
        if why is CallEnd.DONE:
            return task.result()
        if why is not CallEnd.CUT:  # cancelling asks the database to stop; it may answer in time
            task.cancel()
            await asyncio.wait({task}, timeout=GRACE)
        in_step = task.done()  # the database answered the cancellation: the connection can still be used
        await self._give_up(task)
        if why is CallEnd.STOPPED:
            raise Cancelled
        if why is CallEnd.CUT:
            raise ConnectionLost(self._loop.fault or CUT, stuck=isinstance(self._loop.fault, AnswerTooLarge))
        error = TimeoutError(f"no answer within {round(timeout, 1):g} s")
        if in_step or self._connection is None:
            raise error
        raise ConnectionLost(error, stuck=True)

    async def _watch(self, task: asyncio.Future[T], timeout: float) -> CallEnd:
        """Wait for `task`, `cancel`, the loss of the connection or the time limit; return which came first."""
        stop, lost = (asyncio.ensure_future(event.wait()) for event in (self._stop, self._loop.lost))
        both: set[asyncio.Future[Any]] = {task, stop, lost}
        await asyncio.wait(both, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        ends = ((stop, CallEnd.STOPPED), (task, CallEnd.DONE), (lost, CallEnd.CUT))
        why = next((end for future, end in ends if future.done()), CallEnd.LATE)
        stop.cancel()
        lost.cancel()
        return why

    async def _give_up(self, task: asyncio.Future[Any]) -> None:
        """End an abandoned call. It is cancelled repeatedly, because the driver may begin another wait each time."""
        for _ in range(ROUNDS):
            if task.done():
                break
            task.cancel()
            await asyncio.wait({task}, timeout=AFTERMATH)
        if task.done() and not task.cancelled():
            task.exception()  # otherwise asyncio would log that its exception was never retrieved

    def cancel(self) -> None:
        """End the call in progress; may be called from any thread."""
        with suppress(RuntimeError):  # the loop is closed: no call is in progress
            self._loop.call_soon_threadsafe(self._stop.set)

    def close(self) -> None:
        """Log off, or drop the connection if that takes too long. Never raises."""
        if self._loop.is_closed():
            return
        with suppress(Exception):
            self._loop.run_until_complete(self._log_off())
        self._loop.close()

    async def _log_off(self) -> None:
        if await self._give_up_all() and self._connection is not None:
            self._loop.report_loss_to_driver()
            leaving = asyncio.ensure_future(self._leave())  # even if lost: the driver leaks connections left open
            await asyncio.wait({leaving}, timeout=PARTING)
            await self._give_up_all()
        await self._loop.abandon()

    async def _give_up_all(self) -> bool:
        """End all calls that still run in the driver; return whether they ended."""
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            await self._give_up(task)
        return all(task.done() for task in others)

    async def _leave(self) -> None:
        with suppress(Exception):
            await self._connection.close()


async def _fetched(connection: Any, statement: BoundSelect, allow: Callable[[], None]) -> Rows:
    """Return the rows of one SELECT; `allow` is called to reset the size limit after each fetch of huge rows."""
    found: list[tuple[Any, ...]] = []
    kept = 0
    with closing(connection.cursor()) as cursor:
        cursor.arraysize = cursor.prefetchrows = statement.rows
        await cursor.execute(statement.sql, dict(statement.binds))
        if statement.shorten is None:
            rows: Rows = await cursor.fetchall()
            return rows
        # Rows are shortened after each round trip, so that only those of one are in memory at full length.
        while batch := await cursor.fetchmany():
            rows = statement.shorten(batch)
            kept += sum(len(value) for row in rows for value in row if isinstance(value, str))
            if kept > MOST:
                raise ConnectionLost(AnswerTooLarge(), stuck=True)
            found += rows
            allow()
    return found


async def _executed(connection: Any, sql: str, binds: Mapping[str, Any]) -> None:
    with closing(connection.cursor()) as cursor:
        await cursor.execute(sql, dict(binds))
