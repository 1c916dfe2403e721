"""The frame of the fleet's screen: its lines, what is painted when, what is set. Keys: :mod:`presman.tui.fleet_app`."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from presman.analysis.fleet import ConnectionState, Member, by_trouble, counts, rank
from presman.analysis.readings.reading import Alert, Severity
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

_SEVERITIES: dict[int, tuple[Severity, str]] = {0: ("bad", "✕"), 1: ("bad", "✕"), 2: ("warn", "✕"), 3: ("warn", "▲")}


def facts(name: str, members: Sequence[Member], interval: float) -> list[Run]:
    """Return the first line, left of the state: whose fleet, how many in which state, how often polled."""
    found = counts(members)
    runs: list[Run] = [(f" {name}", "title"), (f"  {counted(len(members), 'database')}", "")]
    for state in ConnectionState:
        if found[state]:
            runs.append((f"  {state.glyph} {found[state]} {state.value.lower()}", state.level))
    if hurt := [each.key_figures.alerts for each in members if each.key_figures and each.key_figures.alerts]:
        runs.append((f"  ▲ {counted(sum(hurt), 'alert')} in {len(hurt)}", "warn"))
    return [*runs, (f"  every {interval:g}s", "dim")]


def first_line(name: str, members: Sequence[Member], interval: float, state: Run, width: int) -> Line:
    """Return the first line in `width` cells, the state at its right end; what has no room is left out from behind."""
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
    live = sum(member.connection in {ConnectionState.LIVE, ConnectionState.LATE} for member in members)
    return ("● LIVE", "good") if live else ("✕ NO DATA", "bad")


def fleet_alerts(members: Sequence[Member], trouble: str) -> list[Alert]:
    """Return what is wrong, database by database, the worst first, for the line of alerts."""
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
    """Return all about the database under the cursor: its state and figures, what is wrong, what to do."""
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
    """Return the same in lines that are cut where there is no room: without the figures, which stand in the table."""
    return [line if index else line[:2] for index, line in enumerate(about_lines(member, to_do))]


def _figures(member: Member) -> str:
    found = member.key_figures
    if found is None:
        return "" if member.age is None else f"  last data {duration(member.age)} ago"
    name = found.database if found.database.lower() not in member.name.lower() else ""
    parts = [name, f"plan {found.plan or 'none'}"]
    if found.used is not None:
        parts.append(f"CPU {number(found.used)} used, {number(found.waiting)} waited for, of {count(found.capacity)}")
        parts.append(f"throttled {percent(found.throttled_percent)} %")
    if found.queued:
        parts.append(f"{found.queued} queued, head {duration(found.head_waited)}")
    parts.append(f"PX servers {count(found.servers_in_use)}/{count(found.servers_target)}")
    return "  " + "  ".join(part for part in parts if part)


class FleetScreen(Screen[None], PlainBackground):
    """Textual repaints a whole screen when the focus moves; here only the focused widget looks different."""

    focused: Reactive[Widget | None] = Reactive(None, repaint=False)

    def __init__(self) -> None:
        super().__init__(id="_default")
        self.top, self.message = LineView(id="fleet-top"), LineView(id="message")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")

    def compose(self) -> ComposeResult:
        """Lay it out."""
        yield self.top
        yield self.grid
        yield self.about
        yield self.page
        yield self.message
        yield self.keys

    def read(self, lines: Sequence[Line] | None) -> None:
        """Put a page in place of the table, or (None) the table back."""
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
        """Say plainly when the terminal is too small; return whether it is."""
        lines = too_small(self.app.size)
        self.message.show_lines(lines)
        self.set_class(bool(lines), "-message")
        return bool(lines)


@dataclass
class FleetView:
    """Filter and cursor. `cursor` is the name of a database, None for the worst, `row` that at the top of the screen.

    `theme` is the one of the command line.
    """

    filter: str = ""
    cursor: str | None = None
    row: int = 0
    theme: str | None = None


TICK = 1.0
"""Seconds between two pictures: figures come from many databases at any time, and ages count."""

FIRST_TICKS, SHORT_TICK = 20, 0.25
"""At first pictures come sooner, so many of them."""

_SETTLED = 10.0
"""Seconds by when what stays has been made."""


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
        """Since when the table is frozen, None while it is not."""
        self._ticks, self._is_page_open = 0, False
        self.view_saver: ViewSaver = ViewSaver(["theme"] if view.theme else [])
        self.take_theme(view.theme)

    # ---- making the screen

    def get_default_screen(self) -> FleetScreen:
        """Return the screen everything stands on."""
        return FleetScreen()

    @property
    def frame(self) -> FleetScreen:
        """The screen everything stands on, also while a dialog is above it."""
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
        """Show what there is, as it was left; begin to poll as soon as the first frame is on the screen."""
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
        """Say plainly when the terminal is too small."""
        self.call_after_refresh(self.repaint)

    def on_unmount(self) -> None:
        """Keep the view."""
        self.note_view()

    # ---- painting

    def _tick(self) -> None:
        self._ticks += 1
        self.set_timer(SHORT_TICK if self._ticks < FIRST_TICKS else TICK, self._tick)
        if not self.is_leaving:
            self.repaint()

    def repaint(self) -> None:
        """Draw everything from the fleet as it is now; the table stays as it is while it is paused."""
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
        """Draw all about the database under the cursor."""
        row = self.grid.row
        to_do = "" if row is None else self.fleet.to_do(row.name)
        self.frame.about.show(about_lines(row, to_do), about_in_short(row, to_do))

    # ---- what keys do

    def pause(self) -> None:
        """Freeze the table, or let it go on."""
        self.paused_at = self._clock() if self.paused_at is None else None
        self.repaint()

    def filter(self, needle: str, *, done: bool) -> None:
        """Show only rows, or lines of the help, that match; once that is `done`, go back to them."""
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
        """Take note of what is set, and keep it."""
        if self.screen_stack:
            tables = set_in_tables({"fleet": self.grid})
            interval, is_ascii = self.fleet.interval, self.is_ascii
            self.view_saver.note(self, SavedView(self.theme, fleet_refresh=interval, ascii_only=is_ascii, **tables))

    # ---- what widgets ask for

    def on_grid_moved(self) -> None:
        """Say all about the database that the cursor is on now."""
        self.paint_about()

    def on_grid_opened(self, event: Grid.Opened) -> None:
        """End, to open a database."""
        if event.row is None:
            self.notify("There is no row here.")
            return
        self.view.cursor, self.view.row = event.row.name, self.grid.scroll_offset.y
        self.chosen, self.hands_on = event.row, True
        self.exit()
