"""The frame of the monitor: messages of the feed, and painting. Keys: :mod:`presman.tui.app`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from textual.app import App, ComposeResult
from textual.geometry import Size
from textual.reactive import Reactive
from textual.widget import Widget

from presman.analysis.alerts.alert_rules import wrong
from presman.analysis.readings.reading import Reading
from presman.base import terminal_guard
from presman.figures.drawing.lines import Line
from presman.rows.queries import Focus
from presman.tabs import tab, tab_names
from presman.tabs.choices import DrillScope, LinkState
from presman.tui import feed as feeds
from presman.tui.exports import CsvRecording, PollRecording, taking
from presman.tui.feed import ActionGateway
from presman.tui.keyed_app import TIDY, KeyedApp
from presman.tui.monitor import Moments, Monitor
from presman.tui.panels.panel import Panel
from presman.tui.saved_view import SavedView
from presman.tui.terminal_app import TerminalApp
from presman.tui.textual_internals import PatientScreen
from presman.tui.widgets.frame_lines import KeysLine, Labelled, StateView, TabLine, TopLine, TopLines, is_ticking
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import Container, LineView, PlainBackground
from presman.tui.widgets.page import Page

if TYPE_CHECKING:
    from presman.analysis.alerts.judge import AlertChanges
    from presman.recording.recording_source import RecordingSource
    from presman.tui.feed import Feed
    from presman.tui.following import FollowedStatement
    from presman.tui.pages.content import Content


SETTLED = 4.0
"""Seconds after the first reading when all lasting objects exist."""


class FrameApp(KeyedApp):
    """Header, alerts, tabs, one panel or page, keys."""

    CSS_PATH = "presman.tcss"
    TITLE = "presman"
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (15, "-short"), (28, "-middle"), (42, "-tall")]  # noqa: RUF012 - as Textual has it

    def __init__(
        self,
        make_feed: feeds.MakeFeed,
        *,
        name: str,
        refresh: float = 2.0,
        theme: str | None = None,
        folder: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        packs: tuple[str, ...] = (),
        gateway: ActionGateway | None = None,
    ) -> None:
        super().__init__()
        self.gateway = gateway
        self.targets: Sequence[str] = ()
        self.switch_to = ""
        self.home = self.goes_home = False
        self.news: AlertChanges | None = None
        """Finds the alerts that ring the bell; None if none does."""
        self.following: FollowedStatement | None = None
        self.show_around: Callable[[], None] = lambda: None
        self.monitor = Monitor(name, refresh, packs, clock)
        self.moments = Moments(self.monitor, self.notify, self.repaint)
        self.panels = TabPanels(self, self.monitor, self.bind_tab_keys)
        self.feed = make_feed(self.post_message, refresh)
        self.reader = PageReader(self, self.panels, self.feed, self.repaint)
        self.folder = folder
        self.is_reporting = False
        self.replayed: Callable[[], RecordingSource] | None = None
        """Creates the source of a replay; None for a live database."""
        self.recording = self.csv_recording()
        self.poll_recording = PollRecording(
            folder, lambda text: self.call_from_thread(self.notify, text, severity="error")
        )
        self.begun = False
        self.take_theme(theme)

    def put_back(self) -> None:
        """Restore the saved view before anything is painted."""

    def csv_recording(self) -> CsvRecording:
        """Return the writer of the CSV file that a key starts."""
        return CsvRecording(self.folder)

    # ---- the screen

    def get_default_screen(self) -> MonitorScreen:
        """Return the base screen, with the panel of the first tab, so that the first frame is complete.

        The feed starts here: it analyses what has already been read while the screen is being laid out.
        """
        self.put_back()
        panel = self.panels.make(self.monitor.choices.tab)
        self.read_enough()
        self.feed.start()
        screen = MonitorScreen(panel, Page())
        screen.fit(self.size, self.HORIZONTAL_BREAKPOINTS, self.VERTICAL_BREAKPOINTS)
        return screen

    @property
    def frame(self) -> MonitorScreen:
        """The base screen, also while a dialog is above it."""
        frame = self.screen_stack[0]
        assert isinstance(frame, MonitorScreen)
        return frame

    def on_mount(self) -> None:
        """Begin once all widgets are mounted."""
        self.animation_level = "none"
        self.frame.call_later(self._begin)

    def _begin(self) -> None:
        """Draw the data that has arrived meanwhile."""
        if self.is_leaving:  # quit before the first frame
            return
        self.begun = True
        self.panels.focus_first()
        self.repaint()
        self.call_after_refresh(self._paint)
        self.set_interval(1.0, self._tick)
        self.show_notice()

    def _paint(self) -> None:
        """Paint the first frame, which is now laid out; then start the terminal guard."""
        if not self.is_leaving:
            self.frame.begin()
            self.call_after_refresh(terminal_guard.start)

    def on_unmount(self) -> None:
        """Close the feed and the exports."""
        self.feed.stop()
        self.recording.close()
        self.poll_recording.close()
        self.note_view()

    # ---- events of the feed

    def on_arrived(self, event: feeds.Arrived) -> None:
        """Take a new reading; while the view is frozen, only store it."""
        monitor = self.monitor
        if not event.whole:
            monitor.preview(event.reading, event.age)
            self.repaint()
            return
        # Only a whole poll has a cost: the preview of the first one does not count.
        first = monitor.cost is None
        monitor.arrive(event.reading, event.snapshot)
        monitor.forecast_basis = event.forecast_basis
        self.moments.arrive(event.reading, event.snapshot)
        (self.paint_lines if monitor.is_frozen else self.repaint)()
        if self.following is not None:
            self._follow(self.following, event.reading)
        if self.gateway is not None:
            self.gateway.arrive(event.reading)
        if self.news is not None and any(
            each.change != "ended" for each in self.news.of(wrong(event.reading), event.reading)
        ):
            self.bell()
        self.poll_recording.write(event.snapshot, event.reading)
        if problem := self.recording.write(event.reading):
            self.read_enough()
            self.paint_lines()
            self.notify(problem, severity="error", timeout=15)
            self.bell()
        if first:
            self.set_timer(PACE, self.panels.mount_ahead)
            self.set_timer(2 * PACE, self.bind_tab_keys)
            self.set_timer(SETTLED, self.settle)
            self.set_interval(TIDY, self.panels.forget_hidden)

    def _follow(self, following: FollowedStatement, reading: Reading) -> None:
        """Keep the cursor on the followed statement; notify the user when it starts and when it ends."""
        if news := following.take(reading):
            self.notify(news, timeout=12)
            self.bell()
        if following.row is None:
            self.following = None
        elif not self.monitor.is_frozen and not self.reader.is_open:
            grid = following.select(self.panels.present.grids())
            if news and grid is not None:
                grid.focus()

    def on_lost(self, event: feeds.Lost) -> None:
        """Keep the last data on screen, and show that it is out of date."""
        if self.monitor.link.state is not LinkState.LOST:
            self.moments.lose(event.text)
        self.monitor.lose(event.text, event.retry_in, event.lasting)
        self.repaint()

    def on_ended(self) -> None:
        """Show that the source has ended."""
        self.monitor.end()
        self.repaint()

    def on_failed(self, event: feeds.Failed) -> None:
        """Report that a poll could not be analysed; the screen keeps running."""
        self.complain(event.error)

    def on_acted(self, event: feeds.Acted) -> None:
        """Notify the user of the result of a command."""
        if not event.tried and self.gateway is not None:
            self.gateway.note(self.monitor.name, event.command, event.text)
        text = f"{event.command.kind.value}: {event.text}\n{event.command.text}"
        self.notify(text, severity="information" if event.done else "error", timeout=12)

    def read_enough(self) -> None:
        """Make each poll read what the current tab shows and what is being written."""
        self.feed.set_detail_level(self.panels.present.tab.detail_level | self.recording.detail_level)

    # ---- painting

    def _tick(self) -> None:
        if not self.is_leaving:
            self.frame.tick(self.monitor, taking(self.recording.measure, self.poll_recording))

    def repaint(self) -> None:
        """Draw everything from the state. A panel that fails reports that and does not affect the rest."""
        if not self.begun or self.is_leaving:
            return
        try:
            self.monitor.assess()
            self.paint_lines()
            leaving, is_page_open = "goes back to the fleet" if self.home else "quits", self.reader.is_open
            if self.frame.paint_message(self.monitor, leaving, is_page_open=is_page_open):
                return
            if self.reader.is_open:
                self.reader.refresh(self.monitor.reading)
            else:
                self.panels.fill()
        except Exception as error:
            self.complain(error)

    def paint_lines(self) -> None:
        """Draw the lines above and below the body."""
        self.frame.paint_lines(
            self.monitor, taking(self.recording.measure, self.poll_recording), self.panels.hidden(), self.keys_here()
        )
        self.show_around()

    def bind_tab_keys(self, names: Iterable[str] = ()) -> None:
        """Bind the keys of some tabs, by default of all."""


# ---- Panels of the tabs, created when their tab is first needed or ahead of that.

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


# ---- The base screen: lines above and below, and a body with the panel or the page.

LEAST = (60, 8)
"""The smallest terminal that shows anything useful, in columns and lines."""


def too_small(size: Size, leaving: str = "quits") -> list[Line]:
    """Return a message that a terminal is too small, [] if it is not; `leaving` is what q does."""
    if size.width >= LEAST[0] and size.height >= LEAST[1]:
        return []
    return [
        (("terminal too small", "bad"),),
        ((f"presman needs {LEAST[0]} x {LEAST[1]}", ""),),
        ((f"this one is {size.width} x {size.height}", ""),),
        ((f"enlarge it, or q {leaving}", "dim"),),
    ]


class MonitorScreen(PatientScreen, PlainBackground):
    """The monitor's screen. It avoids Textual's full repaint when the focus moves: only the focused widget changes."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self, *body: Widget) -> None:
        super().__init__(id="_default")
        self._top, self._tabs, self._keys = TopLines(id="top"), TabLine(id="tabs"), KeysLine(id="keys")
        self._message, self._state = LineView(id="message"), StateView(id="state")
        self.body = Container(*body, id="body")

    def fit(self, size: Size, widths: Sequence[tuple[int, str]], heights: Sequence[tuple[int, str]]) -> None:
        """Set the classes of a size before Textual reports it, so that widgets are styled only once."""
        for length, names in ((size.width, widths), (size.height, heights)):
            self.add_class(max((least, name) for least, name in names if least <= length)[1])

    def compose(self) -> ComposeResult:
        """Lay out the lines, with the first panel between them; other panels are mounted later."""
        yield self._top
        yield self._state
        yield self._tabs
        yield self.body
        yield self._message
        yield self._keys

    def paint_top(self, monitor: Monitor, exporting: str) -> None:
        """Draw the line of facts, the state, the line of alerts and the to-do line."""
        top = _top_line(monitor, exporting)
        self._top.show(top, monitor.alerts, monitor.to_do)
        self._state.show(top)

    def paint_lines(self, monitor: Monitor, exporting: str, hidden: Sequence[str], keys: Sequence[Labelled]) -> None:
        """Draw the lines above and below the body."""
        self.paint_top(monitor, exporting)
        needle = monitor.choices.filter
        self._tabs.show(monitor.choices.tab, f"filter: {needle}" if needle else "", hidden)
        self._keys.show(keys)
        self.body.set_class(monitor.link.state is LinkState.LOST, "-old")

    def tick(self, monitor: Monitor, exporting: str) -> None:
        """Update the figures that change every second."""
        if is_ticking(_top_line(monitor, exporting)):
            self.paint_top(monitor, exporting)

    def paint_message(self, monitor: Monitor, leaving: str = "quits", *, is_page_open: bool = False) -> bool:
        """Draw a message in place of the body; return whether there is one. `leaving` is what q does."""
        lines = too_small(self.app.size, leaving) or ([] if is_page_open else self._message_of(monitor, leaving))
        self._message.show_lines(lines)
        self.set_class(bool(lines), "-message")
        self.set_class(is_page_open and self.has_class("-flat"), "-reading")
        return bool(lines)

    def _message_of(self, monitor: Monitor, leaving: str) -> list[Line]:
        width, link = self.app.size.width, monitor.link
        if monitor.reading is None and link.state is LinkState.LOST:
            again = "Press F5 to try again now." if link.retry_at else "presman does not retry by itself: press F5."
            texts = ((link.text, ""), (f"{again} q {leaving}.", "dim"))
            lines = [((f"  {line}", style),) for text, style in texts for line in wrap(text, width - 3)]
            return [(), (("  ✕ No data", "bad"),), *lines]
        return []


def _top_line(monitor: Monitor, exporting: str) -> TopLine:
    return TopLine(
        monitor.name, monitor.reading, monitor.choices, monitor.link, monitor.cost, exporting, monitor.clock()
    )
