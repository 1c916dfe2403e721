"""The wait events by which Resource Manager shows, and whether a session of V$SESSION waits at all.

V$SESSION.EVENT is what a session waits for only while its STATE is WAITING; else it is its last wait, and the session
is on CPU. Everything that speaks of what a session waits for asks here.
"""

from __future__ import annotations

NEXT_IN_LINE = "PX Queuing: statement queue"
"""What the first of the queue waited for before 11.2.0.2."""

QUEUE_WAITS = frozenset({"resmgr:pq queued", NEXT_IN_LINE, "enq: JX - SQL statement queue"})
"""What sessions in the parallel queue wait for: the first since 11.2.0.2; before, the next in line and the others."""

POOL_WAIT = "resmgr:become active"
"""What sessions wait for while the active session pool of their group is full, or the database is quiesced."""

QUIESCE_WAIT = "wait for possible quiesce finish"
"""What the session waits for that quiesces the database (ALTER SYSTEM QUIESCE RESTRICTED), until nobody is active."""

QUIESCE_PLAN = "INTERNAL_QUIESCE"
"""The plan that is in force while the database is quiesced: all but SYS and SYSTEM wait for POOL_WAIT then, too."""

ON_CPU = "on CPU"
"""What a session in a call that waits for nothing is said to do; it may stand in the host's run queue."""

_QUANTUM = "resmgr:cpuquantum"
_WAITING_FOR_CPU = "WAITING FOR CPU"
"""V$RSRC_SESSION_INFO.STATE of a session that is ready to run and may not."""


def is_quantum(event: str) -> bool:
    """Tell whether an event is that of sessions held off CPU: manuals and views write it with and without a blank."""
    return event.startswith("resmgr:") and event.replace(" ", "") == _QUANTUM


def is_waiting(state: str) -> bool:
    """Tell whether a session waits now; a listing without STATE does not tell."""
    return state == "WAITING"


def doing(event: str, state: str, status: str) -> str:
    """Return what a session does now, by V$SESSION: the event it waits for, ON_CPU, or "" where nothing is known.

    Without STATE (a listing that lacks the column) an event in a call may be the last wait, and that is said.
    """
    if state == "WAITING":
        return event
    if state:
        return ON_CPU if status in {"ACTIVE", ""} else ""
    if status == "ACTIVE":
        return f"{event} (or {ON_CPU})" if event else ON_CPU
    return event


def blocker(state: str, inst_id: int, blocking_instance: int | None, blocking_session: int | None) -> str:
    """Return whom a session waits for as ``instance:SID`` (V$SESSION.BLOCKING_SESSION), "" if for nobody now."""
    if not blocking_session or not is_waiting(state):
        return ""
    return f"{blocking_instance or inst_id}:{blocking_session}"


def is_queued(event: str, state: str) -> bool:
    """Tell whether a session waits in the parallel queue; a listing that names the event alone is believed."""
    return event in QUEUE_WAITS and state in {"WAITING", ""}


def is_pooled(event: str, state: str) -> bool:
    """Tell whether a session waits for a place in its group's active session pool."""
    return event == POOL_WAIT and state in {"WAITING", ""}


def is_held(event: str, state: str, managed: str) -> bool:
    """Tell whether Resource Manager holds a session off CPU now.

    `event` and `state` are V$SESSION's. `managed` is V$RSRC_SESSION_INFO.STATE, which decides where V$SESSION.STATE is
    not known: a published 11.1 listing shows the event as last wait of five sessions that run, and of one that waits.
    """
    if state:
        return state == "WAITING" and is_quantum(event)
    return managed == _WAITING_FOR_CPU
