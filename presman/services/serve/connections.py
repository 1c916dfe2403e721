"""Connections of the web server: they are accepted here, so that strangers cannot take all that there may be.

Who has not shown the token has so many seconds for one request. Where no place is left, the connection that has shown
nothing for longest makes room: who has the token comes in, even from the address that has taken all the others.
"""

import asyncio
import hmac
import re
import resource
import socket
import ssl
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from ipaddress import ip_address
from urllib.parse import SplitResult, urlsplit

from aiohttp import web
from msgspec import Struct

from presman.base.errors import InputError, LimitError
from presman.base.listeners import MINUTE, TURN, WAITING, Places, RateLimited, Standing, is_loopback
from presman.base.secret import Secret

# ---- Access to the web server: the host names it accepts, the origins it accepts, and the token.


_HOST = re.compile(r"[\w.:\[\]-]+", re.ASCII)


class Access(Struct, frozen=True):
    """Who may come in.

    `token` is None where nobody is asked for it. `names` are the host names that presman is called by; without them a
    page of somebody else, whose name leads to this address for a moment, could speak to it (DNS rebinding). Numbers
    cannot be bent like that: all are good, but on loopback only its own. `public` is the URL of a reverse proxy, "" for
    none; `secure` whether presman itself speaks TLS; `cookie` is the name of the cookie.
    """

    token: Secret | None
    names: frozenset[str]
    only_loopback: bool
    public: str
    secure: bool
    cookie: str

    def knows(self, host: str) -> bool:
        """Return whether presman is called by what stands in the header Host."""
        name = _split(f"//{host}").hostname if _HOST.fullmatch(host) else None
        if not name:
            return False
        if name in self.names or name == _split(self.public).hostname:
            return True
        try:
            return is_loopback(name) or (not self.only_loopback and bool(ip_address(name)))
        except ValueError:
            return False

    def is_own(self, origin: str, host: str) -> bool:
        """Return whether a page of this Origin is presman's own; `host` is the header Host beside it.

        Every page in the world may open a websocket to any address: browsers only say which page it is.
        """
        if self.public and origin == origin_of(self.public):
            return True
        return origin.lower() == f"{'https' if self.secure else 'http'}://{host.lower()}"

    def opens_to(self, given: str) -> bool:
        """Return whether this is the token; how long it takes does not tell how much of it is right."""
        return self.token is None or _same(given, self.token.reveal())

    def admits(self, cookie: str) -> bool:
        """Return whether this is what a browser was given for the token."""
        return self.token is None or _same(cookie, self.pass_for_token())

    def pass_for_token(self) -> str:
        """Return what a browser keeps in place of the token."""
        key = self.token.reveal() if self.token is not None else ""
        return hmac.new(key.encode(), b"presman serve", sha256).hexdigest()

    @property
    def path(self) -> str:
        """Where presman's pages stand for browsers."""
        return _split(self.public).path or "/"

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers speak TLS, with presman or with the proxy."""
        return self.secure or self.public.startswith("https:")


def origin_of(url: str) -> str:
    """Return the scheme, host and port of a URL as browsers send them."""
    parts = _split(url)
    usual = {"http": 80, "https": 443}.get(parts.scheme)
    port = "" if parts.port in {None, usual} else f":{parts.port}"
    name = parts.hostname or ""
    return f"{parts.scheme}://{f'[{name}]' if ':' in name else name}{port}"


def _same(given: str, right: str) -> bool:
    return hmac.compare_digest(*(sha256(each.encode("utf-8", "replace")).digest() for each in (given, right)))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError:
        return urlsplit("")


# ---- Serving: the target, how a monitor of it is started, to whom it is shown, and to how many at once.


class Launch(Struct, frozen=True):
    """How a monitor is started: its command, the orders in its first line of input, its environment."""

    command: tuple[str, ...]
    orders: Secret
    environment: Mapping[str, str]


class Serving(Struct, frozen=True):
    """What is served: the target's name, how a monitor of it is started, to whom, and to how many at once."""

    target: str
    launch: Launch
    access: Access
    viewers: int
    note: Callable[[str], None]


# ---- Sockets that the web server listens on.


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address that `host` means, all with the same port; 0 takes a free one.

    Raises InputError if an address is not to be had.
    """
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, (address, *_) in dict.fromkeys(found):
            made.append(_bound(socket.socket(family, socket.SOCK_STREAM), str(address), port))
            port = made[0].getsockname()[1]
    except (OSError, UnicodeError) as error:
        for each in made:
            each.close()
        why = getattr(error, "strerror", None) or "it is no address"
        raise InputError(f"cannot listen on {host}:{port}: {why}") from None
    return made


def _bound(made: socket.socket, address: str, port: int) -> socket.socket:
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if made.family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind((address, port))
    except OSError:
        made.close()
        raise
    return made


# ---- Connections of the web server: they are accepted here, so that strangers cannot take all that there may be.


SILENCE = 10.0
"""Seconds in which a whole request must have come; how long a browser may be idle between two, aiohttp bounds."""

LOOK = 1.0
"""Seconds between two looks for connections that have brought none."""

HEARING = 6
"""Turns of the event loop until what a connection brought with it has been read."""

REST = 0.1
"""Seconds until the next try where the system accepts no connection."""

MOST = 256
"""Connections at a time beside those of viewers, however many descriptors there may be; one address may have half."""

FEWEST = 16
"""Connections without which two browsers get in each other's way."""

OWN, OF_VIEWER = 40, 10
"""Descriptors that presman itself takes; that a viewer does, for his monitor's pipes and while it is started."""


def most_connections(viewers: int) -> int:
    """Return the most connections there may be beside the monitors. Raises LimitError if they are too few."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST + viewers
    found = min(MOST + viewers, allowed - OWN - viewers * OF_VIEWER)
    if found < FEWEST + viewers:
        takes = OWN + viewers * OF_VIEWER + FEWEST + viewers
        raise LimitError(f"open files (ulimit -n) are limited to {allowed}: --viewers {viewers} takes {takes}")
    return found


def most_at_once(viewers: int, most: int) -> int:
    """Return how many connections may be accepted before those that make room for them have been closed.

    All that wait where there are descriptors for that, as in a flood none of the others would be heard.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = allowed - OWN - viewers * OF_VIEWER - most
    return WAITING if allowed == resource.RLIM_INFINITY or spare >= most else max(1, spare)


class _Connection:
    """A connection that was accepted. `transport` is None until it is made, which over TLS takes a handshake."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.protocol: asyncio.Protocol | None = None
        self.transport: asyncio.Transport | None = None
        self.making: asyncio.Task[None] | None = None

    def cut(self) -> None:
        """End it at once, whatever it is doing."""
        if self.transport is not None:
            self.transport.abort()
        elif self.protocol is not None and self.making is not None:
            self.making.cancel()
        else:
            self.line.close()

    async def make(self, server: web.Server, context: ssl.SSLContext | None) -> None:
        """Hand it to the server, over TLS once hands are shaken, unless it had to go meanwhile."""
        if self.line.fileno() < 0:
            return
        protocol = self.protocol = server()
        with suppress(OSError):  # of TLS, too: a stranger's mistake
            self.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, self.line, ssl=context, ssl_handshake_timeout=None if context is None else SILENCE
            )


class Connections:
    """Accepts connections, at most `most` at a time, and closes those that bring nothing.

    `at_once` are accepted before any of them is heard: of a flood nearly all are closed again, which takes little.
    """

    def __init__(self, most: int, note: Callable[[str], None], at_once: int = 1) -> None:
        self._places: Places[_Connection] = Places(most, most // 2)
        self._open: set[_Connection] = set()
        self._at_once = at_once
        self._full = RateLimited(note, pause=MINUTE)
        self._refused = RateLimited(note, pause=MINUTE)

    def note(self, request: web.BaseRequest, standing: Standing) -> None:
        """Take note of what a connection has shown of itself."""
        for each in self._open:
            if each.protocol is request.protocol:
                self._places.rise(each, standing, asyncio.get_running_loop().time())
                break

    def cut_all_but(self, kept: Collection[object]) -> None:
        """End all connections but those of some protocols."""
        for connection in self._open:
            if connection.protocol not in kept:
                connection.cut()

    async def accept(self, listening: socket.socket, server: web.Server, context: ssl.SSLContext | None) -> None:
        """Accept what comes to a socket, until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                line, address = await loop.sock_accept(listening)
            except ConnectionError:  # it is gone already
                continue
            except OSError as error:
                self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
                await asyncio.sleep(REST)
                continue
            self._forget()
            came = [self._take(line, address[0], loop.time())]
            for line, address in _waiting(listening, self._at_once):
                came.append(self._take(line, address[0], loop.time()))
                if self._places.are_to_be_heard(len(came)):
                    break
            for each in self._open.intersection(came):
                each.making = asyncio.create_task(each.make(server, context))
            for _ in range(HEARING if self._places.are_to_be_heard(len(came)) else 1):
                await asyncio.sleep(0)  # without a pause nobody would be read or closed

    def _take(self, line: socket.socket, address: str, now: float) -> _Connection:
        """Return a connection, which is in `_open` if there is a place for it."""
        connection = _Connection(line)
        has_place, gone = self._places.take(connection, address, now)
        if gone is not None:
            self._open.discard(gone)
            gone.cut()
            self._full.note("web server: all connections are in use: the longest idle ones are closed")
        if has_place:
            self._open.add(connection)
        else:
            line.close()
        return connection

    async def close_silent(self) -> None:
        """Close connections that bring no request in time, until this is cancelled."""
        while True:
            await asyncio.sleep(min(LOOK, SILENCE / 4))
            self._forget()
            for connection in self._places.silent_since(asyncio.get_running_loop().time() - SILENCE):
                connection.cut()

    def _forget(self) -> None:
        """Forget connections that are over."""
        for connection in [each for each in self._open if each.line.fileno() < 0]:
            self._open.remove(connection)
            self._places.leave(connection)


def _waiting(listening: socket.socket, most: int) -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    """Yield up to so many connections that wait to be accepted; what is wrong is told with the next that comes."""
    end = time.monotonic() + TURN
    for _ in range(most):
        if time.monotonic() > end:
            return
        try:
            line, address = listening.accept()
        except ConnectionError:  # it is gone already
            continue
        except OSError:
            return
        line.setblocking(False)
        yield line, address
