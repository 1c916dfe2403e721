"""Small HTTPS proxy: answers CONNECT and forwards bytes both ways."""

from __future__ import annotations

import select
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress


class Proxy(socketserver.ThreadingTCPServer):
    """Records requests (`asked`) and the number of forwarded bytes (`passed`); `refuses` makes it demand a login."""

    def __init__(self, *, refuses: bool) -> None:
        super().__init__(("127.0.0.1", 0), Client)
        self.asked: list[str] = []
        self.passed = 0
        self.refuses = refuses

    @property
    def port(self) -> int:
        return int(self.server_address[1])


class Client(socketserver.BaseRequestHandler):
    """One client of the proxy."""

    server: Proxy
    request: socket.socket

    def handle(self) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += self.request.recv(1)
        self.server.asked.append(head.split(b"\r\n")[0].decode())
        if self.server.refuses:
            self.request.sendall(b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n")
            return
        host, _, port = head.split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as there, suppress(ConnectionError):
            self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            self._pass(there)

    def _pass(self, there: socket.socket) -> None:
        other = {self.request: there, there: self.request}
        while True:
            for end in select.select(list(other), [], [])[0]:
                data = end.recv(65_536)
                if not data:
                    return
                self.server.passed += len(data)
                other[end].sendall(data)


@contextmanager
def proxy(*, refuses: bool = False) -> Iterator[Proxy]:
    """Run a proxy on the loopback interface."""
    with Proxy(refuses=refuses) as made:
        thread = threading.Thread(target=made.serve_forever, args=(0.01,), name="proxy")
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()
