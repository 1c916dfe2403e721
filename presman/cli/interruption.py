"""Ctrl-C, SIGTERM and SIGHUP during a query: the signal cancels the source's read and takes effect after it.

A handler that raises does so in the code that runs at that moment. In the middle of the compiled driver the exception
would sometimes be lost, and presman would go on.
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
"""Seconds after which the main thread handles a signal that interrupted another thread."""


def rest(seconds: float = math.inf) -> None:
    """Sleep in short turns, so that the main thread can run the handler of a signal that interrupted another thread."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, TURN))


@contextmanager
def ending_reads(source: Source) -> Iterator[None]:
    """Let a signal cancel what `source` reads; afterwards the signal has its usual effect.

    Other sources than databases are pure Python and are interrupted directly.
    """
    if source.kind != "oracle" or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def end(number: int, _frame: object) -> None:
        came.append(number)
        source.cancel()

    # Only handlers that are functions: what is ignored, as by nohup, stays ignored.
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
    """End what `source` reads after `seconds` (None: never), with a SourceError that names the user's `timeout`."""
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
    except (SourceError, InputError):  # InputError: a recording whose reading was cancelled
        if over.is_set():
            raise SourceError(f"{source.name}: no answer within {round(timeout or 0.0, 1):g} s") from None
        raise


@contextmanager
def after(seconds: float, act: Callable[[], object]) -> Iterator[None]:
    """Call a function in a thread of its own after some seconds, unless the block inside has ended by then."""
    timer = threading.Timer(max(0.0, seconds), act)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
