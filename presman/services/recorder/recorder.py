"""Recorder: several databases into one store, until it is told to stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from presman.base.formats import counted
from presman.base.log_event import LogEvent, Tell
from presman.polling.sampler import stop_all
from presman.recording.retention import NO_LIMITS, RetentionLimits, trim
from presman.recording.shelf import Shelf
from presman.recording.store import RecordingError
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.services.recorder.database_recorder import DatabaseRecorder

TRIM_EVERY = 600.0
"""Seconds from one look at what is too old to the next."""

PATIENCE = 8.0
"""Seconds that the end waits for polls that are not written yet."""


POLLS_END = 1.0
"""Seconds that the end waits for polls that were told to end, all at once."""


class Recorder:
    """Records databases side by side. `tell` is told what somebody should know."""

    def __init__(
        self,
        targets: Sequence[LiveTarget],
        place: str,
        tell: Tell,
        *,
        polls: int | None = None,
        limits: RetentionLimits = NO_LIMITS,
        redact: Callable[[Snapshot], Snapshot] | None = None,
    ) -> None:
        self.shelf = Shelf(place)
        self._tell = tell
        self._limits = limits
        self._trimmed = 0.0
        self.shelf.store(datetime.now(UTC))  # what is wrong with it is told before anything is polled
        self.databases = [DatabaseRecorder(each, self.shelf, tell, polls=polls, redact=redact) for each in targets]

    def run(self, duration: float | None, step: Callable[[], None]) -> bool:
        """Record until every database is over or `duration` seconds have passed; `step` is called about each second.

        Return whether every database is over by itself. What `step` or a signal raises ends it in good order, too.
        """
        for each in self.databases:
            each.start()
        end = None if duration is None else time.monotonic() + duration
        try:
            while not all(each.is_over for each in self.databases):
                left = 1.0 if end is None else min(1.0, end - time.monotonic())
                if left <= 0:
                    break
                self._rest(left)
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

    def _trim(self) -> None:
        now = time.monotonic()
        if self._limits == NO_LIMITS or (self._trimmed and now - self._trimmed < TRIM_EVERY):
            return
        self._trimmed = now
        try:
            own = [each.target.name for each in self.databases]
            removed = trim(self.shelf, self._limits, datetime.now(UTC), own)
        except RecordingError as error:
            self._tell(LogEvent("not_trimmed", f"old polls could not be removed: {error}", "warning"))
            return
        if removed:
            what = counted(removed, "file" if self.shelf.is_daily else "poll")
            self._tell(
                LogEvent("trimmed", f"removed by --retain or --max-size: {what}", "debug", "", {"removed": removed})
            )

    def _finish(self) -> None:
        stop_all([each.sampler for each in self.databases], POLLS_END)
        for each in self.databases:
            each.stop_polling(0.0)
        end = time.monotonic() + PATIENCE
        for each in self.databases:
            if not each.finish(max(0.1, end - time.monotonic())):
                text = f"{counted(each.waiting, 'poll')} could not be written"
                self._tell(LogEvent("not_written", text, "error", each.target.name, {"waiting": each.waiting}))
        self.shelf.close()
