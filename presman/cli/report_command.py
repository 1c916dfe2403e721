"""`presman report`: a stretch of a recording as one HTML page."""

from __future__ import annotations

from argparse import Namespace
from datetime import UTC, datetime

from presman.base.formats import counted
from presman.base.paths import expanded
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
        raise Failure(f"{resolved.target.name} is no recording: {hint}")
    from presman.recording.recording_source import RecordingSource
    from presman.recording.store import RecordingError
    from presman.reports.report.incident_page import incident_page
    from presman.reports.report.report_making import incident_of

    source = resolved.target.make_source()
    assert isinstance(source, RecordingSource)
    try:
        incident = incident_of(source, moment or None, console.say)
    except RecordingError as error:
        raise Failure(str(error), exit_codes.SOURCE) from error
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
