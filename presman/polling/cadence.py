"""Cadence of queries: what was answered last, and whether it is to be asked again."""

from __future__ import annotations

from datetime import datetime, timedelta

from msgspec import Struct

from presman.polling.budget import rest_after
from presman.records.queries import Breadth, Cadence, Query
from presman.records.snapshot import Section

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


def cadence_in(query: Query, breadth: Breadth) -> Cadence:
    """Return how often a query runs in polls of this breadth."""
    return query.cadence if query.shown in breadth else Cadence.MINUTE


def is_due(query: Query, asked: LastAnswer | None, now: datetime | None, breadth: Breadth = Breadth.WHOLE) -> bool:
    """Return whether `query` should run at `now` (None: not known yet), given its last answer, in polls of `breadth`.

    A failed one rests for a minute, so that a missing grant does not fill the audit trail; one that was late rests
    the longer, the more often it was.
    """
    if query.cadence is Cadence.DEMAND:
        return False
    if asked is None:
        return True
    if asked.late or asked.section.problem:
        return not asked.rests(now)
    if cadence_in(query, breadth) is Cadence.MINUTE:
        return now is not None and now - asked.at >= MINUTE
    return query.cadence is Cadence.REFRESH


def is_within_cadence(query: Query, section: Section, now: datetime, breadth: Breadth = Breadth.WHOLE) -> bool:
    """Return whether rows that are asked for each minute are no older than two."""
    return cadence_in(query, breadth) is Cadence.MINUTE and section.at is not None and now - section.at < 2 * MINUTE
