"""Ports where no Oracle listens: one line, at once, and no harm."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.base.secret import Secret
from presman.sources import SourceError
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.packets import NotOracle, Packets, UnfitAnswer, describe, is_whole, looks_like
from presman.sources.oracle.settings import ConnectSettings
from tests.oracle.bench import Bench

Answer = Callable[[socket.socket], None]

GREETINGS = {
    "like HTTP": b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
    "like HTTP/2": bytes.fromhex("000012040000000000 000300000064 000400010000 000600004000"),
    "like SSH": b"SSH-2.0-OpenSSH_9.6\r\n",
    "like TLS: write the address as tcps://host:port/service": bytes.fromhex("15030100020246"),
    "like MySQL": bytes.fromhex("4a0000000a") + b"8.0.36\0" + bytes(64),
    "like PostgreSQL": b"E\0\0\0\x8dSFATAL\0VFATAL\0C0A000\0Munsupported frontend protocol\0\0",
    "like Redis": b"-ERR unknown command '\x01', with args beginning with: \r\n",
    "like SMTP or FTP": b"220 mail.example.com ESMTP\r\n",
    "like POP3": b"+OK ready\r\n",
    "like IMAP": b"* OK IMAP4rev1 ready\r\n",
    "like VNC": b"RFB 003.008\n",
    "like AMQP": b"AMQP\0\0\x09\x01",
    '"hello, who is there?"': b"hello, who is there?\r\nwho?\r\n",
    "16 bytes: 30 0C 02 01 01 61 07 0A": bytes.fromhex("300c02010161070a010004000400ffff"),
    "10 bytes: 00 0A 00 00 63 00 00 00": bytes.fromhex("000a00006300000000ff"),
    "8 bytes: 00 07 00 00 02 00 00 00": bytes.fromhex("0007000002000000"),
}
"""The name in the error line, and the greeting that it comes from."""


@contextmanager
def port(answer: Answer, *, speaks_first: bool) -> Iterator[int]:
    """Listen on the loopback interface; each client gets the answer, and then nothing until it disconnects."""
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, suppress(OSError):
                    if not speaks_first:
                        client.recv(65_536)
                    answer(client)
                    while client.recv(65_536):
                        pass

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield int(listener.getsockname()[1])
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(60)


def refused(dsn: str, connect_timeout: float = 60.0) -> str:
    """Return the one error line of a connection, which must come long before its timeout."""
    settings = ConnectSettings(dsn, "presman", Secret("presman"))
    begun = time.monotonic()
    with pytest.raises(SourceError) as caught:
        OracleSource(settings, connect_timeout=connect_timeout).open()
    assert time.monotonic() - begun < 30
    assert caught.value.retry
    return str(caught.value)


ANOTHER = (
    " - something other than Oracle listens on that port. `lsnrctl status` on the database's host names the listener's."
)


@pytest.mark.parametrize("speaks_first", [True, False])
@pytest.mark.parametrize("name", GREETINGS)
def test_the_other_protocol_is_named(name: str, speaks_first: bool) -> None:
    with port(lambda client: client.sendall(GREETINGS[name]), speaks_first=speaks_first) as number:
        assert refused(f"127.0.0.1:{number}/x") == f"that is not an Oracle listener (it answered {name}){ANOTHER}"


def test_an_answer_that_comes_byte_by_byte() -> None:
    def drip(client: socket.socket) -> None:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in GREETINGS["like HTTP/2"]:
            client.sendall(bytes([byte]))

    with port(drip, speaks_first=False) as number:
        assert "it answered like HTTP/2" in refused(f"127.0.0.1:{number}/x")


def test_silence_ends_with_the_connect_timeout() -> None:
    with port(lambda _client: None, speaks_first=False) as number:
        message = refused(f"127.0.0.1:{number}/x", 0.2)
        assert message.startswith(f"127.0.0.1:{number}: no answer within 0.2 s - a firewall drops the packets")


def test_half_an_answer_is_reported_at_the_timeout() -> None:
    with port(lambda client: client.sendall(b"N"), speaks_first=False) as number:
        assert refused(f"127.0.0.1:{number}/x", 2.0) == f'that is not an Oracle listener (it answered "N"){ANOTHER}'


def test_a_server_that_hangs_up_at_once() -> None:
    with port(lambda client: client.shutdown(socket.SHUT_RDWR), speaks_first=False) as number:
        assert "DPY-4011: the database or network closed the connection" in refused(f"127.0.0.1:{number}/x")


def test_an_answer_that_never_ends() -> None:
    """A stream of large packets, which the driver would collect: reading stops at the limit of an answer."""

    def flood(client: socket.socket) -> None:
        while True:
            client.sendall(bytes.fromhex("ffff000004000000") + bytes(65_527))

    with port(flood, speaks_first=False) as number:
        text = refused(f"127.0.0.1:{number}/x")
        assert "DPY-6000" in text or "DPY-6005" in text or "MB" in text


def test_a_listener_is_not_taken_for_a_stranger_with_a_second_address(bench: Bench) -> None:
    """The first of two addresses is not Oracle: the driver tries the second."""
    with port(lambda client: client.sendall(GREETINGS["like SSH"]), speaks_first=True) as number:
        addresses = "".join(
            f"(ADDRESS=(PROTOCOL=tcp)(HOST=127.0.0.1)(PORT={each}))" for each in (number, bench.server.port)
        )
        dsn = f"(DESCRIPTION=(ADDRESS_LIST={addresses})(CONNECT_DATA=(SERVICE_NAME=presman)))"
        assert bench.source(dsn=dsn).open().major == bench.release.major


# -- TLS ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["like SSH", "like HTTP", "like MySQL"])
def test_tls_where_another_protocol_is_spoken(name: str) -> None:
    with port(lambda client: client.sendall(GREETINGS[name]), speaks_first=True) as number:
        assert refused(f"tcps://127.0.0.1:{number}/x").endswith(
            "that port does not speak TLS. Write the address without tcps://, or the port that has TLS."
        )


# -- packets --------------------------------------------------------------------------------------------------------

ACCEPT = bytes.fromhex("002d0000 02000000 013f 0000 2000 ffff 0001 0000 002d 0404 0000000000000000")
ACCEPT += bytes.fromhex("00002000 0000ffff 00 12000000")
"""An ACCEPT of 45 bytes for version 319 and packets of 8,192 bytes."""


def data(size: int = 10, body: bytes = b"") -> bytes:
    return size.to_bytes(4, "big") + b"\6\0\0\0\0\0" + body


def accepted() -> Packets:
    """Return a stream whose client has been accepted and has sent a packet."""
    packets = Packets()
    assert packets.feed(ACCEPT) == [ACCEPT]
    packets.asked()
    return packets


def test_packets_come_whole_however_the_bytes_come() -> None:
    sent = [data(), data(13, b"abc"), bytes.fromhex("0000000b 0c000000 010001"), data(8192, bytes(8182))]
    stream = b"".join(sent)
    for size in (1, 7, 8, 9, 100, 8191, len(stream)):
        packets = accepted()
        came = [packet for at in range(0, len(stream), size) for packet in packets.feed(stream[at : at + size])]
        assert came == sent


@pytest.mark.parametrize(
    "answer",
    [
        ACCEPT,
        bytes.fromhex("000c0000 04000000 22000000"),
        bytes.fromhex("000a0000 05000000 0010") + bytes.fromhex("001a0000 06000000 0000") + bytes(16),
        bytes.fromhex("00080000 0b080000"),
    ],
    ids=["accept", "refuse", "redirect and its data", "resend"],
)
def test_a_listener_may_answer(answer: bytes) -> None:
    assert b"".join(Packets().feed(answer)) == answer


def changed(packet: bytes, at: int, value: str) -> bytes:
    new = bytes.fromhex(value)
    return packet[:at] + new + packet[at + len(new) :]


@pytest.mark.parametrize(
    "answer",
    [
        bytes(8),
        bytes.fromhex("00070000 04000000"),
        bytes.fromhex("00080000 04000000"),
        bytes.fromhex("00080000 06000000"),
        bytes.fromhex("000a0000 06000000 0000"),
        bytes.fromhex("00080000 0c000000"),
        changed(ACCEPT, 0, "001c"),
        changed(ACCEPT, 32, "ffffffff"),
        changed(ACCEPT, 32, "00000000"),
        ACCEPT + data(),
    ],
    ids=["length 0", "length 7", "refuse without a text", "empty data", "data", "marker", "short accept",
         "packets of four gigabytes", "packets of no bytes", "data before it is asked for"],
)  # fmt: skip
def test_a_listener_may_not_answer(answer: bytes) -> None:
    with pytest.raises(NotOracle):
        Packets().feed(answer)


@pytest.mark.parametrize(
    "packet",
    [
        bytes(8),
        data(7),
        data(9),
        data(2_097_153),
        bytes.fromhex("ffffffff 06000000 0000"),
        bytes.fromhex("0000000a 0c000000 0100"),
        bytes.fromhex("00000009 0e000000 00"),
        bytes.fromhex("0000000a 02000000 0000"),
        bytes.fromhex("0000000a 63000000 0000"),
        b"HTTP/1.1 400 Bad Request",
    ],
    ids=["length 0", "length 7", "no flags", "larger than any", "four gigabytes", "half a marker", "half a control",
         "accept again", "type 99", "text"],
)  # fmt: skip
def test_a_session_may_not_go_on(packet: bytes) -> None:
    packets = accepted()
    packets.feed(data())
    with pytest.raises(NotOracle, match="that is not Oracle's protocol"):
        packets.feed(packet)


def test_a_packet_that_carries_nothing_is_left_out() -> None:
    packets = accepted()
    assert packets.feed(bytes.fromhex("0000000a 07000000 0000") + data()) == [data()]


@given(st.binary(max_size=300), st.booleans())
def test_no_bytes_make_it_fail_otherwise(came: bytes, late: bool) -> None:
    """For any bytes, packets are valid or the stream is refused; the rest is shorter than the input."""
    packets = accepted() if late else Packets()
    try:
        found = packets.feed(came)
    except NotOracle:
        return
    assert all(len(packet) >= 8 for packet in found)
    assert b"".join(found) in came or b"\7" in came


@given(st.binary(max_size=100))
def test_any_answer_can_be_described(came: bytes) -> None:
    assert looks_like(came).isprintable()
    assert describe(came).isprintable()


# -- capabilities of a server -----------------------------------------------------------------------------------------


def introduction(compiled: int = 60, at_run_time: int = 12, elements: int = 0) -> bytes:
    """Return the answer to the first request; the arrays have that many bytes."""
    sets = b"\x69\x03\1" + elements.to_bytes(2, "little") + bytes(5 * elements)
    arrays = b"".join(bytes([size]) + bytes(size) for size in (compiled, at_run_time))
    return b"\1\6\0" + b"Linux x86_64\0" + sets + b"\0\x0b" + bytes(11) + arrays


@pytest.mark.parametrize(
    "answer", [introduction(), introduction(41, 7), introduction(elements=3), introduction() + b"x"]
)
def test_capabilities_that_are_long_enough(answer: bytes) -> None:
    assert is_whole(answer)
    whole = len(answer.removesuffix(b"x"))
    assert not any(is_whole(answer[:size]) for size in range(1, whole))


@pytest.mark.parametrize("answer", [introduction(40), introduction(60, 6), introduction(0), introduction(255), b"\2"])
def test_capabilities_that_the_driver_would_read_past(answer: bytes) -> None:
    with pytest.raises(UnfitAnswer):
        is_whole(answer)


def test_an_empty_description_that_would_crash_the_driver() -> None:
    """An empty description crashes the driver with SIGSEGV, so it is refused before the rest of the answer comes."""
    packets = accepted()
    packets.asked(data(11, b"\1"))
    whole = introduction()
    without = whole[: whole.index(b"\0\x0b")] + b"\0\0"
    with pytest.raises(NotOracle, match="the server does not describe itself"):
        packets.feed(data(10 + len(without), without))


@pytest.mark.parametrize("start", [b"\1", b"\x22"])
def test_a_bad_description_is_stopped_before_the_driver_gets_it(start: bytes) -> None:
    """The 51 bytes come in two packets: the second, which completes them, is not passed on."""
    packets = accepted()
    packets.asked(data(11, start))
    answer = introduction(6, 6)
    assert packets.feed(data(30, answer[:20]))
    with pytest.raises(NotOracle, match="the server does not describe itself"):
        packets.feed(data(10 + len(answer) - 20, answer[20:]))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\0\0\x06\x04\0\0\0\0", "HTTP/2"),
        (b"\0\0\x06\x07\x01\0\0\0", "HTTP/2"),
        (b"\0\0\x06\x04\0\x01\0\0", ""),  # another protocol: a packet of Oracle's has its length there
        (b"\0\0\x06\x04\0\0\0\x01", ""),
        (b"\0\0\x06\x04\0\0\0", ""),
        (b"\0\0\x06\x05\0\0\0\0", ""),
        (b"\x4a\0\0\0\x0a8", "MySQL"),
        (b"\x4a\0\0\0\x0b8", ""),
        (b"\0\x04\0\0\x0a8", ""),  # 1,024 bytes are no greeting
        (b"E\0\0\0\x50SFATAL\0", "PostgreSQL"),
        (b"E\0\0\0\x50SNOTICE", ""),
    ],
)
def test_protocols_are_recognised_by_their_first_bytes(data: bytes, name: str) -> None:
    assert looks_like(data) == name


# -- columns ----------------------------------------------------------------------------------------------------------


def described(columns: str, before: bytes = b"\x02ab\x01\x10") -> bytes:
    """Return the first packet of an answer: 16, a text, the size of a row, the encoded number of columns."""
    body = b"\x10" + before + bytes.fromhex(columns)
    return data(10 + len(body), body)


def test_an_answer_has_the_columns_that_there_can_be() -> None:
    for answer in (described("00"), described("0101"), described("021000"), described("0101", b"\xfe\1\2ab\1\1c\0\0")):
        assert accepted().feed(answer) == [answer]


@pytest.mark.parametrize(
    "answer",
    [described("021001"), described("03100000"), described("0406000000"), described("04ffffffff"),
     described("021001", b"\xfe\1\2ab\0\0"), described("", b"\x02ab\x01"), data(11, b"\x10")],
    ids=["one more", "a million", "gigabytes", "the largest number", "behind parts", "half", "nothing"],
)  # fmt: skip
def test_an_answer_of_columns_that_the_driver_would_make_lists_of_is_refused(answer: bytes) -> None:
    """The driver allocates 24 bytes for each of them before it reads the first."""
    with pytest.raises(NotOracle, match="more columns than Oracle Database has"):
        accepted().feed(answer)


def test_only_the_beginning_of_an_answer_says_how_many_columns_it_has() -> None:
    """A continuation packet may begin with any byte; in a pipeline another answer follows directly."""
    packets, huge = accepted(), described("04ffffffff")
    assert packets.feed(described("0101") + huge) == [described("0101"), huge]
    packets.asked()
    with pytest.raises(NotOracle):
        packets.feed(huge)
    packets = accepted()
    last = bytearray(described("0101"))
    last[8] = 0x20
    with pytest.raises(NotOracle):
        packets.feed(bytes(last) + huge)
