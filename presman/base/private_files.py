"""Private files of the user, the folder of files that presman keeps, and safe reading of other paths.

Another user who may write to a folder, or who made it, could have put a link there that leads elsewhere.
"""

import errno
import os
import selectors
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BufferedReader, TextIOWrapper
from pathlib import Path
from typing import BinaryIO

from presman.base.errors import InputError


def state_folder() -> Path:
    """Return the folder of the files that presman keeps between runs ($XDG_STATE_HOME/presman). Raises OSError."""
    home = os.environ.get("XDG_STATE_HOME", "")
    try:
        return (Path(home) if home.startswith("/") else Path.home() / ".local" / "state") / "presman"
    except RuntimeError as error:
        raise OSError(errno.ENOENT, "the home folder is not known") from error


def open_private(path: Path, flags: int) -> int:
    """Open or create a file that only the user can read, in a folder of the user, for writing with `flags`.

    Raises OSError if the path is a link, not a regular file, or owned by another user.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    if path.parent.stat().st_uid != os.geteuid():
        raise OSError(errno.EPERM, "its folder belongs to another user", str(path))
    # Truncated only after the checks, so that a file that is refused keeps its content.
    descriptor = _opened(path, os.O_WRONLY | os.O_CREAT | (flags & ~os.O_TRUNC))
    try:
        _check(os.fstat(descriptor), path)
        os.fchmod(descriptor, 0o600)
        if flags & os.O_TRUNC:
            os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def replace_private(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace a file by one that only the user can read, atomically; write into it if it is a pipe or a device.

    Raises OSError.
    """
    if path.exists() and not stat.S_ISREG(path.stat().st_mode):
        path.write_bytes(content)
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            # On the disk before it gets its name: after a power failure there is the old file or the new one, whole.
            file.flush()
            os.fsync(file.fileno())
            os.fchmod(file.fileno(), mode)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def read_private(path: Path, most: int) -> bytes:
    """Return the content of a file of the user, at most `most` bytes.

    Raises OSError if the file is missing, a link, not a regular file, owned by another user, or larger.
    """
    with os.fdopen(_opened(path, os.O_RDONLY), "rb") as file:
        _check(os.fstat(file.fileno()), path)
        return _all_of(file, most, path)


def _opened(path: Path, flags: int) -> int:
    # O_NONBLOCK: a pipe of that name would otherwise wait for its other end.
    try:
        return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a link", str(path)) from None
        raise


def _check(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EPERM, "it is not a file", str(path))
    if found.st_uid != os.geteuid():
        raise OSError(errno.EPERM, "it belongs to another user", str(path))
    if found.st_nlink > 1:  # another user may have linked a file of this user to here
        raise OSError(errno.EPERM, "it has a second hard link", str(path))


# ---- Files that presman keeps between runs.


def keep_file(name: str, text: str) -> Path:
    """Write a file into the state folder that only the user can read, and return its path. Raises OSError."""
    path = state_folder() / name
    with os.fdopen(open_private(path, os.O_TRUNC), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def keep_crash(error: BaseException) -> Path | None:
    """Write the traceback of an error, without values of variables, and return its path; None if that fails, too."""
    import traceback

    trace = "".join(traceback.format_exception(error))
    try:
        return keep_file("crash.log", f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}\n{trace}")
    except OSError:
        return None


# ---- Paths that a user gives.


def expanded(path: str | Path) -> Path:
    """Return a path with its "~" replaced by the home folder. Raises InputError if that is unknown."""
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise InputError(f"{path}: the folder of ~ is not known: set HOME, or write the whole path") from None


# ---- What a path is: yes, no, or an OSError that says why that cannot be found out. Path.exists, is_file and is_dir
# of Python 3.13 and later also return False if the user may not look at the path.

_NOTHING = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EBADF, errno.ELOOP})


def exists(path: Path) -> bool:
    """Whether the path exists. Raises OSError."""
    return bool(_mode(path))


def is_file(path: Path) -> bool:
    """Whether the path is a regular file, or a link to one. Raises OSError."""
    return stat.S_ISREG(_mode(path))


def is_folder(path: Path) -> bool:
    """Whether the path is a folder, or a link to one. Raises OSError."""
    return stat.S_ISDIR(_mode(path))


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except ValueError:  # a path cannot contain a zero byte
        return 0
    except OSError as error:
        if error.errno in _NOTHING:
            return 0
        raise


# ---- Files that a user gives: limits on how much of a file and of a line is read.


PIPE_SECONDS = 10.0
"""Seconds to wait for a pipe: what writes to it may have to unlock something first."""

LONGEST = 1 << 20
"""The most bytes of a line: SQL*Plus writes at most 32,767, and each column of a heading takes memory."""


def open_plain(path: Path) -> BufferedReader:
    """Open a regular file. Anything else neither blocks nor is read endlessly. Raises OSError."""
    file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: PTH123, SIM115
    if stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        return file
    file.close()
    raise OSError(errno.EINVAL, "it is not a regular file", str(path))


def read_small(path: Path, most: int) -> bytes:
    """Return the content of a file or a pipe. Raises OSError if it has more than `most` bytes, or nothing comes."""
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        if stat.S_ISFIFO(os.fstat(file.fileno()).st_mode):
            with selectors.PollSelector() as selector:
                selector.register(file, selectors.EVENT_READ)
                if not selector.select(PIPE_SECONDS):
                    raise OSError(
                        errno.ETIMEDOUT, f"it is a pipe, and nothing came within {PIPE_SECONDS:g} s", str(path)
                    )
        os.set_blocking(file.fileno(), True)
        return _all_of(file, most, path)


def _all_of(file: BinaryIO, most: int, path: Path) -> bytes:
    data = file.read(most + 1)
    if len(data) > most:
        raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
    return data


def has_short_lines(content: bytes, longest: int = LONGEST) -> bool:
    """Whether no line has more than `longest` bytes. The content is searched in steps of that length."""
    at = 0
    while len(content) - at > longest:
        if not (at := content.rfind(b"\n", at, at + longest + 1) + 1):
            return False
    return True


def short_lines(file: TextIOWrapper) -> Iterator[str]:
    """Yield the lines of a text file. Raises OSError if one is too long."""
    while line := file.readline(LONGEST + 1):
        if len(line) > LONGEST and not line.endswith("\n"):
            raise OSError(errno.EFBIG, f"it has a line of more than {LONGEST >> 20} MB")
        yield line
