"""Packing of numbers and texts into bytes and back; what is read is bounded, because it may come from a stranger."""

from __future__ import annotations

import struct

MOST_ITEMS = 4_000_000
"""Items that one count may announce: more than any poll has rows."""

_DOUBLE = struct.Struct("<d")


class DamagedError(ValueError):
    """Bytes that no recorder wrote; the text says in a few words what does not fit."""


class Room:
    """What a chain of polls may still unfold to: a stranger's may say little and mean gigabytes.

    Real ones have 256 polls, 6 MB (packed half a one), unless a single poll is larger, 500 texts and 25,000 parts.
    """

    def __init__(self) -> None:
        self.left = {"packed bytes": 33 << 20, "bytes": 32 << 20, "polls": 10_000, "texts": 250_000, "parts": 250_000}

    def take(self, many: int, what: str) -> None:
        """Take some of what is left. Raises DamagedError where there are fewer."""
        self.left[what] -= many
        if self.left[what] < 0:
            raise DamagedError(f"it unfolds to more {what} than a recorder writes")


class Packer:
    """Bytes being written."""

    def __init__(self) -> None:
        self.bytes = bytearray()

    def count(self, value: int) -> None:
        """Write a number from 0 on, seven bits a byte."""
        while value > 0x7F:
            self.bytes.append(value & 0x7F | 0x80)
            value >>= 7
        self.bytes.append(value)

    def signed(self, value: int) -> None:
        """Write a number of either sign, of any size."""
        self.count(value << 1 if value >= 0 else (-value << 1) - 1)

    def double(self, value: float) -> None:
        """Write a float as it is."""
        self.bytes += _DOUBLE.pack(value)

    def blob(self, value: bytes | bytearray) -> None:
        """Write bytes and how many."""
        self.count(len(value))
        self.bytes += value

    def text(self, value: str) -> None:
        """Write a text."""
        self.blob(value.encode("utf-8", "surrogatepass"))


class Unpacker:
    """Bytes being read. Every method raises DamagedError where they end early or make no sense."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._place = 0

    def __bool__(self) -> bool:
        return self._place < len(self._content)

    def count(self, most: int = MOST_ITEMS) -> int:
        """Read a number from 0 to `most`."""
        place = self._place
        value = self._content[place] if place < len(self._content) else 0x80
        if value < 0x80:
            self._place = place + 1
        else:
            value = self._number(70)
        if value > most:
            raise DamagedError(f"a count of {value:,}")
        return value

    def signed(self) -> int:
        """Read a number of either sign, of up to 69 bits: as large as any counter of Oracle, or as two differ."""
        value = self._number(63)
        return value >> 1 if not value & 1 else -(value >> 1) - 1

    def _number(self, bits: int) -> int:
        value = shift = 0
        place, content = self._place, self._content
        try:
            while True:
                byte = content[place]
                place += 1
                value |= (byte & 0x7F) << shift
                if byte < 0x80:
                    self._place = place
                    return value
                shift += 7
                if shift > bits:
                    raise DamagedError("a number without end")
        except IndexError:
            raise DamagedError("it ends too early") from None

    def double(self) -> float:
        """Read a float."""
        found: float = _DOUBLE.unpack(self.take(8))[0]
        return found

    def take(self, length: int) -> bytes:
        """Read so many bytes."""
        end = self._place + length
        if length < 0 or end > len(self._content):
            raise DamagedError("it ends too early")
        found = self._content[self._place : end]
        self._place = end
        return found

    def blob(self) -> bytes:
        """Read bytes that tell how many they are."""
        return self.take(self.count(len(self._content)))

    def text(self) -> str:
        """Read a text."""
        try:
            return self.blob().decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise DamagedError("a text that is none") from None
