"""Byte stream of TTC, Oracle's call protocol: integers, length-prefixed bytes and column values.

`ub` and `sb` are integers after their length; `clr` is bytes after their length, `dlc` the same with the length
given twice. NUMBER, DATE and TIMESTAMP have encodings of their own.
"""

from __future__ import annotations

from datetime import datetime
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

NULL_LENGTHS = (0, 255)
LONG_LENGTH = 254
SHORTEST_LONG = 253
CHUNK = 32_767


class NeedMore(Exception):  # noqa: N818 - not an error: the next packet holds the rest
    """The bytes received so far do not hold the whole field."""


class Dialect(NamedTuple):
    """What client and server agreed on at login: which fields messages have, and how they are encoded.

    `version` is the field version; `counted` means that the client's texts come after their length; `packed`, that
    the smallest signed integers are sent as `sb` and not as one byte; `marked`, that answers end in a mark.
    """

    version: int = 0
    counted: bool = True
    packed: bool = False
    marked: bool = False


class Reader:
    """Reads fields from the bytes received so far; raises NeedMore when they end too early."""

    def __init__(self, data: bytes | bytearray, dialect: Dialect | None = None) -> None:
        self.data = data
        self.at = 0
        self.dialect = dialect or Dialect()

    @property
    def version(self) -> int:
        """The field version of the messages."""
        return self.dialect.version

    def raw(self, size: int) -> bytes:
        """Read `size` bytes."""
        end = self.at + size
        if end > len(self.data):
            raise NeedMore
        found = bytes(self.data[self.at : end])
        self.at = end
        return found

    def u8(self) -> int:
        """Read one byte."""
        return self.raw(1)[0]

    def u16(self) -> int:
        """Read two bytes."""
        return int.from_bytes(self.raw(2), "big")

    def ub(self) -> int:
        """Read an unsigned integer of variable length."""
        return int.from_bytes(self.raw(self.u8()), "big")

    def sb(self) -> int:
        """Read a signed integer of variable length."""
        size = self.u8()
        value = int.from_bytes(self.raw(size & 0x7F), "big")
        return -value if size & 0x80 else value

    def clr(self) -> bytes | None:
        """Read bytes after their length; None for null."""
        size = self.u8()
        if size in NULL_LENGTHS:
            return None
        if size != LONG_LENGTH:
            return self.raw(size)
        chunks = []
        while chunk := self.ub():
            chunks.append(self.raw(chunk))
        return b"".join(chunks)

    def text(self, size: int) -> str:
        """Read a text whose size is known; some clients repeat the size in front of it."""
        data = (self.clr() or b"") if self.dialect.counted else self.raw(size)
        return data.decode(errors="replace")

    def dlc(self) -> bytes:
        """Read bytes whose length is given twice."""
        return (self.clr() or b"") if self.ub() else b""

    def until_nul(self) -> bytes:
        """Read up to a zero byte, and skip that."""
        end = self.data.find(0, self.at)
        if end < 0:
            raise NeedMore
        found = bytes(self.data[self.at : end])
        self.at = end + 1
        return found

    def shape(self, fields: str) -> None:
        """Skip fields that are not used: ``1`` one byte, ``u`` a ub, ``d`` a dlc."""
        skip = {"1": self.u8, "u": self.ub, "d": self.dlc}
        for name in fields:
            skip[name]()


class Writer:
    """Builds a message."""

    def __init__(self) -> None:
        self.data = bytearray()

    def raw(self, data: bytes) -> Writer:
        """Append bytes unchanged."""
        self.data += data
        return self

    def u8(self, *values: int) -> Writer:
        """Append single bytes."""
        self.data += bytes(values)
        return self

    def u16(self, *values: int) -> Writer:
        """Append two-byte integers."""
        for value in values:
            self.data += value.to_bytes(2, "big")
        return self

    def ub(self, *values: int) -> Writer:
        """Append unsigned integers of variable length."""
        for value in values:
            size = (value.bit_length() + 7) // 8
            self.data.append(size)
            self.data += value.to_bytes(size, "big")
        return self

    def sb(self, value: int) -> Writer:
        """Append a signed integer of variable length."""
        start = len(self.data)
        self.ub(abs(value))
        if value < 0:
            self.data[start] |= 0x80
        return self

    def clr(self, data: bytes | None) -> Writer:
        """Append bytes after their length; None and no bytes are both null, as in Oracle."""
        if not data:
            self.data.append(0)
        elif len(data) < SHORTEST_LONG:
            self.data.append(len(data))
            self.data += data
        else:
            self.data.append(LONG_LENGTH)
            for start in range(0, len(data), CHUNK):
                chunk = data[start : start + CHUNK]
                self.ub(len(chunk)).raw(chunk)
            self.data.append(0)
        return self

    def dlc(self, data: bytes) -> Writer:
        """Append bytes whose length is given twice."""
        self.ub(len(data))
        return self.clr(data) if data else self


@lru_cache(maxsize=10_000)
def encode_number(value: int | float | str | Decimal) -> bytes:
    """Encode a NUMBER: base-100 digits after an exponent byte, at most 20 of them."""
    sign, digits, exponent = Decimal(str(value)).as_tuple()
    number = "".join(map(str, digits)).lstrip("0")
    if not number or not isinstance(exponent, int):
        return b"\x80"
    if exponent % 2:
        number, exponent = number + "0", exponent - 1
    number = number.zfill(len(number) + len(number) % 2)
    first = (len(number) + exponent) // 2 - 1
    pairs = [int(number[i : i + 2]) for i in range(0, len(number), 2)][:20]
    while pairs[-1] == 0:
        pairs.pop()
    if not sign:
        return bytes([193 + first, *(pair + 1 for pair in pairs)])
    tail = [102] if len(pairs) < 20 else []
    return bytes([62 - first, *(101 - pair for pair in pairs), *tail])


def decode_number(data: bytes) -> int | float:
    """Decode a NUMBER: an int when it is whole, else a float."""
    if data == b"\x80":
        return 0
    positive = data[0] >= 128
    exponent = data[0] - 193 if positive else 62 - data[0]
    digits = data[1:] if positive or data[-1] != 102 else data[1:-1]
    pairs = "".join(f"{digit - 1 if positive else 101 - digit:02}" for digit in digits)
    value = Decimal(f"{'' if positive else '-'}{pairs}E{2 * (exponent - len(digits) + 1)}")
    return int(value) if value == value.to_integral_value() else float(value)


def encode_date(when: datetime) -> bytes:
    """Encode a DATE: seven bytes, no fraction."""
    return bytes(
        [
            when.year // 100 + 100,
            when.year % 100 + 100,
            when.month,
            when.day,
            when.hour + 1,
            when.minute + 1,
            when.second + 1,
        ]
    )


def encode_timestamp(when: datetime) -> bytes:
    """Encode a TIMESTAMP: a DATE and nanoseconds."""
    return encode_date(when) + (when.microsecond * 1000).to_bytes(4, "big")


def decode_date(data: bytes) -> datetime:
    """Decode a DATE or a TIMESTAMP."""
    year = (data[0] - 100) * 100 + data[1] - 100
    fraction = int.from_bytes(data[7:11], "big") // 1000 if len(data) >= 11 else 0
    return datetime(year, data[2], data[3], data[4] - 1, data[5] - 1, data[6] - 1, fraction)
