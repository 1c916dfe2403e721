"""Cadence of queries: the last answer to each, and whether it is due again; and which polls are regular."""

import math
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec import Struct

from presman.rows.queries import Cadence, DetailLevel, Query
from presman.rows.snapshot import Section

MINUTE = timedelta(seconds=60)
"""Interval at which a `minute` query runs and a failed query is retried, on the source's clock."""


class LastAnswer(Struct, frozen=True):
    """The last answer to one query: its time on the source's clock, the number of its poll, and its section.

    `late` counts the consecutive timeouts since; the rows are then those of the last answer that arrived.
    """

    at: datetime
    poll: int
    section: Section
    late: int = 0

    def rests(self, now: datetime | None) -> bool:
        """Return whether a failed query must not be retried yet at `now` (None: not known)."""
        if not self.late and not self.section.problem:
            return False
        return now is None or now - self.at < (RESTS[min(self.late, len(RESTS)) - 1] if self.late else MINUTE)


def is_due(
    query: Query, asked: LastAnswer | None, now: datetime | None, detail_level: DetailLevel = DetailLevel.WHOLE
) -> bool:
    """Return whether `query` should run at `now` (None: not known yet), given its last answer.

    A failed query rests for a minute, so that a missing grant does not fill the audit trail. A query that timed out
    rests longer with each timeout.
    """
    if query.cadence is Cadence.DEMAND:
        return False
    if asked is None:
        return True
    if asked.late or asked.section.problem:
        return not asked.rests(now)
    if query.cadence is Cadence.MINUTE or query.shown not in detail_level:
        return now is not None and now - asked.at >= MINUTE
    return query.cadence is Cadence.REFRESH


# ---- Regular polls, between which rates are computed, and extra ones.

PART = 0.5
"""Part of an interval: a poll that is asked for sooner after a regular one is extra."""

SOON = 1.0
"""Seconds: the same for the first poll after a single regular one, which alone has no rates to show again."""


class RegularPolls:
    """The regular polls of one database, and which of its polls are extra.

    A key, a page or another tab asks for a poll at any moment. If rates were computed between it and the poll just
    before, they would be those of a fraction of a second. An extra poll is shown with rates since the regular poll
    before the last one, and is forgotten: the next regular one has rates since the last regular one.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget all: the database was lost, and no rate reaches across that."""
        self._read_at, self._count = -math.inf, 0

    def is_extra(self, read_at: float, refresh: float, *, asked: bool) -> bool:
        """Return whether the poll that began to read at `read_at` is extra; only polls that were `asked` for can be."""
        soon = PART * refresh if self._count > 1 else min(SOON, PART * refresh)
        if asked and read_at - self._read_at < soon:
            return True
        self._read_at, self._count = read_at, self._count + 1
        return False


# ---- The time budget of a poll, and how long a view rests that did not answer within it.

LEAST, MOST = 5.0, 30.0
"""Smallest and largest default time budget of a poll, in seconds."""

INTERVALS = 3.0
"""Default time budget of a poll, in refresh intervals."""

RESTS = tuple(timedelta(seconds=seconds) for seconds in (5, 10, 20, 40, 60))
"""How long a view rests after one, two, … timeouts in a row: a slow view is queried less often."""


def budget_of(refresh: float, chosen: float | None = None) -> float:
    """Return the seconds that a poll may take if polls run every `refresh` seconds; `chosen` overrides the default.

    >>> budget_of(2.0), budget_of(0.5), budget_of(60.0), budget_of(2.0, 12.0)
    (6.0, 5.0, 30.0, 12.0)
    """
    return min(MOST, max(LEAST, INTERVALS * refresh)) if chosen is None else chosen


# ---- Needs of a poller's caller: which expensive parts of a poll it uses.

MOST_ANSWERS, MOST_KEPT = 1000, 32_000_000
"""Default limits of the cache of lookups: its answers, and the characters of their texts and plans together."""


class PollNeeds(NamedTuple):
    """The lookups that a poller makes, and the answers that it keeps.

    `statements` limits the shown statements whose plans are looked up (None: no limit); `texts` is whether their SQL
    texts are looked up, too. At most `most` answers with `largest` characters together are kept. With `few` hardly any
    answers about statements no longer shown are kept: meant for one of many databases. `idle_sessions` is whether all
    idle sessions are listed once a minute; those that other sessions name are always read.
    """

    statements: int | None = None
    texts: bool = True
    most: int = MOST_ANSWERS
    largest: int = MOST_KEPT
    few: bool = False
    idle_sessions: bool = True


EVERYTHING = PollNeeds()
