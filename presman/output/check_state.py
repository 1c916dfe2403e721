"""State of a check between two runs: since when each alert lasts, and which were told. A file of the user's alone."""

from __future__ import annotations

import fcntl
import hashlib
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct, field

from presman.analysis.alerts.judge import Mark, Told
from presman.base.private_files import open_private, read_private, state_folder

FORMAT = 1
_LARGEST = 1_000_000
_PATIENCE = 2.0
_PAUSE = 0.02
_MOST = 1_000

Kept = TypeVar("Kept", Mark, Told)


class CheckState(Struct, frozen=True):
    """What a run leaves for the next: marks of alerts and what was told, by key and subject."""

    format: int = FORMAT
    target: str = ""
    marks: dict[str, Mark] = field(default_factory=dict)
    told: dict[str, Told] = field(default_factory=dict)


class StateFile:
    """The state of checks of one target. Opened while it is locked, so that runs at the same time wait for each other.

    `problem` says why it begins anew, "" where it does not.
    """

    def __init__(self, target: str, folder: Path) -> None:
        digest = hashlib.sha256(target.encode("utf-8", "surrogatepass")).hexdigest()[:24]
        self._target = target
        self._path = folder / f"{digest}.json"
        self.problem = ""

    def load(self) -> CheckState:
        """Return what the last run left; nothing where that cannot be read."""
        try:
            found = msgspec.json.decode(read_private(self._path, _LARGEST), type=CheckState)
        except FileNotFoundError:
            return CheckState(target=self._target)
        except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is damaged"
            self.problem = f"the state of the last run cannot be read ({reason}): durations start again"
            return CheckState(target=self._target)
        same = found.format == FORMAT and found.target == self._target
        return found if same else CheckState(target=self._target)

    def save(self, state: CheckState) -> None:
        """Put the state in place of the one before, whole or not at all. Raises OSError."""
        state = CheckState(FORMAT, self._target, _newest(state.marks), _newest(state.told))
        path = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            with os.fdopen(open_private(path, os.O_TRUNC), "wb") as file:
                file.write(msgspec.json.encode(state))
            path.replace(self._path)
        except OSError:
            with suppress(OSError):
                path.unlink()
            raise

    @property
    def lock(self) -> Path:
        """The file that whoever reads and writes the state locks."""
        return self._path.with_suffix(".lock")


def _newest(kept: dict[str, Kept]) -> dict[str, Kept]:
    """Return what was seen last, a thousand at most."""
    newest = sorted(kept.items(), key=lambda item: -item[1].seen)
    return dict(newest[:_MOST])


@contextmanager
def state_of(target: str) -> Iterator[StateFile]:
    """Give the state of checks of a target while no other run has it. Raises OSError where there can be none."""
    file = StateFile(target, state_folder() / "check")
    descriptor = open_private(file.lock, 0)
    try:
        _locked(descriptor)
        yield file
    finally:
        os.close(descriptor)


def _locked(descriptor: int) -> None:
    """Lock a file. Raises OSError (TimeoutError) if another run keeps it for too long."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise TimeoutError("another check of this target has it") from None
            time.sleep(_PAUSE)
        else:
            return
