"""Viewer slots: a limited number of pages at a time, each with a monitor that runs as long as the page is open."""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from presman.base.child import ALIVE, PacketReader, file_of, meta_packet, packet
from presman.base.listeners import Standing
from presman.base.running_out import ran_out
from presman.services.listener import Connections
from presman.services.serve.access import Launch, Serving

LARGEST_MESSAGE = 1 << 16
"""The most bytes of a message from a browser: anything larger is neither a key nor a text to paste."""

SLOT_WITHIN = 5.0
"""Seconds that a page waits for a slot: a page that is reloaded connects before its old monitor has ended."""

HEARTBEAT = 10.0
"""Seconds between two pings of a browser; it has half of that to answer."""

ANSWERED_WITHIN = 0.25
"""Seconds for answers under way when the server ends; slow clients are cut off."""

GOING_AWAY, WRONG_MESSAGE, FULL, HAS_QUIT, DIED = 1001, 1008, 1013, 4000, 4001
"""Close codes of a websocket; presman.js explains them."""


class ViewerSlots:
    """Viewers at present; `downloads` has the files that wait for their viewers, under keys that cannot be guessed."""

    def __init__(self, serving: Serving, lines: Connections) -> None:
        self._serving, self._lines = serving, lines
        self._free = asyncio.Semaphore(serving.viewers)
        self._viewer_count = 0
        self._sockets: dict[web.WebSocketResponse, object] = {}
        """The open websockets, each with the protocol of its connection."""
        self._ends = False
        self.downloads: dict[str, File] = {}

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Run a monitor for a page as long as the page is open."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=LARGEST_MESSAGE, timeout=2.0)
        await socket.prepare(request)
        self._sockets[socket] = request.protocol
        try:
            async with self._slot():
                if not self._ends and request.transport is not None:
                    self._lines.note(request, Standing.SAFE)
                    await self._show(request, socket)
        except TimeoutError:
            await socket.close(code=FULL)
        finally:
            del self._sockets[socket]
        return socket

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Hold a slot. Raises TimeoutError if none becomes free in time."""
        async with asyncio.timeout(SLOT_WITHIN):
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _show(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._viewer_count += 1
        name = f"viewer {self._viewer_count}"
        keys: list[str] = []

        async def offer(file: File) -> None:
            # Only the newest file waits: one that the browser did not fetch must not stay in memory.
            for old in keys:
                self.downloads.pop(old, None)
            keys[:] = [secrets.token_urlsafe(24)]
            self.downloads[keys[0]] = file
            await socket.send_json(["deliver_file_start", keys[0]])

        viewer = Viewer(self._serving.launch, socket.send_bytes, offer)
        self._serving.note(f"{name} came from {request.remote}")
        wrong = ""
        try:
            await viewer.start(*_size(request))
            shown = asyncio.create_task(_run(viewer, socket))
            try:
                await _pass_on(socket, viewer)
            finally:
                viewer.leave()
                wrong = await shown
        except (OSError, RuntimeError) as error:  # no more processes, threads or files
            wrong = f"cannot be started: {ran_out(error) or getattr(error, 'strerror', None) or error}"
            await socket.close(code=DIED)
        finally:
            for old in keys:
                self.downloads.pop(old, None)
            self._serving.note(f"{name} has left" + (f"; the monitor {wrong}" if wrong else ""))

    async def close(self) -> None:
        """End all viewers and accept no new ones; other requests under way have only a moment."""
        self._ends = True
        asyncio.get_running_loop().call_later(ANSWERED_WITHIN, self._lines.cut_all_but, set(self._sockets.values()))
        await asyncio.gather(*(socket.close(code=GOING_AWAY) for socket in list(self._sockets)))


async def _run(viewer: Viewer, socket: web.WebSocketResponse) -> str:
    """Show a monitor until it ends, send the browser its result, and return what was wrong."""
    try:
        return await viewer.run()
    finally:
        await socket.close(code=HAS_QUIT if viewer.has_quit else DIED)


async def _pass_on(socket: web.WebSocketResponse, viewer: Viewer) -> None:
    """Pass the messages of a browser to the monitor until the page or the monitor has ended."""
    with suppress(ConnectionError, TimeoutError):
        async for each in socket:
            try:
                if each.type is not WSMsgType.TEXT:
                    raise ValueError
                message = read_message(each.data)
            except ValueError:
                await socket.close(code=WRONG_MESSAGE)
                return
            if isinstance(message, Pinged):
                await socket.send_json(["pong", message.stamp])
            else:
                await viewer.send(packet_of(message))


def _size(request: web.Request) -> tuple[int, int]:
    """Return the columns and rows that a page requests, or those of a plain terminal if the request makes no sense."""
    try:
        return within(*(int(request.query[name][:9]) for name in ("width", "height")))
    except (KeyError, ValueError):
        return 80, 24


# ---- Messages that textual-serve's terminal sends from a browser: JSON arrays that begin with their kind.

MOST_COLUMNS, MOST_ROWS = 1000, 400
"""Cells of the largest screen allowed."""


class TerminalInput(Struct, frozen=True, array_like=True, tag="stdin"):
    """Keys, mouse events or pasted text, as a terminal sends them."""

    text: str


class Cells(Struct, frozen=True):
    """The size of the terminal."""

    width: int
    height: int


class Resized(Struct, frozen=True, array_like=True, tag="resize"):
    """The window was resized."""

    size: Cells


class Pinged(Struct, frozen=True, array_like=True, tag="ping"):
    """The browser measures how long an answer takes."""

    stamp: str


class Focused(Struct, frozen=True, array_like=True, tag="focus"):
    """The terminal has the keyboard focus."""


class Blurred(Struct, frozen=True, array_like=True, tag="blur"):
    """The terminal has lost the keyboard focus."""


BrowserMessage = TerminalInput | Resized | Pinged | Focused | Blurred


def read_message(text: str) -> BrowserMessage:
    """Return a message from a browser. Raises ValueError for anything else."""
    try:
        return msgspec.convert(json.loads(text), BrowserMessage)  # type: ignore[no-any-return]
    except (msgspec.ValidationError, ValueError, RecursionError):
        raise ValueError("no message of a terminal in a browser") from None


def packet_of(message: BrowserMessage) -> bytes:
    """Return the packet for the monitor, b"" if there is nothing to send."""
    match message:
        case TerminalInput():
            return packet(b"D", message.text.encode("utf-8", "replace"))
        case Resized():
            columns, rows = within(message.size.width, message.size.height)
            return meta_packet({"type": "resize", "width": columns, "height": rows})
        case Focused():
            return meta_packet({"type": "focus"})
        case Blurred():
            return meta_packet({"type": "blur"})
        case Pinged():
            return b""


def within(columns: int, rows: int) -> tuple[int, int]:
    """Return a screen size limited to the allowed range."""
    return min(max(columns, 1), MOST_COLUMNS), min(max(rows, 1), MOST_ROWS)


# ---- Viewer: a person at a browser, and the process of presman that runs only for this person.

GRACE = 3.0
"""Seconds for a monitor to end by itself before it is killed."""

HANGS_AFTER = 10.0
"""Seconds after which a monitor that reads no more keys counts as hanging."""

ASKED_EVERY, SILENT_FOR = 5.0, 30.0
"""Seconds between two questions whether a monitor is alive, and seconds without any output after which it is not."""

GREETING = b"__GANGLION__\n"
"""The first bytes that Textual's driver for browsers sends."""

_CHUNK = 1 << 16

_LONGEST_MESSAGES = 2000
"""Bytes of its standard error to keep."""


class File(Struct, frozen=True):
    """A file that a monitor made for its viewer."""

    name: str
    kind: str
    content: bytes


class Viewer:
    """Monitor process of one page. `paint` receives what its terminal shows, `offer` a file for the browser.

    Both may raise ConnectionError once the page is gone.
    """

    def __init__(
        self, launch: Launch, paint: Callable[[bytes], Awaitable[None]], offer: Callable[[File], Awaitable[None]]
    ) -> None:
        self._launch, self._paint, self._offer = launch, paint, offer
        self._process: Process | None = None
        self._killing: asyncio.TimerHandle | None = None
        self._messages = b""
        self._was_killed = self._has_drawn = self._was_starting = self._was_silent = False
        self._heard: float | None = None
        """When its last output came, None while that is passed on: a slow browser is not the monitor's fault."""
        self.has_quit = False
        """Whether the user ended it."""

    async def start(self, columns: int, rows: int) -> None:
        """Start the monitor with a screen of that size. Raises OSError."""
        size = {"COLUMNS": str(columns), "ROWS": str(rows)}
        # Ctrl-C in the terminal reaches presman serve alone, which then ends its monitors; `_kill` ends a whole group.
        self._process = await asyncio.create_subprocess_exec(
            *self._launch.command,
            stdin=PIPE,
            stdout=PIPE,
            stderr=PIPE,
            env={**self._launch.environment, **size},
            start_new_session=True,
        )
        # The target and its password go through the pipe: other users can read a command line.
        with suppress(ConnectionError):  # it has already ended: `run` finds out why
            await self.send(self._launch.orders.reveal().encode() + b"\n")

    async def send(self, data: bytes) -> None:
        """Send data to the monitor. Raises TimeoutError if it reads nothing, ConnectionError if it is gone."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        async with asyncio.timeout(HANGS_AFTER):
            await self._process.stdin.drain()

    async def run(self) -> str:
        """Show what the monitor paints until it ends; return what was wrong, "" if nothing was."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            asking = asyncio.create_task(self._ask())
            try:
                await asyncio.gather(self._read(process.stdout), self._listen(process.stderr))
            finally:
                asking.cancel()
            self._end()
            return self._last_words(await process.wait())
        finally:
            if self._killing is not None:
                self._killing.cancel()
            if process.returncode is None:
                self._kill()

    async def _ask(self) -> None:
        """Ask the monitor whether it is alive; kill it if nothing comes: its last screen would seem to be live."""
        now = asyncio.get_running_loop().time
        with suppress(ConnectionError, RuntimeError):  # it ends
            while self._killing is None:
                await asyncio.sleep(ASKED_EVERY)
                if self._heard is not None and now() - self._heard > SILENT_FOR:
                    self._was_silent = True
                    self._kill()
                    return
                if self._has_drawn:
                    with suppress(TimeoutError):
                        await self.send(meta_packet({"type": ALIVE}))

    def leave(self) -> None:
        """Make the monitor end, by force if it takes too long, or at once while it is starting and does not listen."""
        process = self._process
        if process is not None and process.returncode is None and not self._has_drawn:
            self._was_starting = True
            self._kill()
        self._end()

    def _end(self) -> None:
        process = self._process
        if process is None or self._killing is not None:
            return
        assert process.stdin is not None
        self._killing = asyncio.get_running_loop().call_later(GRACE, self._kill)
        with suppress(OSError, RuntimeError):
            # Textual's own message; the end of the input ends the monitor, too (`BrowserDriver`).
            process.stdin.write(meta_packet({"type": "quit"}))
            process.stdin.close()

    def _kill(self) -> None:
        assert self._process is not None
        self._was_killed = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self, code: int) -> str:
        self.has_quit &= code == 0
        # Its page was closed while it started, so it was killed: nothing is wrong with it.
        if self._was_starting and code == -signal.SIGKILL:
            return ""
        if self._was_silent:
            return f"showed nothing and did not answer for {SILENT_FOR:g} s, and was killed"
        if self._was_killed:
            return "did not end when asked to, and was killed"
        if code in {0, 128 + signal.SIGTERM}:
            return ""
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        last = self._messages.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"{how}: {last}" if last else how

    async def _read(self, output: asyncio.StreamReader) -> None:
        """Pass on the monitor's output. Without a page discard it: a full pipe would keep the monitor from ending."""
        if await output.readline() != GREETING:
            return
        packets, is_open = PacketReader(), True
        while data := await output.read(_CHUNK):
            self._heard = None
            for kind, content in packets.feed(data):
                try:
                    if is_open:
                        await self._take(kind, content)
                except ConnectionError:
                    is_open = False
            self._heard = asyncio.get_running_loop().time()

    async def _take(self, kind: bytes, content: bytes) -> None:
        if kind == b"D":
            self._has_drawn = True
            await self._paint(content)
        elif kind == b"M":
            self.has_quit |= json.loads(content).get("type") == "exit"
        elif kind == b"F":
            header, inside = file_of(content)
            await self._offer(File(header["name"], header["type"], inside))

    async def _listen(self, output: asyncio.StreamReader) -> None:
        while chunk := await output.read(_CHUNK):
            self._messages = (self._messages + chunk)[-_LONGEST_MESSAGES:]
