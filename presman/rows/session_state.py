"""Sessions: what works in one, what it waits for, and whose work a parallel server does.

V$SESSION.EVENT is what a session waits for only while its STATE is WAITING; else it is its last wait, and the session
is on CPU. Everything that speaks of what a session waits for asks here.

Oracle's own processes and administrators' tools do more than a user's statement; TYPE, PROGRAM, MODULE and USERNAME
tell them. Whoever ends such a session loses more than a query, so each kind comes with what would be lost, and
background processes cannot be ended at all (ORA-00029).

On a cluster every query of a GV$ view has a server of its own on each instance (PZnn), so every monitor stands in
GV$PX_SESSION like a parallel statement; and nobody must be advised to end a monitor. V$PX_PROCESS.IS_GV tells them
apart (before 12.1 the name), and so does the process in the PROGRAM of the server's session. The views are read one
after another and a GV$ query is short, so of a server seen in only one of them nothing is known.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from msgspec import Struct, field

from presman.rows.instance_rows import Instance
from presman.rows.session_rows import BACKGROUND, PxProcess, Session, SessionInfo

NEXT_IN_LINE = "PX Queuing: statement queue"
"""What the first of the queue waited for before 11.2.0.2."""

QUEUE_WAITS = frozenset({"resmgr:pq queued", NEXT_IN_LINE, "enq: JX - SQL statement queue"})
"""What sessions in the parallel queue wait for: the first since 11.2.0.2; before, the next in line and the others."""

POOL_WAIT = "resmgr:become active"
"""What sessions wait for while the active session pool of their group is full, or the database is quiesced."""

QUIESCE_WAIT = "wait for possible quiesce finish"
"""What the session waits for that quiesces the database (ALTER SYSTEM QUIESCE RESTRICTED), until nobody is active."""

QUIESCE_STATES = frozenset({"QUIESCING", "QUIESCED"})
"""V$INSTANCE.ACTIVE_STATE while that goes on, and until ALTER SYSTEM UNQUIESCE."""

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


def time_queued(session: Session, info: SessionInfo | None) -> float | None:
    """Return seconds in the parallel queue, None where nothing tells.

    A wait may be renewed, so Resource Manager's own clock counts where it is longer.
    """
    managed = info.current_pq_queued_time / 1e3 if info else 0.0
    if session.wait_time_micro is None:
        return managed or None
    return max(0.0, session.wait_time_micro / 1e6, managed)


LONG_TOGETHER, SHORT_TOGETHER = 3600.0, 1800.0
"""Seconds that the statements of one queue have waited, added up, from which that is critical, and until below which.

One statement that starts takes its wait out of the sum: without a margin a queue would be better for seconds.
"""

Queue = tuple[int, str]
"""Container and consumer group."""


def long_queues(sessions: Iterable[Session], infos: Iterable[SessionInfo], before: Collection[Queue]) -> set[Queue]:
    """Return the parallel queues that wait for too long now, given those that did `before`."""
    queued = [each for each in sessions if is_queued(each.event, each.state)]
    by_session = {(each.inst_id, each.sid): each for each in infos} if queued else {}
    waits: dict[Queue, float] = defaultdict(float)
    for each in queued:
        info = by_session.get((each.inst_id, each.sid))
        group = (info.current_consumer_group if info else "") or each.resource_consumer_group
        waits[each.con_id, group] += time_queued(each, info) or 0.0
    return {key for key, waited in waits.items() if waited >= (SHORT_TOGETHER if key in before else LONG_TOGETHER)}


def is_pooled(event: str, state: str) -> bool:
    """Tell whether a session waits for a place in its group's active session pool."""
    return event == POOL_WAIT and state in {"WAITING", ""}


def is_quiescing(event: str, state: str) -> bool:
    """Tell whether a session waits until nobody is active, so that the database is quiesced."""
    return event == QUIESCE_WAIT and state in {"WAITING", ""}


def is_held(event: str, state: str, managed: str) -> bool:
    """Tell whether Resource Manager holds a session off CPU now.

    `event` and `state` are V$SESSION's. `managed` is V$RSRC_SESSION_INFO.STATE, which decides where V$SESSION.STATE is
    not known: a published 11.1 listing shows the event as last wait of five sessions that run, and of one that waits.
    """
    if state:
        return state == "WAITING" and is_quantum(event)
    return managed == _WAITING_FOR_CPU


class SessionKind(NamedTuple):
    """What works in a session that is no user's ordinary one, and what is lost when it is ended.

    A background process cannot be ended: the database answers ORA-00029.
    """

    name: str
    loss: str
    is_background: bool = False


_PROCESS = re.compile(r"\(([A-Z][A-Z0-9]{3})\)\s*$")
"""The process in PROGRAM: ``oracle@host (SMON)``."""

_PARALLEL_SERVER = re.compile(r"P[0-9A-Z]{3}")

_PROCESSES = (
    (re.compile(r"DM[0-9A-Z]{2}|DW[0-9A-Z]{2}"), "Data Pump", "the export or import stops"),
    (re.compile(r"J[0-9A-Z]{3}|CJQ\d"), "a scheduler job", "the run of the job fails"),
    (re.compile(r"MRP\d|RFS\d?|LSP\d|NS[ASV]\d|TT[0-9A-Z]{2}|ARC\d|LNS\d"), "Data Guard",
     "the standby falls behind"),
    (re.compile(r"A[PS][0-9A-Z]{2}|C[PSX][0-9A-Z]{2}|MS[0-9A-Z]{2}"), "replication (GoldenGate or Streams)",
     "replication stops until it is started again"),
)  # fmt: skip
"""Oracle's processes that work in sessions of users, too, by the name that PROGRAM ends in (Reference).
"""

_TOOLS = (
    (re.compile(r"\brman\b|^backup ", re.IGNORECASE), "RMAN", "the backup or restore fails"),
    (re.compile(r"\bdata ?pump\b|^(exp|imp)dp\b|^ude|^udi", re.IGNORECASE), "Data Pump", "the export or import stops"),
    (re.compile(r"\bOGG\b|goldengate|^(extract|replicat)\b|^streams\b", re.IGNORECASE),
     "replication (GoldenGate or Streams)", "replication stops until it is started again"),
    (re.compile(r"^DBMS_SCHEDULER$", re.IGNORECASE), "a scheduler job", "the run of the job fails"),
)  # fmt: skip
"""Tools by the text of PROGRAM or MODULE."""

_ADMINISTRATORS = {
    "SYS": SessionKind("SYS", "an administrator's work is lost"),
    "SYSBACKUP": SessionKind("RMAN", "the backup or restore fails"),
    "SYSDG": SessionKind("Data Guard", "the standby falls behind"),
    "SYSRAC": SessionKind("SYSRAC", "the cluster's own work"),
}


def session_name(user: str, kind: SessionKind | None, inst_id: int, sid: int) -> str:
    """Return a session as one names it: ``MARTIN 1:417``, ``LGWR 1:9`` for a process, which has no user."""
    return f"{user or (kind.name if kind is not None else '?')} {inst_id}:{sid}"


@lru_cache(maxsize=4096)
def session_kind(type_: str, user: str, program: str, module: str, service: str) -> SessionKind | None:
    """Return what works in a session, by columns of V$SESSION; None for a user's ordinary one."""
    found = _PROCESS.search(program)
    process = found[1] if found else ""
    if _is_background(type_, user, process, service):
        return SessionKind(process or "a background process", "", is_background=True)
    if not _PARALLEL_SERVER.fullmatch(process):  # those work for another session
        for pattern, name, loss in _PROCESSES:
            if pattern.fullmatch(process):
                return SessionKind(name, loss)
    for pattern, name, loss in _TOOLS:
        if pattern.search(program) or pattern.search(module):
            return SessionKind(name, loss)
    return _ADMINISTRATORS.get(user)


def _is_background(type_: str, user: str, process: str, service: str) -> bool:
    """Whether it is a background process: by TYPE, else by having no user and a background service or process."""
    if type_:
        return type_ == BACKGROUND
    return not user and (service == "SYS$BACKGROUND" or bool(process and not _PARALLEL_SERVER.fullmatch(process)))


_SERVER = re.compile(r"\((P[0-9A-Z]{3})\)\s*$")
"""The name of a parallel server in V$SESSION.PROGRAM: ``oracle@host (P00A)``."""


def is_gv_name(process: str) -> bool:
    """Tell whether a process of this name serves GV$ queries; of statements' servers none gets as far as PZ or PPA.

    PZnn is documented (Reference: background processes); PPAn was seen beside it in published lists of processes.
    """
    return process.upper().startswith(("PZ", "PPA"))


def serves_gv(process: PxProcess) -> bool:
    """Tell whether a parallel server works for a GV$ query."""
    return process.is_gv == "TRUE" or is_gv_name(process.server_name)


class ServerProcesses(Struct, frozen=True):
    """What is known of parallel servers by instance, SID and SERIAL#: whether each works for a GV$ query.

    `clustered` is false where no GV$ query has servers, so that all are statements'; `complete` whether V$PX_PROCESS
    was read, which lists all that work.
    """

    clustered: bool
    complete: bool
    _known: dict[tuple[int, int], dict[int, bool]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, instances: Iterable[Instance], processes: Sequence[PxProcess], sessions: Iterable[Session], several: bool
    ) -> ServerProcesses:
        """Return what these rows tell. `several` says that rows of more than one instance were seen."""
        if not (several or any(row.parallel == "YES" for row in instances)):
            return ALL_STATEMENTS
        known: dict[tuple[int, int], dict[int, bool]] = {}
        for session in sessions:
            named = _SERVER.search(session.program)
            if named:
                known.setdefault((session.inst_id, session.sid), {})[session.serial] = is_gv_name(named[1])
        for process in processes:
            known.setdefault((process.inst_id, process.sid), {})[process.serial] = serves_gv(process)
        return cls(clustered=True, complete=bool(processes), _known=known)

    def serves_gv_query(self, inst_id: int, sid: int, serial: int) -> bool | None:
        """Return whether this server works for a GV$ query, None if that is not known."""
        if not self.clustered:
            return False
        serials = self._known.get((inst_id, sid), {})
        if serial in serials:
            return serials[serial]
        # A listing without SERIAL# has zeros.
        if serials and (serial == 0 or 0 in serials):
            return next(iter(serials.values())) if len(set(serials.values())) == 1 else None
        return None


ALL_STATEMENTS = ServerProcesses(clustered=False, complete=False)
"""What holds on a single instance: there is no server of a GV$ query."""
