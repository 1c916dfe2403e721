"""Trace files as blocks of bytes: recognised, decompressed, and rejected in one line if they are something else."""

import gzip
import os
import re
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from presman.base.errors import InputError

BLOCK = 256 * 1024
"""Bytes read at once; small enough for the CPU cache."""

PROBE = 1024 * 1024
"""Bytes within which a file must be recognisable as a trace."""

STANDARD_INPUT = "-"


class TraceError(InputError):
    """A file cannot be read or is not a trace. The text is one line that does not name the file."""


_GZIP = b"\x1f\x8b"
_PACKED = (
    (b"PK\x03\x04", "a zip archive: unpack it first"),
    (b"BZh", "packed with bzip2: unpack it first (gzip is read as it is)"),
    (b"\xfd7zXZ\x00", "packed with xz: unpack it first (gzip is read as it is)"),
    (b"\x28\xb5\x2f\xfd", "packed with zstd: unpack it first (gzip is read as it is)"),
    (b"\xff\xfe", "UTF-16 text, as PowerShell writes it: convert it to UTF-8 first"),
    (b"\xfe\xff", "UTF-16 text: convert it to UTF-8 first"),
)
_TKPROF = re.compile(rb"(?m)^TKPROF: Release ")
_TRACE = re.compile(
    rb"(?m)^(?:Trace file \S|(?:Dump file )?\S+\.trc\s*$|\*\*\* SESSION ID:\(|PARSING IN CURSOR #\d)"
    rb"|^(?:PARSE|EXEC|FETCH) #-?\d+:c=\d"
    rb"|(?<![ -~])WAIT #(?:-?\d[\d\s]*|\.{3}):\s*nam=\s*'"
)
_BEFORE_9I = re.compile(rb"(?m)^Oracle[78]i? .{0,60}Release [78]\.")


class TraceFile:
    """An open trace. `name` is as the user gave it, ``-`` is standard input.

    `unit` is one tick of elapsed time in microseconds, `size` the bytes of the file on disk (0 if unknown), `position`
    how many of them have been read.
    """

    def __init__(self, name: str, *, block: int = BLOCK) -> None:
        self.name = name
        self._block = block
        self._file = _open(name)
        try:
            self._read = _reader(self._file)
            self._head = b""
            # As much as is needed to recognise a trace.
            while len(self._head) < PROBE and not _TRACE.search(self._head):
                if not (more := _guarded(self._read, block)):
                    break
                self._head += more
            _reject_other_files(self._head)
        except BaseException:
            self.close()
            raise
        # Before 9i, ela= counts hundredths of a second.
        self.unit = 10_000 if _BEFORE_9I.search(self._head) else 1
        status = os.fstat(self._file.fileno())
        self.size = status.st_size if stat.S_ISREG(status.st_mode) else 0

    @property
    def position(self) -> int:
        """Bytes of the file read so far."""
        return self._file.tell() if self.size else 0

    def blocks(self) -> Iterator[bytes]:
        """Yield the decompressed contents. Raises TraceError if the file is truncated or cannot be read."""
        head, self._head = self._head, b""
        for start in range(0, len(head), self._block):
            yield head[start : start + self._block]
        del head
        while block := _guarded(self._read, self._block):
            yield block

    def close(self) -> None:
        """Close the file, unless it is standard input."""
        if self.name != STANDARD_INPUT:
            self._file.close()


def _open(name: str) -> BinaryIO:
    if name == STANDARD_INPUT:
        if sys.stdin is None:
            raise TraceError("standard input is closed")
        return sys.stdin.buffer
    if not name:
        raise TraceError("a file needs a name")
    try:
        return Path(name).open("rb")
    except IsADirectoryError as error:
        raise TraceError("a directory, not a trace file") from error
    except (OSError, ValueError) as error:
        raise TraceError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from error


def _reader(file: BinaryIO) -> Callable[[int], bytes]:
    """Return a function that reads up to n bytes, decompressed if the file is gzipped."""
    try:
        start = file.peek(2)[:2]  # type: ignore[attr-defined]
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror or error}") from error
    return gzip.GzipFile(fileobj=file).read1 if start == _GZIP else file.read1  # type: ignore[attr-defined]


def _guarded(read: Callable[[int], bytes], size: int) -> bytes:
    try:
        return read(size)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TraceError("a damaged or incomplete gzip file") from error
    except OSError as error:
        raise TraceError(f"cannot be read: {error.strerror or error}") from error


def _reject_other_files(head: bytes) -> None:
    if not head:
        raise TraceError("empty")
    for magic, what in _PACKED:
        if head.startswith(magic):
            raise TraceError(f"not a trace file but {what}")
    if head[257:262] == b"ustar":
        raise TraceError("a tar archive, not a trace file: unpack it first")
    if _TKPROF.search(head[:4096]):
        raise TraceError("a TKPROF report, not the trace it was made from")
    if not _TRACE.search(head):
        raise TraceError("not an Oracle trace: no trace header and no trace line at its beginning")
