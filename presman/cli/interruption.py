"""Ctrl-C, SIGTERM and SIGHUP while a database answers: told to the source, and obeyed once it has let go.

A handler that raises does so in whatever runs just then. In the middle of the compiled driver the exception would now
and then be lost, and presman go on.
"""

import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from presman.base.errors import InputError
from presman.sources import Source, SourceError

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


TURN = 1.0
"""Seconds after which a signal is heard for which the system interrupted another thread than the main one."""


def rest(seconds: float = math.inf) -> None:
    """Sleep so long, as the main thread must: it runs the handlers of signals, whichever thread is interrupted."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, TURN))


@contextmanager
def ending_reads(source: Source) -> Iterator[None]:
    """Have a signal cancel what `source` reads; afterwards it does what it would have done.

    Sources that are no databases are interrupted wherever they are: they are Python alone.
    """
    if source.kind != "oracle" or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        source.cancel()

    usual = {number: handler for number in ENDING if callable(handler := signal.getsignal(number))}
    for number in usual:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def giving_up(source: Source, seconds: float | None, timeout: float | None) -> Iterator[None]:
    """Have what `source` reads end after `seconds` (None: never); SourceError then names the `timeout` that was set."""
    if seconds is None:
        yield
        return
    over = threading.Event()

    def end() -> None:
        over.set()
        source.cancel()

    try:
        with after(seconds, end):
            yield
    except (SourceError, InputError):  # the other is a recording's that is not read any further
        if over.is_set():
            raise SourceError(f"{source.name}: no answer within {round(timeout or 0.0, 1):g} s") from None
        raise


@contextmanager
def after(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Call a function after some seconds, in its own thread, unless the block inside is over by then."""
    timer = threading.Timer(max(0.0, seconds), act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
