"""The first thing a server says of itself: its protocol, character sets and capabilities.

The driver looks up capabilities by number in two arrays from the server and does not see where they end: shorter ones
crash it. So the answer is read here first.
"""

from __future__ import annotations

PROTOCOL = 1
"""How the answer begins."""

COMPILED, AT_RUN_TIME = 41, 7
"""How long the two arrays are at least: as far as the driver looks without asking. Real ones are longer."""

LONGEST = 16_384
"""Bytes; real answers have some hundred."""

ARRAY_IN_PARTS = 254
NOTHING = (0, 255)


class UnfitAnswer(ValueError):  # noqa: N818 - what is wrong with the answer
    """The driver must not see this answer."""


class _Short(Exception):  # noqa: N818 - the rest is in the next packet
    pass


def is_whole(answer: bytes) -> bool:
    """Say whether an answer is complete as far as the capabilities go. Raises Unfit if the driver must not see it."""
    if answer[:1] != bytes([PROTOCOL]) or len(answer) > LONGEST:
        raise UnfitAnswer
    try:
        compiled, at = _array(answer, _behind_character_sets(answer))
        at_run_time, _ = _array(answer, at)
    except _Short:
        return False
    if compiled < COMPILED or at_run_time < AT_RUN_TIME:
        raise UnfitAnswer
    return True


def _behind_character_sets(answer: bytes) -> int:
    """Return where the arrays begin: behind the banner, the elements of the character set, and a description."""
    end = answer.find(0, 3)
    if end < 0:
        raise _Short
    elements = end + 4
    description = elements + 2 + 5 * int.from_bytes(_cut(answer, elements, 2), "little")
    return description + 2 + int.from_bytes(_cut(answer, description, 2), "big")


def _array(answer: bytes, at: int) -> tuple[int, int]:
    """Return the length of the array at `at`, and where it ends. Raises Unfit if it comes in parts."""
    size = _cut(answer, at, 1)[0]
    if size in NOTHING or size >= ARRAY_IN_PARTS:
        raise UnfitAnswer
    _cut(answer, at + 1, size)
    return size, at + 1 + size


def _cut(answer: bytes, at: int, size: int) -> bytes:
    if at + size > len(answer):
        raise _Short
    return answer[at : at + size]
