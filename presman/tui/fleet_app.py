"""The screen of a fleet and its app: lines, keys, painting, saved view, and the function that runs it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from msgspec.structs import replace
from textual.binding import BindingType

from presman.analysis.fleet import ConnectionState, Member, by_trouble, counts, rank
from presman.analysis.readings.reading import NO_ANSWER, Alert, Severity
from presman.base.formats import count, counted, duration, number, percent
from presman.figures.drawing.lines import Line, Run, length, merge
from presman.figures.figure import Table
from presman.figures.fleet_figures import FLEET, STATES, past, why
from presman.tabs.choices import next_step
from presman.tabs.parts import Key
from presman.tui.base_screen import BaseScreen, too_small
from presman.tui.keyed_app import AppKey, KeyedApp, has_tables
from presman.tui.keys import all_keys, page_keys, table_keys, time_keys
from presman.tui.keys.page_keys import PALETTE, QUIT, SIGNS, SUSPEND, THEME
from presman.tui.keys.take_keys import copy_text
from presman.tui.saved_view import SavedView, ViewSaver, restore_table, set_in_tables
from presman.tui.terminal_app import run_until_ended
from presman.tui.widgets.frame_lines import KeysLine, Labelled, alert_line
from presman.tui.widgets.grid import Grid, keys_in_table
from presman.tui.widgets.line_api import LineView, Sentences
from presman.tui.widgets.page import Page

if TYPE_CHECKING:
    from presman.services.live_fleet import Fleet
    from presman.tui.widgets.choosers import InputLine


def show_help(app: FleetApp) -> None:
    """Show keys, states and columns."""
    from presman.tui.pages.content import help_page  # its imports would delay the first frame

    states = [(state.text, state.level, meaning) for state, meaning in STATES.items()]
    read(app, help_page("Fleet", [each.key for each in FLEET_KEYS], keys_in_table(), [FLEET], NOTES, states))


def read(app: FleetApp, lines: list[Line] | None) -> None:
    """Show a page in place of the table, or (None) the table again."""
    app.is_help_open = lines is not None
    app.frame.page.set_filter("")
    app.frame.read(lines)
    app.repaint()


def set_filter(app: FleetApp, needle: str, *, done: bool) -> None:
    """Show only matching rows, or matching lines of the help; once it is `done`, give the focus back."""
    if app.is_page_open:
        app.frame.page.set_filter(needle)
    else:
        app.view.filter = needle
        app.grid.set_filter(needle)
    if done:
        for line in app.query("#filter"):
            line.display = False
        (app.frame.page if app.is_page_open else app.grid).focus()
    app.repaint()


def pause(app: FleetApp) -> None:
    """Freeze the table, or resume."""
    app.paused_at = app.clock() if app.paused_at is None else None
    app.repaint()


def escape(app: FleetApp) -> None:
    """Close the help, or clear its filter or that of the table."""
    if app.is_page_open and not app.frame.page.needle:
        read(app, None)
    else:
        set_filter(app, "", done=True)


async def leave(app: FleetApp) -> None:
    """Close the help or, from the table, quit."""
    if app.is_page_open:
        read(app, None)
    else:
        await app.action_quit()


def refresh(app: FleetApp, direction: int) -> None:
    """Poll less (1) or more (-1) often."""
    app.fleet.set_interval(next_step(app.fleet.interval, direction))
    app.repaint()


def poll_now(app: FleetApp) -> None:
    """Poll all databases at once."""
    app.fleet.poll_now()
    app.notify("Polling all; lost databases are tried again.", timeout=2)


def copy(app: FleetApp) -> None:
    """Copy the row, or the help, to the clipboard and to a file."""
    row = app.grid.row
    copy_text(app, app.frame.page.text if app.is_page_open else "" if row is None else _row_text(app.grid.table, row))


def _row_text(table: Table[Any], row: Any) -> str:
    return "\n".join(
        f"{figure.head}: {figure.show(row)}" for figure in table.columns if not figure.trend and not figure.bar
    )


def can_go_back(app: FleetApp) -> bool:
    """Return whether the help, a filter or the input line of one is open."""
    return app.is_page_open or bool(app.view.filter or app.typed_in)


_PAGE = "The help is open: q goes back to the table."

HELP = all_keys.HELP.worded("Keys, states, and every column: where it comes from.", run=show_help)
OPEN = AppKey(
    Key("open", "enter", "Enter", "open", "Open the monitor on the database under the cursor; Esc or q come back to "
        "this row. It uses the same connection. From a central store: its recording, at the end, as it grows."),
    lambda app: app.grid.action_open(), has_tables, _PAGE,
)  # fmt: skip
ESCAPE = page_keys.ESCAPE.worded(
    "Closes the help; clears a filter.", run=escape, when=can_go_back, why_not="Nothing is filtered; q quits."
)
LEAVE = page_keys.LEAVE.worded(
    "Quit; from the help back to the table.", "quit",
    run=leave, relabel=lambda app: "back" if app.is_page_open else "quit",
)  # fmt: skip
PAUSE = time_keys.PAUSE.worded(
    "Freeze the table, so that rows keep their order; polling continues.", run=pause, when=has_tables, why_not=_PAGE,
    relabel=lambda app: "pause" if app.paused_at is None else "go on",
)  # fmt: skip
FILTER = table_keys.FILTER.worded(
    "Show only databases whose row contains a text: a name, lost, a plan; with ! before it, those without it; of the "
    "help, lines. Enter keeps it, an empty text shows all.",
    relabel=None,
)
SORT = table_keys.SORT.worded(
    "Sort by the next column (or click its head); at first the worst come first.", why_not=_PAGE
)
REVERSE, COLUMNS = replace(table_keys.REVERSE, why_not=_PAGE), replace(table_keys.COLUMNS, why_not=_PAGE)
SLOWER = replace(time_keys.SLOWER, run=lambda app: refresh(app, 1))
FASTER = replace(time_keys.FASTER, run=lambda app: refresh(app, -1))
POLL_NOW = time_keys.POLL_NOW.worded(
    "Poll all now, and try lost databases again. Try a refused one with F5 in its own monitor (Enter): each try "
    "counts, and a wrong password locks accounts.",
    run=poll_now,
)
COPY = AppKey(Key("copy", "c", "c", "copy", "Copy the row: to the clipboard (OSC 52) and to a file."), copy)
_OF_TABLE = (PAUSE, FILTER, SORT, REVERSE, COLUMNS, SLOWER, FASTER, POLL_NOW, COPY)
_SETTINGS = (THEME, SIGNS, PALETTE)
FLEET_KEYS: tuple[AppKey, ...] = (HELP, OPEN, ESCAPE, LEAVE, *_OF_TABLE, *_SETTINGS, SUSPEND, QUIT)
"""In the order of the help page."""

_OFFERED = (HELP, LEAVE, OPEN, FILTER, SORT, REVERSE, PAUSE, POLL_NOW, COPY, SLOWER, FASTER, COLUMNS, *_SETTINGS)


NOTES = (
    "Databases are sorted worst first: lost, with a critical alert (✕), refused, with a warning (▲) or late, with "
    "something that could not be seen (?), then the others by name. The cursor stays on the worst until you move it, "
    "then on its database.",
)


# ---- The screen: state, alerts, the database under the cursor.

_SEVERE: Sequence[tuple[Severity, str]] = (("bad", "✕"), ("bad", "✕"), ("warn", "✕"), ("warn", "▲"), ("note", "?"))
_SEVERITIES = dict(enumerate(_SEVERE))
"""Severity and sign by rank: lost, critical alert, refused, warning or late, something not seen."""


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
    return merge([*runs, (" " * max(1, room + 1 - length(runs)), ""), state, (" ", "")])


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


def in_trouble(members: Sequence[Member]) -> str:
    """Return in words in how many databases something is wrong, "" for one, which is named."""
    found = sum(_SEVERITIES.get(rank(each), ("good", ""))[0] in {"bad", "warn"} for each in members)
    return f"trouble in {found}" if found > 1 else ""


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
    """Return these lines for a screen that cuts them: without the figures, which the table has, too."""
    return [line if index else line[:2] for index, line in enumerate(about_lines(member, to_do))]


def _figures(member: Member) -> str:
    if (found := member.key_figures) is None:
        return "" if member.age is None else f"  last data {duration(member.age)} ago"
    # The name of a database is mostly a part of the name of its target.
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


class FleetScreen(BaseScreen):
    """The fleet's screen: the table and the lines on the database under the cursor, or a page."""

    def __init__(self) -> None:
        super().__init__()
        self.top = LineView(id="fleet-top")
        self.grid = Grid(FLEET, trend=past)
        self.about = Sentences(id="fleet-about")
        self.page, self.keys = Page(), KeysLine(id="keys")
        self.parts = self.top, self.grid, self.about, self.page, self.message, self.keys

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
        return self.show_message(too_small(self.app.size))


# ---- The app.


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


class FleetApp(KeyedApp):
    """The screen of a fleet. `begin` starts the fleet, after the first frame."""

    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in FLEET_KEYS if each.key.keys]
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
        self.fleet, self.view, self.notice = fleet, view, notice
        self.chosen: Member | None = None
        self._begin_fleet = begin
        self.clock = clock
        self._members: list[Member] = []
        self.paused_at: float | None = None
        """When the table was frozen, None if it is not."""
        self._ticks, self.is_help_open = 0, False
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
        return self.is_help_open

    def on_mount(self) -> None:
        """Show the fleet with the saved view; start polling as soon as the first frame is painted."""
        self.animation_level = "none"
        self.view_saver.restore_colours(self)
        grid, view = self.grid, self.view
        restore_table(self.view_saver.saved, "fleet", grid)
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
            width, trouble = self.size.width, self.fleet.trouble
            paused = None if self.paused_at is None else self.clock() - self.paused_at
            state = fleet_state(self._members, trouble, paused=paused)
            first = first_line(self.fleet.name, self._members, self.fleet.interval, state, width)
            # One alert for each database, so that only databases can be counted.
            alerts = alert_line(fleet_alerts(self._members, trouble), width, tail=in_trouble(self._members))
            frame.top.show_lines([first, alerts])
            if not self.is_page_open:
                frame.grid.show_rows(self._members, unavailable=trouble)
                self.paint_about()
        except Exception as error:
            self.report_error(error)

    def paint_about(self) -> None:
        """Draw the lines on the database under the cursor."""
        row = self.grid.row
        to_do = "" if row is None else self.fleet.to_do(row.name)
        self.frame.about.show(about_lines(row, to_do), about_in_short(row, to_do))

    def note_view(self) -> None:
        """Save the current view."""
        if self.screen_stack:
            tables = set_in_tables({"fleet": self.grid})
            interval, is_ascii = self.fleet.interval, self.is_ascii
            self.view_saver.note(self, SavedView(self.theme, fleet_refresh=interval, ascii_only=is_ascii, **tables))

    # ---- keys

    @property
    def needle(self) -> str:
        """The filter of the help, else of the table."""
        return self.frame.page.needle if self.is_page_open else self.view.filter

    def all_keys(self) -> tuple[AppKey, ...]:
        """Return the keys of this screen."""
        return FLEET_KEYS

    def keys_here(self) -> list[Labelled]:
        """Return the available keys, the most useful first."""
        return [each.labelled(self) for each in _OFFERED if each.when(self)]

    async def action_key(self, name: str) -> None:
        """Run the action of a key, or notify the user why it is not available."""
        await super().action_key(name)
        self.frame.keys.show(self.keys_here())

    # ---- messages of widgets

    def on_input_line_typed(self, event: InputLine.Typed) -> None:
        """Filter by the typed text."""
        set_filter(self, event.text, done=event.done)
        if event.done:
            self.note_view()

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


class FleetEnd(NamedTuple):
    """The result of the screen: its exit code, and the database to open, None to quit."""

    code: int
    chosen: Member | None


def run_fleet(
    fleet: Fleet, view: FleetView, begin: Callable[[], None], *, ascii_only: bool = False, notice: str = ""
) -> FleetEnd:
    """Show a fleet until the user quits or opens one of its databases. `begin` is called after the first frame."""
    app = FleetApp(fleet, view, begin, notice=notice)
    if ascii_only:
        app.keep_to_ascii()
    return FleetEnd(run_until_ended(app), app.chosen)
