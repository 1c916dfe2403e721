"""Remarks on a session for a user who is about to send it a command, with its changes meanwhile. Pure."""

from operator import attrgetter
from typing import NamedTuple

from presman.analysis.advice.ending import ends_in
from presman.analysis.advice.to_do import to_do
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import ParallelStatement, QueuedStatement, RunningStatement
from presman.base.formats import counted, duration, in_about, listed

SessionRow = ParallelStatement | SessionReading
"""A row of a table that represents a session."""

_identity = attrgetter("inst_id", "sid", "serial")


class _Session(NamedTuple):
    """A session's statements in a reading: the queued one and the running ones."""

    queued: QueuedStatement | None
    running: tuple[RunningStatement, ...]

    @property
    def state(self) -> tuple[bool, bool]:
        """Whether it is queued, and whether it holds servers."""
        return self.queued is not None, bool(self.running)


def remarks(row: SessionRow, reading: Reading, before: Reading | None = None) -> tuple[str, ...]:
    """Return remarks on a session, and on its changes since the reading `before`."""
    found = _session(row, reading)
    told = [
        "" if before is None else _meanwhile(_session(row, before), found, reading),
        "" if found.queued is None else _of_queued(found.queued, found.running, reading),
        _named_by_do(row, reading),
        _blocked(row, reading),
    ]
    if found.running and (left := ends_in(found.running[0])) is not None:
        told.append(f"It should end by itself {in_about(left)}.")
    if (kind := getattr(row, "kind", None)) is not None:
        told.append(f"It is {kind.name}: if it is ended, {kind.loss}.")
    return tuple(filter(None, told))


def _session(row: SessionRow, reading: Reading) -> _Session:
    mine = _identity(row)
    queued = next((each for each in reading.queue if _identity(each) == mine), None)
    return _Session(queued, tuple(each for each in reading.running if _identity(each) == mine))


def _meanwhile(before: _Session, now: _Session, reading: Reading) -> str:
    """Return the changes since the dialog opened, "" if there are none or the views are unavailable."""
    if before.state == now.state or reading.why_unavailable("V$SESSION") or reading.why_unavailable("V$PX_SESSION"):
        return ""
    holds = "it holds servers now" if now.running else "it holds no servers now"
    if before.queued is None:
        return f"Meanwhile {holds if now.queued is None else 'it is queued with another statement'}: Esc leaves."
    if now.queued is None:
        return f"Meanwhile it has left the queue, and {holds}: nothing would be sent. Esc leaves."
    return ""


def _of_queued(row: QueuedStatement, running: tuple[RunningStatement, ...], reading: Reading) -> str:
    """Return how long it has been queued, and the servers that its end would free."""
    waits = "It is queued" if row.waited is None else f"It has been queued for {duration(row.waited)}"
    if reading.why_unavailable("V$PX_SESSION"):
        return f"{waits}; what its session holds is not known."
    if held := sum(each.servers for each in running):
        return f"{waits}, and its session holds {counted(held, 'server')} with another statement."
    return f"{waits} and holds no servers: ending it frees none."


def _named_by_do(row: SessionRow, reading: Reading) -> str:
    """Return the sessions that the DO line says to end, "" if it names this session or none."""
    step = to_do(reading)
    victims = {each.victim[:3] for each in step.commands} if step is not None else set()
    if not victims or _identity(row) in victims:
        return ""
    names = [each.who for each in reading.running if _identity(each) in victims]
    return f"DO names {listed(list(dict.fromkeys(names)))}, not this one."


def _blocked(row: SessionRow, reading: Reading) -> str:
    if not (blocker := getattr(row, "blocker", "")):
        return ""
    session = next((each for each in reading.sessions if f"{each.inst_id}:{each.sid}" == blocker), None)
    name = f"{session.user} {blocker}, {session.status.lower()}" if session is not None else f"session {blocker}"
    return f"It is blocked by {name}: look at that session first."
