"""Columns: the values of one field over all rows, as what changed since the column before."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from itertools import compress
from math import isfinite
from operator import add, sub
from types import NoneType
from typing import Any

from presman.codec.number_arrays import from_planes, pack_numbers, planes, unpack_numbers
from presman.codec.packing import DamagedError, Packer, Unpacker
from presman.codec.values import instant, microseconds, pack_value, unpack_value

Column = Sequence[Any]

_INTS, _RAW, _SCALED, _TEXTS, _INSTANTS, _ANY, _SECONDS = range(7)
_WITH_NULLS = 8
_SCALES = (1, 100, 10_000, 1_000_000)
_LARGEST = 1 << 53
"""Up to this a float holds whole numbers exactly."""
_LEAST, _MOST = 1e-20, 1e20
"""The second is a little more than the largest number of 64 bits."""


def pack_column(column: Column, base: Column, number_of: Callable[[str], int]) -> bytes:
    """Return a column as its difference to `base`, of as many rows (None where a row is new).

    `number_of` gives the number of a text in the dictionary, from 0 on.
    """
    packer = Packer()
    kinds = set(map(type, column))
    has_nulls = NoneType in kinds
    kinds.discard(NoneType)
    kind = kinds.pop() if len(kinds) == 1 else None
    tag, scale = _tag(kind, column) if not kinds else (_ANY, 0)
    packer.count(tag | (_WITH_NULLS if has_nulls and tag != _ANY else 0))
    if tag == _ANY:
        for value in column:
            pack_value(value, packer)
        return bytes(packer.bytes)
    if has_nulls:
        _pack_nulls(column, packer)
    if tag == _TEXTS:
        texts = column if not has_nulls else _texts(column)
        changed = [0 if new == old else number_of(new) + 1 for new, old in zip(texts, _texts(base), strict=True)]
        pack_numbers(changed, packer)
    elif tag == _RAW:
        packer.bytes += planes(array("d", [value or 0.0 for value in column] if has_nulls else column))
    elif tag == _SCALED:
        packer.count(scale)
        pack_numbers(list(map(sub, _scaled(column, scale), _scaled(base, scale))), packer)
    elif tag == _INTS:
        pack_numbers(list(map(sub, _integers(column), _integers(base))), packer)
    else:
        parts = _instants if tag == _INSTANTS else _seconds
        pack_numbers([0 if a == b else parts(a) - parts(b) for a, b in zip(column, base, strict=True)], packer)
    return bytes(packer.bytes)


def tags_of(kinds: frozenset[type[Any]]) -> frozenset[int]:
    """Return the first bytes of columns whose values can only be of these kinds."""
    plain = {int: (_INTS,), float: (_RAW, _SCALED), str: (_TEXTS,), datetime: (_INSTANTS, _SECONDS)}
    found = {tag for kind in kinds for tag in plain.get(kind, ())}
    return frozenset(found | {tag | _WITH_NULLS for tag in found} if NoneType in kinds else found)


def is_sane(column: Column, content: bytes) -> bool:
    """Whether no float of a column is without end, or larger or smaller than any figure; of most kinds none can be."""
    if content[0] & 7 not in {_RAW, _ANY}:
        return True
    return all(_LEAST < abs(value) < _MOST for value in column if type(value) is float and value)


def is_dear(content: bytes) -> bool:
    """Whether the values of a column, as it was written, take twice the room of numbers: instants, any kinds."""
    return content[0] & 7 in {_INSTANTS, _SECONDS, _ANY}


def unpack_column(base: Column, text: Callable[[int], str], content: bytes) -> list[Any]:
    """Read a column that was written as its difference to `base`. Raises DamagedError."""
    unpacker = Unpacker(content)
    tag = unpacker.count(15)
    length = len(base)
    if tag & 7 == _ANY:
        return [unpack_value(unpacker) for _ in range(length)]
    nulls = unpacker.take((length + 7) // 8) if tag & _WITH_NULLS else b""
    tag &= 7
    if tag == _TEXTS:
        found: list[Any] = list(_texts(base))
        numbers = unpack_numbers(length, unpacker)
        for place in compress(range(length), numbers):
            found[place] = text(numbers[place] - 1)
    elif tag == _RAW:
        found = from_planes("d", length, unpacker).tolist()
    elif tag == _SCALED:
        scale = _scale(unpacker.count())
        found = _floats(map(add, unpack_numbers(length, unpacker), _scaled(base, scale)), scale)
    elif tag == _INTS:
        found = list(map(add, unpack_numbers(length, unpacker), _integers(base)))
    elif tag in {_INSTANTS, _SECONDS}:
        found = _unpack_instants(unpack_numbers(length, unpacker), base, whole=tag == _SECONDS)
    else:
        raise DamagedError(f"a column of kind {tag}")
    for index in _null_places(nulls, length):
        found[index] = None
    return found


def _unpack_instants(numbers: Column, base: Column, *, whole: bool) -> list[Any]:
    """Return instants from their differences in microseconds, or, if `whole`, in seconds."""
    parts, unit = (_seconds, _SECOND) if whole else (_instants, 1)
    return [
        old
        if not number and isinstance(old, datetime) and not (whole and old.microsecond)
        else instant((number + parts(old)) * unit)
        for number, old in zip(numbers, base, strict=True)
    ]


def _tag(kind: type[Any] | None, column: Column) -> tuple[int, int]:
    """Return how a column is written, and of floats by which scale."""
    if kind is int or kind is None:
        return _INTS, 0
    if kind is float:
        scale = _fitting(column)
        return (_SCALED, scale) if scale else (_RAW, 0)
    if kind is datetime:
        plain = all(value is None or (value.tzinfo is UTC and not value.fold) for value in column)
        if not plain:
            return _ANY, 0
        return (_INSTANTS if any(value is not None and value.microsecond for value in column) else _SECONDS), 0
    return (_TEXTS if kind is str else _ANY), 0


def _texts(column: Column) -> Column:
    """Return the texts of a column, "" for what is none, alike when writing and when reading."""
    return column if set(map(type, column)) <= {str} else [value if type(value) is str else "" for value in column]


def _pack_nulls(column: Column, packer: Packer) -> None:
    bits = "".join(["1" if value is None else "0" for value in reversed(column)])
    packer.bytes += int(bits, 2).to_bytes((len(column) + 7) // 8, "little")


def _null_places(nulls: bytes, length: int) -> Iterator[int]:
    for place, byte in enumerate(nulls):
        if byte:
            yield from (8 * place + bit for bit in range(8) if byte >> bit & 1 and 8 * place + bit < length)


def _integers(column: Column) -> Column:
    return column if set(map(type, column)) <= {int} else [value if type(value) is int else 0 for value in column]


def _instants(value: Any) -> int:
    return microseconds(value) if isinstance(value, datetime) else 0


def _seconds(value: Any) -> int:
    return microseconds(value) // _SECOND if isinstance(value, datetime) else 0


_SECOND = 1_000_000


# -- floats: as decimals where that is exact, else as they are


def _fitting(column: Column) -> int:
    """Return the least scale by which all floats are whole numbers, 0 if none does so exactly."""
    floats = [value for value in column if value is not None]
    wanted = array("d", floats).tobytes()
    for scale in _SCALES:
        if not all(isfinite(value) and abs(value * scale) < _LARGEST for value in floats):
            return 0
        if array("d", _floats([round(value * scale) for value in floats], scale)).tobytes() == wanted:
            return scale
    return 0


def _scale(number: int) -> int:
    if number not in _SCALES:
        raise DamagedError(f"a scale of {number}")
    return number


def _scaled(column: Column, scale: int) -> list[int]:
    """Return floats as whole numbers; 0 for what is none, alike when writing and when reading."""
    if set(map(type, column)) == {float} and all(map(isfinite, column)):
        return [round(value * scale) for value in column]
    return [round(value * scale) if type(value) is float and isfinite(value) else 0 for value in column]


def _floats(numbers: Any, scale: int) -> list[Any]:
    try:
        return [float(number) for number in numbers] if scale == 1 else [number / scale for number in numbers]
    except OverflowError:
        raise DamagedError("a number too large") from None
