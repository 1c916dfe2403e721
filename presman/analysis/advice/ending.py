"""Decision whether a session may be ended: one function returns the commands to offer, or why there are none.

Everything that offers a command calls :func:`ending`: the line DO, the ways to start a head, the keys that copy, the
dialog, report and JSON. :func:`objection` returns why DO does not name a session. DO requires more: that no
work is lost, and that the end is proven to help.
"""

from collections.abc import Iterator
from functools import lru_cache
from math import inf

from msgspec import Struct

from presman.analysis.readings.forecast_readings import EndingEffect
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import ParallelStatement, QueueHead, RunningStatement, is_known
from presman.base.formats import duration, in_about
from presman.base.release import Release
from presman.rows.commands import Command, CommandKind, Victim, for_queued, is_session_number, to_end
from presman.rows.session_rows import IDLE_STATUSES
from presman.rows.session_state import SessionKind

LONG_IDLE = 120.0
"""Idle seconds after which a holder is no longer assumed to pause between two fetches."""

NEARLY_DONE = 30.0
"""The largest time left, in seconds, for which to wait: to decide and end a session takes as long, KILL even 60."""

PATIENCE = 600.0
"""If Oracle itself ends an idle session within so many seconds, no command is offered."""

WORKS = "its work would be lost"
"""The objection to ending a statement that works."""

_MAY_BE_OVER = "this may be over"

KILLED, SNIPED = "KILLED", "SNIPED"
"""V$SESSION.STATUS of a killed session that is being cleaned up, and of a session that was idle longer than its profile
allows (IDLE_TIME): the latter keeps its servers and locks until its client's next call."""


class Ending(Struct, frozen=True):
    """The commands that act on a session, the gentlest first, or why none is offered (`refused`, else "")."""

    commands: tuple[Command, ...] = ()
    refused: str = ""


def ending(row: ParallelStatement | SessionReading, reading: Reading) -> Ending:
    """Return the commands offered to end a session, or to start its statement if it is queued."""
    if refused := refusal(row) or _read_before(row, reading):
        return Ending(refused=refused)
    victim = victim_of(row)
    release, autonomous = release_of(reading), reading.header.autonomous
    if victim.queued:
        found = for_queued(victim, release, autonomous=autonomous)
        if _would_be_downgraded(victim, reading):
            found = tuple(each for each in found if each.kind is not CommandKind.DEQUEUE)
    else:
        found = to_end(victim, release, idle=_executes_nothing(row), autonomous=autonomous)
    return Ending(found)


def _would_be_downgraded(victim: Victim, reading: Reading) -> bool:
    """Whether a queued statement, if it starts now, finds fewer servers where it may run than it certainly wants."""
    session = (victim.inst_id, victim.sid, victim.serial)
    found = next((each for each in reading.queue if each.executing()[:3] == session), None)
    wants, left = None, reading.header.servers.left()
    if found is not None:
        wants = found.wants
        left = left if found.servers_left is None else found.servers_left
    return left < (wants.low if is_known(wants) else 1)


def refusal(row: ParallelStatement | SessionReading) -> str:
    """Return the check that a session fails, so that no command is offered for it; "" if it passes all."""
    return next(_refusals(row), "")


def _refusals(row: ParallelStatement | SessionReading) -> Iterator[str]:
    """Yield the checks that a session fails: then no command can end it, or none is needed."""
    running = row if isinstance(row, RunningStatement) else None
    if running is not None and running.orphaned:
        yield f"it is gone with instance {running.inst_id}, so there is no session to end"
    if running is not None and running.outdated:
        shows_it = running.outdated.endswith(("V$SESSION", "V$PX_SESSION"))
        so = _MAY_BE_OVER if shows_it else "what the limits count is not known"
        yield f"{running.outdated} did not answer, so {so}"
    if running is not None and not running.seen:
        yield "V$SESSION has no row for its coordinator, so its user is not known"
    if running is not None and running.seen and not running.status:
        yield "whether it is idle is not known (V$SESSION lacks its STATUS)"
    kind = row.kind if isinstance(row, RunningStatement | SessionReading) else None
    if kind is not None and kind.is_background:
        yield _background(kind, running)
    if row.status == KILLED:
        yield "it is already marked for kill and is being cleaned up"
    if running is not None and not running.certain:
        yield "it may be a monitor's GV$ query; no view shows which"
    if running is not None and running.idle is not None and ends_in(running) is not None:
        yield f"Oracle ends it {in_about(running.oracle_ends_in)} ({running.ended_by})"
    if running is not None and running.seen and (lacks := _unnamed(running)):
        yield f"V$SESSION does not show its {lacks}, so whether it is SYS, RMAN or a job is not known"
    if not all(map(is_session_number, victim_of(row)[:3])):
        yield "its SID and SERIAL# are not known"


def _unnamed(running: RunningStatement) -> str:
    """Return the columns without a value that decide what a session is. A MODULE alone shows no more than PROGRAM."""
    named = {"USERNAME": running.user, "PROGRAM": running.program}
    return " and ".join(column for column, value in named.items() if not value)


def _read_before(row: ParallelStatement | SessionReading, reading: Reading) -> str:
    """Return the sentence that a row of V$SESSION is from an earlier poll; for a holder, `outdated` shows it."""
    silent = "" if isinstance(row, RunningStatement) else reading.unanswered("V$SESSION")
    return f"{silent} did not answer, so {_MAY_BE_OVER}" if silent else ""


def _background(kind: SessionKind, running: RunningStatement | None) -> str:
    """Return the sentence about a background process, with SMON's rollback progress if it holds servers."""
    if kind.name == "SMON":
        done = "" if running is None or running.progress is None else f" ({100 * running.progress:.0f} % done)"
        return f"it rolls back a transaction{done}, which ends by itself"
    return "it is a background process, and no command ends it"


def objection(statement: RunningStatement) -> str:
    """Return why DO does not name a statement to be ended, "" if nothing speaks against it.

    DO names only sessions that have been idle longer than a pause between two fetches and lose nothing but the cursor.
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
    """Return the idle holders without an objection to ending them, most servers first."""
    found = [each for each in reading.running if each.idle is not None and not objection(each)]
    return tuple(sorted(found, key=lambda each: -each.servers))


def pause(each: RunningStatement) -> str:
    """Return the sentence that an idle holder may only pause between two fetches, "" if it is idle for too long."""
    if each.idle is None or each.idle >= LONG_IDLE or each.status == SNIPED:
        return ""
    return f"idle {each.idle_time}, so perhaps between two fetches"


def saves_enough(through: float, otherwise: float) -> bool:
    """Return whether ending a session saves enough time for the last statement now queued.

    That is at least the time it takes to decide, and at least a tenth of the time that is left.
    """
    return through < inf and otherwise - through >= max(NEARLY_DONE, 0.1 * otherwise)


def saves_little(effect: EndingEffect | None) -> bool:
    """Return whether the forecast says that an end saves less than the time it takes to decide."""
    return effect is not None and effect.sooner is not None and effect.sooner < NEARLY_DONE and not effect.proven


SAVES_LITTLE = f"ending it should save less than {duration(NEARLY_DONE)}"


def time_left(statement: RunningStatement) -> float | None:
    """Return the seconds after which a statement should release its servers by itself, None if not known.

    V$SESSION_LONGOPS shows the running operation, so the plan must show that it is the last. An idle session stays
    until its client does something, or Oracle ends it.
    """
    if statement.idle is not None:
        return statement.oracle_ends_in
    return statement.remaining if statement.is_last else None


def ends_in(statement: RunningStatement) -> float | None:
    """Return the seconds after which a statement should end by itself, None unless that is soon enough to wait for."""
    left = time_left(statement)
    soon = NEARLY_DONE if statement.idle is None else PATIENCE
    return left if left is not None and left <= soon else None


def step_left(statement: RunningStatement, within: float = NEARLY_DONE) -> float | None:
    """Return the seconds until the step with which a statement may end by itself is done, None if not so soon.

    For a step that is known to be the last, use :func:`ends_in`.
    """
    return None if statement.is_last else work_left(statement, within)


def work_left(statement: RunningStatement, within: float = inf) -> float | None:
    """Return the seconds after which a statement that works should or may end, None if not known, or not so soon."""
    ends = statement.is_last or statement.comes_nearer
    left = statement.remaining if ends and statement.idle is None else None
    return left if left is not None and left <= within else None


def starts_soon(head: QueueHead, reading: Reading) -> float | None:
    """Return the seconds within which a head should start by its forecast, None unless that is soon."""
    starts = reading.trusted_start(head)
    latest = None if starts is None else starts.high
    return latest if latest is not None and latest <= NEARLY_DONE else None


def may_end_within(statement: RunningStatement, seconds: float) -> bool:
    """Whether a statement may end so soon: not if it is idle or waits for a session, or has far more left to do."""
    if statement.idle is not None:
        left = time_left(statement)
        return left is not None and left <= seconds
    is_held = bool(statement.blocker) or statement.orphaned
    return not is_held and (statement.remaining is None or statement.remaining <= 2 * seconds)  # it is an estimate


def end_is_late(statement: RunningStatement) -> bool:
    """Whether a statement should have ended by now, or seemed to end soon and its end comes no nearer."""
    left = statement.remaining
    return statement.overdue or (left is not None and left <= NEARLY_DONE and not statement.comes_nearer)


def lost(statement: RunningStatement) -> float | None:
    """Return the work that a statement's end throws away in server seconds, None if not known.

    If the start of its execution is not known, its session has worked for at least LAST_CALL_ET.
    """
    if statement.idle is not None:
        return 0.0
    if refusal(statement):
        return None  # it cannot be ended, so no work can be lost
    worked = statement.last_call if statement.elapsed is None else statement.elapsed
    return None if worked is None else statement.servers * worked


def release_of(reading: Reading) -> Release | None:
    """Return the database's release, None if V$INSTANCE could not be read."""
    return _release(reading.header.version)


@lru_cache(maxsize=8)
def _release(version: str) -> Release | None:
    try:
        return Release.parse(version)
    except ValueError:
        return None


def victim_of(row: ParallelStatement | SessionReading) -> Victim:
    """Return the session of a row as the row shows it. Before a command is sent, the session is compared with this."""
    session = row.inst_id, row.sid, row.serial
    if isinstance(row, RunningStatement):
        return Victim(*session, row.session_sql_id, row.status, row.exec_id)
    if isinstance(row, SessionReading):
        return Victim(*session, row.sql_id, row.status, row.exec_id, queued=row.px_role == "queued")
    return Victim(*session, row.sql_id, row.status or "ACTIVE", row.exec_id, queued=True)


def _executes_nothing(row: ParallelStatement | SessionReading) -> bool:
    """Whether there is nothing to cancel: the coordinator is idle, or executes another statement."""
    if isinstance(row, RunningStatement):
        return row.idle is not None or row.session_sql_id != row.sql_id
    return row.status in IDLE_STATUSES
