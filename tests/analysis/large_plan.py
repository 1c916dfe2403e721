"""Many groups on several instances under nested subplans: the size the speed of plan arithmetic is measured on."""

from __future__ import annotations

from presman.rows.group_rows import GroupMetric, Plan, PlanDirective
from presman.rows.snapshot import Snapshot
from tests.analysis.make import active_plan, directive, group, instance, row, snapshot

BRANCHES = 4
"""Subplans at each of three tiers: 4 x 4 x 4 = 64 groups."""


def large_plan() -> list[PlanDirective]:
    """A top plan of four subplans, each of four subplans of four groups, limits on every tier."""
    rows: list[PlanDirective] = []
    for a in range(BRANCHES):
        rows.append(directive("DAY", f"A{a}", 40 - 10 * a, type="PLAN", utilization_limit=90))
        for b in range(BRANCHES):
            rows.append(directive(f"A{a}", f"A{a}B{b}", 25, type="PLAN", utilization_limit=80 if b else None))
            rows += [
                directive(f"A{a}B{b}", f"G{a}{b}{c}", *([0] * (c % 2)), 40 - 5 * c, parallel_server_limit=50)
                for c in range(BRANCHES)
            ]
    return rows


def loaded(number: int = 1, instances: int = 4) -> Snapshot:
    """The `number`-th snapshot, two seconds after the one before; every group wants more CPU than there is."""
    directives = large_plan()
    names = [each.group_or_subplan for each in directives if each.type != "PLAN"]
    rows: list[object] = [*directives]
    rows += [row(Plan, plan=name, mgmt_method="EMPHASIS") for name in {each.plan for each in directives}]
    for inst_id in range(1, instances + 1):
        rows += [instance(inst_id), active_plan(inst_id=inst_id)]
        for place, name in enumerate(names):
            used = 400 + 10 * place
            rows.append(
                group(name, inst_id, consumed_cpu_time=used * number, cpu_wait_time=900 * number, active_sessions=3)
            )
            rows.append(row(GroupMetric, inst_id=inst_id, consumer_group_name=name, num_cpus=32))
    return snapshot(*rows, after=2.0 * number, number=number)
