"""The snapshots of the last while, for scrolling back, bounded by count and by bytes.

All but the newest two are kept in temporary files without a name, so that hours of them take no memory and nothing
stays behind whatever becomes of the process. They are written as recordings are: each as its difference to one before.
"""

from __future__ import annotations

import io
import tempfile
from array import array
from collections import deque
from errno import ENOSPC
from typing import IO
from weakref import finalize

from presman.codec.decoder import FrameDecoder
from presman.codec.encoder import FrameEncoder, PackedFrame
from presman.codec.frame_blocks import QUICK, pack_block, unpack_block
from presman.records.snapshot import Snapshot

MEBIBYTE = 1 << 20
LIVE = 2
"""Newest snapshots kept as they are: the pair on show."""

PARTS = 4
"""Files that a full history fills; when one more is begun the oldest goes, and all that was in it."""

CHAIN = 64
"""Snapshots that are the difference to one another; each such chain is readable by itself."""

_Span = tuple[int, int]
"""Where some bytes are in a file: offset and length."""


class _File:
    """Some snapshots in a row, each readable with what is in this file alone. Written at the end, read anywhere."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = finalize(self, file.close)
        self.size = 0
        self.in_memory = isinstance(file, io.BytesIO)
        self._spans = array("Q")
        self._encoder: FrameEncoder | None = FrameEncoder()
        self._decoder: tuple[int, FrameDecoder] | None = None

    def __len__(self) -> int:
        return len(self._spans) // 2

    def append(self, snapshot: Snapshot) -> None:
        """Write a snapshot. Raises OSError if there is no room."""
        if self._encoder is None or self._encoder.place >= CHAIN:
            self._encoder = FrameEncoder()
        self._decoder = None
        self._spans.extend(self._write(pack_block([self._encoder.add(snapshot)], QUICK, apart=False)))

    def read(self, place: int) -> Snapshot:
        """Return the snapshot at a place, as it was."""
        first = place - place % CHAIN
        if self._decoder is None or self._decoder[0] != first or place - first >= len(self._decoder[1]):
            spans = range(2 * first, min(2 * (first + CHAIN), len(self._spans)), 2)
            frames = [self._read((self._spans[each], self._spans[each + 1])) for each in spans]
            # Our own bytes, from a file that nobody else can open.
            self._decoder = (first, FrameDecoder(frames, trusted=True))
        return self._decoder[1].snapshot(place - first)

    def finish(self) -> None:
        """Let go of what only the next snapshot would have needed."""
        self._encoder = self._decoder = None

    def _write(self, packed: bytes) -> _Span:
        self._file.seek(self.size)
        if self._file.write(packed) != len(packed):
            raise OSError(ENOSPC, "no room for the history")
        span = (self.size, len(packed))
        self.size += len(packed)
        return span

    def _read(self, span: _Span) -> PackedFrame:
        self._file.seek(span[0])
        (frame,) = unpack_block(self._file.read(span[1]), lambda _: {})
        return frame


class History:
    """Snapshots in order of time; index 0 is the oldest that is left.

    Bounded by `count` snapshots and by `size` bytes of temporary files. Where those cannot be had or written (a full
    disk), by `memory` bytes there. Not thread safe.
    """

    def __init__(self, count: int = 3600, size: int = 128 * MEBIBYTE, memory: int = 4 * MEBIBYTE) -> None:
        self._count = max(LIVE, count)
        self._room = {False: size, True: memory}
        self._files: deque[_File] = deque()
        self._live: deque[Snapshot] = deque()

    def __len__(self) -> int:
        return sum(map(len, self._files)) + len(self._live)

    @property
    def used(self) -> int:
        """Bytes that the snapshots which are not live take, in files or in memory."""
        return sum(file.size for file in self._files)

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest snapshot."""
        self._live.append(snapshot)
        if len(self._live) > LIVE:
            self._keep(self._live.popleft())

    def pair(self, index: int) -> tuple[Snapshot | None, Snapshot]:
        """Return the snapshot at `index` and the one before it (None at the oldest); negative counts from the end.

        Raises IndexError.
        """
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return (self._at(place - 1) if place else None), self._at(place)

    def _at(self, place: int) -> Snapshot:
        for file in self._files:
            if place < len(file):
                return file.read(place)
            place -= len(file)
        return self._live[place]

    def _keep(self, snapshot: Snapshot) -> None:
        if not self._files or self._is_full(self._files[-1]):
            self._begin(_open())
        try:
            self._files[-1].append(snapshot)
        except OSError:
            self._begin(io.BytesIO())
            self._files[-1].append(snapshot)
        while len(self) > self._count or self._over(in_memory=False) or self._over(in_memory=True):
            if len(self._files) == 1:
                break
            self._files.popleft().close()

    def _begin(self, file: IO[bytes]) -> None:
        if self._files:
            self._files[-1].finish()
        self._files.append(_File(file))

    def _is_full(self, file: _File) -> bool:
        return len(file) >= max(1, self._count // PARTS) or file.size >= self._room[file.in_memory] // PARTS

    def _over(self, *, in_memory: bool) -> bool:
        return sum(file.size for file in self._files if file.in_memory is in_memory) > self._room[in_memory]


def _open() -> IO[bytes]:
    try:
        return tempfile.TemporaryFile(prefix="presman-", buffering=0)
    except OSError:
        return io.BytesIO()
