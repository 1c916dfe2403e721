"""The process that a source runs in: it makes the source, answers calls, and ends when its parent ends.

Once the source is open the process makes a preview of it, without waiting for the parent's first call.
"""

import faulthandler
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from msgspec.structs import replace

from presman.base.child import LINE, end_with_parent
from presman.base.errors import InputError
from presman.base.release import Release
from presman.base.terminal_guard import open_log
from presman.base.text import clean, one_line
from presman.rows.queries import Scope
from presman.sources import Answer, Exhausted, Request, Source, SourceError
from presman.sources.subprocess_source import Channel, ChannelEndedError, MakePreview, PreviewAnswer

FRESH = 1.0
"""Seconds for which an answer that was read for a preview may be reused."""


class _Noted(NamedTuple):
    """An answer that was read for a preview, or its error, with its begin and end by the monotonic clock."""

    begun: float
    ended: float
    scope: Scope
    requests: tuple[Request, ...]
    answer: Answer | SourceError


class PreviewedSource:
    """A source whose preview answers are reused: each answers the same requests once, without another read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._release: Release | None = None
        self._noted: list[_Noted] = []

    def __getattr__(self, name: str) -> Any:
        """Return the source's attribute: all other calls go to the source unchanged."""
        return getattr(self._source, name)

    def open(self) -> Release:
        """Open the source."""
        self._release = None
        self._release = self._source.open()
        return self._release

    def preview(self, make: MakePreview) -> PreviewAnswer | None:
        """Return the preview that `make` makes of the source, None if the source is not open."""
        if self._release is None:
            return None
        begun = time.monotonic()
        return PreviewAnswer(make(_Noting(self._source, self._release, self._noted)), time.monotonic() - begun)

    def read(
        self, scope: Scope, requests: tuple[Request, ...], within: float | None = None, advances: bool = False
    ) -> Answer:
        """Read in `scope`, or return what the preview has just read; with `advances` at the next instant."""
        if advances:
            self._source.advance()
        now = time.monotonic()
        self._noted[:] = [noted for noted in self._noted if now - noted.ended < FRESH]
        for index, noted in enumerate(self._noted):
            if (noted.scope, noted.requests) == (scope, requests):
                del self._noted[index]
                if isinstance(noted.answer, SourceError):
                    raise noted.answer  # the source is lost: another read would raise the same
                return replace(noted.answer, spent=noted.ended - noted.begun)
        self._source.scope = scope
        return self._source.read(requests, within)


class _Noting:
    """An open source for the preview: `open` only returns the release, and each answer is noted for reuse."""

    def __init__(self, source: Source, release: Release, noted: list[_Noted]) -> None:
        self._source, self._release, self._noted = source, release, noted
        self.scope = source.scope

    def __getattr__(self, name: str) -> Any:
        return getattr(self._source, name)

    def open(self) -> Release:
        return self._release

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        self._source.scope = self.scope
        begun = time.monotonic()
        try:
            answer = self._source.read(requests, within)
        except SourceError as error:
            self._note(begun, requests, error)
            raise
        self._note(begun, requests, answer)
        return answer

    def _note(self, begun: float, requests: Sequence[Request], answer: Answer | SourceError) -> None:
        self._noted.append(_Noted(begun, time.monotonic(), self.scope, tuple(requests), answer))

    def close(self) -> None:
        """Keep the source open."""


CALLS = frozenset({"open", "read", "close", "container", "perform", "preview"})
"""The calls that the process answers: those of :class:`presman.sources.Source`, those of actions, and the preview."""

_AHEAD = frozenset({"open", "preview"})
"""The calls that presman makes when it starts the process."""

GRACE = 1.0
"""Seconds that logging off may take when presman has ended."""

LONGEST_CALL = 180.0
"""Seconds after which a call counts as hung and the process ends: otherwise it could outlive a killed presman."""

_LONGEST = 500


def main() -> None:
    """Answer the calls of the parent process, and end when it ends."""
    with suppress(OSError):
        os.setsid()  # signals from the terminal are for presman alone
    if (log := open_log()) >= 0:
        os.dup2(log, 2)  # faulthandler writes the traceback of a hung call there
        faulthandler.enable(log)
        faulthandler.register(signal.SIGUSR1, log)
    channel = Channel(socket.socket(fileno=LINE))
    with suppress(ChannelEndedError):
        _serve(channel)
    os._exit(0)  # even if the driver is still busy


def _serve(channel: Channel) -> None:
    recipe = channel.receive()
    source = PreviewedSource(recipe())
    asked: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, source, asked), daemon=True).start()
    is_bound = False
    while (call := asked.get()) is not None:
        channel.send((_answer(source, *call), getattr(source, "instance", 0)))
        if not is_bound and call[0] not in _AHEAD:  # not earlier, so as not to delay the first screen
            end_with_parent()
            is_bound = True
    source.close()


def _listen(
    channel: Channel, source: PreviewedSource, asked: queue.SimpleQueue[tuple[str, tuple[Any, ...]] | None]
) -> None:
    """Receive calls and queue them; carry out `cancel` at once. End the process when presman has ended."""
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


def _answer(source: PreviewedSource, name: str, arguments: tuple[Any, ...]) -> Any:
    """Return the result of a call, or the error it raised."""
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
