"""The panels of the tabs: made when their tab is first needed, the usual ones ahead of that."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from importlib import import_module
from pathlib import Path

from textual.widget import Widget

from presman.tabs import tab, tab_names
from presman.tabs.choices import DrillScope
from presman.tui.monitor import Monitor
from presman.tui.panels.panel import Panel
from presman.tui.saved_view import SavedView
from presman.tui.terminal_app import TerminalApp
from presman.tui.widgets.grid import Grid

AHEAD = ("parallel", "cpu", "sessions", "io", "plan", "latency", "top")
"""The tabs that are made before they are asked for; the others when they are, to save memory."""

STYLES = Path(__file__).parent / "panels"
"""The style sheets of the panels that have any of their own: each is parsed when its panel is made."""

PACE = 0.15
"""Seconds between mounting two panels ahead of need."""


class TabPanels:
    """The panels made so far, one of them on show."""

    def __init__(self, app: TerminalApp, monitor: Monitor, bind: Callable[[Iterable[str]], None]) -> None:
        self._app = app
        self._bind = bind
        self._monitor = monitor
        self._made: dict[str, Panel] = {}
        self._painted: set[str] = set()
        self._left: list[Widget | None] = []
        self.saved = SavedView()

    @property
    def made(self) -> tuple[str, ...]:
        """The tabs whose panels there are."""
        return tuple(self._made)

    @property
    def present(self) -> Panel:
        """The panel on show: of the present tab, or the list of a drill-down in it."""
        return self._made[self._monitor.choices.panel]

    @property
    def grid(self) -> Grid | None:
        """The table that has the focus, else the first one of the tab."""
        focused = self._app.focused
        grids = self.present.grids()
        return focused if isinstance(focused, Grid) and focused in grids else next(iter(grids), None)

    @property
    def all_grids(self) -> dict[str, Grid]:
        """The tables made so far, by the name they are kept under."""
        return {name: grid for panel in self._made.values() for name, grid in panel.all_grids.items()}

    def of(self, name: str) -> Panel:
        """Return the panel of a tab that was made already. Raises KeyError."""
        return self._made[name]

    def make(self, name: str) -> Panel:
        """Make the panel of a tab, not mounted yet."""
        styles = STYLES / f"{name}.tcss"
        if styles.exists():
            self._app.stylesheet.read(styles)
        module, _, kind = tab(name).panel.partition(":")
        panel: Panel = getattr(import_module(module), kind)(name) if module else Panel(name)
        panel.saved = self.saved
        self._made[name] = panel
        self._bind([name])
        return panel

    async def show(self, name: str) -> None:
        """Put the panel of a tab on show, and the others away."""
        self._left.clear()
        self._monitor.choose(tab=name, scopes=())
        await self._show(name)
        self.filter()

    async def drill_into(self, scopes: tuple[DrillScope, ...]) -> None:
        """Show the list of the last of some scopes in the present tab; of the tab itself without any."""
        before = len(self._monitor.choices.scopes)
        if len(scopes) > before:
            self._left += [self._app.focused] * (len(scopes) - before)
        self._monitor.choose(scopes=scopes)
        await self._show(self._monitor.choices.panel)
        self.filter()

    def focus_again(self) -> None:
        """Give the focus back to what had it before the drill-down that was just left."""
        depth = len(self._monitor.choices.scopes)
        left, self._left[depth:] = self._left[depth:][:1], []
        if left and left[0] is not None and self.present.shows(left[0]):
            left[0].focus()
        else:
            self.focus_first()

    async def _show(self, name: str) -> None:
        with self._app.batch_update():  # or it would be laid out before it has anything to show
            if name not in self._made:
                await self._app.screen_stack[0].query_one("#body").mount(self.make(name))
            for each, panel in self._made.items():
                panel.display = each == name

    def fill(self) -> None:
        """Fill the panel on show from the instant on screen."""
        moment = self._monitor.moment()
        if moment is not None and self.present.is_mounted:
            self.present.show(moment)
            self._painted.add(self._monitor.choices.panel)
            if self._app.focused is None or isinstance(self._app.focused, Grid):  # its table may be put away now
                self.focus_first()

    def filter(self) -> None:
        """Have the tables of the tab show what its filter leaves."""
        for grid in self.present.grids():
            grid.set_filter(self._monitor.choices.filter)

    def focus_first(self) -> None:
        """Give the focus to a table of the present tab, the main one if it has any, unless something on it has it."""
        focused: Widget | None = self._app.focused
        if focused is None or not self.present.shows(focused):
            grids = self.present.grids()
            for grid in sorted(grids, key=lambda grid: not self.present.is_main(grid))[:1]:
                grid.focus()

    def mount_ahead(self) -> None:
        """Mount one panel that is not there yet, hidden, so that its key is answered at once; then the next."""
        missing = next((name for name in AHEAD if name not in self._made), None)
        if missing is not None and not self._app.is_leaving:
            panel = self.make(missing)
            panel.display = False
            self._app.screen_stack[0].query_one("#body").mount(panel)
            self._app.set_timer(PACE, self.mount_ahead)

    def forget_unseen(self) -> None:
        """Let go of what the tabs that are not on show have painted."""
        present = self._monitor.choices.panel
        for name in self._painted - {present}:
            self._made[name].forget()
        self._painted = {present}

    def _may_show(self, name: str) -> bool:
        return self._monitor.containers or (self._monitor.reading is None and self._monitor.choices.tab == name)

    def hidden(self) -> tuple[str, ...]:
        """Return the tabs that have nothing to show: containers, where the database has none, or nobody knows yet."""
        return tuple(each.name for each in tab_names() if each.containers and not self._may_show(each.name))
