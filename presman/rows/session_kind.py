"""Sessions that do more than a user's statement: Oracle's own processes and administrators' tools.

V$SESSION tells them by TYPE, PROGRAM, MODULE and USERNAME. Whoever ends such a session loses more than a query, so each
kind comes with what would be lost, and background processes cannot be ended at all (ORA-00029).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from presman.rows.session_rows import BACKGROUND


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
    "SYS": SessionKind("SYS", "an administrator's work"),
    "SYSBACKUP": SessionKind("RMAN", "the backup or restore fails"),
    "SYSDG": SessionKind("Data Guard", "the standby falls behind"),
    "SYSRAC": SessionKind("SYSRAC", "the cluster's own work"),
}


def place_of(user: str, kind: SessionKind | None, inst_id: int, sid: int) -> str:
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
    """Tell a background process: by TYPE, and where that is not told by a process or service without a user."""
    if type_:
        return type_ == BACKGROUND
    return not user and (service == "SYS$BACKGROUND" or bool(process and not _PARALLEL_SERVER.fullmatch(process)))
