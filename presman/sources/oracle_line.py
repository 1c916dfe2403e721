"""A line to the database: one connection that runs statements, each bounded in time.

Two kinds: the thin driver through asyncio, which pipelines on 23ai and whose waits can all be ended, and the thick
driver, which is synchronous (oracle_thick.py). Both are used from one thread; only `cancel` is called from others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple, Protocol, TypeVar

import oracledb

from presman.sources.oracle_connect import connect_arguments, label, output_type
from presman.sources.oracle_errors import is_lost
from presman.targets import ConnectSettings

GRACE = 0.2
"""Seconds a call that was told to end may take before the connection is dropped."""

AFTERMATH = 0.02
"""Seconds for what still runs on a dropped connection to notice; in a pipeline the driver never does."""

GLANCE = 0.1
"""Seconds between two looks at the state of a connection that is waited for."""

CUT = "DPY-4011: the database or network closed the connection"

PARTING = 0.2
"""Seconds a logoff may take."""

CACHED_STATEMENTS = 60
PIPELINES_SINCE = "23"

T = TypeVar("T")
Rows = Sequence[tuple[Any, ...]]


class Statement(NamedTuple):
    """A SELECT, its binds, and as many rows as one round trip should bring."""

    sql: str
    binds: Mapping[str, Any]
    rows: int


class Lost(Exception):  # noqa: N818 - it happens to a connection, it is not a mistake
    """The connection is gone, or was dropped because a call could not be ended; `cause` says why.

    `stuck` is set when a statement took too long and would not be interrupted.
    """

    def __init__(self, cause: Any, *, stuck: bool = False) -> None:
        super().__init__(str(cause))
        self.cause = cause
        self.stuck = stuck


class Cancelled(Exception):  # noqa: N818 - the user's wish
    """`cancel` was called."""


class Why(Enum):
    """Why the waiting for a call ended."""

    DONE = "done"
    STOPPED = "stopped"
    CUT = "cut"
    LATE = "late"


class Line(Protocol):
    """What both kinds do. `round_trips` counts since the line was connected."""

    round_trips: int
    pipelines: bool
    version: str

    def connect(self, timeout: float) -> None:
        """Log in. Raises oracledb.Error, TimeoutError or Cancelled."""

    def fetch(self, statement: Statement, timeout: float) -> Rows:
        """Run one SELECT.

        Raises oracledb.Error or ValueError if it failed, TimeoutError if it was interrupted, Lost, Cancelled.
        """

    def fetch_all(self, statements: Sequence[Statement], timeout: float) -> list[Rows | Any]:
        """Run many in one round trip; a failed one yields its error. Raises Lost or Cancelled."""

    def run(self, sql: str, binds: Mapping[str, Any], timeout: float) -> None:
        """Run one statement that returns no rows. Raises what `fetch` raises."""

    def cancel(self) -> None:
        """End what is under way; may be called from any thread."""

    def close(self) -> None:
        """Log off, or drop the connection if that takes too long. Never raises."""


class Sockets(asyncio.SelectorEventLoop):
    """An event loop that can close what was connected in it: the driver leaves some sockets to the collector."""

    def __init__(self) -> None:
        super().__init__()
        self._made: list[asyncio.BaseTransport] = []
        # A connection that dies in the middle of an answer may leave the driver's protocol object complaining.
        self.set_exception_handler(lambda _loop, _context: None)

    async def create_connection(self, *args: Any, **named: Any) -> Any:
        """Connect, and remember the transport."""
        made = await super().create_connection(*args, **named)
        self._made.append(made[0])
        return made

    async def abandon(self) -> None:
        """Close every socket at once, without farewell."""
        for transport in self._made:
            if isinstance(transport, asyncio.WriteTransport):
                transport.abort()
        self._made.clear()
        await asyncio.sleep(0)  # transports close their sockets in the next turn of the loop


class ThinLine:
    """The thin driver through asyncio, in an event loop of its own."""

    def __init__(self, settings: ConnectSettings) -> None:
        self._settings = settings
        self._loop = Sockets()
        self._stop = asyncio.Event()
        self._connection: Any = None
        self.round_trips = 0
        self.pipelines = False
        self.version = ""

    def connect(self, timeout: float) -> None:
        """Log in. Raises oracledb.Error, TimeoutError or Cancelled."""
        self._connection = self._wait(self._connect(timeout), timeout)
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

    def fetch(self, statement: Statement, timeout: float) -> Rows:
        """Run one SELECT."""
        try:
            rows: Rows = self._wait(self._fetch(statement), timeout)
            return rows
        except oracledb.Error as error:
            if self._is_dead(error):
                raise Lost(error) from error
            raise

    async def _fetch(self, statement: Statement) -> Rows:
        cursor = self._connection.cursor()
        cursor.arraysize = cursor.prefetchrows = statement.rows
        try:
            await cursor.execute(statement.sql, dict(statement.binds))
            rows: Rows = await cursor.fetchall()
            return rows
        finally:
            cursor.close()

    def run(self, sql: str, binds: Mapping[str, Any], timeout: float) -> None:
        """Run one statement that returns no rows."""
        try:
            self._wait(self._run_one(sql, binds), timeout)
        except oracledb.Error as error:
            if self._is_dead(error):
                raise Lost(error) from error
            raise

    async def _run_one(self, sql: str, binds: Mapping[str, Any]) -> None:
        cursor = self._connection.cursor()
        try:
            await cursor.execute(sql, dict(binds))
        finally:
            cursor.close()

    def fetch_all(self, statements: Sequence[Statement], timeout: float) -> list[Rows | Any]:
        """Run many in one round trip; a failed one yields its error."""
        pipeline = oracledb.create_pipeline()
        for sql, binds, rows in statements:
            pipeline.add_fetchall(sql, dict(binds), arraysize=rows)
        self.round_trips += 1  # the driver does not report a pipeline's own
        try:
            results = self._wait(self._run(pipeline), timeout)
        except TimeoutError as error:  # a pipeline is not interrupted: the connection is out of step
            self._drop()
            raise Lost(error, stuck=True) from error
        except (oracledb.Error, ValueError, OverflowError) as error:
            lost = isinstance(error, oracledb.Error) and self._is_dead(error)
            self._drop()
            raise Lost(error, stuck=not lost) from error
        failed = next((result.error for result in results if result.error and is_lost(result.error)), None)
        if failed:
            raise Lost(failed)
        return [result.error or result.rows or [] for result in results]

    async def _run(self, pipeline: Any) -> Any:
        return await self._connection.run_pipeline(pipeline, continue_on_error=True)

    def _is_dead(self, error: Any) -> bool:
        return is_lost(error) or not self._connection.is_healthy()

    def _wait(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        """Run `work` to its end, but no longer than `timeout` and not after `cancel`."""
        return self._loop.run_until_complete(self._bounded(work, timeout))

    async def _bounded(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        task = asyncio.ensure_future(work)
        why = await self._watch(task, timeout)
        if task.done():
            return task.result()
        task.cancel()
        if why is not Why.CUT:
            await asyncio.wait({task}, timeout=GRACE)
        in_step = task.done()
        if not in_step:
            self._drop()
            await asyncio.wait({task}, timeout=AFTERMATH)
        if task.done() and not task.cancelled():
            task.exception()
        if why is Why.STOPPED:
            raise Cancelled
        if why is Why.CUT:
            raise Lost(CUT)
        error = TimeoutError(f"no answer within {timeout:g} s")
        if in_step or self._connection is None:
            raise error
        raise Lost(error, stuck=True)

    async def _watch(self, task: asyncio.Future[T], timeout: float) -> Why:
        """Wait for `task`, `cancel`, the time limit or the loss of the connection."""
        stop = asyncio.ensure_future(self._stop.wait())
        both: set[asyncio.Future[Any]] = {task, stop}
        limit = self._loop.time() + timeout
        why = Why.DONE
        while not task.done() and why is Why.DONE:
            left = limit - self._loop.time()
            # The driver does not notice that the line was cut while a pipeline runs.
            cut = self._is_cut()
            await asyncio.wait(both, timeout=max(0.0, min(left, GLANCE)), return_when=asyncio.FIRST_COMPLETED)
            why = Why.STOPPED if stop.done() else Why.CUT if cut else Why.LATE if left <= 0 else Why.DONE
        stop.cancel()
        return why

    def _is_cut(self) -> bool:
        return self._connection is not None and not self._connection.is_healthy()

    def _drop(self) -> None:
        if self._connection is not None:
            with suppress(Exception):
                self._connection.terminate()

    def cancel(self) -> None:
        """End what is under way; may be called from any thread."""
        with suppress(RuntimeError):  # the loop is closed: nothing is under way
            self._loop.call_soon_threadsafe(self._stop.set)

    def close(self) -> None:
        """Log off, or drop the connection if that takes too long. Never raises."""
        if self._loop.is_closed():
            return
        with suppress(Exception):
            self._loop.run_until_complete(self._part())
        self._loop.close()

    async def _part(self) -> None:
        if self._connection is not None:
            leaving = asyncio.ensure_future(self._leave())
            await asyncio.wait({leaving}, timeout=PARTING)
            self._drop()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        if others:
            await asyncio.wait(others, timeout=AFTERMATH)
        await self._loop.abandon()

    async def _leave(self) -> None:
        with suppress(Exception):
            await self._connection.close()
