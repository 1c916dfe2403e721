"""Forks with a limit of CPU seconds, which does not depend on the machine's load. All their children end with them."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, NoReturn

TICKS = os.sysconf("SC_CLK_TCK")
WAITING = 10
"""A fork may last so many times as long as it may compute, because it may wait for something that never comes."""

LOOK, SUM = 0.005, 0.2
"""Seconds between checks whether it has ended, and between sums of its CPU, which read a file for each process."""

_SUBREAPER, _IS_SUBREAPER, _DEATH = 36, 37, 1
_prctl = ctypes.CDLL(None).prctl


class Ended(NamedTuple):
    """How a fork ended: the status from `waitpid`, None if its time ran out, and its seconds of CPU."""

    status: int | None
    cpu: float

    @property
    def code(self) -> int | None:
        """Return its exit code, None if a signal or the limit ended it."""
        return None if self.status is None or not os.WIFEXITED(self.status) else os.WEXITSTATUS(self.status)


@contextmanager
def adopting() -> Iterator[None]:
    """Make this process the parent of orphans among its descendants, so that it finds them in any process group."""
    before = ctypes.c_int()
    _prctl(_IS_SUBREAPER, ctypes.byref(before))
    _prctl(_SUBREAPER, 1)
    try:
        yield
    finally:
        _prctl(_SUBREAPER, before.value)


def start(act: Callable[[], int], output: Path) -> int:
    """Run a function in a fork that ends with this process, its output in a file; return the process's id."""
    pid = os.fork()
    if pid == 0:
        _run(act, output)
    return pid


def _run(act: Callable[[], int], output: Path) -> NoReturn:
    code = 9
    try:
        _prctl(_DEATH, signal.SIGKILL)
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(descriptor, 1)
        os.dup2(descriptor, 2)
        code = act()
    finally:
        os._exit(code)


def run(act: Callable[[], int], output: Path, seconds: float) -> Ended:
    """Run a function in a fork for at most `seconds` of CPU, children included; then end all that is left of it."""
    others, before = frozenset(children(os.getpid())), _cpu_of_ended()
    with adopting():
        pid = start(act, output)
        try:
            status = _waited(pid, others, seconds)
        finally:
            end_all(others)
    return Ended(status, _cpu_of_ended() - before)


def _waited(pid: int, others: frozenset[int], seconds: float) -> int | None:
    """Wait for a process; return its status, None if its time runs out first."""
    look, last = 0.0, time.monotonic() + WAITING * seconds
    while (now := time.monotonic()) < last:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if now > look:
            if taken(others) >= seconds:
                return None
            look = now + SUM
        time.sleep(LOOK)
    return None


def _cpu_of_ended() -> float:
    """Return the seconds of CPU of the children that this process has waited for, and of their children."""
    times = os.times()
    return times.children_user + times.children_system


def taken(others: frozenset[int]) -> float:
    """Return the seconds of CPU of all descendants, ended ones included, except `others` and theirs."""
    return sum(_seconds(pid) for pid in below(others))


def below(others: frozenset[int]) -> Iterator[int]:
    """Yield all descendants of this process except `others` and theirs."""
    left = [each for each in children(os.getpid()) if each not in others]
    while left:
        pid = left.pop()
        yield pid
        left += children(pid)


def children(pid: int) -> list[int]:
    """Return the children of a process, none if it has ended."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def _seconds(pid: int) -> float:
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / TICKS  # utime and stime, and those of the children that it has waited for
    return 0.0


def end_all(others: frozenset[int] = frozenset()) -> None:
    """Kill all descendants except `others`, also stopped ones and those in other groups, and wait for their end."""
    while left := list(below(others)):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            with suppress(ChildProcessError):  # not a child yet: it becomes one when its parent has ended
                os.waitpid(pid, os.WNOHANG)
        time.sleep(LOOK)
