"""Limits shared by listeners: how many connections, which one is closed for a new one, how often messages are logged.

Strangers must not take all connections, and a client that waits for its answer must not lose it to a newcomer.
"""

import time
from collections.abc import Callable, Hashable
from enum import IntEnum
from ipaddress import ip_address
from typing import Generic, TypeVar

from msgspec import Struct

Key = TypeVar("Key", bound=Hashable)


WAITING = 4096
"""The listen backlog. If it is full, the system drops connections, and their clients try again a second later."""

TURN = 0.02
"""Seconds for which a server only accepts waiting connections before it reads from any. In a flood it could not accept
them as fast as they come otherwise, and it closes nearly all of them again."""

GRACE = 1.0
"""Seconds for which a connection that has sent a request is not closed; a silent one only if there is no other."""


class Standing(IntEnum):
    """How far a connection is trusted."""

    SILENT = 0
    """It has not sent a request yet."""

    ASKED = 1
    """It has sent a request that needs no login."""

    SAFE = 2
    """Its client is authenticated: it is not closed for another connection."""


class _Slot(Struct):
    address: str
    since: float
    standing: Standing = Standing.SILENT


class _OfAddress(Generic[Key]):
    """The connections of an address that may be closed: by standing, with the time they reached it, oldest first."""

    def __init__(self) -> None:
        self.at: dict[Standing, dict[Key, float]] = {Standing.SILENT: {}, Standing.ASKED: {}}

    def __len__(self) -> int:
        return sum(map(len, self.at.values()))

    def first_to_go(self, now: float) -> Key | None:
        """Return the connection to close, None if all of them have only just sent their requests."""
        for each in self.at.values():
            key, since = next(iter(each.items()), (None, now))
            if now - since >= GRACE:
                return key
        return next(iter(self.at[Standing.SILENT]), None)


class ConnectionSlots(Generic[Key]):
    """Limits connections to `most` in all and `of_one` for each address; safe ones count only in all.

    Instants are seconds of a monotonic clock.
    """

    def __init__(self, most: int, of_one: int) -> None:
        self._most = most
        self._of_one = of_one
        self._taken: dict[Key, _Slot] = {}
        self._bound: dict[str, _OfAddress[Key]] = {}
        """The connections that may be closed, by address."""
        self._addresses: dict[int, dict[str, None]] = {}
        """Addresses by how many such connections they have: a flood needs this thousands of times a second."""

    def take(self, key: Key, address: str, now: float) -> tuple[bool, Key | None]:
        """Give a slot to a connection; return whether it got one, and the connection to close for it, if any."""
        found, gone = self._room(address, now)
        if gone is not None:
            self._remove(gone)
        if found:
            self._add(key, _Slot(address, now))
        return found, gone

    def rise(self, key: Key, standing: Standing, now: float) -> None:
        """Note the standing of a connection."""
        if slot := self._taken.get(key):
            self._remove(key)
            self._add(key, _Slot(slot.address, now, standing))

    def leave(self, key: Key) -> None:
        """Free the slot of a connection that has ended."""
        self._remove(key)

    def should_read_now(self, came: int) -> bool:
        """Return whether to read from the `came` new connections before more are accepted.

        True if they are many and no address has more than one that may be closed: accepting more would close them.
        """
        return came >= self._most // 2 and max(self._addresses, default=0) <= 1

    def _add(self, key: Key, slot: _Slot) -> None:
        self._taken[key] = slot
        if slot.standing is not Standing.SAFE:
            of_address = self._bound.setdefault(slot.address, _OfAddress())
            of_address.at[slot.standing][key] = slot.since
            self._count(slot.address, len(of_address) - 1, len(of_address))

    def _remove(self, key: Key) -> None:
        slot = self._taken.pop(key, None)
        if slot is not None and slot.standing is not Standing.SAFE:
            of_address = self._bound[slot.address]
            del of_address.at[slot.standing][key]
            self._count(slot.address, len(of_address) + 1, len(of_address))

    def _count(self, address: str, before: int, now: int) -> None:
        """Update the number of connections of an address."""
        if before:
            del self._addresses[before][address]
            if not self._addresses[before]:
                del self._addresses[before]
        if now:
            self._addresses.setdefault(now, {})[address] = None
        else:
            del self._bound[address]

    def _room(self, address: str, now: float) -> tuple[bool, Key | None]:
        """Return whether an address may have another connection, and the one to close for it, if any.

        It is closed at the address with the most connections, silent ones and the oldest first, but no new one. So a
        client with a single connection keeps it in a flood of others, however long it waits to be read.
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


# ---- Messages that strangers could make a server log endlessly: logged at a limited rate, with a count.

PAUSE = 10.0
"""Seconds between two messages of a kind."""

MINUTE = 60.0
"""Seconds between two messages about a lasting state: no free slot, no file descriptors."""


class RateLimited:
    """Logs a message at most once in `pause` seconds, with the number of those left out meanwhile."""

    def __init__(
        self, note: Callable[[str], None], clock: Callable[[], float] = time.monotonic, pause: float = PAUSE
    ) -> None:
        self._note = note
        self._clock = clock
        self._pause = pause
        self._next = 0.0
        self._left_out = 0

    def note(self, text: str) -> None:
        """Log a message, or count it."""
        now = self._clock()
        if now < self._next:
            self._left_out += 1
            return
        more = f" (and {self._left_out} more before)" if self._left_out else ""
        self._next, self._left_out = now + self._pause, 0
        self._note(text + more)


# ---- Loopback addresses.


def is_loopback(host: str) -> bool:
    """Return whether an address can be reached only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.partition("%")[0]).is_loopback
    except ValueError:
        return False
