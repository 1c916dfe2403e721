"""Files that somebody hands in: how much of one, and of one of its lines, is read at most."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from io import BufferedReader, TextIOWrapper
from pathlib import Path

LONGEST = 1 << 20
"""Bytes of one line that are read: SQL*Plus writes lines of 32,767, and each column of a heading takes memory."""


def open_plain(path: Path) -> BufferedReader:
    """Open a plain file; whatever else is there neither blocks nor goes on without end. Raises OSError."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is no plain file", str(path))


def read_small(path: Path, most: int) -> bytes:
    """Return what is in a file, which may be a pipe, but none that does not end. Raises OSError."""
    with path.open("rb") as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def has_short_lines(content: bytes, longest: int = LONGEST) -> bool:
    """Whether no line is longer than is read, found in leaps of that length."""
    at = 0
    while len(content) - at > longest:
        at = content.rfind(b"\n", at, at + longest + 1) + 1
        if not at:
            return False
    return True


def short_lines(file: TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a text. Raises OSError for one that is longer than is read."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST and not line.endswith("\n"):
            raise OSError(errno.EFBIG, f"it has a line of more than {LONGEST >> 20} MB")
        yield line
