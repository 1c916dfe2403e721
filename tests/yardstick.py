"""Cost relative to plain Python at the same time: on a slow machine both cost more."""

from __future__ import annotations

from collections.abc import Callable
from time import thread_time


def cost(work: Callable[[], object]) -> float:
    """Return the CPU time of `work` in this thread, as a multiple of that of a loop of a million turns."""
    begun = thread_time()
    turns = 0
    while turns < 1_000_000:
        turns += 1
    between = thread_time()
    work()
    return (thread_time() - between) / (between - begun)
