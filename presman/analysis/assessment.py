"""Assessment, worked out only when somebody asks: verdicts in words, conformance, plan, findings, containers."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.groups.containers import PdbReading, pdbs
from presman.analysis.groups.cpu_waiters import CpuWaiter, cpu_waiters
from presman.analysis.groups.verdicts import Conformance, conformance, in_words
from presman.analysis.plans.lint import LintCoverage, lint, lint_coverage
from presman.analysis.plans.lint_rules import Finding
from presman.analysis.plans.plan_changes import PlanSwitch, plan_switches
from presman.analysis.plans.plan_view import PlanView, plan_view
from presman.analysis.readings.reading import Reading
from presman.rows.snapshot import Snapshot


class Sentence(Struct, frozen=True):
    """The verdict on one group in words; `inst_id` 0 is the cluster."""

    inst_id: int
    con_id: int
    group: str
    text: str


class Assessment(Struct, frozen=True):
    """What the pages about CPU, the plan and the containers show besides the reading.

    `plan` is that of the first instance, `other_plans` are those that other instances run.
    """

    verdicts: tuple[Sentence, ...]
    conformance: tuple[Conformance, ...]
    plan: PlanView
    other_plans: tuple[PlanView, ...]
    findings: tuple[Finding, ...]
    lint_sight: LintCoverage
    pdbs: tuple[PdbReading, ...]
    cpu_waiters: tuple[CpuWaiter, ...]
    plan_changes: tuple[PlanSwitch, ...]


def assess(reading: Reading, previous: Snapshot | None, current: Snapshot) -> Assessment:
    """Return the assessment of a reading and the two snapshots it was made of."""
    plan = plan_view(reading, current)
    return Assessment(
        verdicts=tuple(Sentence(row.inst_id, row.con_id, row.name, in_words(reading, row)) for row in reading.groups),
        conformance=conformance(reading),
        plan=plan,
        other_plans=tuple(plan_view(reading, current, run.plan) for run in plan.elsewhere if run.plan),
        findings=lint(reading, current),
        lint_sight=lint_coverage(reading, current),
        pdbs=pdbs(reading, previous, current),
        cpu_waiters=cpu_waiters(reading),
        plan_changes=plan_switches(current),
    )
