"""Status of a run: the report of a command about itself, and how `presman status` reads it."""

import fcntl
import os
import platform
import resource
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from enum import Enum
from pathlib import Path

import msgspec
from msgspec import Struct

from presman import __version__
from presman.base.formats import spelled
from presman.base.log_event import LogEvent, Report
from presman.base.private_files import open_private, read_private, state_folder
from presman.base.running_out import IN_USE, bytes_of_process

FORMAT = 1
"""Incremented when a field changes its meaning or is removed; new fields do not change it."""


class RunState(Enum):
    """The state of a database of a run."""

    RUNNING = "running"
    STARTING = "starting"
    LATE = "late"
    LOST = "lost"
    NOT_WRITTEN = "not written"
    HANGS = "hangs"
    DIED = "died"


class DatabaseStatus(Struct, frozen=True):
    """One database of a run.

    `polls` is the number of polls written, `last_poll` the time of the newest, by the clock of this machine; `every` is
    the refresh interval in seconds. `waiting` polls are not written yet, `given_up` ones never will be. `trouble` says
    in one line why no poll comes, `output_trouble` why none is written. `next_try` is when a lost database is tried
    again, None if it is not lost, or is not tried again.
    """

    name: str
    every: float
    polls: int = 0
    last_poll: datetime | None = None
    waiting: int = 0
    given_up: int = 0
    trouble: str = ""
    output_trouble: str = ""
    next_try: datetime | None = None


class RunStatus(Struct, frozen=True):
    """One process. `written` is when it wrote this status, `output` where it writes its polls to, without secrets.

    `cpu_seconds` is its CPU time so far, `cpu_percent` its CPU use since the previous status, `memory_mb` its memory.
    """

    format: int
    command: str
    pid: int
    host: str
    version: str
    since: datetime
    written: datetime
    output: str
    cpu_seconds: float
    cpu_percent: float | None
    memory_mb: float
    databases: tuple[DatabaseStatus, ...] = ()


class FoundRun(Struct, frozen=True):
    """A run found on disk: its last status, and whether its process is alive."""

    status: RunStatus
    alive: bool


class RunLine(Struct, frozen=True):
    """One database of one run, now: a line of `presman status`. Ages are seconds.

    The process has written no status for `silent` seconds; a lost database is tried again in `retry_in` seconds.
    """

    run: RunStatus
    database: DatabaseStatus
    state: RunState
    runs_for: float
    age: float | None
    trouble: str
    silent: float
    retry_in: float | None = None


SILENCE = 30.0
"""Seconds without a status after which a process counts as hanging: it writes one every five."""

SLACK = 10.0
"""Seconds added before a poll counts as late: the status that is read may itself be that old."""


def lines_of(found: FoundRun, now: datetime) -> list[RunLine]:
    """Return a line for each database of a run; a single one without a name if it has no database."""
    run, lines = found.status, []
    runs_for = max(0.0, ((now if found.alive else run.written) - run.since).total_seconds())
    silent = max(0.0, (now - run.written).total_seconds())
    for each in run.databases or (DatabaseStatus("", 0.0),):
        age = None if each.last_poll is None else max(0.0, (now - each.last_poll).total_seconds())
        state, trouble = _state(found, each, runs_for, age, silent)
        next_try = each.next_try if state is RunState.LOST else None
        retry_in = None if next_try is None else max(0.0, (next_try - now).total_seconds())
        lines.append(RunLine(run, each, state, runs_for, age, trouble, silent, retry_in))
    return lines


def _state(
    found: FoundRun, database: DatabaseStatus, runs_for: float, age: float | None, silent: float
) -> tuple[RunState, str]:
    if not found.alive:
        return RunState.DIED, f"it was killed, or the machine went down; its last report was {spelled(silent)} ago"
    if silent > SILENCE:
        return RunState.HANGS, f"its process exists but has not reported for {silent:.0f} s"
    if database.output_trouble:
        return RunState.NOT_WRITTEN, database.output_trouble
    if database.trouble:
        return RunState.LOST, database.trouble
    late = 2 * database.every + SLACK
    if age is None:
        return (RunState.LATE, "no first poll yet") if runs_for > late + 30 else (RunState.STARTING, "")
    return (RunState.LATE, f"no poll for {age:.0f} s") if database.every and age > late else (RunState.RUNNING, "")


# ---- Status files: one for each run, rewritten every few seconds, in a private folder of the user.
# Each has a lock file beside it, which the process holds as long as it lives. The system releases the lock however the
# process ends. So the lock shows whether the process is alive; its ID may belong to another process by now.

LARGEST = 4 << 20
"""Bytes of a status file that are read."""

REMEMBERED = timedelta(days=1)
"""How long a run that died is listed, unless another replaces it."""

_FIRST_STATUS = 60.0
"""Seconds within which a process that holds its lock has written its first status."""


def folder() -> Path:
    """Return the folder of status files. Raises OSError."""
    return state_folder() / "running"


class StatusFile:
    """The status file of this process. Raises OSError if it cannot be created or written."""

    def __init__(self, command: str) -> None:
        name = f"{command}-{os.getpid()}-{secrets.token_hex(4)}"
        self._path = folder() / f"{name}.json"
        self._new = folder() / f".{name}.new"
        self._lock_path = folder() / f"{name}.lock"
        self._lock = self._locked()

    def _locked(self) -> int:
        lock = open_private(self._lock_path, 0)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return lock

    def write(self, status: RunStatus) -> None:
        """Replace the previous status, atomically. If its folder was removed, lock and status are created again."""
        is_there = False
        with suppress(FileNotFoundError):
            is_there = os.path.samestat(self._lock_path.stat(), os.fstat(self._lock))
        if not is_there:
            # The lock comes first: a status without it is that of a process that died.
            before, self._lock = self._lock, self._locked()
            os.close(before)
        with os.fdopen(open_private(self._new, os.O_TRUNC), "wb") as file:
            file.write(msgspec.json.encode(status))
        self._new.replace(self._path)

    def remove(self) -> None:
        """Remove the status: the run has ended normally. Never raises."""
        for path in (self._path, self._new, self._lock_path):
            with suppress(OSError):
                path.unlink()
        with suppress(OSError):
            os.close(self._lock)


def found_runs() -> list[FoundRun]:
    """Return the runs of this user, those that died recently included, the oldest first. Raises OSError.

    The files of runs that died long ago, or that another run has replaced, are removed.
    """
    found = sorted(_runs_on_disk(), key=lambda each: each[1].status.since)
    outputs = {_output_of(run.status) for _, run in found if run.alive}
    now = datetime.now(UTC)
    kept = []
    for path, run in found:
        if run.alive or (_output_of(run.status) not in outputs and now - run.status.written < REMEMBERED):
            kept.append(run)
        else:
            _forget(path)
    return kept


def other_writer(place: str, database: str) -> int | None:
    """Return the process of another run of this user that writes a database into a file or its folder, if known."""
    with suppress(OSError):
        for run in (found.status for found in found_runs() if found.alive and found.status.pid != os.getpid()):
            is_there = run.output in (place, os.path.dirname(place))  # noqa: PTH120 - it may be a URL
            if is_there and any(each.name == database for each in run.databases):
                return run.pid
    return None


def _output_of(status: RunStatus) -> tuple[str, str, tuple[str, ...]]:
    return status.command, status.output, tuple(each.name for each in status.databases)


def _runs_on_disk() -> Iterator[tuple[Path, FoundRun]]:
    directory = folder()
    try:
        paths = sorted(directory / name for name in os.listdir(directory) if name.endswith(".json"))  # noqa: PTH208
    except FileNotFoundError:
        return
    names = {path.stem for path in paths}
    for lock in directory.glob("*.lock"):  # of processes that were killed before they wrote a status
        with suppress(OSError):
            if lock.stem not in names and time.time() - lock.stat().st_mtime > _FIRST_STATUS and not _is_locked(lock):
                lock.unlink()
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


def _is_locked(path: Path) -> bool:
    try:
        lock = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        # A shared lock, so that two who ask at the same time do not take each other for the process.
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


EVERY = 5.0
"""Seconds between two statuses of a run."""

Statuses = Callable[[], Sequence[DatabaseStatus]]


@contextmanager
def reporting(command: str, output: str, statuses: Statuses, report: Report, every: float = EVERY) -> Iterator[None]:
    """Report this process to `presman status` while the body runs; `statuses` returns the status of its databases.

    If the file cannot be written, that is reported once, and the work goes on.
    """
    try:
        reporter = _Reporter(command, output, statuses, report, every)
    except OSError as error:
        _complain(error, report)
        yield
        return
    reporter.start()
    try:
        yield
    finally:
        reporter.end()


class _Reporter:
    def __init__(self, command: str, output: str, statuses: Statuses, report: Report, every: float) -> None:
        self._command, self._output, self._statuses = command, output, statuses
        self._report, self._every = report, every
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
        with suppress(OSError):
            found_runs()  # forgets the runs that died and that this one replaced, before it is forgotten itself
        self._file.remove()

    def _run(self) -> None:
        complained = False
        while True:
            try:
                self._file.write(self._status())
                complained = False
            except OSError as error:
                if not complained:
                    _complain(error, self._report)
                complained = True
            if self._ended.wait(self._every):
                return

    def _status(self) -> RunStatus:
        now, cpu = time.monotonic(), cpu_seconds()
        then, before = self._before
        if now - then >= min(1.0, self._every / 2):  # over a shorter time the percentage would mean nothing
            self._percent = 100 * (cpu - before) / (now - then)
            self._before = now, cpu
        percent = None if self._percent is None else round(self._percent, 1)
        return RunStatus(
            format=FORMAT,
            command=self._command,
            pid=os.getpid(),
            host=platform.node(),
            version=__version__,
            since=self._since,
            written=datetime.now(UTC),
            output=self._output,
            cpu_seconds=round(cpu, 2),
            cpu_percent=percent,
            memory_mb=round(memory_mb(), 1),
            databases=tuple(self._statuses()),
        )


def _complain(error: OSError, report: Report) -> None:
    where = error.filename or "its file"
    text = f"presman status cannot show this run: {where}: {error.strerror or error}"
    report(LogEvent("no_status", text, "warning"))


# ---- Cost of this process: CPU and memory.


def cpu_seconds() -> float:
    """Return the CPU seconds used so far, of all threads, in user code and in the system."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def memory_mb() -> float:
    """Return the memory in use, in MB; the peak if the system does not report it."""
    if (in_use := bytes_of_process(IN_USE)) is not None:
        return in_use / 2**20
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (2**20 if sys.platform == "darwin" else 2**10)
