"""The source of a screen: it runs in a separate process, which opens it while the screen is being built.

A driver's compiled code can spin, exhaust memory or crash. In a separate process it does not block the screen, and only
a connection is lost: the next attempt starts another process.

The two processes exchange Python values over a pair of sockets, the channel. Both ends are presman, of the same version
and the same user; nothing from files or the network is unpickled here.
"""

import pickle
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copyreg import dispatch_table
from io import BytesIO
from itertools import repeat
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import structs

from presman.base.child import Child
from presman.base.release import Release
from presman.base.secret import Secret
from presman.base.terminal_guard import log_path
from presman.rows.queries import Query, RecordType, Scope
from presman.rows.snapshot import Section
from presman.sources import Answer, OutcomeUnknown, Request, Source, SourceError, SourceRecipe

_PROTOCOL = 5
"""The newest protocol of pickle: both ends are the same Python."""

_SIZE = struct.Struct("!Q")
"""The header of each value: its size in bytes."""


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


def _section(record: RecordType, rows: tuple[tuple[Any, ...], ...], *more: Any) -> Section:
    return Section(tuple(map(tuple.__new__, repeat(record), rows)), *more)


_QUERIES: dict[int, Query] = {}
"""The queries that have been received, by the numbers that the other end gave them."""


def _query(number: int, fields: tuple[Any, ...]) -> Query:
    if fields:
        _QUERIES[number] = Query(*fields)
    return _QUERIES[number]


def _reduced_section(section: Section) -> tuple[Any, ...]:
    """Name the record once and not with each of its rows, which takes half as long to write."""
    rows, *more = structs.astuple(section)
    return _section, (type(rows[0]) if rows else tuple, tuple(map(tuple, rows)), *more)


_WRITERS: dict[Any, Any] = {
    **dispatch_table,
    MappingProxyType: lambda view: (_read_only, (dict(view),)),
    Section: _reduced_section,
}
"""Reducers for types that pickle does not support, or is slow with."""


class ChannelEndedError(Exception):
    """The other end of the channel is closed."""


class Channel:
    """One end of a channel. Values may be sent from several threads, but are received in one.

    Nothing is read ahead, so `select` sees every unread value, and a value that cannot be unpickled does not affect the
    next one.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._turn = threading.Lock()
        self._sent: dict[int, Query] = {}
        self._writers = {**_WRITERS, Query: self._reduced_query}

    def send(self, value: Any) -> None:
        """Send a value. Raises ChannelEndedError."""
        self._send(_written(value, self._writers))

    def send_with_secrets(self, value: Any) -> None:
        """Send a value including its secrets, which nothing else ever serializes. Raises ChannelEndedError."""
        self._send(_written(value, {**_WRITERS, Secret: lambda secret: (Secret, (secret.reveal(),))}))

    def receive(self) -> Any:
        """Wait for the next value. Raises ChannelEndedError."""
        try:
            return pickle.loads(self._taken(*_SIZE.unpack(self._taken(_SIZE.size))))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:  # ValueError: it was closed here
            raise ChannelEndedError from error

    def _reduced_query(self, query: Query) -> tuple[Any, ...]:
        """Send a query in full only once, afterwards its number: its text is most of a request."""
        number = id(query)
        is_known = number in self._sent
        self._sent[number] = query  # no other gets its number
        return _query, (number, () if is_known else structs.astuple(query))

    def _taken(self, size: int) -> bytearray:
        data = bytearray(size)
        room = memoryview(data)
        while room:
            came = self._end.recv_into(room)
            if not came:
                raise EOFError
            room = room[came:]
        return data

    def comes(self, seconds: float) -> bool:
        """Wait at most `seconds`; return whether a value begins to arrive, or the channel has ended."""
        try:
            return bool(select.select([self._end], [], [], seconds)[0])
        except (OSError, ValueError):  # it was closed here
            return True

    def shut(self) -> None:
        """Shut the channel down for both ends, which wakes any thread that waits at either."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close this end."""
        self._end.close()

    def _send(self, data: bytes) -> None:
        try:
            with self._turn:
                self._end.sendall(_SIZE.pack(len(data)) + data)  # two calls would wake the other end twice
        except OSError as error:
            raise ChannelEndedError from error


def _written(value: Any, writers: dict[Any, Any]) -> bytes:
    to = BytesIO()
    pickler = pickle.Pickler(to, _PROTOCOL)
    pickler.dispatch_table = writers
    pickler.dump(value)
    return to.getvalue()


MakePreview = Callable[[Source], Any]
"""Makes the preview of an open source: a value that can be passed to another process."""


class PreviewAnswer(NamedTuple):
    """The preview of a source, and the seconds since reading it began."""

    value: Any
    seconds: float


SERVE = "presman.sources.source_process", "main"
"""The module and function that the process runs."""

NEVER = float("inf")

POLL_INTERVAL = 0.25
"""Seconds between checks whether a call has been cancelled or has taken too long."""

CANCELLED = 1.5
"""Seconds that a call may still take after it was cancelled."""

OVERTIME = 30.0
"""Seconds that a read may exceed its time limit before the driver counts as hung."""

SOON = 20.0
"""Seconds after which a call that normally returns at once counts as hung."""

LONGEST = 170.0
"""Seconds that a login or a statement that acts may take: longer than the driver's own limits."""

CLOSING = 1.0
"""Seconds that logging off may take."""

LEAVING = 0.4
"""Seconds that the process may take to end by itself."""

LAST_WORDS = 0.5
"""Seconds that a hung process may take to write its traceback."""


class ProcessSource:
    """A source in a separate process. See :class:`presman.sources.Source`; `kind` and `name` are those of the source.

    `begin` starts the process, which begins to open the source ahead of `open`; `preview` returns the preview that was
    made there. The process survives `close`, so that the source can be opened again. It ends with `end`, or with
    presman.
    """

    def __init__(self, recipe: SourceRecipe, *, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.scope = Scope.CLUSTER
        self.instance = 0
        self.recipe = recipe
        """How the source is made. Another one applies after `end`, from the next `open` on."""
        self._child: Child | None = None
        self._logged = 0
        self._channel: Channel | None = None
        self._is_opening = self._is_previewing = False
        self._opened: Release | Exception | None = None
        self._patience_ends = NEVER
        self._advances = False

    def begin(self, preview: MakePreview | None = None) -> None:
        """Start the process, which opens and previews the source. Raises SourceError if no process can be started."""
        self._logged = _size_of_log()
        try:
            self._child = Child(*SERVE)
        except (OSError, TypeError) as error:  # TypeError: sys.executable is None
            raise SourceError(f"no process for {self.name}: {getattr(error, 'strerror', '') or error}") from error
        self._channel = Channel(self._child.line)
        self._is_opening, self._is_previewing = True, preview is not None
        try:
            self._channel.send_with_secrets(self.recipe)
            self._channel.send(("open", ()))
            if preview is not None:
                self._channel.send(("preview", (preview,)))
        except ChannelEndedError:
            return  # `open` will raise the error

    def preview(self, within: float | None = None) -> PreviewAnswer | None:
        """Wait for the preview that `begin` requested; return None if there is none, or if it failed.

        Once the source is open the preview may take `within` seconds, plus OVERTIME. If the source could not be opened,
        `open` raises the error as usual.
        """
        if not self._is_previewing:
            return None
        self._is_previewing = self._is_opening = False
        self._opened = self._attempt(LONGEST)
        found = self._attempt(_limit(within)) if self._channel is not None else None
        if self._channel is None and not isinstance(self._opened, Exception):
            self._opened = None  # the process died during the preview
        return found if isinstance(found, PreviewAnswer) else None

    def open(self) -> Release:
        """Open the source in its process, which is started if necessary. Raises SourceError."""
        self.preview()  # a pending preview must not be taken for the answer to another call
        opened, self._opened = self._opened, None
        if isinstance(opened, Exception):
            raise opened
        return opened or self._open()

    def _open(self) -> Release:
        self._patience_ends = NEVER
        if self._channel is None:
            self.begin()
        elif not self._is_opening:
            self._send("open")
        self._is_opening = False
        release: Release = self._answer(LONGEST)
        return release

    def advance(self) -> None:
        """Move to the next instant of the source, together with the next `read`. Raises SourceError if it is closed."""
        if self._channel is None:
            raise SourceError(f"{self.name} is not open")
        self._advances = True

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests`. Raises SourceError if the connection, or the process, is lost, and what `advance` raises."""
        advances, self._advances = self._advances, False
        answer: Answer = self._call("read", self.scope, tuple(requests), within, advances, limit=_limit(within))
        return answer

    def container(self) -> int | None:
        """Return the container that the session is in (CON_ID), None if not known."""
        found: int | None = self._call("container", limit=SOON)
        return found

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        """Run a statement that acts. Raises SourceError or OutcomeUnknown."""
        self._send("perform", statement, dict(binds))
        try:
            self._answer(LONGEST)
        except SourceError as error:
            if self._channel is not None:
                raise
            raise OutcomeUnknown(str(error)) from None

    def cancel(self) -> None:
        """End a call in progress soon, if necessary together with the process. Called from another thread."""
        self._patience_ends = min(self._patience_ends, time.monotonic() + CANCELLED)
        if self._channel is not None:
            with suppress(ChannelEndedError):
                self._channel.send(("cancel", ()))

    def close(self) -> None:
        """Log off. Never raises."""
        if self._channel is not None and not self._is_opening:
            with suppress(SourceError):
                self._call("close", limit=CLOSING)

    def end(self) -> None:
        """End the process, even during a call: the caller that waits for the answer gets SourceError."""
        if self._channel is not None:
            self._channel.shut()
        if self._child is not None:
            self._child.end(LEAVING)
        self._close_channel()

    # -- the process ----------------------------------------------------------------------------------------------

    def _call(self, name: str, *arguments: Any, limit: float = NEVER) -> Any:
        self._send(name, *arguments)
        return self._answer(limit)

    def _attempt(self, limit: float) -> Any:
        """Return the answer to the last call, or the exception that `_answer` raised."""
        try:
            return self._answer(limit)
        except Exception as error:
            return error

    def _send(self, name: str, *arguments: Any) -> None:
        if self._channel is None:
            raise SourceError(f"{self.name} is not open")
        try:
            self._channel.send((name, arguments))
        except ChannelEndedError:
            raise self._death() from None

    def _answer(self, limit: float) -> Any:
        """Wait for the answer to the last call. Raises what the source raised, or SourceError for a timeout."""
        channel = self._channel
        if channel is None:
            raise SourceError(f"{self.name} is closed")
        end = time.monotonic() + limit
        while not channel.comes(POLL_INTERVAL):
            if time.monotonic() > min(end, self._patience_ends):
                raise self._hung()
        try:
            value, self.instance = channel.receive()
        except ChannelEndedError:
            raise self._death() from None
        if isinstance(value, Exception):
            raise value
        return value

    def _hung(self) -> SourceError:
        """End a process that does not answer, and return the error."""
        if self._child is not None:
            self._child.send_signal(signal.SIGUSR1)
            _await_log(self._logged)
            self._child.end()
        self._close_channel()
        return SourceError(f"{self.name}: the driver hung, its process was ended{self._where()}")

    def _death(self) -> SourceError:
        """Return the error that describes how the process ended."""
        code = 0
        if self._child is not None:
            self._child.end(LEAVING)
            code = self._child.exit_code
        self._close_channel()
        if code >= 0:
            return SourceError(f"{self.name}: the driver's process ended (exit code {code})")
        with suppress(ValueError):
            name = signal.Signals(-code).name
            return SourceError(f"{self.name}: the driver's process ended by {name}{self._where()}")
        return SourceError(f"{self.name}: the driver's process ended by signal {-code}")

    def _where(self) -> str:
        """Return a text that names the log if the process wrote a traceback to it, else ""."""
        return f"; where: {log_path()}" if _size_of_log() > self._logged else ""

    def _close_channel(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()


def _limit(within: float | None) -> float:
    """Return the seconds after which the driver counts as hung, given the time limit of its read."""
    return LONGEST if within is None else within + OVERTIME


def _size_of_log() -> int:
    try:
        return log_path().stat().st_size
    except OSError:
        return 0


def _await_log(logged: int) -> None:
    """Wait until the log has grown beyond `logged` bytes and stopped growing, but no longer than LAST_WORDS."""
    size, end = logged, time.monotonic() + LAST_WORDS
    while time.monotonic() < end:
        time.sleep(0.05)
        before, size = size, _size_of_log()
        if logged < before == size:
            return
