"""Status files: one for each run, written anew every few seconds, in a folder that is the user's alone.

Beside each stands a lock that the process holds as long as it lives. However it ends, the system lets go of that: so
whether a process is there is asked of the lock, and not of its number, which another may have by now.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from presman.base.private_files import open_private, read_private, state_folder
from presman.base.status.run_status import FORMAT, FoundRun, RunStatus

LARGEST = 4 << 20
"""Bytes of a status file that are read."""

REMEMBERED = timedelta(days=1)
"""How long a run that died is told of, unless another takes its place."""

_HALF = 60.0
"""Seconds within which a process that has its lock has said something."""


def folder() -> Path:
    """Return where the files are. Raises OSError."""
    return state_folder() / "running"


class StatusFile:
    """The file of this process. Raises OSError where it cannot be made or written."""

    def __init__(self, command: str) -> None:
        name = f"{command}-{os.getpid()}-{secrets.token_hex(4)}"
        self._path = folder() / f"{name}.json"
        self._new = folder() / f".{name}.new"
        self._lock_path = folder() / f"{name}.lock"
        self._lock = open_private(self._lock_path, 0)
        fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def write(self, status: RunStatus) -> None:
        """Put a status in place of the one before, as a whole."""
        with os.fdopen(open_private(self._new, os.O_TRUNC), "wb") as file:
            file.write(msgspec.json.encode(status))
        self._new.replace(self._path)

    def remove(self) -> None:
        """Say no more: the run is ended in good order. Never raises."""
        for path in (self._path, self._new, self._lock_path):
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            os.close(self._lock)


def found_runs() -> list[FoundRun]:
    """Return the runs of this user, the oldest first, and those that died lately. Raises OSError.

    What died long ago, or whose place another has taken, is removed.
    """
    found = sorted(_found(), key=lambda each: each[1].status.since)
    places = {_place(run.status) for _, run in found if run.alive}
    now = datetime.now(UTC)
    kept = []
    for path, run in found:
        if run.alive or (_place(run.status) not in places and now - run.status.written < REMEMBERED):
            kept.append(run)
        else:
            _forget(path)
    return kept


def _place(status: RunStatus) -> tuple[str, str, tuple[str, ...]]:
    return status.command, status.output, tuple(each.name for each in status.databases)


def _found() -> Iterator[tuple[Path, FoundRun]]:
    there = folder()
    try:
        paths = sorted(there / name for name in os.listdir(there) if name.endswith(".json"))  # noqa: PTH208
    except FileNotFoundError:
        return
    _forget_halves({path.stem for path in paths})
    for path in paths:
        alive = _is_locked(path.with_suffix(".lock"))
        try:
            status = msgspec.json.decode(read_private(path, LARGEST), type=RunStatus)
        except (OSError, msgspec.DecodeError):
            if not alive:
                _forget(path)
            continue
        if status.format == FORMAT:
            yield path, FoundRun(status, alive)


def _forget_halves(names: set[str]) -> None:
    """Remove the locks of processes that were killed before they had said anything."""
    for lock in folder().glob("*.lock"):
        with suppress(OSError):
            if lock.stem not in names and time.time() - lock.stat().st_mtime > _HALF and not _is_locked(lock):
                lock.unlink()


def _is_locked(path: Path) -> bool:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(lock)
    return False


def _forget(path: Path) -> None:
    for each in (path, path.with_suffix(".lock"), path.with_name(f".{path.stem}.new")):
        with suppress(OSError):
            each.unlink()
