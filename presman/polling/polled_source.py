"""Polled source: a source that is opened, lost and tried again, and the commands that are sent to it in between."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Collection
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from presman.base.formats import spelled
from presman.base.running_out import ran_out
from presman.base.text import clean, one_line
from presman.polling.cadence import EVERYTHING, PollNeeds
from presman.polling.poll_events import ActionResult, CarryOut, Event, SourceLost
from presman.rows.commands import Command
from presman.rows.queries import Focus
from presman.sources import LoginRefusal, Source, SourceError

if TYPE_CHECKING:
    from presman.polling.poller import Poller

FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Seconds before the first and any later attempt to reconnect."""

REFUSED_PAUSE = 600.0
"""Seconds until a locked account is tried again, and from one look for another password to the next."""

STALE = 10.0
"""Seconds within which a command must be on its way: who confirmed it has seen what was so then."""


def pause_before(attempt: int, rng: random.Random) -> float:
    """Return the seconds to wait before reconnection `attempt` (1, 2, …): doubling, up to a fifth of it at random.

    The jitter keeps many monitors from returning to a restarted database at the same instant.
    """
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 10))
    return longest * rng.uniform(0.8, 1.0)


def pause_after(error: SourceError, attempt: int, rng: random.Random) -> float | None:
    """Return the seconds to wait after attempt 1, 2, … failed; None where no other can help."""
    if error.retry:
        return pause_before(attempt, rng)
    return REFUSED_PAUSE if error.refusal is LoginRefusal.LOCKED else None


def no_room(error: Exception) -> SourceLost:
    """Return the loss of a database for which there is no thread or memory: who watches many goes on with the others.

    It is not tried again.
    """
    out = ran_out(error, foreseen=False) or one_line(str(error), 500)
    return SourceLost(out, "", None, datetime.now(UTC), has_run_out=True)


class CommandQueue:
    """Commands that were confirmed and are yet to be sent; `carry_out` is None where none may be."""

    def __init__(self, carry_out: CarryOut | None, post: Callable[[Event], None]) -> None:
        self.carry_out = carry_out
        self._post = post
        self._waiting: deque[tuple[Command, float]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, command: Command) -> None:
        """Have a command sent. Raises PermissionError where none may be."""
        if self.carry_out is None:
            raise PermissionError("actions are not allowed")
        self._waiting.append((command, time.monotonic()))

    def send(self, poller: Poller) -> None:
        """Carry out what waits, in this thread: it is the source's."""
        while self._waiting:
            command, confirmed = self._waiting.popleft()
            waited = time.monotonic() - confirmed
            if waited > STALE:
                text = f"not sent: it waited {spelled(waited)}, and the database may have changed since"
                self._post(ActionResult(command, False, text, tried=False))
            elif self.carry_out is not None and poller.release is not None:
                self._post(ActionResult(*self.carry_out(command, poller.source, poller.release)))

    def drop(self) -> None:
        """Forget what waits while there is no connection: nobody expects it to happen minutes later."""
        while self._waiting:
            command, _ = self._waiting.popleft()
            self._post(ActionResult(command, False, "not sent: the connection is lost", tried=False))


class PolledSource:
    """The source with its poller: made when it is first needed, opened, lost, and made again with another password."""

    def __init__(
        self, make_source: Callable[[], Source], packs: Collection[str], now: Callable[[], datetime], rng: random.Random
    ) -> None:
        self._make_source = make_source
        self._packs = packs
        self._now = now
        self._rng = rng
        self._attempts = 0
        self._since: datetime | None = None
        self._is_open = False
        self.has_polled = False
        self.poller: Poller | None = None
        self.renewed: Callable[[], Source | None] | None = None
        """Makes a source with another password than the one that was refused last, None while there is none; to be set,
        where one could come, before the first poll."""
        self._another: Source | None = None
        """One with another password that is to be tried next."""
        self.needs: PollNeeds = EVERYTHING
        """What somebody makes use of; to be set before the first poll."""
        self.refused: SourceError | None = None
        """Why nobody is let in, None where that is not so."""

    def prepare(self, focus: Focus | None, *, insists: bool) -> Poller:
        """Return the poller, not yet open; who `insists` has a refused password tried once more.

        Raises the error of the last login where only another password can help and there is none.
        """
        source, self._another = self._another, None
        if source is None and self.refused is not None and self.refused.refusal is not None:
            source = self._renewed()  # for a locked account, too: often it was the old password that locked it
            if source is None and self.refused.refusal is LoginRefusal.PASSWORD and not insists:
                raise self.refused.with_traceback(None)
        if source is not None or self.poller is None:
            from presman.polling.poller import Poller

            self.poller = Poller(source or self._make_source(), packs=self._packs, needs=self.needs)
            self.poller.focus(focus)
        return self.poller

    def _renewed(self) -> Source | None:
        with suppress(Exception):  # config.ini may be half written, a command may fail
            return self.renewed() if self.renewed is not None else None
        return None

    def open(self, poller: Poller) -> None:
        """Open the source where it is not. Raises SourceError."""
        if not self._is_open:
            self._is_open = True
            poller.open()

    def close(self) -> None:
        """Close the source, whatever becomes of it."""
        if self.poller is not None and self._is_open:
            self._is_open = False
            with suppress(Exception):
                self.poller.close()

    def cancel(self) -> None:
        """End a read that goes on. Called from other threads."""
        if self.poller is not None and self._is_open:  # not while the source is being closed
            with suppress(Exception):
                self.poller.source.cancel()

    def works(self) -> None:
        """Take it that a poll succeeded."""
        self._attempts, self._since, self.refused = 0, None, None
        self.has_polled = True

    def lose(self, error: SourceError) -> SourceLost:
        """Close the source; return the event that reports the loss and says when the next attempt is.

        Another password than the first that was refused may be there already, and is tried soon: that once.
        """
        self.close()
        self._attempts += 1
        self._since = self._since or self._now()
        before, self.refused = self.refused, None if error.retry else error
        pause, refusal = pause_after(error, self._attempts, self._rng), error.refusal
        if refusal is LoginRefusal.PASSWORD and self.renewed is not None:
            pause = REFUSED_PAUSE
            if before is None or before.refusal is not refusal:
                self._another = self._renewed()
            if self._another is not None:
                pause, refusal = pause_before(self._attempts, self._rng), None
        return SourceLost(one_line(clean(str(error)), 500), clean(error.code), pause, self._since, refusal)
