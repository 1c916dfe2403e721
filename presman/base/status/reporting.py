"""Reporting of a run: a thread that says every few seconds in its file how it is."""

from __future__ import annotations

import os
import platform
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from presman import __version__
from presman.base.log_event import LogEvent, Tell
from presman.base.status.run_status import FORMAT, DatabaseStatus, RunStatus, StatusFile

EVERY = 5.0
"""Seconds between two times that a run says how it is."""

Look = Callable[[], Sequence[DatabaseStatus]]


@contextmanager
def reporting(command: str, output: str, look: Look, tell: Tell, every: float = EVERY) -> Iterator[None]:
    """Have `presman status` know of this process while what is inside runs; `look` says how its databases are.

    Where no file can be written that is told once, and the work goes on.
    """
    try:
        reporter = _Reporter(command, output, look, tell, every)
    except OSError as error:
        _complain(error, tell)
        yield
        return
    reporter.start()
    try:
        yield
    finally:
        reporter.end()


class _Reporter:
    def __init__(self, command: str, output: str, look: Look, tell: Tell, every: float) -> None:
        self._command = command
        self._output = output
        self._look = look
        self._tell = tell
        self._every = every
        self._since = datetime.now(UTC)
        self._before = time.monotonic(), cpu_seconds()
        self._percent: float | None = None
        self._ended = threading.Event()
        self._file = StatusFile(command)
        self._thread = threading.Thread(target=self._run, name="presman-status", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(1.0)
        self._file.remove()

    def _run(self) -> None:
        told = False
        while True:
            try:
                self._file.write(self._status())
                told = False
            except OSError as error:
                if not told:
                    _complain(error, self._tell)
                told = True
            if self._ended.wait(self._every):
                return

    def _status(self) -> RunStatus:
        now, cpu = time.monotonic(), cpu_seconds()
        then, before = self._before
        if now - then >= min(1.0, self._every / 2):
            self._percent = 100 * (cpu - before) / (now - then)
            self._before = now, cpu
        percent = None if self._percent is None else round(self._percent, 1)
        return RunStatus(
            FORMAT, self._command, os.getpid(), platform.node(), __version__, self._since, datetime.now(UTC),
            self._output, round(cpu, 2), percent, round(memory_mb(), 1), tuple(self._look()),
        )  # fmt: skip


def _complain(error: OSError, tell: Tell) -> None:
    where = error.filename or "its file"
    text = f"presman status cannot show this run: {where}: {error.strerror or error}"
    tell(LogEvent("no_status", text, "warning"))


# ---- Cost of this process: CPU and memory.


def cpu_seconds() -> float:
    """Return the CPU seconds used so far, of all threads, in user code and in the system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory_mb() -> float:
    """Return the memory that is in use, in MB; where the system does not tell, the most that ever was."""
    with suppress(OSError, ValueError, IndexError):
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)
