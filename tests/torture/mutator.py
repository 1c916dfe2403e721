"""Mutator: a proxy that changes bytes of a server's answers, in the headers of packets or behind them."""

from __future__ import annotations

import random

from tests.torture.relay import Line, Relay

HEADER = 10
VALUES = (0, 1, 127, 128, 253, 254, 255)
"""Bytes with a meaning as a length, or as a missing length."""

KINDS = (1, 4, 6, 7, 8, 9, 11, 14, 15, 16, 21, 23, 27, 29, 33)
"""Types of packets and of messages."""

FURTHEST, APART = 40_000, 15_000
"""Bytes before the first change, and between changes."""


class Mutator(Relay):
    """Changes what is sent to the clients. The seed and the number given to `begin` determine the changes."""

    def __init__(self, port: int, seed: int, *, heads: bool) -> None:
        super().__init__(port)
        self._seed = seed
        self._heads = heads
        self.begin(0)

    def begin(self, number: int) -> None:
        self._rng = random.Random(f"{self._seed} {number} {self._heads}")
        self._next = self._rng.randrange(1, self._rng.choice((500, 3_000, FURTHEST)))

    def forward(self, line: Line, data: bytes, *, asking: bool) -> None:
        """Forward the bytes, changed if a change is due."""
        if not asking:
            self._next -= len(data)
            if self._next < 0:
                data = self._changed(data)
                self._next = self._rng.randrange(1, APART)
        super().forward(line, data, asking=asking)

    def _changed(self, data: bytes) -> bytes:
        rng, new = self._rng, bytearray(data)
        for _ in range(rng.choice((1, 1, 2, 5, 20))):
            at = rng.randrange(min(HEADER, len(new))) if self._heads else rng.randrange(min(8, len(new) - 1), len(new))
            new[at] = rng.choice((rng.randrange(256), new[at] ^ 1 << rng.randrange(8), *VALUES, *KINDS))
        if self._heads and rng.random() < 0.2:
            new[:0] = rng.randbytes(rng.randrange(1, 9))
        return bytes(new)
