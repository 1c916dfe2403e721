"""What is doubtful about the plans in force. Pure; made only while somebody asks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from presman.analysis.facts import Facts
from presman.analysis.lint_case import Case, Finding, Severity
from presman.analysis.lint_rules import RULES
from presman.analysis.plan import DORMANT, OTHER_GROUPS, UNNAMED, PlanShares
from presman.analysis.plan_view import plan_windows
from presman.analysis.reading import Reading
from presman.rows import GroupMapping, Session, SessionInfo
from presman.snapshot import Snapshot

_ORDER = {severity: place for place, severity in enumerate(Severity)}


def lint(reading: Reading, snapshot: Snapshot) -> tuple[Finding, ...]:
    """Return what is doubtful about the plans in force, what matters most first."""
    found = [finding for case in cases(reading, snapshot) for rule in RULES for finding in rule(case)]
    return tuple(dict.fromkeys(sorted(found, key=lambda finding: _ORDER[finding.severity])))


def cases(reading: Reading, snapshot: Snapshot) -> tuple[Case, ...]:
    """Return every plan in force with its subplans, per container; instances with the same plan are one case."""
    facts = Facts.of(None, snapshot)
    found: dict[tuple[int, str], Case] = {}
    for inst_id in facts.inst_ids:
        shares = facts.shares[inst_id]
        containers = {key[0] for key in shares.shares} or {0}
        for con_id in sorted(containers):
            top = facts.plan_of(inst_id, con_id)
            plans = [plan for plan in _with_subplans(facts, top) if (con_id, plan) not in found]
            if plans:
                case = _case(facts, reading, inst_id, con_id, top)
                found |= {(con_id, plan): _part(facts, case, plan) for plan in plans}
    return tuple(found.values())


def _part(facts: Facts, case: Case, plan: str) -> Case:
    """Return the case of one plan of the tree that the case of its top plan is about."""
    rows = facts.book.directives.get(plan, ())
    reached = case.reached | {row.switch_group for row in rows}
    by_weight = facts.book.by_weight(plan, case.con_id)
    return replace(case, plan=plan, top=plan == case.plan, by_weight=by_weight, rows=rows, reached=reached)


def _with_subplans(facts: Facts, plan: str) -> tuple[str, ...]:
    found = dict.fromkeys([plan] if plan in facts.book.directives else [])
    waiting = list(found)
    while waiting:
        for row in facts.book.directives.get(waiting.pop(), ()):
            name = row.group_or_subplan
            if row.type == "PLAN" and name in facts.book.directives and name not in found:
                found[name] = None
                waiting.append(name)
    return tuple(found)


def _case(facts: Facts, reading: Reading, inst_id: int, con_id: int, plan: str) -> Case:
    """Return the case of the top plan, but for what its directives say."""
    shares = facts.shares[inst_id]
    mapped = tuple(
        (row.attribute, row.value, row.consumer_group)
        for row in facts.snapshot.rows(GroupMapping)
        if row.status not in DORMANT and row.consumer_group
    )
    degree = facts.parameters.get((inst_id, "parallel_degree_limit"), "")
    return Case(
        plan=plan,
        con_id=con_id,
        top=True,
        by_weight=False,
        rows=(),
        shares=shares,
        groups={row.name: row for row in reading.cluster_groups() if row.con_id == con_id},
        reached=_reached(facts, con_id, mapped),
        # The mappings in view are those of the container connected to.
        mapped=mapped if len({key[0] for key in shares.shares}) < 2 else (),
        pool=reading.header.servers,
        degree_limit=int(degree) if degree.isascii() and degree.isdigit() else None,
        degree_policy=facts.parameters.get((inst_id, "parallel_degree_policy"), ""),
        windows=tuple(window for window in plan_windows(facts.snapshot) if window.inst_id == inst_id),
        tree_groups=frozenset(_names(shares, con_id)),
    )


def _names(shares: PlanShares, con_id: int) -> Iterable[str]:
    return (name for key_con, name in shares.shares if key_con == con_id and name != UNNAMED)


def _reached(facts: Facts, con_id: int, mapped: Iterable[tuple[str, str, str]]) -> frozenset[str]:
    names = {OTHER_GROUPS} | {group for _, _, group in mapped}
    names |= {row.resource_consumer_group for row in facts.snapshot.rows(Session) if row.con_id == con_id}
    names |= {row.current_consumer_group for row in facts.snapshot.rows(SessionInfo) if row.con_id == con_id}
    return frozenset(names)
