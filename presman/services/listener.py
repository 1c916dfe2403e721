"""Listener of `presman serve` and `presman metrics`: sockets, connections, their limits and deadlines, TLS.

Connections are accepted here so that strangers cannot take all of them. Nothing is done for a connection before its
first bytes have come: these show whether its client is known, and then it gets a slot even from an address that has
taken all others. A client that is not known has a limited time for one request, and gets a slot if there is one.
Over TLS the first bytes come after the handshake, for which a connection needs no slot.
"""

import asyncio
import logging
import resource
import socket
import ssl
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, suppress
from http import HTTPStatus
from itertools import chain
from typing import Any, cast

from aiohttp import web

from presman.base.certificates import Certificates
from presman.base.errors import InputError
from presman.base.listeners import MINUTE, TURN, WAITING, ConnectionSlots, RateLimited, Standing

SILENCE = 10.0
"""Seconds in which a whole request must arrive. aiohttp limits the idle time between two requests."""

CHECK_EVERY = 0.5
"""Seconds between two checks for connections that are past their deadline."""

READING_TURNS, CLOSING_TURNS = 6, 2
"""Turns of the event loop until a request that has already come is answered, and until a connection is closed."""

SILENT, MOMENT = 48, 0.02
"""Connections that have sent nothing yet, and the seconds that each of them has before it is closed for another."""

SHAKING, HANDSHAKE = 320, 0.2
"""Connections in a handshake of TLS, or silent after it, and the seconds that each of them has likewise. A silent
connection costs nothing, but one that takes its place costs another handshake."""

FILES_OF_ONE = 8
"""Open files that the process may have for each handshake, if it cannot raise their limit."""

CLIENT_HELLO = b"\x16\x03"
"""The first bytes of each connection over TLS; others are closed before anything is made for them."""

PAUSE = 0.05
"""Seconds in which connections wait to be accepted after some were refused: clients that come again at once would
otherwise keep a processor busy."""

REST = 0.1
"""Seconds until the next attempt after the system could not accept a connection."""

LONGEST_HEAD = 8_192
"""Bytes of a request to examine before it is read."""

KEPT, LINGERING = 30.0, 1.0
"""Seconds that a connection may be idle between two requests, and for which the rest of one is read after its answer.
"""


def listening_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a socket for each address of `host`, all with the same port; 0 chooses a free one.

    Raises InputError if an address is not available.
    """
    made: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, (address, *_) in dict.fromkeys(found):
            each = socket.socket(family, socket.SOCK_STREAM)
            made.append(each)
            # A restart need not wait until the system has forgotten the connections of the run before.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            # A socket for IPv6 that also took IPv4 would keep the other socket from getting the same port.
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            each.bind((str(address), port))
            each.listen(WAITING)
            each.setblocking(False)
            port = made[0].getsockname()[1]
    except (OSError, OverflowError, UnicodeError) as error:
        for each in made:
            each.close()
        why = getattr(error, "strerror", None) or "it is not an address"
        raise InputError(f"cannot listen at {host_and_port(host, port)}: {why}") from None
    return made


def host_and_port(host: str, port: int) -> str:
    """Return host and port as a URL has them."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class _PlainErrors(web.RequestHandler):
    """Reader of requests. What is no HTTP gets an answer in plain words that repeats nothing of the request."""

    __slots__ = ()

    def handle_error(self, request: web.BaseRequest, status: int = 500, *why: Any, **also: Any) -> web.StreamResponse:
        """Report the error, and return the answer."""
        super().handle_error(request, status, *why, **also)
        answer = web.Response(status=status, text=f"{status} {HTTPStatus(status).phrase}\n")
        answer.headers["Server"] = "presman"
        answer.force_close()
        return answer


Server = Callable[[], asyncio.Protocol]
"""Maker of the protocol that answers a connection."""


class _Connection:
    """An accepted connection. `transport` is None until it is made, which over TLS requires a handshake.

    `begun` is when it was accepted, and over TLS when its handshake began.
    """

    def __init__(self, line: socket.socket, address: str, server: Server, begun: float) -> None:
        self.line, self.address, self.server, self.begun = line, address, server, begun
        self.deadline: float | None = begun + SILENCE
        self.protocol: asyncio.Protocol | None = None
        self.transport: asyncio.Transport | None = None
        self.making: asyncio.Task[None] | None = None

    def cut(self) -> None:
        """End it at once, in any state."""
        if self.transport is not None:
            self.transport.abort()
        elif self.protocol is not None and self.making is not None:
            self.making.cancel()
            self.making = None  # its traceback knows this connection: memory would be freed only by the collector
        else:
            self.line.close()


class _AfterHandshake(asyncio.Protocol):
    """Receiver of the first bytes of a connection after its handshake."""

    def __init__(self, connection: _Connection, receive: Callable[[_Connection, bytes], None]) -> None:
        self._connection, self._receive = connection, receive

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note that the handshake was completed."""
        self._connection.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        """Pass on the first bytes."""
        self._receive(self._connection, data)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Free the transport and its buffers, which the connection and this otherwise keep until a collection."""
        self._connection.transport = None


class Connections:
    """Acceptor of connections, at most `most` at a time and `of_one` of an address, which closes those that are late.

    A request must come in time; after it the connection may last until it is `longest` old, None for as long as it
    likes. `is_known` returns whether what a connection has already sent shows that its client is authenticated.
    """

    def __init__(
        self,
        most: int,
        of_one: int,
        note: Callable[[str], None],
        *,
        longest: float | None = None,
        certificates: Certificates | None = None,
        is_known: Callable[[bytes], bool] | None = None,
    ) -> None:
        self._longest, self._certificates, self._is_known = longest, certificates, is_known
        self._slots: ConnectionSlots[_Connection] = ConnectionSlots(most, of_one, spares_new=is_known is not None)
        self._open: set[_Connection] = set()
        self._silent: dict[_Connection, None] = {}
        """Connections without a slot, as nothing has come from them yet; the oldest first."""
        self._in_handshake: dict[_Connection, None] = {}
        """Connections without a slot that want a handshake or have sent nothing after it: first those that wait for it,
        the oldest first."""
        self._next: list[_Connection] = []
        """Connections that wait for their handshake, among them some that have been closed."""
        self._has_next = asyncio.Event()
        self._most_handshakes = 0 if certificates is None else _room_for_handshakes()
        self._has_refused = self._must_read = self._must_close = False
        """Whether one was refused, and whether one must be read or closed before more are accepted."""
        self._full = RateLimited(note, pause=MINUTE)
        self._refused = RateLimited(note, pause=MINUTE)

    def note(self, request: web.BaseRequest, standing: Standing) -> None:
        """Record how far a connection that has sent a request is trusted."""
        if each := next((each for each in self._open if each.protocol is request.protocol), None):
            self._slots.set_standing(each, standing, asyncio.get_running_loop().time())
            each.deadline = None if self._longest is None else each.begun + self._longest

    def cut_all_but(self, kept: Collection[object]) -> None:
        """End all connections except those of the given protocols."""
        for connection in self._all():
            if connection.protocol not in kept:
                self._leave(connection)
                connection.cut()

    async def accept(self, listening: socket.socket, server: Server) -> None:
        """Accept connections from a socket until this is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            try:
                first = await loop.sock_accept(listening)
            except ConnectionError:  # it is already gone
                continue
            except OSError as error:
                self._refused.note(f"web server: no connection can be accepted: {error.strerror or error}")
                await asyncio.sleep(REST)
                continue
            self._forget()
            self._has_refused = self._must_read = self._must_close = False
            for line, (address, *_) in chain((first,), _waiting(listening)):
                self._take(_Connection(line, address, server, loop.time()))
                if self._must_read or self._must_close or self._is_full():
                    break
            for _ in range(READING_TURNS if self._must_read else CLOSING_TURNS):
                await asyncio.sleep(0)  # without a pause nothing would be read or closed
            if self._has_refused and not self._must_read:
                await asyncio.sleep(PAUSE)
            while self._is_full() and not self._close_oldest(loop.time()):
                await asyncio.sleep(MOMENT)

    def _take(self, connection: _Connection) -> None:
        """Give a connection a slot or close it; if nothing has come from it yet, do so when something comes."""
        if not self._process_first_bytes(connection):
            self._silent[connection] = None
            asyncio.get_running_loop().add_reader(connection.line, self._process_first_bytes, connection)

    def _all(self) -> list[_Connection]:
        return [*self._silent, *self._in_handshake, *self._open]

    def _is_full(self) -> bool:
        """Return whether one that has no slot yet must be closed before more are accepted."""
        return len(self._silent) >= SILENT or len(self._in_handshake) >= self._most_handshakes > 0

    def _close_oldest(self, now: float) -> bool:
        """Close the oldest connection without a slot; return False if its time is not over yet."""
        if len(self._silent) >= SILENT:
            oldest, moment = next(iter(self._silent)), MOMENT
            if self._process_first_bytes(oldest):
                return True
        else:
            oldest = next(iter(self._in_handshake))
            moment = MOMENT if oldest.making is None else HANDSHAKE
        if now - oldest.begun >= moment:
            self._leave(oldest)
            oldest.cut()
        return now - oldest.begun >= moment

    def _leave(self, connection: _Connection) -> None:
        """Note that a connection no longer waits for its first bytes."""
        self._in_handshake.pop(connection, None)
        if connection in self._silent:
            del self._silent[connection]
            asyncio.get_running_loop().remove_reader(connection.line)

    def _process_first_bytes(self, connection: _Connection) -> bool:
        """If something has come from a connection, go on with it or close it; return whether something has."""
        try:
            # The bytes stay in the socket (MSG_PEEK): the server or the handshake reads them again.
            sent = connection.line.recv(LONGEST_HEAD, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:  # it is already gone
            sent = b""
        self._leave(connection)
        if self._certificates is not None:
            self._queue_handshake(connection, sent)
        elif sent and self._is_admitted(connection, sent):
            connection.making = asyncio.create_task(self._make(connection, connection.server(), None))
        else:
            connection.line.close()
        return True

    def _queue_handshake(self, connection: _Connection, sent: bytes) -> None:
        """Let a connection wait for its handshake if it has `sent` the beginning of one."""
        if sent and sent[: len(CLIENT_HELLO)] == CLIENT_HELLO[: len(sent)]:
            self._in_handshake[connection] = None
            self._next.append(connection)
            self._has_next.set()
        else:
            connection.line.close()
            self._has_refused = True

    async def run_handshakes(self) -> None:
        """Begin handshakes until this is cancelled, that of the newest connection first.

        In the order of arrival, a client would wait for the handshakes of a whole crowd that came just before it. The
        loop runs between two handshakes: if many began in one turn, their time would be over at its end.
        """
        while True:
            await self._has_next.wait()
            self._has_next.clear()
            while self._next:
                connection = self._next.pop()
                if connection in self._in_handshake:
                    self._begin(connection)
                    for _ in range(READING_TURNS):
                        await asyncio.sleep(0)

    def _begin(self, connection: _Connection) -> None:
        assert self._certificates is not None
        # It moves to the end: the connections that still wait for their handshake come first.
        del self._in_handshake[connection]
        self._in_handshake[connection] = None
        connection.begun = asyncio.get_running_loop().time()
        receiver, context = _AfterHandshake(connection, self._process_after_handshake), self._certificates.context()
        connection.making = asyncio.create_task(self._make(connection, receiver, context))

    def _process_after_handshake(self, connection: _Connection, sent: bytes) -> None:
        """Pass a connection to the server if it gets a slot for the first bytes that came after its handshake."""
        assert connection.transport is not None
        self._leave(connection)
        if self._is_admitted(connection, sent):
            connection.protocol = connection.server()
            connection.transport.set_protocol(connection.protocol)
            connection.protocol.connection_made(connection.transport)
            connection.protocol.data_received(sent)
        else:
            connection.transport.abort()

    def _is_admitted(self, connection: _Connection, sent: bytes) -> bool:
        """Return whether a connection gets a slot for its first bytes, for which another may have to be closed."""
        is_known = self._is_known is not None and self._is_known(sent)
        standing, now = Standing.SAFE if is_known else Standing.SILENT, asyncio.get_running_loop().time()
        has_slot, replaced = self._slots.take(connection, connection.address, now, standing)
        if replaced is not None:
            self._open.discard(replaced)
            replaced.cut()
            self._must_close = True
        if replaced is not None or not has_slot:
            self._full.note("web server: all connections are in use: idle ones are closed, or new ones refused")
        self._has_refused |= not has_slot
        if has_slot:
            self._open.add(connection)
            self._must_read |= is_known
        return has_slot

    async def _make(self, connection: _Connection, protocol: asyncio.Protocol, context: ssl.SSLContext | None) -> None:
        """Pass a connection to a protocol, over TLS after a handshake, unless it was closed in the meantime."""
        if connection.line.fileno() < 0:
            return
        connection.protocol = protocol
        try:
            connection.transport, _ = await asyncio.get_running_loop().connect_accepted_socket(
                lambda: protocol, connection.line, ssl=context, ssl_handshake_timeout=SILENCE if context else None
            )
        except OSError as error:  # also errors of TLS, which are the client's
            error.__traceback__ = None  # its frames keep the error, and large buffers, until a collection

    async def close_late(self) -> None:
        """Close connections that are past their deadline, until this is cancelled."""
        while True:
            await asyncio.sleep(min(CHECK_EVERY, SILENCE / 4))
            self._forget()
            now = asyncio.get_running_loop().time()
            for connection in self._all():
                if connection.deadline is not None and connection.deadline <= now:
                    self._leave(connection)
                    connection.cut()

    def _forget(self) -> None:
        """Forget connections that have ended."""
        for connection in [each for each in self._in_handshake if each.line.fileno() < 0]:
            del self._in_handshake[connection]
        for connection in [each for each in self._open if each.line.fileno() < 0]:
            self._open.remove(connection)
            self._slots.leave(connection)


def _room_for_handshakes() -> int:
    """Let this process open more files, for handshakes alone, and return how many may be under way.

    Where it may not open as many more, some of its files are for handshakes.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return SHAKING
    room = min(SHAKING, soft // FILES_OF_ONE)
    most = soft + SHAKING if hard == resource.RLIM_INFINITY else min(soft + SHAKING, hard)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        room = max(room, most - soft)
    return room


def _waiting(listening: socket.socket) -> Iterator[tuple[socket.socket, tuple[str, int]]]:
    """Yield connections that wait to be accepted, for a TURN; after an error end: the next accept reports it."""
    end = time.monotonic() + TURN
    while time.monotonic() < end:
        try:
            line, address = listening.accept()
        except ConnectionError:  # it is already gone
            continue
        except OSError:
            return
        line.setblocking(False)
        yield line, address


@asynccontextmanager
async def accepting(
    connections: Connections, sockets: list[socket.socket], server: web.Server, note: Callable[[str], None]
) -> AsyncIterator[None]:
    """Accept and answer connections while the context is open; errors become lines of presman's log."""
    loop, complaints = asyncio.get_running_loop(), _Complaints(note)
    loop.set_exception_handler(complaints.of_loop)

    def handler() -> web.RequestHandler:
        return _PlainErrors(
            server,
            loop=loop,
            logger=complaints.logger(),
            keepalive_timeout=KEPT,
            lingering_time=LINGERING,
            auto_decompress=False,
        )

    tasks = [asyncio.create_task(connections.accept(each, handler)) for each in sockets]
    tasks += [asyncio.create_task(connections.close_late()), asyncio.create_task(connections.run_handshakes())]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        for each in sockets:
            each.close()


class _Complaints(logging.Handler):
    """Errors of the web server and its event loop as lines of presman's log; limited, as strangers can cause them."""

    def __init__(self, note: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._note = RateLimited(note).note

    def logger(self) -> logging.Logger:
        """Return the logger for aiohttp."""
        logger = logging.getLogger(__name__)
        logger.propagate = False
        logger.handlers = [self]
        return logger

    def emit(self, record: logging.LogRecord) -> None:
        self._report(record.getMessage(), record.exc_info[1] if record.exc_info else None)

    def of_loop(self, _loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self._report(str(context["message"]), context.get("exception"))

    def _report(self, text: str, error: BaseException | None) -> None:
        self._note(f"web server: {text}" + (f": {type(error).__name__}: {error}" if error else ""))
