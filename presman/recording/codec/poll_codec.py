"""Poll codec: a snapshot as MessagePack, the rows of each section column by column, and back.

The input may be forged: values are counted before they are built, types checked, texts cleaned.

Consecutive polls are a chain of frames, each compressed by zstd with the previous poll as its prefix; blocks contain
frames. What has not changed since the previous poll is a reference into the prefix, so a frame is little more than
the changes.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from hashlib import blake2b
from operator import itemgetter
from types import MappingProxyType
from typing import Annotated, Any

import zstandard
from msgspec import Meta, MsgspecError, Raw, Struct
from msgspec.msgpack import Decoder, Encoder, encode

from presman.base.release import Release
from presman.base.text import clean
from presman.recording.codec import shapes
from presman.recording.codec.shapes import Column, DamagedError, Field, MemoryBudget, Rows, Shape
from presman.rows.queries import RecordType, Scope, field_types
from presman.rows.snapshot import Problem, Section, Snapshot

_Instant = Annotated[datetime, Meta(tz=True)]
_MOST_SECTIONS = 1_000
_Names = Annotated[list[str], Meta(max_length=shapes.MOST_FIELDS)]

_SMALL = 4 << 20
"""Bytes and pointers of a poll up to which the memory of its values is not counted."""

_AT_ONCE = 1_000
"""Rows of words that are read at once if their memory is counted."""


class _PackedSection(Struct, array_like=True, frozen=True):
    """A section: the shape of its rows, their number and values, and its flags.

    `words` are the numbers of the fields that are stored together row by row, in the first of the `columns`: texts and
    instants, which mostly do not change when other rows come and go. Each other field has its own column.
    `is_wide` if numbers of more than 64 bits, which MessagePack lacks, are stored as texts.
    """

    shape: str
    length: Annotated[int, Meta(ge=0, le=shapes.MOST_ROWS)]
    words: Annotated[list[int], Meta(max_length=shapes.MOST_FIELDS)]
    columns: Raw
    is_wide: bool
    problem: Problem | None
    absent: _Names
    rounded: _Names


class _PackedPoll(Struct, array_like=True, frozen=True):
    """A poll: the fields of its snapshot, release and scope as texts, each section packed separately.

    The instants and durations of all sections are stored outside of them: so a section whose rows did not change has
    the same bytes as in the previous poll.
    """

    at: _Instant
    number: int
    epoch: int
    seconds: float
    round_trips: int
    statements_to_come: int
    lists_idle: bool
    target: str
    kind: str
    release: str
    scope: str
    cloud_service: str
    notes: Annotated[list[str], Meta(max_length=10_000)]
    read_at: Annotated[list[_Instant | None], Meta(max_length=_MOST_SECTIONS)]
    milliseconds: Annotated[list[int], Meta(max_length=_MOST_SECTIONS)]
    sections: Annotated[list[Raw], Meta(max_length=_MOST_SECTIONS)]


_encode = Encoder().encode
_POLL, _SECTION = Decoder(_PackedPoll), Decoder(_PackedSection)
_COLUMNS, _COLUMN = Decoder(Annotated[list[Raw], Meta(max_length=shapes.MOST_FIELDS)]), Decoder(list[Raw])


class PollEncoder:
    """Packs the polls of one database. Rows that two polls share are packed once.

    `words_by_row` stores texts and instants together row by row: 4 % less space and 0.05 ms more for `mixed`.
    """

    def __init__(self, *, words_by_row: bool = False) -> None:
        self._words_by_row = words_by_row
        self._known: dict[RecordType, tuple[Section, bytes]] = {}

    def encode(self, snapshot: Snapshot) -> bytes:
        """Return a snapshot as bytes. Raises TypeError for a value that no record has."""
        known = {}
        for record, section in snapshot.sections.items():
            before, content = self._known.get(record, (None, b""))
            flags = section.problem, section.absent, section.rounded  # when it was read is packed elsewhere
            is_same = before is not None and before.rows is section.rows
            if before is None or not is_same or flags != (before.problem, before.absent, before.rounded):
                content = _packed_section(record, section, words_by_row=self._words_by_row)
            known[record] = section, content
        self._known = known
        poll = _PackedPoll(
            at=snapshot.at,
            number=snapshot.number,
            epoch=snapshot.epoch,
            seconds=snapshot.seconds,
            round_trips=snapshot.round_trips,
            statements_to_come=snapshot.statements_to_come,
            lists_idle=snapshot.lists_idle,
            target=clean(snapshot.target),
            kind=snapshot.kind,
            release=f"{snapshot.release.major}.{snapshot.release.minor}",
            scope=snapshot.scope.value,
            cloud_service=snapshot.cloud_service,
            notes=list(snapshot.notes),
            read_at=[section.at for section, _ in known.values()],
            milliseconds=[max(0, round(1000 * section.seconds)) for section, _ in known.values()],
            sections=[Raw(content) for _, content in known.values()],
        )
        return _encode(poll)


def _packed_section(record: RecordType, section: Section, *, words_by_row: bool) -> bytes:
    words, others = _words_and_others(record) if words_by_row else ([], [])
    columns: list[Any] = list(zip(*section.rows, strict=True))
    if columns and words:
        columns = [list(map(itemgetter(*words), section.rows)), *[columns[index] for index in others]]
    is_wide = False
    try:
        content = _encode(columns)
    except OverflowError:  # MessagePack has no numbers of more than 64 bits
        wide = [[str(v) if type(v) is int and v.bit_length() > 63 else v for v in own] for own in columns]
        content, is_wide = _encode(wide), True
    absent, rounded = sorted(section.absent), sorted(section.rounded)
    head = (shapes.shape_text(record), len(section.rows), words, Raw(content), is_wide)
    return _encode(_PackedSection(*head, section.problem, absent, rounded))


@cache
def _words_and_others(record: RecordType) -> tuple[list[int], list[int]]:
    """Return the numbers of the fields stored together, none if there is only one, and of the others."""
    kinds = [kind for kind, _ in field_types(record).values()]
    words = [index for index, kind in enumerate(kinds) if kind in {str, datetime}]
    return (words, [index for index in range(len(kinds)) if index not in words]) if len(words) > 1 else ([], [])


class PollDecoder:
    """Reads the polls of one chain, which takes `packed` bytes. Rows that two polls share are built once.

    `trusted` skips the checks that only foreign polls need.
    """

    def __init__(self, packed: int = 0, *, trusted: bool = False) -> None:
        few = shapes.FEW_VALUES + shapes.VALUES_PER_BYTE * packed
        self._most = shapes.MOST_VALUES if trusted else min(shapes.MOST_VALUES, few)
        self._trusted = trusted
        self._clean: Callable[[str], str] = str if trusted else clean
        self._known: dict[tuple[str, bytes], tuple[Rows, int]] = {}

    @property
    def values(self) -> int:
        """The number of values in the rows kept in memory."""
        return sum(len(rows) * len(rows[0]) for rows, _ in self._known.values() if rows)

    def decode(self, content: bytes) -> Snapshot:
        """Return the snapshot that was packed. Raises DamagedError."""
        try:
            poll = _POLL.decode(content)
            packed = [_SECTION.decode(each) for each in poll.sections]
            return self._snapshot(poll, [(shapes.shape_of(each.shape), each) for each in packed])
        except DamagedError:
            raise
        except (MsgspecError, ValueError, LookupError, ArithmeticError, RecursionError) as error:
            raise DamagedError("it holds something else than a poll") from error

    def _snapshot(self, poll: _PackedPoll, packed: list[tuple[Shape, _PackedSection]]) -> Snapshot:
        values = sum(each.length * len(shape.fields) for shape, each in packed)
        if values > self._most and not self._trusted:
            raise DamagedError(f"it decompresses to {values:,} values")
        is_large = not self._trusted and shapes.POINTER * values + sum(map(len, poll.sections)) > _SMALL
        room = MemoryBudget(shapes.MOST_MEMORY if is_large else None)
        known: dict[tuple[str, bytes], tuple[Rows, int]] = {}
        sections: dict[RecordType, Section] = {}
        for (shape, each), at, taken in zip(packed, poll.read_at, poll.milliseconds, strict=True):
            if shape.record is not None:
                key = (each.shape, bytes(each.columns))
                # The same bytes as in the previous poll: its rows are taken, but their memory counts here, too.
                rows, memory = self._known.get(key, ((), 0))
                if len(rows) == each.length:
                    room.take(memory)
                else:
                    rows, memory = self._rows(shape, each, room)
                known[key] = rows, memory
                sections[shape.record] = self._section(shape, each, rows, at, taken / 1000)
        self._known = known
        word = self._clean
        return Snapshot(
            target=word(poll.target),
            kind=word(poll.kind),
            release=Release.parse(poll.release),
            scope=Scope(poll.scope),
            at=poll.at,
            number=poll.number,
            epoch=poll.epoch,
            seconds=poll.seconds,
            round_trips=poll.round_trips,
            sections=MappingProxyType(sections),
            cloud_service=word(poll.cloud_service),
            notes=tuple(map(word, poll.notes)),
            statements_to_come=poll.statements_to_come,
            lists_idle=poll.lists_idle,
        )

    def _section(
        self, shape: Shape, packed: _PackedSection, rows: Rows, at: datetime | None, seconds: float
    ) -> Section:
        problem, absent = packed.problem, frozenset(packed.absent) | shape.lacking
        if problem is not None:
            code, text, view, cure = map(self._clean, (problem.code, problem.text, problem.view, problem.cure))
            problem = Problem(code, text, view, cure, problem.late)
        return Section(rows, at, seconds, problem, absent, frozenset(packed.rounded))

    def _rows(self, shape: Shape, packed: _PackedSection, room: MemoryBudget) -> tuple[Rows, int]:
        """Return the rows of a section, and the bytes of memory counted for them."""
        taken = room.taken
        arrays = _COLUMNS.decode(packed.columns)
        head = _array_head(packed.length)
        if any(bytes(memoryview(each)[: len(head)]) != head for each in arrays):  # before such a list is built
            raise DamagedError("rows that do not fit")
        columns: dict[int, Column] = {}
        if packed.words:
            columns |= self._words(shape, packed, arrays.pop(0), room)
        others = (index for index in range(len(shape.fields)) if index not in columns)
        for index, array in zip(others, arrays, strict=True):
            field = shape.fields[index]
            values = _decoder(_type(field), not packed.is_wide).decode(array)
            columns[index] = values if field is None else room.held(self._checked(field, values, packed, room), {})
        return shape.rows(columns, packed.length), room.taken - taken

    def _words(self, shape: Shape, packed: _PackedSection, array: Raw, room: MemoryBudget) -> dict[int, Column]:
        """Return the columns of the fields that are stored together row by row."""
        fields = [shape.fields[index] for index in packed.words]
        decode = _decoder(tuple(map(_type, fields)), not packed.is_wide).decode
        parts: Iterable[Raw | bytes] = (array,) if room.most is None else _parts(_COLUMN.decode(array))
        known: list[dict[Any, Any]] = [{} for _ in fields]
        columns: list[list[Any]] = [[] for _ in fields]
        for part in parts:
            for values, field, before, column in zip(
                zip(*decode(part), strict=True), fields, known, columns, strict=True
            ):
                if field is not None:
                    column.extend(room.held(self._checked(field, values, packed, room), before))
        return dict(zip(packed.words, columns, strict=True))

    def _checked(self, field: Field, values: Column, packed: _PackedSection, room: MemoryBudget) -> Column:
        return values if self._trusted else field.checked(values, room, is_wide=packed.is_wide)


def _parts(rows: list[Raw]) -> Iterator[bytes]:
    """Yield the rows of an array as arrays of at most `_AT_ONCE` rows."""
    for begin in range(0, len(rows), _AT_ONCE):
        part = rows[begin : begin + _AT_ONCE]
        yield _array_head(len(part)) + b"".join(map(bytes, part))


def _type(field: Field | None) -> Any:
    """Return the type to decode a field as; a field that today's record lacks is not decoded."""
    return Raw if field is None else field.read_as


@lru_cache(maxsize=512)
def _decoder(kind: Any, is_strict: bool) -> Decoder[list[Any]]:
    """Return the decoder of a list of values of one type, or of tuples of several types."""
    return Decoder(list[tuple[kind] if isinstance(kind, tuple) else kind], strict=is_strict)  # type: ignore[misc]


def _array_head(length: int) -> bytes:
    """Return the bytes that begin an array of `length` values in MessagePack."""
    if length < 1 << 4:
        return bytes((0x90 | length,))
    return b"\xdc" + length.to_bytes(2, "big") if length < 1 << 16 else b"\xdd" + length.to_bytes(4, "big")


QUICK, THOROUGH = 3, 10
"""Levels of zstd: for the history of the screen, and for recordings, which take a quarter less space with it."""


def _way(level: int, size: int) -> Mapping[str, Any]:
    """Return how polls of `size` bytes are compressed.

    The poll before is nearly the same, so that one table of long matches finds nearly all that two tables find: a storm
    takes 0.9 ms instead of 1.6, and 1.5 % more space. A table for a storm would take 1 MB of memory for every poll.
    """
    if level != QUICK:
        return {"level": level}
    table = max(12, min(17, size.bit_length() - 3))
    return {
        "compression_params": zstandard.ZstdCompressionParameters(
            compression_level=QUICK, strategy=zstandard.STRATEGY_FAST, hash_log=table, min_match=7
        )
    }


MOST_POLLS = 10_000
"""The most polls of a block; a recorder writes 256."""

_FULL = 32 << 20
"""Decompressed bytes of a chain after which it is ended: reading its last poll decompresses all of them."""

_LARGEST = 32 << 20
"""The most decompressed bytes of a poll; 40,000 sessions take 10,000,000."""

_STRIDE = 16
"""One in this many polls of a chain is kept decompressed, for readers that go backwards."""

_FRAMES = Decoder(Annotated[list[bytes], Meta(max_length=MOST_POLLS)])
CHECK = 8
"""Bytes of a block's checksum."""
WRONG_CHECKSUM = "its checksum is wrong"
_OLD = b"\x28\xb5\x2f\xfd"
"""The bytes after the checksum of a block of format 2, which is a single zstd frame."""


class FrameEncoder:
    """Turns the snapshots of one chain into frames."""

    def __init__(self, level: int) -> None:
        self._level = level
        self._polls = PollEncoder(words_by_row=level == THOROUGH)
        self._before = b""
        self._unfolded = 0

    def add(self, snapshot: Snapshot) -> bytes:
        """Return the next frame. Raises TypeError for a value that no record has."""
        content = self._polls.encode(snapshot)
        way = _way(self._level, len(content))
        frame = zstandard.ZstdCompressor(**way, dict_data=_prefix(self._before)).compress(content)
        self._before = content
        self._unfolded += len(content)
        return frame

    @property
    def is_full(self) -> bool:
        """Whether the next snapshot has to begin a new chain."""
        return self._unfolded >= _FULL


class FrameDecoder:
    """The snapshots of one chain, by index. Raises DamagedError if frames are invalid.

    `frames` are all frames of the chain. `trusted` skips the checks that only foreign recordings need.
    """

    def __init__(self, frames: Sequence[bytes], *, trusted: bool = False) -> None:
        try:
            sizes = [zstandard.frame_content_size(each) for each in frames]
        except zstandard.ZstdError as error:
            raise DamagedError("it cannot be decompressed") from error
        # -1 stands for a frame that does not say its size; those of a recorder do.
        is_large = max(sizes, default=0) > _LARGEST or sum(sizes) > _FULL + _LARGEST
        if min(sizes, default=0) < 0 or (is_large and not trusted):
            raise DamagedError("it decompresses to more bytes than a recorder writes")
        self._frames = frames
        self._sizes = sizes
        self._decoder = PollDecoder(sum(map(len, frames)), trusted=trusted)
        self._unfolded: dict[int, bytes] = {}
        self._last = (-1, b"")

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_large(self) -> bool:
        """Whether the chain takes so much memory that no other is kept at the same time."""
        return self._decoder.values > shapes.FEW_VALUES // 4

    def size(self, index: int) -> int:
        """Return the decompressed bytes of the poll at an index."""
        return self._sizes[index]

    def snapshot(self, index: int) -> Snapshot:
        """Return the snapshot at an index."""
        if not 0 <= index < len(self._frames):
            raise IndexError(index)
        return self._decoder.decode(self._content(index))

    def _content(self, index: int) -> bytes:
        """Return the decompressed content of a frame, by decompressing those before it."""
        # Each frame needs the content of the one before: begin at the nearest that is still decompressed.
        kept = [(each, content) for each, content in self._unfolded.items() if each <= index]
        near, content = max([*kept, self._last] if self._last[0] <= index else kept, default=(-1, b""))
        for each in range(near + 1, index + 1):
            try:
                content = zstandard.ZstdDecompressor(dict_data=_prefix(content)).decompress(self._frames[each])
            except zstandard.ZstdError as error:
                if "memory" in str(error):  # zstandard reports a lack of memory like a damaged frame
                    raise MemoryError from error
                raise DamagedError("it cannot be decompressed") from error
            if each % _STRIDE == 0:
                self._unfolded[each] = content
        self._last = (index, content)
        return content


def _prefix(content: bytes) -> zstandard.ZstdCompressionDict | None:
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT) if content else None


def pack_block(frames: Sequence[bytes]) -> bytes:
    """Return consecutive frames as a block: a checksum, and an array of them."""
    content = encode(frames)
    return _checksum(content) + content


def unpack_block(content: bytes) -> list[bytes]:
    """Return the frames of a block. Raises DamagedError."""
    if not is_whole(content):
        raise shapes.ChangedError(WRONG_CHECKSUM)
    try:
        frames: list[bytes] = _FRAMES.decode(memoryview(content)[CHECK:])
    except MsgspecError as error:
        raise DamagedError("it holds no polls, or more than a recorder writes") from error
    return frames


_ARRAYS = {0xDC: 2, 0xDD: 4}
_BYTES = {0xC4: 1, 0xC5: 2, 0xC6: 4}
"""MessagePack's first bytes of longer arrays and of bytes, and how many bytes the length after each takes."""


def leading_frames(content: bytes) -> list[bytes]:
    """Return the complete frames of a truncated block, whose checksum cannot be verified."""
    at = CHECK + 1 + _ARRAYS.get(content[CHECK], 0) if len(content) > CHECK else 0
    found: list[bytes] = []
    while at < len(content) and len(found) < MOST_POLLS and (width := _BYTES.get(content[at])):
        begin = at + 1 + width
        at = begin + int.from_bytes(content[at + 1 : begin])
        if begin > len(content) or at > len(content):
            break
        found.append(content[begin:at])
    return found


def is_whole(content: bytes) -> bool:
    """Whether the checksum of a block is correct."""
    return _checksum(memoryview(content)[CHECK:]) == content[:CHECK]


def is_old(content: bytes) -> bool:
    """Whether a block has format 2."""
    return content[CHECK : CHECK + len(_OLD)] == _OLD


def _checksum(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=CHECK).digest()
