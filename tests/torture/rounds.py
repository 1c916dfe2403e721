"""Rounds: repetitions of a test, up to a number and a time."""

from __future__ import annotations

import contextlib
import math
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple


class Broken(AssertionError):  # noqa: N818 - what presman is then
    """presman did not stand something; the text says what and how."""


class Rounds:
    """Numbers from 0 on: `times` of them, or as many as `seconds` from now allow, one at least. `done` counts them.

    What has to be prepared counts, too: others wait for their share of the time.
    """

    def __init__(self, times: int, seconds: float = math.inf) -> None:
        self.times = times
        self.seconds = seconds
        self.done = 0
        self._begun = time.monotonic()

    @property
    def spent(self) -> float:
        """The part of the time that is over; 1 and more if none is left."""
        return (time.monotonic() - self._begun) / self.seconds

    def __iter__(self) -> Iterator[int]:
        while self.done < self.times and (not self.done or self.spent < 1):
            yield self.done
            self.done += 1


class Task(NamedTuple):
    """A part of a way, such as a release: how often, by which seed, in which folder, and where to say how far it is."""

    part: str
    rounds: Rounds
    seed: int
    folder: Path
    say: Callable[[str], None]


def most_memory() -> int:
    """Return the megabytes that this process took at most, 0 where that is not told.

    What getrusage says has those of who started it, too.
    """
    told = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", told.read_text(encoding="ascii")) if told.exists() else None
    return int(found[1]) >> 10 if found else 0


def memory_anew() -> int:
    """Return the megabytes that this process has; from here on `most_memory` counts anew."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return most_memory()
