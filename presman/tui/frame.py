"""The screen's frame: receives readings, owns what is shown, and paints it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.driver import Driver
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.tui import feed as feeds
from presman.tui import keeping, memory
from presman.tui.actions import ACTIONS, BY_NAME, KEYS_LINE, Action
from presman.tui.reader import Reader
from presman.tui.state import Link, LinkState, View
from presman.tui.widgets.containers import Container, PlainBackground
from presman.tui.widgets.header import StateView, TopLine, TopLines, is_ticking
from presman.tui.widgets.line_view import LineView
from presman.tui.widgets.tab_line import KeysLine, TabLine

if TYPE_CHECKING:
    from presman.analysis.reading import Reading
    from presman.tui.alerts import Alert
    from presman.tui.door import Door
    from presman.tui.export import Export
    from presman.tui.panels.panel import Panel
    from presman.tui.timeline import Timeline

PANELS = {
    "overview": ("presman.tui.panels.overview", "Overview"),
    "cpu": ("presman.tui.panels.cpu", "Cpu"),
    "io": ("presman.tui.panels.io", "Io"),
    "parallel": ("presman.tui.panels.parallel", "Parallel"),
    "sessions": ("presman.tui.panels.sessions", "Sessions"),
    "plan": ("presman.tui.panels.plan", "Plans"),
    "latency": ("presman.tui.panels.latency", "Latencies"),
    "pdbs": ("presman.tui.panels.pdbs", "Pdbs"),
}
"""Module and class of each tab's panel; a module is imported when its tab is first needed."""

LEAST = (60, 15)
"""The smallest terminal that shows anything useful, in columns and lines."""

AHEAD = ("parallel", "cpu", "sessions")
"""The tabs that are made before they are asked for; the others when they are, to save memory."""

_PACE = 0.15
"""Seconds between mounting two panels ahead of need."""


_SETTLED = 4.0
"""Seconds after the first reading by when everything that stays has been made."""


_TIDY = 15.0
"""Seconds between two rounds of the garbage collector from then on."""


class FrameScreen(Screen[None], PlainBackground):
    """The screen. Textual's own paints everything anew when the focus moves; here only what has it looks different."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)


class FrameApp(App[None]):
    """Header, alerts, tabs, one panel or page, keys. What keys do is in :mod:`presman.tui.app`."""

    CSS_PATH = "presman.tcss"
    TITLE = "presman"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012 - Textual declares it so
        (0, "-narrow"),
        (100, "-medium"),
        (160, "-wide"),
    ]
    VERTICAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-short"),
        (28, "-middle"),
        (42, "-tall"),
    ]
    BINDINGS: ClassVar[list[BindingType]] = [action.binding for action in ACTIONS if action.keys]

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
        door: Door | None = None,
    ) -> None:
        super().__init__()
        self.door = door
        self.database = name
        self.view = View(refresh=refresh, packs=packs)
        self.link = Link(since=clock(), fresh=clock())
        self.reading: Reading | None = None
        self.export: Export | None = None
        self.folder = folder
        self.clock = clock
        self.latest: Reading | None = None
        self._costs: list[float] = []
        self._alerts: tuple[Alert, ...] = ()
        self.panels: dict[str, Panel] = {}
        self._painted: set[str] = set()
        self.reader = Reader()
        self.begun = False
        self.feed = make_feed(self.post_message, refresh)
        if theme in self.available_themes:
            self.theme = theme

    # ---- making the screen

    def compose(self) -> ComposeResult:
        """Lay out the lines; the first panel comes after the first frame, the others when there is time."""
        self._top, self._tabs, self._keys = TopLines(id="top"), TabLine(id="tabs"), KeysLine(id="keys")
        self._told, self._status = LineView(id="message"), StateView(id="state")
        yield self._top
        yield self._status
        yield self._tabs
        yield Container(id="body")
        yield self._told
        yield self._keys

    def get_driver_class(self) -> type[Driver]:
        """Return what reads keys: on Unix our own, which sleeps until one comes."""
        chosen = super().get_driver_class()
        if chosen.__module__ != "textual.drivers.linux_driver":
            return chosen
        from presman.tui.driver import TerminalDriver

        return TerminalDriver

    def get_default_screen(self) -> FrameScreen:
        """Return the screen everything stands on."""
        return FrameScreen(id="_default")

    def on_mount(self) -> None:
        """Begin to poll as soon as the first frame is on the screen."""
        self.animation_level = "none"
        self.paint_lines()
        self.call_after_refresh(self._begin)

    @cached_property
    def timeline(self) -> Timeline:
        """The polls so far."""
        from presman.tui.timeline import Timeline

        return Timeline()

    async def _begin(self) -> None:
        from presman.tui.widgets.page import Page

        body = self.query_one_optional("#body")
        if body is None:  # quit before the first frame
            return
        await body.mount(self.make_panel(self.view.tab), Page())
        self.begun = True
        self.focus_first()
        self.feed.start()
        self.set_interval(1.0, self._tick)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002
        """Let keys do nothing but quit until there is something to act on."""
        return self.begun or action in {"quit", "leave"}

    def make_panel(self, tab: str) -> Panel:
        """Make the panel of a tab, not mounted yet."""
        module, name = PANELS[tab]
        panel: Panel = getattr(import_module(module), name)(id=f"panel-{tab}")
        self.panels[tab] = panel
        return panel

    def hidden_tabs(self) -> tuple[str, ...]:
        """Return the tabs that have nothing to show: containers, where the database has none."""
        return () if self.reading is None or self.reading.header.cdb else ("pdbs",)

    def _mount_ahead(self) -> None:
        """Mount one panel that is not there yet, hidden, so that its key is answered at once."""
        missing = next((tab for tab in AHEAD if tab not in self.panels), None)
        body = self.query_one_optional("#body")
        if missing is not None and body is not None:
            panel = self.make_panel(missing)
            panel.display = False
            body.mount(panel)
            self.set_timer(_PACE, self._mount_ahead)

    def on_unmount(self) -> None:
        """Let go of the database and of the export."""
        self.feed.stop()
        if self.export is not None:
            self.export.close()

    def on_resize(self) -> None:
        """Say plainly when the terminal is too small."""
        self.call_after_refresh(self.repaint)

    # ---- events of the feed

    def on_arrived(self, event: feeds.Arrived) -> None:
        """Take a new reading; while the view is frozen only keep it."""
        now = self.clock()
        first = self.latest is None
        self.latest = event.reading
        self.timeline.add(event.reading, event.snapshot)
        self._link_is(Link(LinkState.LIVE, since=now, fresh=now))
        self._costs = [*self._costs[-8:], event.reading.poll_seconds]
        if self.view.paused is not None or self.view.behind:
            self.view = replace(self.view, behind=min(self.view.behind + 1, max(0, len(self.timeline) - 1)))
            self.paint_lines()
        else:
            self.reading = event.reading
            self.repaint()
        if self.export is not None:
            self.write_export(event.reading)
        if first:
            self.set_timer(_PACE, self._mount_ahead)
            self.set_timer(_SETTLED, self._settle)

    def _settle(self) -> None:
        memory.settle()
        self.set_interval(_TIDY, self._tidy)

    def _tidy(self) -> None:
        """Let go of what is on no screen any more."""
        for tab in self._painted - {self.view.tab}:
            self.panels[tab].forget()
        self._painted = {self.view.tab}
        memory.tidy()

    def on_lost(self, event: feeds.Lost) -> None:
        """Keep the last data on screen, and say that it grows old."""
        now = self.clock()
        since = self.link.since if self.link.state is LinkState.LOST else now
        retry_at = None if event.retry_in is None else now + event.retry_in
        self._link_is(Link(LinkState.LOST, event.text, since, self.link.fresh, retry_at))
        self.repaint()

    def _link_is(self, link: Link) -> None:
        """Take note of how the data comes in; old data are greyed."""
        self.link = link
        self.query_one("#body").set_class(link.state is LinkState.LOST, "-old")

    def on_ended(self) -> None:
        """Say that no more will come."""
        self.link = replace(self.link, state=LinkState.ENDED)
        self.repaint()

    def on_failed(self, event: feeds.Failed) -> None:
        """Show that a poll could not be understood; the screen lives on."""
        self.complain(event.error)

    def write_export(self, reading: Reading) -> None:
        """Append a reading to the export; if that fails, say so at once and go on without it."""
        from presman.tui.export import ExportError

        if self.export is None:
            return
        try:
            self.export.write(reading)
        except ExportError as error:
            self.export.close()
            self.export = None
            self.paint_lines()
            self.notify(f"CSV export ended: {error}"[:500], severity="error", markup=False, timeout=15)
            self.bell()

    def complain(self, error: Exception) -> None:
        """Tell of a fault that the screen survives."""
        path = keeping.keep_crash(error)
        where = f" Where it came from: {path}" if path else ""
        text = f"Not shown, for a fault in presman: {type(error).__name__}: {error}.{where}"
        self.notify(text[:500], severity="error", markup=False, timeout=8)

    # ---- painting

    def _tick(self) -> None:
        """Let the figures that count by the second go on."""
        if self.is_running and is_ticking(self._top_line()):
            self._paint_top()

    def repaint(self) -> None:
        """Draw everything from the state. A panel that fails says so and takes nothing else with it."""
        from presman.tui.alerts import alerts

        if not self.begun:
            return
        try:
            self._alerts = alerts(self.reading, self.link)
            self.paint_lines()
            self._paint_body()
        except Exception as error:
            self.complain(error)

    def _paint_body(self) -> None:
        from presman.tui.panels.panel import Shown

        panel = self.panels[self.view.tab]
        message = self._message()
        self._told.show_lines(message)
        self.screen.set_class(bool(message), "-message")
        if message or self.reading is None or self.latest is None:
            return
        if self.reader.is_open:
            self.reader.refresh(self.reading)
        elif panel.is_mounted:
            line = self.timeline
            number = self.reading.number
            moment = partial(line.moment, self.latest.number - number, number)
            shown = (self.reading, self.view, line.series, self._alerts, self.latest.at, line.latencies, line.watch)
            panel.show(Shown(*shown, moment))
            self._painted.add(self.view.tab)

    def _message(self) -> list[tuple[tuple[str, str], ...]]:
        """Return what stands in place of the body: the terminal is too small, or there is no data."""
        width, height = self.size
        if width < LEAST[0] or height < LEAST[1]:
            return [
                (("terminal too small", "bad"),),
                ((f"presman needs {LEAST[0]} x {LEAST[1]}", ""),),
                ((f"this one has {width} x {height}", ""),),
                (("enlarge it, or q quits", "dim"),),
            ]
        if self.reading is None and self.link.state is LinkState.LOST:
            again = "F5 tries again now." if self.link.retry_at else "presman does not try again by itself; F5 does."
            return [(), (("  ✕ No data", "bad"),), ((f"  {self.link.text}", ""),), ((f"  {again} q quits.", "dim"),)]
        return []

    def paint_lines(self) -> None:
        """Draw the lines above and below the body."""
        self._paint_top()
        self._tabs.show(self.view.tab, f"filter: {self.view.filter}" if self.view.filter else "", self.hidden_tabs())
        self._keys.show([self._labelled(BY_NAME[name]) for name in KEYS_LINE if self.offers(name)])

    def _top_line(self) -> TopLine:
        costs = sorted(self._costs)
        cost = costs[len(costs) // 2] if costs else None
        exporting = self.export.measure if self.export else ""
        return TopLine(self.database, self.reading, self.view, self.link, cost, exporting, self.clock())

    def _paint_top(self) -> None:
        top = self._top_line()
        self._top.show(top, self._alerts)
        self._status.show(top)

    def _labelled(self, action: Action) -> Action:
        if action.name == "leave":
            return action._replace(label="back" if self.reader.is_open else "quit")
        if action.name == "pause" and self.view.paused is not None:
            return action._replace(label="go on")
        return action

    def offers(self, name: str) -> bool:
        """Tell whether an action does something here and now."""
        needs = BY_NAME[name].needs
        reading, view = self.reading, self.view
        reads = self.reader.is_open
        answers: dict[str, Callable[[], bool]] = {
            "": lambda: True,
            "elsewhere": lambda: True,
            "data": lambda: reading is not None,
            "page": lambda: reads or bool(view.filter),
            "row": lambda: not reads and reading is not None,
            "table": lambda: not reads and reading is not None,
            "tables": lambda: not reads and len(self.panel.grids()) > 1,
            "past": lambda: reading is not None and view.behind + 1 < len(self.timeline),
            "behind": lambda: view.behind > 0,
            "frozen": lambda: view.behind > 0 or view.paused is not None,
            "rac": lambda: reading is not None and len(reading.header.instances) > 1,
            "lost": lambda: self.link.state is LinkState.LOST,
            "latency": lambda: not reads and reading is not None and view.tab == "latency",
            "plan": lambda: not reads and view.tab == "plan" and reading is not None,
            "cdb": lambda: not self.hidden_tabs(),
            "act": lambda: self.door is not None and not reads and reading is not None and view.behind == 0,
            "gantt": lambda: not reads and view.tab == "parallel" and reading is not None,
            "chart": lambda: not reads and reading is not None and self.panel.charts,
        }
        return answers[needs]()

    @property
    def panel(self) -> Panel:
        """The panel of the present tab."""
        return self.panels[self.view.tab]

    def focus_first(self) -> None:
        """Give the focus to a table of the present tab."""
        grids = self.panel.grids()
        if grids and self.focused not in grids:
            grids[0].focus()
