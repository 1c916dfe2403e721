"""Channel between presman and a process that it started: Python values in both directions, over a pair of sockets.

Both ends are presman, of the same version and the same user; nothing of a file or of the network is read here.
"""

from __future__ import annotations

import pickle
import select
import socket
import struct
import threading
from contextlib import suppress
from copyreg import dispatch_table
from io import BytesIO
from types import MappingProxyType
from typing import Any

from presman.base.secret import Secret

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
        """End the line for both ends; whoever waits at either notices."""
        with suppress(OSError):
            self._end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Let go of this end."""
        self._end.close()

    def _send(self, data: bytes) -> None:
        try:
            with self._turn:
                self._end.sendall(_SIZE.pack(len(data)))
                self._end.sendall(data)
        except OSError as error:
            raise ChannelEndedError from error


def _written(value: Any, writers: dict[Any, Any]) -> bytes:
    to = BytesIO()
    pickler = pickle.Pickler(to, _PROTOCOL)
    pickler.dispatch_table = writers
    pickler.dump(value)
    return to.getvalue()
