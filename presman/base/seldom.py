"""Lines that strangers could make a server write without end: one in a while, and how many there were."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE = 10.0
"""Seconds between two lines of a kind."""

MINUTE = 60.0
"""The pause between two lines about what lasts: no room, no descriptors."""


class Seldom:
    """Says a line at most once in `pause` seconds, with the number of those that were left out meanwhile."""

    def __init__(
        self, say: Callable[[str], None], clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
    ) -> None:
        self._say = say
        self._clock = clock
        self._pause = pause
        self._next = 0.0
        self._left_out = 0

    def say(self, text: str) -> None:
        """Say a line, or count it."""
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = f" (and {self._left_out} more before)" if self._left_out else ""
        self._next, self._left_out = now + self._pause, 0
        self._say(text + more)
