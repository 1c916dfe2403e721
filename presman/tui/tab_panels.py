"""The panels of the tabs, made when their tab is first needed, or ahead of that; the page in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.widget import Widget

from presman.analysis.readings.reading import Reading
from presman.figures.drawing.lines import Line
from presman.rows.queries import Focus
from presman.tabs import tab, tab_names
from presman.tabs.choices import DrillScope
from presman.tui.monitor import Monitor
from presman.tui.panels.panel import Panel
from presman.tui.saved_view import SavedView
from presman.tui.terminal_app import TerminalApp
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.page import Page

if TYPE_CHECKING:
    from presman.tui.feed import Feed
    from presman.tui.pages.content import Content


AHEAD = ("parallel", "cpu", "sessions", "io", "plan", "latency", "top")
"""The tabs that are made before they are asked for; the others when they are, to save memory."""

STYLES = Path(__file__).parent / "panels"
"""The style sheets of the panels that have any of their own: each is parsed when its panel is made."""

PACE = 0.15
"""Seconds between mounting two panels ahead of need."""


def _focus(widget: Widget) -> None:
    """Give the focus to a widget at once: Textual does it later, and of two who ask the later one wins."""
    widget.screen.set_focus(widget)


class TabPanels:
    """The panels made so far, one of them on show."""

    def __init__(self, app: TerminalApp, monitor: Monitor, bind: Callable[[Iterable[str]], None]) -> None:
        self._app = app
        self._bind = bind
        self._monitor = monitor
        self._made: dict[str, Panel] = {}
        self._painted: set[str] = set()
        self._used: dict[int, Widget] = {}
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
    def focused(self) -> Widget | None:
        """What has the focus below whatever dialog is open: the dialog has one of its own."""
        return self._app.screen_stack[0].focused

    @property
    def grid(self) -> Grid | None:
        """The table that has the focus, else the first one of the tab."""
        focused = self.focused
        if isinstance(focused, Grid) and self.present.shows(focused):
            return focused
        return next(iter(self.present.grids()), None)

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
            self._app.stylesheet.parse()  # at once: else the first widget would be styled by some of the old rules
        module, _, kind = tab(name).panel.partition(":")
        panel: Panel = getattr(import_module(module), kind)(name) if module else Panel(name)
        panel.saved = self.saved
        self._made[name] = panel
        self._bind([name])
        return panel

    async def show(self, name: str) -> None:
        """Put the panel of a tab on show, and the others away."""
        self._used.clear()
        self._monitor.choose(tab=name, scopes=())
        await self._show(name)
        self.filter()

    async def drill_into(self, scopes: tuple[DrillScope, ...]) -> None:
        """Show the list of the last of some scopes in the present tab; of the tab itself without any."""
        depth = min(len(self._monitor.choices.scopes), len(scopes))
        self._used = {each: widget for each, widget in self._used.items() if each <= depth}
        self._monitor.choose(scopes=scopes)
        await self._show(self._monitor.choices.panel)
        self.filter()

    def note_use(self, widget: Widget) -> None:
        """Remember what was given the focus, if it is of the list on show: there it returns to from everywhere."""
        if self.present.display and self.present.shows(widget):
            self._used[len(self._monitor.choices.scopes)] = widget

    def focus_again(self) -> None:
        """Give the focus to what had it when the list on show was left, else to its main table if it has any."""
        used = self._used.get(len(self._monitor.choices.scopes))
        grids = sorted(self.present.grids(), key=lambda grid: not self.present.is_main(grid))
        if used is not None and self.present.shows(used):
            _focus(used)
        elif grids:
            _focus(grids[0])

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
            if self.focused is None or isinstance(self.focused, Grid):  # its table may be put away now
                self.focus_first()

    def filter(self) -> None:
        """Have the tables of the tab show what its filter leaves."""
        for grid in self.present.grids():
            grid.set_filter(self._monitor.choices.filter)

    def focus_first(self) -> None:
        """Give the focus to a table of the present tab, the one that had it if any had, unless it is there already."""
        if self.focused is None or not self.present.shows(self.focused):
            self.focus_again()

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


# ---- The page that stands in place of a panel: who opens, fills and closes it.


class PageReader:
    """Opens, refreshes and closes the one page there is, and has read what only the page shows."""

    def __init__(self, app: App[None], panels: TabPanels, feed: Feed, repaint: Callable[[], None]) -> None:
        self._app = app
        self._panels = panels
        self._feed = feed
        self._repaint = repaint
        self._content: Content | None = None
        self._breadcrumb = ""
        self.row: Any = None
        """The row of a table that the page is about, None where it is about none."""

    @property
    def is_open(self) -> bool:
        """Whether a page is being read."""
        return self._content is not None

    @property
    def needle(self) -> str:
        """What the page is filtered by."""
        return self._page.needle if self.is_open else ""

    def filter(self, needle: str, *, done: bool) -> None:
        """Show the lines of the page that contain a text; once that is `done`, go back to it."""
        self._page.set_filter(needle)
        if done:
            _focus(self._page)

    @property
    def text(self) -> str:
        """The page as plain text."""
        return self._page.text

    @property
    def _page(self) -> Page:
        return self._app.screen_stack[0].query_one(Page)

    def open(
        self,
        content: Content,
        focus: Focus | None = None,
        breadcrumb: str = "",
        row: Any = None,
        found_by_search: Callable[[], Sequence[Line]] = tuple,
    ) -> None:
        """Put the page in place of the panel, below the `breadcrumb`, and have the session it is about read closely.

        `found_by_search` makes lines that only a search brings up.
        """
        self._content, self._breadcrumb, self.row = content, breadcrumb, row
        page = self._page
        page.set_filter("")
        page.found_by_search = found_by_search
        self._panels.present.display = False
        page.display = True
        page.scroll_to(y=0, animate=False)
        _focus(page)
        self._repaint()
        self.look_at(focus)

    def refresh(self, reading: Reading | None) -> None:
        """Draw the page from this reading."""
        if self._content is not None:
            breadcrumb: list[Line] = [((self._breadcrumb, "title"),)] if self._breadcrumb else []
            self._page.show_lines([*breadcrumb, *self._content(reading)])

    def close(self) -> None:
        """Put the panel back, and the focus to where it was."""
        if self._content is not None:
            self._page.display = False
            self._panels.present.display = True
            self._panels.focus_first()
        self._content = self.row = None

    def look_at(self, focus: Focus | None) -> None:
        """Have one session read closely; without one only progress, and that only where the tab shows it.

        That makes a poll at once, which would hold up the screen: so what there is already is painted first.
        """

        wanted = focus or (Focus() if self._panels.present.tab.progress else None)
        self._app.call_after_refresh(lambda: self._feed.focus(wanted))
