"""Connections of the web server, which are accepted here so that strangers cannot take all of them.

A client without the token has a limited time for one request. When no place is left, the connection that has been
silent for longest is closed: a client with the token gets in even from an address that has taken all other places.
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
    """Rules of access.

    `token` is None if none is required. `names` are the host names under which presman may be called. Without them a
    foreign page whose host name briefly resolves to this address could call presman (DNS rebinding). Addresses cannot
    be abused in this way, so all are accepted, but on loopback only loopback addresses. `public` is the URL of a
    reverse proxy, "" for none; `secure` is whether presman itself uses TLS; `cookie` is the name of the cookie.
    """

    token: Secret | None
    names: frozenset[str]
    only_loopback: bool
    public: str
    secure: bool
    cookie: str

    def accepts_host(self, host: str) -> bool:
        """Return whether the Host header names presman."""
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
        """Return whether a page with this Origin is presman's own; `host` is the Host header of the same request.

        Any page may open a websocket to any address: browsers only send which page it is.
        """
        if self.public and origin == origin_of(self.public):
            return True
        return origin.lower() == f"{'https' if self.secure else 'http'}://{host.lower()}"

    def is_token(self, given: str) -> bool:
        """Return whether this is the token, if one is required; a wrong one takes as long as the right one."""
        return self.token is None or _same(given, self.token.reveal())

    def is_pass(self, cookie: str) -> bool:
        """Return whether this is the cookie that a browser gets for the token, if one is required."""
        return self.token is None or _same(cookie, self.pass_for_token())

    def pass_for_token(self) -> str:
        """Return the value that a browser stores in place of the token."""
        key = self.token.reveal() if self.token is not None else ""
        return hmac.new(key.encode(), b"presman serve", sha256).hexdigest()

    @property
    def path(self) -> str:
        """The path of presman's pages as browsers see it."""
        return _split(self.public).path or "/"

    @property
    def is_encrypted(self) -> bool:
        """Whether browsers use TLS, to presman or to the proxy."""
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


# ---- Serving: the target, how its monitors are started, who may see them, and how many at the same time.


class Launch(Struct, frozen=True):
    """How to start a monitor: its command, the orders in its first line of input, its environment."""

    command: tuple[str, ...]
    orders: Secret
    environment: Mapping[str, str]


class Serving(Struct, frozen=True):
    """What to serve: the target's name, how to start its monitors, who may see them, and how many at the same time."""

    target: str
    launch: Launch
    access: Access
    viewers: int
    note: Callable[[str], None]


# ---- Sockets that the web server listens on.


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of `host`, all with the same port; 0 chooses a free one.

    Raises InputError if an address is not available.
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


# ---- Connections of the web server, which are accepted here so that strangers cannot take all of them.


SILENCE = 10.0
"""Seconds in which a whole request must arrive. aiohttp limits the idle time between two requests."""

CHECK_EVERY = 1.0
"""Seconds between two checks for connections without a request."""

READING_TURNS = 6
"""Turns of the event loop until what a connection has already sent is read."""

REST = 0.1
"""Seconds until the next attempt after the system could not accept a connection."""

MOST = 256
"""The most connections besides those of viewers, whatever the limit of descriptors; one address may have half."""

FEWEST = 16
"""The fewest connections with which two browsers do not get in each other's way."""

OWN, PER_VIEWER = 40, 10
"""Descriptors of presman itself, and of each viewer: the pipes of the monitor, and those used to start it."""


def most_connections(viewers: int) -> int:
    """Return the most connections besides the monitors. Raises LimitError if too few are possible."""
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return MOST + viewers
    found = min(MOST + viewers, allowed - OWN - viewers * PER_VIEWER)
    if found < FEWEST + viewers:
        takes = OWN + viewers * PER_VIEWER + FEWEST + viewers
        raise LimitError(f"open files (ulimit -n) are limited to {allowed}: --viewers {viewers} takes {takes}")
    return found


def most_at_once(viewers: int, most: int) -> int:
    """Return how many connections to accept before those that they replace are closed.

    If there are enough descriptors these are all that wait: in a flood, others would not be accepted otherwise.
    """
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    spare = allowed - OWN - viewers * PER_VIEWER - most
    return WAITING if allowed == resource.RLIM_INFINITY or spare >= most else max(1, spare)


class _Connection:
    """An accepted connection. `transport` is None until it is made, which over TLS requires a handshake."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self.protocol: asyncio.Protocol | None = None
        self.transport: asyncio.Transport | None = None
        self.making: asyncio.Task[None] | None = None

    def cut(self) -> None:
        """End it at once, in any state."""
        if self.transport is not None:
            self.transport.abort()
        elif self.protocol is not None and self.making is not None:
            self.making.cancel()
        else:
            self.line.close()

    async def make(self, server: web.Server, context: ssl.SSLContext | None) -> None:
        """Pass it to the server, over TLS after a handshake, unless it was closed in the meantime."""
        if self.line.fileno() < 0:
            return
        protocol = self.protocol = server()
        with suppress(OSError):  # also errors of TLS, which are the client's
            self.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, self.line, ssl=context, ssl_handshake_timeout=None if context is None else SILENCE
            )


class Connections:
    """Acceptor of connections, at most `most` at a time, which closes those that send nothing.

    `at_once` are accepted before any is read: of a flood nearly all are closed again at little cost.
    """

    def __init__(self, most: int, note: Callable[[str], None], at_once: int = 1) -> None:
        self._places: Places[_Connection] = Places(most, most // 2)
        self._open: set[_Connection] = set()
        self._at_once = at_once
        self._full = RateLimited(note, pause=MINUTE)
        self._refused = RateLimited(note, pause=MINUTE)

    def note(self, request: web.BaseRequest, standing: Standing) -> None:
        """Record how far a connection is trusted."""
        for each in self._open:
            if each.protocol is request.protocol:
                self._places.rise(each, standing, asyncio.get_running_loop().time())
                break

    def cut_all_but(self, kept: Collection[object]) -> None:
        """End all connections except those of the given protocols."""
        for connection in self._open:
            if connection.protocol not in kept:
                connection.cut()

    async def accept(self, listening: socket.socket, server: web.Server, context: ssl.SSLContext | None) -> None:
        """Accept connections from a socket until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                line, address = await loop.sock_accept(listening)
            except ConnectionError:  # it is already gone
                continue
            except OSError as error:
                self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
                await asyncio.sleep(REST)
                continue
            self._forget()
            accepted = [self._take(line, address[0], loop.time())]
            for line, address in _waiting(listening, self._at_once):
                accepted.append(self._take(line, address[0], loop.time()))
                if self._places.should_read_now(len(accepted)):
                    break
            for each in self._open.intersection(accepted):
                each.making = asyncio.create_task(each.make(server, context))
            for _ in range(READING_TURNS if self._places.should_read_now(len(accepted)) else 1):
                await asyncio.sleep(0)  # without a pause nothing would be read or closed

    def _take(self, line: socket.socket, address: str, now: float) -> _Connection:
        """Return a connection; it is in `_open` if there was a place for it."""
        connection = _Connection(line)
        has_place, replaced = self._places.take(connection, address, now)
        if replaced is not None:
            self._open.discard(replaced)
            replaced.cut()
            self._full.note("web server: all connections are in use: the longest idle ones are closed")
        if has_place:
            self._open.add(connection)
        else:
            line.close()
        return connection

    async def close_silent(self) -> None:
        """Close connections that send no request in time, until this is cancelled."""
        while True:
            await asyncio.sleep(min(CHECK_EVERY, SILENCE / 4))
            self._forget()
            for connection in self._places.silent_since(asyncio.get_running_loop().time() - SILENCE):
                connection.cut()

    def _forget(self) -> None:
        """Forget connections that have ended."""
        for connection in [each for each in self._open if each.line.fileno() < 0]:
            self._open.remove(connection)
            self._places.leave(connection)


def _waiting(listening: socket.socket, most: int) -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    """Yield at most `most` connections that wait to be accepted; after an error end: the next accept reports it."""
    end = time.monotonic() + TURN
    for _ in range(most):
        if time.monotonic() > end:
            return
        try:
            line, address = listening.accept()
        except ConnectionError:  # it is already gone
            continue
        except OSError:
            return
        line.setblocking(False)
        yield line, address
