"""A CSV file that grows line by line and is whole after each one, whatever happens to the process.

Every write hands complete lines to the operating system in one call; a write that fails half way is taken back.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol


class OutputError(Exception):
    """An output cannot be written. The text is one line that names it."""


class Sink(Protocol):
    """Takes finished lines."""

    name: str

    def write(self, lines: str) -> None:
        """Write whole lines so that they survive the process. Raises OutputError."""

    def close(self) -> None:
        """Release what is held. Never raises."""


class TextSink:
    """Lines to an open text stream, standard output mostly. BrokenPipeError passes through."""

    def __init__(self, stream: object, name: str = "standard output") -> None:
        self._stream = stream
        self.name = name

    def write(self, lines: str) -> None:
        """Write and flush. Raises OutputError, or BrokenPipeError if the reader went away."""
        try:
            self._stream.write(lines)  # type: ignore[attr-defined]
            self._stream.flush()  # type: ignore[attr-defined]
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputError(f"cannot write {self.name}: {reason(error)}") from error

    def close(self) -> None:
        """Leave the stream open: it belongs to the caller."""


class CsvFile:
    """Lines appended to a file. An existing file is continued if it begins with `header`, else refused.

    With `durable` each write also waits for the disk. Raises OutputError.
    """

    def __init__(self, path: Path, header: str, *, durable: bool = False) -> None:
        self.name = str(path)
        self._durable = durable
        self._fd = _open(path)
        try:
            self._regular = stat.S_ISREG(os.fstat(self._fd).st_mode)
            if not self._continues(header):
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
        expected = header.encode()
        found = os.pread(self._fd, len(expected), 0)
        if found.rstrip(b"\r\n") != expected.rstrip(b"\n"):
            raise OutputError(
                f"{self.name} holds other columns: choose another file, or remove this one first (nothing was written)"
            )
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
        """Append whole lines. Raises OutputError, and then nothing of `lines` is left in a regular file."""
        if not lines:
            return
        data = memoryview(lines.encode("utf-8", "replace"))
        before = os.fstat(self._fd).st_size if self._regular else 0
        try:
            while data:
                data = data[os.write(self._fd, data) :]
            if self._durable and self._regular:
                os.fsync(self._fd)
        except BrokenPipeError:
            raise
        except OSError as error:
            if self._regular:
                os.ftruncate(self._fd, before)
            raise OutputError(f"cannot write {self.name}: {reason(error)}") from error

    def close(self) -> None:
        """Close the file; closing twice is fine."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def check_writable(path: Path) -> None:
    """Open and close `path` for writing, which leaves an empty file where there is none. Raises OutputError."""
    if not _special(path):
        os.close(_open(path))


def _open(path: Path) -> int:
    flags = os.O_WRONLY if _special(path) else os.O_RDWR | os.O_CREAT | os.O_APPEND
    try:
        return os.open(path, flags, 0o666)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {reason(error)}") from error


def reason(error: OSError) -> str:
    """Return what the operating system says, without errno and file name."""
    return error.strerror or str(error)


def _special(path: Path) -> bool:
    """Tell whether `path` is a device or a pipe: nothing there to continue, and a pipe must not be opened to read."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)
