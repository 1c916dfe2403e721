"""Panels of the tabs, created when their tab is first needed or ahead of that, and the page in their place."""

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
"""The tabs whose panels are created ahead of need; the others wait until they are opened, to save memory."""

STYLES = Path(__file__).parent / "panels"
"""The folder of the panels' own style sheets, each parsed when its panel is created."""

PACE = 0.15
"""Seconds between mounting two panels ahead of need."""


def _focus(widget: Widget) -> None:
    """Focus a widget at once: Textual does it later, and of two requests the later one wins."""
    widget.screen.set_focus(widget)


class TabPanels:
    """The panels created so far, one of them visible."""

    def __init__(self, app: TerminalApp, monitor: Monitor, bind: Callable[[Iterable[str]], None]) -> None:
        self._app, self._bind, self._monitor = app, bind, monitor
        self._made: dict[str, Panel] = {}
        self._painted: set[str] = set()
        self._used: dict[int, Widget] = {}
        self.saved = SavedView()

    @property
    def made(self) -> tuple[str, ...]:
        """The tabs whose panels exist."""
        return tuple(self._made)

    @property
    def present(self) -> Panel:
        """The visible panel: that of the current tab, or the list of a drill-down in it."""
        return self._made[self._monitor.choices.panel]

    @property
    def focused(self) -> Widget | None:
        """The focused widget of the base screen, also while a dialog with its own focus is open."""
        return self._app.screen_stack[0].focused

    @property
    def grid(self) -> Grid | None:
        """The focused table, else the first one of the tab."""
        focused = self.focused
        if isinstance(focused, Grid) and self.present.shows(focused):
            return focused
        return next(iter(self.present.grids()), None)

    @property
    def all_grids(self) -> dict[str, Grid]:
        """The tables created so far, by the name under which their settings are saved."""
        return {name: grid for panel in self._made.values() for name, grid in panel.all_grids.items()}

    def of(self, name: str) -> Panel:
        """Return the existing panel of a tab. Raises KeyError."""
        return self._made[name]

    def make(self, name: str) -> Panel:
        """Create the panel of a tab, not mounted yet."""
        styles = STYLES / f"{name}.tcss"
        if styles.exists():
            self._app.stylesheet.read(styles)
            self._app.stylesheet.parse()  # at once, or the first widget would be styled by outdated rules
        module, _, kind = tab(name).panel.partition(":")
        panel: Panel = getattr(import_module(module), kind)(name) if module else Panel(name)
        panel.saved = self.saved
        self._made[name] = panel
        self._bind([name])
        return panel

    async def show(self, name: str) -> None:
        """Show the panel of a tab, and hide the others."""
        self._used.clear()
        self._monitor.choose(tab=name, scopes=())
        await self._show(name)
        self.filter()

    async def drill_into(self, scopes: tuple[DrillScope, ...]) -> None:
        """Show the list of the last scope in the current tab, or the tab itself if there is none."""
        # The focus is remembered for the levels that stay: lists below them will be of other rows.
        depth = min(len(self._monitor.choices.scopes), len(scopes))
        self._used = {each: widget for each, widget in self._used.items() if each <= depth}
        self._monitor.choose(scopes=scopes)
        await self._show(self._monitor.choices.panel)
        self.filter()

    def note_use(self, widget: Widget) -> None:
        """Remember a focused widget if it is in the visible list: the focus returns to it."""
        if self.present.display and self.present.shows(widget):
            self._used[len(self._monitor.choices.scopes)] = widget

    def focus_again(self) -> None:
        """Focus the widget that had the focus when the visible list was left, else its main table if there is one."""
        used = self._used.get(len(self._monitor.choices.scopes))
        grids = sorted(self.present.grids(), key=lambda grid: not self.present.is_main(grid))
        if used is not None and self.present.shows(used):
            _focus(used)
        elif grids:
            _focus(grids[0])

    async def _show(self, name: str) -> None:
        with self._app.batch_update():  # or it would be laid out while still empty
            if name not in self._made:
                await self._app.screen_stack[0].query_one("#body").mount(self.make(name))
            for each, panel in self._made.items():
                panel.display = each == name

    def fill(self) -> None:
        """Fill the visible panel from the instant on screen."""
        moment = self._monitor.moment()
        if moment is not None and self.present.is_mounted:
            self.present.show(moment)
            self._painted.add(self._monitor.choices.panel)
            if self.focused is None or isinstance(self.focused, Grid):  # its table may now be hidden
                self.focus_first()

    def filter(self) -> None:
        """Apply the filter of the tab to its tables."""
        for grid in self.present.grids():
            grid.set_filter(self._monitor.choices.filter)

    def focus_first(self) -> None:
        """Focus a table of the current tab, preferably the last focused one, unless the focus is already there."""
        if self.focused is None or not self.present.shows(self.focused):
            self.focus_again()

    def mount_ahead(self) -> None:
        """Mount one missing panel, hidden, so that its key is answered at once; then schedule the next one."""
        missing = next((name for name in AHEAD if name not in self._made), None)
        if missing is not None and not self._app.is_leaving:
            panel = self.make(missing)
            panel.display = False
            self._app.screen_stack[0].query_one("#body").mount(panel)
            self._app.set_timer(PACE, self.mount_ahead)

    def forget_hidden(self) -> None:
        """Clear the caches of painted lines of the hidden tabs."""
        present = self._monitor.choices.panel
        for name in self._painted - {present}:
            self._made[name].forget()
        self._painted = {present}

    def hidden(self) -> tuple[str, ...]:
        """Return the tabs with nothing to show: containers, unless the database is known to have them."""
        # Before the first reading it is not known whether there are containers: a tab that is open stays.
        present = self._monitor.choices.tab if self._monitor.reading is None else ""
        names = () if self._monitor.containers else tab_names()
        return tuple(each.name for each in names if each.containers and each.name != present)


# ---- The page in place of a panel: it is opened, filled and closed here.


class PageReader:
    """Opens, refreshes and closes the page, and requests the details that only the page shows."""

    def __init__(self, app: App[None], panels: TabPanels, feed: Feed, repaint: Callable[[], None]) -> None:
        self._app, self._panels, self._feed, self._repaint = app, panels, feed, repaint
        self._content: Content | None = None
        self._breadcrumb = ""
        self.row: Any = None
        """The table row of the page, None if it is about no row."""

    @property
    def is_open(self) -> bool:
        """Whether a page is open."""
        return self._content is not None

    @property
    def needle(self) -> str:
        """The filter of the page."""
        return self._page.needle if self.is_open else ""

    def filter(self, needle: str, *, done: bool) -> None:
        """Show the lines of the page that contain a text; once it is `done`, give the focus back."""
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
        """Show the page in place of the panel, below the `breadcrumb`, and request the details of its session.

        `found_by_search` makes lines that appear only if a search finds them.
        """
        self._content, self._breadcrumb, self.row = content, breadcrumb, row
        page = self._page
        page.set_filter("")
        page.found_by_search = found_by_search
        self._panels.present.display, page.display = False, True
        page.scroll_to(y=0, animate=False)
        _focus(page)
        self._repaint()
        self.request_details(focus)

    def refresh(self, reading: Reading | None) -> None:
        """Draw the page from this reading."""
        if self._content is not None:
            breadcrumb: list[Line] = [((self._breadcrumb, "title"),)] if self._breadcrumb else []
            self._page.show_lines([*breadcrumb, *self._content(reading)])

    def close(self) -> None:
        """Restore the panel and the focus."""
        if self._content is not None:
            self._page.display, self._panels.present.display = False, True
            self._panels.focus_first()
        self._content = self.row = None

    def request_details(self, focus: Focus | None) -> None:
        """Request the details of one session or, without one, only the progress of statements if the tab shows that.

        The request polls at once, which would delay the screen, so the page is painted first with the available data.
        """
        wanted = focus or (Focus() if self._panels.present.tab.progress else None)
        self._app.call_after_refresh(lambda: self._feed.focus(wanted))
