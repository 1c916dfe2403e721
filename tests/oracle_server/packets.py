"""TNS packets over a socket: headers, splitting of messages into packets, end-of-answer marks and marker packets."""

from __future__ import annotations

import asyncio
from enum import IntEnum

from tests.oracle_server.counters import Counters

HEADER = 8
SDU = 8192
END_OF_REPLY = 0x2000
EOF_FLAG = 0x0040
BREAK, RESET, INTERRUPT = 1, 2, 3


class Packet(IntEnum):
    """Packet types."""

    CONNECT = 1
    ACCEPT = 2
    REFUSE = 4
    REDIRECT = 5
    DATA = 6
    RESEND = 11
    MARKER = 12


class Broken(Exception):  # noqa: N818 - the client's request, not an error
    """The client sent a break: the running call is to end."""


class Gone(Exception):  # noqa: N818 - the client left
    """The connection is closed."""


class Packets:
    """The packets of one connection. A task keeps reading, so that a break is seen while a call runs.

    `wide` says whether lengths take four bytes, as they do once the connection is accepted; `closing_after` makes
    the connection end when that many more bytes have been sent.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, counters: Counters) -> None:
        self._reader = reader
        self._writer = writer
        self._counters = counters
        self._inbox: asyncio.Queue[bytes | int | None] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self.interrupted = asyncio.Event()
        self.wide = False
        self.closing_after: int | None = None

    @property
    def certificate(self) -> str:
        """The common name in the client's TLS certificate; "" without a certificate."""
        subject = (self._writer.get_extra_info("peercert") or {}).get("subject", ())
        return next((value for part in subject for key, value in part if key == "commonName"), "")

    async def read(self) -> tuple[int, bytes]:
        """Read one packet and return its type and its body. Raises Gone."""
        try:
            head = await self._reader.readexactly(HEADER)
            size = int.from_bytes(head[: 4 if self.wide else 2], "big")
            body = await self._reader.readexactly(max(0, size - HEADER))
        except (asyncio.IncompleteReadError, OSError) as error:
            raise Gone from error
        self._counters.bytes_in += size
        return head[4], body

    async def write(self, kind: Packet, body: bytes) -> None:
        size = len(body) + HEADER
        length = size.to_bytes(4, "big") if self.wide else size.to_bytes(2, "big") + b"\0\0"
        await self.write_bytes(length + bytes([kind, 0, 0, 0]) + body)

    async def write_bytes(self, data: bytes) -> None:
        """Send bytes unchanged, up to the point where a fault cuts the connection. Raises Gone."""
        if self.closing_after is not None:
            data = data[: self.closing_after]
            self.closing_after -= len(data)
        self._counters.bytes_out += len(data)
        try:
            self._writer.write(data)
            await self._writer.drain()
        except OSError as error:
            raise Gone from error
        if self.closing_after == 0:
            raise Gone

    async def send(self, message: bytes, *, marked: bool) -> None:
        """Send a message in DATA packets; if `marked`, the last one is marked as the end of the answer."""
        room = SDU - HEADER - 2
        for start in range(0, len(message), room):
            last = start + room >= len(message)
            flags = END_OF_REPLY if last and marked else 0
            await self.write(Packet.DATA, flags.to_bytes(2, "big") + message[start : start + room])

    def start(self) -> None:
        self._pump = asyncio.create_task(self._read_on())

    async def _read_on(self) -> None:
        try:
            while True:
                kind, body = await self.read()
                if kind == Packet.MARKER:
                    if body[2] != RESET:
                        self.interrupted.set()
                    self._inbox.put_nowait(body[2])
                elif kind == Packet.DATA and not int.from_bytes(body[:2], "big") & EOF_FLAG:
                    self._inbox.put_nowait(body[2:])
        except Gone:
            self._inbox.put_nowait(None)
            self.interrupted.set()

    async def data(self) -> bytes:
        """Return the next DATA packet's bytes. Raises Broken at a break, Gone at the end."""
        match await self._inbox.get():
            case bytes(found):
                return found
            case None:
                raise Gone
            case _:
                raise Broken

    async def pause(self, seconds: float) -> None:
        """Wait while a slow statement runs. Raises Broken if the client interrupts it."""
        try:
            await asyncio.wait_for(self.interrupted.wait(), seconds)
        except TimeoutError:
            return
        raise Broken

    async def settle(self) -> None:
        """Exchange the markers that end a broken call; packets queued meanwhile are dropped."""
        await self.write(Packet.MARKER, bytes([1, 0, BREAK]))
        while (item := await self._inbox.get()) != RESET:
            if item is None:
                raise Gone
        self.interrupted.clear()
        await self.write(Packet.MARKER, bytes([1, 0, RESET]))

    async def close(self) -> None:
        """Close the socket and end the reading task."""
        if self._pump is not None:
            self._pump.cancel()
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except OSError:
            return
