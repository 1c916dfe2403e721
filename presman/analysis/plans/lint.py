"""Linter of the plans in force. It is pure and runs only on request.

It reports which plans it could judge, by which views, so that no finding is not taken to mean no problem.
"""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.plan_book import OTHER_GROUPS, PENDING, UNNAMED, PlanBook
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.parallel.server_pools import container_target
from presman.analysis.plans.lint_cdb import RULES as CDB_RULES
from presman.analysis.plans.lint_cdb import cdb_case
from presman.analysis.plans.lint_rules import RULES, Case, Finding, Severity
from presman.analysis.plans.plan_view import plan_windows, plans_by_instance
from presman.analysis.readings.reading import Reading, ServerPool
from presman.analysis.view_availability import listed, unavailable, view_of
from presman.rows.group_rows import (
    CdbPlanDirective,
    ConsumerGroup,
    ContainerGroupMapping,
    GroupMapping,
    Plan,
    PlanDirective,
    RsrcPlan,
    RsrcPlanHistory,
)
from presman.rows.session_rows import Session, SessionInfo
from presman.rows.snapshot import Snapshot

_PARAMETER = "Database Reference: RESOURCE_MANAGER_PLAN"
_IDLE = "Database Reference: MAX_IDLE_BLOCKER_TIME"


def lint(reading: Reading, snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return the findings about the plans in force, most important first."""
    found = [finding for case in cases(reading, snapshot) for rule in RULES for finding in rule.findings(case)]
    facts = Facts.of(None, snapshot)
    for inst_id in facts.system.inst_ids if facts.system.cdb else ():
        if (cdb := cdb_case(facts, reading, inst_id)) is not None:
            found += [finding for rule in CDB_RULES for finding in rule.findings(cdb)]
    found += instances_differ(facts)
    found += idle_holders_stay(reading)
    # Instances that run the same CDB plan give the same findings: each is reported once.
    return tuple(dict.fromkeys(sorted(found, key=lambda finding: finding.severity.rank)))


def instances_differ(facts: Facts) -> Iterable[Finding]:
    """RESOURCE_MANAGER_PLAN is a parameter of each instance."""
    for con_id in (ROOT, *facts.system.pdbs) if facts.system.cdb else (0,):
        plans = plans_by_instance(facts, con_id)
        if len(plans) > 1:
            where = f" in {facts.system.pdbs[con_id]}" if con_id > ROOT else ""
            runs = "; ".join(f"{plan or 'no plan'} on {', '.join(map(str, on))}" for plan, on in plans.items())
            differ = f"The instances run different plans{where}: {runs}"
            text = f"{differ}. A session is managed by that of its own instance."
            yield Finding("instances-differ", Severity.WARNING, next(iter(plans)), "", text, _PARAMETER)


def idle_holders_stay(reading: Reading) -> Iterable[Finding]:
    """MAX_IDLE_BLOCKER_TIME ends idle sessions that keep parallel servers while statements are queued."""
    held = sum(each.servers for each in reading.running if each.idle is not None)
    if held and reading.header.idle_blocker_minutes == 0:
        cure = "MAX_IDLE_BLOCKER_TIME is 0: set to a number of minutes, Oracle ends such sessions, except those of SYS"
        text = f"Idle sessions keep {held} parallel servers now. {cure}, while parallel statements are queued."
        yield Finding("idle-holders-stay", Severity.NOTE, reading.header.plan, "", text, _IDLE)


def cases(reading: Reading, snapshot: Snapshot) -> tuple[Case, ...]:
    """Return every plan in force with its subplans, per container; instances with the same plan are one case."""
    facts = Facts.of(None, snapshot)
    found: dict[tuple[int, str], Case] = {}
    for inst_id in facts.system.inst_ids:
        containers = {con_id for con_id, _ in facts.division.shares[inst_id].shares} or {0}
        for con_id in sorted(containers):
            top = facts.plans.plan_of(inst_id, con_id)
            plans = [plan for plan in _with_subplans(facts.plans.books.of(con_id), top) if (con_id, plan) not in found]
            found |= {(con_id, plan): _case(facts, reading, inst_id, con_id, plan) for plan in plans}
    return tuple(found.values())


def _with_subplans(book: PlanBook, plan: str) -> tuple[str, ...]:
    found = dict.fromkeys([plan] if plan in book.directives else [])
    # A plan is taken once, even if several plans name it, or if it names itself.
    waiting = list(found)
    while waiting:
        for row in book.directives.get(waiting.pop(), ()):
            name = row.group_or_subplan
            if row.type == "PLAN" and name in book.directives and name not in found:
                found[name] = None
                waiting.append(name)
    return tuple(found)


def _case(facts: Facts, reading: Reading, inst_id: int, con_id: int, plan: str) -> Case:
    """Return the case of one plan in the tree of a container of an instance."""
    shares, book = facts.division.shares[inst_id], facts.plans.books.of(con_id)
    rows, mapped = book.directives.get(plan, ()), _mapped(facts, con_id)
    degree = facts.system.parameters.by_name.get((inst_id, "parallel_degree_limit"), "")
    return Case(
        plan=plan,
        con_id=con_id,
        top=plan == facts.plans.plan_of(inst_id, con_id),
        by_weight=book.by_weight(plan, con_id),
        rows=rows,
        shares=shares,
        groups={row.name: row for row in reading.cluster_groups() if row.con_id == con_id},
        reached=_reached(facts, con_id, mapped) | {row.switch_group for row in rows},
        mapped=mapped,
        pool=_pool(facts, reading, con_id),
        degree_limit=int(degree) if degree.isascii() and degree.isdigit() else None,
        degree_policy=facts.system.parameters.by_name.get((inst_id, "parallel_degree_policy"), ""),
        windows=tuple(window for window in plan_windows(facts.snapshot) if window.inst_id == inst_id),
        tree_groups=frozenset(name for key_con, name in shares.shares if key_con == con_id and name != UNNAMED),
        doubt=book.doubt(plan, con_id),
        cpu_limits_servers=book.cpu_limits_servers,
        cpu_managed=facts.plans.cpu_managed(inst_id, con_id),
    )


def _mapped(facts: Facts, con_id: int) -> tuple[tuple[str, str, str], ...]:
    """Return the rules that map a container's sessions to groups; the DBA_ view has the connected container's."""
    rows: list[GroupMapping] = [row for row in facts.snapshot.rows(ContainerGroupMapping) if row.con_id == con_id]
    if con_id <= ROOT or facts.plans.inside == con_id:
        rows = rows or list(facts.snapshot.rows(GroupMapping))
    named = (row for row in rows if row.status != PENDING and row.consumer_group)
    return tuple((row.attribute, row.value, row.consumer_group) for row in named)


def _pool(facts: Facts, reading: Reading, con_id: int) -> ServerPool:
    """Return the servers available to a container: limits of the CDB plan and of groups are multiplied."""
    pool = replace(reading.header.servers, target=reading.queue_target())
    target = container_target(facts, con_id, pool.target) if con_id > ROOT else None
    return pool if target is None else replace(pool, target=target if pool.target is None else min(target, pool.target))


def _reached(facts: Facts, con_id: int, mapped: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    names = {OTHER_GROUPS} | {group for _, _, group in mapped}
    names |= {row.resource_consumer_group for row in facts.sessions.counts if row.con_id == con_id}
    names |= {row.current_consumer_group for row in facts.snapshot.rows(SessionInfo) if row.con_id == con_id}
    return frozenset(names)


_NEEDED = (RsrcPlan, PlanDirective)
_LOOKED_AT = (*_NEEDED, Plan, GroupMapping, RsrcPlanHistory, ConsumerGroup, Session)


class LintCoverage(NamedTuple):
    """What could be judged: `judged` plans by `views`; `unjudged` ones are in force without visible directives.

    `lacking` says which views returned nothing. If `blind`, nothing could be checked: no finding is then no all-clear.
    """

    judged: tuple[str, ...]
    unjudged: tuple[str, ...]
    views: tuple[str, ...]
    lacking: tuple[str, ...]
    blind: bool

    @property
    def clear(self) -> str:
        """The sentence for no finding."""
        if self.blind:
            return f"Cannot judge {', '.join(self.unjudged) or 'the plans'}: {_why(self.lacking)}."
        if not self.judged:
            return f"No plan is in force (by {self.views[0]}): there is nothing to judge."
        return f"No finding in {', '.join(self.judged)} (by {', '.join(self.views)}).{self.limits}"

    @property
    def limits(self) -> str:
        """The unchecked plans, to follow the findings; "" for nothing."""
        if self.blind:
            return f" Not judged: {', '.join(self.unjudged) or 'the plans in force'}: {_why(self.lacking)}."
        parts = [f" Not judged, because its directives cannot be seen: {plan}." for plan in self.unjudged]
        return "".join([*parts, f" Not checked: {_why(self.lacking)}." if self.lacking else ""])


def _why(lacking: tuple[str, ...]) -> str:
    return listed(lacking) or "DBA_RSRC_PLAN_DIRECTIVES has no directives of it"


def lint_coverage(reading: Reading, snapshot: Snapshot) -> LintCoverage:
    """Return which of the plans in force the linter could judge, and by which views."""
    facts = Facts.of(None, snapshot)
    judged = dict.fromkeys(case.plan for case in cases(reading, snapshot))
    judged |= dict.fromkeys(row.plan for row in snapshot.rows(CdbPlanDirective) if row.plan in _in_force(facts))
    unjudged = tuple(plan for plan in _in_force(facts) if plan not in judged)
    lacking = {record: why for record in _LOOKED_AT if (why := unavailable(snapshot, record))}
    views = tuple(view_of(snapshot, record) for record in _LOOKED_AT if record not in lacking)
    blind = not judged and (bool(unjudged) or any(record in lacking for record in _NEEDED))
    return LintCoverage(tuple(judged), unjudged, views, tuple(lacking.values()), blind)


def _in_force(facts: Facts) -> tuple[str, ...]:
    """Return the plans in force on all instances and in all containers, as far as any view names them."""
    found: dict[str, None] = {}
    for inst_id in facts.system.inst_ids:
        con_ids = (ROOT, *facts.plans.containers(inst_id)) if facts.system.cdb else (0,)
        found |= dict.fromkeys(facts.plans.plan_of(inst_id, con_id) for con_id in con_ids)
    return tuple(filter(None, found))
