"""Tab 6: the plan as a tree, what is doubtful about it, who set it, and how another plan would differ."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from textual.app import ComposeResult

from presman.analysis.lint import lint
from presman.analysis.plan_view import PlanView, differences, plan_view
from presman.formats import count, number
from presman.tables.plan import DIFFERENCES, FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tui.panels.panel import Panel, Shown
from presman.tui.widgets.containers import Horizontal
from presman.tui.widgets.grid import HEADER_LINES, Grid
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.lines import Line

_FINDINGS_SHOWN = 6


def _numbers(instances: Iterable[int]) -> str:
    return ", ".join(map(str, instances))


def plan_line(view: PlanView) -> Line:
    """Return the line about a plan as a whole."""
    method = {"RATIO": "by shares", "EMPHASIS": "by levels"}.get(view.method.upper(), view.method)
    facts = [f"{view.plan or 'no plan'}", method, view.set_by if view.active else "not active: what it would guarantee"]
    if view.active and view.elsewhere:
        told = ", ".join(f"{run.plan or 'no plan'} on {_numbers(run.instances)}" for run in view.elsewhere)
        facts.insert(1, f"on instance {_numbers(view.instances)} ({told}: v shows it)")
    if view.unallocated >= 0.0005:
        facts.append(f"{100 * view.unallocated:.2f} % guaranteed to nobody")
    facts.append(f"{number(view.capacity, 0)} CPUs, {count(view.target)} servers of target")
    head, *rest = [fact for fact in facts if fact]
    return ((" Plan ", "dim"), (head, "title"), (f"   {', '.join(rest)}", ""))


class Plans(Panel):
    """The tree, the findings below it, then windows and mappings; or the differences to the plan that was chosen."""

    tables = (PLAN, FINDINGS, WINDOWS, MAPPINGS, DIFFERENCES)
    notes: ClassVar[tuple[str, ...]] = (
        "Two figures, never mixed: `min` is the guaranteed minimum when everyone is busy, `now CPU` the entitlement "
        "among those with demand since the last poll. Limits are in CPUs and in servers, the directive's percent in "
        "brackets.",
        "v shows the next plan there is, and what it would change against the active one; after the last it is the "
        "active plan again.",
    )

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._about = LineView(id="plan-about")
        self._tree, self._findings = Grid(PLAN), Grid(FINDINGS, filterable=False)
        self._windows, self._mappings = Grid(WINDOWS, filterable=False), Grid(MAPPINGS, filterable=False)
        self._differences = Grid(DIFFERENCES, filterable=False)
        self._chosen = ""
        self._plans: tuple[str, ...] = ()
        self._active = ""
        self._shown: Shown | None = None
        self._filled: dict[Grid, tuple[object, ...]] = {}
        yield self._about
        yield self._tree
        yield self._findings
        with Horizontal(id="plan-past"):
            yield self._windows
            yield self._mappings
            yield self._differences

    def show(self, shown: Shown) -> None:
        """Fill the widgets."""
        self._shown = shown
        moment = shown.moment()
        if moment is None:
            self._tree.show_rows(())
            self._findings.show_rows(())
            return
        snapshot = moment[1]
        active = plan_view(shown.reading, snapshot)
        self._plans, self._active = active.plans, active.plan
        other = self._chosen if self._chosen != active.plan else ""
        view = plan_view(shown.reading, snapshot, other) if other else active
        self._about.show_lines([plan_line(view)])
        self._tree.show_rows(view.lines, set() if view.active else {"entitled", "used", "bar", "verdict"})
        findings = lint(shown.reading, snapshot)
        height = HEADER_LINES + max(1, min(_FINDINGS_SHOWN, len(findings)))
        if self._findings.styles.max_height is None or self._findings.styles.max_height.value != height:
            self._findings.styles.max_height = height
        self._fill(self._findings, findings)
        single = len(shown.reading.header.instances) < 2
        hidden = {"inst"} if single else set()
        hidden |= {"con"} if len({each.con_id for each in view.windows}) < 2 else set()
        self._windows.display = self._mappings.display = not other
        self._differences.display = bool(other)
        if other:
            self._fill(self._differences, differences(active, view), note=f"{active.plan} against {other}")
        else:
            self._fill(self._windows, view.windows, frozenset(hidden))
            self._fill(self._mappings, view.mappings)

    def _fill(self, grid: Grid, rows: tuple[object, ...], hidden: frozenset[str] = frozenset(), note: str = "") -> None:
        """Fill a table that hardly ever changes, when it has changed."""
        if self._filled.get(grid) != (rows, hidden, note):
            self._filled[grid] = rows, hidden, note
            grid.show_rows(rows, hidden, note)

    def next_plan(self) -> None:
        """Show the next plan there is; after the last the active one again."""
        if self._shown is None or not self._plans:
            return
        others = ["", *(plan for plan in self._plans if plan != self._active)]
        place = others.index(self._chosen) if self._chosen in others else 0
        self._chosen = others[(place + 1) % len(others)]
        self.show(self._shown)
