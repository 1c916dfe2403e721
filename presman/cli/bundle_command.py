"""`presman bundle`: a short recording without SQL texts, users, machines or programs, to send to others."""

from argparse import Namespace
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from presman.analysis.assemble import analyse
from presman.base.formats import counted, spelled
from presman.base.log_event import LogEvent
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.output_file import RECORDING, output_path
from presman.cli.parser import Parser, command, option, output, some_seconds
from presman.cli.record_command import HeldMessages
from presman.cli.settings import Resolved, load, resolve
from presman.recording.recording_source import RecordingSource
from presman.recording.redaction import Redactor, as_of
from presman.recording.sqlite_files import remove_recording
from presman.recording.store import Store
from presman.recording.store_errors import LargeNumberError, RecordingError
from presman.recording.writer import RecordingWriter
from presman.services.recorder import Recorder


def _minutes(text: str) -> float:
    """Read a number of minutes, or a duration with its unit."""
    try:
        return some_seconds(text if text[-1:].isalpha() else f"{text}m") / 60
    except ValueError:
        raise ValueError(f"{text!r} is not a number of minutes above 0, three years at most") from None


@command(
    "A short recording for a bug report, without SQL texts, binds, users, machines or programs: of a database\n"
    "the next minutes; of a recording its last minutes, or those from --from to --to.",
    """\
  presman bundle prod --minutes 10
  presman bundle prod.presman --from 03:05 --to 03:20 -o incident.presman""",
    "scope packs start end",
)
def arguments(parser: Parser) -> None:
    """Add the options of `presman bundle`."""
    option(parser, "target TARGET", "what to read (default: the one in config.ini)", nargs="?")
    option(parser, "--minutes N", "how long (default 10)", type=_minutes, default=10.0)
    output(parser, "-o --output FILE", "where to write it (default presman-bundle-TIME.presman)")


def run(options: Namespace) -> None:
    """Write the file and name it in the last line. Raises Failure."""
    resolved = resolve(options.target, load(options), options)
    path = output_path(options.output or f"presman-bundle-{as_of(datetime.now(UTC))}.presman", RECORDING)
    if path.exists():
        raise Failure(f"{path} exists: choose another name with -o", exit_codes.OUTPUT)
    try:
        make = _watch if resolved.target.recorded is None else _copy
        written = make(resolved, path, options)
    except LargeNumberError as error:
        what = f"{resolved.target.name}: a number is larger than any that a recording keeps"
        raise Failure(what, exit_codes.SOURCE) from error
    except RecordingError as error:
        raise Failure(str(error), exit_codes.OUTPUT) from error
    if not written:
        remove_recording(path)
        raise Failure(f"{resolved.target.name} has nothing to bundle", exit_codes.SOURCE)
    console.note(f"{counted(written, 'poll')} in {path}: it has no SQL text, bind, user, machine or program")


def _watch(resolved: Resolved, path: Path, options: Namespace) -> int:
    redactor = Redactor()
    target = resolved.live()
    renamed = target._replace(name=redactor.target(target.name))
    # Messages to the user have the target's real name: only the file has the redacted one.
    beginning = HeldMessages(lambda event: console.report(event._replace(database=event.database and target.name)))
    recorder = Recorder([renamed], str(path), beginning.report, redact=redactor)
    text = f"watching {target.name} for {spelled(options.minutes * 60)}; Ctrl-C ends it earlier"
    beginning.started = LogEvent("started", text)
    (recorded,) = recorder.databases
    try:
        recorder.run(options.minutes * 60, lambda: beginning.update(recorder))
    except KeyboardInterrupt:
        beginning.end()
        console.note("ended earlier")
    finally:
        if not recorded.written:
            recorder.location.remove_empty()
    if recorded.refused and not recorded.written:
        raise Failure(recorded.refused, exit_codes.SOURCE)
    beginning.end()
    return recorded.written


def _copy(resolved: Resolved, path: Path, options: Namespace) -> int:
    """Copy the last minutes of a recording, or --from to --to: all of it or, if that fails, nothing."""
    source = resolved.target.recording()
    source.open()
    for text in source.notes:
        console.note(text)
    with closing(source), closing(Store(str(path), writing=True)) as store:
        try:
            return _copy_polls(source, store, resolved.target.name, options)
        except BaseException:
            store.close()
            remove_recording(path)
            raise


def _copy_polls(source: RecordingSource, store: Store, name: str, options: Namespace) -> int:
    redactor = Redactor()
    writer = RecordingWriter(store, redactor.target(name), "recording")
    playback, indexes = source.playback, source.indexes
    if not options.start:
        earliest = playback.at(indexes[-1]) - timedelta(minutes=options.minutes)
        indexes = range(max(indexes.start, playback.indexes(earliest).start), indexes.stop)
    written = 0
    for index in playback.readable(indexes):
        previous, current = playback.pair(index)
        before = None if previous is None else redactor(previous)
        snapshot = redactor(current)
        writer.append(snapshot, analyse(before, snapshot))
        written += 1
    writer.close()
    if not written:
        raise source.refused(f"{name} has nothing to bundle")
    for text in source.damage:
        console.note(text, "damaged", "warning")
    return written
