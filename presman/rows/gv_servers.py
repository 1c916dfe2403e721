"""Tells the parallel servers of GV$ queries from those of statements.

On a cluster every query of a GV$ view has a server of its own on each instance (PZnn), so every monitor stands in
GV$PX_SESSION like a parallel statement; and nobody must be advised to end a monitor. V$PX_PROCESS.IS_GV tells them
apart (before 12.1 the name), and so does the process in the PROGRAM of the server's session. The views are read one
after another and a GV$ query is short, so of a server seen in only one of them nothing is known.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct, field

from presman.rows.instance_rows import Instance
from presman.rows.parallel_rows import PxProcess
from presman.rows.session_rows import Session

_PROCESS = re.compile(r"\((P[0-9A-Z]{3})\)\s*$")
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
            named = _PROCESS.search(session.program)
            if named:
                known.setdefault((session.inst_id, session.sid), {})[session.serial] = is_gv_name(named[1])
        for process in processes:
            known.setdefault((process.inst_id, process.sid), {})[process.serial] = serves_gv(process)
        return cls(clustered=True, complete=bool(processes), _known=known)

    def serves_gv_query(self, inst_id: int, sid: int, serial: int) -> bool | None:
        """Return whether this server works for a GV$ query, None if it cannot be told."""
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
