"""Live databases: targets to poll, their samplers, the meaning of their polls, and whether they can be reached.

Every command that keeps polling is built from these parts: sampler, analysis, alerts, lost or connected. The
analysis is imported only when the first poll has come, so that a screen can be drawn before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct
from msgspec.structs import replace

from presman.base.log_event import Level, LogEvent, Report
from presman.base.running_out import ran_out
from presman.base.text import clean, one_line
from presman.polling import poll_events
from presman.polling.cadence import EVERYTHING, PollNeeds
from presman.polling.poll_events import Event, Polled, PreviewCame, SourceEnded, SourceLost
from presman.polling.sampler import Sampler
from presman.rows.queries import DetailLevel, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Source

if TYPE_CHECKING:
    from presman.analysis.advice.earlier_predictions import EarlierPredictions
    from presman.analysis.caches import RowCache
    from presman.analysis.readings.reading import Reading
    from presman.forecast.forecaster import ForecastBasis, Forecaster

INTERVAL = 5.0
"""The default number of seconds between two polls."""


class Notifier(Protocol):
    """Source of alerts: adds them to readings and runs a command; `detail_level` is what each poll must read for it."""

    detail_level: DetailLevel

    def read(self, reading: Reading) -> Reading:
        """Return the reading with its alerts."""

    def look(self, reading: Reading) -> Reading:
        """Return a preview with its alerts."""

    def lost(self, text: str) -> None:
        """Handle the loss of the database."""

    def close(self) -> None:
        """Finish what still has to run, for two seconds at most."""


class LiveTarget(NamedTuple):
    """A polled database: its name without secrets, how to reach it, how often, and its settings."""

    name: str
    make_source: Callable[[], Source]
    interval: float = INTERVAL
    scope: Scope = Scope.CLUSTER
    packs: tuple[str, ...] = ()
    budget: float | None = None
    notifier: Notifier | None = None
    renewed: Callable[[], Source | None] | None = None
    """See :class:`presman.polling.sampler.Sampler`."""
    kind: str = ""
    """The kind of the source, as a recording stores it."""

    def needed(self, detail_level: DetailLevel) -> DetailLevel:
        """Return how much each poll reads where `detail_level` is shown: what the alerts need is added."""
        return detail_level if self.notifier is None else detail_level | self.notifier.detail_level


def sampler_of(
    target: LiveTarget,
    post: Callable[[Event], None],
    *,
    detail_level: DetailLevel = DetailLevel.WHOLE,
    needs: PollNeeds = EVERYTHING,
    phase: float | None = None,
    carry_out: poll_events.CarryOut | None = None,
) -> Sampler:
    """Return the sampler of a target, not yet started. Everything else keeps the sampler's defaults."""
    sampler = Sampler(
        target.make_source,
        refresh=target.interval,
        scope=target.scope,
        post=post,
        packs=target.packs,
        carry_out=carry_out,
    )
    sampler.budget, sampler.phase = target.budget, phase
    sampler.polled.renewed, sampler.polled.needs = target.renewed, needs
    sampler.set_detail_level(target.needed(detail_level))
    return sampler


class EarlySampler:
    """Sampler that starts while the screen is still being built; its thread holds the first event for a listener.

    `let_go` is called at the end, whether the thread has ended or not.
    """

    def __init__(
        self, make_sampler: Callable[[Callable[[Event], None]], Sampler], let_go: Callable[[], object]
    ) -> None:
        self._let_go = let_go
        self._listener: Callable[[Event], None] | None = None
        self._is_attached = threading.Event()
        self.sampler = make_sampler(self._post)
        self.sampler.start()

    def attach(self, listener: Callable[[Event], None]) -> None:
        """Pass all events to `listener` from now on, in the thread of the sampler."""
        self._listener = listener
        self._is_attached.set()

    def end(self) -> None:
        """End the sampler, even if it never had a listener."""
        self._is_attached.set()
        self.sampler.stop()
        self._let_go()

    def _post(self, event: Event) -> None:
        self._is_attached.wait()
        if self._listener is not None:
            self._listener(event)


class ReadingCame(Struct, frozen=True):
    """A poll, its reading, and the previous poll from which its rates are computed, None if there is none.

    `forecast_basis` is what its forecasts are computed from, None if it has none. An extra poll is only shown: what it
    grew by is also in the next regular one (see :class:`presman.polling.cadence.RegularPolls`).
    """

    reading: Reading
    snapshot: Snapshot
    previous: Snapshot | None = None
    forecast_basis: ForecastBasis | None = None
    is_extra: bool = False


class Preview(Struct, frozen=True):
    """The early part of the first poll; it began to read `age` seconds ago."""

    reading: Reading
    age: float


class NotUnderstood(Struct, frozen=True):
    """A poll could not be turned into a reading."""

    error: Exception

    @property
    def line(self) -> str:
        """The resource that has run out, or else the internal error, in one line."""
        fault = f"internal error: {type(self.error).__name__}: {self.error}"
        return one_line(clean(ran_out(self.error, expected=False) or fault), 500)


LiveEvent = ReadingCame | Preview | NotUnderstood | SourceLost | SourceEnded | poll_events.ActionResult
"""The possible results of a sampler's events."""


class Readings:
    """Interpretation of a sampler's events: a snapshot becomes a reading with its alerts.

    It runs in the sampler's thread, so that the screen does not wait for the analysis. While `with_forecasts` is set
    (any thread may set it), readings have forecasts of the queue from the next poll on. `forecaster` makes them; it
    may already know earlier polls. `previous` is the poll from which the rates of the next regular one are computed.
    """

    def __init__(self, notifier: Notifier | None = None, *, with_forecasts: bool = False) -> None:
        self._notifier, self.with_forecasts = notifier, with_forecasts
        self.forecaster: Forecaster | None = None
        self.previous: Snapshot | None = None
        self._before: Snapshot | None = None
        self._reading: Reading | None = None
        self._cache: RowCache | None = None
        self._promises: EarlierPredictions | None = None

    def of(self, event: Event) -> LiveEvent:
        """Return the result of an event. A fault in the analysis loses only that poll, and becomes NotUnderstood."""
        try:
            if isinstance(event, Polled):
                return self.read(event.snapshot, is_extra=event.is_extra)
            if isinstance(event, PreviewCame):
                return self._preview(event)
        except Exception as error:
            return NotUnderstood(error)
        if isinstance(event, SourceLost) and self._notifier is not None:
            self._notifier.lost(event.line)
        return event

    def forget(self) -> None:
        """Forget earlier polls: the next poll counts as the first, without rates."""
        self.previous = self._before = self._reading = None

    def remember(self, reading: Reading | None) -> None:
        """Take the reading before the next poll, which has the alerts that this one may be unable to check."""
        self._reading = reading

    def read(self, snapshot: Snapshot, *, is_extra: bool = False) -> ReadingCame:
        """Return the reading of the next poll, and the poll with the facts of earlier readings.

        Rates of an extra one are those since the last but one regular poll.
        """
        from presman.analysis.advice.earlier_predictions import EarlierPredictions
        from presman.analysis.advice.to_do import with_unchecked
        from presman.analysis.assemble import analyse
        from presman.analysis.caches import RowCache, prepare

        self._cache = self._cache or RowCache()
        self._promises = self._promises or EarlierPredictions()
        snapshot = self._promises.added_to(snapshot)
        if is_extra:
            previous, self.previous = self._before, self.previous and with_answers(self.previous, snapshot)
        else:
            previous = self._before = self.previous
            self.previous = snapshot
        reading = analyse(previous, snapshot, self._cache)
        if self.with_forecasts:
            from presman.forecast.forecaster import Forecaster

            self.forecaster = self.forecaster or Forecaster()
            reading = self.forecaster.read(reading, previous, snapshot, self._cache)
        else:
            from presman.forecast.shown import as_shown

            self.forecaster, reading = None, as_shown(reading, snapshot)
        self._promises.add(reading)
        reading = with_unchecked(self._reading, reading)
        if self._notifier is not None:
            reading = self._notifier.read(reading)
        before, self._reading = self._reading or reading, reading
        # The parts that the screen used of the reading before are made here for this one, so that the screen does not
        # wait.
        prepare(before.sessions, reading.sessions)
        prepare(before.histograms, reading.histograms)
        forecast_basis = None if self.forecaster is None else self.forecaster.forecast_basis
        return ReadingCame(reading, snapshot, previous, forecast_basis, is_extra)

    def _preview(self, event: PreviewCame) -> Preview:
        from presman.analysis.assemble import analyse

        reading = analyse(None, event.seen) if isinstance(event.seen, Snapshot) else event.seen
        age = time.monotonic() - event.begun
        return Preview(reading if self._notifier is None else self._notifier.look(reading), age)


def with_answers(regular: Snapshot, extra: Snapshot) -> Snapshot:
    """Return a regular poll with the on-demand rows of an extra one, for a page: their rates begin there."""
    from presman.rows.queries import Cadence, load

    asked = (record for record, query in load(extra.release).items() if query.cadence is Cadence.DEMAND)
    found = {record: extra.section(record) for record in asked if record in extra.sections}
    return replace(regular, sections=MappingProxyType({**regular.sections, **found})) if found else regular


class Reachability:
    """State of a database's connection. Each cause of a loss is reported once, and so is the return."""

    def __init__(self, name: str, report: Report) -> None:
        self._name = name
        self._report_to = report
        self._cause = ""
        self.trouble = ""
        """Why no polls arrive, in one line; "" while they do."""
        self.next_try: datetime | None = None
        """Time of the next attempt, by the clock of this machine; None if there is none, or it is not lost."""

    def report(self, event: str, message: str, level: Level = "info", **figures: float) -> None:
        """Report an event of this database."""
        self._report_to(LogEvent(event, message, level, self._name, figures))

    def polled(self, number: int, done: str, snapshot: Snapshot) -> None:
        """Report that poll `number` was read, or written."""
        figures = {"poll": number, "seconds": round(snapshot.seconds, 4), "round_trips": snapshot.round_trips}
        self.report("polled", f"poll {number} {done}", "debug", **figures)

    def lose(
        self,
        trouble: str,
        cause: str,
        message: str,
        event: str = "lost",
        level: Level = "warning",
        next_try: datetime | None = None,
    ) -> None:
        """Note a loss and report `message`, unless the database was already lost for the same `cause`."""
        self.trouble, self.next_try = trouble, next_try
        if cause != self._cause:
            self.report(event, message, level)
        self._cause = cause

    def answer(self) -> None:
        """Note an answer, and report that the database is back if it was lost."""
        if self.trouble:
            self.report("connected", "connected again")
        self.trouble = self._cause = ""
        self.next_try = None
