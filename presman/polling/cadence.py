"""Cadence of queries: what was answered last, and whether it is to be asked again."""

from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from presman.rows.queries import Cadence, DetailLevel, Query
from presman.rows.snapshot import Section

MINUTE = timedelta(seconds=60)
"""How often a `minute` query runs and a failed one is tried again, on the source's clock."""


class LastAnswer(Struct, frozen=True):
    """The last answer to one query: when on the source's clock, in which poll, and what.

    `late` counts how often in a row there was none in time; the rows are then those of the last one that came.
    """

    at: datetime
    poll: int
    section: Section
    late: int = 0

    def rests(self, now: datetime | None) -> bool:
        """Return whether a query that failed is not to be asked again yet at `now` (None: not known)."""
        if not self.late and not self.section.problem:
            return False
        return now is None or now - self.at < (rest_after(self.late) if self.late else MINUTE)


def cadence_in(query: Query, detail_level: DetailLevel) -> Cadence:
    """Return how often a query runs in polls of this level of detail."""
    return query.cadence if query.shown in detail_level else Cadence.MINUTE


def is_due(
    query: Query, asked: LastAnswer | None, now: datetime | None, detail_level: DetailLevel = DetailLevel.WHOLE
) -> bool:
    """Return whether `query` should run at `now` (None: not known yet), given its last answer.

    A failed one rests for a minute, so that a missing grant does not fill the audit trail; one that was late rests
    the longer, the more often it was.
    """
    if query.cadence is Cadence.DEMAND:
        return False
    if asked is None:
        return True
    if asked.late or asked.section.problem:
        return not asked.rests(now)
    if cadence_in(query, detail_level) is Cadence.MINUTE:
        return now is not None and now - asked.at >= MINUTE
    return query.cadence is Cadence.REFRESH


def is_within_cadence(
    query: Query, section: Section, now: datetime, detail_level: DetailLevel = DetailLevel.WHOLE
) -> bool:
    """Return whether rows that are asked for each minute are no older than two."""
    return (
        cadence_in(query, detail_level) is Cadence.MINUTE and section.at is not None and now - section.at < 2 * MINUTE
    )


# ---- The time a poll may take, and how long a view that did not answer in it is left alone.

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


# ---- Needs of whoever polls: what of the dear parts of a poll somebody makes use of.

MOST_ANSWERS, MOST_KEPT = 1000, 32_000_000
"""Answers about statements that are kept, and characters of texts and plans, however many they are of."""


class PollNeeds(NamedTuple):
    """Of how many statements on show plans are looked up (None: of all), and whether their texts are, too.

    `most` is how many of the answers are kept, `largest` how many characters; `few` says that of statements no longer
    on show hardly any are kept: one of many databases should. `idle_sessions` tells whether idle sessions are listed
    once a minute. Those that others name are read in any case.
    """

    statements: int | None = None
    texts: bool = True
    most: int = MOST_ANSWERS
    largest: int = MOST_KEPT
    few: bool = False
    idle_sessions: bool = True


EVERYTHING = PollNeeds()
