"""Knowledge of wait events for reading a trace: which are idle, and which parameter counts blocks."""

from __future__ import annotations

import fnmatch
import re

from msgspec import Struct

REDO_WRITE = "log file parallel write"
"""The redo writer's write to all members of a log group: the event summarised by default."""

_FOR_CLIENT = "waits for the client to ask"
_FOR_WORK = "a background process waits for work"
_FOR_TIMER = "a background process waits for its timer"
_FOR_PARTNER = "a parallel execution process waits for its partner"
_FOR_QUEUE = "waits for a message in a queue"
_FOR_REDO = "waits for redo to arrive"

_IDLE_BY_REASON = {
    _FOR_CLIENT: (
        "SQL*Net message from client",
        "dispatcher timer",
        "shared server idle wait",
        "single-task message",
        "virtual circuit next request",
        "virtual circuit wait",
    ),
    _FOR_WORK: (
        "AQPC idle",
        "DIAG idle wait",
        "EMON slave idle wait",
        "GCR sleep",
        "JOX Jit Process Sleep",
        "LGWR worker group idle",
        "OFS idle",
        "Recovery Server waiting for work",
        "Space Manager: slave idle wait",
        "VKRM Idle",
        "VKTM Logical Idle Wait",
        "cell worker idle",
        "class slave wait",
        "gcs remote message",
        "ges remote message",
        "i/o slave wait",
        "jobq slave wait",
        "rdbms ipc message",
    ),
    _FOR_TIMER: (
        "ASM background timer",
        "Data Guard: Timer",
        "PL/SQL lock timer",
        "fbar timer",
        "heartbeat monitor sleep",
        "heartbeat redo informer",
        "lreg timer",
        "pman timer",
        "pmon timer",
        "smon timer",
        "watchdog main loop",
    ),
    _FOR_PARTNER: (
        "PX Deq Credit: need buffer",
        "PX Deq: Execute Reply",
        "PX Deq: Execution Msg",
        "PX Deq: Index Merge Close",
        "PX Deq: Index Merge Execute",
        "PX Deq: Index Merge Reply",
        "PX Deq: Join ACK",
        "PX Deq: Metadata Update",
        "PX Deq: Msg Fragment",
        "PX Deq: Parse Reply",
        "PX Deq: Table Q Normal",
        "PX Deq: Table Q Sample",
        "PX Deq: Txn Recovery Reply",
        "PX Deq: Txn Recovery Start",
        "PX Deque wait",
        "PX Idle Wait",
        "parallel recovery coordinator waits for slave cleanup",
        "parallel recovery slave idle wait",
    ),
    _FOR_QUEUE: (
        "HS message to agent",
        "Streams AQ: deallocate messages from Streams Pool",
        "Streams AQ: delete acknowledged messages",
        "Streams AQ: emn coordinator idle wait",
        "Streams AQ: qmn coordinator idle wait",
        "Streams AQ: qmn slave idle wait",
        "Streams AQ: waiting for messages in the queue",
        "Streams AQ: waiting for time management or cleanup tasks",
        "pipe get",
        "wait for unread message on broadcast channel",
    ),
    _FOR_REDO: (
        "Data Guard: Gap Manager",
        "LNS ASYNC archive log",
        "LNS ASYNC dest activation",
        "LNS ASYNC end of log",
        "MRP redo arrival",
        "parallel recovery slave next change",
    ),
}

IDLE: dict[str, str] = {event: reason for reason, events in _IDLE_BY_REASON.items() for event in events}
"""Idle events and why they tell nothing about the system's speed: the process had nothing to do."""

BLOCKS: dict[str, int] = {
    "control file sequential read": 3,
    "db file parallel read": 2,
    "db file scattered read": 3,
    "db file sequential read": 3,
    "db file single write": 3,
    "direct path read": 3,
    "direct path read temp": 3,
    "direct path write": 3,
    "direct path write temp": 3,
    "log file parallel write": 2,
    "log file sequential read": 3,
    "log file single write": 3,
}
"""Which of an event's three parameters is its number of blocks. Log files count in blocks of the log (512 bytes or
4 kB), data files in blocks of the database: blocks say nothing in bytes without that size."""


EVERYTHING = ("*",)
"""The names of a Selection of all events."""


class EventSelection(Struct, frozen=True):
    """Which events to summarise.

    `names` are event names or patterns with ``*`` and ``?``; upper and lower case are alike. Idle events are left
    out unless they are asked for by their full name or with `idle`.
    """

    names: tuple[str, ...] = (REDO_WRITE,)
    idle: bool = False

    def names_event(self, event: str) -> bool:
        """Tell whether `event` matches one of the names."""
        return any(_matches(event, name) for name in self.names)

    def leaves_out(self, event: str) -> bool:
        """Tell whether `event` is idle and not asked for by its full name."""
        full_names = {name.casefold() for name in self.names}
        return not self.idle and event in IDLE and event.casefold() not in full_names


def is_pattern(name: str) -> bool:
    """Tell whether `name` holds a wildcard. The asterisk of ``SQL*Net`` is part of event names, so it is none."""
    return "?" in name or "*" in _masked(name)


def _matches(event: str, name: str) -> bool:
    if not is_pattern(name):
        return event.casefold() == name.casefold()
    pattern = _masked(name.casefold()).replace("[", "[[]")
    return fnmatch.fnmatchcase(_masked(event.casefold()), pattern)


def _masked(name: str) -> str:
    return re.sub(r"(?i)(sql)\*(net)", "\\1\0\\2", name)
