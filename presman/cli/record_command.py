"""`presman record`: databases polled without a screen, into a file, a folder or a database."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from threading import Lock

from presman.base.formats import counted
from presman.base.log_event import LogEvent
from presman.base.private_files import expanded
from presman.base.run_status import DatabaseStatus, reporting
from presman.base.running_out import ran_out
from presman.cli import console, event_log, exit_codes
from presman.cli import parser as cli
from presman.cli.exit_codes import Failure, Terminated
from presman.cli.limits import give_back_memory, make_room
from presman.cli.settings import load, resolve
from presman.recording.redaction import Redactor, lasting_key
from presman.recording.retention import RetentionLimits
from presman.recording.store import SUFFIX, is_url, shown
from presman.recording.store_errors import RecordingError
from presman.services.recorder import DatabaseRecorder, Recorder


@cli.command(
    "Keep every poll: figures as SQL tables, and all rows for replay. One file, a folder with one file a day, or\n"
    "a PostgreSQL database that many recorders write to. A recording is a TARGET. An existing one is continued.",
    """\
  presman record prod -o prod.presman
  presman record prod test --interval 5 --retain 14d --max-size 2G -o /var/lib/presman/
  presman record prod -o postgresql+psycopg://presman@dbhost/presman
  presman once prod.presman --at 03:12""",
    "refresh scope packs start end",
)
def arguments(parser: cli.Parser) -> None:
    """Add the options of `presman record`."""
    cli.option(parser, "targets TARGET", "what to record (default: the one in config.ini)", nargs="*")
    cli.output(parser, "-o --output PLACE", "FILE.presman, a FOLDER/ (one file a day) or a URL", required=True)
    cli.option(parser, "--interval S", "seconds between polls (default: --refresh)", type=cli.seconds)
    cli.option(parser, "--polls N", "stop after N polls of each", type=cli.positive)
    cli.option(parser, "--duration S", "stop after S seconds (90, 15m, 2h)", type=cli.some_seconds)
    cli.option(parser, "--redact", "leave out SQL texts, users, machines and programs; replace names")
    cli.option(parser, "--retain AGE", "remove older polls (12h, 14d)", type=cli.age)
    cli.option(parser, "--max-size SIZE", "remove the oldest polls above this size (500M, 2G)", type=cli.size)
    cli.add_log_options(parser)


_TEXTS = frozenset({".csv", ".html", ".json", ".txt"})
"""Extensions of files that other commands write."""


def run(options: Namespace) -> int:
    """Record until stopped; the last line reports what was written. Raises Failure."""
    give_back_memory()
    event_log.begin(options)
    config = load(options)
    names = options.targets or [None]
    resolved = [resolve(name, config, options) for name in names]
    targets = [each.live(options.interval) for each in resolved]
    redactor = _redactor() if options.redact else None
    if redactor is not None:
        targets = [each._replace(name=redactor.target(each.name)) for each in targets]
    if options.output == "-":
        raise Failure("a recording is a file, a folder or a database, not standard output: -o FILE.presman")
    _refuse_text(options.output)
    if len({each.name for each in targets}) < len(targets):
        raise Failure("a database is named twice")
    if any(
        _is_same(each.target.recorded.location, options.output) for each in resolved if each.target.recorded is not None
    ):
        raise Failure(f"{shown(options.output)} is both read and written: choose another name for the output")
    make_room(len(targets), server=any(each.target.connect is not None for each in resolved))
    limits = RetentionLimits(None if options.retain is None else timedelta(seconds=options.retain), options.max_size)
    progress = ProgressLine(may_show=event_log.is_plain(options))
    beginning = HeldMessages(progress.report)
    try:
        place, polls = options.output, options.polls
        recorder = Recorder(targets, place, beginning.report, polls=polls, limits=limits, redact=redactor)
    except RecordingError as error:
        raise Failure(str(error), exit_codes.OUTPUT) from error
    names = ", ".join(each.name for each in targets)
    beginning.started = LogEvent("started", f"recording {names} to {recorder.location.name}; Ctrl-C ends it")
    # A log gets each message when it happens: nothing is held back.
    if event_log.has_log(options):
        beginning.end()
    return _code(recorder, beginning, is_over=_record(recorder, options.duration, beginning, progress))


def _record(recorder: Recorder, duration: float | None, beginning: HeldMessages, progress: ProgressLine) -> bool:
    """Record until stopped, and report what was written; return whether every database has ended by itself."""

    def look() -> None:
        beginning.update(recorder)
        progress.show(recorder)

    def states() -> list[DatabaseStatus]:
        return list(map(_status, recorder.databases))

    try:
        with reporting("record", recorder.location.name, states, beginning.report):
            is_over = recorder.run(duration, look)
        if not is_over or not all(each.refused or each.fault for each in recorder.databases):
            beginning.end()
        return is_over
    except (KeyboardInterrupt, Terminated):
        beginning.end()
        if not _has_lost(recorder):
            raise
        return False
    finally:
        progress.clear()
        if beginning.has_ended:
            for each in recorder.databases:
                console.note(_ended(each), "ended")
        if not any(each.written for each in recorder.databases):
            recorder.location.remove_empty()


def _code(recorder: Recorder, beginning: HeldMessages, *, is_over: bool) -> int:
    """Return the exit code. Raises Failure if all databases were refused, or the first fault if unreported."""
    refused = [f"{each.target.name}: {each.refused}" for each in recorder.databases if each.refused]
    if refused and is_over:
        raise Failure(f"nothing is left to record: {'; '.join(refused)}", exit_codes.SOURCE)
    faults = [each.fault for each in recorder.databases if each.fault is not None]
    if faults and not beginning.has_ended:
        raise faults[0]
    if faults:
        return exit_codes.SOURCE if all(map(ran_out, faults)) else exit_codes.INTERNAL
    if _has_lost(recorder):
        return exit_codes.OUTPUT
    return exit_codes.OK if any(each.written for each in recorder.databases) else exit_codes.SOURCE


def _has_lost(recorder: Recorder) -> bool:
    """Whether polls were taken and never written."""
    return any(each.waiting or each.given_up for each in recorder.databases)


def _ended(recorder: DatabaseRecorder) -> str:
    """Return how much of a database was written."""
    given_up = f", {recorder.given_up} given up" if recorder.given_up else ""
    return f"{counted(recorder.written, 'poll')} of {recorder.target.name} written{given_up}"


def _refuse_text(output: str) -> None:
    """Refuse an output that is named like a text file: a recording is not one. Raises Failure."""
    kind = Path(output).suffix.lower()
    if kind in _TEXTS and not is_url(output):
        name = output[: -len(kind)] + SUFFIX
        csv = "; presman export writes CSV" if kind == ".csv" else ""
        raise Failure(f"a recording is no {kind[1:].upper()}, so not {shown(output)}: -o {shown(name)}{csv}")


def _is_same(source: str, output: str) -> bool:
    """Return whether a recording is read from where it would be written."""
    if is_url(source) or is_url(output):
        return source == output
    one, other = expanded(source), expanded(output)
    return one.exists() and other.exists() and (one.samefile(other) or one.resolve().parent == other.resolve())


def _redactor() -> Redactor:
    """Return the redactor, which reuses the names of the last run; warn if its key cannot be stored."""
    try:
        return Redactor(lasting_key())
    except OSError as error:
        reason = error.strerror or error
        where = f" in {error.filename}" if error.filename else ""
        console.note(f"another run will use other names: no key can be kept{where}: {reason}")
        return Redactor()


def _status(recorder: DatabaseRecorder) -> DatabaseStatus:
    """Return the status of a database of the recorder, for `presman status`."""
    target = recorder.target
    return DatabaseStatus(
        name=target.name,
        every=target.interval,
        polls=recorder.written,
        last_poll=recorder.polled_at,
        waiting=recorder.waiting,
        given_up=recorder.given_up,
        trouble=recorder.reachability.trouble,
        output_trouble=recorder.output_trouble,
        next_try=recorder.reachability.next_try,
    )


_QUIET = 5.0
"""Seconds after which a recorder reports that it runs, even if nothing is written yet."""


class HeldMessages:
    """Holds back messages until something is recorded: if that fails, one line at the end says why."""

    def __init__(self, report: Callable[[LogEvent], None]) -> None:
        self._report = report
        self._held: list[LogEvent] = []
        self._turn = Lock()
        self._begun = time.monotonic()
        self.started: LogEvent | None = None
        """The first message."""
        self.has_ended = False

    def report(self, event: LogEvent) -> None:
        """Report an event, or hold it back. Several threads call it."""
        with self._turn:
            if not self.has_ended:
                self._held.append(event)
                return
        self._report(event)

    def update(self, recorder: Recorder) -> None:
        """Stop holding back messages once something is written, or a lost database is retried."""
        is_lost = any(each.reachability.trouble and not each.refused for each in recorder.databases)
        if is_lost or any(each.written for each in recorder.databases) or time.monotonic() > self._begun + _QUIET:
            self.end()

    def end(self) -> None:
        """Report the events that were held back."""
        with self._turn:
            if not self.has_ended:
                self.has_ended = True
                for each in (self.started, *self._held):
                    if each is not None:
                        self._report(each)


def _progress(recorder: DatabaseRecorder) -> str:
    """Return how much of a database is written, and whether it answers."""
    waiting = f", {recorder.waiting} waiting" if recorder.waiting > 1 else ""
    lost = ", not connected" if recorder.polled_at is None else ", lost"
    written = f"{recorder.target.name}: {counted(recorder.written, 'poll')}{waiting}"
    return written + lost if recorder.reachability.trouble else written


class ProgressLine(console.StatusLine):
    """One line of progress for all databases."""

    def __init__(self, *, may_show: bool = True) -> None:
        super().__init__(may_show=may_show)
        self._begun = time.monotonic()

    def show(self, recorder: Recorder) -> None:
        """Show the progress of each database."""
        each = "   ".join(map(_progress, recorder.databases))
        self.write(f"{(time.monotonic() - self._begun) / 60:.0f} min   {each}")

    def report(self, event: LogEvent) -> None:
        """Report an event in a line of its own."""
        self.clear()
        console.report(event)
