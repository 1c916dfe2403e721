"""Activity of simulated sessions: what each does at one moment, as V$SESSION tells it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from presman.base.release import Release
from presman.sources.simulator.counters import reading_events
from presman.sources.simulator.executions import Execution, Phase, SessionStream
from presman.sources.simulator.machine import RATE_LIMIT
from presman.sources.simulator.processes import Server

_GOLDEN = 0.6180339887


class SessionActivity(NamedTuple):
    """What a session does at this moment: V$SESSION's columns, and V$RSRC_SESSION_INFO's STATE for it."""

    status: str
    event: str
    wait_class: str
    state: str
    wait_micro: int
    rsrc_state: str
    active: str = "TRUE"


def micro(seconds: float) -> int:
    """Return seconds as microseconds, whole and never negative."""
    return max(0, int(seconds * 1e6))


def ms(seconds: float) -> int:
    """Return seconds as whole milliseconds."""
    return int(seconds * 1000)


def idle_for(seconds: float) -> SessionActivity:
    """Return what a session shows whose client has asked nothing for so long."""
    return SessionActivity(
        "INACTIVE", "SQL*Net message from client", "Idle", "WAITING", micro(seconds), "IDLE", "FALSE"
    )


def _held_off(part: float) -> SessionActivity:
    return SessionActivity(
        "ACTIVE", "resmgr:cpu quantum", "Scheduler", "WAITING", micro(0.02 + 0.35 * part), "WAITING FOR CPU"
    )


def _reading(event: str, part: float) -> SessionActivity:
    return SessionActivity("ACTIVE", event, "User I/O", "WAITING", micro(0.0004 + 0.002 * part), "WAITING_FOR_IO")


def _held_back(part: float) -> SessionActivity:
    return SessionActivity("ACTIVE", RATE_LIMIT, "Scheduler", "WAITING", micro(0.002 + 0.03 * part), "WAITING_FOR_IO")


def on_cpu(event: str, part: float) -> SessionActivity:
    """Return what a session on CPU shows: the event it waited for last, a moment ago."""
    return SessionActivity("ACTIVE", event, "User I/O", "WAITED SHORT TIME", micro(0.0001 + 0.0004 * part), "RUNNING")


def dequeues(event: str, part: float, seconds: float = 1.0) -> SessionActivity:
    """Return what a parallel server or coordinator shows that waits for the others, for a part of so many seconds."""
    return SessionActivity("ACTIVE", event, "Idle", "WAITING", micro(part * seconds), "WAITING")


def _waits_for(seconds: float, event: str, wait_class: str) -> SessionActivity:
    return SessionActivity("ACTIVE", event, wait_class, "WAITING", micro(seconds), "WAITING")


def _blocked(seconds: float) -> SessionActivity:
    return _waits_for(seconds, "enq: TM - contention", "Application")


def pool_doings(pool: SessionStream, storage: str) -> Iterator[tuple[int, SessionActivity, float]]:
    """Yield (session, what it does, a number 0..1 that is its own): turns change, the counts are the pool's."""
    number = len(pool.sessions)
    event = reading_events(storage)[0]
    using, waiting, reading, held_back = pool.split()
    offset = int(pool.turn * number)
    for turn in range(number):
        index = (turn * 7 + offset) % number if number % 7 else (turn + offset) % number
        part = (turn * _GOLDEN + pool.turn) % 1.0
        if turn < using:
            yield index, on_cpu(event, part), part
        elif turn < using + waiting:
            yield index, _held_off(part), part
        elif turn < using + waiting + reading:
            yield index, _reading(event, part), part
        elif turn < using + waiting + reading + held_back:
            yield index, _held_back(part), part
        else:
            yield index, idle_for(part * pool.cycle), part


TELLS_THE_QUEUE = Release(19)
"""From which release V$RSRC_SESSION_INFO is taken to show PQ_SERVERS and a STATE of its own for queued statements."""


def coordinator(execution: Execution, now: float, scan: str, release: Release) -> SessionActivity:
    """Return what the coordinator of a parallel statement does; `scan` is the event of its reads."""
    since = now - execution.queued_at
    match execution.phase:
        case Phase.POOL:
            return SessionActivity("ACTIVE", "resmgr:become active", "Scheduler", "WAITING", micro(since), "QUEUED")
        case Phase.QUEUED:
            state = "PQ QUEUED" if release >= TELLS_THE_QUEUE else "WAITING"
            return SessionActivity("ACTIVE", "resmgr:pq queued", "Scheduler", "WAITING", micro(since), state)
        case Phase.HOLDING:
            idle = idle_for(now - execution.held_since)
            state = "EXITING" if execution.status == "KILLED" else idle.rsrc_state
            return idle._replace(status=execution.status, rsrc_state=state)
    return _running(execution, now, scan)


def _running(execution: Execution, now: float, scan: str) -> SessionActivity:
    """Return what the session of a statement does that runs."""
    if execution.waits_for:
        return _waits_for(now - execution.started, execution.waits_for, "Administrative")
    if execution.blocker is not None and not execution.servers_blocked:
        return _blocked(now - execution.started)
    part = (execution.number * _GOLDEN + int(now) * 0.37) % 1.0
    if execution.servers:
        return dequeues("PX Deq: Execute Reply", part)
    return _at_work(execution, part, scan)


def _at_work(execution: Execution, part: float, scan: str) -> SessionActivity:
    """Return what a process that works for a statement does: computes, reads, or is held off CPU or I/O."""
    if part >= execution.fraction:
        return _held_off(part)
    at_work = execution.fraction * execution.pace
    if part >= at_work:
        return _held_back(part)
    return on_cpu(scan, part) if part < at_work * execution.cpu_each else _reading(scan, part)


def of_server(execution: Execution, server: Server, now: float, scan: str) -> SessionActivity:
    """Return what one parallel server of a statement does."""
    part = (server.position * _GOLDEN + server.set * 0.29 + int(now) * 0.41) % 1.0
    if execution.phase is Phase.HOLDING:
        held = now - execution.held_since
        return SessionActivity("ACTIVE", "PX Deq: Execution Msg", "Idle", "WAITING", micro(held), "WAITING")
    if execution.servers_blocked:
        return _blocked(now - execution.started)
    if execution.blocker is not None:
        return dequeues("PX Deq: Execution Msg", part)
    scanning = 2 if execution.ticket.sets == 2 and execution.left > 0.35 * execution.work else 1
    if server.set != scanning:
        event = "PX Deq: Table Q Normal" if server.set < scanning else "PX Deq Credit: send blkd"
        return dequeues(event, part, 0.2)
    return _at_work(execution, part, scan)
