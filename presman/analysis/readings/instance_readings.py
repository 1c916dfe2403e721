"""Readings of instances: identity, what the plan manages, CPUs and parallel servers."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

CLUSTER = 0
"""The `inst_id` of figures over all instances."""


class ServerPool(Struct, frozen=True):
    """Parallel servers of one instance (V$PX_PROCESS_SYSSTAT, V$RSRC_PLAN, V$SYSTEM_PARAMETER).

    `in_use` and `available` are processes now; `counted` is PARALLEL_SERVERS_ACTIVE, what the queue counts;
    `target` is PARALLEL_SERVERS_TARGET and `maximum` PARALLEL_MAX_SERVERS. None: no view tells it.
    """

    inst_id: int
    in_use: int | None
    available: int | None
    counted: int | None
    target: int | None
    maximum: int | None
    highwater: int | None = None


class InstanceReading(Struct, frozen=True):
    """One instance: identity, what its plan manages, its CPUs and its parallel servers.

    `num_cpus` is what Resource Manager hands out (CPU_COUNT when caged, else the host's); `host_busy` the share
    of host CPU time that was busy since the last poll (0..1).
    """

    inst_id: int
    name: str
    host: str
    started: datetime | None
    plan: str
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float
    host_cpus: float | None
    host_busy: float | None
    load: float | None
    servers: ServerPool


class Quiesce(Struct, frozen=True):
    """The database is being quiesced, or is: a call of anybody but SYS and SYSTEM waits for `resmgr:become active`.

    `state` is QUIESCING, QUIESCED, or "" where V$INSTANCE.ACTIVE_STATE does not tell. `by` are the sessions that wait
    for `wait for possible quiesce finish`, in words. `waiting` sessions are held, None where V$SESSION does not tell;
    the first of them for `longest` seconds.
    """

    state: str
    by: tuple[str, ...]
    waiting: int | None
    longest: float | None


class SwitchedPlan(Struct, frozen=True):
    """The newest change of plan (V$RSRC_PLAN_HISTORY): when, the plan that came and the one before, "" for none.

    `window` is the scheduler's window that brought it, "" where none did; no view tells who else did.
    """

    at: datetime
    plan: str
    before: str
    window: str


class Header(Struct, frozen=True):
    """What the top line shows. `px_managed` etc. are those of the first instance; `mixed_plans` tells they differ.

    `exadata` tells that storage cells answered, so that the database's I/O figures are not all there is to say;
    `autonomous` that the session is in a service of the Autonomous Database.
    `nature` are the words for what kind of database it is (CDB root, PDB, non-CDB, RAC, Exadata,
    Autonomous Database).
    `idle_blocker_minutes` is MAX_IDLE_BLOCKER_TIME, 0 for none, None where it is not known (before 19).
    """

    database: str
    version: str
    role: str
    cdb: bool
    container: str
    instances: tuple[InstanceReading, ...]
    plan: str
    plan_since: datetime | None
    cpu_managed: str
    caging: str
    px_managed: str
    num_cpus: float
    servers: ServerPool
    uptime: float | None
    mixed_plans: bool = False
    exadata: bool = False
    autonomous: bool = False
    nature: tuple[str, ...] = ()
    idle_blocker_minutes: int | None = None
