"""Scenario: the capacity, plans, workloads and events that a TOML file describes.

Directive keys are the parameter names of DBMS_RESOURCE_MANAGER.CREATE_PLAN_DIRECTIVE, so a plan can be copied from the
script that creates it. Instants (`at`) count from the end of the warm-up, when presman opens the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from msgspec import Struct

from presman.sources.simulator.fields import (
    duration,
    flag,
    identifier,
    key,
    list_of,
    number,
    one_of,
    session,
    span,
    table_of,
    text,
    whole,
)

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

    mgmt_p1: int = key(whole(0, 100), 0)
    mgmt_p2: int = key(whole(0, 100), 0)
    mgmt_p3: int = key(whole(0, 100), 0)
    mgmt_p4: int = key(whole(0, 100), 0)
    mgmt_p5: int = key(whole(0, 100), 0)
    mgmt_p6: int = key(whole(0, 100), 0)
    mgmt_p7: int = key(whole(0, 100), 0)
    mgmt_p8: int = key(whole(0, 100), 0)
    shares: int | None = key(whole(1, 100), None)
    utilization_limit: int | None = key(whole(1, 100), None)
    parallel_server_limit: int | None = key(whole(0, 100), None)
    parallel_degree_limit_p1: int | None = key(whole(1, 32767), None)
    parallel_queue_timeout: float | None = key(span, None)
    pq_timeout_action: str = key(one_of("CANCEL", "RUN"), "CANCEL")
    parallel_stmt_critical: str = key(one_of("FALSE", "QUEUE", "BYPASS_QUEUE"), "FALSE")
    active_sess_pool_p1: int | None = key(whole(0), None)
    queueing_p1: float | None = key(span, None)
    switch_group: str = key(identifier, "")
    switch_time: float | None = key(span, None)
    switch_for_call: bool = key(flag, False)
    comment: str = key(text, "")

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

    shares: int | None = key(whole(1, 100), None)
    utilization_limit: int | None = key(whole(1, 100), None)
    parallel_server_limit: int | None = key(whole(0, 100), None)
    profile: str = key(identifier, "")
    cpu_count: int | None = key(whole(1, 1024), None)
    cpu_min_count: float | None = key(number(0.1, 1024), None)
    parallel_servers_target: int | None = key(whole(1, 32767), None)
    max_iops: int | None = key(whole(1), None)
    max_mbps: int | None = key(whole(1), None)

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

    instances: int = key(whole(1, 8), 1)
    cpu_count: int = key(whole(1, 1024), 16)
    host_cpus: int | None = key(whole(1, 1024), None)
    host_load: float = key(number(0), 0.3)
    parallel_threads_per_cpu: int = key(whole(1, 4), 1)
    parallel_servers_target: int | None = key(whole(1, 32767), None)
    parallel_max_servers: int | None = key(whole(1, 32767), None)
    parallel_degree_policy: str = key(one_of("AUTO", "ADAPTIVE", "LIMITED", "MANUAL"), "AUTO")
    parallel_degree_limit: int | None = key(whole(1, 32767), None)
    storage: str = key(one_of("disk", "flash", "exadata"), "flash")
    io_mb_per_second: float = key(number(1), 3000.0)

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

    period: float = key(span, 600.0)
    depth: float = key(number(0, 1), 0.3)


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

    name: str = key(text)
    group: str = key(identifier)
    count: int = key(whole(1, 5000))
    cpu: float = key(span, 0.05)
    io: float = key(duration, 0.01)
    think: float = key(duration, 0.5)
    swing: float = key(number(0, 1), 0.15)
    wave: Wave = key(table_of(Wave), _STEADY_WAVE)  # noqa: RUF009
    pdb: str = key(identifier, "")
    user: str = key(identifier, "APP")
    program: str = key(text, "JDBC Thin Client")
    machine: str = key(text, "app01")
    module: str = key(text, "")
    action: str = key(text, "")
    client_id: str = key(text, "")
    service: str = key(text, "oltp")
    sql: tuple[str, ...] = key(list_of(text), ("select status from orders where order_id = :1",))


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

    name: str = key(text)
    group: str = key(identifier)
    every: float | None = key(span, None)
    burst: int = key(whole(1, 1000), 1)
    burst_every: float | None = key(span, None)
    dop: tuple[int, ...] = key(list_of(whole(1, 4096)), (8,))
    reason: str = key(one_of("auto", "hint", "table property", "session"), "auto")
    sets: int = key(whole(1, 2), 2)
    trees: int = key(whole(1, 9), 1)
    work: float = key(span, 60.0)
    spread: float = key(number(0, 2), 0.6)
    cpu: float = key(number(0.01, 1), 0.5)
    mb: float = key(number(0), 20.0)
    queue: str = key(one_of("policy", "always", "never"), "policy")
    hold_chance: float = key(number(0, 1), 0.0)
    hold: float = key(span, 600.0)
    sessions: int = key(whole(0, 5000), 4)
    wave: Wave = key(table_of(Wave), _NO_WAVE)  # noqa: RUF009
    pdb: str = key(identifier, "")
    user: str = key(identifier, "RPT")
    program: str = key(text, "JDBC Thin Client")
    machine: str = key(text, "rpt01")
    module: str = key(text, "")
    service: str = key(text, "reports")
    sql: tuple[str, ...] = key(list_of(text), ())

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

    at: float = key(duration)
    group: str = key(identifier)
    dop: int = key(whole(1, 4096))
    seconds: float = key(span)
    sets: int = key(whole(1, 2), 2)
    trees: int = key(whole(1, 9), 1)
    reason: str = key(one_of("auto", "hint", "table property", "session"), "hint")
    cpu: float = key(number(0.01, 1), 0.5)
    mb: float = key(number(0), 20.0)
    queue: str = key(one_of("policy", "always", "never"), "policy")
    hold: float = key(duration, 0.0)
    then: str = key(text, "")
    blocked_by: tuple[int, int] | None = key(session, None)
    servers_blocked: bool = key(flag, False)
    status: str = key(one_of("INACTIVE", "KILLED", "SNIPED"), "INACTIVE")
    process: str = key(text, "")
    waits_for: str = key(text, "")
    instance: int = key(whole(1, 8), 1)
    pdb: str = key(identifier, "")
    sql_id: str = key(text, "")
    sid: int | None = key(whole(1, 65535), None)
    serial: int | None = key(whole(1, 65535), None)
    user: str = key(identifier, "MARTIN")
    program: str = key(text, "sqlplus@client01 (TNS V1-V3)")
    machine: str = key(text, "client01")
    module: str = key(text, "SQL*Plus")
    service: str = key(text, "reports")
    sql: str = key(text, "select /*+ parallel */ count(*) from sales")


@dataclass(frozen=True, slots=True)
class MonitorSpec:
    """Another monitor: it queries a GV$ view `every` so many seconds, and each query `takes` some.

    On a cluster its queries have parallel servers.
    """

    name: str = key(text)
    every: float = key(span, 20.0)
    takes: float = key(span, 5.0)
    user: str = key(identifier, "DBSNMP")
    program: str = key(text, "emagent")
    machine: str = key(text, "dbhost01")
    module: str = key(text, "")
    sql: str = key(text, "select inst_id, count(*) from gv$session group by inst_id")


@dataclass(frozen=True, slots=True)
class Outage:
    """Views that do not answer for some time (`lasts`) from `at` on: those named, or all."""

    at: float = key(duration)
    lasts: float = key(span)
    views: tuple[str, ...] = key(list_of(text), ())

    def hits(self, view: str, now: float) -> bool:
        """Return whether a view (``GV$SESSION``, ``V$SESSION``) hangs at an instant."""
        named = {each.upper().removeprefix("G") for each in self.views}
        return self.at <= now < self.at + self.lasts and (not named or view.upper().removeprefix("G") in named)


@dataclass(frozen=True, slots=True)
class PlanChange:
    """A change of RESOURCE_MANAGER_PLAN to `plan` ("" turns it off) at `at`, repeated `every` so many seconds."""

    at: float = key(duration)
    plan: str = key(text)
    every: float | None = key(span, None)
    window: str = key(text, "")
    pdb: str = key(identifier, "")


@dataclass(frozen=True, slots=True)
class Alteration:
    """A change at `at`: of a parameter, of a plan directive, or of an instance.

    PARALLEL_SERVERS_TARGET of each instance is set; or the directive of `plan` for `group` becomes `directive`; or the
    instance `restart` goes down, and comes back after the seconds that this `takes`.
    """

    at: float = key(duration)
    parallel_servers_target: int | None = key(whole(1, 32767), None)
    plan: str = key(identifier, "")
    group: str = key(identifier, "")
    directive: Directive | None = key(table_of(Directive), None)  # noqa: RUF009
    restart: int | None = key(whole(1, 8), None)
    takes: float = key(span, 60.0)

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

    title: str = key(text, "")
    database: str = key(text, "DEMO")
    host: str = key(text, "dbhost")
    release: str = key(text, "19")
    seed: int = key(whole(0, 2**63), 1)
    warmup: float = key(duration, 3600.0)
    uptime: float = key(span, 41 * 86400.0)
    size: float = key(number(0.1, 1000), 1.0)
    plan: str = key(identifier, "")
    cdb_plan: str = key(identifier, "")
    inside: str = key(identifier, "")


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
    alterations: tuple[Alteration, ...] = ()

    def altered(self, change: Alteration) -> Scenario:
        """Return the scenario with another PARALLEL_SERVERS_TARGET, or another directive of a plan."""
        if change.directive is None:
            return replace(
                self, capacity=replace(self.capacity, parallel_servers_target=change.parallel_servers_target)
            )
        plan = self.plans[change.plan]
        directives = {**plan.directives, change.group: change.directive}
        return replace(self, plans={**self.plans, change.plan: replace(plan, directives=directives)})

    def sized(self, size: float) -> Scenario:
        """Return the scenario with `size` times as many CPUs, servers, sessions and arrivals."""
        if size == 1.0:
            return self

        def grown(number: int) -> int:
            return max(1, round(number * size))

        given = self.capacity
        capacity = replace(
            given,
            cpu_count=grown(given.cpu_count),
            host_cpus=given.host_cpus and grown(given.host_cpus),
            parallel_servers_target=given.parallel_servers_target and grown(given.parallel_servers_target),
            parallel_max_servers=given.parallel_max_servers and grown(given.parallel_max_servers),
            io_mb_per_second=given.io_mb_per_second * size,
        )
        streams = tuple(
            replace(
                stream,
                every=stream.every and stream.every / size,
                burst=grown(stream.burst),
                sessions=grown(stream.sessions) if stream.sessions else 0,
            )
            for stream in self.streams
        )
        pools = tuple(replace(pool, count=grown(pool.count)) for pool in self.pools)
        return replace(self, capacity=capacity, streams=streams, pools=pools)

    @property
    def who_connects(self) -> tuple[SessionPool | StatementStream | ScriptedStatement, ...]:
        """Its workloads."""
        return (*self.pools, *self.streams, *self.script)

    def con_id(self, pdb: str) -> int:
        """Return the container of a PDB's name, 0 outside a CDB."""
        return next((each.con_id for each in self.pdbs if each.name == pdb), 0)


ENTRIES: Mapping[str, tuple[str, type]] = {
    "sessions": ("pools", SessionPool), "statements": ("streams", StatementStream),
    "script": ("script", ScriptedStatement), "changes": ("changes", PlanChange), "monitors": ("monitors", MonitorSpec),
    "outages": ("outages", Outage), "alterations": ("alterations", Alteration),
}  # fmt: skip
"""The arrays of tables in a file: for each, the attribute of the scenario and the type of its entries."""
