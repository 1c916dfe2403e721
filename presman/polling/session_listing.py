"""Listing of all sessions, the idle ones too: each minute, because there may be tens of thousands of them."""

from __future__ import annotations

from datetime import datetime

from presman.polling.cadence import MINUTE
from presman.records.queries import Breadth


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

    def breadth(self, wanted: Breadth, now: datetime | None, *, is_whole: bool) -> Breadth:
        """Return how much a poll reads: what is `wanted`, and all sessions each minute; `is_whole`: all."""
        if is_whole:
            return Breadth.WHOLE
        if now is not None and self._at is None:
            self._at = now
        due = now is not None and self._at is not None and now - self._at >= MINUTE
        if due and self._wants_idle:
            return wanted | Breadth.IDLE_SESSIONS
        return wanted & ~Breadth.IDLE_SESSIONS if self._was_late else wanted

    def note(self, breadth: Breadth, now: datetime, *, late: bool) -> None:
        """Note that sessions were asked for in this breadth, and whether the answer was late."""
        listed = Breadth.IDLE_SESSIONS in breadth
        if listed:
            self._at, self._was_late = now, late
        if not late:
            self.lists_idle = listed
