"""Report making: the incident of what a source replays, for the command and for the key of the monitor."""

from __future__ import annotations

from datetime import datetime

from presman.base.text import clean
from presman.recording.recording_source import RecordingSource
from presman.recording.time_words import Tell, TimeError, instant_of
from presman.reports.report.incident import Incident, gather
from presman.reports.report.time_axis import clock


def incident_of(source: RecordingSource, moment: str | datetime | None, tell: Tell) -> Incident:
    """Open a source, return what is known of all that it replays, and close it; `moment` chooses that of the tables.

    `tell` hears which of two instants a time is taken for. Raises SourceError, RecordingError, TimeError.
    """
    try:
        source.open()
        tape, first, last = source.tape, source.tape.first, source.tape.last
        assert first is not None
        assert last is not None
        at = instant_of(moment, first, last, tell=tell) if isinstance(moment, str) else moment
        for text in source.notes:
            tell(text)
        if at is not None and not first <= at <= last:
            said = clean(moment) if isinstance(moment, str) else clock(at)
            raise TimeError(f"--at {said} is not in {source.name}: it is from {clock(first)} to {clock(last)}")
        return gather(source.recording, tape, source.places, at)
    finally:
        source.close()
