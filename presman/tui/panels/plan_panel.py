"""The panel of the plan: the active plan, or another one with the differences."""

from textual.app import ComposeResult
from textual.widget import Widget

from presman.analysis.plans.plan_view import PlanView, differences, plan_view
from presman.figures.figure import late_note
from presman.figures.plan_figures import DIFFERENCES, FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tabs.parts import Moment
from presman.tabs.plan import active_plan, found, plan_line, unjudged
from presman.tui.panels.shared_panel import SharedPanel, Wanted
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Horizontal, Sentences


class PlanPanel(SharedPanel):
    """The tree, its findings, then windows and mappings; or the differences from the chosen plan."""

    _chosen = ""
    _moment: Moment | None = None

    def compose(self) -> ComposeResult:
        """Lay the tab out."""
        self._about = Sentences(id="plan-about")
        tree, findings, windows, mappings, differences = (self.grid(part) for part in self.tab.rows())
        yield self._about
        yield tree
        yield findings
        with Horizontal(id="plan-past"):
            yield windows
            yield mappings
            yield differences

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        self._moment = moment
        active, snapshot = active_plan(moment), moment.snapshot
        if active is None or snapshot is None:
            self.grid_of(PLAN).show_rows(())
            self.grid_of(FINDINGS).show_rows(())
            self.share()
            return
        other = self._chosen if self._chosen != active.plan else ""
        view = plan_view(moment.reading, snapshot, other) if other else active
        self._about.show([plan_line(view)])
        hidden = set() if view.active else {"entitled_cpus", "used_cpus", "cpu_bar", "verdict"}
        late = late_note(PLAN, moment.reading)
        self.grid_of(PLAN).show_rows(view.lines, hidden, late=late, colours=moment.colours)
        note = "of plans in force" if other else ""
        self.grid_of(FINDINGS).show_rows(found(moment), note=note, unavailable=unjudged(moment))
        self.grid_of(WINDOWS).display = not other and not self.screen.has_class("-narrow")
        self.grid_of(MAPPINGS).display = not other
        self.grid_of(DIFFERENCES).display = bool(other)
        if other:
            self.grid_of(DIFFERENCES).show_rows(differences(active, view), note=f"{active.plan} against {other}")
        else:
            self.grid_of(WINDOWS).show_rows(view.windows, _alike(moment, view))
            self.grid_of(MAPPINGS).show_rows(view.mappings, colours=moment.colours)
        self.share()

    def most(self, grid: Grid, height: int) -> int:
        """Return how many lines a table gets at first: the tree more than half."""
        return height * 6 // 10 if grid.table is PLAN else super().most(grid, height)

    def wanted(self, part: Widget, height: int) -> Wanted:
        """Return the lines that a part wants. Findings are sentences, shown in full before other tables get more."""
        found = super().wanted(part, height)
        return found._replace(first=found.whole) if part is self.grid_of(FINDINGS) else found

    def action_next_plan(self) -> None:
        """Show the next plan, and after the last one the active plan again."""
        active = active_plan(self._moment) if self._moment is not None else None
        if self._moment is None or active is None:
            self.app.notify("No plan could be read.")
            return
        others = ["", *(plan for plan in active.plans if plan != active.plan)]
        if len(others) == 1:
            self.app.notify("There is no other plan.")
        index = others.index(self._chosen) if self._chosen in others else 0
        self._chosen = others[(index + 1) % len(others)]
        self.show(self._moment)


def _alike(moment: Moment, view: PlanView) -> frozenset[str]:
    """Return the columns of windows with the same text in every row."""
    hidden = {"inst_id"} if len(moment.reading.header.instances) < 2 else set()
    return frozenset(hidden | ({"con_id"} if len({each.con_id for each in view.windows}) < 2 else set()))
