"""Sessions: identity, activity, and what Resource Manager does to them; details of one session and its cursor."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from msgspec import Struct

from presman.analysis.readings.statement_readings import DopFacts
from presman.rows.session_state import ON_CPU, SessionKind, session_kind, session_name

Amount: TypeAlias = float | str | datetime
"""A column of a session from a view of its own."""


class SessionReading(NamedTuple):
    """One user session; a named tuple, because thousands are made at each poll.

    Rates are since the last poll, None without a delta of the same session.

    `event` is what it waits for now, "on CPU" if it does not wait (V$SESSION.EVENT and STATE); `held` is whether
    Resource Manager holds it off CPU now.

    `blocker` is the session that it waits for, as ``instance:SID``, "" if it waits for none.

    There are three groups: `mapped_group` is the mapping rule's (by `mapping_attribute`), `original_group` is where the
    active plan put the session at first (OTHER_GROUPS if it has no directive for the mapped one), `group` is the
    current one. `coordinator` is that of a parallel server (instance, SID, SERIAL#), None for others. `last_action` is
    what Resource Manager last did to it, as the view words it ("" before 12.1). `type` is USER or BACKGROUND. `amounts`
    are the columns of queries whose header says `of: session`: a number is added up over the rows of the session, a
    text or an instant is that of the first row with one; a column is missing if no row has it. What ends in `_per_s` is
    a rate since the last poll.
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
    amounts: Mapping[str, Amount] = MappingProxyType({})

    @property
    def who(self) -> str:
        """The session by user, instance and SID."""
        return session_name(self.user, self.kind, self.inst_id, self.sid)

    @property
    def kind(self) -> SessionKind | None:
        """The kind of work it does if that is not a user's statement: a background process, RMAN, SYS."""
        return session_kind(self.type, self.user, self.program, self.module, self.service)


OTHER = "Other"

CLASSES = (
    ON_CPU, "Scheduler", "User I/O", "System I/O", "Concurrency", "Application", "Commit", "Configuration",
    "Administrative", "Network", "Cluster", "Queueing", OTHER,
)  # fmt: skip
"""The classes that active sessions are counted under: on CPU, else Oracle's wait classes without Idle."""


class SqlSample(NamedTuple):
    """The active sessions of one statement: on CPU or in the host's run queue, and waiting."""

    con_id: int
    sql_id: str
    group: str
    user: str
    on_cpu: int
    waiting: int


class Activity(NamedTuple):
    """Active user sessions at an instant: the number, by class (of CLASSES, without empty ones), by statement."""

    active: int = 0
    by_class: Mapping[str, int] = MappingProxyType({})
    statements: tuple[SqlSample, ...] = ()


# ---- Details of one session and the cursor it executes.


class PlanStep(Struct, frozen=True):
    """One line of an execution plan, in the wording of DBMS_XPLAN.

    `queue` is the table queue ("Q1,00"), `in_out` is how rows are passed on ("P->S", "PCWP", ...), `distribution` is
    how they are distributed. `rows`, `bytes`, `cost` and `seconds` are the optimizer's estimates, None without one.
    """

    id: int
    depth: int
    operation: str
    name: str
    queue: str
    in_out: str
    distribution: str
    rows: int | None
    bytes: int | None
    cost: int | None
    seconds: int | None
    partitions: tuple[str, str]
    access: str
    filter: str


class CursorCost(Struct, frozen=True):
    """The cost of a cursor's executions (V$SQL). Means are per execution, in seconds.

    `offloaded` is the part of the bytes read that the storage could filter, `saved` is the part of those that it did
    not send (0..1); None without such storage. `megabytes` are read, `written` are written.
    """

    executions: int | None
    running: int | None
    elapsed: float | None
    cpu: float | None
    io_wait: float | None
    servers: float | None
    rows: float | None
    megabytes: float | None
    offloaded: float | None
    saved: float | None
    concurrency_wait: float | None = None
    buffer_gets: float | None = None
    disk_reads: float | None = None
    written: float | None = None


class ServerWork(Struct, frozen=True):
    """One working parallel server: its current wait, and its work so far (V$PX_SESSTAT).

    `cpu` is in seconds, `megabytes` are read; `cpu_rate` is CPUs since the last poll, None without a delta.
    """

    inst_id: int
    sid: int
    name: str
    server_set: int
    number: int
    event: str
    cpu: float
    cpu_rate: float | None
    logical_reads: int
    megabytes: float


class SetSkew(Struct, frozen=True):
    """The skew of a server set: `cpu` and `megabytes` of the busiest server divided by the mean."""

    server_set: int
    servers: int
    cpu: float | None
    megabytes: float | None


class SessionFigure(Struct, frozen=True):
    """A statistic of the session (V$SESSTAT): since logon, and since the last poll (None without a delta)."""

    name: str
    total: int
    delta: int | None


class Operation(Struct, frozen=True):
    """An unfinished operation of the statement (V$SESSION_LONGOPS), over all its processes."""

    name: str
    target: str
    done: int
    total: int
    units: str
    remaining: float | None

    @property
    def progress(self) -> float:
        """The part done, 0..1."""
        return self.done / self.total if self.total else 0.0


class Detail(Struct, frozen=True):
    """All details of one session and its cursor. Parts that were not read are empty or None.

    `sid` 0 means the cursor alone; `dop` is why it has its degree.
    """

    inst_id: int
    sid: int
    sql_id: str
    child: int | None
    plan_hash: int | None
    plan: tuple[PlanStep, ...]
    cost: CursorCost | None
    servers: tuple[ServerWork, ...]
    skew: tuple[SetSkew, ...]
    statistics: tuple[SessionFigure, ...]
    operations: tuple[Operation, ...] = ()
    dop: DopFacts = DopFacts()
