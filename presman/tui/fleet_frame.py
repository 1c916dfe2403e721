"""The frame of the fleet's screen: its lines, painting, and saved view. Keys: :mod:`presman.tui.fleet_app`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.analysis.fleet import ConnectionState, Member, by_trouble, counts, rank
from presman.analysis.readings.reading import NO_ANSWER, Alert, Severity
from presman.base.formats import count, counted, duration, number, percent
from presman.figures.drawing.lines import Line, Run, length, merge
from presman.figures.fleet_figures import FLEET, past, why
from presman.services.live_fleet import Fleet
from presman.tui.keyed_app import KeyedApp
from presman.tui.saved_view import SavedView, ViewSaver, put_back_table, set_in_tables
from presman.tui.screen import too_small
from presman.tui.widgets.frame_lines import KeysLine, alert_line
from presman.tui.widgets.grid import Grid
from presman.tui.widgets.line_api import LineView, PlainBackground, Sentences
from presman.tui.widgets.page import Page

_SEVERITIES: dict[int, tuple[Severity, str]] = {
    0: ("bad", "✕"), 1: ("bad", "✕"), 2: ("warn", "✕"), 3: ("warn", "▲"), 4: ("note", "?"),
}  # fmt: skip


def facts(name: str, members: Sequence[Member], interval: float) -> list[Run]:
    """Return the first line, left of the state: the fleet's name, the databases by state, the refresh interval."""
    found = counts(members)
    runs: list[Run] = [(f" {name}", "title"), (f"  {counted(len(members), 'database')}", "")]
    for state in ConnectionState:
        if found[state]:
            runs.append((f"  {state.glyph} {found[state]} {state.value.lower()}", state.level))
    if alerts := [each.key_figures.alerts for each in members if each.key_figures and each.key_figures.alerts]:
        runs.append((f"  ▲ {counted(sum(alerts), 'alert')} in {len(alerts)}", "warn"))
    return [*runs, (f"  every {interval:g}s", "dim")]


def first_line(name: str, members: Sequence[Member], interval: float, state: Run, width: int) -> Line:
    """Return the first line in `width` cells, the state at its right end; the last parts are dropped if need be."""
    runs = facts(name, members, interval)
    room = width - length((state,)) - 2
    while len(runs) > 1 and length(runs) > room:
        runs.pop()
    blanks = max(1, room + 1 - length(runs))
    return merge([*runs, (" " * blanks, ""), state, (" ", "")])


def fleet_state(members: Sequence[Member], trouble: str, *, paused: float | None) -> Run:
    """Return the state of the fleet as a whole."""
    if trouble:
        return ("✕ STORE LOST", "bad")
    if paused is not None:
        return (f"‖ PAUSED {duration(paused)}", "warn")
    if members and all(member.connection is ConnectionState.STARTING for member in members):
        return ("… STARTING", "note")
    with_data = (member for member in members if member.reason != NO_ANSWER)
    live = any(member.connection in {ConnectionState.LIVE, ConnectionState.LATE} for member in with_data)
    return ("● LIVE", "good") if live else ("✕ NO DATA", "bad")


def fleet_alerts(members: Sequence[Member], trouble: str) -> list[Alert]:
    """Return the alerts by database, the worst first, for the line of alerts."""
    found = [Alert("bad", "✕", trouble, trouble)] if trouble else []
    for member in by_trouble(members):
        severity, mark = _SEVERITIES.get(rank(member), ("good", ""))
        if severity == "good":
            break
        text = f"{member.name}: {why(member) or member.connection.value}"
        found.append(Alert(severity, mark, text, text))
    if not found and any(member.connection is ConnectionState.LIVE for member in members):
        text = "Nothing is wrong in any database that answers."
        found.append(Alert("good", "●", text, text))
    return found


def about_lines(member: Member | None, to_do: str) -> list[Line]:
    """Return the lines on the database under the cursor: its state and figures, its alerts, what to do."""
    if member is None:
        return []
    state = member.connection
    since = "" if member.since is None else f" for {duration(member.since)}"
    first = (f" {member.name}  ", "title"), (f"{state.text}{since}", state.level), (_figures(member), "")
    lines: list[Line] = [first]
    if reason := why(member):
        severe = "" if member.key_figures is None else member.key_figures.severity
        lines.append(((f" {reason}", severe if state is ConnectionState.LIVE else state.level),))
    if to_do:
        lines.append(((" DO  ", "title"), (to_do, "")))
    return lines


def about_in_short(member: Member | None, to_do: str) -> list[Line]:
    """Return the same in lines that may be cut, without the figures, which the table has."""
    return [line if index else line[:2] for index, line in enumerate(about_lines(member, to_do))]


def _figures(member: Member) -> str:
    found = member.key_figures
    if found is None:
        return "" if member.age is None else f"  last data {duration(member.age)} ago"
    name = found.database if found.database.lower() not in member.name.lower() else ""
    parts = [name, f"plan {found.plan or 'none'}"]
    if found.used is not None:
        waited = "" if found.waiting is None else f", {number(found.waiting)} waited for"
        of_all = "" if found.capacity is None else f", of {count(found.capacity)}"
        parts.append(f"CPU {number(found.used)} used{waited}{of_all}")
    if found.throttled_percent is not None:
        parts.append(f"throttled {percent(found.throttled_percent)} %")
    if found.queued:
        head = "" if found.head_waited is None else f", head {duration(found.head_waited)}"
        parts.append(f"{found.queued} queued{head}")
    parts.append(f"PX servers {count(found.servers_in_use)}/{count(found.servers_target)}")
    return "  " + "  ".join(part for part in parts if part)


class FleetScreen(Screen[None], PlainBackground):
    """The fleet's screen. It avoids Textual's full repaint when the focus moves: only the focused widget changes."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(id="_default")
        self.top, self.message = LineView(id="fleet-top"), LineView(id="message")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")

    def compose(self) -> ComposeResult:
        """Lay out the screen."""
        yield self.top
        yield self.grid
        yield self.about
        yield self.page
        yield self.message
        yield self.keys

    def read(self, lines: Sequence[Line] | None) -> None:
        """Show a page in place of the table, or (None) the table again."""
        reading = lines is not None
        self.page.display = reading
        self.grid.display = self.about.display = not reading
        if lines is not None:
            self.page.show_lines(lines)
            self.page.scroll_to(y=0, animate=False)
            self.page.focus()
        else:
            self.grid.focus()

    def paint_message(self) -> bool:
        """Show a message if the terminal is too small; return whether it is."""
        lines = too_small(self.app.size)
        self.message.show_lines(lines)
        self.set_class(bool(lines), "-message")
        return bool(lines)


@dataclass
class FleetView:
    """Filter and cursor. `cursor` is the name of a database, None for the worst; `row` is the one at the top.

    `theme` is the one given on the command line.
    """

    filter: str = ""
    cursor: str | None = None
    row: int = 0
    theme: str | None = None


TICK = 1.0
"""Seconds between repaints: figures arrive from many databases at any time, and ages grow."""

FIRST_TICKS, SHORT_TICK = 20, 0.25
"""The number of first repaints, and the shorter interval between them in seconds."""

_SETTLED = 10.0
"""Seconds after which all lasting objects exist."""


class FleetFrame(KeyedApp):
    """The screen of a fleet. `begin` starts the fleet, after the first frame."""

    CSS_PATH = ["presman.tcss", "fleet.tcss"]  # noqa: RUF012 - Textual declares it so
    TITLE = "presman fleet"
    VERTICAL_BREAKPOINTS = [(0, "-short"), (28, "-middle"), (42, "-tall")]  # noqa: RUF012

    def __init__(
        self,
        fleet: Fleet,
        view: FleetView,
        begin: Callable[[], None],
        *,
        notice: str = "",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__()
        self.fleet = fleet
        self.view = view
        self.notice = notice
        self.chosen: Member | None = None
        self._begin_fleet = begin
        self._clock = clock
        self._members: list[Member] = []
        self.paused_at: float | None = None
        """When the table was frozen, None if it is not."""
        self._ticks, self._is_page_open = 0, False
        self.view_saver: ViewSaver = ViewSaver(["theme"] if view.theme else [])
        self.take_theme(view.theme)

    # ---- the screen

    def get_default_screen(self) -> FleetScreen:
        """Return the base screen."""
        return FleetScreen()

    @property
    def frame(self) -> FleetScreen:
        """The base screen, also while a dialog is above it."""
        frame = self.screen_stack[0]
        assert isinstance(frame, FleetScreen)
        return frame

    @property
    def grid(self) -> Grid:
        """The table."""
        return self.frame.grid

    @property
    def is_page_open(self) -> bool:
        """Whether the help is open."""
        return self._is_page_open

    def on_mount(self) -> None:
        """Show the fleet with the saved view; start polling as soon as the first frame is painted."""
        self.animation_level = "none"
        self.view_saver.put_back_colours(self)
        grid, view = self.grid, self.view
        put_back_table(self.view_saver.saved, "fleet", grid)
        grid.rows.needle = view.filter
        grid.focus()
        self.note_view()
        self.repaint()
        if view.cursor is not None:
            grid.select(view.cursor)
            self.paint_about()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._begin_fleet()
        if self.view.row:
            self.grid.scroll_to(y=self.view.row, animate=False)
        self.show_notice()
        self.set_timer(SHORT_TICK, self._tick)
        self.set_timer(_SETTLED, self.settle)

    def on_resize(self) -> None:
        """Show a message if the terminal is too small."""
        self.call_after_refresh(self.repaint)

    def on_unmount(self) -> None:
        """Save the view."""
        self.note_view()

    # ---- painting

    def _tick(self) -> None:
        self._ticks += 1
        self.set_timer(SHORT_TICK if self._ticks < FIRST_TICKS else TICK, self._tick)
        if not self.is_leaving:
            self.repaint()

    def repaint(self) -> None:
        """Draw everything from the current state of the fleet; the table does not change while it is paused."""
        try:
            if self.paused_at is None:
                self._members = by_trouble(self.fleet.members())
            frame = self.frame
            frame.keys.show(self.keys_here())
            if frame.paint_message():
                return
            self._paint_top()
            if not self.is_page_open:
                frame.grid.show_rows(self._members, unavailable=self.fleet.trouble)
                self.paint_about()
        except Exception as error:
            self.complain(error)

    def _paint_top(self) -> None:
        width, trouble = self.size.width, self.fleet.trouble
        paused = None if self.paused_at is None else self._clock() - self.paused_at
        state = fleet_state(self._members, trouble, paused=paused)
        first = first_line(self.fleet.name, self._members, self.fleet.interval, state, width)
        self.frame.top.show_lines([first, alert_line(fleet_alerts(self._members, trouble), width, listed=True)])

    def paint_about(self) -> None:
        """Draw the lines on the database under the cursor."""
        row = self.grid.row
        to_do = "" if row is None else self.fleet.to_do(row.name)
        self.frame.about.show(about_lines(row, to_do), about_in_short(row, to_do))

    # ---- actions of keys

    def pause(self) -> None:
        """Freeze the table, or resume."""
        self.paused_at = self._clock() if self.paused_at is None else None
        self.repaint()

    def filter(self, needle: str, *, done: bool) -> None:
        """Show only matching rows, or matching lines of the help; once it is `done`, give the focus back."""
        if self.is_page_open:
            self.frame.page.set_filter(needle)
        else:
            self.view.filter = needle
            self.grid.set_filter(needle)
        if done:
            for line in self.query("#filter"):
                line.display = False
            (self.frame.page if self.is_page_open else self.grid).focus()
        self.repaint()

    def read(self, lines: list[Line] | None) -> None:
        """Show a page in place of the table, or (None) the table again."""
        self._is_page_open = lines is not None
        self.frame.page.set_filter("")
        self.frame.read(lines)
        self.repaint()

    def note_view(self) -> None:
        """Save the current view."""
        if self.screen_stack:
            tables = set_in_tables({"fleet": self.grid})
            interval, is_ascii = self.fleet.interval, self.is_ascii
            self.view_saver.note(self, SavedView(self.theme, fleet_refresh=interval, ascii_only=is_ascii, **tables))

    # ---- messages of widgets

    def on_grid_moved(self) -> None:
        """Show the lines on the database that the cursor has moved to."""
        self.paint_about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """End this screen to open a database."""
        if event.row is None:
            self.notify("There is no row here.")
            return
        self.view.cursor, self.view.row = event.row.name, self.grid.scroll_offset.y
        self.chosen, self.hands_on = event.row, True
        self.exit()
