"""`presman report`: a period of a recording as one HTML page."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from presman.base.formats import counted
from presman.base.paths import expanded
from presman.base.text import clean
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.settings import load, resolve
from presman.cli.whole_file import write_whole
from presman.config.recording_target import named_recording


def run(options: Namespace) -> int:
    """Write the page; the last line says where. Raises Failure, SourceError, TimeError."""
    moment, options.at = options.at, None
    config = load(options)
    resolved = resolve(options.target and named_recording(options.target, config), config, options)
    if resolved.target.tape is None:
        hint = f"presman record {options.target or 'TARGET'} -o x.presman makes one"
        raise Failure(f"{resolved.target.name} is not a recording: {hint}")
    from presman.recording.recording_source import RecordingSource
    from presman.recording.store import RecordingError
    from presman.recording.time_words import TimeError, instant_of
    from presman.reports.report.incident import gather
    from presman.reports.report.incident_page import incident_page
    from presman.reports.report.time_axis import clock

    source = resolved.target.make_source()
    assert isinstance(source, RecordingSource)
    try:
        source.open()
        tape, first, last = source.tape, source.tape.first, source.tape.last
        assert first is not None
        assert last is not None
        at = instant_of(moment, first, last, tell=console.say) if moment else None
        for text in source.notes:
            console.say(text)
        if at is not None and not first <= at <= last:
            raise TimeError(f"--at {clean(moment)} is not in {source.name}: it is from {clock(first)} to {clock(last)}")
        incident = gather(source.recording, tape, source.places, at)
    except RecordingError as error:
        raise Failure(str(error), exit_codes.SOURCE) from error
    finally:
        source.close()
    for text in incident.damage:
        console.say(text)
    text = incident_page(incident, datetime.now(UTC))
    if options.output == "-":
        console.put(text)
        return exit_codes.OK
    path = expanded(options.output)
    write_whole(path, text.encode("utf-8"))
    console.say(f"{counted(incident.polls, 'poll')} in {path}")
    return exit_codes.OK
