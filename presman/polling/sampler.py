"""The thread that polls one database for a screen, and what it polls: cadence, reconnection, an end without delay."""

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
from presman.polling.cadence import EVERYTHING, PollNeeds, budget_of
from presman.polling.poll_events import (
    ActionResult,
    CarryOut,
    Event,
    FirstLook,
    Polled,
    PreviewCame,
    SourceEnded,
    SourceLost,
)
from presman.rows.commands import Command
from presman.rows.queries import DetailLevel, Focus, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Exhausted, LoginRefusal, Source, SourceError

if TYPE_CHECKING:
    from presman.polling.poller import Poller
    from presman.sources.subprocess_source import PreviewAnswer

# ---- Polled source: a source that is opened, lost and tried again, and the commands that are sent to it in between.


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


# ---- The thread.


PATIENCE = 0.4
"""Seconds that `stop` waits for a read that was told to end."""


NUDGE = 0.05
"""Seconds between two times it is told."""

GAP = 0.1
"""Seconds from where a poll begins to read to one at once: closer ones have no rates, and take them off the screen."""


APART = 0.2
"""The part of an interval that a tick is behind the poll before at least."""

PAINTING = 0.15
"""Seconds for the screen to paint the preview before the modules that polls need are imported: both take the CPU."""


def tick_after(now: float, refresh: float, phase: float) -> float:
    """Return the first tick after `now` of those that come every `refresh` seconds, `phase` (0 to 1) of it late."""
    late = phase * refresh
    return late + refresh * (math.floor((now - late) / refresh) + 1)


def next_poll(event: Event, begun: float, ended: float, read_at: float, refresh: float, phase: float | None) -> float:
    """Return when to poll again: at the next tick that is still ahead, or when it is time to reconnect.

    The poll before began at `begun`, began to read at `read_at` and came to `event` at `ended`.
    """
    if isinstance(event, SourceLost):
        return math.inf if event.retry_in is None else ended + event.retry_in
    if phase is not None:
        return tick_after(max(ended, begun + APART * refresh), refresh, phase)
    tick = begun + refresh * max(1, math.ceil((ended - begun) / refresh))
    # The first interval began with the look, and what was read then may have had to be read again.
    return max(tick, read_at + APART * refresh)


def stop_all(samplers: Collection[Sampler], patience: float = PATIENCE) -> None:
    """End samplers side by side; what cannot be ended in time dies with the process."""
    for each in samplers:
        each.stop(0.0)
    end = time.monotonic() + patience
    for each in samplers:
        each.stop(max(0.0, end - time.monotonic()))


class Sampler:
    """Polls a source every `refresh` seconds in a daemon thread and hands each event to `post`.

    `make_source` runs in that thread, so its imports and the first connection hold nobody up. `post` is called in
    that thread too and must be quick; after `stop` it is not called again. Ticks that a slow poll missed are
    dropped, not made up for. `carry_out` is given only where actions are allowed.
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
        rng: random.Random | None = None,
        carry_out: CarryOut | None = None,
    ) -> None:
        self._post_to = post
        self._refresh = refresh
        self._scope = scope
        self.polled = PolledSource(make_source, packs, now, rng or random.Random())
        self._commands = CommandQueue(carry_out, post)
        self.budget: float | None = None
        """Seconds a poll may take, None for what befits `refresh`."""
        self.preview: Callable[[], PreviewAnswer | None] = lambda: None
        """Waits for the preview and returns it, None for none; to be set before it begins."""
        self.phase: float | None = None
        """Where in each interval (0 to 1) the ticks are, so that many samplers of one process, each with a phase of its
        own, do not all poll at once; None: an interval after the poll before."""
        self._woken = threading.Condition()
        self._poll_now = self._must_answer = self._stopping = self._forgets = self._has_previewed = False
        self._focus: Focus | None = None
        self._detail_level = DetailLevel.WHOLE
        self._requests: list[tuple[type[Any], Mapping[str, Any], bool]] = []
        self._on_first_look: Callable[[Snapshot], None] | None = self._look
        self._read_at = 0.0
        self._thread = threading.Thread(target=self._run, name="presman-sampler", daemon=True)
        self._begun = False
        self._over = threading.Event()
        """The thread has ended. Nobody else asks the thread itself: two who do so at a time get in each other's way."""

    # -- called from the screen's thread --------------------------------------------------------------------------

    def start(self) -> None:
        """Begin. Raises RuntimeError where no thread can be had."""
        start(self._thread)
        self._begun = True

    def begin(self) -> bool:
        """Begin; where no thread can be had the source is lost. Return whether it has begun."""
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
        """Have a command carried out before the next poll, which comes at once.

        Raises PermissionError if the sampler was not made to act.
        """
        self._commands.add(command)
        self.poll_now()

    def focus(self, focus: Focus | None) -> None:
        """Ask about one session and its cursor from the next poll on, which comes at once; None ends that."""
        self._focus = focus
        if self.polled.poller is not None:
            self.polled.poller.focus(focus)
        if focus is not None:
            self._read_now()

    def set_detail_level(self, detail_level: DetailLevel) -> None:
        """Read so much at each poll from now on; what is to be read besides comes at once."""
        more = detail_level & ~self._detail_level
        self._detail_level = detail_level
        if more and self.polled.poller is not None:
            self._read_now()

    def request(self, record: type[Any], binds: Mapping[str, Any] | None = None, *, lasting: bool = False) -> None:
        """Ask a query on demand at the next poll, which comes at once, or at each from now on (`lasting`)."""
        with self._woken:
            self._requests.append((record, binds or {}, lasting))
        self._read_now()

    def forget_requests(self) -> None:
        """Ask none of the queries on demand any more from the next poll on."""
        with self._woken:
            self._requests.clear()
            self._forgets = True

    def poll_now(self) -> None:
        """Poll, or try to reconnect, without waiting for the next tick."""
        with self._woken:
            self._poll_now = True
            self._woken.notify_all()

    def _read_now(self) -> None:
        """Poll without waiting for the next tick, but for a database that lets nobody in: that locks accounts."""
        if self.polled.refused is None:
            self.poll_now()

    def stop(self, patience: float = PATIENCE) -> bool:
        """End the thread, also in the middle of a read; return whether it ended within `patience` seconds.

        A read that cannot be cancelled is left to the daemon thread, which dies with the process.
        """
        with self._woken:
            was_stopping, self._stopping = self._stopping, True
            self._woken.notify_all()
        if not self.is_alive or threading.current_thread() is self._thread:
            return True
        if not was_stopping:
            try:  # in a thread of its own: cancelling may itself wait for the network
                start(threading.Thread(target=self._cancel_until_over, name="presman-cancel", daemon=True))
            except RuntimeError:  # no thread can be had
                self.polled.cancel()
        return self._over.wait(patience)

    @property
    def is_alive(self) -> bool:
        """Whether the thread runs."""
        return self._begun and not self._over.is_set()

    def _cancel_until_over(self) -> None:
        while not self._over.is_set():  # again and again: it may have come just before a read began
            self.polled.cancel()
            self._over.wait(NUDGE)

    # -- the thread -----------------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            begun = self._begin()
            while not self._stopping:
                event = self._step()
                if not self._stopping:
                    self._post_to(event)
                if isinstance(event, SourceEnded):
                    return
                self._wait(event, begun)
                begun = time.monotonic()
        except MemoryError as error:  # while a loss was to be told
            self._post_to(no_room(error))
        finally:
            self.polled.close()
            self._over.set()

    def _begin(self) -> float:
        """Post the preview, if there is one, and wait a moment until that is on the screen.

        Returns when that began to be read, from where the first interval counts, in seconds of the monotonic clock.
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
        """Connect if need be, and poll once. Whatever goes wrong becomes an event: the thread lives on."""
        try:
            snapshot = self._poll()
        except Exhausted:
            return SourceEnded()
        except SourceError as error:
            lost = error
        except InputError as error:
            lost = SourceError(str(error), retry=False)
        except Exception as error:
            out = ran_out(error, foreseen=False)
            if out and not self.polled.has_polled:  # at the start: there was never enough, and will not be
                self.polled.close()
                return no_room(error)
            lost = SourceError(out or f"{type(error).__name__}: {error}")
        else:
            self.polled.works()
            return Polled(snapshot)
        self._commands.drop()
        return self.polled.lose(lost)

    def _poll(self) -> Snapshot:
        poller = self.polled.prepare(self._focus, insists=self._must_answer)
        if self._stopping:  # what was imported meanwhile may have taken its time
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
        self._commands.send(poller)
        on_first_look, self._on_first_look = self._on_first_look, None
        self._read_at = time.monotonic()  # a login, which may have come before, does not count as a gap
        return poller.poll(on_first_look)

    def _look(self, snapshot: Snapshot) -> None:
        if not (self._stopping or self._has_previewed):
            self._post_to(FirstLook(snapshot))

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
