"""Guard between the network and the thin driver: neither a lost connection nor an invalid answer can crash the driver.

The driver is compiled and trusts its input. The guard withholds two things from it. One is bytes that are not complete,
valid packets (packets.py). The other, after the login, is the loss of the connection: the driver would drop its socket
while a call is still in progress, and if that call then sends something, the process dies of SIGSEGV. Instead the loss
is reported to the code that waits for the call; it cancels the call and does not use the driver any more.
"""

from __future__ import annotations

import asyncio
from typing import Any

from presman.sources.oracle.packets import NotOracle, Packets, describe

MOST = 32_000_000
"""Largest answer to one call, in bytes. A poll of a large database has two million."""

PROXY_SAYS = b"HTTP/"
LONGEST_HEAD = 8_192
"""Largest answer of a proxy, in bytes."""


class AnswerTooLarge(ConnectionError):  # noqa: N818 - what is wrong with the answer
    """An answer was larger than one call may return, or needed too much memory."""

    def __init__(self, what: str = f"has more than {MOST // 1_000_000} MB") -> None:
        super().__init__(f"the answer {what}")


def meaningful_error(error: Exception) -> Exception:
    """Return a meaningful error for one that the driver raised on an invalid answer: it may raise anything then."""
    if isinstance(error, NotOracle | AnswerTooLarge):
        return error
    if isinstance(error, MemoryError):
        return AnswerTooLarge("would take too much memory")
    return NotOracle(f"the server's answer makes no sense ({type(error).__name__})")


class Sockets(asyncio.SelectorEventLoop):
    """An event loop whose connections have guards and can be closed at once: the driver leaves some to the collector.

    `lost` is set when the connection is lost after `settle`; `fault` is the error if the guard dropped it. `received`
    counts bytes.
    """

    _is_made = False

    def __init__(self) -> None:
        super().__init__()
        self._is_made = True
        self._guards: list[Guard] = []
        self._limit = MOST
        self.settled = False
        self.lost = asyncio.Event()
        self.fault: Exception | None = None
        self.received = 0
        # The driver's protocol object may raise errors when a connection is lost in the middle of an answer.
        self.set_exception_handler(lambda _loop, _context: None)

    def is_closed(self) -> bool:
        """Return whether there is nothing to close. That includes a loop whose constructor failed.

        Without files or memory the constructor fails, and the destructor would try to close what was never made.
        """
        return not self._is_made or super().is_closed()

    async def create_connection(self, *args: Any, **named: Any) -> Any:
        """Connect, with a guard between the transport and the requested protocol.

        An earlier connection (to a listener that redirected the client) is closed: the driver would mistake its end for
        the end of the new one.
        """
        make, *where = args
        driver = make()
        self.fault = None
        _, guard = await super().create_connection(lambda: Guard(self, driver), *where, **named)
        for earlier in self._guards:
            earlier.retire().close()
        self._guards = [guard]
        return guard.wire, guard

    async def start_tls(self, wire: Any, driver: Any, *args: Any, **named: Any) -> Any:  # type: ignore[override]
        """Start TLS on a connection made here; a new guard sees the decrypted bytes."""
        guard = Guard(self, driver)
        for earlier in self._guards:
            earlier.retire()
        guard.connection_made(await super().start_tls(wire.transport, guard, *args, **named))
        self._guards.append(guard)
        return guard.wire

    def settle(self) -> None:
        """Note that the login is complete: from now on a lost connection is not reported to the driver."""
        self.settled = True
        if self._guards[-1].is_over:
            self.lost.set()

    def allow(self) -> None:
        """Start a new size limit for the next answer."""
        self._limit = self.received + MOST

    def count(self, size: int) -> None:
        """Count received bytes. Raises AnswerTooLarge."""
        self.received += size
        if self.received > self._limit:
            raise AnswerTooLarge

    def report_loss_to_driver(self) -> None:
        """Report a lost connection to the driver. None of its calls may be in progress."""
        if self.lost.is_set():
            self._guards[-1].driver.connection_lost(None)

    def incomplete_answer(self) -> Exception | None:
        """Return the error for a listener whose first answer is incomplete, None if it is not."""
        return self._guards[-1].incomplete_answer() if self._guards else None

    async def abandon(self) -> None:
        """Close every socket at once, without logging off."""
        for guard in reversed(self._guards):
            guard.retire().abort()
        self._guards.clear()
        await asyncio.sleep(0)  # transports close their sockets in the next iteration of the loop


class Wire:
    """The object that the driver uses as its transport."""

    def __init__(self, transport: Any, guard: Guard) -> None:
        self.transport = transport
        self._guard = guard

    def write(self, data: bytes) -> None:
        """Send data unless the connection is lost or closing."""
        if self._guard.may_send(data) and not self.transport.is_closing():  # asyncio would log a warning
            self.transport.write(data)

    def close(self) -> None:
        """Send buffered data, and close."""
        self._guard.is_over = True
        self.transport.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return transport information, such as the socket or the TLS object."""
        return self.transport.get_extra_info(name, default)


class Guard(asyncio.Protocol):
    """Passes valid packets to the driver. `is_over` is set once the connection is lost, dropped, or closed."""

    wire: Wire

    def __init__(self, loop: Sockets, driver: Any) -> None:
        self._loop = loop
        self.driver = driver
        self._packets = Packets()
        self._proxy_answer: bytes | None = None
        self._retired = self.is_over = False

    def connection_made(self, transport: Any) -> None:
        """Keep the transport."""
        self.wire = Wire(transport, self)

    def incomplete_answer(self) -> Exception | None:
        """Return the error for a first answer that is incomplete, None if there is none."""
        begun = self._packets.begun
        return NotOracle(f"that is not an Oracle listener (it answered {describe(begun)})") if begun else None

    def may_send(self, data: bytes) -> bool:
        """Return whether data from the driver may be sent."""
        if self.is_over:
            self._loop.call_soon(self._report_loss)  # the driver is about to wait for an answer
            return False
        if data.startswith(b"CONNECT "):
            self._proxy_answer = b""
        self._packets.asked(data)
        return True

    def data_received(self, data: bytes) -> None:
        """Pass complete packets to the driver, or drop the connection if they are invalid."""
        if self.is_over:
            return
        try:
            self._loop.count(len(data))
            for packet in self._packets.feed(data) if self._proxy_answer is None else self._proxy_answers(data):
                self.driver.data_received(packet)
        except Exception as fault:
            self._loop.fault = meaningful_error(fault)
            self.wire.transport.abort()
            self.connection_lost(fault)

    def _proxy_answers(self, data: bytes) -> list[bytes]:
        """Return a proxy's answer once it is complete: the driver parses only the first data it receives."""
        answer = (self._proxy_answer or b"") + data
        if len(answer) > LONGEST_HEAD:
            raise NotOracle("the proxy's answer does not end")
        is_whole = b"\r\n\r\n" in answer or not answer.startswith(PROXY_SAYS[: len(answer)])
        self._proxy_answer = b"" if is_whole else answer
        return [answer] if is_whole else []

    def connection_lost(self, error: Exception | None) -> None:
        """Report the loss to the waiting code; to the driver only during the login, when it keeps its socket."""
        if isinstance(error, MemoryError):  # while the event loop read, not the driver
            self._loop.fault = self._loop.fault or meaningful_error(error)
        if not self._retired:
            self.is_over = True
            self._report_loss()

    def _report_loss(self) -> None:
        if self._loop.settled:
            self._loop.lost.set()
        else:
            self._loop.fault = self._loop.fault or self.incomplete_answer()
            self.driver.connection_lost(None)

    def retire(self) -> Any:
        """Stop passing data and reporting a loss; return the transport."""
        self.is_over = self._retired = True
        return self.wire.transport
