"""The thread that polls one database for a screen: cadence, reconnection, and an end that never hangs."""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from presman.base.errors import InputError
from presman.base.running_out import ran_out, start
from presman.polling.cadence import budget_of
from presman.polling.poll_events import CarryOut, Event, FirstLook, Polled, PreviewCame, SourceEnded, SourceLost
from presman.polling.polled_source import CommandQueue, PolledSource, no_room
from presman.rows.commands import Command
from presman.rows.queries import DetailLevel, Focus, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Exhausted, Source, SourceError

if TYPE_CHECKING:
    from presman.sources.subprocess_source import PreviewAnswer


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
