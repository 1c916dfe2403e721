"""The linter's sight: which plans it could judge, by which views, so that no finding is not taken for no fault."""

from __future__ import annotations

from typing import NamedTuple

from presman.analysis.facts.facts import Facts
from presman.analysis.facts.system_facts import ROOT
from presman.analysis.plans.lint import cases
from presman.analysis.readings.reading import Reading
from presman.analysis.sight import listed, unseen, view_of
from presman.records.group_rows import ConsumerGroup
from presman.records.plan_rows import CdbPlanDirective, GroupMapping, Plan, PlanDirective, RsrcPlan, RsrcPlanHistory
from presman.records.session_rows import Session
from presman.records.snapshot import Snapshot

_NEEDED = (RsrcPlan, PlanDirective)
_LOOKED_AT = (*_NEEDED, Plan, GroupMapping, RsrcPlanHistory, ConsumerGroup, Session)


class LintSight(NamedTuple):
    """What could be judged: `judged` plans by `views`; `unjudged` ones are in force without directives to be seen.

    `lacking` says which views told nothing. Nothing can be said where `blind`: no finding is no all-clear then.
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
        """What could not be looked at, to stand behind what was found; "" for nothing."""
        if self.blind:
            return f" Not judged: {', '.join(self.unjudged) or 'the plans in force'}: {_why(self.lacking)}."
        parts = [f" Not judged, because its directives cannot be seen: {plan}." for plan in self.unjudged]
        return "".join([*parts, f" Not looked at: {_why(self.lacking)}." if self.lacking else ""])


def _why(lacking: tuple[str, ...]) -> str:
    return listed(lacking) or "DBA_RSRC_PLAN_DIRECTIVES has no directives of it"


def lint_sight(reading: Reading, snapshot: Snapshot) -> LintSight:
    """Return what the linter could judge of the plans in force."""
    facts = Facts.of(None, snapshot)
    judged = dict.fromkeys(case.plan for case in cases(reading, snapshot))
    judged |= dict.fromkeys(row.plan for row in snapshot.rows(CdbPlanDirective) if row.plan in _in_force(facts))
    unjudged = tuple(plan for plan in _in_force(facts) if plan not in judged)
    lacking = {record: why for record in _LOOKED_AT if (why := unseen(snapshot, record))}
    views = tuple(view_of(snapshot, record) for record in _LOOKED_AT if record not in lacking)
    blind = not judged and (bool(unjudged) or any(record in lacking for record in _NEEDED))
    return LintSight(tuple(judged), unjudged, views, tuple(lacking.values()), blind)


def _in_force(facts: Facts) -> tuple[str, ...]:
    """Return the plans in force of all instances and containers, as far as any view names them."""
    plans = (
        facts.plans.plan_of(inst_id, con_id)
        for inst_id in facts.system.inst_ids
        for con_id in ((ROOT, *facts.plans.containers(inst_id)) if facts.system.cdb else (0,))
    )
    return tuple(dict.fromkeys(plan for plan in plans if plan))
