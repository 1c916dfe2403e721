"""`presman record`: databases polled without a screen, into a file, a folder or a database."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from datetime import timedelta

from presman.base.formats import counted
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure
from presman.cli.settings import Resolved, load, resolve
from presman.recorder.database_recorder import RecordedTarget
from presman.recorder.recorder import Recorder
from presman.recording.redaction import Redactor, lasting_key
from presman.recording.retention import RetentionLimits
from presman.recording.store import RecordingError


def run(options: Namespace) -> int:
    """Record until told to stop; the last line says what was written. Raises Failure."""
    config = load(options)
    names = options.targets or [None]
    resolved = [resolve(name, config, options) for name in names]
    targets = [target_of(each, options.interval) for each in resolved]
    redactor = _redactor() if options.redact else None
    if redactor is not None:
        targets = [each._replace(name=redactor.target(each.name)) for each in targets]
    if len({each.name for each in targets}) < len(targets):
        raise Failure("a database is named twice")
    limits = RetentionLimits(None if options.retain is None else timedelta(seconds=options.retain), options.max_size)
    progress = ProgressLine()
    try:
        recorder = Recorder(targets, options.output, progress.say, polls=options.polls, limits=limits, redact=redactor)
    except RecordingError as error:
        raise Failure(str(error), exit_codes.OUTPUT) from error
    console.say(f"recording {', '.join(each.name for each in targets)} to {recorder.shelf.name}; Ctrl-C ends it")
    try:
        recorder.run(options.duration, lambda: progress.show(recorder))
    finally:
        progress.clear()
        for each in recorder.databases:
            given_up = f", {each.given_up} given up" if each.given_up else ""
            console.say(f"{each.written} poll{'s' * (each.written != 1)} of {each.target.name} written{given_up}")
    if any(each.waiting for each in recorder.databases):
        return exit_codes.OUTPUT
    return exit_codes.OK if any(each.written for each in recorder.databases) else exit_codes.SOURCE


def _redactor() -> Redactor:
    """Return what renames, to the same names as the last time; where no key can be kept that is told."""
    try:
        return Redactor(lasting_key())
    except OSError as error:
        reason = error.strerror or error
        console.say(f"another run will have other names for the same: no key can be kept in {error.filename}: {reason}")
        return Redactor()


def target_of(resolved: Resolved, interval: float | None) -> RecordedTarget:
    """Return what is to be recorded, polled every `interval` seconds, or as is usual for it."""
    target = resolved.target
    return RecordedTarget(
        target.name, target.kind, target.make_source, interval or resolved.refresh, resolved.scope, resolved.packs,
        resolved.budget,
    )  # fmt: skip


class ProgressLine:
    """One line about all databases, written over again and again where there is a terminal."""

    def __init__(self) -> None:
        self._is_live = sys.stderr is not None and sys.stderr.isatty()
        self._begun = time.monotonic()
        self._shown = False

    def show(self, recorder: Recorder) -> None:
        """Say how far each database is."""
        if not self._is_live:
            return
        each = "   ".join(
            f"{one.target.name}: {counted(one.written, 'poll')}"
            + (f", {one.waiting} waiting" if one.waiting > 1 else "")
            + (", lost" if one.trouble else "")
            for one in recorder.databases
        )
        minutes = (time.monotonic() - self._begun) / 60
        width = max(20, (console.width() or 80) - 1)
        self.clear()
        sys.stderr.write(f"{minutes:.0f} min   {each}"[:width])
        sys.stderr.flush()
        self._shown = True

    def clear(self) -> None:
        """Take the line away."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False

    def say(self, text: str) -> None:
        """Say something in a line of its own."""
        self.clear()
        console.say(text)
