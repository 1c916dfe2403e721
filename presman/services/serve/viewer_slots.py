"""Viewer slots: so many pages may look at a time, and for each a monitor runs as long as the page is there."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import msgspec
from aiohttp import WSMsgType, web
from msgspec import Struct

from presman.base.child import meta_packet, packet
from presman.base.listeners import Standing
from presman.base.running_out import ran_out
from presman.services.serve.access import Serving
from presman.services.serve.connections import Connections
from presman.services.serve.viewer import File, Viewer

LARGEST_MESSAGE = 1 << 16
"""Bytes of a message from a browser: more is no key, and no text that anybody pastes."""

SLOT_WITHIN = 5.0
"""Seconds that a page waits for a slot: one that is loaded again comes before its old monitor has ended."""

HEARTBEAT = 10.0
"""Seconds between two questions whether a browser is still there; it has half of that to answer."""

GOING_AWAY, WRONG_MESSAGE, FULL, HAS_QUIT, DIED = 1001, 1008, 1013, 4000, 4001
"""Codes that a websocket is closed with; presman.js says what they mean."""


class ViewerSlots:
    """Who looks now; `downloads` has the files that wait for their viewers, by keys that nobody guesses."""

    def __init__(self, serving: Serving, lines: Connections) -> None:
        self._serving = serving
        self._lines = lines
        self._free = asyncio.Semaphore(serving.viewers)
        self._came = 0
        self._sockets: set[web.WebSocketResponse] = set()
        self._ends = False
        self.downloads: dict[str, File] = {}

    async def watch(self, request: web.Request) -> web.StreamResponse:
        """Run a monitor for a page as long as it is there."""
        socket = web.WebSocketResponse(heartbeat=HEARTBEAT, max_msg_size=LARGEST_MESSAGE, timeout=2.0)
        await socket.prepare(request)
        self._sockets.add(socket)
        try:
            async with self._slot():
                if not self._ends and request.transport is not None:
                    self._lines.note(request, Standing.SAFE)
                    await self._show(request, socket)
        except TimeoutError:
            await socket.close(code=FULL)
        finally:
            self._sockets.discard(socket)
        return socket

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[None]:
        """Have a slot. Raises TimeoutError if none is free for a while."""
        async with asyncio.timeout(SLOT_WITHIN):
            await self._free.acquire()
        try:
            yield
        finally:
            self._free.release()

    async def _show(self, request: web.Request, socket: web.WebSocketResponse) -> None:
        self._came += 1
        who = f"viewer {self._came}"
        keys: list[str] = []

        async def offer(file: File) -> None:
            for old in keys:
                self.downloads.pop(old, None)
            keys[:] = [secrets.token_urlsafe(24)]
            self.downloads[keys[0]] = file
            await socket.send_json(["deliver_file_start", keys[0]])

        viewer = Viewer(self._serving.launch, socket.send_bytes, offer)
        self._serving.note(f"{who} came from {request.remote}")
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
            self._serving.note(f"{who} has left" + (f"; the monitor {wrong}" if wrong else ""))

    async def close(self) -> None:
        """Have everybody go, and nobody come."""
        self._ends = True
        await asyncio.gather(*(socket.close(code=GOING_AWAY) for socket in set(self._sockets)))


async def _run(viewer: Viewer, socket: web.WebSocketResponse) -> str:
    """Show a monitor until it ends, tell the browser how it did, and return what was wrong."""
    try:
        return await viewer.run()
    finally:
        await socket.close(code=HAS_QUIT if viewer.has_quit else DIED)


async def _pass_on(socket: web.WebSocketResponse, viewer: Viewer) -> None:
    """Hand what a browser sends to the monitor until one of them has gone."""
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
    """Return the columns and rows that a page asks for, those of a plain terminal where it makes no sense."""
    try:
        return within(*(int(request.query[name][:9]) for name in ("width", "height")))
    except (KeyError, ValueError):
        return 80, 24


# ---- Messages that textual-serve's terminal sends from a browser: JSON arrays that begin with their kind.

MOST_COLUMNS, MOST_ROWS = 1000, 400
"""Cells of the largest screen that is made for anybody."""


class TerminalInput(Struct, frozen=True, array_like=True, tag="stdin"):
    """Keys, the mouse, or what was pasted, as a terminal sends them."""

    text: str


class Cells(Struct, frozen=True):
    """How large the terminal is."""

    width: int
    height: int


class Resized(Struct, frozen=True, array_like=True, tag="resize"):
    """The window is of another size."""

    size: Cells


class Pinged(Struct, frozen=True, array_like=True, tag="ping"):
    """The browser wants to know how long an answer takes."""

    stamp: str


class Focused(Struct, frozen=True, array_like=True, tag="focus"):
    """The terminal has the keys."""


class Blurred(Struct, frozen=True, array_like=True, tag="blur"):
    """Something else has the keys."""


BrowserMessage = TerminalInput | Resized | Pinged | Focused | Blurred


def read_message(text: str) -> BrowserMessage:
    """Return what a browser sent. Raises ValueError for anything else."""
    try:
        return msgspec.convert(json.loads(text), BrowserMessage)  # type: ignore[no-any-return]
    except (msgspec.ValidationError, ValueError, RecursionError):
        raise ValueError("no message of a terminal in a browser") from None


def packet_of(message: BrowserMessage) -> bytes:
    """Return what the monitor is sent of a message, b"" for nothing."""
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
    """Return the size of a screen within bounds."""
    return min(max(columns, 1), MOST_COLUMNS), min(max(rows, 1), MOST_ROWS)
