"""Sessions: the kind of program, its current wait, and whether a parallel server serves a GV$ query.

V$SESSION.EVENT is what a session waits for only while its STATE is WAITING; otherwise it is the last wait, and the
session is on CPU. All code that needs the current wait of a session uses this module.

Oracle's own processes and administrators' tools do more than a user's statement; TYPE, PROGRAM, MODULE and USERNAME
identify them. Ending such a session loses more than a query, so each kind has a text about what would be lost, and
background processes cannot be ended at all (ORA-00029).

On a cluster every query of a GV$ view has a server on each instance (PZnn), so every monitor appears in GV$PX_SESSION
like a parallel statement, and presman must never advise to end a monitor. V$PX_PROCESS.IS_GV (before 12.1 the server's
name) identifies these servers, and so does the process name in the PROGRAM of the server's session. The views are read
one after another and a GV$ query is short, so a server missing from one of them may be of either kind.
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
"""The wait event of the first session in the queue before 11.2.0.2."""

QUEUE_WAITS = frozenset({"resmgr:pq queued", NEXT_IN_LINE, "enq: JX - SQL statement queue"})
"""The wait events of the parallel queue: the first since 11.2.0.2; before, one for its head and one for the others."""

POOL_WAIT = "resmgr:become active"
"""The wait event of sessions whose group's active session pool is full, or whose database is quiesced."""

QUIESCE_WAIT = "wait for possible quiesce finish"
"""The wait event of the session that runs ALTER SYSTEM QUIESCE RESTRICTED, until no session is active."""

QUIESCE_STATES = frozenset({"QUIESCING", "QUIESCED"})
"""V$INSTANCE.ACTIVE_STATE from then until ALTER SYSTEM UNQUIESCE."""

QUIESCE_PLAN = "INTERNAL_QUIESCE"
"""The active plan while the database is quiesced: all sessions but those of SYS and SYSTEM wait for POOL_WAIT, too."""

ON_CPU = "on CPU"
"""The text for a session that is in a call and does not wait; it may be in the host's run queue."""

_QUANTUM = "resmgr:cpuquantum"
_WAITING_FOR_CPU = "WAITING FOR CPU"
"""V$RSRC_SESSION_INFO.STATE of a session that is ready to run but held off CPU."""


def is_waiting(state: str) -> bool:
    """Return whether a session waits now; False without STATE, because then it is not known."""
    return state == "WAITING"


def doing(event: str, state: str, status: str) -> str:
    """Return what a session does now, by V$SESSION: the event it waits for, ON_CPU, or "" where neither is known.

    Without STATE (a listing that lacks the column) the event of an ACTIVE session may be the last wait: the text then
    names both possibilities.
    """
    if state == "WAITING":
        return event
    if state:
        return ON_CPU if status in {"ACTIVE", ""} else ""
    if status == "ACTIVE":
        return f"{event} (or {ON_CPU})" if event else ON_CPU
    return event


def blocker(state: str, inst_id: int, blocking_instance: int | None, blocking_session: int | None) -> str:
    """Return the blocking session as ``instance:SID`` (V$SESSION.BLOCKING_SESSION), "" if none blocks it now."""
    if not blocking_session or not is_waiting(state):
        return ""
    return f"{blocking_instance or inst_id}:{blocking_session}"


def is_queued(event: str, state: str) -> bool:
    """Return whether a session waits in the parallel queue; if STATE is missing the event alone decides."""
    return event in QUEUE_WAITS and state in {"WAITING", ""}


def time_queued(session: Session, info: SessionInfo | None) -> float | None:
    """Return the seconds a session has waited in the parallel queue, None if not known.

    The wait event may start anew while the session is queued, so Resource Manager's time is taken where it is longer.
    """
    managed = _managed(info)
    if session.wait_time_micro is None:
        return managed or None
    return max(0.0, session.wait_time_micro / 1e6, managed)


def is_by_session(session: Session, info: SessionInfo | None) -> bool:
    """Return whether that time is V$SESSION's, and not Resource Manager's."""
    return _managed(info) <= (session.wait_time_micro or 0) / 1e6


def _managed(info: SessionInfo | None) -> float:
    return info.current_pq_queued_time / 1e3 if info else 0.0


LONG_TOGETHER, SHORT_TOGETHER = 3600.0, 1800.0
"""Limits of the total wait of a queue's statements, in seconds: from the first on it is critical, below the second not.

A statement that starts takes its wait out of the sum: without the margin a queue would look better for a few seconds.
"""

Queue = tuple[int, str]
"""Container and consumer group."""


def long_queues(sessions: Iterable[Session], infos: Iterable[SessionInfo], before: Collection[Queue]) -> set[Queue]:
    """Return the parallel queues that wait too long now, given those that did `before`."""
    queued = [each for each in sessions if is_queued(each.event, each.state)]
    by_session = {(each.inst_id, each.sid): each for each in infos} if queued else {}
    waits: dict[Queue, float] = defaultdict(float)
    for each in queued:
        info = by_session.get((each.inst_id, each.sid))
        group = (info.current_consumer_group if info else "") or each.resource_consumer_group
        waits[each.con_id, group] += time_queued(each, info) or 0.0
    return {key for key, waited in waits.items() if waited >= (SHORT_TOGETHER if key in before else LONG_TOGETHER)}


def is_pooled(event: str, state: str) -> bool:
    """Return whether a session waits for its group's active session pool."""
    return event == POOL_WAIT and state in {"WAITING", ""}


def is_quiescing(event: str, state: str) -> bool:
    """Return whether a session quiesces the database and waits until no session is active."""
    return event == QUIESCE_WAIT and state in {"WAITING", ""}


def is_held(event: str, state: str, managed: str) -> bool:
    """Return whether Resource Manager holds a session off CPU now.

    `event` and `state` are V$SESSION's. `managed` is V$RSRC_SESSION_INFO.STATE, which decides where V$SESSION.STATE is
    not known: in a published 11.1 listing five of six sessions with the event are running, with it as their last wait.
    """
    if state:  # manuals and views spell the event with and without a space
        return state == "WAITING" and event.startswith("resmgr:") and event.replace(" ", "") == _QUANTUM
    return managed == _WAITING_FOR_CPU


class SessionKind(NamedTuple):
    """The kind of a session that is not an ordinary user session, and what is lost if it is ended.

    A background process cannot be ended: the database answers ORA-00029.
    """

    name: str
    loss: str
    is_background: bool = False


_PROCESS = re.compile(r"\(([A-Z][A-Z0-9]{3})\)\s*$")
"""The process name in PROGRAM, as in ``oracle@host (SMON)``."""

_PARALLEL_SERVER = re.compile(r"P[0-9A-Z]{3}")
"""The name of a parallel server, such as P00A."""

_PROCESSES = (
    (re.compile(r"DM[0-9A-Z]{2}|DW[0-9A-Z]{2}"), "Data Pump", "the export or import stops"),
    (re.compile(r"J[0-9A-Z]{3}|CJQ\d"), "a scheduler job", "the run of the job fails"),
    (re.compile(r"MRP\d|RFS\d?|LSP\d|NS[ASV]\d|TT[0-9A-Z]{2}|ARC\d|LNS\d"), "Data Guard",
     "the standby falls behind"),
    (re.compile(r"A[PS][0-9A-Z]{2}|C[PSX][0-9A-Z]{2}|MS[0-9A-Z]{2}"), "replication (GoldenGate or Streams)",
     "replication stops until it is started again"),
)  # fmt: skip
"""Oracle's processes that also work in user sessions, by the process name at the end of PROGRAM (Reference)."""

_TOOLS = (
    (re.compile(r"\brman\b|^backup ", re.IGNORECASE), "RMAN", "the backup or restore fails"),
    (re.compile(r"\bdata ?pump\b|^(exp|imp)dp\b|^ude|^udi", re.IGNORECASE), "Data Pump", "the export or import stops"),
    (re.compile(r"\bOGG\b|goldengate|^(extract|replicat)\b|^streams\b", re.IGNORECASE),
     "replication (GoldenGate or Streams)", "replication stops until it is started again"),
    (re.compile(r"^DBMS_SCHEDULER$", re.IGNORECASE), "a scheduler job", "the run of the job fails"),
    (re.compile(r"^oracle@.*\(TNS V1-V3\)$"), "a session of another database",
     "its statement, which may only pause, fails"),
)  # fmt: skip
"""Tools, by the text in PROGRAM or MODULE."""

_ADMINISTRATORS = {
    "SYS": SessionKind("SYS", "an administrator's work is lost"),
    "SYSBACKUP": SessionKind("RMAN", "the backup or restore fails"),
    "SYSDG": SessionKind("Data Guard", "the standby falls behind"),
    "SYSRAC": SessionKind("SYSRAC", "the cluster's own work"),
}


def session_name(user: str, kind: SessionKind | None, inst_id: int, sid: int) -> str:
    """Return the display name of a session, like ``MARTIN 1:417``.

    A process has no user, as in ``LGWR 1:9``. If neither is known, it is ``session 1:9``.
    """
    return f"{user or (kind.name if kind is not None else 'session')} {inst_id}:{sid}"


def comma_serial(serial: int) -> str:
    """Return SERIAL# as it follows a SID, "" if it is not known (0)."""
    return f",{serial}" if serial else ""


@lru_cache(maxsize=4096)
def session_kind(type_: str, user: str, program: str, module: str, service: str) -> SessionKind | None:
    """Return the kind of a session by its columns in V$SESSION; None for an ordinary user session."""
    found = _PROCESS.search(program)
    process = found[1] if found else ""
    is_server = _PARALLEL_SERVER.fullmatch(process) is not None  # those work for another session
    # Without TYPE it is a background process if it has such a service or process, and no user.
    is_unnamed = not type_ and not user and (service == "SYS$BACKGROUND" or bool(process and not is_server))
    if type_ == BACKGROUND or is_unnamed:
        return SessionKind(process or "a background process", "", is_background=True)
    if not is_server:
        for pattern, name, loss in _PROCESSES:
            if pattern.fullmatch(process):
                return SessionKind(name, loss)
    for pattern, name, loss in _TOOLS:
        if pattern.search(program) or pattern.search(module):
            return SessionKind(name, loss)
    return _ADMINISTRATORS.get(user)


_SERVER = re.compile(r"\((P[0-9A-Z]{3})\)\s*$")
"""The name of a parallel server in V$SESSION.PROGRAM, as in ``oracle@host (P00A)``."""


def is_gv_name(process: str) -> bool:
    """Return whether a process of this name serves GV$ queries; the names of statements' servers never reach PZ or PPA.

    PZnn is documented (Reference: background processes); PPAn appears beside it in published lists of processes.
    """
    return process.upper().startswith(("PZ", "PPA"))


def serves_gv(process: PxProcess) -> bool:
    """Return whether a parallel server works for a GV$ query."""
    return process.is_gv == "TRUE" or is_gv_name(process.server_name)


class ServerProcesses(Struct, frozen=True):
    """The parallel servers by instance, SID and SERIAL#, and whether each works for a GV$ query.

    `clustered` is False where GV$ queries have no servers, so that all servers work for statements; `complete` is
    whether V$PX_PROCESS was read, which lists all servers at work.
    """

    clustered: bool
    complete: bool
    _serves_gv: dict[tuple[int, int], dict[int, bool]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, instances: Iterable[Instance], processes: Sequence[PxProcess], sessions: Iterable[Session], several: bool
    ) -> ServerProcesses:
        """Return the servers in these rows. `several` is whether there may be more than one instance."""
        if not (several or any(row.parallel == "YES" for row in instances)):
            return ALL_STATEMENTS
        found: dict[tuple[int, int], dict[int, bool]] = {}
        for session in sessions:
            if named := _SERVER.search(session.program):
                found.setdefault((session.inst_id, session.sid), {})[session.serial] = is_gv_name(named[1])
        for process in processes:
            found.setdefault((process.inst_id, process.sid), {})[process.serial] = serves_gv(process)
        return cls(clustered=True, complete=bool(processes), _serves_gv=found)

    def serves_gv_query(self, inst_id: int, sid: int, serial: int) -> bool | None:
        """Return whether this server works for a GV$ query, None if not known."""
        if not self.clustered:
            return False
        serials = self._serves_gv.get((inst_id, sid), {})
        if serial in serials:
            return serials[serial]
        # A listing without SERIAL# has 0 in its place.
        if serials and (serial == 0 or 0 in serials):
            return next(iter(serials.values())) if len(set(serials.values())) == 1 else None
        return None


ALL_STATEMENTS = ServerProcesses(clustered=False, complete=False)
"""The value for a single instance: no server works for a GV$ query."""
