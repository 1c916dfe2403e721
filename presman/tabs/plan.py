"""Tab 6 Plan: the plan as a tree, its doubtful points, who set it, and how another plan would differ."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from presman.analysis.caches import once
from presman.analysis.plans.plan_view import Difference, PlanView, differences, plan_view
from presman.base.formats import count, number
from presman.figures.drawing.lines import Line
from presman.figures.plan_figures import DIFFERENCES, FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tabs.parts import Box, Key, Lines, Moment, Rows, Tab

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


@once
def another(moment: Moment) -> PlanView | None:
    """Return the view of the plan that is shown in place of the active one, None if that is shown."""
    active, snapshot, chosen = active_plan(moment), moment.snapshot, moment.choices.plan
    if active is None or snapshot is None or chosen in {"", active.plan}:
        return None
    return plan_view(moment.reading, snapshot, chosen)


def shown(moment: Moment) -> PlanView | None:
    """Return the view of the plan on screen, None if its snapshot is no longer kept."""
    return another(moment) or active_plan(moment)


def about(moment: Moment) -> list[Line]:
    """Return the line about the plan on screen."""
    view = shown(moment)
    return [] if view is None else [plan_line(view)]


def changed(moment: Moment) -> Sequence[Difference]:
    """Return the differences of the plan on screen from the active one."""
    active, other = active_plan(moment), another(moment)
    return () if active is None or other is None else differences(active, other)


def _against(moment: Moment) -> str:
    active, other = active_plan(moment), another(moment)
    return "" if active is None or other is None else f"{active.plan} against {other.plan}"


def _without_load(moment: Moment) -> set[str]:
    """Return the columns that only an active plan has."""
    return set() if another(moment) is None else {"entitled_cpus", "used_cpus", "cpu_bar", "verdict"}


def _alike(moment: Moment) -> set[str]:
    """Return the columns of windows with the same text in every row."""
    hidden = {"inst_id"} if len(moment.reading.header.instances) < 2 else set()
    return hidden | ({"con_id"} if len({each.con_id for each in _of_shown("windows")(moment)}) < 2 else set())


def _of_shown(name: str) -> Callable[[Moment], Sequence[Any]]:
    def rows(moment: Moment) -> Sequence[Any]:
        view = shown(moment)
        return getattr(view, name) if view else ()

    return rows


TAB = Tab(
    parts=(
        Lines("plan-about", about),
        Rows(PLAN, _of_shown("lines"), _without_load),
        Rows(
            FINDINGS,
            found,
            note=lambda moment: "" if another(moment) is None else "of plans in force",
            filterable=False,
            news=True,
            unavailable=unjudged,
        ),
        Box(
            Rows(WINDOWS, _of_shown("windows"), _alike, filterable=False),
            Rows(MAPPINGS, _of_shown("mappings"), filterable=False),
            Rows(DIFFERENCES, changed, note=_against, filterable=False),
            key="plan-past",
        ),
    ),
    for_text=(Rows(PLAN, elsewhere),),
    notes=(
        "`min` is the guaranteed minimum when all groups are busy, `entitled` the entitlement among the groups with "
        "demand since the last poll. Limits are in CPUs and in servers, the directive's percent in "
        "brackets: of all CPUs or the limit above it, and of the servers target.",
        "v shows the next plan and its differences from the active one; after the last it shows the active plan again.",
    ),
    keys=(Key("next_plan", "v", "v", "next plan", "Show the next plan, and what it would change."),),
    panel="presman.tui.panels.shared_panel:PlanPanel",
)
