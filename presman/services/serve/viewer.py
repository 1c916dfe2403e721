"""Viewer: somebody who looks through a browser, and the process of presman that runs for him and for nobody else."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress

from msgspec import Struct

from presman.base.child import PacketReader, file_of, meta_packet
from presman.base.secret import Secret

GRACE = 3.0
"""Seconds that a monitor has to end by itself, before it is killed."""

DEAF = 10.0
"""Seconds after which a monitor that takes no more keys counts as hanging."""

GREETING = b"__GANGLION__\n"
"""What Textual's driver for browsers sends first."""

_CHUNK = 1 << 16

_LONGEST_MESSAGES = 2000
"""Bytes of its standard error that are kept."""


class Launch(Struct, frozen=True):
    """How a monitor is started: its command, the orders in its first line of input, its environment."""

    command: tuple[str, ...]
    orders: Secret
    environment: Mapping[str, str]


class File(Struct, frozen=True):
    """A file that a monitor made for its viewer."""

    name: str
    kind: str
    content: bytes


class Viewer:
    """A monitor that runs for one page. `paint` takes what its terminal shows, `offer` a file for the browser.

    Both may raise ConnectionError, once the page is gone.
    """

    def __init__(
        self, launch: Launch, paint: Callable[[bytes], Awaitable[None]], offer: Callable[[File], Awaitable[None]]
    ) -> None:
        self._launch = launch
        self._paint = paint
        self._offer = offer
        self._process: Process | None = None
        self._killing: asyncio.TimerHandle | None = None
        self._messages = b""
        self._was_killed = False
        self.has_quit = False
        """Whether the user ended it."""

    async def start(self, columns: int, rows: int) -> None:
        """Start the monitor on a screen of that size. Raises OSError."""
        size = {"COLUMNS": str(columns), "ROWS": str(rows)}
        self._process = await asyncio.create_subprocess_exec(
            *self._launch.command, stdin=PIPE, stdout=PIPE, stderr=PIPE, env={**self._launch.environment, **size},
            start_new_session=True,
        )  # fmt: skip
        with suppress(ConnectionError):  # it has ended already: why, `run` finds out
            await self.send(self._launch.orders.reveal().encode() + b"\n")

    async def send(self, data: bytes) -> None:
        """Hand something to the monitor. Raises TimeoutError if it takes nothing, ConnectionError if it is gone."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(data)
        async with asyncio.timeout(DEAF):
            await self._process.stdin.drain()

    async def run(self) -> str:
        """Show what the monitor paints until it has ended; return what was wrong, "" if nothing was."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        assert process.stderr is not None
        try:
            await asyncio.gather(self._read(process.stdout), self._listen(process.stderr))
            self.leave()
            return self._last_words(await process.wait())
        finally:
            if self._killing is not None:
                self._killing.cancel()
            if process.returncode is None:
                self._kill()

    def leave(self) -> None:
        """Have the monitor end, by force if it takes too long."""
        process = self._process
        if process is None or self._killing is not None:
            return
        assert process.stdin is not None
        self._killing = asyncio.get_running_loop().call_later(GRACE, self._kill)
        with suppress(OSError, RuntimeError):
            process.stdin.write(meta_packet({"type": "quit"}))
            process.stdin.close()

    def _kill(self) -> None:
        assert self._process is not None
        self._was_killed = True
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _last_words(self, code: int) -> str:
        self.has_quit &= code == 0
        if self._was_killed:
            return "did not end when asked to, and was killed"
        if code in {0, 128 + signal.SIGTERM}:
            return ""
        how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"
        last = self._messages.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"{how}{': ' if last else ''}{last}"

    async def _read(self, output: asyncio.StreamReader) -> None:
        """Pass on what comes; where nobody takes it any more, take it all the same: the monitor must be able to end."""
        if await output.readline() != GREETING:
            return
        packets, is_there = PacketReader(), True
        while data := await output.read(_CHUNK):
            for kind, content in packets.feed(data):
                try:
                    if is_there:
                        await self._take(kind, content)
                except ConnectionError:
                    is_there = False

    async def _take(self, kind: bytes, content: bytes) -> None:
        if kind == b"D":
            await self._paint(content)
        elif kind == b"M":
            self.has_quit |= json.loads(content).get("type") == "exit"
        elif kind == b"F":
            header, inside = file_of(content)
            await self._offer(File(header["name"], header["type"], inside))

    async def _listen(self, output: asyncio.StreamReader) -> None:
        while chunk := await output.read(_CHUNK):
            self._messages = (self._messages + chunk)[-_LONGEST_MESSAGES:]
