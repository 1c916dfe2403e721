"""Connections of the web server: they are accepted here, so that strangers cannot take all that there may be.

Who has not shown the token has so many seconds for one request. Where no place is left, the connection that has shown
nothing for longest makes room: who has the token comes in, even from the address that has taken all the others.
"""

from __future__ import annotations

import asyncio
import resource
import socket
import ssl
from collections.abc import Callable, Collection
from contextlib import suppress

from aiohttp import web

from presman.base.errors import LimitError
from presman.base.listeners import MINUTE, Places, RateLimited, Standing

SILENCE = 10.0
"""Seconds in which a whole request must have come; how long a browser may be idle between two, aiohttp bounds."""

LOOK = 1.0
"""Seconds between two looks for connections that have brought none."""

REST = 0.1
"""Seconds until the next try where the system accepts no connection."""

MOST = 256
"""Connections at a time beside those of viewers, however many descriptors there may be; one address may have half."""

FEWEST = 16
"""Connections without which two browsers get in each other's way."""

OWN, OF_VIEWER = 40, 10
"""Descriptors that presman itself takes; that a viewer does, for his monitor's pipes and while it is started."""


def most_connections(viewers: int) -> int:
    """Return the most connections there may be beside the monitors. Raises LimitError if they are too few."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST + viewers
    found = min(MOST + viewers, allowed - OWN - viewers * OF_VIEWER)
    if found < FEWEST + viewers:
        takes = OWN + viewers * OF_VIEWER + FEWEST + viewers
        raise LimitError(f"open files (ulimit -n) are limited to {allowed}: --viewers {viewers} takes {takes}")
    return found


class _Connection:
    """A connection that was accepted. `transport` is None until it is made, which over TLS takes a handshake."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.transport: asyncio.Transport | None = None
        self.making: asyncio.Task[None] | None = None

    def cut(self) -> None:
        """End it at once, whatever it is doing."""
        if self.transport is not None:
            self.transport.abort()
        elif self.making is not None:
            self.making.cancel()


class Connections:
    """Accepts connections, at most `most` at a time, and closes those that bring nothing."""

    def __init__(self, most: int, note: Callable[[str], None]) -> None:
        self._places: Places[object] = Places(most, most // 2)
        self._open: dict[object, _Connection] = {}
        """By their protocols, which requests know, too."""
        self._full = RateLimited(note, pause=MINUTE)
        self._refused = RateLimited(note, pause=MINUTE)

    def note(self, request: web.BaseRequest, standing: Standing) -> None:
        """Take note of what a connection has shown of itself."""
        self._places.rise(request.protocol, standing, asyncio.get_running_loop().time())

    def cut_all_but(self, kept: Collection[object]) -> None:
        """End all connections but those of some protocols."""
        for protocol, connection in self._open.items():
            if protocol not in kept:
                connection.cut()

    async def accept(self, listening: socket.socket, server: web.Server, context: ssl.SSLContext | None) -> None:
        """Accept what comes to a socket, until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                line, address = await loop.sock_accept(listening)
            except ConnectionError:  # it is gone already
                continue
            except OSError as error:
                self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
                await asyncio.sleep(REST)
                continue
            await asyncio.sleep(0)  # what waits is accepted at once: without a pause nobody would be read or closed
            self._forget()
            protocol = server()
            has_place, gone = self._places.take(protocol, address[0], loop.time())
            if gone is not None:
                self._open[gone].cut()
                self._full.note("web server: all connections are in use: the longest idle ones are closed")
            if not has_place:
                line.close()
                continue
            connection = self._open[protocol] = _Connection(line)
            connection.making = asyncio.create_task(_make(connection, protocol, context))

    async def close_silent(self) -> None:
        """Close connections that bring no request in time, until this is cancelled."""
        while True:
            await asyncio.sleep(min(LOOK, SILENCE / 4))
            self._forget()
            for protocol in self._places.silent_since(asyncio.get_running_loop().time() - SILENCE):
                self._open[protocol].cut()

    def _forget(self) -> None:
        """Forget connections that are over."""
        for protocol, connection in list(self._open.items()):
            if connection.line.fileno() < 0:
                del self._open[protocol]
                self._places.leave(protocol)


async def _make(connection: _Connection, protocol: asyncio.Protocol, context: ssl.SSLContext | None) -> None:
    """Hand a connection to the server, over TLS once hands are shaken."""
    with suppress(OSError):  # of TLS, too: a stranger's mistake
        connection.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
            lambda: protocol, connection.line, ssl=context, ssl_handshake_timeout=None if context is None else SILENCE
        )
