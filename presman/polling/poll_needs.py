"""Needs of whoever polls: what of the dear parts of a poll somebody makes use of."""

from __future__ import annotations

from typing import NamedTuple

MOST_ANSWERS, MOST_KEPT = 1000, 32_000_000
"""Answers about statements that are kept, and characters of texts and plans, however many they are of."""


class PollNeeds(NamedTuple):
    """Of how many statements on show plans are looked up (None: of all), and whether their texts are, too.

    `most` is how many of the answers are kept, `largest` how many characters; `idle_sessions` tells whether idle
    sessions are listed once a minute. Those that others name are read in any case.
    """

    statements: int | None = None
    texts: bool = True
    most: int = MOST_ANSWERS
    largest: int = MOST_KEPT
    idle_sessions: bool = True


EVERYTHING = PollNeeds()
