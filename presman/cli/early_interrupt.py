"""Ctrl-C while presman is still being imported."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from presman.cli.exit_codes import INTERRUPTED


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Have Ctrl-C end the process then and there, while there is nothing to put back.

    In the middle of an import its exception would now and then be lost, or become another one.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
        yield
        return
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
