"""Shared by listeners: the most connections, which one is closed for another, and messages of limited rate.

Strangers must not take all connections, and who waits for an answer must not lose it to the next who comes.
"""

import threading
import time
from collections.abc import Callable, Hashable
from enum import IntEnum
from ipaddress import ip_address
from typing import Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)


WAITING = 4096
"""Connections that the system holds until they are accepted; of more it drops some, who then come a second later."""

TURN = 0.02
"""Seconds for which a server accepts what waits before it hears any of it: in a flood it would be accepted more slowly
than it comes, and nearly all of it is closed again."""

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


class _OfAddress(Generic[Key]):
    """The connections of an address that may have to go: since when each is as it is, the oldest first."""

    def __init__(self) -> None:
        self.at: dict[Standing, dict[Key, float]] = {Standing.SILENT: {}, Standing.ASKED: {}}

    def __len__(self) -> int:
        return sum(map(len, self.at.values()))

    def first_to_go(self, now: float) -> Key | None:
        """Return which has to go, None if each waits for the answer to what it has just asked."""
        for each in self.at.values():
            key, since = next(iter(each.items()), (None, now))
            if now - since >= GRACE:
                return key
        return next(iter(self.at[Standing.SILENT]), None)


class Places(Generic[Key]):
    """So many connections in all, and so many of one address; those that are safe count in all only.

    Instants are seconds of one clock, and never go back. Any thread may call.
    """

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._turn = threading.Lock()
        self._taken: dict[Key, _Place] = {}
        self._bound: dict[str, _OfAddress[Key]] = {}
        """Those that may have to go, by their address."""
        self._addresses: dict[int, dict[str, None]] = {}
        """The addresses by the number of theirs: it is looked up thousands of times a second in a flood."""

    def take(self, key: Key, address: str, now: float) -> tuple[bool, Key | None]:
        """Give a place to a connection; return whether it has one, and which is to be closed for it, if any is."""
        with self._turn:
            found, gone = self._room(address, now)
            if gone is not None:
                self._remove(gone)
            if found:
                self._add(key, _Place(address, now))
            return found, gone

    def rise(self, key: Key, standing: Standing, now: float) -> None:
        """Note the standing of a connection."""
        with self._turn:
            if place := self._taken.get(key):
                self._remove(key)
                self._add(key, _Place(place.address, now, standing))

    def leave(self, key: Key) -> None:
        """Take back the place of a connection that is over."""
        with self._turn:
            self._remove(key)

    def are_to_be_heard(self, came: int) -> bool:
        """Return whether those that just came, so many, are to be heard before more are accepted.

        So it is once no address has more than one of those that may have to go: the next would have to go for another.
        """
        with self._turn:
            return came >= self._most // 2 and max(self._addresses, default=0) <= 1

    def silent_since(self, then: float) -> list[Key]:
        """Return the connections that have asked for nothing since an instant."""
        with self._turn:
            return [key for key, each in self._taken.items() if each.standing is Standing.SILENT and each.since <= then]

    def _add(self, key: Key, place: _Place) -> None:
        self._taken[key] = place
        if place.standing is not Standing.SAFE:
            of_address = self._bound.setdefault(place.address, _OfAddress())
            of_address.at[place.standing][key] = place.since
            self._count(place.address, len(of_address) - 1, len(of_address))

    def _remove(self, key: Key) -> None:
        place = self._taken.pop(key, None)
        if place is not None and place.standing is not Standing.SAFE:
            of_address = self._bound[place.address]
            del of_address.at[place.standing][key]
            self._count(place.address, len(of_address) + 1, len(of_address))

    def _count(self, address: str, before: int, now: int) -> None:
        """Note how many connections of an address there are now."""
        if before:
            del self._addresses[before][address]
            if not self._addresses[before]:
                del self._addresses[before]
        if now:
            self._addresses.setdefault(now, {})[address] = None
        else:
            del self._bound[address]

    def _room(self, address: str, now: float) -> tuple[bool, Key | None]:
        """Return whether there is a place for another of an address, and whom it has to be taken from, if it has.

        That is of the address that has most one that is not new, of those one that has not asked, and the oldest: who
        has but one keeps it in a flood of others, however long it takes until he is heard.
        """
        if len(self._bound.get(address, ())) >= self._of_one:
            gone = self._bound[address].first_to_go(now)
        elif len(self._taken) < self._most:
            return True, None
        else:
            most_first = (each for many in sorted(self._addresses, reverse=True) for each in self._addresses[many])
            found = (self._bound[each].first_to_go(now) for each in most_first)
            gone = next((each for each in found if each is not None), None)
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
