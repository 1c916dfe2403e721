"""A CSV file that grows line by line and is complete after each line, whatever happens to the process.

Each write passes complete lines to the operating system in one call; a write that fails half way is undone.
"""

import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TextIO

POLL_INTERVAL = 0.1
"""Seconds between two checks whether a pipe has a reader."""

_LONGEST_LINE = 1 << 20

Note = Callable[[str], None]
"""Is called with a line for the user."""


class OutputError(Exception):
    """An output cannot be written. The text is one line that names it."""


class TextSink:
    """Lines to an open text stream, usually standard output. BrokenPipeError passes through."""

    name = "standard output"

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, lines: str) -> None:
        """Write and flush. Raises OutputError, or BrokenPipeError if the reader has gone."""
        try:
            self._stream.write(lines)
            self._stream.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.name}: {reason(error)}") from error

    def close(self) -> None:
        """Leave the stream open: it belongs to the caller."""


class CsvFile:
    """Lines appended to a file. An existing file is continued if it begins with `header`, otherwise refused.

    Without a header, `continues` decides by the first line.

    A new file is readable by its owner only: it contains SQL texts and names. It is locked, so that no other presman
    appends to it at the same time. With `durable` each write also waits for the disk. A named pipe is opened once it
    has a reader; `note` reports that wait, and that a file is continued. A new file that could not be written is
    removed when it is closed. Raises OutputError.
    """

    def __init__(
        self,
        path: Path,
        header: str,
        *,
        durable: bool = False,
        note: Note = lambda _line: None,
        continues: Callable[[str], bool] | None = None,
    ) -> None:
        self.name = str(path)
        self._durable = durable
        self._is_own = continues or (lambda line: line == header.rstrip("\n"))
        self._path, self._is_new, self._has_failed = path, False, False
        if _is_pipe(path):
            self._fd = _open_pipe(path, note)
        else:
            self._fd, self._is_new = _open(path)
        try:
            self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
            if self._regular:
                _lock(self._fd, path)
            if self._continues(header):
                note(f"{path} is there: lines are added to those it has")
            else:
                self.write(header)
        except OSError as error:
            self.close()
            raise OutputError(f"cannot write {path}: {reason(error)}") from error
        except OutputError:
            self.close()
            raise

    def _continues(self, header: str) -> bool:
        if not self._regular or os.fstat(self._fd).st_size == 0:
            return False
        # Two bytes more: a carriage return may follow, and a longer first line must not look like the header.
        length = len(header.encode()) + 2 if header else _LONGEST_LINE
        first = os.pread(self._fd, length, 0).partition(b"\n")[0].rstrip(b"\r")
        if not self._is_own(first.decode("utf-8", "replace")):
            cure = "choose another file, or remove this one first (nothing was written)"
            raise OutputError(f"{self.name} has other columns: {cure}")
        self._drop_torn_line()
        return True

    def _drop_torn_line(self) -> None:
        """Cut an unfinished last line, which only a full disk or a crashed machine can leave."""
        size = os.fstat(self._fd).st_size
        end, step = size, 65_536
        while end > 0:
            start = max(0, end - step)
            newline = os.pread(self._fd, end - start, start).rfind(b"\n")
            if newline >= 0:
                if start + newline + 1 < size:
                    os.ftruncate(self._fd, start + newline + 1)
                return
            end = start

    def write(self, lines: str) -> None:
        """Append whole lines. Raises OutputError, in which case a regular file has none of `lines`."""
        if not lines:
            return
        data = memoryview(lines.encode("utf-8", "replace"))
        before = os.fstat(self._fd).st_size if self._regular else 0
        try:
            # The system may write only a part, for example when a signal comes.
            while data:
                data = data[os.write(self._fd, data) :]
            if self._durable and self._regular:
                os.fsync(self._fd)
        except BrokenPipeError:
            raise
        except OSError as error:
            self._has_failed = True
            if self._regular:
                os.ftruncate(self._fd, before)
            raise OutputError(f"cannot write {self.name}: {reason(error)}") from error

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._fd >= 0:
            if self._is_new and self._has_failed:
                _remove_empty(self._path, self._fd)
            os.close(self._fd)
            self._fd = -1


Sink = TextSink | CsvFile
"""Takes complete lines."""


def check_writable(path: Path) -> None:
    """Open and close `path` for writing; a file that this creates is removed again. Raises OutputError."""
    if _special(path):
        return
    descriptor, is_new = _open(path)
    if is_new:
        _remove_empty(path, descriptor)
    os.close(descriptor)


def _remove_empty(path: Path, descriptor: int) -> None:
    """Remove an open file if it is empty and still has this name."""
    with suppress(OSError):
        status = os.fstat(descriptor)
        if status.st_size == 0 and os.path.samestat(status, path.stat(follow_symlinks=False)):
            path.unlink()


def _open(path: Path) -> tuple[int, bool]:
    """Open for writing, and return whether the file was created. Raises OutputError."""
    try:
        if _special(path):
            return os.open(path, os.O_WRONLY), False
        # O_EXCL comes first: only it shows whether this process has created the file.
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND
        try:
            return os.open(path, flags | os.O_EXCL, 0o600), True
        except FileExistsError:
            return os.open(path, flags, 0o600), False
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error


def _open_pipe(path: Path, note: Note) -> int:
    """Open a named pipe once it has a reader. Checking repeatedly, unlike a blocking open, lets signals through."""
    is_noted = False
    while True:
        try:
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise OutputError(f"cannot write {path}: {reason(error)}") from error
            if not is_noted:
                note(f"{path} is a pipe with no reader: waiting for one")
            is_noted = True
            time.sleep(POLL_INTERVAL)
        else:
            # From now on a slow reader makes the writer wait.
            os.set_blocking(descriptor, True)
            return descriptor


def _lock(descriptor: int, path: Path) -> None:
    """Lock the file until it is closed. A file system without locks is accepted."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OutputError(f"{path} is being written by another presman: choose another file") from None
    except OSError:
        return


def reason(error: OSError) -> str:
    """Return the operating system's message, without errno and file name."""
    return error.strerror or str(error)


def _special(path: Path) -> bool:
    """Return whether `path` is a device or a pipe: neither can be continued, and a pipe must not be opened to read."""
    return _is(path, stat.S_ISCHR) or _is_pipe(path)


def _is_pipe(path: Path) -> bool:
    return _is(path, stat.S_ISFIFO)


def _is(path: Path, kind: Callable[[int], bool]) -> bool:
    try:
        return kind(path.stat().st_mode)
    except OSError:
        return False
