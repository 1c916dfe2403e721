"""Readings one after the other, without a screen: for once, export, the tables of 1.x and pipes."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import TYPE_CHECKING, TypedDict, Unpack

from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.fleet import USUAL, is_late
from presman.analysis.goals import NOT_BY_ONE_LOOK
from presman.analysis.readings.reading import Reading
from presman.analysis.trends import Watch
from presman.base.formats import duration, spelled
from presman.base.log_event import LogEvent
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.interruption import ending_reads, giving_up, rest
from presman.cli.settings import Resolved
from presman.forecast.forecaster import LEADING_POLLS, ONE_LOOK, Forecaster
from presman.polling.cadence import budget_of
from presman.polling.poller import Poller
from presman.polling.sampler import pause_after
from presman.recording.time_words import spelled_instant
from presman.rows.instance_rows import IoOutlier, LgwrioOutlier
from presman.rows.queries import DetailLevel, RecordType
from presman.rows.snapshot import Snapshot
from presman.services.live import ReadingCame, Readings
from presman.sources import Exhausted, Finite, Source, SourceError, WholePolls

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource

FINITE = frozenset({"spool", "recording"})
"""Kinds of sources that end: they are read poll by poll without waiting."""

OUTLIERS: Sequence[RecordType] = (IoOutlier, LgwrioOutlier)
"""The additional queries of `once --outliers`."""

GRACE = 2.0
"""Seconds after its time limit at which a read that has not ended is cancelled."""


class PollLimits(TypedDict, total=False):
    """Seconds between polls, and a limit on polls or seconds; from a finite source only the `newest` polls."""

    interval: float
    polls: int | None
    duration: float | None
    newest: int | None


class Polling:
    """Polls one target in the calling thread at a steady interval.

    After a successful poll a lost connection is retried until it is back; before that, the caller gets SourceError.
    `requests` are queries on demand that run once (of a spool, at each moment). `timeout` limits all of `once`, in
    seconds; without it each poll has a budget that depends on the interval. What is late is left out. `detail_level`
    says how much each poll reads; with `with_forecasts`, moments have forecasts of the queue.
    """

    def __init__(
        self,
        resolved: Resolved,
        *,
        requests: Sequence[RecordType] = (),
        timeout: float | None = None,
        detail_level: DetailLevel = DetailLevel.WHOLE,
        with_forecasts: bool = False,
        sleep: Callable[[float], None] = rest,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolved, self._requests, self._timeout = resolved, requests, timeout
        self._detail_level, self._with_forecasts, self._sleep = detail_level, with_forecasts, sleep
        self._clock = clock
        self.trouble = ""
        """Why there is no connection, "" while there is one; `next_try` is the time of the next attempt."""
        self.next_try: datetime | None = None
        self.unread = ""
        """Why the newest poll of a recording is not the one at the requested time, "" if it is."""
        self._source: Source | None = None
        self._reported: set[str] = set()
        """Damage to a recording that was already reported: the recording may be read twice."""

    def once(self, interval: float) -> ReadingCame:
        """Return the second of two readings `interval` seconds apart; of a spool the last moment.

        The interval is not part of the timeout.
        """
        *_, (previous, last) = self.pairs(interval=interval, polls=2 if self.endless else None, newest=2)
        found = self._meaning(previous, last)
        if found.queue and not self.endless:
            # The polls before the newest are read, too: forecasts learn from them, and they show broken promises.
            self._with_forecasts = True
            for came in self.moments(newest=LEADING_POLLS):
                found = came.reading
        found = self._with_goals(found)
        if found.queue and self.endless:
            found = Forecaster().read(found, previous, last, None)
        return ReadingCame(found, last, previous)

    def _meaning(self, previous: Snapshot | None, last: Snapshot) -> Reading:
        """Return what a poll means; of a recording with the alerts of earlier polls that it cannot check."""
        if self._resolved.target.kind != "recording":
            return analyse(previous, last)
        from presman.recording.playback import silent

        if not any(silent(each) for each in (previous, last) if each is not None):
            return analyse(previous, last)
        with self._recorded() as source:
            return source.playback.meaning((previous, last))

    def _with_goals(self, reading: Reading) -> Reading:
        """Return a reading with the state of its goals: since a recording began, unknown for other sources."""
        if not self._resolved.goals:
            return reading
        if self._resolved.target.kind != "recording":
            return replace(reading, notes=(*reading.notes, f"Not known: {NOT_BY_ONE_LOOK}."))
        from presman.recording.statement_lives import with_recorded_goals

        with self._recorded() as source:
            return with_recorded_goals(source.playback, source.goals, reading)

    def watched_before(self, reading: Reading) -> Watch:
        """Return the history of the queues in the hour before a reading; empty unless the source is a recording."""
        found = Watch()
        if self._resolved.target.kind == "recording" and reading.cluster_groups():
            from presman.recording.statement_lives import queue_marks_before

            with self._recorded() as source:
                found.queue_marks = queue_marks_before(source.playback, source.playback.index(reading.at))
        return found

    def readings_before(self, reading: Reading, since: datetime, most: int) -> tuple[list[Reading], int]:
        """Return the readings of a recording from `since` until before `reading`, and the number of polls between them.

        That number limits the readings to `most`. Sources other than recordings have none.
        """
        if self._resolved.target.kind != "recording":
            return [], 1
        from presman.recording.playback import LostPollError

        found: list[Reading] = []
        with self._recorded() as source:
            playback = source.playback
            polls = range(max(source.indexes.start, playback.index(since) - 1), playback.index(reading.at))
            step = max(1, -(-len(polls) // most))
            for index in polls[::step]:
                with suppress(LostPollError):
                    found.append(playback.reading(index))
        return found, step

    def why_old(self, came: ReadingCame) -> str:
        """Return why the newest poll says nothing about now, "" if it does: only a recording's or a spool's is old."""
        if self._resolved.target.kind == "spool":
            age = (datetime.now(UTC) - came.snapshot.at).total_seconds()
            return f"its newest sample is {duration(age)} old" if is_late(age, came.reading.interval or USUAL) else ""
        recorded = self._resolved.target.recorded
        if recorded is None or recorded.at or recorded.end:
            return ""
        from presman.services.store_fleet import why_old

        with self._recorded() as source:
            return why_old(source)

    def time_of(self, reading: Reading) -> str:
        """Return the time of a reading that was not made now: of a recording or a spool; "" for others."""
        return "" if self.endless else spelled_instant(reading.at)

    @contextmanager
    def _recorded(self) -> Iterator["RecordingSource"]:
        source = self._resolved.recording()
        try:
            source.open()
            yield source
        finally:
            source.close()

    def _readings(self, previous: Snapshot | None) -> Readings:
        """Return the reader of the first poll and later ones; for a recording it has learned from earlier polls."""
        readings = Readings(with_forecasts=self._with_forecasts)
        if self._resolved.target.kind == "recording":
            from presman.recording.recording_source import RecordingSource
            from presman.recording.statement_lives import forecaster_before

            assert isinstance(self._source, RecordingSource)
            readings.remember(self._source.reading_before())
            if self._with_forecasts:
                readings.forecaster = forecaster_before(self._source.playback, previous, ONE_LOOK)
        return readings

    @property
    def endless(self) -> bool:
        """Whether the source never ends by itself."""
        return self._resolved.target.kind not in FINITE

    def measured(
        self, *, polls: int | None = None, duration: float | None = None, newest: int | None = None
    ) -> Iterator[ReadingCame]:
        """Yield moments that have rates: the first poll of an endless source is only the baseline."""
        baseline = 1 if self.endless else 0
        wanted = None if polls is None else polls + baseline
        length = None if duration is None else duration + baseline * self._resolved.refresh
        yield from islice(self.moments(polls=wanted, duration=length, newest=newest), baseline, None)

    def moments(self, **limits: Unpack[PollLimits]) -> Iterator[ReadingCame]:
        """Yield the reading of each poll until the limits are reached or the source ends."""
        readings: Readings | None = None
        for previous, snapshot in self.pairs(**limits):
            readings = readings or self._readings(previous)
            readings.previous = previous
            yield readings.read(snapshot)

    def pairs(self, **limits: Unpack[PollLimits]) -> Iterator[tuple[Snapshot | None, Snapshot]]:
        """Yield each poll, preceded by the poll that its rates are computed from, as `moments` does."""
        interval = limits.get("interval") or self._resolved.refresh
        polls, duration = limits.get("polls"), limits.get("duration")
        source = self._source = self._resolved.target.make_source()
        source.scope = self._resolved.scope
        poller = Poller(source, packs=self._resolved.packs, keep_late=False)
        poller.detail_level = self._detail_level
        for record in self._requests:
            poller.request(record, lasting=not self.endless)
        number, last = 0, None
        deadline = None if self._timeout is None else self._clock() + self._timeout + interval
        try:
            self._open(poller, limits.get("newest"))
            due = begun = self._clock()
            while True:
                poller.budget = self._budget(interval, deadline, 1 if polls is None else polls - number)
                try:
                    snapshot = self._poll(poller, may_retry=number > 0 and deadline is None)
                except Exhausted:
                    break
                yield source.before() if isinstance(source, WholePolls) else last, snapshot
                number, last = number + 1, snapshot
                # After a poll that took longer than the interval the next one begins at once; missed ones are left out.
                due = max(due + interval, self._clock()) if self.endless else due
                if number == polls or (duration is not None and due - begun > duration):
                    break
                if self.endless:
                    self._sleep(max(0.0, due - self._clock()))
        finally:
            self.report_damage()
            poller.close()
        if not number:
            raise Failure(f"{self._resolved.target.name} has nothing to read", exit_codes.SOURCE)

    def report_damage(self) -> None:
        """Report damage to a recording found since the last report; a run reports it at its end, too."""
        found: Sequence[str] = self._source.damage if isinstance(self._source, WholePolls) else ()
        for text in [each for each in found if each not in self._reported]:
            console.note(text, "damaged", "warning")
        self._reported.update(found)

    def _open(self, poller: Poller, newest: int | None) -> None:
        source = poller.source
        with giving_up(source, self._timeout, self._timeout), ending_reads(source):
            poller.open()
        for text in source.notes if isinstance(source, WholePolls) else ():
            console.note(text)
        if newest is not None and isinstance(source, Finite):
            source.leave_only(newest)
        self.unread = source.find_newest() if isinstance(source, WholePolls) else ""
        self.report_damage()

    def _budget(self, interval: float, deadline: float | None, polls: int) -> float:
        """Return the seconds that the next poll may take: its share of the time left for `polls` polls."""
        if deadline is None:
            return budget_of(interval, self._resolved.budget)
        left = deadline - self._clock()
        share = min(left / polls, left - interval * (polls - 1))  # the interval runs while a poll is under way
        return max(0.0, share if self._resolved.budget is None else min(share, self._resolved.budget))

    def _poll(self, poller: Poller, *, may_retry: bool) -> Snapshot:
        attempt, lost = 0, False
        while True:
            try:
                limit = None if self._timeout is None or poller.budget is None else poller.budget + GRACE
                with giving_up(poller.source, limit, self._timeout), ending_reads(poller.source):
                    if lost:
                        poller.open()
                    snapshot = poller.poll()
                    self.trouble, self.next_try = "", None
                    return snapshot
            except SourceError as error:
                self.trouble = str(error)
                attempt, lost = attempt + 1, True
                pause = pause_after(error, attempt)
                if not may_retry or pause is None:
                    raise
                name = self._resolved.target.name
                text = f"lost: {self.trouble.removesuffix('.')}; trying again in {spelled(pause)}"
                console.report(LogEvent("lost", text, "warning", name))
                self.next_try = datetime.now(UTC) + timedelta(seconds=pause)
                poller.close()
                self._sleep(pause)


def late_views(*snapshots: Snapshot | None) -> list[str]:
    """Return the names of the views that did not answer in time."""
    problems = [problem for each in snapshots if each is not None for problem in each.problems().values()]
    return sorted({problem.view for problem in problems if problem.late})
