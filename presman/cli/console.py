"""Console: standard output for data, standard error for messages; no encoding, full disk or closed pipe crashes it."""

import os
import sys
from contextlib import suppress
from io import RawIOBase, TextIOWrapper
from pathlib import Path
from typing import Protocol, TextIO

from presman.base.log_event import Level, LogEvent
from presman.base.private_files import replace_private
from presman.base.text import clean
from presman.cli import exit_codes
from presman.cli.exit_codes import OUTPUT, Failure


def prepare() -> None:
    """Let no character that the locale lacks stop a line half way, nor a full disk take half of a text unnoticed.

    The latter Python does where PYTHONUNBUFFERED is set, as in many containers: what a file takes counts as all of it.
    """
    out = sys.stdout
    if isinstance(out, TextIOWrapper) and isinstance(out.buffer, RawIOBase):
        sys.stdout = open(out.fileno(), "w", encoding=out.encoding, closefd=False)  # noqa: SIM115
    for stream, errors in ((sys.stdout, "replace"), (sys.stderr, "backslashreplace")):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors=errors)


def put(text: str) -> None:
    """Write data to standard output at once. Raises Failure if it cannot be written, BrokenPipeError if unwanted."""
    stream = sys.stdout
    if stream is None:
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
    """Write CSV to standard output at once, in the encoding of `data`. Raises as `put` does."""
    data()
    put(text)


def show(text: str) -> None:
    """Write text for people: in ASCII where the locale is plain C or the encoding has no block characters."""
    if wants_ascii():
        from presman.figures.drawing.lines import ascii_only

        text = ascii_only(text)
    put(text)


class Log(Protocol):
    """Takes the messages in place of standard error."""

    def write(self, event: LogEvent) -> bool:
        """Write an event; return whether nobody else need be told."""

    def close(self) -> None:
        """Let go of the file. Never raises."""


_log: Log | None = None


def log_to(log: Log | None) -> None:
    """Send messages to a log from now on; None ends that, and closes the log before."""
    global _log
    before, _log = _log, log
    if before is not None:
        before.close()


def note(text: str, event: str = "message", level: Level = "info") -> None:
    """Tell in one line about the work: see :func:`report`."""
    report(LogEvent(event, text, level))


def report(event: LogEvent) -> None:
    """Write an event to the log, or to standard error; what of it comes from outside cannot steer the terminal."""
    if (_log is not None and _log.write(event)) or (_log is None and event.level == "debug"):
        return
    with suppress(OSError, AttributeError):
        sys.stderr.write(f"presman: {clean(event.line)}\n")
        sys.stderr.flush()


def wants_ascii() -> bool:
    """Return whether output should keep to ASCII: in a plain C locale, and on the console of Linux, for its font."""
    encoding = (getattr(sys.stdout, "encoding", None) or "ascii").lower()
    names = ["LC_ALL", "LC_CTYPE", "LANG"]
    if os.environ.get("LC_CTYPE") in {"C.UTF-8", "C.utf8", "UTF-8"}:
        names.remove("LC_CTYPE")  # Python itself puts it there in a plain C locale
    locale = next((value for name in names if (value := os.environ.get(name))), "")
    console = os.environ.get("TERM", "").startswith("linux") and sys.stdout.isatty()
    return "utf" not in encoding or locale in {"C", "POSIX"} or console


def has_colour() -> bool:
    """Return whether text on standard output may have colours."""
    return sys.stdout is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ


def width() -> int | None:
    """Return how wide text may be: $COLUMNS, else the terminal's width, else (a pipe, a file) unlimited."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns) > 0:
        return int(columns)
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or None
    except (OSError, ValueError, AttributeError):
        return None


class StatusLine:
    """A line that is written over again and again, where standard error is a terminal and it `may_show`."""

    def __init__(self, *, may_show: bool = True) -> None:
        self.is_live = may_show and sys.stderr is not None and sys.stderr.isatty()
        self._shown = False

    def write(self, text: str) -> None:
        """Write as much of a text as there is room for in place of the one before."""
        if self.is_live:
            self.clear()
            sys.stderr.write(text[: max(20, (width() or 80) - 1)])
            sys.stderr.flush()
            self._shown = True

    def clear(self) -> None:
        """Take the line away, before something else is written."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        self._shown = False


def is_terminal() -> bool:
    """Return whether a full-screen program can run here; errors may go elsewhere."""
    streams = (sys.stdin, sys.stdout)
    return all(stream is not None and stream.isatty() for stream in streams) and os.environ.get("TERM") != "dumb"


def why_no_screen() -> str:
    """Return why no full-screen program can run here: which stream goes elsewhere, where only that one does."""
    streams = {"input": sys.stdin, "output": sys.stdout}
    away = [name for name, stream in streams.items() if stream is None or not stream.isatty()]
    return f"standard {away[0]} is not a terminal" if len(away) == 1 else "no terminal"


def abandon() -> None:
    """Point standard output nowhere, so that the interpreter's last flush has nothing to complain about."""
    _point_nowhere(sys.stdout)


def settle() -> None:
    """Let what cannot be written to standard error (its disk is full) not become the exit code at the very end."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.flush()
    except (OSError, ValueError):
        _point_nowhere(sys.stderr)


def _point_nowhere(stream: TextIO) -> None:
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


# ---- Whole file: what a command made is written as a whole or not at all, for its owner alone.


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, replacing what is there; of a pipe or a device its content. Raises Failure.

    Nobody else can read it: names of users and texts of statements may be in it.
    """
    try:
        replace_private(path, content)
    except OSError as error:
        raise Failure(f"cannot write {clean(str(path))}: {error.strerror or error}", exit_codes.OUTPUT) from error
