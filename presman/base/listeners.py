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
"""Seconds for which a server only accepts waiting connections before it reads from any.

Otherwise it could not accept them as fast as they come in a flood, in which nearly all of them are closed again.
"""

GRACE = 1.0
"""Seconds for which a connection keeps its slot while others of its address want one."""

ROTATION = 0.05
"""Where new connections are spared: seconds between two that are closed for another of the same address."""


class Standing(IntEnum):
    """How far a connection is trusted."""

    SILENT = 0
    """It has not sent a whole request yet."""

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

    def first_to_go(self, now: float, spared: Standing) -> Key | None:
        """Return the connection to close, None if there is none.

        A connection with the standing `spared` or a higher one is not closed within GRACE seconds.
        """
        oldest = [(standing, *next(iter(keys.items()))) for standing, keys in self.at.items() if keys]
        for _, key, since in oldest:
            if now - since >= GRACE:
                return key
        return next((key for standing, key, _ in oldest if standing < spared), None)


class ConnectionSlots(Generic[Key]):
    """Limits connections to `most` in all and `of_one` for each address; safe ones count only in all.

    With `spares_new` a connection that has just come is not closed for another of its own address, or of an address
    that has about as many: the newcomer gets no slot. A flood then costs little, because nothing is done for nearly all
    of it. Instants are seconds of a monotonic clock.
    """

    def __init__(self, most: int, of_one: int, *, spares_new: bool = False) -> None:
        self._most, self._of_one, self._spares_new = most, of_one, spares_new
        self._next = 0.0
        """When the next connection may be closed for another of its address."""
        self._taken: dict[Key, _Slot] = {}
        self._bound: dict[str, _OfAddress[Key]] = {}
        """The connections that may be closed, by address."""
        self._addresses: dict[int, dict[str, None]] = {}
        """Addresses by how many such connections they have: a flood needs this thousands of times a second."""

    def take(self, key: Key, address: str, now: float, standing: Standing = Standing.SILENT) -> tuple[bool, Key | None]:
        """Give a slot to a connection; return whether it got one, and the connection to close for it, if any."""
        found, gone = self._room(address, now, is_safe=standing is Standing.SAFE)
        if gone is not None:
            self.leave(gone)
        if found:
            self._add(key, _Slot(address, now, standing))
        return found, gone

    def set_standing(self, key: Key, standing: Standing, now: float) -> None:
        """Note the standing of a connection."""
        if slot := self._taken.get(key):
            self.leave(key)
            self._add(key, _Slot(slot.address, now, standing))

    def _add(self, key: Key, slot: _Slot) -> None:
        self._taken[key] = slot
        if slot.standing is not Standing.SAFE:
            of_address = self._bound.setdefault(slot.address, _OfAddress())
            of_address.at[slot.standing][key] = slot.since
            self._count(slot.address, len(of_address) - 1, len(of_address))

    def leave(self, key: Key) -> None:
        """Free the slot of a connection that has ended."""
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

    def _room(self, address: str, now: float, *, is_safe: bool) -> tuple[bool, Key | None]:
        """Return whether an address may have another connection, and the one to close for it, if any.

        It is closed at the address with the most connections, silent ones and the oldest first. So a client with a
        single connection keeps it in a flood of others, however long it waits to be read.
        """
        spared = Standing.SILENT if self._spares_new else Standing.ASKED
        own = len(self._bound.get(address, ()))
        if own >= self._of_one and not is_safe:
            gone = self._first_to_go(address, now, spared)
        elif len(self._taken) < self._most:
            return True, None
        else:
            most_first = (
                (many, each) for many in sorted(self._addresses, reverse=True) for each in self._addresses[many]
            )
            gone = None
            for many, each in most_first:
                # An authenticated client displaces any that is not; an address with fewer connections displaces silent
                # ones of another, even new ones.
                fewer = Standing.SAFE if is_safe else Standing.ASKED if many > own + 1 else spared
                if (gone := self._first_to_go(each, now, fewer)) is not None:
                    break
        return gone is not None, gone

    def _first_to_go(self, address: str, now: float, spared: Standing) -> Key | None:
        """Return the connection of an address to close for another, None if there is none or it is too soon."""
        if spared is not Standing.SILENT:
            return self._bound[address].first_to_go(now, spared)
        gone = self._bound[address].first_to_go(now, spared) if now >= self._next else None
        if gone is not None:
            self._next = now + ROTATION
        return gone


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
        self._note, self._clock, self._pause = note, clock, pause
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
