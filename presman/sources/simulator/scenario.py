"""Scenario: capacity, plans, workloads and events, as a TOML file describes them.

Directive keys are the parameter names of DBMS_RESOURCE_MANAGER.CREATE_PLAN_DIRECTIVE, so a plan can be copied
from its script. Instants (`at`) count from the end of the warm-up, which is the moment presman opens.
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
"""The SID that presman's own session would have on instance 1: never given to anybody, so it never shows."""

ACTIONS = ("CANCEL_SQL", "KILL_SESSION", "LOG_ONLY")
"""What SWITCH_GROUP may name instead of a group."""


@dataclass(frozen=True, slots=True)
class Directive:
    """What a plan gives one group or subplan. Percent of the level, of CPU or of servers; times in seconds.

    `active_sess_pool_p1` holds back statements; the short calls of session pools pass.
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
        """MGMT_P1 to MGMT_P8; shares stand at the first level, as the dictionary shows them."""
        if self.shares is not None:
            return (self.shares, 0, 0, 0, 0, 0, 0, 0)
        return tuple(getattr(self, f"mgmt_p{level}") for level in range(1, 9))


@dataclass(frozen=True, slots=True)
class PlanSpec:
    """A plan: its method (EMPHASIS: levels, RATIO: shares) and directives by group or subplan."""

    name: str
    method: str
    comment: str
    directives: Mapping[str, Directive]


@dataclass(frozen=True, slots=True)
class PdbDirective:
    """What the CDB plan gives one pluggable database, by its name or by its `profile`, and what it has set for itself.

    `cpu_count`, `cpu_min_count` (19 and later), `max_iops`, `max_mbps` (12.2 and later) and `parallel_servers_target`
    hold on each instance. Without `shares`, and a directive of its own, the default directive gives it one.
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
        """Whether the CDB plan has a directive for it, by its name or profile."""
        given = (self.shares, self.utilization_limit, self.parallel_server_limit, self.profile or None)
        return any(each is not None for each in given)

    def cpu_limit(self, cpus: int) -> float:
        """Return the part of the CPUs it may use, by UTILIZATION_LIMIT and by its own CPU_COUNT."""
        return min((self.utilization_limit or 100) / 100, (self.cpu_count or cpus) / cpus)

    def servers_limit(self, target: int, instances: int) -> int | None:
        """Return the servers it may hold on all instances together; None without a limit."""
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
    """Machines, each instance alike: CPUs, parallel servers, storage, and the parameters that steer them."""

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
        """Refuse what no instance could be started with."""
        if self.cpu_count > self.host:
            raise ValueError(f"cpu_count {self.cpu_count} is more than host_cpus {self.host}")
        if self.target > self.maximum:
            raise ValueError(f"parallel_servers_target {self.target} is more than parallel_max_servers {self.maximum}")

    @property
    def host(self) -> int:
        """CPUs of one host."""
        return self.host_cpus if self.host_cpus is not None else self.cpu_count

    @property
    def caged(self) -> bool:
        """Whether CPU_COUNT was set below the host's, which with a plan is instance caging."""
        return self.cpu_count < self.host

    @property
    def target(self) -> int:
        """PARALLEL_SERVERS_TARGET of one instance; the default is Oracle's for 4 concurrent parallel users."""
        return self.parallel_servers_target or self.parallel_threads_per_cpu * self.cpu_count * 4 * 2

    @property
    def maximum(self) -> int:
        """PARALLEL_MAX_SERVERS of one instance; default as for the target, times 5 instead of 2."""
        return self.parallel_max_servers or max(self.target, self.parallel_threads_per_cpu * self.cpu_count * 4 * 5)

    @property
    def degree_limit(self) -> int:
        """The ceiling of automatic DOP; the default CPU is CPU_COUNT x threads x instances."""
        return self.parallel_degree_limit or self.cpu_count * self.parallel_threads_per_cpu * self.instances


@dataclass(frozen=True, slots=True)
class Wave:
    """A slow swing of activity: sine of `period` seconds, `depth` 0..1 of the mean."""

    period: float = key(span, 600.0)
    depth: float = key(number(0, 1), 0.3)


_STEADY_WAVE = Wave()
_NO_WAVE = Wave(depth=0.0)


class Client(Struct, frozen=True):
    """Who connects: what V$SESSION shows of a workload's sessions."""

    user: str
    program: str
    machine: str
    module: str
    service: str
    action: str = ""
    client_id: str = ""


@dataclass(frozen=True, slots=True)
class SessionPool:
    """Connected sessions that work in short calls: think, I/O, CPU. `cpu`, `io`, `think` are seconds per call."""

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
    """Statements that arrive at random (`every`) or together (`burst` of them every `burst_every`).

    `dop` are the degrees asked for, one drawn each time; `reason` says who asks (auto, hint, table property,
    session); `sets` 1 for a lone scan, 2 for producers and consumers, in each of `trees`, which work one after the
    other. `work` is seconds to run with all servers and no throttling, `spread` its log-normal sigma; `cpu` the CPUs
    one working server wants, `mb` the MB/s it reads. `queue` is policy (PARALLEL_DEGREE_POLICY decides), always or
    never. A share `hold_chance` of the statements is never fetched to its end and holds its servers for about `hold`
    seconds.
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
        """Refuse a stream that never flows."""
        if self.every is None and self.burst_every is None:
            raise ValueError("needs 'every' (mean seconds between statements) or 'burst_every'")


@dataclass(frozen=True, slots=True)
class ScriptedStatement:
    """One statement at an exact instant. `seconds` is its run time unthrottled with all servers it asks for.

    `then` is what its session has executed since, while the cursor holds its servers: the session shows that statement.
    `instance` is where its session is; `blocked_by` instance and SID of the session whose lock it waits for all the
    while it runs, with `servers_blocked` its servers do and not its coordinator. `status` is KILLED or SNIPED where its
    session is shown as that while it holds its cursor. `process` is a background process (SMON) that it works for in
    place of a user; `waits_for` is an event that its session waits for all the while.
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
    """Another monitor: `every` so many seconds a query of a GV$ view that `takes` some. On a cluster it has servers."""

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
    """Views that do not answer from `at` on for a time that it `lasts`: those named, or all of them."""

    at: float = key(duration)
    lasts: float = key(span)
    views: tuple[str, ...] = key(list_of(text), ())

    def hits(self, view: str, now: float) -> bool:
        """Return whether a view (``GV$SESSION``, ``V$SESSION``) hangs at an instant."""
        plain = view.upper().removeprefix("G")
        return self.at <= now < self.at + self.lasts and (not self.views or plain in map(str.upper, self.views))


@dataclass(frozen=True, slots=True)
class PlanChange:
    """RESOURCE_MANAGER_PLAN is set to `plan` ("" turns it off) at `at`, and again `every` so many seconds."""

    at: float = key(duration)
    plan: str = key(text)
    every: float | None = key(span, None)
    window: str = key(text, "")
    pdb: str = key(identifier, "")


@dataclass(frozen=True, slots=True)
class Alteration:
    """Something that an administrator alters at `at`: a parameter, a directive of a plan, or an instance.

    PARALLEL_SERVERS_TARGET of each instance is set; or the directive that `plan` gives `group` becomes `directive`; or
    the instance `restart` goes, and comes back after the seconds that this `takes`.
    """

    at: float = key(duration)
    parallel_servers_target: int | None = key(whole(1, 32767), None)
    plan: str = key(identifier, "")
    group: str = key(identifier, "")
    directive: Directive | None = key(table_of(Directive), None)  # noqa: RUF009
    restart: int | None = key(whole(1, 8), None)
    takes: float = key(span, 60.0)

    def __post_init__(self) -> None:
        """Refuse what alters nothing, or several things at once."""
        given = (self.parallel_servers_target, self.directive, self.restart)
        if sum(each is not None for each in given) != 1:
            raise ValueError("needs one of 'parallel_servers_target', 'directive' and 'restart'")
        if (self.directive is not None) != bool(self.plan and self.group):
            raise ValueError("'directive' needs 'plan' and 'group', and they need it")


@dataclass(frozen=True, slots=True)
class ScenarioHeader:
    """The scenario's own keys: what it is about, and the database it shows. `size` makes machine and work bigger.

    `inside` is the pluggable database that presman is connected to, of which alone the views then show something.
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
    """All of it, checked: every name that a workload or directive uses is defined."""

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
        """Return the scenario with machine and work `size` times as big: CPUs, servers, sessions and arrivals."""
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
"""The tables that a file may have several of: where a scenario has them, and what each becomes."""
