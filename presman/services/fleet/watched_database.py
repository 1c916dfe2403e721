"""One database of a fleet: polled in a thread of its own, so that no other waits for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.fleet import further, is_late, vitals_of
from presman.analysis.readings.fleet_readings import Member, Past, Presence, Vitals
from presman.analysis.readings.reading import Reading
from presman.base.text import one_line
from presman.polling.cadence import PollNeeds
from presman.polling.sampler import CarryOut, Event, FirstLook, Glimpse, SourceEnded, SourceLost
from presman.rows.queries import Breadth
from presman.services.live import Heard, LiveTarget, NotUnderstood, ReadingCame, Readings, sampler_of

ENOUGH = 4
"""Polls after which rates that are still not known are not waited for: two may be too close to each other."""


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
        target: LiveTarget,
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
        self._readings = Readings(target.attention)
        self.sampler = sampler_of(
            target._replace(interval=interval), self._hear, breadth=Breadth.NARROW, needs=PollNeeds(few=True),
            phase=phase, carry_out=carry_out,
        )  # fmt: skip

    # ---- from outside

    def start(self) -> bool:
        """Begin to poll; where no thread can be had the database counts as refused. Return whether it has one."""
        self._seen = replace(self._seen, since=self._clock())
        return self.sampler.begin()

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
        self.sampler.widen(self.target.needed(breadth))

    # ---- the sampler's thread

    def _hear(self, event: Event) -> None:
        if isinstance(event, FirstLook | Glimpse):
            return
        heard = self._known(self._readings.of(event))
        with self._turn:
            if isinstance(heard, ReadingCame):
                self._latest, self._lost = heard, None
            elif isinstance(heard, SourceLost):
                self._lost = heard
            if self._listener is not None:
                self._listener(heard)

    def _known(self, heard: Heard) -> Heard:
        """Take note of what was heard, and return it; a fault on the way is what was heard."""
        if isinstance(heard, ReadingCame):
            try:
                self._came(heard.reading)
            except Exception as error:
                heard = NotUnderstood(error)
        if isinstance(heard, NotUnderstood):
            self._seen = replace(self._seen, reason=one_line(f"{type(heard.error).__name__}: {heard.error}", 200))
        elif isinstance(heard, SourceLost):
            self._lose(heard)
        elif isinstance(heard, SourceEnded):
            self._seen = replace(
                self._seen, presence=Presence.STOPPED, since=self._clock(), reason="no more data will come"
            )
        return heard

    def _came(self, reading: Reading) -> None:
        vitals = vitals_of(reading)
        now = self._clock()
        fresh = now - reading.poll_seconds - (reading.stale or 0.0)
        self._seen = _Seen(Presence.LIVE, now, vitals, fresh, past=further(self._seen.past, vitals))

    def _lose(self, event: SourceLost) -> None:
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
