"""Log of a long-running command: lines for people or JSON lines, to standard error or to a file.

The system rotates the file: after it was moved away, the next line begins a new one.
"""

import json
import logging
import os
import sys
from argparse import Namespace
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler

from presman.base.log_event import LogEvent
from presman.base.text import clean
from presman.cli import console, exit_codes
from presman.cli.exit_codes import Failure


def begin(options: Namespace) -> None:
    """Send all messages from now on to the log of the options. Raises Failure if the file cannot be written."""
    if has_log(options):
        console.log_to(EventLog(options.log_format or "text", options.log_level or "info", options.log_file))


def has_log(options: Namespace) -> bool:
    """Return whether the options ask for a log."""
    return (options.log_format, options.log_level, options.log_file) != (None, None, None)


def is_plain(options: Namespace) -> bool:
    """Return whether standard error has lines for people, so that a progress line may be among them."""
    return options.log_format != "json" or options.log_file is not None


class EventLog:
    """Writes events of a level and above as JSON lines or as text; to standard error if there is no file."""

    def __init__(self, form: str, level: str, path: str | None) -> None:
        self._to_file = path is not None
        try:
            self._handler: logging.Handler = logging.StreamHandler() if path is None else _File(path)
        except OSError as error:
            raise Failure(f"cannot write {path}: {error.strerror or error}", exit_codes.OUTPUT) from None
        self._handler.setFormatter(_Json() if form == "json" else _Lines() if path is None else _TimedLines())
        self._handler.setLevel(level.upper())
        self._logger = logging.Logger("presman", logging.DEBUG)
        self._logger.addHandler(self._handler)

    def write(self, event: LogEvent) -> bool:
        """Write an event; return False for an error that only a file has: the terminal needs it, too."""
        self._logger.log(logging.getLevelName(event.level.upper()), "%s", event.message, extra={"event": event})
        return not (self._to_file and event.level == "error")

    def close(self) -> None:
        """Close the file. An error of writing was reported when it happened."""
        with suppress(OSError):
            self._handler.close()


class _File(WatchedFileHandler):
    """A log file that others cannot read unless its mode was changed; a failing write is reported once."""

    def __init__(self, path: str) -> None:
        self._is_reported = False
        super().__init__(path, encoding="utf-8", errors="backslashreplace")

    def _open(self) -> TextIOWrapper:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        return os.fdopen(os.open(self.baseFilename, flags, 0o640), "a", encoding=self.encoding, errors=self.errors)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line; drop it if the file cannot be reopened."""
        try:
            self.reopenIfNeeded()
            if self.stream is None:
                self.stream = self._open()
            self.stream.write(self.format(record) + "\n")
            self.stream.flush()
            self._is_reported = False
        except (OSError, ValueError) as error:
            if not self._is_reported:
                self._is_reported = True
                why = error.strerror if isinstance(error, OSError) else str(error)
                sys.stderr.write(f"presman: the log {clean(self.baseFilename)} cannot be written: {why}\n")


class _Lines(logging.Formatter):
    """Formats records as lines for people, in the form of presman's other messages."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        at = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return self.line(at, record.__dict__["event"])

    def line(self, _at: str, event: LogEvent) -> str:
        """Return the line of an event at a time (UTC)."""
        return f"presman: {clean(event.line)}"


class _TimedLines(_Lines):
    """The same, beginning with time and level."""

    def line(self, at: str, event: LogEvent) -> str:
        return f"{at} {event.level:<7} {clean(event.line)}"


class _Json(_Lines):
    """One JSON object a line: time, level, database, event, message, and the figures of the event."""

    def line(self, at: str, event: LogEvent) -> str:
        found: dict[str, str | int | float] = {"time": at, "level": event.level}
        found |= {"database": clean(event.database), "event": event.event, "message": clean(event.message)}
        return json.dumps(found | dict(event.figures), ensure_ascii=False)
