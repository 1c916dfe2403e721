"""Packets that may reach the driver: only complete ones of Oracle's network protocol with valid headers.

The thin driver trusts every length it reads. A length below 8 makes it loop until memory is exhausted, one of four
gigabytes makes it buffer that much, and a packet shorter than its type requires makes it read past the end. So this
module splits the bytes from the network into packets, and rejects a stream that is not Oracle's.
"""

from enum import IntEnum

from presman.base.text import clean, one_line

# ---- Other protocols, recognised by the first bytes of an answer


PREFIXES = (
    (b"HTTP/", "HTTP"),
    (b"SSH-", "SSH"),
    (b"\x15\x03", "TLS: write the address as tcps://host:port/service"),
    (b"\x16\x03", "TLS: write the address as tcps://host:port/service"),
    (b"-ERR", "Redis"),
    (b"-DENIED", "Redis"),
    (b"220 ", "SMTP or FTP"),
    (b"220-", "SMTP or FTP"),
    (b"+OK", "POP3"),
    (b"* OK", "IMAP"),
    (b"RFB ", "VNC"),
    (b"AMQP", "AMQP"),
)

FRAME = 8
"""The first bytes of an HTTP/2 frame: length (3), type, flags and most of the stream's number."""

SETTINGS, GOAWAY = 4, 7
"""The types of the frames that an HTTP/2 server sends first, on stream 0."""

SHOWN = 40


def looks_like(data: bytes) -> str:
    """Return the name of the other protocol whose answers begin like `data`, "" if none is recognized."""
    for prefix, name in PREFIXES:
        if data.startswith(prefix):
            return name
    if len(data) >= FRAME and data[0] == 0 and data[3] in {SETTINGS, GOAWAY} and not any(data[5:FRAME]):
        return "HTTP/2"
    # MySQL's first packet has the number 0 and its length, lowest byte first; then its protocol, 10, or 255 for an
    # error. PostgreSQL answers with an error (E) whose first field is the severity (S).
    if len(data) >= 6 and data[3] == 0 and data[4] in {10, 255} and 0 < int.from_bytes(data[:3], "little") < 1024:
        return "MySQL"
    if data[:1] == b"E" and data[5:6] == b"S" and data[6:11] in {b"FATAL", b"ERROR"}:
        return "PostgreSQL"
    return ""


def describe(data: bytes) -> str:
    """Return the beginning of an answer for display: its first line if it is text, else its first bytes."""
    try:
        text = data[:SHOWN].decode("ascii").splitlines()[0]
    except (UnicodeDecodeError, IndexError):
        text = ""
    if text and text.isprintable():
        return f'"{one_line(clean(text), SHOWN)}"'
    return f"{len(data)} bytes: {data[:HEX].hex(' ').upper()}"


HEX = 8
"""Bytes of a binary answer that are shown."""


# ---- The first message of a server: its protocol, character sets and capabilities


PROTOCOL = 1
"""The first byte of the message."""

COMPILED, AT_RUN_TIME = 41, 7
"""Least lengths of the two arrays of capabilities: the driver reads so far without a check. Real ones are longer."""

LONGEST = 16_384
"""Largest message in bytes; real ones have some hundred."""

DESCRIPTION = 11
"""Least bytes of the description before the arrays that the driver needs; an empty one makes it crash."""

ARRAY_IN_PARTS = 254
NOTHING = (0, 255)
"""In place of the length of an array: it comes in parts; there is none."""


class UnfitAnswer(ValueError):  # noqa: N818 - what is wrong with the answer
    """The driver must not receive this answer."""


class _Short(Exception):  # noqa: N818 - the rest is in the next packet
    pass


def is_whole(answer: bytes) -> bool:
    """Return whether an answer is complete, including the capabilities. Raises UnfitAnswer if it is invalid."""
    if answer[:1] != bytes([PROTOCOL]) or len(answer) > LONGEST:
        raise UnfitAnswer
    try:
        compiled, at = _array(answer, _behind_character_sets(answer))
        at_run_time, _ = _array(answer, at)
    except _Short:
        return False
    if compiled < COMPILED or at_run_time < AT_RUN_TIME:
        raise UnfitAnswer
    return True


def _behind_character_sets(answer: bytes) -> int:
    """Return the index of the arrays: they follow the banner, the elements of the character set, and a description."""
    end = answer.find(0, 3)
    if end < 0:
        raise _Short
    elements = end + 4
    description = elements + 2 + 5 * int.from_bytes(_cut(answer, elements, 2), "little")
    size = int.from_bytes(_cut(answer, description, 2), "big")
    if size < DESCRIPTION:
        raise UnfitAnswer
    return description + 2 + size


def _array(answer: bytes, at: int) -> tuple[int, int]:
    """Return the length of the array at `at`, and the index of its end. Raises UnfitAnswer if it is chunked."""
    size = _cut(answer, at, 1)[0]
    if size in NOTHING or size >= ARRAY_IN_PARTS:
        raise UnfitAnswer
    _cut(answer, at + 1, size)
    return size, at + 1 + size


def _cut(answer: bytes, at: int, size: int) -> bytes:
    if at + size > len(answer):
        raise _Short
    return answer[at : at + size]


# ---- The first message of an answer with rows: the number of their columns


COLUMNS = 16
"""The first byte of the message."""

MOST_COLUMNS = 4_096
"""Largest number of columns in any release; the driver allocates lists of the given size before it reads any column."""


def columns_of(packet: bytes) -> int:
    """Return the number of columns in the answer that begins with `packet`, 0 if it has no rows.

    Raises UnfitAnswer if the packet ends before that number: packets of real servers never do.
    """
    if packet[PAYLOAD : PAYLOAD + 1] != bytes([COLUMNS]):
        return 0
    try:
        _, at = _number(packet, _behind_bytes(packet, PAYLOAD + 1))  # the size of a row
        return _number(packet, at)[0]
    except _Short:
        raise UnfitAnswer from None


def _behind_bytes(packet: bytes, at: int) -> int:
    """Return the index of the end of a byte string, which is either in one piece or in chunks up to an empty one."""
    size = _cut(packet, at, 1)[0]
    if size != ARRAY_IN_PARTS:
        return at + 1 + size
    part, at = _number(packet, at + 1)
    while part:
        part, at = _number(packet, at + part)
    return at


def _number(packet: bytes, at: int) -> tuple[int, int]:
    """Return the number at `at`, which follows its length, and the index of its end."""
    size = _cut(packet, at, 1)[0]
    return int.from_bytes(_cut(packet, at + 1, size), "big"), at + 1 + size


# ---- Packets that may reach the driver: only complete ones of Oracle's network protocol with valid headers


HEADER = 8
LARGEST = 2_097_152
"""Largest packet in bytes: the maximum session data unit."""

SMALLEST_SDU = 512
"""Smallest session data unit in bytes (Net Services Reference)."""
WIDE_SINCE = 315
"""The protocol version from which lengths have four bytes after the ACCEPT; the oldest that the driver supports."""

FLAGS_SINCE = 318
"""The protocol version from which the driver reads flags after the packet size."""


class PacketType(IntEnum):
    """The types of packets that a server sends."""

    ACCEPT = 2
    REFUSE = 4
    REDIRECT = 5
    DATA = 6
    NULL = 7
    RESEND = 11
    MARKER = 12
    CONTROL = 14


GREETINGS = frozenset({PacketType.ACCEPT, PacketType.REFUSE, PacketType.REDIRECT, PacketType.RESEND})
"""The packets that a listener's answer may begin with."""

ANSWERS = frozenset({PacketType.DATA, PacketType.MARKER, PacketType.CONTROL, PacketType.REFUSE, PacketType.NULL})
"""The packets that may arrive after the connection is accepted."""

SHORTEST = {
    PacketType.REFUSE: 12,
    PacketType.REDIRECT: 10,
    PacketType.DATA: 10,
    PacketType.MARKER: 11,
    PacketType.CONTROL: 10,
}
"""Least bytes of a packet by type; for other types, those of the header."""

PAYLOAD = 10
"""The index of the messages in a DATA packet: they follow the header and flags."""

LAST_OF_ANSWER = 0x2040
"""The last DATA packet of an answer has one of these two flags. In a pipeline another answer follows."""

DATA = bytes([PacketType.DATA])
INTRODUCTIONS = (b"\1", b"\x22")
"""First bytes of the messages that request a server's description: alone, or together with the login."""

ACCEPT_SIZES, ACCEPT_FLAGS = 36, 45
"""Length of an ACCEPT with packet sizes, and of one that also has flags."""


class NotOracle(ConnectionError):  # noqa: N818 - what is wrong with the other side
    """The answer is not Oracle's protocol; the text describes it."""


class Packets:
    """Splits a stream into packets. `feed` takes received bytes, `asked` those that the client sent."""

    def __init__(self) -> None:
        self._rest = b""
        self._wide = self._is_oracle = self._more = self._knows_server = False
        self._may_speak = self._begins_answer = True
        self._introduction: bytes | None = None

    @property
    def begun(self) -> bytes:
        """The received bytes while no packet is complete yet; b"" after that."""
        return b"" if self._is_oracle else self._rest

    def asked(self, data: bytes = b"") -> None:
        """Note that the client has sent a packet, so that an answer may follow."""
        self._may_speak = self._begins_answer = True
        if not self._knows_server and data[4:5] == DATA and data[PAYLOAD : PAYLOAD + 1] in INTRODUCTIONS:
            self._introduction = b""

    def feed(self, data: bytes) -> list[bytes]:
        """Return the packets that are now complete. Raises NotOracle; after that the stream must not be used."""
        data = self._rest + data if self._rest else data
        if not self._is_oracle and (stranger := looks_like(data)):
            raise NotOracle(f"that is not an Oracle listener (it answered like {stranger})")
        found = []
        at, end = 0, len(data)
        while end - at >= HEADER:
            size = int.from_bytes(data[at : at + (4 if self._wide else 2)], "big")
            self._check(data, at, size)
            if end - at < size:
                break
            packet = data[at : at + size] if size < end or at else data  # mostly it is all there is: no copy
            if self._accept(packet):
                found.append(packet)
            at += size
        self._rest = data[at:] if at else data
        return found

    def _check(self, data: bytes, at: int, size: int) -> None:
        """Raise NotOracle if the header at `at` is invalid in the current state."""
        kind = data[at + 4]
        allowed = ANSWERS if self._wide else GREETINGS | {PacketType.DATA} if self._more else GREETINGS
        sane = SHORTEST.get(kind, HEADER) <= size <= LARGEST  # type: ignore[call-overload]
        if kind in allowed and sane and self._may_speak:
            return
        if not self._is_oracle:
            raise NotOracle(f"that is not an Oracle listener (it answered {describe(data)})")
        if not self._may_speak:
            raise NotOracle("the server sends data before the client asks: that is not Oracle's protocol")
        raise NotOracle(f"the server sent a packet of type {kind} and {size} bytes: that is not Oracle's protocol")

    def _accept(self, packet: bytes) -> bool:
        """Update the state after a packet; return False if the driver does not need it."""
        kind = packet[4]
        if kind == PacketType.ACCEPT:
            _check_accept(packet)
            self._wide = True
            self._may_speak = False  # the driver switches to wide lengths only when it has processed the ACCEPT
        elif kind == PacketType.DATA and self._introduction is not None:
            self._introduce(packet)
        elif kind == PacketType.DATA:
            self._begin_answer(packet)
        self._is_oracle = True
        self._more = kind in {PacketType.REFUSE, PacketType.REDIRECT}  # the text may follow in a separate packet
        return kind != PacketType.NULL

    def _begin_answer(self, packet: bytes) -> None:
        """Check the number of columns in the first packet of each answer. Raises NotOracle."""
        try:
            if self._begins_answer and columns_of(packet) > MOST_COLUMNS:
                raise UnfitAnswer
        except UnfitAnswer:
            raise NotOracle("the server answers with more columns than Oracle Database has") from None
        self._begins_answer = bool(int.from_bytes(packet[HEADER:PAYLOAD], "big") & LAST_OF_ANSWER)

    def _introduce(self, packet: bytes) -> None:
        """Check the server's description of itself once it is complete. Raises NotOracle."""
        self._introduction = (self._introduction or b"") + packet[PAYLOAD:]
        try:
            if is_whole(self._introduction):
                self._knows_server, self._introduction = True, None
        except UnfitAnswer:
            raise NotOracle("the server does not describe itself as an Oracle database does") from None


def _check_accept(packet: bytes) -> None:
    """Raise NotOracle if an ACCEPT is too short for its version, or its packet size is out of range."""
    version = int.from_bytes(packet[8:10], "big")
    if len(packet) < (ACCEPT_FLAGS if version >= FLAGS_SINCE else ACCEPT_SIZES if version >= WIDE_SINCE else 10):
        raise NotOracle(f"the listener's answer ends after {len(packet)} bytes: that is not Oracle's protocol")
    size = int.from_bytes(packet[32:36], "big")
    if version >= WIDE_SINCE and not SMALLEST_SDU <= size <= LARGEST:
        raise NotOracle(f"the listener wants packets of {size} bytes: that is not Oracle's protocol")
