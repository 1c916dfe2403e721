"""Rounds: repetitions of a test, up to a number and a time."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Broken(AssertionError):  # noqa: N818 - presman is what broke
    """presman failed; the text names where and how."""


class Rounds:
    """Numbers from 0 on: at most `times`, for at most `seconds` from now, at least one. `done` counts them.

    Preparation counts as part of the seconds, because other parts wait for their share of the time.
    """

    def __init__(self, times: int, seconds: float = math.inf) -> None:
        self.times = times
        self.seconds = seconds
        self.done = 0
        self._begun = time.monotonic()

    @property
    def spent(self) -> float:
        """The part of the time that has passed; 1 or more if none is left."""
        return (time.monotonic() - self._begun) / self.seconds

    def __iter__(self) -> Iterator[int]:
        while self.done < self.times and (not self.done or self.spent < 1):
            yield self.done
            self.done += 1


class Task(NamedTuple):
    """A part of a way, such as a release: its rounds, its seed, its folder, and a function that prints progress."""

    part: str
    rounds: Rounds
    seed: int
    folder: Path
    log: Callable[[str], None]


def most_memory() -> int:
    """Return the peak memory of this process in megabytes, 0 if the system does not show it.

    The maximum of getrusage would include the parent's memory.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii")) if status.exists() else None
    return int(found[1]) >> 10 if found else 0


def memory_anew() -> int:
    """Return the current memory of this process in megabytes, and reset the peak that `most_memory` returns."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return most_memory()
