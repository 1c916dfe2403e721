"""The recent snapshots, for scrolling back, bounded by count and by bytes.

All but the newest two are kept in unnamed temporary files, so that hours of history take no memory and no file is left
behind, however the process ends. The format is that of recordings: each snapshot is compressed with the one before.
"""

import io
import tempfile
from array import array
from bisect import bisect_right
from collections import deque
from errno import ENOSPC
from typing import IO
from weakref import finalize

from presman.recording.codec.poll_codec import QUICK, FrameDecoder, FrameEncoder
from presman.rows.snapshot import Snapshot

MEBIBYTE = 1 << 20
LIVE = 2
"""Newest snapshots that are kept as objects: the pair on show."""

PARTS = 4
"""Files of a full history; when one more is begun, the oldest is deleted with all its snapshots."""

CHAIN = 64
"""Snapshots in a chain, in which each is compressed with the one before; large snapshots make shorter chains."""


class _File:
    """Consecutive snapshots in one self-contained file: appended at the end, read at any index."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.close = finalize(self, file.close)  # without a name, its room on the disk is free once it is closed
        self.size = 0
        self.in_memory = isinstance(file, io.BytesIO)
        self._ends = array("Q", [0])
        self._firsts = array("Q")
        self._encoder: FrameEncoder | None = None
        self._decoder: tuple[int, FrameDecoder] | None = None

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, snapshot: Snapshot) -> None:
        """Write a snapshot. Raises OSError if there is no room."""
        index = len(self)
        if self._encoder is None or self._encoder.is_full or index - self._firsts[-1] >= CHAIN:
            self._encoder = FrameEncoder(QUICK)
            self._firsts.append(index)
        frame = self._encoder.add(snapshot)
        self._file.seek(self.size)
        if self._file.write(frame) != len(frame):
            raise OSError(ENOSPC, "no room for the history")
        self.size += len(frame)
        self._ends.append(self.size)

    def read(self, index: int) -> Snapshot:
        """Return the snapshot at an index, unchanged."""
        number = bisect_right(self._firsts, index) - 1
        first, after = self._firsts[number], (*self._firsts[number + 1 :], len(self))[0]
        if self._decoder is None or self._decoder[0] != first or index - first >= len(self._decoder[1]):
            # Trusted: presman wrote these bytes, to a file that no other process can open.
            self._decoder = (first, FrameDecoder([self._frame(each) for each in range(first, after)], trusted=True))
        return self._decoder[1].snapshot(index - first)

    def finish(self) -> None:
        """Free the encoder and decoder, because no further snapshot is appended."""
        self._encoder = self._decoder = None

    def _frame(self, index: int) -> bytes:
        self._file.seek(self._ends[index])
        return self._file.read(self._ends[index + 1] - self._ends[index])


class History:
    """Snapshots in order of time; index 0 is the oldest that is still kept.

    Bounded by `count` snapshots and by `size` bytes of temporary files. Where no temporary file can be created or
    written (a full disk), up to `memory` bytes are kept in memory. Not thread safe.
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
        """Bytes of all compressed snapshots, in files or in memory."""
        return sum(file.size for file in self._files)

    def append(self, snapshot: Snapshot) -> None:
        """Add the newest snapshot."""
        self._live.append(snapshot)
        if len(self._live) > LIVE:
            self._keep(self._live.popleft())

    def pair(self, index: int) -> tuple[Snapshot | None, Snapshot]:
        """Return the snapshot before `index` (None for the oldest) and the one at it. Negative counts from the end.

        Raises IndexError.
        """
        index = index + len(self) if index < 0 else index
        if not 0 <= index < len(self):
            raise IndexError(index)
        return (self._at(index - 1) if index else None), self._at(index)

    def _at(self, index: int) -> Snapshot:
        for file in self._files:
            if index < len(file):
                return file.read(index)
            index -= len(file)
        return self._live[index]

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
        # Unbuffered, so that a full disk shows at the write that fails.
        return tempfile.TemporaryFile(prefix="presman-", buffering=0)
    except OSError:
        return io.BytesIO()
