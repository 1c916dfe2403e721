"""Observed database: a thread that polls it, and what it last said. Whoever looks at that never waits for a poll."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.readings.wait_readings import Histogram
from presman.base.log_event import Level, Tell
from presman.base.text import clean, one_line
from presman.figures.metric_figures import LATE, ObservedReading
from presman.polling.cadence import PollNeeds, budget_of
from presman.polling.sampler import Event, FirstLook, Glimpse, SourceEnded, SourceLost, stop_all
from presman.rows.queries import Breadth
from presman.services.live import LiveTarget, NotUnderstood, Reachability, ReadingCame, Readings, sampler_of

NEEDS = PollNeeds(statements=20, texts=False, most=100, largest=500_000, idle_sessions=False)
"""The first of each queue matter, their texts do not; idle sessions are counted."""

GRACE = 5.0
"""Seconds by which a poll may be later than the slowest one before what was read counts no more."""


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
        target: LiveTarget,
        tell: Tell,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.target = target
        self._clock = clock
        self._fresh_for = 2 * target.interval + budget_of(target.interval, target.budget) + GRACE
        self._readings = Readings(target.attention)
        self._reachability = Reachability(target.name, tell)
        self._histograms: tuple[Histogram, ...] = ()
        self._histograms_at: object = None
        self._heard = -self._fresh_for
        self._state = DatabaseState(target.name, target.interval, None, 0, 0.0, 0, 0, None)
        self.sampler = sampler_of(target, self._post, breadth=Breadth.NARROW, needs=NEEDS)

    # ---- from outside

    def start(self) -> None:
        """Begin. Where no thread can be had it counts as lost."""
        self.sampler.begin()

    def stop(self) -> None:
        """Poll no more; one that is under way is broken off."""
        self.sampler.stop()

    @property
    def is_alive(self) -> bool:
        """Whether it is polled, or would be as soon as it can be reached."""
        return self.sampler.is_alive

    @property
    def trouble(self) -> str:
        """Why there are no figures, in one line; "" while there are."""
        return self._reachability.trouble

    def state(self) -> DatabaseState:
        """Return what is known now."""
        state = self._state
        if state.observation is None or self._clock() - self._heard <= self._fresh_for:
            return state
        return replace(state, observation=None)

    # ---- the sampler's thread

    def _post(self, event: Event) -> None:
        if isinstance(event, FirstLook | Glimpse):
            return
        heard = self._readings.of(event)
        if isinstance(heard, ReadingCame):
            self._take(heard)
        elif isinstance(heard, NotUnderstood):  # of one database: the others go on
            error = heard.error
            self._lose("fault", f"internal error: {type(error).__name__}: {error}", "internal", "error")
        elif isinstance(heard, SourceLost):
            outlook = heard.outlook if heard.retry_in is not None else f"{heard.outlook} before a restart"
            text = f"{heard.line}; {outlook}" if outlook else heard.line
            self._lose("lost", text, heard.code or heard.text, next_try=heard.next_try)
        elif isinstance(heard, SourceEnded):
            self._lose("lost", "it has ended", "end")

    def _take(self, came: ReadingCame) -> None:
        reading, snapshot = came.reading, came.snapshot
        if reading.stale is None or reading.stale > LATE:
            self._lose("late", "no view answers in time", "late")
            return
        if reading.histograms_at != self._histograms_at:
            self._histograms, self._histograms_at = reading.histograms, reading.histograms_at
        before = self._state
        self._reachability.answer()
        self._heard = self._clock()
        self._state = replace(
            before,
            observation=ObservedReading(reading, came.previous, snapshot, self._histograms),
            polls=before.polls + 1,
            poll_seconds=before.poll_seconds + snapshot.seconds,
            round_trips=before.round_trips + snapshot.round_trips,
            last_poll=time.time(),
            next_try=None,
        )
        figures = {"poll": self._state.polls, "seconds": round(snapshot.seconds, 4)}
        text = f"poll {self._state.polls} read"
        self._reachability.tell("polled", text, "debug", **figures, round_trips=snapshot.round_trips)

    def _lose(
        self, event: str, text: str, cause: str, level: Level = "warning", next_try: datetime | None = None
    ) -> None:
        """Have no figures any more; the same cause is told once."""
        trouble = one_line(clean(text), 500)
        self._reachability.lose(trouble, cause, trouble, event, level, next_try)
        self._readings.forget()
        self._histograms = ()
        self._state = replace(
            self._state,
            observation=None,
            failures=self._state.failures + 1,
            next_try=None if next_try is None else next_try.timestamp(),
        )


# ---- Exporter: databases that are polled, the page they make, and who is told of it.

MOST_SPREAD = 10.0
"""Seconds over which the first polls are spread at most."""

PATIENCE = 1.0
"""Seconds that the end waits for polls that were told to end."""


class Exporter:
    """Polls databases side by side. `tell` is told what somebody should know."""

    def __init__(self, targets: Sequence[LiveTarget], tell: Tell) -> None:
        self.databases = [ObservedDatabase(target, tell) for target in targets]
        self._begun = threading.Event()

    def start(self, wait: Callable[[float], object] = time.sleep) -> None:
        """Begin with one after the other, spread over an interval: polls that come together get in each other's way."""
        for place, database in enumerate(self.databases):
            if place:
                wait(min(database.target.interval, MOST_SPREAD) / len(self.databases))
            database.start()
        self._begun.set()

    @property
    def is_healthy(self) -> bool:
        """Whether every database is polled, or would be if it could be reached."""
        return not self._begun.is_set() or all(database.is_alive for database in self.databases)

    def stop(self) -> None:
        """End all polls at once; those that do not let go die with the process."""
        stop_all([database.sampler for database in self.databases], PATIENCE)
