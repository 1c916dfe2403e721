"""Chains: polls in a row as frames, each compressed by zstd with the poll before as its prefix, and blocks of frames.

What did not change since the poll before is a reference into the prefix, so a frame is little more than what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Annotated

from msgspec import Meta, MsgspecError
from msgspec.msgpack import Decoder, encode
from zstandard import (
    DICT_TYPE_RAWCONTENT,
    ZstdCompressionDict,
    ZstdCompressor,
    ZstdDecompressor,
    ZstdError,
    frame_content_size,
)

from presman.recording.codec.poll_codec import PollDecoder, PollEncoder
from presman.recording.codec.shapes import FEW_VALUES
from presman.recording.codec.values import DamagedError
from presman.rows.snapshot import Snapshot

QUICK, THOROUGH = 3, 10
"""How hard zstd tries: for the screen's own history, and for recordings, which take a quarter less room by it."""

MOST_POLLS = 10_000
"""Polls that a block may have; a recorder writes 256."""

_FULL = 32 << 20
"""Bytes that the polls of a chain unfold to, after which it is ended: so much is unfolded for the last of them."""

_LARGEST = 32 << 20
"""Bytes that one poll may unfold to; 40,000 sessions have 10,000,000."""

_STRIDE = 16
"""Of the polls of a chain each so-manieth is kept unfolded, for who goes backwards."""

_FRAMES = Decoder(Annotated[list[bytes], Meta(max_length=MOST_POLLS)])
CHECK = 8
"""Bytes of a block's checksum."""
_OLD = b"\x28\xb5\x2f\xfd"
"""How blocks of formats 1 and 2 begin behind their checksum: they are one frame of zstd."""


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
        frame = ZstdCompressor(level=self._level, dict_data=_prefix(self._before)).compress(content)
        self._before = content
        self._unfolded += len(content)
        return frame

    @property
    def is_full(self) -> bool:
        """Whether the next snapshot has to begin a new chain."""
        return self._unfolded >= _FULL


class FrameDecoder:
    """The snapshots of one chain, by place. Raises DamagedError where frames make no sense.

    `frames` are all of the chain. `trusted` leaves out what only recordings of strangers need.
    """

    def __init__(self, frames: Sequence[bytes], *, trusted: bool = False) -> None:
        try:
            sizes = [frame_content_size(each) for each in frames]
        except ZstdError as error:
            raise DamagedError("it cannot be decompressed") from error
        if min(sizes, default=0) < 0 or (not trusted and _is_too_large(sizes)):
            raise DamagedError("it unfolds to more bytes than a recorder writes")
        self._frames = frames
        self._decoder = PollDecoder(sum(map(len, frames)), trusted=trusted)
        self._unfolded: dict[int, bytes] = {}
        self._last = (-1, b"")

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_large(self) -> bool:
        """Whether what is kept takes so much room that it is not kept beside that of other chains."""
        return self._decoder.values > FEW_VALUES // 4

    def snapshot(self, place: int) -> Snapshot:
        """Return the snapshot at a place."""
        if not 0 <= place < len(self._frames):
            raise IndexError(place)
        return self._decoder.decode(self._content(place))

    def _content(self, place: int) -> bytes:
        """Return what a frame unfolds to, by way of those before it."""
        kept = [(each, content) for each, content in self._unfolded.items() if each <= place]
        near, content = max([*kept, self._last] if self._last[0] <= place else kept, default=(-1, b""))
        for each in range(near + 1, place + 1):
            try:
                content = ZstdDecompressor(dict_data=_prefix(content)).decompress(self._frames[each])
            except (ZstdError, MemoryError) as error:
                raise DamagedError("it cannot be decompressed") from error
            if each % _STRIDE == 0:
                self._unfolded[each] = content
        self._last = (place, content)
        return content


def _prefix(content: bytes) -> ZstdCompressionDict | None:
    return ZstdCompressionDict(content, dict_type=DICT_TYPE_RAWCONTENT) if content else None


def _is_too_large(sizes: Sequence[int]) -> bool:
    return max(sizes, default=0) > _LARGEST or sum(sizes) > _FULL + _LARGEST


def pack_block(frames: Sequence[bytes]) -> bytes:
    """Return frames in a row as a block: a checksum, and an array of them."""
    content = encode(frames)
    return _checksum(content) + content


def unpack_block(content: bytes) -> list[bytes]:
    """Return the frames of a block. Raises DamagedError."""
    if not is_whole(content):
        raise DamagedError("its checksum is wrong")
    try:
        frames: list[bytes] = _FRAMES.decode(memoryview(content)[CHECK:])
    except MsgspecError as error:
        raise DamagedError("it holds no polls, or more than a recorder writes") from error
    return frames


def is_whole(content: bytes) -> bool:
    """Whether the checksum of a block is right."""
    return _checksum(memoryview(content)[CHECK:]) == content[:CHECK]


def is_old(content: bytes) -> bool:
    """Whether a block is of format 1 or 2."""
    return content[CHECK : CHECK + len(_OLD)] == _OLD


def _checksum(content: bytes | memoryview) -> bytes:
    return blake2b(content, digest_size=CHECK).digest()
