"""Plan of a container database: the part of the CPUs, the limit and the servers of each pluggable database.

The part of a container comes from SHARES of the CDB plan. If that plan sets neither SHARES nor UTILIZATION_LIMIT,
Resource Manager uses CPU_MIN_COUNT of the containers (Database Reference 19: CPU_MIN_COUNT; its default is CPU_COUNT),
and in 18, which has no such parameter, CPU_COUNT. Three limits may apply to its CPU, and the smallest one holds:
UTILIZATION_LIMIT in the CDB plan, its own CPU_COUNT, and RUNNING_SESSIONS_LIMIT of V$RSRCPDBMETRIC.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts.plan_book import PENDING
from presman.analysis.facts.plan_facts import PlanFacts
from presman.analysis.facts.system_facts import ROOT
from presman.base.release import Release
from presman.base.sums import grouped
from presman.rows.group_rows import CdbPlanDirective, RsrcPlan
from presman.rows.instance_rows import PdbMetric

DEFAULT_PDB = "ORA$DEFAULT_PDB_DIRECTIVE"
"""The directive of the containers without a directive of their own."""

AUTOTASK = "ORA$AUTOTASK"
"""The directive of maintenance tasks, which belongs to no container."""

SHARES, BY_MINIMUM = "SHARES", "CPU_MIN_COUNT"
"""The source of a container's part: SHARES if the CDB plan has any rule about CPU, else CPU_MIN_COUNT, since 19."""

_BY_CPU_COUNT, BY_CPU_MIN_COUNT = Release(18), Release(19)
"""The first releases in which these parameters define a container's part if the CDB plan has no rule."""

_ALIKE = 0.01
"""Limits that differ by less than this, as fractions, are the same: views round."""


class Allocation(NamedTuple):
    """The part of one container. `limit` is a fraction of the instance's CPUs, `servers` of its servers target.

    `weight` is its part in relation to the others, and `weighed_by` is its source: SHARES, CPU_MIN_COUNT or CPU_COUNT.
    `shares` are those of its directive. `limited_by` is the source of the limit on CPU, "" without one.
    """

    shares: int | None = None
    limit: float | None = None
    limited_by: str = ""
    servers: float | None = None
    weight: float = 1.0
    weighed_by: str = SHARES


def allocations(plans: PlanFacts, inst_id: int, cpus: float) -> dict[int, Allocation]:
    """Return the allocation of each pluggable database on an instance that divides `cpus`."""
    containers = sorted(plans.system.pdbs.keys() | plans.own_containers)
    if not containers:
        return {}
    rows = (row for row in plans.snapshot.rows(PdbMetric) if row.inst_id == inst_id)
    metrics = {row.con_id: row.running_sessions_limit for row in rows}
    given = directives(plans, inst_id)
    weighed_by = _weighed_by(plans, inst_id, given)
    found = {}
    for con_id in containers:
        row = given.get(con_id)
        limits = dict(_limits(plans, inst_id, con_id, cpus, row))
        running = metrics.get(con_id)
        if running is not None and 0 < running < cpus:
            limits["RUNNING_SESSIONS_LIMIT"] = running / cpus
        # Of limits that are alike, the first is named: that of the CDB plan comes before CPU_COUNT.
        least = min(limits.values(), default=None)
        name = next((name for name, limit in limits.items() if least is not None and limit <= least + _ALIKE), "")
        servers = percent_fraction(row.parallel_server_limit) if row else None
        shares = row.shares if row else None
        # A container without a directive has one share (the default directive of every CDB plan).
        weight = shares or 1 if weighed_by == SHARES else least_cpus(plans, inst_id, con_id, cpus)
        found[con_id] = Allocation(shares, least, name, servers, float(weight), weighed_by)
    if not any(each.weight for each in found.values()):  # no view shows the number of CPUs: equal parts
        found = {con_id: each._replace(weight=1.0) for con_id, each in found.items()}
    return found


def _weighed_by(plans: PlanFacts, inst_id: int, given: Mapping[int, CdbPlanDirective]) -> str:
    """Return the source of each container's part: the plan's SHARES if it has any rule about CPU, else a parameter."""
    release = plans.snapshot.release
    if release < _BY_CPU_COUNT or _plan(plans, inst_id).rules_cpu or any(map(_rules_cpu, given.values())):
        return SHARES
    return BY_MINIMUM if release >= BY_CPU_MIN_COUNT else "CPU_COUNT"


def _rules_cpu(row: CdbPlanDirective) -> bool:
    """Whether a directive sets SHARES or UTILIZATION_LIMIT; every plan has a default one with one share.

    If V$RSRC_PLAN is used for the plan, one share that was set cannot be distinguished from the default.
    """
    if row.pluggable_database == AUTOTASK:
        return False
    usual = (None, 1) if row.pluggable_database == DEFAULT_PDB or not row.plan else (None,)
    return row.shares not in usual or percent_fraction(row.utilization_limit) is not None


def least_cpus(plans: PlanFacts, inst_id: int, con_id: int, cpus: float) -> float:
    """Return CPU_MIN_COUNT of a container (CPU_COUNT in 18): its own, else its CPU_COUNT, else the instance's."""
    system = plans.system
    count = system.parameters.setting(inst_id, con_id, "cpu_count")
    if plans.snapshot.release < BY_CPU_MIN_COUNT:
        return count or cpus
    return system.parameters.amount(inst_id, con_id, "cpu_min_count") or count or whole_least_cpus(plans, inst_id, cpus)


def whole_least_cpus(plans: PlanFacts, inst_id: int, cpus: float) -> float:
    """Return CPU_MIN_COUNT of the whole instance, which is CPU_COUNT unless it was set."""
    amounts = (plans.system.parameters.amount(inst_id, con_id, "cpu_min_count") for con_id in (0, ROOT))
    return next((amount for amount in amounts if amount), cpus)


def _limits(
    plans: PlanFacts, inst_id: int, con_id: int, cpus: float, row: CdbPlanDirective | None
) -> Iterable[tuple[str, float]]:
    """Yield the limits that the CDB plan and the container itself set."""
    # On Autonomous Databases UTILIZATION_LIMIT of V$RSRC_PLAN is the number of CPUs.
    shown = plans.plan_rows.get((inst_id, con_id))
    if plans.autonomous and shown is not None and 0 < (shown.utilization_limit or 0) < cpus:
        yield "UTILIZATION_LIMIT", (shown.utilization_limit or 0) / cpus
    cpu_count = plans.system.parameters.setting(inst_id, con_id, "cpu_count")
    limit = percent_fraction(row.utilization_limit) if row else None
    # Inside a container whose CPU_COUNT is below the host's CPUs, the CPUs that this is a part of are not visible.
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
    plans = {}
    for plan, own in found.items():
        by_name = {row.pluggable_database: row for row in own if row.pluggable_database}
        by_profile = {row.profile: row for row in own if row.profile and not row.pluggable_database}
        plans[plan] = _CdbPlan(by_name, by_profile, any(map(_rules_cpu, own)))
    return plans


def directives(plans: PlanFacts, inst_id: int) -> Mapping[int, CdbPlanDirective]:
    """Return the directive of each container: its own, its profile's, the one of V$RSRC_PLAN, or the default."""
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
    if row and row.profile:
        return row.profile
    return plans.system.parameters.of_container(inst_id, con_id, "db_performance_profile")


def _in_force(plans: PlanFacts, inst_id: int, con_id: int) -> CdbPlanDirective | None:
    """Return the directive of a container as V$RSRC_PLAN shows it: inside a container no other view has it.

    On Autonomous Databases UTILIZATION_LIMIT there is the number of CPUs, not a percentage.
    """
    row: RsrcPlan | None = plans.plan_rows.get((inst_id, con_id))
    if row is None or row.shares is None:
        return None
    limit = None if plans.autonomous else row.utilization_limit
    name = plans.system.pdb_names.get(con_id, "")
    return CdbPlanDirective("", name, row.shares, limit, row.parallel_server_limit, "", row.profile)


def percent_fraction(percent: int | None) -> float | None:
    """Return a limit in percent as a fraction, None if it does not limit."""
    return None if percent is None or not 0 <= percent < 100 else percent / 100


def whole_servers(fraction: float, target: int) -> int:
    """Return the servers that a fraction of the target allows: 84 percent of 96 is 80.64, and 80 servers ran."""
    # Without the addition 29 % of 100 would be 28 servers: the product is a little below 29.
    return int(fraction * target + 1e-9)
