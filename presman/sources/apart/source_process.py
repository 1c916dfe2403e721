"""The process that a source lives in: it makes the source, answers what it is asked, and ends with who started it."""

from __future__ import annotations

import faulthandler
import os
import queue
import signal
import socket
import threading
from contextlib import suppress
from typing import Any

from presman.base.child import LINE, end_with_parent
from presman.base.errors import InputError
from presman.base.terminal_guard import open_log
from presman.base.text import clean, one_line
from presman.sources import Exhausted, SourceError
from presman.sources.apart.channel import Channel, ChannelEndedError
from presman.sources.apart.looked_at import LookedAt

CALLS = frozenset({"open", "advance", "read", "close", "container", "perform", "look"})
"""What may be asked of the source: see :class:`presman.sources.Source`, and of those that can act; and to look."""

GRACE = 1.0
"""Seconds that a log off may take when presman is gone."""

LONGEST_CALL = 180.0
"""Seconds after which a call counts as hung: a driver that spins would outlive a presman that was killed."""

_LONGEST = 500


def main() -> None:
    """Serve who started this process, and end with it."""
    with suppress(OSError):
        os.setsid()  # what a terminal sends to all who use it is for presman
    if (log := open_log()) >= 0:
        os.dup2(log, 2)  # what the watch over a call that hangs writes to
        faulthandler.enable(log)
        faulthandler.register(signal.SIGUSR1, log)
    channel = Channel(socket.socket(fileno=LINE))
    with suppress(ChannelEndedError):
        _serve(channel)
    os._exit(0)  # whatever the driver still does


def _serve(channel: Channel) -> None:
    recipe = channel.receive()
    source = LookedAt(recipe())
    asked: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, source, asked), daemon=True).start()
    is_bound = False
    while (call := asked.get()) is not None:
        channel.send((_answer(source, *call), getattr(source, "instance", 0)))
        if not is_bound and asked.empty():  # what is asked first does not wait for it
            end_with_parent()
            is_bound = True
    source.close()


def _listen(channel: Channel, source: LookedAt, asked: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None]) -> None:
    """Hear what is asked; to cancel is done at once. When presman is gone, end."""
    with suppress(ChannelEndedError):
        while True:
            name, arguments = channel.receive()
            if name == "cancel":
                source.cancel()
            else:
                asked.put((name, arguments))
    asked.put(None)
    threading.Timer(GRACE, os._exit, (0,)).start()
    with suppress(Exception):
        source.cancel()


def _answer(source: LookedAt, name: str, arguments: tuple[Any, ...]) -> Any:
    """Return what a call returns, or the error it raises."""
    if name not in CALLS:
        raise ValueError(name)
    faulthandler.dump_traceback_later(LONGEST_CALL, exit=True)
    try:
        return getattr(source, name)(*arguments)
    except (SourceError, Exhausted, InputError) as error:
        return error
    except Exception as error:
        return SourceError(one_line(clean(f"{type(error).__name__}: {error}"), _LONGEST))
    finally:
        faulthandler.cancel_dump_traceback_later()
