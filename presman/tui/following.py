"""Following: whether a recording that is replayed has grown, and what it holds."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TYPE_CHECKING

from presman.tui.feed import Post
from presman.tui.replay_messages import TapeLoaded

if TYPE_CHECKING:
    from presman.recording.recording_source import RecordingSource

STRETCHES = 400
"""Stretches into which the whole recording is summed up for the scrub bar."""

_SUMMED_UP = 10.0
"""Seconds between two times that the whole of a growing recording is summed up for the scrub bar."""


class Following:
    """Looks whether a recording has grown, and tells what it holds."""

    def __init__(self, post: Post) -> None:
        self._post = post
        self._summed_up = 0.0
        self.trouble = ""

    def sum_up(self, source: RecordingSource) -> None:
        """Tell what the recording holds."""
        tape = source.tape
        assert tape.first is not None
        assert tape.last is not None
        self._summed_up = time.monotonic()
        told = " ".join([*source.notes, *source.damage])
        self._post(TapeLoaded(tape.first, tape.last, tape.strip(STRETCHES), tape.events(*ends_of(source)), told))

    def newest(self, source: RecordingSource, shown: datetime | None) -> tuple[int, int] | None:
        """Return the places of the poll on show, which may have moved, and of the newest; None where none is newer."""
        from presman.sources import SourceError

        try:
            places = source.grow()
        except SourceError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        if time.monotonic() - self._summed_up > _SUMMED_UP:
            self.sum_up(source)
        last = source.tape.last
        if not places or shown is None or last is None or last <= shown:
            return None
        return source.tape.place(shown), places.stop - 1  # what is too old may have been removed meanwhile


def ends_of(source: RecordingSource) -> tuple[datetime, datetime]:
    """Return the instants of the first and the last poll that are replayed."""
    tape, places = source.tape, source.places
    return tape.at(min(places.start, len(tape) - 1)), tape.at(max(0, places.stop - 1))
