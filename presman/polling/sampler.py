"""Sampler: the thread that polls one database for a screen, with its cadence, reconnection and prompt stop."""

from __future__ import annotations

import math
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from presman.base.errors import InputError
from presman.base.formats import spelled
from presman.base.running_out import ran_out, start
from presman.base.text import clean, one_line
from presman.polling.cadence import EVERYTHING, PollNeeds, RegularPolls, budget_of
from presman.polling.poll_events import ActionResult, CarryOut, Event, Polled, PreviewCame, SourceEnded, SourceLost
from presman.rows.commands import Command
from presman.rows.queries import DetailLevel, Focus, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Exhausted, LoginRefusal, Source, SourceError

if TYPE_CHECKING:
    from presman.polling.poller import Poller
    from presman.sources.subprocess_source import PreviewAnswer

# ---- Polled source: it is opened, lost and reopened; commands are sent to it between polls.


FIRST_PAUSE = 1.0
LONGEST_PAUSE = 60.0
"""Longest pauses, in seconds, before the first attempt to reconnect and before any later one."""

REFUSED_PAUSE = 600.0
"""Seconds between attempts to log in to a locked account, and between checks for a changed password."""

STALE = 10.0
"""Seconds after which a confirmed command is no longer sent: the user confirmed it for the situation on screen then."""


def pause_before(attempt: int) -> float:
    """Return the seconds to wait before reconnection `attempt` (1, 2, …): doubling, less up to a fifth at random.

    The jitter keeps many monitors from returning to a restarted database at the same instant.
    """
    # The exponent is limited: after a thousand attempts the power would overflow.
    longest = min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(attempt - 1, 10))
    return longest * random.uniform(0.8, 1.0)


def pause_after(error: SourceError, attempt: int) -> float | None:
    """Return the seconds to wait after attempt 1, 2, … failed; None if another attempt cannot help."""
    if error.retry:
        return pause_before(attempt)
    return REFUSED_PAUSE if error.refusal is LoginRefusal.LOCKED else None


def no_room(error: Exception) -> SourceLost:
    """Return the loss of a database for which there is no thread or memory. It is not retried.

    A monitor of several databases goes on with the others.
    """
    out = ran_out(error, expected=False) or one_line(str(error), 500)
    return SourceLost(out, "", None, datetime.now(UTC), has_run_out=True)


class PolledSource:
    """The source and its poller: made on first use, opened, lost, and made again when the password changes."""

    def __init__(self, make_source: Callable[[], Source], packs: Collection[str], now: Callable[[], datetime]) -> None:
        self._make_source = make_source
        self._packs = packs
        self._now = now
        self._attempts = 0
        self._since: datetime | None = None
        self._is_open = self.has_polled = False
        self.poller: Poller | None = None
        self.renewed: Callable[[], Source | None] | None = None
        """Returns a source with another password than the one last refused, None while there is none. Set before the
        first poll, if the password can change."""
        self._another: Source | None = None
        """The source with another password, to be tried next."""
        self.needs: PollNeeds = EVERYTHING
        """The parts of a poll that the caller uses. Set before the first poll."""
        self._unread: SourceError | None = None
        """The error for which no other password could be read, None if there was none."""
        self.refused: SourceError | None = None
        """The error of the database that a retry cannot cure, None if there is none."""

    def prepare(self, focus: Focus | None, *, insists: bool) -> Poller:
        """Return the poller, not yet open. With `insists` a refused password is tried once more.

        Raises the error of the last login if only another password can help and there is none, or the error for which
        it is not known whether there is one: the refused one may be wrong still, and each try may lock the account.
        """
        source, self._another = self._another, None
        if source is None and self.refused is not None and self.refused.refusal is not None:
            source = self._renewed()  # for a locked account, too: often the old password locked it
            if source is None and self.refused.refusal is LoginRefusal.PASSWORD:
                if self._unread is not None:
                    raise self._unread
                if not insists:
                    raise self.refused.with_traceback(None)  # the traceback would grow with each attempt
        if source is not None or self.poller is None:
            from presman.polling.poller import Poller

            self.poller = Poller(source or self._make_source(), packs=self._packs, needs=self.needs)
            self.poller.focus(focus)
        return self.poller

    def _renewed(self) -> Source | None:
        self._unread = None
        try:
            return self.renewed() if self.renewed is not None else None
        except Exception as error:  # config.ini may be half written, a password command may fail
            text = f"no other password than the refused one could be read: {clean(str(error))}"
            self._unread = SourceError(text, retry=False, refusal=LoginRefusal.PASSWORD)
            return None

    def open(self, poller: Poller) -> None:
        """Open the source unless it is open. Raises SourceError."""
        if not self._is_open:
            self._is_open = True
            poller.open()

    def close(self) -> None:
        """Close the source; ignore any error."""
        if self.poller is not None and self._is_open:
            self._is_open = False
            with suppress(Exception):
                self.poller.close()

    def cancel(self) -> None:
        """Cancel a read in progress. Called from other threads."""
        if self.poller is not None and self._is_open:  # not while the source is being closed
            with suppress(Exception):
                self.poller.source.cancel()

    def works(self) -> None:
        """Record that a poll succeeded."""
        self._attempts, self._since, self.refused = 0, None, None
        self.has_polled = True

    def lose(self, error: SourceError) -> SourceLost:
        """Close the source; return the event that reports the loss and the time of the next attempt.

        When a password is refused, the configured one may already have changed: then it is tried soon, but only once.
        """
        self.close()
        self._attempts += 1
        self._since = self._since or self._now()
        before = self.refused
        if error is not self._unread:
            self.refused = None if error.retry else error
        pause, refusal = pause_after(error, self._attempts), error.refusal
        if refusal is LoginRefusal.PASSWORD and self.renewed is not None:
            pause = REFUSED_PAUSE
            if before is None or before.refusal is not refusal:
                self._another = self._renewed()
            if self._another is not None:
                pause, refusal = pause_before(self._attempts), None
        return SourceLost(one_line(clean(str(error)), 500), clean(error.code), pause, self._since, refusal)


# ---- The thread.


PATIENCE = 0.4
"""Seconds that `stop` waits for a cancelled read to end."""


CANCEL_INTERVAL = 0.05
"""Seconds between repeated attempts to cancel it."""

GAP = 0.1
"""Least seconds from the start of one read to a poll that is asked for."""


LEAST_WAIT = 0.2
"""Least time from a poll to the next tick, as a fraction of the interval."""

PAINTING = 0.15
"""Seconds for the screen to paint the preview before polling modules are imported: both compete for the CPU."""


def tick_after(now: float, refresh: float, phase: float) -> float:
    """Return the first tick after `now`; ticks come every `refresh` seconds, shifted by `phase` (0 to 1) intervals."""
    late = phase * refresh
    return late + refresh * (math.floor((now - late) / refresh) + 1)


def next_poll(event: Event, begun: float, ended: float, read_at: float, refresh: float, phase: float | None) -> float:
    """Return the time of the next poll: the next tick in the future, or the time to reconnect.

    The last poll began at `begun`, began to read at `read_at`, and ended with `event` at `ended`.
    """
    if isinstance(event, SourceLost):
        return math.inf if event.retry_in is None else ended + event.retry_in
    if phase is not None:
        return tick_after(max(ended, begun + LEAST_WAIT * refresh), refresh, phase)
    tick = begun + refresh * max(1, math.ceil((ended - begun) / refresh))
    # The first interval counts from the preview; the first poll itself may have begun to read much later.
    return max(tick, read_at + LEAST_WAIT * refresh)


def stop_all(samplers: Collection[Sampler], patience: float = PATIENCE) -> None:
    """Stop all samplers in parallel; a thread that does not end in time dies with the process."""
    for each in samplers:
        each.stop(0.0)
    end = time.monotonic() + patience
    for each in samplers:
        each.stop(max(0.0, end - time.monotonic()))


class Sampler:
    """Polls a source every `refresh` seconds in a daemon thread and hands each event to `post`.

    `make_source` runs in that thread, so its imports and the first connection do not block the screen. `post` is called
    in that thread too and must be quick; after `stop` it is not called again. Ticks missed during a slow poll are
    skipped. `carry_out` is given only where actions are allowed.
    """

    def __init__(
        self,
        make_source: Callable[[], Source],
        *,
        refresh: float,
        scope: Scope,
        post: Callable[[Event], None],
        packs: Collection[str] = (),
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
        carry_out: CarryOut | None = None,
    ) -> None:
        self._post_to = post
        self._refresh = refresh
        self._scope = scope
        self.polled = PolledSource(make_source, packs, now)
        self._carry_out = carry_out
        self._commands: deque[tuple[Command, float]] = deque()
        """Confirmed commands that have not been sent yet, each with the instant it was confirmed."""
        self.budget: float | None = None
        """Time budget of a poll in seconds, None for the default at `refresh`."""
        self.preview: Callable[[], PreviewAnswer | None] = lambda: None
        """Waits for the preview and returns it, None if there is none. Set before the thread starts."""
        self.phase: float | None = None
        """The position of the ticks in each interval (0 to 1), so that several samplers of one process, each with its
        own phase, do not all poll at once; None: one interval after the last poll."""
        self._woken = threading.Condition()
        self._poll_now = self._must_answer = self._stopping = self._forgets = self._has_previewed = False
        self._focus: Focus | None = None
        self._detail_level = DetailLevel.WHOLE
        self._requests: list[tuple[type[Any], Mapping[str, Any], bool]] = []
        self._on_first_look: Callable[[Snapshot], None] | None = self._look
        self._read_at = 0.0
        self._regular = RegularPolls()
        self._thread = threading.Thread(target=self._run, name="presman-sampler", daemon=True)
        self._begun = False
        self._over = threading.Event()
        """Set when the thread has ended. `Thread.is_alive` is not used: concurrent calls interfere with each other."""

    # -- called from the screen's thread --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the thread. Raises RuntimeError if no thread can be started."""
        start(self._thread)
        self._begun = True

    def begin(self) -> bool:
        """Start the thread and return whether it runs; if none can be started, report the source as lost."""
        try:
            self.start()
        except RuntimeError as error:
            self._post_to(no_room(error))
        return self.is_alive

    def set_refresh(self, seconds: float) -> None:
        """Poll every `seconds` from now on."""
        with self._woken:
            self._refresh = seconds
            self._woken.notify_all()

    def act(self, command: Command) -> None:
        """Carry out a command before the next poll, which follows immediately.

        Raises PermissionError if actions are not allowed.
        """
        if self._carry_out is None:
            raise PermissionError("actions are not allowed")
        self._commands.append((command, time.monotonic()))
        self.poll_now()

    def focus(self, focus: Focus | None) -> None:
        """Query one session and its cursor from the next poll on, which follows immediately; None ends that."""
        self._focus = focus
        if self.polled.poller is not None:
            self.polled.poller.focus(focus)
        if focus is not None:
            self._read_now()

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Set the level of detail of all further polls; if it adds something, poll immediately."""
        more = detail_level & ~self._detail_level
        self._detail_level = detail_level
        if more and self.polled.poller is not None:
            self._read_now()

    def request(self, record: type[Any], binds: Mapping[str, Any] | None = None, *, lasting: bool = False) -> None:
        """Run a query on demand at the next poll, which follows immediately, or at each from now on (`lasting`)."""
        with self._woken:
            self._requests.append((record, binds or {}, lasting))
        self._read_now()

    def forget_requests(self) -> None:
        """Stop running queries on demand from the next poll on."""
        with self._woken:
            self._requests.clear()
            self._forgets = True

    def poll_now(self) -> None:
        """Poll, or try to reconnect, without waiting for the next tick."""
        with self._woken:
            self._poll_now = True
            self._woken.notify_all()

    def _read_now(self) -> None:
        """Poll without waiting for the next tick, unless the login was refused: repeated attempts lock accounts."""
        if self.polled.refused is None:
            self.poll_now()

    def stop(self, patience: float = PATIENCE) -> bool:
        """Stop the thread, even during a read; return whether it ended within `patience` seconds.

        A read that cannot be cancelled stays with the daemon thread, which dies with the process.
        """
        with self._woken:
            was_stopping, self._stopping = self._stopping, True
            self._woken.notify_all()
        if not self.is_alive or threading.current_thread() is self._thread:
            return True
        if not was_stopping:
            try:  # in a thread of its own: cancelling may itself wait for the network
                start(threading.Thread(target=self._cancel_until_over, name="presman-cancel", daemon=True))
            except RuntimeError:  # no thread can be started
                self.polled.cancel()
        return self._over.wait(patience)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._begun and not self._over.is_set()

    def _cancel_until_over(self) -> None:
        while not self._over.is_set():  # repeatedly: a cancel may arrive just before a read begins
            self.polled.cancel()
            self._over.wait(CANCEL_INTERVAL)

    # -- the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            turn = begun = self._begin()
            while not self._stopping:
                event = self._step()
                if not self._stopping:
                    self._post_to(event)
                if isinstance(event, SourceEnded):
                    return
                if not (isinstance(event, Polled) and event.is_extra):  # the regular polls keep their pace
                    turn = begun
                self._wait(event, turn)
                begun = time.monotonic()
        except MemoryError as error:  # while reporting a loss
            self._post_to(no_room(error))
        finally:
            self.polled.close()
            self._over.set()

    def _begin(self) -> float:
        """Post the preview, if there is one, and wait a moment for it to be painted.

        Returns when reading it began, in seconds of the monotonic clock: the first interval counts from there.
        """
        preview = self.preview()
        if preview is None or self._stopping:
            return time.monotonic()
        begun = time.monotonic() - preview.seconds
        self._has_previewed = True
        self._post_to(PreviewCame(preview.value, begun))
        with self._woken:
            if not self._stopping:
                self._woken.wait(PAINTING)
        return begun

    def _step(self) -> Event:
        """Connect if necessary, and poll once. Every error becomes an event, so that the thread goes on."""
        try:
            snapshot = self._poll()
        except Exhausted:
            return SourceEnded()
        except SourceError as error:
            lost = error
        except InputError as error:
            lost = SourceError(str(error), retry=False)
        except Exception as error:
            out = ran_out(error, expected=False)
            if out and not self.polled.has_polled:  # at the start: a retry would not find more room
                self.polled.close()
                return no_room(error)
            lost = SourceError(out or f"{type(error).__name__}: {error}")
        else:
            self.polled.works()
            return Polled(snapshot, self._regular.is_extra(self._read_at, self._refresh, asked=self._must_answer))
        self._regular.forget()
        while self._commands:  # the user does not expect them to run minutes later
            command, _ = self._commands.popleft()
            self._post_to(ActionResult(command, False, "not sent: the connection is lost", tried=False))
        return self.polled.lose(lost)

    def _poll(self) -> Snapshot:
        poller = self.polled.prepare(self._focus, insists=self._must_answer)
        if self._stopping:  # `stop` may have been called during a slow import
            raise SourceError("stopped")
        with self._woken:
            requests, self._requests = self._requests, []
            forgets, self._forgets = self._forgets, False
        if forgets:
            poller.forget_requests()
        for record, binds, lasting in requests:
            poller.request(record, binds, lasting=lasting)
        poller.source.scope = self._scope
        poller.detail_level = self._detail_level
        poller.budget = budget_of(self._refresh, self.budget)
        self.polled.open(poller)
        while self._commands:
            command, confirmed = self._commands.popleft()
            if (waited := time.monotonic() - confirmed) > STALE:
                text = f"not sent: it waited {spelled(waited)}, and the database may have changed since"
                self._post_to(ActionResult(command, False, text, tried=False))
            elif self._carry_out is not None and poller.release is not None:
                self._post_to(self._carry_out(command, poller.source, poller.release))
        on_first_look, self._on_first_look = self._on_first_look, None
        self._read_at = time.monotonic()  # after a login, which does not count towards the gap
        return poller.poll(on_first_look)

    def _look(self, snapshot: Snapshot) -> None:
        if not (self._stopping or self._has_previewed):
            self._post_to(PreviewCame(snapshot, time.monotonic() - snapshot.seconds))

    def _wait(self, event: Event, begun: float) -> None:
        """Wait for the next tick, for the time to reconnect, or to be woken."""
        ended = time.monotonic()
        with self._woken:
            while not self._stopping:
                next_at = next_poll(event, begun, ended, self._read_at, self._refresh, self.phase)
                left = next_at - time.monotonic()
                if self._poll_now:
                    left = self._read_at + GAP - time.monotonic() if isinstance(event, Polled) else 0
                if left <= 0:
                    break
                self._woken.wait(min(left, threading.TIMEOUT_MAX))
            self._must_answer, self._poll_now = self._poll_now, False
