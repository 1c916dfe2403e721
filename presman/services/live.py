"""Live databases: what is polled, the sampler that polls it, what its polls mean, and whether it answers.

Every command that goes on polling is made of these: sampler, analysis, alerts, lost or connected. Nothing of the
analysis is imported before a poll has come, so that a screen can be drawn meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec import Struct

from presman.base.log_event import Level, LogEvent, Report
from presman.base.running_out import ran_out
from presman.base.text import clean, one_line
from presman.polling import poll_events
from presman.polling.cadence import EVERYTHING, PollNeeds
from presman.polling.poll_events import Event, FirstLook, Polled, PreviewCame, SourceEnded, SourceLost
from presman.polling.sampler import Sampler
from presman.rows.queries import DetailLevel, Scope
from presman.rows.snapshot import Snapshot
from presman.sources import Source

if TYPE_CHECKING:
    from presman.analysis.caches import RowCache
    from presman.analysis.readings.reading import Reading
    from presman.forecast.forecaster import Forecaster, Foresight

INTERVAL = 5.0
"""Seconds between two polls where nobody chose otherwise."""


class Notifier(Protocol):
    """What judges readings by thresholds and runs a command at alerts; `detail_level` is what it needs of each poll."""

    detail_level: DetailLevel

    def read(self, reading: Reading) -> Reading:
        """Return the reading with its alerts."""

    def look(self, reading: Reading) -> Reading:
        """Return the beginning of a reading with its alerts."""

    def lost(self, text: str) -> None:
        """Take it that the database cannot be reached."""

    def close(self) -> None:
        """Have what is still to be run done, for two seconds at most."""


class LiveTarget(NamedTuple):
    """What is polled: its name without secrets, how to reach it, how often, and what holds for it."""

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
    """Of the source, as a recording has it."""

    def needed(self, detail_level: DetailLevel) -> DetailLevel:
        """Return how much each poll reads where that much is shown: what alerts need is read besides."""
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
    """Return the sampler of a target, which is yet to begin. What is not said here is as the sampler has it."""
    sampler = Sampler(
        target.make_source, refresh=target.interval, scope=target.scope, post=post, packs=target.packs,
        carry_out=carry_out,
    )  # fmt: skip
    sampler.budget, sampler.phase = target.budget, phase
    sampler.polled.renewed, sampler.polled.needs = target.renewed, needs
    sampler.set_detail_level(target.needed(detail_level))
    return sampler


class HeadStart:
    """Starts a sampler while the screen is still made; its thread waits with its first event until somebody listens.

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
        """Give all to `listener` from now on, in the thread of the sampler."""
        self._listener = listener
        self._is_attached.set()

    def end(self) -> None:
        """End the sampler, also if nobody ever listened."""
        self._is_attached.set()
        self.sampler.stop()
        self._let_go()

    def _post(self, event: Event) -> None:
        self._is_attached.wait()
        if self._listener is not None:
            self._listener(event)


class ReadingCame(Struct, frozen=True):
    """A poll, what it means, and the poll that its rates are taken from, None for none.

    `foresight` is what its forecasts are made of, None where it has none.
    """

    reading: Reading
    snapshot: Snapshot
    previous: Snapshot | None = None
    foresight: Foresight | None = None


class Preview(Struct, frozen=True):
    """What the first poll shows before it is whole; that began to be read `age` seconds ago."""

    reading: Reading
    age: float


class NotUnderstood(Struct, frozen=True):
    """A poll could not be turned into a reading."""

    error: Exception

    @property
    def line(self) -> str:
        """What has run out, or that it is a fault of presman's, in one line."""
        fault = f"internal error: {type(self.error).__name__}: {self.error}"
        return one_line(clean(ran_out(self.error, foreseen=False) or fault), 500)


LiveEvent = ReadingCame | Preview | NotUnderstood | SourceLost | SourceEnded | poll_events.ActionResult
"""What the events of a sampler come to."""


class Readings:
    """What the events of one sampler mean: a snapshot becomes a reading with its alerts.

    It is called in the sampler's thread, so that whoever looks does not wait for the analysis. While `foresees` is
    set, which any thread may do, it has forecasts of the queue from the next poll on, by a `forecaster` that may know
    already what was before. `previous` is the poll that the rates of the next one are taken from.
    """

    def __init__(self, notifier: Notifier | None = None, *, foresees: bool = False) -> None:
        self._notifier = notifier
        self.foresees = foresees
        self.forecaster: Forecaster | None = None
        self.previous: Snapshot | None = None
        self._reading: Reading | None = None
        self._cache: RowCache | None = None

    def of(self, event: Event) -> LiveEvent:
        """Return what an event means. A fault in the analysis costs that poll alone, and is among the answers."""
        try:
            if isinstance(event, Polled):
                return self.read(event.snapshot)
            if isinstance(event, FirstLook | PreviewCame):
                return self._preview(event)
        except Exception as error:
            return NotUnderstood(error)
        if isinstance(event, SourceLost) and self._notifier is not None:
            self._notifier.lost(event.line)
        return event

    def forget(self) -> None:
        """Take no rates from what was read before: the next poll is a first one."""
        self.previous = self._reading = None

    def read(self, snapshot: Snapshot) -> ReadingCame:
        """Return what the next poll means."""
        from presman.analysis.assemble import analyse
        from presman.analysis.caches import RowCache, prepare

        self._cache = self._cache or RowCache()
        previous, self.previous = self.previous, snapshot
        reading = analyse(previous, snapshot, self._cache)
        if self.foresees:
            from presman.forecast.forecaster import Forecaster

            self.forecaster = self.forecaster or Forecaster()
            reading = self.forecaster.read(reading, previous, snapshot, self._cache)
        else:
            from presman.forecast.shown import as_shown

            self.forecaster = None
            reading = as_shown(reading, snapshot)
        if self._notifier is not None:
            reading = self._notifier.read(reading)
        before, self._reading = self._reading or reading, reading
        prepare(before.sessions, reading.sessions)
        prepare(before.histograms, reading.histograms)
        foresight = None if self.forecaster is None else self.forecaster.foresight
        return ReadingCame(reading, snapshot, previous, foresight)

    def _preview(self, event: FirstLook | PreviewCame) -> Preview:
        from presman.analysis.assemble import analyse

        if isinstance(event, FirstLook):
            reading, age = analyse(None, event.snapshot), event.snapshot.seconds
        else:
            reading, age = event.seen, time.monotonic() - event.begun
        return Preview(reading if self._notifier is None else self._notifier.look(reading), age)


class Reachability:
    """Whether a database answers. Each cause of a loss is reported once, and so is the return."""

    def __init__(self, name: str, report: Report) -> None:
        self._name = name
        self._report_to = report
        self._cause = ""
        self.trouble = ""
        """Why nothing comes, in one line; "" while it does."""
        self.next_try: datetime | None = None
        """When it is tried next, by the clock of this machine; None: not, or it is not lost."""

    def report(self, event: str, message: str, level: Level = "info", **figures: float) -> None:
        """Tell something of this database."""
        self._report_to(LogEvent(event, message, level, self._name, figures))

    def polled(self, number: int, done: str, snapshot: Snapshot) -> None:
        """Tell that poll `number` was read, or written."""
        figures = {"poll": number, "seconds": round(snapshot.seconds, 4), "round_trips": snapshot.round_trips}
        self.report("polled", f"poll {number} {done}", "debug", **figures)

    def lose(
        self, trouble: str, cause: str, message: str, event: str = "lost", level: Level = "warning",
        next_try: datetime | None = None,
    ) -> None:  # fmt: skip
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
