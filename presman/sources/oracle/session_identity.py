"""Identity of presman's own session: which it is, on which instance, and what time it is there."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo

from msgspec import Struct
from msgspec.structs import replace

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


class SessionIdentity(Struct, frozen=True):
    """Where the session is and when it was asked: `at` (UTC) is the database's clock at `measured` on ours."""

    sid: int
    instance: int
    at: datetime
    zone: tzinfo
    measured: float

    @classmethod
    def of(cls, rows: Rows, measured: float) -> SessionIdentity:
        """Return what the answer to HERE_AND_NOW tells. Raises ValueError if it does not."""
        try:
            sid, instance, local, utc = rows[0]
            ahead = round((local - utc).total_seconds() / QUARTER) * QUARTER
            zone = timezone(timedelta(seconds=ahead)) if abs(ahead) < 24 * 3600 else UTC
            return cls(int(sid), int(instance), utc.replace(tzinfo=UTC), zone, measured)
        except (LookupError, TypeError, AttributeError) as error:
            raise ValueError("the server gives neither its time nor the identity of this session") from error

    def time(self, now: float) -> datetime:
        """Return the database's time when our clock shows `now`."""
        return self.at + timedelta(seconds=now - self.measured)

    def carried_on(self, now: float) -> SessionIdentity:
        """Return the same with the database's clock carried on by ours."""
        return replace(self, at=self.time(now), measured=now)
