"""Identity of presman's session: its SID, instance and clock; and the fetch size of each query.

All rows of a query are fetched in one round trip, unless they are too large for that.

A row of a V$ view has some hundred bytes. A hostile or broken server may send one with a million. Then a few rows are
fetched at a time and truncated as they arrive (rows.queries.shortened), so that memory stays bounded.
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
"""The query for presman's session, instance and database time. SYSDATE has the time zone of the DATE columns."""

QUARTER = 15 * 60
"""Seconds of which all offsets of time zones are multiples."""


class SessionClock:
    """presman's session and its database time, which is extrapolated with `clock`, the local clock.

    `sid` and `instance` are 0 while there is no session. `at` (UTC) is the database's time when it was last read or
    extrapolated; `zone` is the time zone of its DATE columns.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.forget()

    def forget(self) -> None:
        """Forget the session."""
        self.sid = self.instance = 0
        self.at: datetime | None = None
        self.zone: tzinfo = UTC
        self._measured = 0.0

    def locate(self, rows: Rows) -> None:
        """Note the answer to HERE_AND_NOW. Raises ValueError if it is invalid."""
        try:
            sid, instance, local, utc = rows[0]
            # SYSDATE has whole seconds, so the difference is up to a second off the offset.
            ahead = round((local - utc).total_seconds() / QUARTER) * QUARTER
            found = int(sid), int(instance), utc.replace(tzinfo=UTC)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError("the server gives neither its time nor the identity of this session") from error
        self.sid, self.instance, self.at = found
        self.zone = timezone(timedelta(seconds=ahead)) if abs(ahead) < 24 * 3600 else UTC
        self._measured = self._clock()

    def extrapolate(self) -> None:
        """Extrapolate the database's time with the local clock, in case the database does not answer."""
        if self.at is not None:
            now = self._clock()
            self.at, self._measured = self.at + timedelta(seconds=now - self._measured), now

    def now(self) -> datetime | None:
        """Return the database's current time, extrapolated from the last known one; None if there is none."""
        return None if self.at is None else self.at + timedelta(seconds=self._clock() - self._measured)


FEWEST_ROWS, FIRST_ROWS = 64, 512
"""Rows per fetch: at least, and for a query that has not run yet."""

FEW = 2
"""Rows per fetch while it is not known which query has huge rows."""

AT_ONCE = MOST // 8
"""Bytes per fetch of huge rows."""


class AnswerFacts:
    """Facts about the queries' answers. `is_cautious` is set while it is not known which answer was too large."""

    def __init__(self) -> None:
        self._rows: dict[str, int] = {}
        self._huge: dict[str, int] = {}
        self.is_cautious = False
        self.asked_alone: set[str] = set()
        """Slow queries, which run alone, after all others."""
        self.odd_dates: set[str] = set()
        """Queries that return dates which Python cannot represent."""
        self.refused: set[str] = set()
        """Queries of which not even a few rows are small enough: they are not run any more."""

    def rows(self, query: Query) -> int:
        """Return the number of rows per fetch."""
        if query.name in self._huge:
            return self._huge[query.name]
        return FEW if self.is_cautious else self._rows.get(query.name, FIRST_ROWS)

    def is_huge(self, query: Query) -> bool:
        """Return whether the rows of this query may be huge: then it does not join a pipeline."""
        return self.is_cautious or query.name in self._huge

    def is_read_alone(self, query: Query) -> bool:
        """Return whether a query does not join a pipeline: because it is slow or huge, or has CLOBs."""
        return query.name in self.asked_alone or self.is_huge(query) or has_long_texts(query.record)

    def learn(self, query: Query, count: int, received: int = 0) -> None:
        """Note the number of rows of an answer, and its `received` bytes if the query ran alone."""
        # A quarter more than came, up to a power of two: a longer answer still fits into one round trip.
        self._rows[query.name] = max(FEWEST_ROWS, 1 << (count + count // 4).bit_length())
        if received:
            if (fit := AT_ONCE * max(1, count) // received) < FEWEST_ROWS:
                self._huge[query.name] = max(FEW, fit)
            else:
                self._huge.pop(query.name, None)
