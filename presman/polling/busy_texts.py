"""Texts of the busiest statements: which statements are active most, and one question about the texts of several.

The queue and what runs in parallel are looked up one by one (:mod:`presman.polling.lookups`). Of the others only the
text is wanted, so several are asked for together: one statement in one round trip, at most once a minute.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from presman.rows.cursor_rows import SqlText
from presman.rows.queries import Query, for_several
from presman.rows.session_rows import BACKGROUND, Session
from presman.rows.snapshot import Section
from presman.sources import Request

AT_ONCE = 20
"""Statements whose texts are asked for together."""

MOST_RANKED = 40
"""Statements whose texts go along with each poll: those of the queue and of what runs come besides."""

MOST_COUNTED = 500
"""Statements that are counted; beyond that the least busy half is forgotten."""

EVERY = timedelta(seconds=60)
"""How often texts are asked for, and how often older samples come to count half."""

COUNTED = timedelta(seconds=5)
"""How long is counted before texts are asked for at first: one sample says little of who is busy."""

LONGEST_REST = timedelta(hours=1)
"""How long nothing is asked at most where V$SQL takes too long to be searched for several statements."""

_LEAST = 0.25
"""Samples below which a statement is no longer busy: two to three minutes after it was seen once."""


class CursorKey(NamedTuple):
    """The key of one cursor in V$SQL and V$SQL_PLAN."""

    inst_id: int
    sql_id: str
    child_number: int


class TextsLookup(NamedTuple):
    """One question about the texts of several statements of one instance."""

    statements: tuple[CursorKey, ...]
    request: Request


class BusyTexts:
    """Counts in how many sessions each statement is active, and says whose texts to ask for, and when.

    A statement is counted once for all its cursors: they have the same text. With `at_once` there is nobody whom
    asking costs anything, and no minute to wait for.
    """

    def __init__(self, *, at_once: bool = False) -> None:
        self._at_once = at_once
        self._samples: Counter[str] = Counter()
        self._cursors: dict[str, CursorKey] = {}
        self._faded: datetime | None = None
        self._asked: datetime | None = None
        self._rest = COUNTED

    def add(self, sessions: Iterable[Session], now: datetime) -> None:
        """Count the sessions that are active, parallel servers among them."""
        for row in sessions:
            if row.status == "ACTIVE" and row.sql_id and row.type != BACKGROUND:
                self._samples[row.sql_id] += 1
                self._cursors.setdefault(row.sql_id, CursorKey(row.inst_id, row.sql_id, row.sql_child_number or 0))
        self._asked = self._asked or now
        if self._faded is None or now - self._faded >= EVERY or now < self._faded:
            self._fade()
            self._faded = now
        elif len(self._samples) > MOST_COUNTED:
            self._keep(self._samples.most_common(MOST_COUNTED // 2))

    def _fade(self) -> None:
        halved = ((sql_id, samples / 2) for sql_id, samples in self._samples.most_common(MOST_COUNTED))
        self._keep([(sql_id, left) for sql_id, left in halved if left >= _LEAST])

    def _keep(self, samples: Iterable[tuple[str, float]]) -> None:
        self._samples = Counter(dict(samples))
        self._cursors = {sql_id: self._cursors[sql_id] for sql_id in self._samples}

    @property
    def ranked(self) -> list[CursorKey]:
        """The busiest statements, the first before the others."""
        return [self._cursors[sql_id] for sql_id, _ in self._samples.most_common(MOST_RANKED)]

    def is_due(self, now: datetime | None) -> bool:
        """Return whether texts may be asked for at `now` (None: not known)."""
        since = None if now is None or self._asked is None else now - self._asked
        return self._at_once or (since is not None and since >= self._rest)

    def lookup(self, wanted: Sequence[CursorKey], query: Query, now: datetime) -> TextsLookup:
        """Return the question about the first of the statements `wanted` and others on its instance."""
        self._asked = now
        chosen = tuple(each for each in wanted if each.inst_id == wanted[0].inst_id)[:AT_ONCE]
        binds: dict[str, object] = {"at_inst_id": chosen[0].inst_id}
        for number in range(AT_ONCE):  # the last one again in place of those that are missing: one text for all numbers
            each = chosen[min(number, len(chosen) - 1)]
            binds |= {f"sql_id_{number}": each.sql_id, f"child_number_{number}": each.child_number}
        return TextsLookup(chosen, Request(for_several(query, AT_ONCE), binds))

    def answered(self, section: Section) -> None:
        """Take note of an answer: a view that takes too long is left alone, ever longer."""
        late = section.problem is not None and section.problem.late
        self._rest = min(LONGEST_REST, 2 * max(EVERY, self._rest)) if late else EVERY


def text_of(statement: CursorKey, rows: Iterable[SqlText]) -> tuple[SqlText, ...]:
    """Return the text of a statement among those of several: its own cursor's, or else that of another of its own."""
    own = [row for row in rows if row.sql_id == statement.sql_id]
    return tuple(sorted(own, key=lambda row: row.child_number != statement.child_number)[:1])
