"""The shapes of a close look at one session and the cursor it executes."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.readings.statement_readings import DopStory


class PlanStep(Struct, frozen=True):
    """One line of an execution plan, in the words of DBMS_XPLAN.

    `queue` is the table queue ("Q1,00"), `in_out` how rows are passed on ("P->S", "PCWP", ...), `distribution` how they
    are spread. `rows`, `bytes`, `cost` and `seconds` are the optimizer's estimates, None where it gives none.
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
    """What the executions of a cursor have cost (V$SQL). Means are per execution, in seconds.

    `offloaded` is the part of the bytes read that the storage could filter, `saved` the part of those that it did not
    send (0..1); None where there is no such storage. `megabytes` are read, `written` written.
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
    """One parallel server at work: what it waits for now, and what it has done (V$PX_SESSTAT).

    `cpu` in seconds, `megabytes` read; `cpu_rate` is CPUs since the last poll, None without a delta.
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
    """How unevenly the work of a server set is spread: `cpu` and `megabytes` of the busiest server over the mean."""

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
    """An operation of the statement that is not done yet (V$SESSION_LONGOPS), over all its processes."""

    name: str
    target: str
    done: int
    total: int
    units: str
    remaining: float | None

    @property
    def progress(self) -> float:
        """The part that is done, 0..1."""
        return self.done / self.total if self.total else 0.0


class Detail(Struct, frozen=True):
    """All about one session and its cursor. Parts that were not read are empty or None.

    `sid` 0 is about the cursor alone; `dop` is why it has its degree.
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
    dop: DopStory = DopStory()
