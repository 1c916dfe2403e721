"""Tab 6 Plan: the plan as a tree, its doubtful points, who set it, and how another plan would differ."""

from collections.abc import Iterable, Sequence
from typing import Any

from presman.analysis.caches import once
from presman.analysis.plans.plan_view import PlanView, plan_view
from presman.base.formats import count, number
from presman.figures.drawing.lines import Line
from presman.figures.plan_figures import DIFFERENCES, FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tabs.parts import Key, Moment, Rows, Tab

INTERNAL_PLAN = "INTERNAL_PLAN"
"""The plan that is in force where none is set: it divides no CPU, and its directives are in no view."""


def _numbers(instances: Iterable[int]) -> str:
    return ", ".join(map(str, instances))


def plan_line(view: PlanView) -> Line:
    """Return the line about a plan as a whole."""
    method = {"RATIO": "by shares", "EMPHASIS": "by levels"}.get(view.method.upper(), view.method)
    facts = [f"{view.plan or 'no plan'}", method, view.set_by if view.active else "not active: what it would guarantee"]
    if view.active and view.elsewhere:
        others = ", ".join(f"{run.plan or 'no plan'} on {_numbers(run.instances)}" for run in view.elsewhere)
        facts.insert(1, f"on instance {_numbers(view.instances)} ({others}: v shows it)")
    if view.doubt:
        facts.append(f"percent or shares? ({view.doubt})")
    elif view.plan == INTERNAL_PLAN:
        facts.append("which V$RSRC_PLAN shows where no plan is set")
    elif not view.lines:
        facts.append("what it leaves unallocated is not known" if view.plan else "")
    elif view.unallocated >= 0.0005:
        facts.append(f"{100 * view.unallocated:.2f} % unallocated")
    facts.append(f"{number(view.capacity, 0)} CPUs, servers target {count(view.target)}")
    head, *rest = [fact for fact in facts if fact]
    return ((" Plan ", "dim"), (head, "title"), (f"   {', '.join(rest)}", ""))


@once
def active_plan(moment: Moment) -> PlanView | None:
    """Return the view of the active plan, None if its snapshot is no longer kept."""
    snapshot = moment.snapshot
    return plan_view(moment.reading, snapshot) if snapshot else None


def found(moment: Moment) -> Sequence[Any]:
    """Return the doubtful points of the active plans."""
    from presman.analysis.plans.lint import lint  # only if the tab is opened

    snapshot = moment.snapshot
    return lint(moment.reading, snapshot) if snapshot else ()


def unjudged(moment: Moment) -> str:
    """Return the meaning of an empty list of findings: the views it is based on, or why there is no verdict."""
    from presman.analysis.plans.lint import lint_coverage

    snapshot = moment.snapshot
    return lint_coverage(moment.reading, snapshot).clear if snapshot else ""


def elsewhere(moment: Moment) -> Sequence[Any]:
    """Return the lines of the plans that are active on other instances."""
    view, snapshot = active_plan(moment), moment.snapshot
    if view is None or snapshot is None:
        return ()
    others = (plan_view(moment.reading, snapshot, run.plan) for run in view.elsewhere if run.plan)
    return [line for other in others for line in other.lines]


def _of_active(name: str) -> Any:
    def rows(moment: Moment) -> Sequence[Any]:
        view = active_plan(moment)
        return getattr(view, name) if view else ()

    return rows


TAB = Tab(
    parts=(
        Rows(PLAN, _of_active("lines")),
        Rows(FINDINGS, found, filterable=False, news=True, unavailable=unjudged),
        Rows(WINDOWS, _of_active("windows"), filterable=False),
        Rows(MAPPINGS, _of_active("mappings"), filterable=False),
        Rows(DIFFERENCES, lambda _: (), filterable=False),
    ),
    for_text=(Rows(PLAN, elsewhere),),
    notes=(
        "`min` is the guaranteed minimum when all groups are busy, `entitled` the entitlement among the groups with "
        "demand since the last poll. Limits are in CPUs and in servers, the directive's percent in "
        "brackets: of all CPUs or the limit above it, and of the servers target.",
        "v shows the next plan and its differences from the active one; after the last it shows the active plan again.",
    ),
    keys=(Key("next_plan", "v", "v", "next plan", "Show the next plan, and what it would change."),),
    panel="presman.tui.panels.plan_panel:PlanPanel",
)
