"""Whole numbers as arrays of the least width that holds them, byte planes apart so that they compress."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Any

from presman.codec.packing import DamagedError, Packer, Unpacker

_WIDTHS = {1: "b", 2: "h", 4: "i", 8: "q"}
_LIMITS = tuple((width, -(1 << (8 * width - 1)), (1 << (8 * width - 1)) - 1) for width in _WIDTHS)
_ZERO, _CONSTANT, _ANY = 0, 3, 9


def pack_numbers(numbers: Sequence[int], packer: Packer) -> None:
    """Write numbers; how many is known to the reader."""
    low, high = (min(numbers), max(numbers)) if numbers else (0, 0)
    if low == high:
        packer.count(_CONSTANT if low else _ZERO)
        if low:
            packer.signed(low)
        return
    for width, least, most in _LIMITS:
        if least <= low and high <= most:
            packer.bytes.append(width)
            packer.bytes += planes(array(_WIDTHS[width], numbers))
            return
    packer.count(_ANY)
    for number in numbers:
        packer.signed(number)


def unpack_numbers(count: int, unpacker: Unpacker) -> Sequence[int]:
    """Read `count` numbers. Raises DamagedError."""
    width = unpacker.count(_ANY)
    if width in _WIDTHS:
        return from_planes(_WIDTHS[width], count, unpacker)
    if width == _ZERO:
        return (0,) * count
    if width == _CONSTANT:
        return (unpacker.signed(),) * count
    if width == _ANY:
        return [unpacker.signed() for _ in range(count)]
    raise DamagedError(f"numbers of {width} bytes")


def planes(numbers: array[Any]) -> bytes:
    """Return an array's bytes, little end first, the first of each number, then the second of each, ..."""
    if sys.byteorder == "big":
        numbers = numbers[:]
        numbers.byteswap()
    content, width = numbers.tobytes(), numbers.itemsize
    return content if width == 1 else b"".join(content[plane::width] for plane in range(width))


def from_planes(typecode: str, count: int, unpacker: Unpacker) -> array[Any]:
    """Read an array of `count` numbers. Raises DamagedError."""
    found = array(typecode)
    width = found.itemsize
    mixed = unpacker.take(count * width)
    if width == 1:
        found.frombytes(mixed)
        return found
    content = bytearray(count * width)
    for plane in range(width):
        content[plane::width] = mixed[plane * count : (plane + 1) * count]
    found.frombytes(content)
    if sys.byteorder == "big":
        found.byteswap()
    return found
