"""Identity of presman's own session: which it is, on which instance, and what time it is there.

Fetch sizes: all rows of a query in one round trip, unless they are so large that it takes several.

A row of a V$ view has some hundred bytes. Should one have a million, as a hostile or broken server may send, then rows
come a few at a time and are shortened as they come (rows.queries.shortened), so that memory stays bounded.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone, tzinfo

from presman.rows.queries import Query, has_long_texts
from presman.sources.oracle.guard import MOST
from presman.sources.oracle.thin_connection import Rows

HERE_AND_NOW = """SELECT
    SYS_CONTEXT('USERENV', 'SID') AS sid,
    SYS_CONTEXT('USERENV', 'INSTANCE') AS instance,
    SYSDATE AS local_time,
    SYS_EXTRACT_UTC(SYSTIMESTAMP) AS utc_time
FROM dual"""
"""Which session and instance presman has, and what time it is there. SYSDATE is the clock of the DATE columns."""

QUARTER = 15 * 60
"""Seconds: time zones differ by multiples of it."""


class SessionClock:
    """Which session presman has, and what time it is there by `clock`, ours.

    `sid` and `instance` are 0 while it has none. `at` (UTC) is what the database's clock showed when it was asked last,
    or carried on since; `zone` is that of its DATE columns.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Take note that there is no session."""
        self.sid = self.instance = 0
        self.at: datetime | None = None
        self.zone: tzinfo = UTC
        self._measured = 0.0

    def locate(self, rows: Rows) -> None:
        """Learn who and when presman is. Raises ValueError if the answer to HERE_AND_NOW does not tell."""
        try:
            sid, instance, local, utc = rows[0]
            ahead = round((local - utc).total_seconds() / QUARTER) * QUARTER
            found = int(sid), int(instance), utc.replace(tzinfo=UTC)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError("the server gives neither its time nor the identity of this session") from error
        self.sid, self.instance, self.at = found
        self.zone = timezone(timedelta(seconds=ahead)) if abs(ahead) < 24 * 3600 else UTC
        self._measured = self._clock()

    def reckon(self) -> None:
        """Carry the database's clock on by ours, in case it does not answer."""
        if self.at is not None:
            now = self._clock()
            self.at, self._measured = self.at + timedelta(seconds=now - self._measured), now

    def now(self) -> datetime | None:
        """Return the database's present time by the clock it showed last."""
        return None if self.at is None else self.at + timedelta(seconds=self._clock() - self._measured)


FEWEST_ROWS, FIRST_ROWS = 64, 512
"""Rows asked for at once: at least, and as long as nothing is known."""

FEW = 2
"""Rows asked for at once while it is not known which query's rows are huge."""

AT_ONCE = MOST // 8
"""Bytes of huge rows asked for at once."""


class AnswerFacts:
    """What is known of the queries' answers. `wary` for as long as it is not known whose answer was too large."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._huge: dict[str, int] = {}
        self.wary = False
        self.asked_alone: set[str] = set()
        """Queries that are slow, and asked by themselves, after all others."""
        self.odd: set[str] = set()
        """Queries that bring dates for which Python has no word."""
        self.refused: set[str] = set()
        """Queries of which not even a few rows can be taken: there is no use in asking."""

    def rows(self, query: Query) -> int:
        """Return how many rows to ask for at once."""
        if query.name in self._huge:
            return self._huge[query.name]
        return FEW if self.wary else self._rows.get(query.name, FIRST_ROWS)

    def is_huge(self, query: Query) -> bool:
        """Say whether the rows of this query may be huge: it is not asked together with others."""
        return self.wary or query.name in self._huge

    def is_read_alone(self, query: Query) -> bool:
        """Say whether a query is not asked together with others: a slow or huge one, and one of CLOBs."""
        return query.name in self.asked_alone or self.is_huge(query) or has_long_texts(query.record)

    def learn(self, query: Query, count: int, received: int = 0) -> None:
        """Take note that an answer had `count` rows, and how many bytes if it was asked alone."""
        self._rows[query.name] = max(FEWEST_ROWS, 1 << (count + count // 4).bit_length())
        if received:
            fit = AT_ONCE * max(1, count) // received
            if fit < FEWEST_ROWS:
                self._huge[query.name] = max(FEW, fit)
            else:
                self._huge.pop(query.name, None)
