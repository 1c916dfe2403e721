"""Guard between the network and the thin driver, so that neither a lost line nor a stranger can crash it.

The driver is compiled and believes what it is told. Two things are kept from it. Bytes that are not whole, sane
packets (packets.py). And, once it is logged in, that the line is lost: it would let go of its socket while a
call of it is still under way, and if that call sends something more, the process dies of SIGSEGV. So a lost line is
told to whoever waits for the call, who cancels it and asks the driver nothing more.
"""

from __future__ import annotations

import asyncio
from typing import Any

from presman.sources.oracle.packets import NotOracle, Packets, describe

MOST = 32_000_000
"""Bytes that the answer to one call may have. A poll of a large database has two million."""

PROXY_SAYS = b"HTTP/"
LONGEST_HEAD = 8_192
"""Bytes that a proxy's answer may have."""


class AnswerTooLarge(ConnectionError):  # noqa: N818 - what is wrong with the answer
    """An answer was larger than what one call may bring, or says of itself that it is."""

    def __init__(self, what: str = f"has more than {MOST // 1_000_000} MB") -> None:
        super().__init__(f"the answer {what}")


def sense(error: Exception) -> Exception:
    """Return what it means that the driver stumbled over an answer: it may raise anything then."""
    if isinstance(error, NotOracle | AnswerTooLarge):
        return error
    if isinstance(error, MemoryError):
        return AnswerTooLarge("would take too much memory")
    return NotOracle(f"the server's answer makes no sense ({type(error).__name__})")


class Sockets(asyncio.SelectorEventLoop):
    """An event loop whose connections are guarded, and can be closed at once: the driver leaves some to the collector.

    `lost` is set when the connection is lost after `settle`, `fault` is why if it was given up here. `received` counts
    bytes.
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
        # A connection that dies in the middle of an answer may leave the driver's protocol object complaining.
        self.set_exception_handler(lambda _loop, _context: None)

    def is_closed(self) -> bool:
        """Whether there is nothing to close: so it is, too, of a loop for which there were no files or no memory.

        Python would close what is missing when it throws that away, and complain each time that it is not there.
        """
        return not self._is_made or super().is_closed()

    async def create_connection(self, *args: Any, **named: Any) -> Any:
        """Connect, with a guard before the protocol that is asked for.

        An earlier connection (to a listener that sent the client elsewhere) is closed: the driver would take its end
        for that of the new one.
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
        """Begin to encrypt a connection made here; a new guard stands behind the encryption."""
        guard = Guard(self, driver)
        for earlier in self._guards:
            earlier.retire()
        guard.connection_made(await super().start_tls(wire.transport, guard, *args, **named))
        self._guards.append(guard)
        return guard.wire

    def settle(self) -> None:
        """Note that the login is over: from here on the driver does not learn of a lost connection."""
        self.settled = True
        if self._guards[-1].is_over:
            self.lost.set()

    def allow(self) -> None:
        """Let the next answer be as large as one may be."""
        self._limit = self.received + MOST

    def count(self, size: int) -> None:
        """Count the bytes that came. Raises TooMuch."""
        self.received += size
        if self.received > self._limit:
            raise AnswerTooLarge

    def report_loss_to_driver(self) -> None:
        """Tell the driver that a lost line is lost; no call of it may be under way."""
        if self.lost.is_set():
            self._guards[-1].driver.connection_lost(None)

    def half_an_answer(self) -> Exception | None:
        """Return what is wrong with a listener that began to say something and did not end."""
        return self._guards[-1].half_an_answer() if self._guards else None

    async def abandon(self) -> None:
        """Close every socket at once, without farewell."""
        for guard in reversed(self._guards):
            guard.retire().abort()
        self._guards.clear()
        await asyncio.sleep(0)  # transports close their sockets in the next turn of the loop


class Wire:
    """What the driver takes for its transport."""

    def __init__(self, transport: Any, guard: Guard) -> None:
        self.transport = transport
        self._guard = guard

    def write(self, data: bytes) -> None:
        """Send, if there is somebody to send to."""
        if self._guard.lets_out(data) and not self.transport.is_closing():  # asyncio would complain in its log
            self.transport.write(data)

    def close(self) -> None:
        """Send what is left, and close."""
        self._guard.is_over = True
        self.transport.close()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return the socket, or the TLS object."""
        return self.transport.get_extra_info(name, default)


class Guard(asyncio.Protocol):
    """Passes on to the driver what it may see. `is_over` once the line is lost, given up, or closed by the driver."""

    wire: Wire

    def __init__(self, loop: Sockets, driver: Any) -> None:
        self._loop = loop
        self.driver = driver
        self._packets = Packets()
        self._proxy_answer: bytes | None = None
        self._retired = False
        self.is_over = False

    def connection_made(self, transport: Any) -> None:
        """Take hold of the transport."""
        self.wire = Wire(transport, self)

    def half_an_answer(self) -> Exception | None:
        """Return what is wrong with a first answer that is not complete."""
        begun = self._packets.begun
        return NotOracle(f"that is not an Oracle listener (it answered {describe(begun)})") if begun else None

    def lets_out(self, data: bytes) -> bool:
        """Say whether what the driver sends is to go out."""
        if self.is_over:
            self._loop.call_soon(self._report_loss)  # the driver is about to wait for an answer
            return False
        if data.startswith(b"CONNECT "):
            self._proxy_answer = b""
        self._packets.asked(data)
        return True

    def data_received(self, data: bytes) -> None:
        """Pass on the packets that are complete, or give the line up."""
        if self.is_over:
            return
        try:
            self._loop.count(len(data))
            for packet in self._packets.feed(data) if self._proxy_answer is None else self._proxys(data):
                self.driver.data_received(packet)
        except Exception as fault:
            self._loop.fault = sense(fault)
            self.wire.transport.abort()
            self.connection_lost(fault)

    def _proxys(self, data: bytes) -> list[bytes]:
        """Return a proxy's answer once it is complete: the driver reads only what comes first."""
        answer = (self._proxy_answer or b"") + data
        if len(answer) > LONGEST_HEAD:
            raise NotOracle("the proxy's answer does not end")
        is_whole = b"\r\n\r\n" in answer or not answer.startswith(PROXY_SAYS[: len(answer)])
        self._proxy_answer = b"" if is_whole else answer
        return [answer] if is_whole else []

    def connection_lost(self, _error: Exception | None) -> None:
        """Wake whoever waits; the driver only during the login, because it then keeps its socket."""
        if not self._retired:
            self.is_over = True
            self._report_loss()

    def _report_loss(self) -> None:
        if self._loop.settled:
            self._loop.lost.set()
        else:
            self._loop.fault = self._loop.fault or self.half_an_answer()
            self.driver.connection_lost(None)

    def retire(self) -> Any:
        """Let nothing more through, tell nobody, and return the transport."""
        self.is_over = self._retired = True
        return self.wire.transport
