"""Sessions that others name and that are not listed, looked up by SID.

They are idle ones, which a narrow poll leaves out, and background processes.

A coordinator that keeps its servers while its client does not fetch, and a session that holds a lock others wait for,
are INACTIVE and matter more than most that work. V$PX_SESSION and V$SESSION.BLOCKING_SESSION name them.
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
"""What is asked, and what its rows become."""

AT_ONCE = 8
"""SIDs that one statement asks for."""

NOBODY = -1
"""The SID that stands where there are fewer."""

RETRY = timedelta(seconds=60)
"""When one that was not found is asked for again if it is named all the time: a background process, mostly."""


def named(sessions: Iterable[Session], px_sessions: Iterable[PxSession]) -> set[SessionKey]:
    """Return the coordinators of parallel servers and those whom sessions wait for, idle or not."""
    found = {(row.inst_id if row.qcinst_id is None else row.qcinst_id, row.qcsid) for row in px_sessions if row.qcsid}
    for row in sessions:
        if row.blocking_session and is_waiting(row.state):
            found.add((row.blocking_instance or row.inst_id, row.blocking_session))
            if row.final_blocking_session:
                found.add((row.final_blocking_instance or row.inst_id, row.final_blocking_session))
    return found


class NamedSessions:
    """Which of the named sessions to ask for, and what came of it."""

    def __init__(self) -> None:
        self._missing: dict[SessionKey, datetime] = {}

    def wanted(self, keys: set[SessionKey], listed: Iterable[Session], now: datetime) -> list[SessionKey]:
        """Return those of `keys` that are not `listed`, without those that were asked for in vain a moment ago."""
        unlisted = keys - {(row.inst_id, row.sid) for row in listed}
        self._missing = {
            key: at for key, at in self._missing.items() if key in unlisted and timedelta() <= now - at < RETRY
        }
        return sorted(unlisted - self._missing.keys())

    def learn(self, asked: Iterable[SessionKey], found: Iterable[Session], now: datetime) -> None:
        """Remember who is no user's session."""
        present = {(row.inst_id, row.sid) for row in found}
        self._missing |= {key: now for key in asked if key not in present}


def requests(query: Query, keys: Sequence[SessionKey]) -> list[Request]:
    """Return the questions for the SIDs of `keys`, a few in each."""
    sids = sorted({sid for _, sid in keys})
    parts = [sids[start : start + AT_ONCE] for start in range(0, len(sids), AT_ONCE)]
    filled = ([*part, *[NOBODY] * (AT_ONCE - len(part))] for part in parts)
    return [Request(query, {f"sid_{number}": sid for number, sid in enumerate(part, start=1)}) for part in filled]


def together(section: Section, found: Iterable[Section], keys: Iterable[SessionKey], become: type[Any]) -> Section:
    """Return a section with the rows of the named sessions besides its own: SIDs are each instance's own."""
    wanted = set(keys) - {(row.inst_id, row.sid) for row in section.rows}
    rows = [become._make(row) for each in found for row in each.rows if (row.inst_id, row.sid) in wanted]
    return replace(section, rows=(*section.rows, *rows))


# ---- Listing of all sessions, the idle ones too: each minute, because there may be tens of thousands of them.


class SessionListing:
    """When all sessions were listed last, and whether the sessions known now are all there are (`lists_idle`).

    Where idle ones are of no use to anybody (`wants_idle` is False) they are listed only if a poll is to be that broad.

    The first poll of an epoch lists none by itself, so that there is something to see soon. Where listing them took too
    long it is left alone for a minute: those that work are to be seen all the same.
    """

    def __init__(self, *, wants_idle: bool = True) -> None:
        self._wants_idle = wants_idle
        self.lists_idle = True
        self._at: datetime | None = None
        self._was_late = False

    def begin_epoch(self) -> None:
        """Forget when that was."""
        self._at = None

    def detail_level(self, wanted: DetailLevel, now: datetime | None, *, is_whole: bool) -> DetailLevel:
        """Return how much a poll reads: what is `wanted`, and all sessions each minute; `is_whole`: all."""
        if is_whole:
            return DetailLevel.WHOLE
        if now is not None and self._at is None:
            self._at = now
        due = now is not None and self._at is not None and now - self._at >= MINUTE
        if due and self._wants_idle:
            return wanted | DetailLevel.IDLE_SESSIONS
        return wanted & ~DetailLevel.IDLE_SESSIONS if self._was_late else wanted

    def note(self, detail_level: DetailLevel, now: datetime, *, late: bool) -> None:
        """Note that sessions were asked for at this level of detail, and whether the answer was late."""
        listed = DetailLevel.IDLE_SESSIONS in detail_level
        if listed:
            self._at, self._was_late = now, late
        if not late:
            self.lists_idle = listed
