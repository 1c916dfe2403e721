"""Ctrl-C and SIGTERM while a database answers: told to the source, and obeyed once it has let go.

A handler that raises does so in whatever runs just then. In the middle of the compiled driver the exception would now
and then be lost, and presman go on.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from presman.sources import Source

ENDING = (signal.SIGINT, signal.SIGTERM)


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
