"""Server reading: limits on memory and time for an answer of a PostgreSQL store, which may be hostile or hang."""

import math
import select
import time
from collections.abc import Callable, Generator
from functools import partial, wraps
from typing import Any, TypeVar

import psycopg
from psycopg.waiting import Ready, Wait

from presman.base.running_out import ANSWERS

T = TypeVar("T")

ROOM = 192 << 20
"""The most bytes of an answer: a block of 32 MB arrives as twice as many hexadecimal digits."""

LONGEST = 60.0
"""Seconds that the server may take to answer, set as its statement timeout."""

_NO_MEMORY = "out of memory", "cannot allocate memory", "results from command"
"""psycopg's messages when it gets no memory; the last if only the end of the answer was read."""

_GRACE = 5.0
"""Seconds after LONGEST for which a silent server is still waited for."""

_TURN = 0.5
"""Seconds between two checks of the clock."""


def bound(connection: psycopg.Connection[Any], _record: object) -> None:
    """Make a connection read-only, with a timeout and a limit on memory."""
    leave_on_signals(connection, LONGEST + _GRACE)
    connection.cursor_factory, connection.server_cursor_factory = _CURSOR, _SERVER_CURSOR
    connection.execute("SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY")
    connection.execute(f"SET statement_timeout = {round(LONGEST * 1000)}")
    connection.commit()


def leave_on_signals(connection: psycopg.Connection[Any], longest: float = math.inf) -> None:
    """Wait at most `longest` seconds for an answer, and for none after a signal.

    psycopg would give the server ten seconds to confirm the cancellation, and log that it did not.
    """
    connection.wait = partial(_wait, connection, longest)  # type: ignore[method-assign]


class _SilentServer(psycopg.OperationalError):
    """The server does not answer: the connection cannot be used any more."""


def _wait(
    connection: psycopg.Connection[Any], longest: float, steps: Generator[Wait, Ready, T], *_: Any, **__: Any
) -> T:
    """Run the steps of psycopg with its connection, at most `longest` seconds."""
    socket, poll, end = connection.pgconn.socket, select.poll(), time.monotonic() + longest
    try:
        state = next(steps)
        while True:
            poll.register(socket, (select.POLLIN if state & Wait.R else 0) | (select.POLLOUT if state & Wait.W else 0))
            if found := dict(poll.poll(_TURN * 1000)).get(socket, 0):
                read, write = found & ~select.POLLOUT, found & select.POLLOUT
                state = steps.send(Ready((Ready.R if read else 0) | (Ready.W if write else 0)))
            elif time.monotonic() > end:
                raise _SilentServer(f"no answer within {longest:.0f} s")
    except StopIteration as done:
        result: T = done.value
        return result
    except BaseException as error:
        if isinstance(error, _SilentServer) or not isinstance(error, psycopg.Error | MemoryError):
            connection.pgconn.finish()
        raise


def _bounded(method: Callable[..., T]) -> Callable[..., T]:
    """Return a method of a cursor that fails if an answer takes too much memory."""

    @wraps(method)
    def call(*arguments: Any, **named: Any) -> T:
        try:
            with ANSWERS.bounded(ROOM):
                return method(*arguments, **named)
        except (MemoryError, psycopg.Error) as error:
            if isinstance(error, MemoryError) or any(words in str(error) for words in _NO_MEMORY):
                what = f"an answer takes more than {ROOM >> 20} MB, as none that was recorded"
                raise psycopg.DataError(what) from None
            raise

    return call


def _bounded_cursor(kind: type[Any]) -> type[Any]:
    """Return a cursor class with the limit on memory; it does not warn when its connection was closed early."""
    names = ("execute", "fetchone", "fetchmany", "fetchall")
    silent = {"__del__": lambda _: None}
    return type(kind.__name__, (kind,), {name: _bounded(getattr(kind, name)) for name in names} | silent)


_CURSOR, _SERVER_CURSOR = _bounded_cursor(psycopg.Cursor), _bounded_cursor(psycopg.ServerCursor)
