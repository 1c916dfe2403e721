"""Status of a run: what a command says of itself, and what becomes of that when it is read."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

from msgspec import Struct

from presman.base.formats import spelled

FORMAT = 1
"""Grows when a name changes its meaning or goes away; new names come without notice."""


class RunState(Enum):
    """How a database of a run is."""

    RUNNING = "running"
    STARTING = "starting"
    LATE = "late"
    LOST = "lost"
    NOT_WRITTEN = "not written"
    HANGS = "hangs"
    DIED = "died"


class DatabaseStatus(Struct, frozen=True):
    """One database of a run.

    `polls` were written, `last_poll` is when the newest came, by the clock of this machine; `every` are the seconds
    between two. `waiting` are polls that are not written yet, `given_up` those that never will be. `trouble` says in
    one line why none comes, `output_trouble` why none is written; `next_try` is when a database that is lost is tried
    next, None where it is not lost, or not tried again.
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
    """One process. `written` is when it said so; `cpu_seconds` and `memory_mb` are what it has cost so far, and takes.

    `cpu_percent` is its CPU since it said so the time before. `output` is where it writes to, without secrets.
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
    """A run as it was found: what it said last, and whether its process is there."""

    status: RunStatus
    alive: bool


class RunLine(Struct, frozen=True):
    """One database of one run, now: what `presman status` has a line for. Ages are seconds.

    `said` is how old the word of the process is that all of it rests on; `retry_in` is in how many seconds a lost
    database is tried again.
    """

    run: RunStatus
    database: DatabaseStatus
    state: RunState
    runs_for: float
    age: float | None
    trouble: str
    said: float
    retry_in: float | None = None


SILENCE = 30.0
"""Seconds after which a process that says nothing hangs: it does so every five."""

SLACK = 10.0
"""Seconds that a poll may be late besides: what is read may be as old as the last time the process said something."""


def lines_of(found: FoundRun, now: datetime) -> list[RunLine]:
    """Return a line for each database of a run; of one that has none, one without a name."""
    run = found.status
    runs_for = max(0.0, ((now if found.alive else run.written) - run.since).total_seconds())
    databases = run.databases or (DatabaseStatus("", 0.0),)
    return [_line(found, each, runs_for, now) for each in databases]


def _line(found: FoundRun, database: DatabaseStatus, runs_for: float, now: datetime) -> RunLine:
    age = None if database.last_poll is None else max(0.0, (now - database.last_poll).total_seconds())
    state, trouble = _state(found, database, runs_for, age, now)
    next_try = database.next_try if state is RunState.LOST else None
    retry_in = None if next_try is None else max(0.0, (next_try - now).total_seconds())
    return RunLine(found.status, database, state, runs_for, age, trouble, _silent(found.status, now), retry_in)


def _silent(run: RunStatus, now: datetime) -> float:
    return max(0.0, (now - run.written).total_seconds())


def _state(
    found: FoundRun, database: DatabaseStatus, runs_for: float, age: float | None, now: datetime
) -> tuple[RunState, str]:
    silent = _silent(found.status, now)
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
