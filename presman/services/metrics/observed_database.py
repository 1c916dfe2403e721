"""Observed database: a thread that polls it, and what it last said. Whoever looks at that never waits for a poll."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis import analyse
from presman.analysis.alerts.alert_settings import AlertSettings
from presman.analysis.alerts.judge import Judge
from presman.analysis.facts.row_cache import RowCache
from presman.analysis.readings.wait_readings import Histogram
from presman.base.log_event import Level, LogEvent, Tell
from presman.base.text import clean, one_line
from presman.figures.observed_reading import LATE, ObservedReading
from presman.polling.budget import budget_of
from presman.polling.poll_needs import PollNeeds
from presman.polling.sampler import Event, Polled, Sampler, SourceEnded, SourceLost, no_thread
from presman.records.queries import Breadth, Scope
from presman.records.snapshot import Snapshot
from presman.sources import Source

NEEDS = PollNeeds(statements=20, texts=False, most=100, largest=500_000, idle_sessions=False)
"""The first of each queue matter, their texts do not; idle sessions are counted."""

GRACE = 5.0
"""Seconds by which a poll may be later than the slowest one before what was read counts no more."""


class ObservedTarget(NamedTuple):
    """What is watched: the label it has in metrics, free of secrets and users, and how to reach it."""

    label: str
    make_source: Callable[[], Source]
    interval: float
    scope: Scope
    packs: tuple[str, ...]
    budget: float | None
    alerts: AlertSettings
    renewed: Callable[[], Source | None] | None = None
    """See :class:`presman.polling.sampler.Sampler`."""


class DatabaseState(Struct, frozen=True):
    """What is known of a database at an instant.

    `observation` is that of the last poll, None while it cannot be reached or has not answered for too long; counters
    are of this process, `last_poll` is when a poll last ended (seconds since 1970), `next_try` when a database that is
    lost is tried next, None if it is not lost, or not tried again.
    """

    label: str
    interval: float
    observation: ObservedReading | None
    polls: int
    poll_seconds: float
    round_trips: int
    failures: int
    last_poll: float | None
    next_try: float | None = None

    @property
    def is_up(self) -> bool | None:
        """Whether its figures are of now; None before anything is known."""
        return self.observation is not None if self.polls or self.failures else None


class ObservedDatabase:
    """Polls one database until it is stopped. `tell` is told what somebody should know."""

    def __init__(
        self,
        target: ObservedTarget,
        tell: Tell,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self._tell_to = tell
        self._clock = clock
        self._fresh_for = 2 * target.interval + budget_of(target.interval, target.budget) + GRACE
        self._previous: Snapshot | None = None
        self._cache = RowCache()
        self._judge = Judge(target.alerts)
        self._histograms: tuple[Histogram, ...] = ()
        self._histograms_at: object = None
        self._heard = -self._fresh_for
        self._cause = ""
        self.trouble = ""
        """Why there are no figures, in one line; "" while there are."""
        self._state = DatabaseState(target.label, target.interval, None, 0, 0.0, 0, 0, None)
        self.sampler = Sampler(
            target.make_source, refresh=target.interval, scope=target.scope, post=self._post, packs=target.packs
        )
        self.sampler.budget = target.budget
        self.sampler.needs = NEEDS
        self.sampler.renewed = target.renewed
        latency = any(each.key == "latency" for each in target.alerts)
        self.sampler.widen(Breadth.HISTOGRAMS if latency else Breadth.NARROW)

    # ---- from outside

    def start(self) -> None:
        """Begin. Where no thread can be had it counts as lost."""
        try:
            self.sampler.start()
        except RuntimeError as error:
            self._post(no_thread(error))

    def stop(self) -> None:
        """Poll no more; one that is under way is broken off."""
        self.sampler.stop()

    @property
    def is_alive(self) -> bool:
        """Whether it is polled, or would be as soon as it can be reached."""
        return self.sampler.is_alive

    def state(self) -> DatabaseState:
        """Return what is known now."""
        state = self._state
        if state.observation is None or self._clock() - self._heard <= self._fresh_for:
            return state
        return replace(state, observation=None)

    # ---- the sampler's thread

    def _post(self, event: Event) -> None:
        if isinstance(event, Polled):
            self._take(event.snapshot)
        elif isinstance(event, SourceLost):
            outlook = event.outlook if event.retry_in is not None else f"{event.outlook} before a restart"
            text = f"{event.line}; {outlook}" if outlook else event.line
            self._lose("lost", text, event.code or event.text, next_try=event.next_try)
        elif isinstance(event, SourceEnded):
            self._lose("lost", "it has ended", "end")

    def _tell(self, event: str, message: str, level: Level = "info", **figures: float) -> None:
        self._tell_to(LogEvent(event, message, level, self.target.label, figures))

    def _take(self, snapshot: Snapshot) -> None:
        try:
            observation = self._observe(snapshot)
        except Exception as error:  # of one database: the others go on
            self._lose("fault", f"internal error: {type(error).__name__}: {error}", "internal", "error")
            return
        stale = observation.reading.stale
        if stale is None or stale > LATE:
            self._lose("late", "no view answers in time", "late")
            return
        before = self._state
        if self.trouble:
            self._tell("connected", "connected again")
            self._cause = self.trouble = ""
        self._heard = self._clock()
        self._state = replace(
            before,
            observation=observation,
            polls=before.polls + 1,
            poll_seconds=before.poll_seconds + snapshot.seconds,
            round_trips=before.round_trips + snapshot.round_trips,
            last_poll=time.time(),
            next_try=None,
        )
        figures = {"poll": self._state.polls, "seconds": round(snapshot.seconds, 4)}
        self._tell("polled", f"poll {self._state.polls} read", "debug", **figures, round_trips=snapshot.round_trips)

    def _observe(self, snapshot: Snapshot) -> ObservedReading:
        previous, self._previous = self._previous, snapshot
        reading = self._judge.judge(analyse(previous, snapshot, self._cache))
        if reading.histograms_at != self._histograms_at:
            self._histograms, self._histograms_at = reading.histograms, reading.histograms_at
        return ObservedReading(reading, previous, snapshot, self._histograms)

    def _lose(
        self, event: str, text: str, cause: str, level: Level = "warning", next_try: datetime | None = None
    ) -> None:
        """Have no figures any more; the same cause is told once."""
        self.trouble = one_line(clean(text), 500)
        if cause != self._cause:
            self._tell(event, self.trouble, level)
            self._cause = cause
        self._previous, self._histograms = None, ()
        self._state = replace(
            self._state,
            observation=None,
            failures=self._state.failures + 1,
            next_try=None if next_try is None else next_try.timestamp(),
        )
