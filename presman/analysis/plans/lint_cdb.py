"""Rules about the plan of a container database: the parts of its pluggable databases."""

from collections.abc import Mapping
from functools import cached_property

from msgspec import Struct

from presman.analysis.facts.cdb_plan import (
    AUTOTASK,
    BY_CPU_MIN_COUNT,
    DEFAULT_PDB,
    SHARES,
    directives,
    least_cpus,
    percent_fraction,
    whole_least_cpus,
    whole_servers,
)
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import PENDING
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.groups.container_io import limits_of
from presman.analysis.plans.lint_rules import TINY, Found, LintRules, Severity, swapping_windows
from presman.analysis.plans.plan_view import PlanPeriod, plan_windows
from presman.analysis.readings.reading import Reading
from presman.base.formats import counted
from presman.base.release import Release
from presman.base.sums import added
from presman.rows.group_rows import CdbPlanDirective

_OWN = frozenset({DEFAULT_PDB, AUTOTASK})
"""Directives that do not name a container."""

_GUIDE = "Multitenant Administrator's Guide: Using Oracle Resource Manager for PDBs"
_DIRECTIVES = "Database Reference: DBA_CDB_RSRC_PLAN_DIRECTIVES"
_QUEUE = "VLDB and Partitioning Guide: Managing Parallel Statement Queuing for CDBs and PDBs"
_IO = "Database Reference: MAX_IOPS, MAX_MBPS"
_LEAST = "Database Reference: CPU_MIN_COUNT"


class CdbCase(Struct, frozen=True, dict=True):
    """The CDB plan that an instance runs, with all input of the rules.

    `rows` are its directives by container. `given` is the directive that applies to each open container (the default
    one if none names it). `plans` are their own plans ("" without one). `io_limits` are the containers that limit their
    I/O. `weights` are their parts of the CPUs and `weighed_by` is the source of these. `least_cpus` is their
    CPU_MIN_COUNT, if one of them sets it or CPU_COUNT, of `cpus` of the whole. `open_somewhere` are the containers open
    on any instance.
    """

    plan: str
    cpu_managed: bool
    rows: Mapping[str, CdbPlanDirective]
    given: Mapping[str, CdbPlanDirective]
    plans: Mapping[str, str]
    io_limits: tuple[str, ...]
    target: int | None
    release: Release
    exadata: bool
    windows: tuple[PlanPeriod, ...]
    weights: Mapping[str, float]
    weighed_by: str
    least_cpus: Mapping[str, float]
    cpus: float
    open_somewhere: frozenset[str]

    @cached_property
    def shares(self) -> dict[str, float]:
        """The guaranteed share of each open container, as a fraction."""
        total = sum(self.weights.values())
        return {name: weight / total for name, weight in self.weights.items()}


RULES = LintRules()
"""All rules about a CDB plan."""


@RULES.rule(Severity.WARNING, _GUIDE, of_cpu=True)
def cdb_tiny_share(case: CdbCase) -> Found:
    """Shares are of the sum of all."""
    for name, share in case.shares.items():
        if share < TINY:
            due = f"{name} is guaranteed {100 * share:.2f} % of CPU"
            yield name, f"{due}: its {case.weighed_by} is small beside that of all open containers."


@RULES.rule(Severity.WARNING, _GUIDE, of_cpu=True)
def cdb_limit_below_share(case: CdbCase) -> Found:
    """A container cannot use more than its limit, whatever its shares guarantee."""
    for name, row in case.given.items():
        limit = percent_fraction(row.utilization_limit)
        if limit is not None and limit < case.shares[name] - 0.005:
            due = f"less than the {100 * case.shares[name]:.1f} % its shares guarantee"
            limited = f"{name} is limited to {row.utilization_limit} % of CPU"
            yield name, f"{limited}, {due}: the rest of its shares has no effect."


@RULES.rule(Severity.WARNING, _GUIDE, of_cpu=True)
def cdb_limits_leave_idle(case: CdbCase) -> Found:
    """Limits that add up to less than the whole leave CPU that no container may use."""
    given = [case.given.get(name) for name in case.plans]
    whole = added(None if row is None else percent_fraction(row.utilization_limit) for row in given)
    if given and whole is not None and whole < 1 - TINY:
        limits = f"The limits of all open containers add up to {100 * whole:.0f} %"
        yield "", f"{limits}: the other {100 - 100 * whole:.0f} % of CPU stay idle however much they want."


@RULES.rule(Severity.WARNING, _QUEUE)
def cdb_servers_for_nobody(case: CdbCase) -> Found:
    """A container that may not hold a pair of servers runs nothing in parallel."""
    for name, row in case.given.items():
        limit = percent_fraction(row.parallel_server_limit)
        if limit is not None and case.target is not None and (servers := whole_servers(limit, case.target)) < 2:
            lets = f"PARALLEL_SERVER_LIMIT of {row.parallel_server_limit} % lets {name} hold {servers} of {case.target}"
            yield name, f"{lets} parallel servers: its parallel statements may never start."


@RULES.rule(Severity.NOTE, _DIRECTIVES)
def cdb_servers_by_plan(case: CdbCase) -> Found:
    """Since 21c each container queues at its own target first, and Oracle advises against the limit of the CDB plan."""
    named = [name for name, row in case.given.items() if percent_fraction(row.parallel_server_limit) is not None]
    if named and case.release >= Release(21):
        limits = f"PARALLEL_SERVER_LIMIT of the CDB plan limits {', '.join(sorted(named))}"
        instead = "Oracle advises against it from 21c on: set PARALLEL_SERVERS_TARGET in the containers"
        yield sorted(named)[0], f"{limits}. {instead}."


@RULES.rule(Severity.WARNING, _GUIDE, of_cpu=True)
def cdb_autotask_first(case: CdbCase) -> Found:
    """Maintenance should not outrank the regular work."""
    row = case.rows.get(AUTOTASK)
    most = max((each.shares or 1 for each in case.given.values()), default=1)
    if row is not None and row.shares is not None and row.shares > most:
        more = f"{AUTOTASK} has {row.shares} shares, more than any open container ({most})"
        yield AUTOTASK, f"{more}: under contention maintenance tasks come first."


@RULES.rule(Severity.WARNING, _LEAST, of_cpu=True)
def cdb_over_provisioned(case: CdbCase) -> Found:
    """Minima that add up to more than there is cannot all be kept."""
    total = sum(case.least_cpus.values())
    if total > case.cpus > 0:
        each = ", ".join(f"{name} {cpus:g}" for name, cpus in case.least_cpus.items())
        sums = f"CPU_MIN_COUNT of the open containers adds up to {total:g} of {case.cpus:g} CPUs"
        text = f"Over-provisioned: {sums} ({each}; CPU_COUNT where it is not set)."
        if case.weighed_by == SHARES:
            yield "", f"{text} The CDB plan sets SHARES or UTILIZATION_LIMIT, and these decide instead.", Severity.NOTE
        else:
            yield "", f"{text} When all are busy each gets less than its minimum, in proportion."


@RULES.rule(Severity.WARNING, _IO)
def cdb_io_limit_on_exadata(case: CdbCase) -> Found:
    """MAX_IOPS and MAX_MBPS are for other storage."""
    if case.exadata and case.io_limits:
        text = f"{', '.join(case.io_limits)} sets MAX_IOPS or MAX_MBPS, which do nothing on Exadata: use IORM there."
        yield case.io_limits[0], text


@RULES.rule(Severity.WARNING, _GUIDE)
def window_swaps_plan(case: CdbCase) -> Found:
    """Windows of the root may change the CDB plan."""
    if text := swapping_windows(case.windows):
        yield "", text


@RULES.rule(Severity.NOTE, _GUIDE, of_cpu=True)
def cdb_default_directive(case: CdbCase) -> Found:
    """A newly plugged container gets the default directive."""
    named = [name for name in case.plans if (row := case.given.get(name)) is None or row is case.rows.get(DEFAULT_PDB)]
    if named:
        row = case.rows.get(DEFAULT_PDB)
        what = counted(row.shares or 1, "share") if row else "one share"
        if case.weighed_by != SHARES:
            what = f"no SHARES and no limit are set, so {case.weighed_by} decides"
        limit = f", at most {row.utilization_limit} % of CPU" if row and percent_fraction(row.utilization_limit) else ""
        yield named[0], f"No directive names {', '.join(named)}: the default directive applies there ({what}{limit})."


@RULES.rule(Severity.NOTE, _DIRECTIVES)
def cdb_nobody_there(case: CdbCase) -> Found:
    """A directive for a container that is open on no instance divides nothing."""
    gone = sorted(name for name in case.rows if name and name not in case.open_somewhere and name not in _OWN)
    if gone:
        text = f"Directives name {', '.join(gone)}, not open here: their shares have no effect until they are open."
        yield gone[0], text


@RULES.rule(Severity.NOTE, _GUIDE)
def cdb_container_without_plan(case: CdbCase) -> Found:
    """Without a plan of its own all sessions of a container have equal rights."""
    bare = [name for name, plan in case.plans.items() if not plan]
    if bare and len(bare) < len(case.plans):
        text = f"{', '.join(bare)} runs no plan of its own: all its sessions share equally what the CDB plan gives it."
        yield bare[0], text


def cdb_case(facts: Facts, reading: Reading, inst_id: int) -> CdbCase | None:
    """Return the CDB plan as an instance runs it, None if there is none or it is not visible."""
    plan = facts.plans.plan_of(inst_id, ROOT)
    own = (row for row in facts.snapshot.rows(CdbPlanDirective) if row.plan == plan and row.status != PENDING)
    rows = {row.pluggable_database: row for row in own if row.pluggable_database}
    here = facts.system.open_pdbs(inst_id)
    if not rows or not here:
        return None
    given, allotted = directives(facts.plans, inst_id), facts.division.allocations(inst_id)
    cpus = facts.plans.num_cpus(inst_id)
    return CdbCase(
        plan=plan,
        cpu_managed=facts.plans.cpu_managed(inst_id, ROOT),
        rows=rows,
        given={here[con_id]: row for con_id, row in given.items() if con_id in here},
        plans={name: facts.plans.plan_of(inst_id, con_id) for con_id, name in here.items()},
        io_limits=tuple(name for con_id, name in here.items() if any(limits_of(facts, inst_id, con_id))),
        target=reading.queue_target(),
        release=facts.snapshot.release,
        exadata=reading.header.exadata,
        windows=tuple(each for each in plan_windows(facts.snapshot) if (each.inst_id, each.con_id) == (inst_id, ROOT)),
        weights={name: allotted[con_id].weight for con_id, name in here.items()},
        weighed_by=next((allotted[con_id].weighed_by for con_id in here), SHARES),
        least_cpus=_least_cpus(facts, inst_id, here, cpus),
        cpus=whole_least_cpus(facts.plans, inst_id, cpus),
        open_somewhere=frozenset(facts.system.pdbs.values()),
    )


def _least_cpus(facts: Facts, inst_id: int, here: Mapping[int, str], cpus: float) -> dict[str, float]:
    """Return CPU_MIN_COUNT of the containers open on an instance, empty if none of them sets a number of CPUs."""
    names = ("cpu_min_count", "cpu_count")
    any_set = any(facts.system.parameters.amount(inst_id, con_id, name) for con_id in here for name in names)
    if not any_set or facts.snapshot.release < BY_CPU_MIN_COUNT:
        return {}
    return {name: least_cpus(facts.plans, inst_id, con_id, cpus) for con_id, name in here.items()}
