"""The time a poll may take, and how long a view that did not answer in it is left alone."""

from __future__ import annotations

from datetime import timedelta

LEAST, MOST = 5.0, 30.0
"""Seconds that a poll has at least and at most, unless somebody chose otherwise."""

INTERVALS = 3.0
"""Intervals between two polls that a poll may take."""

RESTS = tuple(timedelta(seconds=seconds) for seconds in (5, 10, 20, 40, 60))
"""How long a view rests that did not answer once, twice, … in a row: whoever is slow is asked rarely."""


def budget_of(refresh: float, chosen: float | None = None) -> float:
    """Return the seconds that a poll may take if there is one every `refresh` seconds.

    >>> budget_of(2.0), budget_of(0.5), budget_of(60.0), budget_of(2.0, 12.0)
    (6.0, 5.0, 30.0, 12.0)
    """
    return min(MOST, max(LEAST, INTERVALS * refresh)) if chosen is None else chosen


def rest_after(times: int) -> timedelta:
    """Return how long a view rests that did not answer `times` in a row."""
    return RESTS[min(times, len(RESTS)) - 1]
