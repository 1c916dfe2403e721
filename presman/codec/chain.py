"""Chain of frames: which frame is the difference to which, what a frame says, and in which bits."""

from __future__ import annotations

from presman.base.release import Release
from presman.codec.values import instant
from presman.records.queries import Scope
from presman.records.snapshot import Snapshot

STRIDES = (96, 24, 8)
"""The frame at a multiple of a stride is the difference to the one as far before it: so few frames lead to any one."""

MOST_ROWS = 200_000
"""Rows that a section may have: the sessions of a large cluster, the idle ones too, are some ten thousand."""

FEW_VALUES, VALUES_PER_BYTE, MOST_VALUES = 1_500_000, 8, 2_500_000
"""Values that any poll may unfold to, how many more for each byte that its chain takes in the file, and no more than
that: two polls of so many take 300 MB. 40,000 sessions have 2,400,000 values, in 1,300,000 bytes."""

LONGEST_WAY = 64
"""Frames that may lead to one; those that a recorder writes are 14."""

REMOVED, AT, NEVER, SECONDS, PROBLEM, ABSENT, ROWS, MOVED = (1 << bit for bit in range(8))
"""What is told of a section: that it is gone; when it was read, where not at the poll's instant; that it never was;
how long it took; why it is not filled; which fields are not known; that its rows changed; that they changed places."""

WORDS, NARROW, STEP = 1, 2, 4
"""What is told of a poll: that its texts changed; that idle sessions are not all among its rows; to which frame it is
the difference, which format 1 knew by its place alone."""

MOST_GONE = 512
"""Rows of a section that are gone and remembered: a session that idled is the difference to what it was before."""

START = Snapshot("", "", Release(0), Scope.CLUSTER, instant(0), 0, 0, 0.0, 0)
"""What a key frame is the difference to."""


def step_of(place: int) -> int:
    """Return how far before the frame at `place` the one stands that it is the difference to; 0 for a key frame.

    >>> [step_of(place) for place in (0, 1, 8, 23, 24, 25, 48, 96, 120)]
    [0, 1, 8, 1, 24, 1, 24, 96, 24]
    """
    return next((each for each in STRIDES if place % each == 0), 1) if place else 0


def step_of_format_1(place: int) -> int:
    """Return the same of a frame that does not say it.

    >>> [step_of_format_1(place) for place in (0, 1, 8, 9, 56, 64, 65, 128)]
    [0, 1, 8, 1, 8, 64, 1, 64]
    """
    return 0 if not place else 64 if place % 64 == 0 else 8 if place % 8 == 0 else 1
