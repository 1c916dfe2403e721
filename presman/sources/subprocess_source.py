"""The source of a screen: it lives in a process of its own, which starts to open it while the screen is being made.

Compiled code of a driver can spin, eat memory or die. There it holds up nobody, and what is lost is a connection:
the next attempt starts another process.

Between the two is a channel: Python values in both directions, over a pair of sockets. Both ends are presman, of the
same version and the same user; nothing of a file or of the network is read here.
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
from types import MappingProxyType
from typing import Any, NamedTuple

from presman.base.child import Child
from presman.base.release import Release
from presman.base.secret import Secret
from presman.base.terminal_guard import log_path
from presman.rows.queries import Scope
from presman.sources import Answer, OutcomeUnknown, Request, Source, SourceError, SourceRecipe

_PROTOCOL = 5

_SIZE = struct.Struct("!Q")
"""What stands before each value: how many bytes it takes."""


def _read_only(items: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(items)


_WRITERS = {**dispatch_table, MappingProxyType: lambda view: (_read_only, (dict(view),))}
"""How what pickle does not know is written."""


class ChannelEndedError(Exception):
    """The other end is gone."""


class Channel:
    """One end. Values may be sent from several threads, and are received in one.

    Nothing is read ahead: what has come can be waited for, and a value that cannot be understood takes no other along.
    """

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._turn = threading.Lock()

    def send(self, value: Any) -> None:
        """Send a value. Raises ChannelEndedError."""
        self._send(_written(value, _WRITERS))

    def entrust(self, value: Any) -> None:
        """Send a value with the secrets in it, which are not written anywhere else. Raises ChannelEndedError."""
        self._send(_written(value, {**_WRITERS, Secret: lambda secret: (Secret, (secret.reveal(),))}))

    def receive(self) -> Any:
        """Wait for the next value. Raises ChannelEndedError."""
        try:
            return pickle.loads(self._taken(*_SIZE.unpack(self._taken(_SIZE.size))))
        except (EOFError, OSError, ValueError, pickle.UnpicklingError) as error:  # ValueError: it was closed here
            raise ChannelEndedError from error

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
        """Wait so long at most; return whether a value begins to come, or the end."""
        try:
            return bool(select.select([self._end], [], [], seconds)[0])
        except (OSError, ValueError):  # it was closed here
            return True

    def shut(self) -> None:
        """Close the line for both ends, which wakes whoever waits at either."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of this end."""
        self._end.close()

    def _send(self, data: bytes) -> None:
        try:
            with self._turn:
                self._end.sendall(_SIZE.pack(len(data)) + data)  # in two pieces it wakes the other end twice
        except OSError as error:
            raise ChannelEndedError from error


def _written(value: Any, writers: dict[Any, Any]) -> bytes:
    to = BytesIO()
    pickler = pickle.Pickler(to, _PROTOCOL)
    pickler.dispatch_table = writers
    pickler.dump(value)
    return to.getvalue()


MakePreview = Callable[[Source], Any]
"""Makes the preview of an open source: a value that another process can be given."""


class PreviewAnswer(NamedTuple):
    """The preview of a source, and the seconds since it began to be read."""

    value: Any
    seconds: float


SERVE = "presman.sources.source_process", "main"
"""What the process runs."""

NEVER = float("inf")

POLL_INTERVAL = 0.25
"""Seconds between two times that is asked whether somebody has lost patience."""

CANCELLED = 1.5
"""Seconds that a call may still take once it was cancelled."""

OVERTIME = 30.0
"""Seconds that a read may take beyond what it was given, before the driver counts as hung."""

SOON = 20.0
"""Seconds after which a question that is answered at once counts as hung."""

LONGEST = 170.0
"""Seconds that a login or a statement that acts may take: more than either has in the driver."""

CLOSING = 1.0
"""Seconds that it may take to log off."""

LEAVING = 0.4
"""Seconds that the process may take to end by itself."""

LAST_WORDS = 0.5
"""Seconds at most in which a process that hangs may write down where."""


class ProcessSource:
    """A source in a process of its own. See :class:`presman.sources.Source`; `kind` and `name` are those of the source.

    `begin` starts the process, and the opening of the source, ahead of `open`; `preview` is what was made of it there
    then. The process stays when the source is closed, to open it again; `end` ends it, and so does the end of
    presman.
    """

    def __init__(self, recipe: SourceRecipe, *, kind: str, name: str) -> None:
        self.kind = kind
        self.name = name
        self.scope = Scope.CLUSTER
        self.instance = 0
        self._recipe = recipe
        self._child: Child | None = None
        self._logged = 0
        self._channel: Channel | None = None
        self._is_opening = self._is_previewing = False
        self._opened: Release | Exception | None = None
        self._patience_ends = NEVER

    def begin(self, preview: MakePreview | None = None) -> None:
        """Start the process and have it open the source, and preview it. Raises SourceError if there is no process."""
        self._logged = _size_of_log()
        try:
            self._child = Child(*SERVE)
        except (OSError, TypeError) as error:  # TypeError: nobody knows where Python is
            raise SourceError(f"no process for {self.name}: {getattr(error, 'strerror', '') or error}") from error
        self._channel = Channel(self._child.line)
        self._is_opening, self._is_previewing = True, preview is not None
        try:
            self._channel.entrust(self._recipe)
            self._channel.send(("open", ()))
            if preview is not None:
                self._channel.send(("preview", (preview,)))
        except ChannelEndedError:
            return  # the answer will tell

    def preview(self, within: float | None = None) -> PreviewAnswer | None:
        """Wait for the preview it began with; None without one, or if it failed.

        Once the source is open it may take `within` so many seconds, and OVERTIME. Whether the source could be
        opened, `open` tells as ever.
        """
        if not self._is_previewing:
            return None
        self._is_previewing = self._is_opening = False
        self._opened = self._attempt(LONGEST)
        found = self._attempt(_limit(within)) if self._channel is not None else None
        if self._channel is None and not isinstance(self._opened, Exception):
            self._opened = None  # it was open, and died of the preview
        return found if isinstance(found, PreviewAnswer) else None

    def open(self) -> Release:
        """Open the source in a process, in that which was begun if there is one. Raises SourceError."""
        self.preview()  # what nobody asked for is not to be taken for another answer
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
        """Move on to the present."""
        self._call("advance", limit=SOON)

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Run `requests`. Raises SourceError if the connection, or the process, is lost."""
        answer: Answer = self._call("read", self.scope, tuple(requests), within, limit=_limit(within))
        return answer

    def container(self) -> int | None:
        """Ask which container the session is in."""
        found: int | None = self._call("container", limit=SOON)
        return found

    def perform(self, statement: str, binds: Mapping[str, Any]) -> None:
        """Run a statement that acts. Raises SourceError, OutcomeUnknown."""
        self._send("perform", statement, dict(binds))
        try:
            self._answer(LONGEST)
        except SourceError as error:
            if self._channel is not None:
                raise
            raise OutcomeUnknown(str(error)) from None

    def cancel(self) -> None:
        """Make a call that is under way end soon: if it does not, with its process. Called from another thread."""
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
        """End the process, also in the middle of a call: whoever waits for the answer gets SourceError."""
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
        """Return the answer to what was asked, or what the source raised, or that it was given up."""
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
        """Wait for the answer to what was asked. Raises what the source raised, or SourceError if it was given up."""
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
        """End a process that does not answer, and return what there is to say."""
        if self._child is not None:
            self._child.tell(signal.SIGUSR1)
            _await_log(self._logged)
            self._child.end()
        self._close_channel()
        return SourceError(f"{self.name}: the driver hung, its process was ended{self._where()}")

    def _death(self) -> SourceError:
        """Return what became of a process that is gone."""
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
        """Return where the process has written down what it did, "" if it has not."""
        return f"; where: {log_path()}" if _size_of_log() > self._logged else ""

    def _close_channel(self) -> None:
        channel, self._channel = self._channel, None
        if channel is not None:
            channel.close()


def _limit(within: float | None) -> float:
    """Return the seconds after which a driver counts as hung, given the seconds it has to read."""
    return LONGEST if within is None else within + OVERTIME


def _size_of_log() -> int:
    try:
        return log_path().stat().st_size
    except OSError:
        return 0


def _await_log(logged: int) -> None:
    """Return once the log has more than `logged` bytes and stays as it is, or after LAST_WORDS."""
    size, end = logged, time.monotonic() + LAST_WORDS
    while time.monotonic() < end:
        time.sleep(0.05)
        before, size = size, _size_of_log()
        if logged < before == size:
            return
