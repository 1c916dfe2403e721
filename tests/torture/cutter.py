"""Cutter: a proxy that cuts connections at a chosen byte, in each way in which connections end."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import suppress
from enum import Enum
from typing import NamedTuple

from tests.torture.relay import Line, Relay


class How(Enum):
    """What the client sees when the connection is cut."""

    FIN = "FIN"
    RST = "RST"
    HALF = "half-close"


class Cut(NamedTuple):
    """Cut `how` as soon as `after` more bytes have passed to the client, or (`asking`) from it."""

    how: How
    after: int
    asking: bool = False


class Cutter(Relay):
    """Forwards everything until it is armed; then counts the bytes on all lines. `cuts` counts cut lines."""

    def __init__(self, port: int) -> None:
        super().__init__(port)
        self.cuts = 0
        self._cut: Cut | None = None
        self._lock = threading.Lock()
        self._deaf: set[Line] = set()

    def arm(self, cut: Cut) -> int:
        """Let a line be cut, and return how many were cut before."""
        with self._lock:
            self._cut = cut
            return self.cuts

    def forward(self, line: Line, data: bytes, *, asking: bool) -> None:
        """Forward the bytes before the cut."""
        if line in self._deaf and not asking:
            return
        cut = self._within(len(data), asking)
        super().forward(line, data[: cut.after] if cut else data, asking=asking)
        if cut is not None:
            self._sever(line, cut.how)

    def end(self, line: Line) -> None:
        self._deaf.discard(line)
        super().end(line)

    def _within(self, size: int, asking: bool) -> Cut | None:
        """Return the cut that falls within the next `size` bytes, if one does."""
        with self._lock:
            cut = self._cut
            if cut is None or cut.asking is not asking:
                return None
            if size < cut.after:
                self._cut = cut._replace(after=cut.after - size)
                return None
            self._cut = None
            self.cuts += 1
            return cut

    def _sever(self, line: Line, how: How) -> None:
        if how is How.HALF:  # the client may still write, but gets no answer
            self._deaf.add(line)
            with suppress(OSError):
                line.client.shutdown(socket.SHUT_WR)
            return
        if how is How.RST:
            line.client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.end(line)
