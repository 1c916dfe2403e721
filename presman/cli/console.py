"""Console: standard output for data, standard error for messages; no encoding, full disk or closed pipe crashes it."""

import os
import sys
from contextlib import suppress
from io import RawIOBase, TextIOWrapper
from typing import Protocol, TextIO

from presman.base.log_event import Level, LogEvent
from presman.base.text import clean
from presman.cli.exit_codes import OUTPUT, Failure


def prepare() -> None:
    """Keep a missing character from stopping a line half way, and a full disk from silently truncating a text.

    With PYTHONUNBUFFERED set, as in many containers, Python counts a partial write to a file as a whole one.
    """
    out = sys.stdout
    if isinstance(out, TextIOWrapper) and isinstance(out.buffer, RawIOBase):
        sys.stdout = open(out.fileno(), "w", encoding=out.encoding, closefd=False)  # noqa: SIM115
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def put(text: str) -> None:
    """Write data to standard output at once. Raises Failure if that fails, BrokenPipeError if the reader has gone."""
    if (stream := sys.stdout) is None:
        raise Failure("cannot write standard output: it is closed", OUTPUT)
    try:
        stream.write(text)
        stream.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Failure(f"cannot write standard output: {error.strerror or error}", OUTPUT) from None


def data() -> TextIO:
    """Return standard output as UTF-8 with plain line ends, for CSV. Raises Failure if it is closed."""
    if sys.stdout is None:
        raise Failure("cannot write standard output: it is closed", OUTPUT)
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    return sys.stdout


def put_csv(text: str) -> None:
    """Write CSV to standard output at once, encoded as by `data`. Raises the errors of `put`."""
    data()
    put(text)


def show(text: str) -> None:
    """Write text for people: in ASCII if the locale is plain C or the encoding has no block characters."""
    if wants_ascii():
        from presman.figures.drawing.lines import ascii_only

        text = ascii_only(text)
    put(text)


class Log(Protocol):
    """A log that takes the messages instead of standard error."""

    def write(self, event: LogEvent) -> bool:
        """Write an event; return whether the log is enough, so that standard error need not have it."""

    def close(self) -> None:
        """Close the file. Never raises."""


_log: Log | None = None


def log_to(log: Log | None) -> None:
    """Send messages to a log from now on, or to standard error if it is None; the previous log is closed."""
    global _log
    before, _log = _log, log
    if before is not None:
        before.close()


def note(text: str, event: str = "message", level: Level = "info") -> None:
    """Report the work in one line: see :func:`report`."""
    report(LogEvent(event, text, level))


def report(event: LogEvent) -> None:
    """Write an event to the log or to standard error, without control characters that could steer the terminal."""
    if (_log is not None and _log.write(event)) or (_log is None and event.level == "debug"):
        return
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"presman: {clean(event.line)}\n")
        sys.stderr.flush()


def wants_ascii() -> bool:
    """Return whether output should be ASCII: in a plain C locale, and on the Linux console because of its font."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    names = ["LC_ALL", "LC_CTYPE", "LANG"]
    if os.environ.get("LC_CTYPE") in {"C.UTF-8", "C.utf8", "UTF-8"}:
        names.remove("LC_CTYPE")  # Python itself sets it in a plain C locale
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    console = os.environ.get("TERM", "").startswith("linux") and sys.stdout.isatty()
    return "utf" not in encoding or locale in {"C", "POSIX"} or console


def has_colour() -> bool:
    """Return whether text on standard output may be coloured."""
    return sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ


def width() -> int | None:
    """Return the width for text: $COLUMNS, else that of the terminal, else (a pipe, a file) None for no limit."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


class StatusLine:
    """A line that is overwritten again and again, if standard error is a terminal and it `may_show`."""

    def __init__(self, *, may_show: bool = True) -> None:
        self.is_live = may_show and sys.stderr is not None and sys.stderr.isatty()
        self._shown = False

    def write(self, text: str) -> None:
        """Replace the line by as much of a text as fits."""
        if self.is_live:
            self.clear()
            sys.stderr.write(text[: max(20, (width() or 80) - 1)])
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Remove the line before something else is written."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False


def is_terminal() -> bool:
    """Return whether a full-screen program can run here; standard error may be redirected."""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def why_no_screen() -> str:
    """Return why no full-screen program can run here; if only one stream is redirected, name it."""
    streams = {"input": sys.stdin, "output": sys.stdout}
    away = [name for name, stream in streams.items() if stream is None or not stream.isatty()]
    return f"standard {away[0]} is not a terminal" if len(away) == 1 else "no terminal"


def abandon() -> None:
    """Redirect standard output to the null device, so that the interpreter's last flush cannot fail."""
    _point_nowhere(sys.stdout)


def settle() -> None:
    """Keep a failed write to standard error (its disk is full) from changing the exit code as Python exits."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _point_nowhere(sys.stderr)


def _point_nowhere(stream: TextIO) -> None:
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
