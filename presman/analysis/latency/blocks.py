"""A queue of small blocks of bytes. All but the newest are kept compressed, many together."""

from __future__ import annotations

import marshal
import zlib
from collections import deque
from collections.abc import Iterator
from itertools import islice

TOGETHER = 64
"""Blocks that are compressed together: one by one they would hardly get smaller."""

_EACH = 48
"""Bytes that a block costs besides its content, roughly, while it is not compressed."""


class Blocks:
    """Blocks in the order they came; `dropped` counts those that went before."""

    def __init__(self) -> None:
        self._packed: deque[bytes] = deque()
        self._fresh: list[bytes] = []
        self._gone = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._packed) * TOGETHER + len(self._fresh) - self._gone

    @property
    def size(self) -> int:
        """Bytes they take, roughly."""
        return sum(map(len, self._packed)) + sum(len(block) + _EACH for block in self._fresh)

    def append(self, block: bytes) -> None:
        """Add the newest block."""
        self._fresh.append(block)
        if len(self._fresh) == TOGETHER:
            self._packed.append(zlib.compress(marshal.dumps(self._fresh)))
            self._fresh = []

    def drop(self) -> None:
        """Drop the oldest block. Raises IndexError if there is none."""
        if not self:
            raise IndexError("no blocks")
        self._gone += 1
        self.dropped += 1
        if self._packed and self._gone == TOGETHER:
            self._packed.popleft()
            self._gone = 0
        elif not self._packed:
            del self._fresh[: self._gone]
            self._gone = 0

    def since(self, number: int) -> Iterator[bytes]:
        """Yield the blocks from `number` on, counted from the very first, those that were dropped too."""
        skip = max(0, number - self.dropped) + self._gone
        whole = min(skip // TOGETHER, len(self._packed))
        skip -= whole * TOGETHER
        for packed in islice(self._packed, whole, None):
            yield from islice(marshal.loads(zlib.decompress(packed)), skip, None)
            skip = 0
        yield from islice(self._fresh, skip, None)
