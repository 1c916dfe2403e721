"""Relay: a proxy on loopback that forwards bytes both ways; subclasses change or cut them."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from selectors import EVENT_READ, DefaultSelector
from typing import TypeVar

LOOPBACK = "127.0.0.1"
CHUNK = 65_536


class Line:
    """The two sockets of one client."""

    def __init__(self, client: socket.socket, server: socket.socket) -> None:
        self.client = client
        self.server = server

    def close(self) -> None:
        self.client.close()
        self.server.close()


class Relay:
    """Forwards everything, in a thread of its own. `lines` counts all clients since the start."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port = int(self._listener.getsockname()[1])
        self.lines = 0
        self._selector = DefaultSelector()
        self._open: dict[socket.socket, Line] = {}
        self._wake, self._waker = socket.socketpair()
        for file in (self._listener, self._wake):
            self._selector.register(file, EVENT_READ)
        self._thread = threading.Thread(target=self._run, name="relay", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._waker.close()
        self._thread.join()

    def forward(self, line: Line, data: bytes, *, asking: bool) -> None:
        """Forward bytes from the client (`asking`) or from the server."""
        with suppress(OSError):
            (line.server if asking else line.client).sendall(data)

    def end(self, line: Line) -> None:
        for end in (line.client, line.server):
            if self._open.pop(end, None):
                self._selector.unregister(end)
        line.close()

    def _run(self) -> None:
        while True:
            ready = [key.fileobj for key, _ in self._selector.select()]
            if self._wake in ready:
                break
            for file in ready:
                if file is self._listener:
                    self._welcome()
                elif isinstance(file, socket.socket) and file in self._open:
                    self._read(self._open[file], file)
        for line in set(self._open.values()):
            line.close()
        for file in (self._listener, self._wake, self._selector):
            file.close()

    def _welcome(self) -> None:
        client, _ = self._listener.accept()
        self.lines += 1
        try:
            line = Line(client, socket.create_connection((LOOPBACK, self._to)))
        except OSError:
            client.close()
            return
        for end in (line.client, line.server):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._open[end] = line
            self._selector.register(end, EVENT_READ)

    def _read(self, line: Line, source: socket.socket) -> None:
        try:
            data = source.recv(CHUNK)
        except OSError:
            data = b""
        if data:
            self.forward(line, data, asking=source is line.client)
        else:
            self.end(line)


R = TypeVar("R", bound=Relay)


@contextmanager
def running(relay: R) -> Iterator[R]:
    relay.start()
    try:
        yield relay
    finally:
        relay.stop()
