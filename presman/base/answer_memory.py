"""Answer memory: what a driver may take while it reads an answer, whatever that says of itself.

That of Oracle makes lists as long as a number in the answer says before it looks whether so much follows. Where it
reads in the middle of something else, as after a changed byte, such a number may be anything.
"""

import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

ROOM = 256 << 20
"""Bytes of data that may come to those there are while an answer is read: 150,000 sessions have so many."""


class AnswerMemory:
    """The limit of data of this process while answers are read, in one thread or in many."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._under_way = 0
        self._usual = resource.RLIM_INFINITY, resource.RLIM_INFINITY

    @contextmanager
    def bounded(self, room: int = ROOM) -> Iterator[None]:
        """Let what asks for more than `room` meanwhile fail with MemoryError; of several at a time from the last on."""
        with self._turn:
            if not self._under_way:
                self._usual = resource.getrlimit(resource.RLIMIT_DATA)
            self._under_way += 1
            self._allow(_data() + room)
        try:
            yield
        finally:
            with self._turn:
                self._under_way -= 1
                if not self._under_way:
                    self._allow(_UNKNOWN)

    def _allow(self, most: int) -> None:
        """Allow so many bytes of data, or as many as usual where those are fewer."""
        soft, hard = self._usual
        if most >= _UNKNOWN or -1 < soft < most:  # -1: no limit
            most = soft
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


ANSWERS = AnswerMemory()
"""That of this process."""

_UNKNOWN = 1 << 62
"""So many bytes are more than any."""


def _data() -> int:
    """Return the bytes of data that this process has."""
    try:
        with open("/proc/self/statm", "rb", buffering=0) as file:  # noqa: PTH123 - for each answer
            return int(file.read().split()[5]) * resource.getpagesize()
    except (OSError, MemoryError):
        return _UNKNOWN
