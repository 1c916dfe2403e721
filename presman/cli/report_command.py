"""`presman report`: a stretch of a recording as one HTML page."""

from __future__ import annotations

import os
import stat
from argparse import Namespace
from datetime import UTC, datetime
from pathlib import Path

from presman.base.formats import counted
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.settings import load, resolve


def run(options: Namespace) -> int:
    """Write the page; the last line says where. Raises Failure, SourceError, TimeError."""
    moment, options.at = options.at, None
    resolved = resolve(options.target, load(options), options)
    if resolved.target.tape is None:
        hint = f"presman record {options.target or 'TARGET'} -o x.presman makes one"
        raise Failure(f"{resolved.target.name} is no recording: {hint}")
    from presman.recording.recording_source import RecordingSource
    from presman.recording.store import RecordingError
    from presman.recording.time_words import instant_of
    from presman.report.incident import gather
    from presman.report.incident_page import incident_page

    source = resolved.target.make_source()
    assert isinstance(source, RecordingSource)
    try:
        source.open()
        tape, first, last = source.tape, source.tape.first, source.tape.last
        assert first is not None
        assert last is not None
        at = instant_of(moment, first, last) if moment else None
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
    path = Path(options.output).expanduser()
    _write(path, text.encode("utf-8"))
    console.say(f"{counted(incident.polls, 'poll')} in {path}")
    return exit_codes.OK


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; nobody else can read it: names and SQL texts are in it. Raises Failure."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if path.exists() and not stat.S_ISREG(path.stat().st_mode):
            path.write_bytes(content)
            return
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
            beside.replace(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise Failure(f"cannot write {path}: {error.strerror or error}", exit_codes.OUTPUT) from error
