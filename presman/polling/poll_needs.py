"""Needs of whoever polls: what of the dear parts of a poll somebody makes use of."""

from __future__ import annotations

from typing import NamedTuple

MOST_KEPT = 32_000_000
"""Characters of texts and plans that are kept, however many statements they are of."""


class PollNeeds(NamedTuple):
    """Of how many statements on show plans are looked up (None: of all), and whether their texts are, too.

    `largest` is how many characters of them are kept; `idle_sessions` tells whether idle sessions are listed once a
    minute. Those that others name are read in any case.
    """

    statements: int | None = None
    texts: bool = True
    largest: int = MOST_KEPT
    idle_sessions: bool = True


EVERYTHING = PollNeeds()
