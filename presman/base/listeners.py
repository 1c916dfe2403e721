"""Shared by listeners: the most connections, which one is closed for another, and messages of limited rate.

Strangers must not take all connections, and who waits for an answer must not lose it to the next who comes.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable
from enum import IntEnum
from ipaddress import ip_address
from typing import Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)


GRACE = 1.0
"""Seconds for which one that has asked is not closed, nor one that has not while there is another."""


class Standing(IntEnum):
    """How far a connection is trusted."""

    SILENT = 0
    """It has not asked for anything yet."""

    ASKED = 1
    """It has sent a request that anybody may send."""

    SAFE = 2
    """Its client has shown that it may come in: it is not closed for another."""


class _Place(Struct):
    address: str
    since: float
    standing: Standing = Standing.SILENT


class Places(Generic[Key]):
    """So many connections in all, and so many of one address; those that are safe count in all only.

    Instants are seconds of one clock. Any thread may call.
    """

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._turn = threading.Lock()
        self._taken: dict[Key, _Place] = {}

    def take(self, key: Key, address: str, now: float) -> tuple[bool, Key | None]:
        """Give a place to a connection; return whether it has one, and which is to be closed for it, if any is."""
        with self._turn:
            found, gone = self._room(address, now)
            if gone is not None:
                del self._taken[gone]
            if found:
                self._taken[key] = _Place(address, now)
            return found, gone

    def rise(self, key: Key, standing: Standing, now: float) -> None:
        """Note the standing of a connection."""
        with self._turn:
            if place := self._taken.get(key):
                place.since, place.standing = now, standing

    def leave(self, key: Key) -> None:
        """Take back the place of a connection that is over."""
        with self._turn:
            self._taken.pop(key, None)

    def silent_since(self, then: float) -> list[Key]:
        """Return the connections that have asked for nothing since an instant."""
        with self._turn:
            return [key for key, each in self._taken.items() if each.standing is Standing.SILENT and each.since <= then]

    def _room(self, address: str, now: float) -> tuple[bool, Key | None]:
        """Return whether there is a place for another of an address, and whom it has to be taken from, if it has.

        That is one that has not asked, else one that has, of the address that has most, the oldest.
        """
        bound = {key: each for key, each in self._taken.items() if each.standing is not Standing.SAFE}
        many = Counter(each.address for each in bound.values())
        if many[address] >= self._of_one:
            bound = {key: each for key, each in bound.items() if each.address == address}
        elif len(self._taken) < self._most:
            return True, None

        def is_new(key: Key) -> bool:
            return now - bound[key].since < GRACE

        def order(key: Key) -> tuple[bool, int, int, float]:
            each = bound[key]
            return is_new(key), each.standing, -many[each.address], each.since

        may_go = [key for key, each in bound.items() if each.standing is Standing.SILENT or not is_new(key)]
        gone = min(may_go, key=order, default=None)
        return gone is not None, gone


# ---- Lines that strangers could make a server write without end: one in a while, and how many there were.

PAUSE = 10.0
"""Seconds between two lines of a kind."""

MINUTE = 60.0
"""The pause between two lines about what lasts: no room, no descriptors."""


class RateLimited:
    """Says a line at most once in `pause` seconds, with the number of those that were left out meanwhile."""

    def __init__(
        self, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
    ) -> None:
        self._note = note
        self._clock = clock
        self._pause = pause
        self._next = 0.0
        self._left_out = 0

    def note(self, text: str) -> None:
        """Say a line, or count it."""
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = f" (and {self._left_out} more before)" if self._left_out else ""
        self._next, self._left_out = now + self._pause, 0
        self._note(text + more)


# ---- Addresses that this machine alone reaches.


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached from this machine alone."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
