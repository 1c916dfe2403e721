"""Decision whether a session may be ended: the one function that says which commands are offered, or why none is.

Everything that offers a command goes through :func:`ending`: the line DO, the ways to start a head, the keys that copy,
the dialog, report and JSON. :func:`objection` tells what speaks against DO naming a session, which asks for more: that
nothing is lost, and that it is proven to help.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from math import inf

from msgspec import Struct

from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import ParallelStatement, RunningStatement
from presman.base.formats import in_about
from presman.base.release import Release
from presman.rows.commands import Command, Victim, for_queued, to_end
from presman.rows.session_rows import IDLE_STATUSES
from presman.rows.session_state import SessionKind

LONG_IDLE = 120.0
"""Seconds of idleness from which a holder is no longer taken for one that pauses between two fetches."""

NEARLY_DONE = 30.0
"""Seconds left up to which a statement is waited for: to decide and to end a session takes as long, KILL even 60."""

PATIENCE = 600.0
"""Seconds within which Oracle's own end of an idle session takes the place of a command."""

WORKS = "its work would be lost"
"""What speaks against the end of a statement that works."""

KILLED, SNIPED = "KILLED", "SNIPED"
"""V$SESSION.STATUS of a session that was killed and is being cleaned up, and of one that was idle for longer than its
profile allows (IDLE_TIME): that one keeps what it holds until its client's next call."""


class Ending(Struct, frozen=True):
    """The commands that act on a session, the gentlest first, or why none is offered (`refused`, "" where one is)."""

    commands: tuple[Command, ...] = ()
    refused: str = ""


def ending(row: ParallelStatement | SessionReading, reading: Reading) -> Ending:
    """Return what may be offered to end a session, or to start it where it is queued."""
    if refused := refusal(row):
        return Ending(refused=refused)
    victim = victim_of(row)
    release, autonomous = release_of(reading), reading.header.autonomous
    if victim.queued:
        found = for_queued(victim, release, autonomous=autonomous)
    else:
        found = to_end(victim, release, idle=_executes_nothing(row), autonomous=autonomous)
    return Ending(found, "" if found else "its SID and SERIAL# are not known")


def refusal(row: ParallelStatement | SessionReading) -> str:
    """Return which test a session fails, so that no command is offered for it; "" if none."""
    return next(_refusals(row), "")


def _refusals(row: ParallelStatement | SessionReading) -> Iterator[str]:
    """Yield the tests that a session fails: then no command ends it, or none is needed."""
    running = row if isinstance(row, RunningStatement) else None
    if running is not None and running.orphaned:
        yield f"it is gone with instance {running.inst_id}, so there is no session to end"
    if running is not None and running.outdated:
        yield f"{running.outdated} has not answered now, so this may be over"
    if running is not None and not running.seen:
        yield "V$SESSION has no row for its coordinator, so its user is not known"
    kind = row.kind if isinstance(row, RunningStatement | SessionReading) else None
    if kind is not None and kind.is_background:
        yield _background(kind)
    if row.status == KILLED:
        yield "it is already marked for kill and is being cleaned up"
    if running is not None and not running.certain:
        yield "it may be a monitor's GV$ query; no view shows which"
    if running is not None and running.idle is not None and ends_in(running) is not None:
        yield f"Oracle ends it {in_about(running.oracle_ends_in)} ({running.ended_by})"


def _background(kind: SessionKind) -> str:
    """Return the sentence about a background process that holds servers."""
    if kind.name == "SMON":
        return "SMON is rolling back a transaction; that ends by itself"
    return f"{kind.name} is a background process, and no command ends it"


def objection(statement: RunningStatement) -> str:
    """Return why DO does not name a statement to be ended, "" if nothing speaks against it.

    It names idle sessions only, idle for longer than a pause between two fetches, who lose nothing but the cursor.
    """
    return refusal(statement) or next(_objections(statement), "")


def _objections(each: RunningStatement) -> Iterator[str]:
    if each.blocker:
        yield f"it waits for {each.blocker}: look at that session first"
    if each.kind is not None:
        yield f"it is {each.kind.name}: if it is ended, {each.kind.loss}"
    if each.queued:
        yield "its session is also queued, with another statement"
    if (left := ends_in(each)) is not None:
        yield f"it should end by itself {in_about(left)}"
    if (left := step_left(each)) is not None:
        yield f"it may end by itself {in_about(left)}"
    if each.idle is None:
        yield WORKS
    elif words := pause(each):
        yield words


def idle_to_end(reading: Reading) -> tuple[RunningStatement, ...]:
    """Return the idle holders against whose end nothing speaks, those with most servers first."""
    found = [each for each in reading.running if each.idle is not None and not objection(each)]
    return tuple(sorted(found, key=lambda each: -each.servers))


def pause(each: RunningStatement) -> str:
    """Return that an idle holder may only pause between two fetches, "" where it is idle for too long for that."""
    if each.idle is None or each.idle >= LONG_IDLE or each.status == SNIPED:
        return ""
    return f"idle {each.idle_time}, so perhaps between two fetches"


_TENTH = 0.1


def saves_enough(through: float, otherwise: float) -> bool:
    """Whether an end that lets the last now queued start sooner saves what matters: not less than it takes to decide,
    and not less than a tenth of the time that is left.
    """
    return through < inf and otherwise - through >= max(NEARLY_DONE, _TENTH * otherwise)


def time_left(statement: RunningStatement) -> float | None:
    """Return in how many seconds a statement should give its servers back by itself, None where that is not known.

    V$SESSION_LONGOPS tells of the operation at work, so the plan must show that it is the last. An idle session goes on
    until its client does something, or Oracle ends it.
    """
    if statement.idle is not None:
        return statement.oracle_ends_in
    return statement.remaining if statement.is_last else None


def ends_in(statement: RunningStatement) -> float | None:
    """Return in how many seconds a statement should end by itself, None unless one waits for it."""
    left = time_left(statement)
    soon = NEARLY_DONE if statement.idle is None else PATIENCE
    return left if left is not None and left <= soon else None


def step_left(statement: RunningStatement) -> float | None:
    """Return in how many seconds the step is done with which a statement may end by itself, None unless that is soon.

    Of a step that is known to be the last, :func:`ends_in` tells.
    """
    may_be_last = statement.comes_nearer and statement.idle is None and not statement.is_last
    left = statement.remaining if may_be_last else None
    return left if left is not None and left <= NEARLY_DONE else None


def lost(statement: RunningStatement) -> float | None:
    """Return the work that a statement's end throws away in server seconds, None where that is not known.

    Where it is not known since when it executes, its session has worked for LAST_CALL_ET at least.
    """
    if statement.idle is not None:
        return 0.0
    if refusal(statement):
        return None  # whose end throws nothing away, for nobody ends it
    worked = statement.last_call if statement.elapsed is None else statement.elapsed
    return None if worked is None else statement.servers * worked


def release_of(reading: Reading) -> Release | None:
    """Return the database's release, None where V$INSTANCE could not be read."""
    return _release(reading.header.version)


@lru_cache(maxsize=8)
def _release(version: str) -> Release | None:
    try:
        return Release.parse(version)
    except ValueError:
        return None


def victim_of(row: ParallelStatement | SessionReading) -> Victim:
    """Return the session of a row as it is seen there: what it is held to before anything is sent to it."""
    session = row.inst_id, row.sid, row.serial
    if isinstance(row, RunningStatement):
        return Victim(*session, row.session_sql_id, row.status, row.exec_id)
    if isinstance(row, SessionReading):
        return Victim(*session, row.sql_id, row.status, row.exec_id, queued=row.px_role == "queued")
    return Victim(*session, row.sql_id, row.status or "ACTIVE", row.exec_id, queued=True)


def _executes_nothing(row: ParallelStatement | SessionReading) -> bool:
    """Whether nothing could be cancelled. What a coordinator executes is cancelled only if it is that statement."""
    if isinstance(row, RunningStatement):
        return row.idle is not None or row.session_sql_id != row.sql_id
    return row.status in IDLE_STATUSES
