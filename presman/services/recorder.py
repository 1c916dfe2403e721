"""Recorder: several databases into one recording, until it is stopped.

Each database has a thread that polls and one that writes, so that neither waits for the other.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from sqlalchemy import select

from presman.analysis.trends.database_events import lost
from presman.base.formats import counted
from presman.base.log_event import LogEvent, Report
from presman.base.running_out import ran_out, start
from presman.base.text import clean, with_more
from presman.forecast.shown import with_shown
from presman.polling.poll_events import Event, Polled, SourceEnded, SourceLost
from presman.polling.sampler import PATIENCE, no_room, stop_all
from presman.recording.redaction import is_renamed
from presman.recording.retention import NO_LIMITS, RecordingLocation, RetentionLimits, trim
from presman.recording.schema import DATABASES
from presman.recording.store import Store, as_option, is_url
from presman.recording.store_errors import RecordingError, StoreLostError
from presman.recording.writer import RecordingWriter
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget, Reachability, ReadingCame, Readings, sampler_of
from presman.sources import LoginRefusal

MOST_WAITING = 240
"""Polls kept in memory while the store cannot be written; beyond that the oldest are dropped and reported."""

LONGEST_WAIT = 10.0
"""Seconds that a poll may wait to be written; after that its database is not written, even if no error says so."""

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
"""Seconds until the next attempt to write: the first pause, which doubles up to the longest."""


class WaitingPoll(NamedTuple):
    """A poll to write, with the one before it: its rates are computed only when it is written.

    `since` is the monotonic time at which it came.
    """

    previous: Snapshot | None
    snapshot: Snapshot
    since: float


class DatabaseRecorder:
    """Recorder of one database until it is stopped, its source ends, or `polls` were taken and written.

    `report` is called with events for the log; `redact` changes each snapshot before anything else uses it.
    `written` counts the polls in the store, `given_up` the polls dropped for lack of room.
    """

    def __init__(
        self,
        target: LiveTarget,
        location: RecordingLocation,
        report: Report,
        *,
        polls: int | None = None,
        redact: Callable[[Snapshot], Snapshot] | None = None,
    ) -> None:
        self.target = target
        self.written = self.given_up = 0
        self.last_at: datetime | None = None
        self.reachability = Reachability(target.name, report)
        self.refused = ""
        """Why the recording ended without a request, "" otherwise."""
        self.output_trouble = ""
        """Why polls cannot be written, "" while they can; `reachability.trouble` is why no polls arrive."""
        self.fault: Exception | None = None
        """The unexpected error that ended it."""
        self._location = location
        self._report = self.reachability.report
        self._most = polls
        self._redact = redact
        self._waiting: deque[WaitingPoll] = deque()
        self._taken = 0
        self._wrote_at = 0.0
        self._is_dropping = False
        self._previous: Snapshot | None = None
        self._changed = threading.Condition()
        self._stopping = self._ended = self._has_enough = False
        self._readings = Readings(with_forecasts=True)
        self._read: tuple[Snapshot, ReadingCame] | None = None
        self._writer: RecordingWriter | None = None
        self._store: Store | None = None
        self._losses: list[tuple[datetime, str]] = []
        self._loss_to_store = ""
        self.polled_at: datetime | None = None
        """When the newest poll came, by the clock of this machine; `last_at` is by the clock of the database."""
        # Each poll has histograms as figures; tens of thousands of idle sessions are read once a minute only.
        self.sampler = sampler_of(target, self._post, detail_level=DetailLevel.HISTOGRAMS)
        self.is_over = False
        """Whether nothing more will be written."""
        self.is_stuck = False
        """Whether no more polls are taken, and nothing was written for too long."""
        self._finished = threading.Event()
        """Set once `is_over` is. If a signal interrupts `join`, a live thread counts as ended from then on."""
        self._thread = threading.Thread(target=self._keep_writing, name="presman-recorder", daemon=True)

    # ---- called by other threads

    def start(self) -> None:
        """Start. If no thread is available, the database counts as lost and its recording as over."""
        try:
            start(self._thread)
        except RuntimeError as error:
            self._post(no_room(error))
            self.is_over = True
            self._finished.set()
            return
        self.sampler.begin()

    def stop_polling(self, patience: float = PATIENCE) -> None:
        """Stop polling; polls already taken are still written, later ones are ignored."""
        self.sampler.stop(patience)
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def finish(self, patience: float) -> bool:
        """Wait up to `patience` seconds until all polls are written; return whether they are."""
        return (self._finished.wait(patience) or self.is_over) and not self._waiting

    @property
    def waiting(self) -> int:
        """Number of polls that wait to be written."""
        return len(self._waiting)

    def watch(self) -> None:
        """Report polls that wait too long: a store that hangs raises no error."""
        with self._changed:
            is_silent = self._is_behind() and time.monotonic() - self._wrote_at > LONGEST_WAIT
            self.is_stuck = self._has_enough and is_silent
            if self._is_behind() and not self.output_trouble:
                slow = "polls come faster than they are written"
                reason = f"nothing was written for {LONGEST_WAIT:.0f} s" if is_silent else slow
                self._report_trouble(f"{self._location.name}: {reason}")

    def _is_behind(self) -> bool:
        return bool(self._waiting) and time.monotonic() - self._waiting[0].since > LONGEST_WAIT

    def _report_trouble(self, trouble: str, *, is_final: bool = False) -> None:
        """Note why polls cannot be written, and report it unless that was the last reason, too."""
        if trouble != self.output_trouble:
            waits = "" if is_final else f"; polls wait in memory, up to {MOST_WAITING}"
            self._report("not_written", f"cannot be written: {trouble}{waits}", "error")
        self.output_trouble = trouble

    # ---- the sampler's thread

    def _post(self, event: Event) -> None:
        self.watch()
        with self._changed:
            if self._stopping or self._has_enough:
                return
            if isinstance(event, Polled):
                self._take(event.snapshot)
            elif isinstance(event, SourceLost):
                self._lose(event)
            elif isinstance(event, SourceEnded):
                self._ended = True
            self._changed.notify_all()

    def _lose(self, event: SourceLost) -> None:
        """Record a loss. A password that was wrong from the start needs a person, so it is not tried again."""
        is_over = event.retry_in is None or (event.refusal is LoginRefusal.PASSWORD and self.polled_at is None)
        outlook = "not tried again" if is_over else event.outlook
        if not self.reachability.trouble:
            # Only the beginning of a loss is an event: later attempts fail for as long as it lasts.
            self._losses.append((event.since, event.line))
        trouble = with_more(event.line, outlook)
        self._loss_to_store = event.line if is_over else trouble
        next_try = None if is_over else event.next_try
        words = "not connected" if self.polled_at is None else "lost"  # what was never reached is not lost
        message = f"{words}: {trouble}{'' if outlook else '; trying again'}"
        self.reachability.lose(trouble, outlook or "lost", message, next_try=next_try)
        if is_over:
            self._ended, self.refused = True, event.line

    def _take(self, snapshot: Snapshot) -> None:
        if self._redact is not None:
            snapshot = self._redact(snapshot)
        self.reachability.answer()
        self._loss_to_store = ""
        self.polled_at = datetime.now(UTC)
        self._waiting.append(WaitingPoll(self._previous, snapshot, time.monotonic()))
        self._previous = snapshot
        self._taken += 1
        self._has_enough = self._taken == self._most
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()
            self.given_up += 1
            if not self._is_dropping:
                self._is_dropping = True
                full = f"more than {counted(MOST_WAITING, 'poll')} wait to be written"
                self._report("given_up", f"{full}: from now on the oldest are given up", "error")

    # ---- the writer's thread

    def _keep_writing(self) -> None:
        try:
            self._write_all()
        except Exception as error:  # only this database is affected: the others go on
            self.fault = error
            self._report_trouble(ran_out(error) or f"internal error: {type(error).__name__}: {error}", is_final=True)
        finally:
            self.is_over = True  # this succeeds even without memory, the report may not
            self._finished.set()

    def _write_all(self) -> None:
        pause = FIRST_PAUSE
        while (poll := self._next()) is not None:
            if isinstance(poll, str):
                # If the loss cannot be noted in the store, the age of the last poll shows it.
                with suppress(RecordingError):
                    self._ready_writer(datetime.now(UTC)).lose(poll)
                continue
            try:
                self._write(poll.previous, poll.snapshot)
            except RecordingError as error:
                with self._changed:
                    # Only a lost store may come back: every other error would come again with each attempt.
                    is_last = self._stopping or (self._has_enough and self._is_behind())
                    is_hopeless = is_last or not isinstance(error, StoreLostError)
                    self._report_trouble(str(error), is_final=is_hopeless)
                if is_hopeless:
                    break
                self._wait(pause)
                pause = min(LONGEST_PAUSE, pause * 2)
                continue
            pause = FIRST_PAUSE
            self._note_written(poll)
        self._close()

    def _note_written(self, poll: WaitingPoll) -> None:
        with self._changed:
            # The thread that polls may have dropped it meanwhile, because too many were waiting.
            if self._waiting and self._waiting[0] is poll:
                self._waiting.popleft()
            self.written += 1
            self.last_at = poll.snapshot.at
            self._wrote_at = time.monotonic()
            if self.output_trouble and self._is_behind():
                self.output_trouble = f"{self._location.name}: it is written again, but older polls still wait"
            elif self.output_trouble:
                lost_ones = f"; given up: {counted(self.given_up, 'poll')}" if self.given_up else ""
                self._report("written_again", f"written again{lost_ones}", given_up=self.given_up)
                self.output_trouble, self._is_dropping = "", False
        self.reachability.polled(self.written, "written", poll.snapshot)

    def _next(self) -> WaitingPoll | str | None:
        """Wait for the next poll to write and return it, or a loss to note in the store; None at the end."""
        with self._changed:
            while not self._waiting:
                if self._loss_to_store:
                    trouble, self._loss_to_store = self._loss_to_store, ""
                    return trouble
                if self._stopping or self._ended or self._has_enough:
                    return None
                self._changed.wait(1.0)
            # It stays in the queue until it is written, so that a failed attempt loses nothing.
            return self._waiting[0]

    def _wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._stopping, seconds)

    def _write(self, previous: Snapshot | None, snapshot: Snapshot) -> None:
        writer = self._ready_writer(snapshot.at)
        with self._changed:
            losses, self._losses = self._losses, []
        for at, text in losses:
            writer.note(lost(at, text))
        if self._read is None or self._read[0] is not snapshot:  # a poll that could not be written comes again
            self._readings.previous = previous
            self._read = snapshot, self._readings.read(snapshot)
        _, came = self._read
        writer.append(with_shown(came.snapshot, came.reading), came.reading)

    def _ready_writer(self, at: datetime) -> RecordingWriter:
        """Return the writer for the store of that time: a folder has a new store each day."""
        store = self._location.store(at)
        if self._writer is None or store is not self._store:
            before = self._writer
            if self._store is not None and self._store.was_removed():
                gone = "was removed or moved away, with all that was written to it: a new one is started"
                self._report("file_removed", f"{self._store.name} {gone}", "error")
                self._writer = None
            self._close()
            self._writer = RecordingWriter(store, self.target.name, self.target.kind, self.target.interval, before)
            self._store = store
        return self._writer

    def _close(self) -> None:
        writer, self._writer = self._writer, None
        try:
            if writer is not None:
                writer.close(lost=bool(self.reachability.trouble))
        except RecordingError as error:
            self._report("not_closed", str(error), "error")


TRIM_EVERY = 600.0
"""Seconds between two checks for polls that are too old or too many."""

GROWTH = 20
"""Files that have grown by this fraction of their limit are checked at once."""

PATIENCE_AT_THE_END, LONGEST_END = 8.0, 60.0
"""Seconds that the shutdown waits for the next poll to be written, and for all of them."""


POLLS_END = 1.0
"""Seconds that the shutdown waits for all polls under way."""


class Recorder:
    """Recorder of several databases in parallel. `report` is called with events for the log."""

    def __init__(
        self,
        targets: Sequence[LiveTarget],
        location: str,
        report: Report,
        *,
        polls: int | None = None,
        limits: RetentionLimits = NO_LIMITS,
        redact: Callable[[Snapshot], Snapshot] | None = None,
    ) -> None:
        self.location = RecordingLocation(location)
        self._report, self._limits = report, limits
        self._trimmed, self._bytes_then = 0.0, 0
        store = self.location.store(datetime.now(UTC))  # its errors are raised before polling starts
        named = () if is_url(location) else store.rows(select(DATABASES.c.target))
        if any(is_renamed(target) != (redact is not None) for (target,) in named):  # it could be passed on as redacted
            held = "was written with --redact" if redact is None else "holds names that --redact leaves out"
            raise RecordingError(f"{self.location.name} {held}: choose another name for the output")
        if named and not self.location.is_daily:
            self._report_several({target for (target,) in named}, {clean(each.name) for each in targets})
        self.databases = [DatabaseRecorder(each, self.location, report, polls=polls, redact=redact) for each in targets]

    def _report_several(self, held: set[str], added: set[str]) -> None:
        """Report that a file which holds databases gets another one: its readers have to choose from now on."""
        if not added <= held:
            name, known = self.location.name, ", ".join(map(as_option, sorted(held | added)))
            text = f"{name} holds several databases from now on, choose one by '{name}?database=NAME': {known}"
            self._report(LogEvent("several_databases", text))

    def run(self, duration: float | None, step: Callable[[], None]) -> bool:
        """Record until every database is over or `duration` seconds have passed; call `step` about once a second.

        Return whether every database ended by itself. An exception from `step` or a signal also ends it in good order.
        """
        for each in self.databases:
            each.start()
        end = None if duration is None else time.monotonic() + duration
        try:
            while not all(each.is_over or each.is_stuck for each in self.databases):
                left = 1.0 if end is None else min(1.0, end - time.monotonic())
                if left <= 0:
                    break
                # This waits for the recordings, not for the time, so that the command ends with the last of them.
                self._rest(left)
                for each in self.databases:
                    each.watch()
                self._trim()
                step()
            return all(each.is_over for each in self.databases)
        finally:
            self._finish()

    def _rest(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for each in self.databases:
            if not each.is_over:
                each.finish(max(0.0, end - time.monotonic()))

    def _is_trim_due(self, now: float) -> bool:
        if self._limits == NO_LIMITS:
            return False
        if not self._trimmed or now - self._trimmed >= TRIM_EVERY:
            return True
        size = self._limits.size
        return size is not None and self.location.open_bytes - self._bytes_then > size / GROWTH

    def _trim(self) -> None:
        now = time.monotonic()
        if not self._is_trim_due(now):
            return
        # Noted before the attempt: one that fails is not repeated at each turn.
        self._trimmed = now
        try:
            targets = [each.target.name for each in self.databases]
            removed = trim(self.location, self._limits, datetime.now(UTC), targets)
        except RecordingError as error:
            self._report(LogEvent("not_trimmed", f"old polls could not be removed: {error}", "warning"))
            return
        finally:
            self._bytes_then = self.location.open_bytes
        if removed:
            what = counted(removed, "file" if self.location.is_daily else "poll")
            text = f"removed by --retain or --max-size: {what}"
            self._report(LogEvent("trimmed", text, "debug", "", {"removed": removed}))

    def _finish(self) -> None:
        # All stop together: one after the other, each database that hangs would delay the end.
        stop_all([each.sampler for each in self.databases], POLLS_END)
        for each in self.databases:
            each.stop_polling(0.0)
        end = time.monotonic() + LONGEST_END
        for each in self.databases:
            if not self._is_written(each, end):
                text = f"{counted(each.waiting, 'poll')} could not be written"
                self._report(LogEvent("not_written", text, "error", each.target.name, {"waiting": each.waiting}))
        self.location.close()

    def _is_written(self, database: DatabaseRecorder, end: float) -> bool:
        """Wait for all polls of a database, as long as one after the other is written; return whether all are."""
        before, is_reported = database.written, False
        while not database.finish(max(0.1, min(PATIENCE_AT_THE_END, end - time.monotonic()))):
            if database.is_over or database.written == before or time.monotonic() > end:
                return False
            if not is_reported:
                text = f"{counted(database.waiting, 'poll')} still to be written"
                self._report(LogEvent("writing", text, "info", database.target.name, {"waiting": database.waiting}))
            before, is_reported = database.written, True
        return True
