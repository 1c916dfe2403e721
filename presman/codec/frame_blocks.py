"""Blocks: frames in a row of one chain as bytes, with the texts they brought, and a checksum."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate, islice
from operator import add
from types import MappingProxyType
from typing import NamedTuple

from presman.codec.encoder import PackedFrame, Part
from presman.codec.number_arrays import pack_numbers, unpack_numbers
from presman.codec.packing import DamagedError, Packer, Room, Unpacker
from presman.codec.squeezing import squeezed, unsqueezed

QUICK, THOROUGH = 1, 9
"""How hard zstd tries: for one poll that is soon packed again with others, and for good."""

LONG = 100
"""Characters from which a text is kept apart, once for all blocks, where there is a place for it."""

HASH = 16
"""Bytes by which a text that is kept apart is known."""

MOST_FRAMES = 10_000
"""Frames that a block may have."""

_MOST_PARTS = 5_000
"""Parts of one poll, sections and their columns; a real one has 300."""

_CHECK = 8
_NONE_KNOWN: Mapping[str, bytes] = MappingProxyType({})
_INLINE, _APART = 0, 1


def text_hash(text: str) -> bytes:
    """Return what a text that is kept apart is known by."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=HASH).digest()


def pack_block(
    frames: Sequence[PackedFrame], level: int, *, apart: bool = True, known: Mapping[str, bytes] = _NONE_KNOWN
) -> bytes:
    """Return frames in a row as bytes; `apart` leaves long texts to whoever keeps `long_texts`.

    `known` gives the hashes of texts that are kept apart already and of which the frames have only a word.

    What the frames say of the same column stands side by side: it is alike, and so compresses to half.
    """
    packer = Packer()
    packer.count(len(frames))
    for frame in frames:
        packer.count(len(frame.texts))
    for text in (text for frame in frames for text in frame.texts):
        is_apart = apart and (text in known or len(text) >= LONG)
        packer.count(_APART if is_apart else _INLINE)
        if is_apart:
            packer.bytes += known.get(text) or text_hash(text)
        else:
            packer.text(text)
    pack_numbers([len(frame.bare) for frame in frames], packer)
    for frame in frames:
        packer.bytes += frame.bare
    if len(frames) == 1:
        _pack_one(frames[0], packer)
    else:
        _pack_streams(frames, packer)
    content = squeezed(bytes(packer.bytes), level)
    return blake2b(content, digest_size=_CHECK).digest() + content


def _pack_one(frame: PackedFrame, packer: Packer) -> None:
    packer.count(len(frame.parts))
    for (number, column), content in frame.parts.items():
        packer.count(number)
        packer.count(column)
        packer.blob(content)


def _pack_streams(frames: Sequence[PackedFrame], packer: Packer) -> None:
    streams: dict[Part, list[tuple[int, bytes]]] = {}
    for place, frame in enumerate(frames):
        for part, content in frame.parts.items():
            streams.setdefault(part, []).append((place, content))
    packer.count(len(streams))
    for part, stream in sorted(streams.items()):
        packer.count(part[0])
        packer.count(part[1])
        packer.count(len(stream))
        pack_numbers([place - index for index, (place, _) in enumerate(stream)], packer)
        pack_numbers([len(content) for _, content in stream], packer)
        packer.bytes += b"".join(content for _, content in stream)


def long_texts(frames: Iterable[PackedFrame]) -> dict[bytes, str]:
    """Return the texts that are kept apart, by their hash."""
    return {text_hash(text): text for frame in frames for text in frame.texts if len(text) >= LONG}


def is_whole(content: bytes) -> bool:
    """Whether the checksum of a block is right."""
    return blake2b(content[_CHECK:], digest_size=_CHECK).digest() == content[:_CHECK]


def unpack_block(
    content: bytes, texts_of: Callable[[list[bytes]], Mapping[bytes, str]], room: Room | None = None
) -> list[PackedFrame]:
    """Return the frames of a block; `texts_of` finds all texts that are kept apart by their hashes, at once.

    `room` is what all blocks of its chain may unfold to. Raises DamagedError.
    """
    if not is_whole(content):
        raise DamagedError("its checksum is wrong")
    room = room or Room()
    unfolded = unsqueezed(content[_CHECK:], room.left["bytes"])
    room.take(len(unfolded), "bytes")
    unpacker = Unpacker(unfolded)
    counts = [unpacker.count() for _ in range(unpacker.count(MOST_FRAMES))]
    room.take(len(counts), "polls")
    room.take(sum(counts), "texts")
    words = [_text(unpacker) for _ in range(sum(counts))]
    apart = [word for word in words if isinstance(word, bytes)]
    found = texts_of(apart) if apart else {}
    told = iter([found[word] if isinstance(word, bytes) else word for word in words])
    texts = [tuple(islice(told, count)) for count in counts]
    bares = [unpacker.take(size) for size in unpack_numbers(len(counts), unpacker)]
    if len(counts) == 1:
        many = unpacker.count(_MOST_PARTS)
        room.take(many, "parts")
        parts = {(unpacker.count(), unpacker.count()): unpacker.blob() for _ in range(many)}
        return [PackedFrame(texts[0], bares[0], parts)]
    streams = [_unpack_stream(unpacker, len(counts), room) for _ in range(unpacker.count(_MOST_PARTS))]
    return [
        PackedFrame(own, bare, _StreamParts(streams, place))
        for place, (own, bare) in enumerate(zip(texts, bares, strict=True))
    ]


class _Stream(NamedTuple):
    """What the frames at some places (ascending) say of one part: each up to its end in the content."""

    part: Part
    places: Sequence[int]
    ends: Sequence[int]
    content: bytes


class _StreamParts(Mapping[Part, bytes]):
    """The parts of one frame, taken out of the streams when somebody looks: few frames of a chain are looked at."""

    def __init__(self, streams: Sequence[_Stream], place: int) -> None:
        self._streams = streams
        self._place = place

    @cached_property
    def _own(self) -> dict[Part, bytes]:
        found, wanted = {}, self._place
        for part, places, ends, content in self._streams:
            index = bisect_left(places, wanted)
            if index < len(places) and places[index] == wanted:
                found[part] = content[ends[index] : ends[index + 1]]
        return found

    def __getitem__(self, part: Part) -> bytes:
        return self._own[part]

    def __iter__(self) -> Iterator[Part]:
        return iter(self._own)

    def __len__(self) -> int:
        return len(self._own)


def _unpack_stream(unpacker: Unpacker, frames: int, room: Room) -> _Stream:
    part = (unpacker.count(), unpacker.count())
    count = unpacker.count(frames)
    room.take(count, "parts")
    shifts = list(unpack_numbers(count, unpacker))
    sizes = unpack_numbers(count, unpacker)
    if count and (min(sizes) < 0 or shifts != sorted(shifts) or not 0 <= shifts[0] <= shifts[-1] <= frames - count):
        raise DamagedError("a frame that is not there")
    ends = list(accumulate(sizes, initial=0))
    return _Stream(part, list(map(add, shifts, range(count))), ends, unpacker.take(ends[-1]))


def _text(unpacker: Unpacker) -> str | bytes:
    """Return a text, or the hash of one that is kept apart."""
    return unpacker.take(HASH) if unpacker.count(_APART) == _APART else unpacker.text()
