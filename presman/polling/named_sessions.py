"""Sessions that are named by others but not listed: they are looked up by SID.

They are idle sessions, which a narrow poll leaves out, and background processes.

A coordinator that keeps its servers while its client does not fetch, and a session that holds a lock for which others
wait, are INACTIVE and matter more than most active sessions. V$PX_SESSION and V$SESSION.BLOCKING_SESSION name them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from presman.polling.cadence import MINUTE
from presman.rows.queries import DetailLevel, Query
from presman.rows.session_rows import NamedSession, NamedSessionInfo, PxSession, Session, SessionInfo
from presman.rows.session_state import is_waiting
from presman.rows.snapshot import Section
from presman.sources import Request

SessionKey = tuple[int, int]
"""Instance and SID."""

BECOME: Mapping[type[Any], type[Any]] = {NamedSession: Session, NamedSessionInfo: SessionInfo}
"""The record of each query for named sessions, and the record that its rows become."""

AT_ONCE = 8
"""SIDs that one query looks up."""

UNUSED_SID = -1
"""A SID that no session has, for unused binds."""

RETRY = timedelta(seconds=60)
"""Time until a SID that was not found is looked up again if it is still named."""


def named(sessions: Iterable[Session], px_sessions: Iterable[PxSession]) -> set[SessionKey]:
    """Return the coordinators of parallel servers and the blocking sessions, idle or not."""
    found = {row.coordinator for row in px_sessions if row.qcsid}
    for row in sessions:
        if row.blocking_session and is_waiting(row.state):
            found.add((row.blocking_instance or row.inst_id, row.blocking_session))
            if row.final_blocking_session:
                found.add((row.final_blocking_instance or row.inst_id, row.final_blocking_session))
    return found


class NamedSessions:
    """The named sessions that are not listed: which to look up, and which were not found."""

    def __init__(self) -> None:
        self._missing: dict[SessionKey, datetime] = {}

    def wanted(self, keys: set[SessionKey], listed: Iterable[Session], now: datetime) -> list[SessionKey]:
        """Return the `keys` that are not `listed`, except those that were not found within the last RETRY."""
        unlisted = keys - {(row.inst_id, row.sid) for row in listed}
        self._missing = {
            key: at for key, at in self._missing.items() if key in unlisted and timedelta() <= now - at < RETRY
        }
        return sorted(unlisted - self._missing.keys())

    def learn(self, asked: Iterable[SessionKey], found: Iterable[Session], now: datetime) -> None:
        """Remember the sessions that were looked up but not found."""
        present = {(row.inst_id, row.sid) for row in found}
        self._missing |= {key: now for key in asked if key not in present}


def requests(query: Query, keys: Sequence[SessionKey]) -> list[Request]:
    """Return the requests that look up the SIDs of `keys`, AT_ONCE in each."""
    sids = sorted({sid for _, sid in keys})
    parts = [sids[start : start + AT_ONCE] for start in range(0, len(sids), AT_ONCE)]
    # All have the same number of binds, so that the database parses one SQL text.
    filled = ([*part, *[UNUSED_SID] * (AT_ONCE - len(part))] for part in parts)
    return [Request(query, {f"sid_{number}": sid for number, sid in enumerate(part, start=1)}) for part in filled]


def together(section: Section, found: Iterable[Section], keys: Iterable[SessionKey], become: type[Any]) -> Section:
    """Return `section` with the rows of the named sessions added.

    The query searches for SIDs on all instances, so rows are kept only if their instance matches, too.
    """
    wanted = set(keys) - {(row.inst_id, row.sid) for row in section.rows}
    rows = [become._make(row) for each in found for row in each.rows if (row.inst_id, row.sid) in wanted]
    return replace(section, rows=(*section.rows, *rows))


# ---- Listing of all sessions, including idle ones: once a minute, because there may be tens of thousands.


class SessionListing:
    """The time of the last full listing, and whether the current rows include all idle sessions (`lists_idle`).

    Where the caller does not need idle sessions (`wants_idle` is False) they are listed only if a poll asks for that
    level of detail.

    The first poll of an epoch lists none of its own accord, so that the screen has something to show soon. If the
    listing timed out it is not repeated for a minute, so that active sessions can still be read.
    """

    def __init__(self, *, wants_idle: bool = True) -> None:
        self._wants_idle = wants_idle
        self.lists_idle = True
        self._at: datetime | None = None
        self._was_late = False

    def begin_epoch(self) -> None:
        """Forget the time of the last listing."""
        self._at = None

    def detail_level(self, wanted: DetailLevel, now: datetime | None, *, is_whole: bool) -> DetailLevel:
        """Return the level of detail of a poll: `wanted`, plus all sessions once a minute; WHOLE if `is_whole`."""
        if is_whole:
            return DetailLevel.WHOLE
        if now is not None and self._at is None:
            self._at = now
        due = now is not None and self._at is not None and now - self._at >= MINUTE
        if due and self._wants_idle:
            return wanted | DetailLevel.IDLE_SESSIONS
        return wanted & ~DetailLevel.IDLE_SESSIONS if self._was_late else wanted

    def note(self, detail_level: DetailLevel, now: datetime, *, late: bool) -> None:
        """Note that sessions were queried at this level of detail, and whether the query timed out."""
        listed = DetailLevel.IDLE_SESSIONS in detail_level
        if listed:
            self._at, self._was_late = now, late
        if not late:
            self.lists_idle = listed
