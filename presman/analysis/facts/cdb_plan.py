"""Gifts of a container database to each pluggable database: its shares, its limit on CPU, its limit on servers.

Three things may limit its CPU, and the smallest holds: UTILIZATION_LIMIT in the CDB plan, its own CPU_COUNT, and what
V$RSRCPDBMETRIC shows as RUNNING_SESSIONS_LIMIT.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from presman.analysis.facts.plan_facts import PlanFacts
from presman.analysis.facts.system_facts import ROOT
from presman.records.container_rows import PdbMetric
from presman.records.plan_rows import CdbPlanDirective, RsrcPlan

DORMANT_CDB = frozenset({"PENDING", "LEGACY"})
DEFAULT_PDB = "ORA$DEFAULT_PDB_DIRECTIVE"
"""The directive of the containers that no other one names."""

_ALIKE = 0.01
"""Limits closer than this, as fractions, are one and the same: views round."""


class Allotment(NamedTuple):
    """What one container is given. `limit` is a fraction of the instance's CPUs, `servers` of its servers target.

    `limited_by` says what the limit on CPU is, "" without one.
    """

    shares: int | None = None
    limit: float | None = None
    limited_by: str = ""
    servers: float | None = None


def allotments(plans: PlanFacts, inst_id: int, cpus: float) -> dict[int, Allotment]:
    """Return what each pluggable database is given on an instance that hands out so many CPUs."""
    metrics = {
        row.con_id: row.running_sessions_limit for row in plans.snapshot.rows(PdbMetric) if row.inst_id == inst_id
    }
    given = directives(plans, inst_id)
    found = {}
    for con_id in sorted(plans.system.pdbs.keys() | plans.own_containers):
        row = given.get(con_id)
        limits = dict(_limits(plans, inst_id, con_id, cpus, row))
        running = metrics.get(con_id)
        if running is not None and 0 < running < cpus:
            limits["RUNNING_SESSIONS_LIMIT"] = running / cpus
        least = min(limits.values(), default=None)
        name = next((name for name, limit in limits.items() if least is not None and limit <= least + _ALIKE), "")
        servers = percent_fraction(row.parallel_server_limit) if row else None
        found[con_id] = Allotment(row.shares if row else None, least, name, servers)
    return found


def _limits(
    plans: PlanFacts, inst_id: int, con_id: int, cpus: float, row: CdbPlanDirective | None
) -> Iterable[tuple[str, float]]:
    """Yield the limits that the CDB plan and the container itself set."""
    own = plans.system.setting(inst_id, con_id, "cpu_count")
    limit = percent_fraction(row.utilization_limit) if row else None
    # Inside a container with a CPU_COUNT of its own the CPUs of the whole, of which this is a part, are not seen.
    if limit is not None and not (plans.inside == con_id and own):
        yield "UTILIZATION_LIMIT", limit
    if own and own < cpus:
        yield "CPU_COUNT", own / cpus


def directives(plans: PlanFacts, inst_id: int) -> Mapping[int, CdbPlanDirective]:
    """Return the directive of each container: its own, its profile's, what V$RSRC_PLAN shows of it, or the default."""
    plan = plans.plan_of(inst_id, ROOT)
    rows = [row for row in plans.snapshot.rows(CdbPlanDirective) if row.plan == plan and row.status not in DORMANT_CDB]
    by_name = {row.pluggable_database: row for row in rows if row.pluggable_database}
    by_profile = {row.profile: row for row in rows if row.profile and not row.pluggable_database}
    found = {}
    for con_id in plans.system.pdbs.keys() | plans.own_containers:
        row = (
            by_name.get(plans.system.pdbs.get(con_id, ""))
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
    return (row.profile if row else "") or plans.system.parameter_of(inst_id, con_id, "db_performance_profile")


def _in_force(plans: PlanFacts, inst_id: int, con_id: int) -> CdbPlanDirective | None:
    """Return what V$RSRC_PLAN shows that the CDB gives a container, all that is seen of it from inside.

    On Autonomous Databases UTILIZATION_LIMIT there is the number of CPUs: no percentage.
    """
    row: RsrcPlan | None = plans.plan_rows.get((inst_id, con_id))
    if row is None or row.shares is None:
        return None
    own = plans.system.setting(inst_id, con_id, "cpu_count") or plans.system.number(inst_id, "cpu_count")
    limit = None if row.utilization_limit == own else row.utilization_limit
    return CdbPlanDirective(
        "", plans.system.pdbs.get(con_id, ""), row.shares, limit, row.parallel_server_limit, "", row.profile
    )


def percent_fraction(percent: int | None) -> float | None:
    """Return a limit in percent as a fraction, None if it limits nothing."""
    return None if percent is None or not 0 <= percent < 100 else percent / 100


def whole_servers(fraction: float, target: int) -> int:
    """Return the servers that a fraction of the target allows: 84 percent of 96 is 80.64, and 80 servers ran."""
    return int(fraction * target + 1e-9)
