"""Sessions: who they are, what they do, what Resource Manager does to them, how many are active and at what."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from presman.rows.session_state import ON_CPU, SessionKind, session_kind, session_name


class SessionReading(NamedTuple):
    """One user session; a named tuple, because thousands are made at each poll.

    Rates are since the last poll, None without a delta of the same session.

    `event` is what it waits for now, "on CPU" if it waits for nothing (V$SESSION.EVENT and STATE); `held` tells whether
    Resource Manager holds it off CPU now.

    `blocker` is the session that it waits for, as ``instance:SID``, "" if it waits for none.

    Three groups: `mapped_group` is the mapping rule's (by `mapping_attribute`), `original_group` where the active plan
    put the session at first (OTHER_GROUPS if it has no directive for the mapped one), `group` where it is now.
    `coordinator` is that of a parallel server (instance, SID, SERIAL#), None for others.
    `last_action` is what Resource Manager last did to it, as the view words it ("" before 12.1). `type` is USER or
    BACKGROUND. `amounts` are the columns of queries whose header says `amounts: session`, each added up over the rows
    of the session; one is not there where no row told it.
    """

    inst_id: int
    con_id: int
    sid: int
    serial: int
    user: str
    group: str
    mapped_group: str
    status: str
    state: str
    event: str
    wait_class: str
    waited: float | None
    sql_id: str
    child: int | None
    used: float | None
    waiting: float | None
    io_mb: float | None
    io_requests: float | None
    last_call: float | None
    px_role: str
    px_servers: int
    dop: int | None
    pq_status: str
    program: str
    module: str
    service: str
    machine: str
    logon: datetime | None
    original_group: str = ""
    mapping_attribute: str = ""
    last_action: str = ""
    last_action_reason: str = ""
    last_action_time: datetime | None = None
    held: bool = False
    blocker: str = ""
    client_id: str = ""
    os_user: str = ""
    action: str = ""
    exec_id: int | None = None
    coordinator: tuple[int, int, int] | None = None
    type: str = ""
    amounts: Mapping[str, float] = MappingProxyType({})

    @property
    def who(self) -> str:
        """The session by user, instance and SID."""
        return session_name(self.user, self.kind, self.inst_id, self.sid)

    @property
    def kind(self) -> SessionKind | None:
        """What works in it where that is not a user's statement: a background process, RMAN, SYS."""
        return session_kind(self.type, self.user, self.program, self.module, self.service)


OTHER = "Other"

CLASSES = (
    ON_CPU, "Scheduler", "User I/O", "System I/O", "Concurrency", "Application", "Commit", "Configuration",
    "Administrative", "Network", "Cluster", "Queueing", OTHER,
)  # fmt: skip
"""What an active session is counted under: on CPU, else Oracle's classes of waits that are not idle."""


class SqlSample(NamedTuple):
    """The active sessions of one statement: on CPU or in the host's run queue, and waiting."""

    con_id: int
    sql_id: str
    group: str
    user: str
    on_cpu: int
    waiting: int


class Activity(NamedTuple):
    """Active user sessions at an instant: how many, by class (of CLASSES, those without any left out), by statement."""

    active: int = 0
    by_class: Mapping[str, int] = MappingProxyType({})
    statements: tuple[SqlSample, ...] = ()
