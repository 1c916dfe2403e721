"""Plans of a snapshot: which rule where, their directives, how many CPUs they divide, what containers get."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import NamedTuple

from msgspec import Struct

from presman.analysis.caches import RowCache
from presman.analysis.facts.deltas import Deltas
from presman.analysis.facts.plan_book import PENDING, PlanBook, plan_name
from presman.analysis.facts.system_facts import ROOT, SystemFacts
from presman.base.release import Release
from presman.base.sums import grouped
from presman.rows.group_rows import (
    CdbPlanDirective,
    ConsumerGroup,
    ContainerPlan,
    ContainerPlanDirective,
    GroupMetric,
    Plan,
    PlanDirective,
    RsrcPlan,
)
from presman.rows.instance_rows import SEED, Pdb, PdbMetric
from presman.rows.snapshot import Snapshot

NO_BOOK = PlanBook()
"""The plans of a container that cannot be read."""

_OF_AUTONOMOUS = "DWCS_PLAN"
_OF_AUTONOMOUS_OLTP = ("OLTP_PLAN", "HIGH")
"""The plans that Autonomous Databases come with (CS_RESOURCE_MANAGER.UPDATE_PLAN_DIRECTIVE), the second with a group of
it: others may call a plan of their own so."""


class PlanBooks(Struct, frozen=True, dict=True):
    """The plans of each container and their directives; `inside` is the pluggable database connected to, or None."""

    snapshot: Snapshot
    cache: RowCache
    inside: int | None

    @cached_property
    def connected(self) -> PlanBook:
        """The plans in force in the container connected to."""
        since_12 = self.snapshot.release >= Release(12, 1)
        return self.cache.call(PlanBook.read, self.snapshot.rows(Plan), self.snapshot.rows(PlanDirective), since_12)

    @cached_property
    def _books(self) -> Mapping[int, PlanBook]:
        rows = self.snapshot.rows
        return self.cache.call(_books, rows(ContainerPlan), rows(ContainerPlanDirective))

    def of(self, con_id: int) -> PlanBook:
        """Return the plans of a container: in the root the DBA_ views have the root's only, the CDB_ views all."""
        if con_id <= ROOT or (self.inside is None and not self._asked_of_containers):
            return self.connected
        return self.connected if self.inside == con_id else self._books.get(con_id, NO_BOOK)

    @property
    def all(self) -> tuple[PlanBook, ...]:
        """The plans of the container connected to, then those of the others."""
        return (self.connected, *self._books.values())

    def having(self, plan: str) -> tuple[PlanBook, int]:
        """Return the plans among which `plan` is, and their container: that connected to if there is none."""
        here = self.inside or 0
        if plan not in self.connected.directives:
            found = next(((book, con_id) for con_id, book in self._books.items() if plan in book.directives), None)
            return found or (self.connected, here)
        return self.connected, here

    @cached_property
    def _asked_of_containers(self) -> bool:
        section = self.snapshot.section(ContainerPlanDirective)
        return bool(section.rows) or section.problem is not None


class PlanFacts(Struct, frozen=True, dict=True):
    """Lookups into what a snapshot says of plans."""

    snapshot: Snapshot
    deltas: Deltas
    system: SystemFacts
    cache: RowCache

    @cached_property
    def plan_rows(self) -> Mapping[tuple[int, int], RsrcPlan]:
        """V$RSRC_PLAN by (instance, container): the top plan where it says so."""
        rows: dict[tuple[int, int], RsrcPlan] = {}
        for row in self.snapshot.rows(RsrcPlan):
            key = (row.inst_id, row.con_id)
            if key not in rows or (row.is_top_plan == "TRUE" and rows[key].is_top_plan != "TRUE"):
                rows[key] = row
        return rows

    @cached_property
    def top_rows(self) -> Mapping[int, RsrcPlan]:
        """V$RSRC_PLAN by instance: the row of the whole instance, or of the container connected to."""
        rows: dict[int, RsrcPlan] = {}
        for (inst_id, con_id), row in self.plan_rows.items():
            if inst_id not in rows or con_id < rows[inst_id].con_id:
                rows[inst_id] = row
        return rows

    def plan_of(self, inst_id: int, con_id: int) -> str:
        """Return the name of the plan that rules a container of an instance, "" if none can be read."""
        row = self.plan_rows.get((inst_id, con_id))
        if row is None and con_id <= ROOT:
            row = self.top_rows.get(inst_id)
        if row is not None:
            return plan_name(row.name)
        window = self.deltas.windows.get((inst_id, con_id))
        if window is None and con_id <= ROOT:
            return plan_name(self.system.parameters.by_name.get((inst_id, "resource_manager_plan"), ""))
        return plan_name(window.plan) if window else ""

    @cached_property
    def books(self) -> PlanBooks:
        """The plans that can be read, by container."""
        return PlanBooks(self.snapshot, self.cache, self.inside)

    @cached_property
    def own_containers(self) -> frozenset[int]:
        """The pluggable databases that V$RSRC_PLAN shows a plan of."""
        return frozenset(con_id for _, con_id in self.plan_rows if con_id > 2)

    def containers(self, inst_id: int) -> Mapping[int, str]:
        """Return the pluggable databases that are open on an instance, by CON_ID, with names where those are known.

        V$PDBS says it; where that tells nothing of one, V$RSRC_PLAN does by showing a plan of it.
        """
        return self._containers.get(inst_id) or self.system.open_pdbs(inst_id)

    def open_on(self, con_id: int) -> tuple[int, ...]:
        """Return the instances on which a pluggable database is open."""
        return tuple(inst_id for inst_id in self.system.inst_ids if con_id in self.containers(inst_id))

    @cached_property
    def _containers(self) -> Mapping[int, Mapping[int, str]]:
        found: dict[int, dict[int, str]] = {}
        for inst_id, con_id in self.plan_rows:
            if con_id > SEED and not self.system.is_closed(inst_id, con_id):
                names = found.setdefault(inst_id, dict(self.system.open_pdbs(inst_id)))
                names.setdefault(con_id, self.system.pdb_names.get(con_id, ""))
        return found

    def cpu_managed(self, inst_id: int, con_id: int) -> bool:
        """Whether the plan of a container steers CPU, unless V$RSRC_PLAN says that it does not."""
        row = self.plan_rows.get((inst_id, con_id)) or self.top_rows.get(inst_id)
        return row is None or row.cpu_managed.upper() != "OFF"

    @cached_property
    def autonomous(self) -> bool:
        """Whether this is an Autonomous Database: by its service, or by a plan of theirs with its groups."""
        if self.snapshot.cloud_service:
            return True
        plans = {row.name.rpartition(":")[2] for row in self.plan_rows.values()}
        plan, group = _OF_AUTONOMOUS_OLTP
        if _OF_AUTONOMOUS in plans or plan not in plans:
            return _OF_AUTONOMOUS in plans
        counted = {row.name for row in self.snapshot.rows(ConsumerGroup)}
        return group in counted | {row.group_or_subplan for row in self.snapshot.rows(PlanDirective)}

    def server_wide(self, inst_id: int) -> bool:
        """Whether CPU is handed out over all instances of the server: then one instance's CPUs are not what is shared.

        RESOURCE_MANAGER_CPU_SCOPE says so (23ai on). V$RSRC_PLAN.CPU_SCOPE would, too; which updates have it is not
        known, and a column that is lacking would cost all that is read of the view.
        """
        return self.system.parameters.by_name.get((inst_id, "resource_manager_cpu_scope"), "").upper() == "SERVER_WIDE"

    @cached_property
    def inside(self) -> int | None:
        """The pluggable database connected to, None in the root and without containers. It sees its own plan only."""
        seen = {con_id for _, con_id in self.plan_rows} | {row.con_id for row in self.snapshot.rows(Pdb)}
        return min(seen) if len(seen) == 1 and min(seen) > 2 else None

    def own_target(self, inst_id: int, con_id: int) -> int | None:
        """Return the PARALLEL_SERVERS_TARGET of a container on an instance, None where it has none of its own."""
        row = self.plan_rows.get((inst_id, con_id))
        shown = row.parallel_servers_total if row is not None and row is not self.top_rows[inst_id] else 0
        return self.system.parameters.setting(inst_id, con_id, "parallel_servers_target") or shown or None

    @cached_property
    def shown_servers_limits(self) -> Mapping[tuple[int, str], int]:
        """PARALLEL_SERVERS_LIMIT of V$RSRCMGRMETRIC by container and group."""
        return {
            (row.con_id, row.consumer_group_name): row.parallel_servers_limit
            for row in self.snapshot.rows(GroupMetric)
            if row.parallel_servers_limit is not None
        }

    @cached_property
    def capacities(self) -> Mapping[tuple[int, int], int]:
        """NUM_CPUS of V$RSRCMGRMETRIC by (instance, container)."""
        found: dict[tuple[int, int], int] = {}
        for row in self.snapshot.rows(GroupMetric):
            key = (row.inst_id, row.con_id)
            found[key] = max(row.num_cpus, found.get(key, 0))
        return found

    def num_cpus(self, inst_id: int, con_id: int = 0) -> float:
        """Return the CPUs that Resource Manager hands out; 0.0 where no view tells.

        V$RSRCMGRMETRIC says it; else UTILIZATION_LIMIT on an Autonomous Database, where that is the number of CPUs;
        else CPU_COUNT if the instance is caged, else the host's CPUs.
        """
        known = self.capacities
        containers = (con_id, ROOT, 0) if self.inside is None else (con_id, self.inside)
        cpu_count = next((cpus for container in containers if (cpus := known.get((inst_id, container), 0)) > 0), 0)
        if cpu_count > 0:
            return float(cpu_count)
        row = self.top_rows.get(inst_id)
        if row is not None and self.autonomous and row.utilization_limit:
            return float(row.utilization_limit)
        count = self.system.parameters.number(inst_id, "cpu_count") or 0
        if row is not None and row.instance_caging == "ON" and count:
            return float(count)
        return self.system.host_cpus(inst_id) or float(count)


def _books(plans: tuple[ContainerPlan, ...], rows: tuple[ContainerPlanDirective, ...]) -> dict[int, PlanBook]:
    """Return the plans of each container from what the CDB_ views say."""
    named, directives = grouped(plans, lambda row: row.con_id), grouped(rows, lambda row: row.con_id)
    return {con_id: PlanBook.read(named.get(con_id, ()), found) for con_id, found in directives.items()}


# ---- What a container database gives each pluggable one: its part of the CPUs, its limit, its limit on servers.
# Its part goes by SHARES of the CDB plan. Where that plan sets neither SHARES nor UTILIZATION_LIMIT, Resource Manager
# goes by CPU_MIN_COUNT of the containers (Database Reference 19: CPU_MIN_COUNT; its default is CPU_COUNT), and in 18,
# which has no such parameter, by CPU_COUNT. Three things may limit its CPU, and the smallest holds: UTILIZATION_LIMIT
# in the CDB plan, its own CPU_COUNT, and what V$RSRCPDBMETRIC shows as RUNNING_SESSIONS_LIMIT.


DEFAULT_PDB = "ORA$DEFAULT_PDB_DIRECTIVE"
"""The directive of the containers that no other one names."""

AUTOTASK = "ORA$AUTOTASK"
"""The directive of maintenance tasks, which is about no container."""

SHARES, BY_MINIMUM = "SHARES", "CPU_MIN_COUNT"
"""What says a container's part: the first where the CDB plan has any rule about CPU, else the other, from 19 on."""

_BY_CPU_COUNT, BY_CPU_MIN_COUNT = Release(18), Release(19)
"""The releases from which on these parameters of a container are its part where the CDB plan has no rule."""

_ALIKE = 0.01
"""Limits closer than this, as fractions, are one and the same: views round."""


class Allotment(NamedTuple):
    """What one container is given. `limit` is a fraction of the instance's CPUs, `servers` of its servers target.

    `weight` is its part, against those of the others, and `weighed_by` what says so: SHARES, CPU_MIN_COUNT or
    CPU_COUNT. `shares` are those of its directive. `limited_by` says what the limit on CPU is, "" without one.
    """

    shares: int | None = None
    limit: float | None = None
    limited_by: str = ""
    servers: float | None = None
    weight: float = 1.0
    weighed_by: str = SHARES


def allotments(plans: PlanFacts, inst_id: int, cpus: float) -> dict[int, Allotment]:
    """Return the allotment of each pluggable database on an instance that divides `cpus`."""
    containers = sorted(plans.system.pdbs.keys() | plans.own_containers)
    if not containers:
        return {}
    metrics = {
        row.con_id: row.running_sessions_limit for row in plans.snapshot.rows(PdbMetric) if row.inst_id == inst_id
    }
    given = directives(plans, inst_id)
    weighed_by = _weighed_by(plans, inst_id, given)
    found = {}
    for con_id in containers:
        row = given.get(con_id)
        limits = dict(_limits(plans, inst_id, con_id, cpus, row))
        running = metrics.get(con_id)
        if running is not None and 0 < running < cpus:
            limits["RUNNING_SESSIONS_LIMIT"] = running / cpus
        least = min(limits.values(), default=None)
        name = next((name for name, limit in limits.items() if least is not None and limit <= least + _ALIKE), "")
        servers = percent_fraction(row.parallel_server_limit) if row else None
        shares = row.shares if row else None
        weight = shares or 1 if weighed_by == SHARES else least_cpus(plans, inst_id, con_id, cpus)
        found[con_id] = Allotment(shares, least, name, servers, float(weight), weighed_by)
    if not any(each.weight for each in found.values()):  # no view shows how many CPUs there are: as many for each
        found = {con_id: each._replace(weight=1.0) for con_id, each in found.items()}
    return found


def _weighed_by(plans: PlanFacts, inst_id: int, given: Mapping[int, CdbPlanDirective]) -> str:
    """Return what says each container's part: the plan's SHARES if it has any rule about CPU, else a parameter."""
    release = plans.snapshot.release
    if release < _BY_CPU_COUNT or _plan(plans, inst_id).rules_cpu or any(map(_rules_cpu, given.values())):
        return SHARES
    return BY_MINIMUM if release >= BY_CPU_MIN_COUNT else "CPU_COUNT"


def _rules_cpu(row: CdbPlanDirective) -> bool:
    """Whether a directive sets SHARES or UTILIZATION_LIMIT; every plan has a default one with one share.

    V$RSRC_PLAN, where it stands for the plan, does not tell one share that was set from the default.
    """
    if row.pluggable_database == AUTOTASK:
        return False
    usual = (None, 1) if row.pluggable_database == DEFAULT_PDB or not row.plan else (None,)
    return row.shares not in usual or percent_fraction(row.utilization_limit) is not None


def least_cpus(plans: PlanFacts, inst_id: int, con_id: int, cpus: float) -> float:
    """Return CPU_MIN_COUNT of a container (CPU_COUNT in 18): its own, else its CPU_COUNT, else that of the whole."""
    system = plans.system
    count = system.parameters.setting(inst_id, con_id, "cpu_count")
    if plans.snapshot.release < BY_CPU_MIN_COUNT:
        return count or cpus
    return system.parameters.amount(inst_id, con_id, "cpu_min_count") or count or whole_least_cpus(plans, inst_id, cpus)


def whole_least_cpus(plans: PlanFacts, inst_id: int, cpus: float) -> float:
    """Return CPU_MIN_COUNT of the whole, which is CPU_COUNT unless it was set."""
    amounts = (plans.system.parameters.amount(inst_id, con_id, "cpu_min_count") for con_id in (0, ROOT))
    return next((amount for amount in amounts if amount), cpus)


def _limits(
    plans: PlanFacts, inst_id: int, con_id: int, cpus: float, row: CdbPlanDirective | None
) -> Iterable[tuple[str, float]]:
    """Yield the limits that the CDB plan and the container itself set."""
    shown = plans.plan_rows.get((inst_id, con_id))
    if plans.autonomous and shown is not None and 0 < (shown.utilization_limit or 0) < cpus:
        yield "UTILIZATION_LIMIT", (shown.utilization_limit or 0) / cpus
    cpu_count = plans.system.parameters.setting(inst_id, con_id, "cpu_count")
    limit = percent_fraction(row.utilization_limit) if row else None
    # Inside a container whose CPU_COUNT is less than the host has the CPUs of which this is a part are not seen.
    whole = not cpu_count or plans.inside != con_id or cpu_count >= (plans.system.host_cpus(inst_id) or cpus)
    if limit is not None and whole:
        yield "UTILIZATION_LIMIT", limit
    if cpu_count and cpu_count < cpus:
        yield "CPU_COUNT", cpu_count / cpus


class _CdbPlan(NamedTuple):
    """The directives of one CDB plan, and whether any of them sets SHARES or UTILIZATION_LIMIT."""

    by_name: Mapping[str, CdbPlanDirective]
    by_profile: Mapping[str, CdbPlanDirective]
    rules_cpu: bool


_NO_PLAN = _CdbPlan({}, {}, rules_cpu=False)


def _plan(plans: PlanFacts, inst_id: int) -> _CdbPlan:
    """Return the CDB plan that an instance runs, as far as its directives can be read."""
    known = plans.cache.call(_by_plan, plans.snapshot.rows(CdbPlanDirective))
    return known.get(plans.plan_of(inst_id, ROOT), _NO_PLAN)


def _by_plan(rows: Iterable[CdbPlanDirective]) -> dict[str, _CdbPlan]:
    found = grouped((row for row in rows if row.status != PENDING), lambda row: row.plan)
    return {
        plan: _CdbPlan(
            {row.pluggable_database: row for row in own if row.pluggable_database},
            {row.profile: row for row in own if row.profile and not row.pluggable_database},
            any(map(_rules_cpu, own)),
        )
        for plan, own in found.items()
    }


def directives(plans: PlanFacts, inst_id: int) -> Mapping[int, CdbPlanDirective]:
    """Return the directive of each container: its own, its profile's, what V$RSRC_PLAN shows of it, or the default."""
    by_name, by_profile, _ = _plan(plans, inst_id)
    found = {}
    for con_id in plans.system.pdbs.keys() | plans.own_containers:
        row = (
            by_name.get(plans.system.pdb_names.get(con_id, ""))
            or by_profile.get(profile(plans, inst_id, con_id))
            or _in_force(plans, inst_id, con_id)
            or by_name.get(DEFAULT_PDB)
        )
        if row is not None:
            found[con_id] = row
    return found


def profile(plans: PlanFacts, inst_id: int, con_id: int) -> str:
    """Return a container's performance profile, "" without one."""
    row = plans.plan_rows.get((inst_id, con_id))
    return (row.profile if row else "") or plans.system.parameters.of_container(
        inst_id, con_id, "db_performance_profile"
    )


def _in_force(plans: PlanFacts, inst_id: int, con_id: int) -> CdbPlanDirective | None:
    """Return what V$RSRC_PLAN shows that the CDB gives a container, all that is seen of it from inside.

    On Autonomous Databases UTILIZATION_LIMIT there is the number of CPUs: no percentage.
    """
    row: RsrcPlan | None = plans.plan_rows.get((inst_id, con_id))
    if row is None or row.shares is None:
        return None
    limit = None if plans.autonomous else row.utilization_limit
    return CdbPlanDirective(
        "", plans.system.pdb_names.get(con_id, ""), row.shares, limit, row.parallel_server_limit, "", row.profile
    )


def percent_fraction(percent: int | None) -> float | None:
    """Return a limit in percent as a fraction, None if it limits nothing."""
    return None if percent is None or not 0 <= percent < 100 else percent / 100


def whole_servers(fraction: float, target: int) -> int:
    """Return the servers that a fraction of the target allows: 84 percent of 96 is 80.64, and 80 servers ran."""
    return int(fraction * target + 1e-9)
