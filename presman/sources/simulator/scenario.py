"""Scenario: the capacity, plans, workloads and events that a TOML file describes.

Directive keys are the parameter names of DBMS_RESOURCE_MANAGER.CREATE_PLAN_DIRECTIVE, so a plan can be copied from the
script that creates it. Instants (`at`) count from the end of the warm-up, when presman opens the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from msgspec import Struct

from presman.sources.simulator import fields as read
from presman.sources.simulator.fields import Values, key

Sized = TypeVar("Sized", "Capacity", "StatementStream", "SessionPool")

OTHER_GROUPS = "OTHER_GROUPS"
OWN_SID = 77
"""The SID of presman's own session on instance 1: no other session gets it, so no query shows it."""

ACTIONS = ("CANCEL_SQL", "KILL_SESSION", "LOG_ONLY")
"""The actions that SWITCH_GROUP may name instead of a group."""


@dataclass(frozen=True, slots=True)
class Directive:
    """A plan directive for one group or subplan. Percent of the level, of CPU or of servers; times in seconds.

    `active_sess_pool_p1` limits statements; it does not apply to the short calls of session pools.
    """

    mgmt_p1: int = key(read.whole(0, 100), 0)
    mgmt_p2: int = key(read.whole(0, 100), 0)
    mgmt_p3: int = key(read.whole(0, 100), 0)
    mgmt_p4: int = key(read.whole(0, 100), 0)
    mgmt_p5: int = key(read.whole(0, 100), 0)
    mgmt_p6: int = key(read.whole(0, 100), 0)
    mgmt_p7: int = key(read.whole(0, 100), 0)
    mgmt_p8: int = key(read.whole(0, 100), 0)
    shares: int | None = key(read.whole(1, 100), None)
    utilization_limit: int | None = key(read.whole(1, 100), None)
    parallel_server_limit: int | None = key(read.whole(0, 100), None)
    parallel_degree_limit_p1: int | None = key(read.whole(1, 32767), None)
    parallel_queue_timeout: float | None = key(read.span, None)
    pq_timeout_action: str = key(read.one_of("CANCEL", "RUN"), "CANCEL")
    parallel_stmt_critical: str = key(read.one_of("FALSE", "QUEUE", "BYPASS_QUEUE"), "FALSE")
    active_sess_pool_p1: int | None = key(read.whole(0), None)
    queueing_p1: float | None = key(read.span, None)
    switch_group: str = key(read.identifier, "")
    switch_time: float | None = key(read.span, None)
    switch_for_call: bool = key(read.flag, False)
    comment: str = key(read.text, "")

    @property
    def levels(self) -> tuple[int, ...]:
        """MGMT_P1 to MGMT_P8; shares are at the first level, as in the dictionary."""
        if self.shares is not None:
            return (self.shares, 0, 0, 0, 0, 0, 0, 0)
        return tuple(getattr(self, f"mgmt_p{level}") for level in range(1, 9))


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """A plan: its method (EMPHASIS: levels, RATIO: shares) and its directives by group or subplan."""

    name: str
    method: str
    comment: str
    directives: Mapping[str, Directive]


@dataclass(frozen=True, slots=True)
class PdbDirective:
    """The directive of the CDB plan for one pluggable database, by its name or `profile`, and the PDB's own parameters.

    `cpu_count`, `cpu_min_count` (19 and later), `max_iops`, `max_mbps` (12.2 and later) and `parallel_servers_target`
    are per instance. A PDB without a directive gets one share from the default directive.
    """

    shares: int | None = key(read.whole(1, 100), None)
    utilization_limit: int | None = key(read.whole(1, 100), None)
    parallel_server_limit: int | None = key(read.whole(0, 100), None)
    profile: str = key(read.identifier, "")
    cpu_count: int | None = key(read.whole(1, 1024), None)
    cpu_min_count: float | None = key(read.number(0.1, 1024), None)
    parallel_servers_target: int | None = key(read.whole(1, 32767), None)
    max_iops: int | None = key(read.whole(1), None)
    max_mbps: int | None = key(read.whole(1), None)

    @property
    def is_named(self) -> bool:
        """Whether the CDB plan has a directive for it, by name or profile."""
        given = (self.shares, self.utilization_limit, self.parallel_server_limit, self.profile or None)
        return any(each is not None for each in given)

    def cpu_limit(self, cpus: int) -> float:
        """Return the fraction of the CPUs that it may use, by UTILIZATION_LIMIT and its CPU_COUNT."""
        return min((self.utilization_limit or 100) / 100, (self.cpu_count or cpus) / cpus)

    def servers_limit(self, target: int, instances: int) -> int | None:
        """Return the number of servers that it may hold on all instances together; None without a limit."""
        limits = [] if self.parallel_server_limit is None else [target * self.parallel_server_limit // 100]
        limits += [] if self.parallel_servers_target is None else [self.parallel_servers_target * instances]
        return min(limits, default=None)


@dataclass(frozen=True, slots=True)
class PdbSpec:
    """A pluggable database: its directive in the CDB plan and its own plan, if it has one."""

    name: str
    con_id: int
    plan: str
    directive: PdbDirective


@dataclass(frozen=True, slots=True)
class Capacity:
    """The capacity of each instance: CPUs, parallel servers, storage, and the parameters that control them."""

    instances: int = key(read.whole(1, 8), 1)
    cpu_count: int = key(read.whole(1, 1024), 16)
    host_cpus: int | None = key(read.whole(1, 1024), None)
    host_load: float = key(read.number(0), 0.3)
    parallel_threads_per_cpu: int = key(read.whole(1, 4), 1)
    parallel_servers_target: int | None = key(read.whole(1, 32767), None)
    parallel_max_servers: int | None = key(read.whole(1, 32767), None)
    parallel_degree_policy: str = key(read.one_of("AUTO", "ADAPTIVE", "LIMITED", "MANUAL"), "AUTO")
    parallel_degree_limit: int | None = key(read.whole(1, 32767), None)
    storage: str = key(read.one_of("disk", "flash", "exadata"), "flash")
    io_mb_per_second: float = key(read.number(1), 3000.0)

    def __post_init__(self) -> None:
        """Raise ValueError for parameters with which an instance could not start."""
        if self.cpu_count > self.host:
            raise ValueError(f"cpu_count {self.cpu_count} is more than host_cpus {self.host}")
        if self.target > self.maximum:
            raise ValueError(f"parallel_servers_target {self.target} is more than parallel_max_servers {self.maximum}")

    @property
    def host(self) -> int:
        """The number of CPUs of one host."""
        return self.host_cpus if self.host_cpus is not None else self.cpu_count

    @property
    def caged(self) -> bool:
        """Whether CPU_COUNT is below the host's CPUs: with a plan that is instance caging."""
        return self.cpu_count < self.host

    @property
    def target(self) -> int:
        """PARALLEL_SERVERS_TARGET of one instance; the default is Oracle's for 4 concurrent parallel users."""
        return self.parallel_servers_target or self.parallel_threads_per_cpu * self.cpu_count * 4 * 2

    @property
    def maximum(self) -> int:
        """PARALLEL_MAX_SERVERS of one instance; the default is that of the target, with factor 5 instead of 2."""
        return self.parallel_max_servers or max(self.target, self.parallel_threads_per_cpu * self.cpu_count * 4 * 5)

    @property
    def degree_limit(self) -> int:
        """PARALLEL_DEGREE_LIMIT; its default, CPU, means CPU_COUNT x threads x instances."""
        return self.parallel_degree_limit or self.cpu_count * self.parallel_threads_per_cpu * self.instances


@dataclass(frozen=True, slots=True)
class Wave:
    """A slow oscillation of activity: a sine with a `period` in seconds, and a `depth` of 0..1 times the mean."""

    period: float = key(read.span, 600.0)
    depth: float = key(read.number(0, 1), 0.3)


_STEADY_WAVE = Wave()
_NO_WAVE = Wave(depth=0.0)


class Client(Struct, frozen=True):
    """A client: the columns that V$SESSION shows for a workload's sessions."""

    user: str
    program: str
    machine: str
    module: str
    service: str
    action: str = ""
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class SessionPool:
    """Connected sessions with short calls of CPU, I/O and think time: `cpu`, `io`, `think` are seconds per call."""

    name: str = key(read.text)
    group: str = key(read.identifier)
    count: int = key(read.whole(1, 5000))
    cpu: float = key(read.span, 0.05)
    io: float = key(read.duration, 0.01)
    think: float = key(read.duration, 0.5)
    swing: float = key(read.number(0, 1), 0.15)
    wave: Wave = key(read.table_of(Wave), _STEADY_WAVE)  # noqa: RUF009
    pdb: str = key(read.identifier, "")
    user: str = key(read.identifier, "APP")
    program: str = key(read.text, "JDBC Thin Client")
    machine: str = key(read.text, "app01")
    module: str = key(read.text, "")
    action: str = key(read.text, "")
    client_id: str = key(read.text, "")
    service: str = key(read.text, "oltp")
    sql: tuple[str, ...] = key(read.list_of(read.text), ("select status from orders where order_id = :1",))


@dataclass(frozen=True, slots=True)
class StatementStream:
    """Statements that arrive at random (`every`) or in bursts (`burst` of them every `burst_every`).

    `dop` lists the degrees that are requested at random; `reason` is where the degree comes from (auto, hint, table
    property, session). `sets` is 1 for a simple scan, 2 for producers and consumers, in each of the `trees`, which run
    one after the other. `work` is the seconds to run with all servers and without throttling, `spread` its log-normal
    sigma; `cpu` is the CPUs that one working server demands, `mb` the MB/s that it reads. `queue` is policy
    (PARALLEL_DEGREE_POLICY decides), always or never. A fraction `hold_chance` of the statements is not fetched to the
    end and holds its servers for about `hold` seconds.
    """

    name: str = key(read.text)
    group: str = key(read.identifier)
    every: float | None = key(read.span, None)
    burst: int = key(read.whole(1, 1000), 1)
    burst_every: float | None = key(read.span, None)
    dop: tuple[int, ...] = key(read.list_of(read.whole(1, 4096)), (8,))
    reason: str = key(read.one_of("auto", "hint", "table property", "session"), "auto")
    sets: int = key(read.whole(1, 2), 2)
    trees: int = key(read.whole(1, 9), 1)
    work: float = key(read.span, 60.0)
    spread: float = key(read.number(0, 2), 0.6)
    cpu: float = key(read.number(0.01, 1), 0.5)
    mb: float = key(read.number(0), 20.0)
    queue: str = key(read.one_of("policy", "always", "never"), "policy")
    hold_chance: float = key(read.number(0, 1), 0.0)
    hold: float = key(read.span, 600.0)
    sessions: int = key(read.whole(0, 5000), 4)
    wave: Wave = key(read.table_of(Wave), _NO_WAVE)  # noqa: RUF009
    pdb: str = key(read.identifier, "")
    user: str = key(read.identifier, "RPT")
    program: str = key(read.text, "JDBC Thin Client")
    machine: str = key(read.text, "rpt01")
    module: str = key(read.text, "")
    service: str = key(read.text, "reports")
    sql: tuple[str, ...] = key(read.list_of(read.text), ())

    def __post_init__(self) -> None:
        """Raise ValueError for a stream without statements."""
        if self.every is None and self.burst_every is None:
            raise ValueError("needs 'every' (mean seconds between statements) or 'burst_every'")


@dataclass(frozen=True, slots=True)
class ScriptedStatement:
    """One statement at an exact instant. `seconds` is its run time with all requested servers and without throttling.

    `then` is a later statement of its session, executed while the cursor holds its servers: the session shows that one.
    `instance` is its session's instance; `blocked_by` is the instance and SID of the session whose lock it waits for
    while it runs; with `servers_blocked` its servers wait, not its coordinator. `status` is the session's while it
    holds its cursor: INACTIVE, KILLED or SNIPED. `process` is a background process (SMON) that runs it instead of a
    user; `waits_for` is an event that its session waits for while it runs.
    """

    at: float = key(read.duration)
    group: str = key(read.identifier)
    dop: int = key(read.whole(1, 4096))
    seconds: float = key(read.span)
    sets: int = key(read.whole(1, 2), 2)
    trees: int = key(read.whole(1, 9), 1)
    reason: str = key(read.one_of("auto", "hint", "table property", "session"), "hint")
    cpu: float = key(read.number(0.01, 1), 0.5)
    mb: float = key(read.number(0), 20.0)
    queue: str = key(read.one_of("policy", "always", "never"), "policy")
    hold: float = key(read.duration, 0.0)
    then: str = key(read.text, "")
    blocked_by: tuple[int, int] | None = key(read.session, None)
    servers_blocked: bool = key(read.flag, False)
    status: str = key(read.one_of("INACTIVE", "KILLED", "SNIPED"), "INACTIVE")
    process: str = key(read.text, "")
    waits_for: str = key(read.text, "")
    instance: int = key(read.whole(1, 8), 1)
    pdb: str = key(read.identifier, "")
    sql_id: str = key(read.text, "")
    sid: int | None = key(read.whole(1, 65535), None)
    serial: int | None = key(read.whole(1, 65535), None)
    user: str = key(read.identifier, "MARTIN")
    program: str = key(read.text, "sqlplus@client01 (TNS V1-V3)")
    machine: str = key(read.text, "client01")
    module: str = key(read.text, "SQL*Plus")
    service: str = key(read.text, "reports")
    sql: str = key(read.text, "select /*+ parallel */ count(*) from sales")


@dataclass(frozen=True, slots=True)
class MonitorSpec:
    """Another monitor: it queries a GV$ view `every` so many seconds, and each query `takes` some.

    On a cluster its queries have parallel servers.
    """

    name: str = key(read.text)
    every: float = key(read.span, 20.0)
    takes: float = key(read.span, 5.0)
    user: str = key(read.identifier, "DBSNMP")
    program: str = key(read.text, "emagent")
    machine: str = key(read.text, "dbhost01")
    module: str = key(read.text, "")
    sql: str = key(read.text, "select inst_id, count(*) from gv$session group by inst_id")


@dataclass(frozen=True, slots=True)
class Outage:
    """Views that do not answer for some time (`lasts`) from `at` on: those named, or all."""

    at: float = key(read.duration)
    lasts: float = key(read.span)
    views: tuple[str, ...] = key(read.list_of(read.text), ())

    def hits(self, view: str, now: float) -> bool:
        """Return whether a view (``GV$SESSION``, ``V$SESSION``) hangs at an instant."""
        named = {each.upper().removeprefix("G") for each in self.views}
        return self.at <= now < self.at + self.lasts and (not named or view.upper().removeprefix("G") in named)


@dataclass(frozen=True, slots=True)
class ViewChange:
    """The changed contents of a view from `at` on, for some time (`lasts`).

    Rows that have the values of `where` (all rows without it) are shown with the values of `set`, and left out without
    it. "" is NULL.
    """

    at: float = key(read.duration)
    lasts: float = key(read.span)
    view: str = key(read.text)
    where: Values = key(read.values, ())  # noqa: RUF009
    set: Values = key(read.values, ())  # noqa: RUF009

    @property
    def name(self) -> str:
        """The name of the view, with V$ for GV$."""
        return self.view.upper().replace("GV$", "V$")

    def holds(self, view: str, now: float) -> bool:
        """Return whether it changes what a view (``V$SESSION``) shows at an instant."""
        return self.name == view and self.at <= now < self.at + self.lasts

    def applied(self, row: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return a row, by column, as it is shown; None if it is left out."""
        shown = ((row[column], value) for column, value in self.where)
        if any(str("" if there is None else there) != str(value) for there, value in shown):
            return row
        new = {column: None if value == "" else value for column, value in self.set}
        return {**row, **new} if new else None


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of RESOURCE_MANAGER_PLAN to `plan` ("" turns it off) at `at`, repeated `every` so many seconds."""

    at: float = key(read.duration)
    plan: str = key(read.text)
    every: float | None = key(read.span, None)
    window: str = key(read.text, "")
    pdb: str = key(read.identifier, "")


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change at `at`: of a parameter, of a plan directive, or of an instance.

    PARALLEL_SERVERS_TARGET of each instance is set; or the directive of `plan` for `group` becomes `directive`; or the
    instance `restart` goes down, and comes back after the seconds that this `takes`.
    """

    at: float = key(read.duration)
    parallel_servers_target: int | None = key(read.whole(1, 32767), None)
    plan: str = key(read.identifier, "")
    group: str = key(read.identifier, "")
    directive: Directive | None = key(read.table_of(Directive), None)  # noqa: RUF009
    restart: int | None = key(read.whole(1, 8), None)
    takes: float = key(read.span, 60.0)

    def __post_init__(self) -> None:
        """Raise ValueError unless exactly one thing is altered."""
        given = (self.parallel_servers_target, self.directive, self.restart)
        if sum(each is not None for each in given) != 1:
            raise ValueError("needs one of 'parallel_servers_target', 'directive' and 'restart'")
        if (self.directive is not None) != bool(self.plan and self.group):
            raise ValueError("'directive' needs 'plan' and 'group', and they need it")


@dataclass(frozen=True, slots=True)
class ScenarioHeader:
    """The top-level keys: title, database and plans. `size` multiplies the size of the machine and the workload.

    `inside` is the pluggable database that presman is connected to; the views then show only its rows.
    """

    title: str = key(read.text, "")
    database: str = key(read.text, "DEMO")
    host: str = key(read.text, "dbhost")
    release: str = key(read.text, "19")
    seed: int = key(read.whole(0, 2**63), 1)
    warmup: float = key(read.duration, 3600.0)
    uptime: float = key(read.span, 41 * 86400.0)
    size: float = key(read.number(0.1, 1000), 1.0)
    plan: str = key(read.identifier, "")
    cdb_plan: str = key(read.identifier, "")
    inside: str = key(read.identifier, "")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A complete, validated scenario: every name that a workload or directive uses is defined."""

    name: str
    header: ScenarioHeader
    capacity: Capacity
    plans: Mapping[str, PlanSpec]
    pdbs: tuple[PdbSpec, ...]
    pools: tuple[SessionPool, ...]
    streams: tuple[StatementStream, ...]
    script: tuple[ScriptedStatement, ...]
    changes: tuple[PlanChange, ...]
    monitors: tuple[MonitorSpec, ...] = ()
    outages: tuple[Outage, ...] = ()
    views: tuple[ViewChange, ...] = ()
    alterations: tuple[Alteration, ...] = ()

    def altered(self, change: Alteration) -> Scenario:
        """Return the scenario with another PARALLEL_SERVERS_TARGET, or another directive of a plan."""
        if change.directive is None:
            capacity = replace(self.capacity, parallel_servers_target=change.parallel_servers_target)
            return replace(self, capacity=capacity)
        plan = self.plans[change.plan]
        directives = {**plan.directives, change.group: change.directive}
        return replace(self, plans={**self.plans, change.plan: replace(plan, directives=directives)})

    def sized(self, size: float) -> Scenario:
        """Return the scenario with `size` times as many CPUs, servers, sessions and arrivals."""
        if size == 1.0:
            return self

        def grown(spec: Sized, names: str, **others: Any) -> Sized:
            values = ((name, getattr(spec, name)) for name in names.split())
            return replace(
                spec, **{name: max(1, round(value * size)) if value else value for name, value in values}, **others
            )

        numbers = "cpu_count host_cpus parallel_servers_target parallel_max_servers"
        capacity = grown(self.capacity, numbers, io_mb_per_second=self.capacity.io_mb_per_second * size)
        pauses = (each.every / size if each.every else each.every for each in self.streams)
        streams = (grown(each, "burst sessions", every=every) for each, every in zip(self.streams, pauses, strict=True))
        pools = (grown(each, "count") for each in self.pools)
        return replace(self, capacity=capacity, streams=tuple(streams), pools=tuple(pools))

    @property
    def workloads(self) -> tuple[SessionPool | StatementStream | ScriptedStatement, ...]:
        """Its session pools, statement streams and scripted statements."""
        return (*self.pools, *self.streams, *self.script)

    def con_id(self, pdb: str) -> int:
        """Return the container of a PDB's name, 0 outside a CDB."""
        return next((each.con_id for each in self.pdbs if each.name == pdb), 0)


ENTRIES: Mapping[str, tuple[str, type]] = {
    "sessions": ("pools", SessionPool), "statements": ("streams", StatementStream),
    "script": ("script", ScriptedStatement), "changes": ("changes", PlanChange), "monitors": ("monitors", MonitorSpec),
    "outages": ("outages", Outage), "views": ("views", ViewChange), "alterations": ("alterations", Alteration),
}  # fmt: skip
"""The arrays of tables in a file: for each, the attribute of the scenario and the type of its entries."""
