"""Blocks of format 2, with each column as its difference to an earlier poll: read for one more release, not written.

The input may be forged: sizes are bounded, types checked, texts cleaned.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from math import isfinite
from operator import add
from types import GenericAlias, MappingProxyType
from typing import Any, NamedTuple

from msgspec import MsgspecError, convert
from msgspec.structs import replace
from zstandard import ZstdDecompressor, ZstdError, frame_content_size

from presman.base.release import Release
from presman.base.text import clean
from presman.recording.codec import shapes
from presman.recording.codec.poll_codec import CHECK, MOST_POLLS, is_whole
from presman.recording.codec.shapes import (
    Column,
    DamagedError,
    MemoryBudget,
    Rows,
    Shape,
    instant,
    microseconds,
    shape_of,
)
from presman.rows.queries import Scope
from presman.rows.snapshot import Problem, Section, Snapshot

TextsOf = Callable[[list[bytes]], Mapping[bytes, str]]

_REMOVED, _AT, _NEVER, _SECONDS, _PROBLEM, _ABSENT, _ROWS, _MOVED = (1 << bit for bit in range(8))
"""Flags of a section: it is gone; it was read at another instant than the poll; it was never read; it has a duration;
it has a problem; some fields are unknown; its rows changed; its rows moved."""
_WORDS, _NARROW, _STEP = 1, 2, 4
"""Flags of a poll: its texts changed; its rows lack some idle sessions; it is the difference to an earlier poll, and
how many polls back that is follows."""

_MOST = {"bytes": 32 << 20, "polls": MOST_POLLS, "texts": 250_000, "parts": 250_000}
_MOST_GONE = 512
"""Removed rows that are remembered: as many as the recorder remembered, because later polls refer to them by index."""
_LONGEST_PATH = 64
"""The most polls that one poll may be built on."""
_HASH = 16
"""Bytes of the hash of a text that is stored separately."""
_WIDTHS = {1: "b", 2: "h", 4: "i", 8: "q"}
_ZERO, _CONSTANT, _ANY_NUMBERS = 0, 3, 9
"""What may stand in place of a width: all numbers are 0, all are the one that follows, each has a width of its own."""
_INTS, _RAW, _SCALED, _TEXTS, _INSTANTS, _ANY, _WHOLE_SECONDS = range(7)
_WITH_NULLS = 8
"""The kinds of columns, and the flag beside it: a bit for each value says whether it is NULL."""
_START = Snapshot("", "", Release(0), Scope.CLUSTER, instant(0), 0, 0, 0.0, 0)


class _Unpacker:
    """Bytes being read. Every method raises DamagedError or IndexError if they end early or are invalid."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    def count(self, most: int = 4_000_000) -> int:
        """Read a number from 0 to `most`."""
        if (value := self._number()) > most:
            raise DamagedError(f"a count of {value:,}")
        return value

    def signed(self) -> int:
        value = self._number()  # its last bit is the sign, so that small negative numbers are short, too
        return value >> 1 if not value & 1 else -(value >> 1) - 1

    def _number(self) -> int:
        value = 0
        # Seven bits in each byte, the lowest first; the eighth says that another byte follows.
        for shift in range(0, 71, 7):
            byte = self._content[self._position]
            self._position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise DamagedError("a number without end")

    def double(self) -> float:
        return float(struct.unpack("<d", self.take(8))[0])

    def take(self, length: int) -> bytes:
        end = self._position + length
        if length < 0 or end > len(self._content):
            raise DamagedError("it ends too early")
        found, self._position = self._content[self._position : end], end
        return found

    def blob(self) -> bytes:
        return self.take(self.count(len(self._content)))

    def text(self) -> str:
        return self.blob().decode("utf-8", "surrogatepass")

    def numbers(self, count: int) -> Sequence[int]:
        """Read `count` numbers, stored in the smallest width that fits all of them."""
        width = self.count(_ANY_NUMBERS)
        if width in _WIDTHS:
            return self.planes(_WIDTHS[width], count)
        if width in {_ZERO, _CONSTANT}:
            return (self.signed() if width else 0,) * count
        if width == _ANY_NUMBERS:
            return [self.signed() for _ in range(count)]
        raise DamagedError(f"numbers of {width} bytes")

    def planes(self, typecode: str, count: int) -> array[Any]:
        """Read an array stored as byte planes, the least significant first."""
        # Bytes of the same weight are alike, so side by side they compressed better.
        found = array(typecode)
        width = found.itemsize
        mixed, content = self.take(count * width), bytearray(count * width)
        for plane in range(width):
            content[plane::width] = mixed[plane * count : (plane + 1) * count]
        found.frombytes(content)
        if sys.byteorder == "big":
            found.byteswap()
        return found


class _Frame(NamedTuple):
    """The bytes of a poll as a whole, and of each section and column, by the number of its shape and its own number."""

    bare: bytes
    parts: Mapping[tuple[int, int], bytes]


class _Known(NamedTuple):
    """A section and its columns, with the rows removed since the chain began, the last removed first."""

    shape: Shape
    section: Section
    columns: tuple[Column, ...] = ()
    length: int = 0
    gone: Rows = ()


class _State(NamedTuple):
    """A snapshot without its sections, and the sections by record name."""

    bare: Snapshot
    sections: Mapping[str, _Known]


class OldChain:
    """The snapshots of one chain of an older format, by index. Raises DamagedError if blocks are invalid.

    `texts_of` returns the texts that are stored separately, by their hashes.
    """

    def __init__(self, texts_of: TextsOf) -> None:
        self._texts_of = texts_of
        self._left = dict(_MOST)
        self._most = shapes.FEW_VALUES
        self._frames: list[_Frame] = []
        self._texts: list[str] = []
        self._states: dict[int, _State] = {}

    def __len__(self) -> int:
        return len(self._frames)

    def add_block(self, content: bytes) -> None:
        """Add the next block of the chain."""
        if not is_whole(content):
            raise DamagedError("its checksum is wrong")
        self._most = min(shapes.MOST_VALUES, self._most + shapes.VALUES_PER_BYTE * len(content))
        with _damage():
            self._frames += self._unpacked(_unfolded(content[CHECK:], self._left["bytes"]))

    def take(self, many: int, what: str) -> None:
        """Count decompressed data. Raises DamagedError if it is too much: a small forged chain may hold gigabytes."""
        self._left[what] -= many
        if self._left[what] < 0:
            raise DamagedError(f"it decompresses to more {what} than a recorder writes")

    def _unpacked(self, content: bytes) -> list[_Frame]:
        self.take(len(content), "bytes")
        unpacker = _Unpacker(content)
        counts = [unpacker.count() for _ in range(unpacker.count(MOST_POLLS))]
        self.take(len(counts), "polls")
        self.take(sum(counts), "texts")
        words = [unpacker.take(_HASH) if unpacker.count(1) else unpacker.text() for _ in range(sum(counts))]
        found = self._texts_of([word for word in words if isinstance(word, bytes)])
        self._texts += [found[word] if isinstance(word, bytes) else word for word in words]
        bares = [unpacker.take(size) for size in unpacker.numbers(len(counts))]
        parts: list[dict[tuple[int, int], bytes]] = [{} for _ in counts]
        for _ in range(unpacker.count(5_000)):
            part = (unpacker.count(), unpacker.count())
            for index, size in self._spans(unpacker, len(counts)):
                parts[index][part] = unpacker.take(size)
        return list(map(_Frame, bares, parts))

    def _spans(self, unpacker: _Unpacker, frames: int) -> list[tuple[int, int]]:
        """Return the frames that contain a part, each with its number of bytes."""
        many = unpacker.count(frames) if frames > 1 else 1
        self.take(many, "parts")
        if frames == 1:
            return [(0, unpacker.count())]
        indexes = list(map(add, unpacker.numbers(many), range(many)))
        if not set(indexes) <= set(range(frames)):
            raise DamagedError("a frame that is not there")
        return list(zip(indexes, unpacker.numbers(many), strict=True))

    def size(self, index: int) -> int:
        """Return the decompressed bytes of the poll at an index alone, without the polls that it builds on."""
        frame = self._frames[index]
        return len(frame.bare) + sum(map(len, frame.parts.values()))

    @property
    def is_large(self) -> bool:
        """Whether the chain takes so much memory that no other is kept at the same time."""
        known = [each for state in self._states.values() for each in state.sections.values()]
        return sum(each.length * len(each.columns) for each in known) > shapes.FEW_VALUES // 4

    def snapshot(self, index: int) -> Snapshot:
        """Return the snapshot at an index."""
        with _damage():
            state = self._state(index)
        known = state.sections.values()
        sections = {each.shape.record: each.section for each in known if each.shape.record is not None}
        return replace(state.bare, sections=MappingProxyType(sections))

    def _state(self, index: int) -> _State:
        """Return the state at an index, by applying the frames that it is based on."""
        way = [index]
        while way[-1] not in self._states and (step := _step(self._frames[way[-1]].bare, way[-1])):
            way.append(way[-1] - step)
            if len(way) > _LONGEST_PATH:
                raise DamagedError("a frame too far from the first")
        state = _State(_START, {})
        found = {}
        for each in reversed(way):
            state = found[each] = self._states.get(each) or self._applied(self._frames[each], state)
        self._states = found
        return state

    def _applied(self, frame: _Frame, before: _State) -> _State:
        bare, sections = _unpack_bare(_Unpacker(frame.bare), before.bare), dict(before.sections)
        for number in (number for number, column in frame.parts if not column):
            shape, unpacker = shape_of(self._texts[number]), _Unpacker(frame.parts[number, 0])
            flags = unpacker.count(255)
            if flags & _REMOVED:
                sections.pop(shape.name, None)
                continue
            old = sections.get(shape.name) or _Known(shape, Section())
            if old.shape is not shape:
                raise DamagedError("other fields than before")
            section = _unpack_section(unpacker, flags, bare.at, old)
            sections[shape.name] = old._replace(section=section)
            if flags & _ROWS:
                left = self._most - sum(each.length * len(each.shape.fields) for each in sections.values())
                columns = {index - 1: content for (of, index), content in frame.parts.items() if of == number and index}
                sections[shape.name] = self._changed(old, section, _Moves(unpacker, old, flags, left), columns)
        return _State(bare, sections)

    def _changed(self, old: _Known, section: Section, moves: _Moves, parts: Mapping[int, bytes]) -> _Known:
        """Return a section with the changes to its rows; `parts` are the changed columns, by number from 0."""
        shape, columns = old.shape, list(moves.bases)
        for index, base in enumerate(moves.bases):
            if index in parts:
                columns[index] = _checked(shape, index, _unpack_column(base, self._texts, _Unpacker(parts[index])))
            elif None in base:  # new rows without values
                columns[index] = _checked(shape, index, list(base))
        rows = shape.rows(dict(enumerate(columns)), moves.length)
        columns = columns if moves.length else []
        return _Known(shape, replace(section, rows=rows), tuple(columns), moves.length, moves.gone)


def _checked(shape: Shape, index: int, values: Column) -> Column:
    """Return a column after checking that its field may have these values. Raises MsgspecError, DamagedError."""
    field = shape.fields[index]
    if field is None:
        return values
    return field.checked(convert(values, type=GenericAlias(list, (field.read_as,))), MemoryBudget(None))


class _Moves:
    """The rows of a section: their number, the values that its columns are the difference to, and the removed rows."""

    def __init__(self, unpacker: _Unpacker, old: _Known, flags: int, left: int) -> None:
        width = len(old.shape.fields)
        self.length = unpacker.count(shapes.MOST_ROWS)
        if (self.length - old.length) * width > left:
            raise DamagedError(f"it decompresses to {self.length * width:,} values")
        self.bases: Sequence[Column] = old.columns
        self.gone = old.gone
        if flags & _MOVED:
            rows = [*zip(*old.columns, strict=True), *old.gone]
            indexes = list(map(add, unpacker.numbers(self.length), range(self.length)))
            if not -1 <= min(indexes, default=0) <= max(indexes, default=0) < max(len(rows), 1):
                raise DamagedError("rows that were not there")
            used = set(indexes)
            self.gone = tuple([row for index, row in enumerate(rows) if index not in used][:_MOST_GONE])
            rows.append((None,) * width)  # a new row has index -1, so its base is the last
            self.bases = list(zip(*[rows[index] for index in indexes], strict=True)) or [()] * width
        elif not old.columns:
            self.bases = [(None,) * self.length] * width
        if len(self.bases[0]) != self.length:
            raise DamagedError("rows that do not fit")


@contextmanager
def _damage() -> Iterator[None]:
    """Turn exceptions caused by invalid bytes into DamagedError."""
    try:
        yield
    except DamagedError:
        raise
    except (ValueError, LookupError, TypeError, ArithmeticError, MsgspecError) as error:
        raise DamagedError(type(error).__name__) from error


def _unfolded(content: bytes, most: int) -> bytes:
    try:
        if not 0 <= frame_content_size(content) <= most:
            raise DamagedError("it decompresses to more bytes than a recorder writes")
        return ZstdDecompressor().decompress(content, max_output_size=most)
    except (ZstdError, MemoryError) as error:
        raise DamagedError("it cannot be decompressed") from error


def _step(bare: bytes, index: int) -> int:
    """Return how many frames before `index` its base is; 0 if the frame is complete in itself."""
    unpacker = _Unpacker(bare)
    for _ in range(5):
        unpacker.signed()
    unpacker.double()
    if not unpacker.count(_WORDS | _NARROW | _STEP) & _STEP:
        raise DamagedError("a frame that does not say what it differs from")
    step = unpacker.count(index)
    if bool(step) is not bool(index):
        raise DamagedError("a frame that differs from no other")
    return step


def _unpack_bare(unpacker: _Unpacker, old: Snapshot) -> Snapshot:
    at = instant(microseconds(old.at) + unpacker.signed())
    names = ("number", "epoch", "round_trips", "statements_to_come")
    numbers = {name: getattr(old, name) + unpacker.signed() for name in names}
    found = replace(old, at=at, seconds=unpacker.double(), **numbers)
    flags = unpacker.count(_WORDS | _NARROW | _STEP)
    if flags & _STEP:
        unpacker.count()
    if flags & _WORDS:
        target, kind, release, scope, service = (clean(unpacker.text()) for _ in range(5))
        notes = tuple(clean(unpacker.text()) for _ in range(unpacker.count(10_000)))
        words = {"target": target, "kind": kind, "cloud_service": service, "notes": notes}
        found = replace(found, release=Release.parse(release), scope=Scope(scope), **words)
    return replace(found, lists_idle=not flags & _NARROW)


def _unpack_section(unpacker: _Unpacker, flags: int, at: datetime, old: _Known) -> Section:
    """Return a section with its new flags and its previous rows."""
    when = None if flags & _NEVER else at
    if flags & _AT:
        when = instant(microseconds(at) + unpacker.signed())
    seconds = unpacker.count(1 << 40) / 1000 if flags & _SECONDS else 0.0
    problem = None
    if flags & _PROBLEM:
        code, words, view, cure = (clean(unpacker.text()) for _ in range(4))
        problem = Problem(code, words, view, cure, late=bool(unpacker.count(1)))
    lacking = unpacker.count(shapes.MOST_FIELDS) if flags & _ABSENT else 0
    absent = frozenset(unpacker.text() for _ in range(lacking))
    return Section(old.section.rows, when, seconds, problem, absent | old.shape.lacking)


def _unpack_column(base: Column, texts: Sequence[str], unpacker: _Unpacker) -> list[Any]:
    """Read a column that was written as its difference to `base`."""
    tag, length = unpacker.count(15), len(base)
    if tag & 7 == _ANY:
        return [_unpack_value(unpacker) for _ in range(length)]
    nulls = unpacker.take((length + 7) // 8) if tag & _WITH_NULLS else b""
    tag &= 7
    found: list[Any]
    before: list[Any]
    if tag == _RAW:
        found = unpacker.planes("d", length).tolist()
    elif tag == _SCALED:
        scale = unpacker.count()
        if scale not in {1, 100, 10_000, 1_000_000}:
            raise DamagedError(f"a scale of {scale}")
        before = [round(value * scale) if type(value) is float and isfinite(value) else 0 for value in base]
        found = [number / scale for number in map(add, unpacker.numbers(length), before)]
    elif tag == _INTS:
        before = [value if type(value) is int else 0 for value in base]
        found = list(map(add, unpacker.numbers(length), before))
    elif tag == _TEXTS:
        numbers = unpacker.numbers(length)
        before = [value if type(value) is str else "" for value in base]
        if numbers and min(numbers) < 0:
            raise DamagedError("a text that is not there")
        found = [texts[number - 1] if number else earlier for number, earlier in zip(numbers, before, strict=True)]
    elif tag in {_INSTANTS, _WHOLE_SECONDS}:
        unit = 1_000_000 if tag == _WHOLE_SECONDS else 1
        before = [microseconds(value) // unit if isinstance(value, datetime) else 0 for value in base]
        found = [instant(number * unit) for number in map(add, unpacker.numbers(length), before)]
    else:
        raise DamagedError(f"a column of kind {tag}")
    return [None if nulls and nulls[index >> 3] >> (index & 7) & 1 else value for index, value in enumerate(found)]


def _unpack_value(unpacker: _Unpacker) -> Any:
    """Read a value that is preceded by its type."""
    kind = unpacker.count(6)
    if kind == 4:
        return instant(unpacker.signed())
    readers: Mapping[int, Callable[[], Any]] = {1: unpacker.signed, 2: unpacker.double, 3: unpacker.text}
    return readers[kind]() if kind in readers else {0: None, 5: True, 6: False}[kind]
