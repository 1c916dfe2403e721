"""One database of a fleet: polled in a thread of its own, so that no other waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis import analyse
from presman.analysis.facts.row_cache import RowCache
from presman.analysis.fleet import further, is_late, vitals_of
from presman.analysis.lazy_rows import prepare
from presman.analysis.readings.fleet_readings import Member, Past, Presence, Vitals
from presman.analysis.readings.reading import Reading
from presman.base.text import one_line
from presman.output.attention import Attention
from presman.polling.poll_needs import PollNeeds
from presman.polling.sampler import (
    ActionResult,
    CarryOut,
    Event,
    FirstLook,
    Glimpse,
    Polled,
    Sampler,
    SourceEnded,
    SourceLost,
    no_thread,
)
from presman.records.breadth import Breadth
from presman.records.queries import Scope
from presman.records.snapshot import Snapshot
from presman.sources import Source

ENOUGH = 4
"""Polls after which rates that are still not known are not waited for: two may be too close to each other."""


class WatchedTarget(NamedTuple):
    """What is watched: its name without secrets, how to reach it, what holds for it."""

    name: str
    make_source: Callable[[], Source]
    scope: Scope = Scope.CLUSTER
    packs: tuple[str, ...] = ()
    budget: float | None = None
    attention: Attention | None = None
    renewed: Callable[[], Source | None] | None = None
    """See :class:`presman.polling.sampler.Sampler`."""


class ReadingCame(Struct, frozen=True):
    """A poll, and what it means."""

    reading: Reading
    snapshot: Snapshot


class NotUnderstood(Struct, frozen=True):
    """A poll could not be turned into a reading."""

    error: Exception


Heard = ReadingCame | NotUnderstood | SourceLost | SourceEnded | ActionResult
"""What a listener is told, in the database's thread."""


class _Seen(Struct, frozen=True):
    """What is known of a database. Times are of the monotonic clock; `fresh` is when its newest poll began."""

    presence: Presence
    since: float
    vitals: Vitals | None = None
    fresh: float | None = None
    reason: str = ""
    retry_at: float | None = None
    past: Past = Past()


class WatchedDatabase:
    """Polls one database narrowly, every `interval` seconds; more, and more often, while somebody listens.

    `phase` (0 to 1) is where in each interval it polls.
    """

    def __init__(
        self,
        target: WatchedTarget,
        interval: float,
        *,
        phase: float = 0.0,
        carry_out: CarryOut | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self._interval = interval
        self._clock = clock
        self._seen = _Seen(Presence.STARTING, clock())
        self._latest: ReadingCame | None = None
        self._lost: SourceLost | None = None
        self._listener: Callable[[Heard], object] | None = None
        self._turn = threading.Lock()
        self._cache = RowCache()
        self.sampler = Sampler(
            target.make_source, refresh=interval, scope=target.scope, post=self._hear, packs=target.packs,
            carry_out=carry_out,
        )  # fmt: skip
        self.sampler.budget = target.budget
        self.sampler.renewed = target.renewed
        self.sampler.phase = phase
        self.sampler.needs = PollNeeds(few=True)
        self.widen(Breadth.NARROW)

    # ---- from outside

    def start(self) -> bool:
        """Begin to poll; where no thread can be had the database counts as refused. Return whether it has one."""
        self._seen = replace(self._seen, since=self._clock())
        try:
            self.sampler.start()
        except RuntimeError as error:
            self._hear(no_thread(error))
        return self.sampler.is_alive

    def set_interval(self, seconds: float) -> None:
        """Poll every `seconds` from now on, also again when nobody listens any more."""
        self._interval = seconds
        if self._listener is None:
            self.sampler.set_refresh(seconds)

    def member(self) -> Member:
        """Return the database as it is now."""
        now, seen = self._clock(), self._seen
        age = None if seen.fresh is None else now - seen.fresh
        presence = seen.presence
        if presence is Presence.LIVE and age is not None and is_late(age, self._interval):
            presence = Presence.LATE
        since = None if presence in {Presence.LIVE, Presence.LATE} else now - seen.since
        retry_in = None if seen.retry_at is None else max(0.0, seen.retry_at - now)
        return Member(
            self.target.name, presence, seen.vitals, age, since, seen.reason, retry_in, seen.past
        )  # fmt: skip

    @property
    def reading(self) -> Reading | None:
        """The newest reading; None before the first."""
        return None if self._latest is None else self._latest.reading

    @property
    def live_reading(self) -> Reading | None:
        """The newest reading while the database answers; None otherwise: nothing is done by old data."""
        return self.reading if self.member().presence is Presence.LIVE else None

    @property
    def is_settled(self) -> bool:
        """Whether there are rates, or is known why there are none."""
        seen, reading = self._seen, self.reading
        if seen.presence is not Presence.LIVE or seen.vitals is None or reading is None:
            return seen.presence is not Presence.STARTING
        return reading.number > 1 and (seen.vitals.used is not None or reading.number >= ENOUGH)

    def listen(self, listener: Callable[[Heard], object], interval: float) -> None:
        """Tell `listener` all that comes from now on, at first what there is, and poll every `interval` seconds."""
        with self._turn:
            self._listener = listener
            if self._latest is not None:
                listener(self._latest)
            if self._lost is not None:
                listener(self._lost_by_now(self._lost))
        self.sampler.set_refresh(interval)

    def _lost_by_now(self, lost: SourceLost) -> SourceLost:
        """Return a loss as it is told to who comes later: with the seconds that are left."""
        return replace(lost, retry_in=None if lost.retry_in is None else self.member().retry_in)

    @property
    def is_heard(self) -> bool:
        """Whether somebody listens."""
        return self._listener is not None

    def leave(self) -> None:
        """Tell nobody any more, and poll as narrowly and as seldom as before."""
        with self._turn:
            self._listener = None
        self.sampler.focus(None)
        self.sampler.forget_requests()
        self.widen(Breadth.NARROW)
        self.sampler.set_refresh(self._interval)

    def widen(self, breadth: Breadth) -> None:
        """Read so much at each poll from now on."""
        attention = self.target.attention
        self.sampler.widen(breadth if attention is None else breadth | attention.breadth)

    # ---- the sampler's thread

    def _hear(self, event: Event) -> None:
        if isinstance(event, FirstLook | Glimpse):
            return
        if isinstance(event, SourceLost):
            self._lose(event)
        elif isinstance(event, SourceEnded):
            self._seen = replace(self._seen, presence=Presence.STOPPED, since=self._clock(), reason="at its end")
        heard: Heard = self._read(event.snapshot) if isinstance(event, Polled) else event
        with self._turn:
            if isinstance(heard, ReadingCame):
                self._latest, self._lost = heard, None
            elif isinstance(heard, SourceLost):
                self._lost = heard
            if self._listener is not None:
                self._listener(heard)

    def _read(self, snapshot: Snapshot) -> ReadingCame | NotUnderstood:
        before = self._latest
        try:
            reading = analyse(None if before is None else before.snapshot, snapshot, self._cache)
            if self.target.attention is not None:
                reading = self.target.attention.read(reading)
            prepare(before.reading.sessions if before else None, reading.sessions)
            vitals = vitals_of(reading)
        except Exception as error:
            self._seen = replace(self._seen, reason=one_line(f"{type(error).__name__}: {error}", 200))
            return NotUnderstood(error)
        now = self._clock()
        fresh = now - reading.poll_seconds - (reading.stale or 0.0)
        self._seen = _Seen(Presence.LIVE, now, vitals, fresh, past=further(self._seen.past, vitals))
        return ReadingCame(reading, snapshot)

    def _lose(self, event: SourceLost) -> None:
        if self.target.attention is not None:
            self.target.attention.lost(event.line)
        now, seen = self._clock(), self._seen
        is_refused = event.retry_in is None or event.refusal is not None
        presence = Presence.REFUSED if is_refused else Presence.LOST
        self._seen = _Seen(
            presence,
            seen.since if seen.presence is presence else now,
            fresh=seen.fresh,
            reason=event.line,
            retry_at=None if event.retry_in is None else now + event.retry_in,
            past=seen.past,
        )
