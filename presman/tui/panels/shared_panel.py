"""Panels that distribute their lines by need: no row is hidden and no text cut while lines are free."""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace
from textual.widget import Widget

from presman.figures.plan_figures import DIFFERENCES, FINDINGS, MAPPINGS, PLAN, WINDOWS
from presman.tabs.parts import Moment
from presman.tabs.plan import active_plan, another
from presman.tui.panels.panel import Panel
from presman.tui.widgets.grid import Grid, lines_needed
from presman.tui.widgets.line_api import Sentences, give_lines
from presman.tui.widgets.table_frame import HEADER_LINES


class Wanted(NamedTuple):
    """Lines that a part wants: `least` to appear, `first` at first, `rows` for all rows, `whole` to cut no text."""

    least: int
    first: int
    rows: int
    whole: int


def share(height: int, wanted: Sequence[Wanted], main: int) -> list[int]:
    """Distribute `height` lines to the parts from top to bottom; the last one gets the rest.

    The part `main` gets its minimum right after the top part, and all its rows before the others get all of theirs.
    """
    found = [0] * len(wanted)
    order = sorted(range(len(wanted)), key=lambda index: (index not in {0, main}, index))
    left = height
    for index in order:
        found[index] = wanted[index].least if wanted[index].least <= left else 0
        left -= found[index]
    present = [index for index in range(len(wanted)) if found[index]]
    main_first = sorted(present, key=lambda index: index != main)
    for stage, parts in (("first", present), ("rows", main_first), ("whole", present)):
        for index in parts:
            more = min(left, max(0, getattr(wanted[index], stage) - found[index]))
            found[index] += more
            left -= more
    if present:
        found[present[-1]] += left
    return found


def wanted_by(grid: Grid, around: int, height: int, most: int) -> Wanted:
    """Return how many of `height` lines a table wants, at first at most `most`; `around` is the panel's width."""
    rows, width = lines_needed(grid), grid.scrollable_content_region.width or around
    least = min(rows, HEADER_LINES + 1)
    whole = grid.drawing.whole_height(width) if rows < height else rows
    return Wanted(least, max(least, min(rows, most)), rows, whole)


class SharedPanel(Panel):
    """Lays out the parts of a tab one below the other, each with the lines it needs."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._without_rows: set[Widget] = set()

    def _hide_if_empty(self, widget: Widget, empty: bool) -> None:
        """Record whether a widget has nothing to show."""
        (self._without_rows.add if empty else self._without_rows.discard)(widget)

    def show(self, moment: Moment) -> None:
        """Fill the widgets, and distribute the lines."""
        super().show(moment)
        self.share()

    def on_resize(self) -> None:
        """Share out another number of lines."""
        self.share()

    def share(self) -> None:
        """Give each part its lines."""
        height, flat = self.size.height, self.screen.has_class("-flat")
        if not height:
            return
        shown = (part for part in self.children if part not in self._without_rows)
        parts = [part for part in shown if not (flat and part.has_class("-aside"))]
        main = next((index for index, part in enumerate(parts) if part.has_class("-main")), 0)
        wanted = [Wanted(*(lines + part.styles.margin.height for lines in self.wanted(part, height))) for part in parts]
        lines = dict(zip(parts, share(height, wanted, main), strict=True))
        for part in self.children:
            give_lines(part, lines.get(part, 0) - part.styles.margin.height)

    def wanted(self, part: Widget, height: int) -> Wanted:
        """Return how many of `height` lines a part wants."""
        if isinstance(part, Sentences):
            return Wanted(*[part.lines_in(self.size.width)] * 4)
        grids = [part] if isinstance(part, Grid) else [grid for grid in part.query(Grid) if grid.display]
        each = [wanted_by(grid, self.size.width, height, self.most(grid, height)) for grid in grids]
        # A box whose tables do not exist yet, or no longer, or are all hidden, wants none.
        return Wanted(*(max(lines) for lines in zip(*each, strict=True))) if each else Wanted(0, 0, 0, 0)

    def most(self, _grid: Grid, height: int) -> int:
        """Return how many of `height` lines a table gets before the main one has all its rows."""
        return height // 4


class TopPanel(Panel):
    """Lays out the tab Top by its style sheet; tables of SQL one below the other share their lines by need."""

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        super().show(moment)
        self.call_after_refresh(self._share)

    def on_resize(self) -> None:
        """Share out another number of lines."""
        self.call_after_refresh(self._share)

    def _share(self) -> None:
        box = self.query_one("#top-sql")
        grids = [grid for grid in box.query(Grid) if grid.display]
        if self.screen.has_class("-wide") or not box.size.height or len(grids) < 2:
            heights: Sequence[int | str] = ["1fr"] * len(grids)
        else:
            room = box.size.height - sum(grid.styles.margin.height for grid in grids)
            wanted = [wanted_by(grid, self.size.width, room, room // len(grids)) for grid in grids]
            heights = share(room, wanted, 0)
        for grid, height in zip(grids, heights, strict=True):
            grid.styles.height = height


class PlanPanel(SharedPanel):
    """The tree, its findings, then windows and mappings; or the differences from the chosen plan."""

    _chosen = ""
    _moment: Moment | None = None

    def show(self, moment: Moment) -> None:
        """Fill the widgets."""
        self._moment = moment = replace(moment, choices=replace(moment.choices, plan=self._chosen))
        is_other = another(moment) is not None
        self.grid_of(WINDOWS).display = not is_other and not self.screen.has_class("-narrow")
        self.grid_of(MAPPINGS).display = not is_other
        self.grid_of(DIFFERENCES).display = is_other
        super().show(moment)

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
