"""The fleet's screen with its keys, and the function that runs it. Painting: :mod:`presman.tui.fleet_frame`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from msgspec.structs import replace
from textual.binding import BindingType

from presman.analysis.fleet import Member
from presman.figures.drawing.lines import Line
from presman.figures.figure import Table
from presman.figures.fleet_figures import FLEET, STATES
from presman.tabs.choices import next_step
from presman.tabs.parts import Key
from presman.tui.fleet_frame import FleetFrame, FleetView
from presman.tui.keyed_app import AppKey, has_tables
from presman.tui.keys import all_keys, page_keys, table_keys, time_keys
from presman.tui.keys.page_keys import PALETTE, QUIT, SIGNS, SUSPEND, THEME
from presman.tui.keys.take_keys import copy_text
from presman.tui.terminal_app import run_until_ended
from presman.tui.widgets.frame_lines import Labelled
from presman.tui.widgets.grid import keys_in_table

if TYPE_CHECKING:
    from presman.services.live_fleet import Fleet
    from presman.tui.widgets.choosers import InputLine


def show_help(app: FleetFrame) -> None:
    """Show keys, states and columns."""
    app.read(help_lines([each.key for each in FLEET_KEYS]))


def escape(app: FleetFrame) -> None:
    """Close the help, or clear its filter or that of the table."""
    if app.is_page_open and not app.frame.page.needle:
        app.read(None)
    else:
        app.filter("", done=True)


async def leave(app: FleetFrame) -> None:
    """Close the help or, from the table, quit."""
    if app.is_page_open:
        app.read(None)
    else:
        await app.action_quit()


def refresh(app: FleetFrame, direction: int) -> None:
    """Poll less (1) or more (-1) often."""
    app.fleet.set_interval(next_step(app.fleet.interval, direction))
    app.repaint()


def poll_now(app: FleetFrame) -> None:
    """Poll all databases at once."""
    app.fleet.poll_now()
    app.notify("Polling all; lost databases are tried again.", timeout=2)


def copy(app: FleetFrame) -> None:
    """Copy the row, or the help, to the clipboard and to a file."""
    row = app.grid.row
    copy_text(app, app.frame.page.text if app.is_page_open else "" if row is None else _row_text(app.grid.table, row))


def _row_text(table: Table[Any], row: Any) -> str:
    return "\n".join(
        f"{figure.head}: {figure.show(row)}" for figure in table.columns if not figure.trend and not figure.bar
    )


def can_go_back(app: FleetFrame) -> bool:
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
    "Freeze the table, so that rows keep their order; polling continues.",
    run=lambda app: app.pause(), when=has_tables, why_not=_PAGE,
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
FLEET_KEYS: tuple[AppKey, ...] = (
    HELP, OPEN, ESCAPE, LEAVE, PAUSE, FILTER, SORT, REVERSE, COLUMNS, SLOWER, FASTER, POLL_NOW, COPY, THEME, SIGNS,
    PALETTE, SUSPEND, QUIT,
)  # fmt: skip
"""In the order of the help page."""

_OFFERED = (
    HELP, LEAVE, OPEN, FILTER, SORT, REVERSE, PAUSE, POLL_NOW, COPY, SLOWER, FASTER, COLUMNS, THEME, SIGNS, PALETTE,
)  # fmt: skip


def offered(app: FleetFrame) -> list[Labelled]:
    """Return the keys that the bottom line currently offers, the most useful first."""
    return [each.labelled(app) for each in _OFFERED if each.when(app)]


NOTES = (
    "Databases are sorted worst first: lost, with a critical alert (✕), refused, with a warning (▲) or late, with "
    "something that could not be seen (?), then the others by name. The cursor stays on the worst until you move it, "
    "then on its database.",
)


def help_lines(keys: Sequence[Key]) -> list[Line]:
    """Return the help page."""
    from presman.tui.pages.content import help_page  # its imports would delay the first frame

    states = [(state.text, state.level, meaning) for state, meaning in STATES.items()]
    return help_page("Fleet", keys, keys_in_table(), [FLEET], NOTES, states)


class FleetApp(FleetFrame):
    """The fleet with its keys."""

    BINDINGS: ClassVar[list[BindingType]] = [each.binding for each in FLEET_KEYS if each.key.keys]

    @property
    def needle(self) -> str:
        """The filter of the help, else of the table."""
        return self.frame.page.needle if self.is_page_open else self.view.filter

    def all_keys(self) -> tuple[AppKey, ...]:
        """Return the keys of this screen."""
        return FLEET_KEYS

    def keys_here(self) -> list[Labelled]:
        """Return the available keys, the most useful first."""
        return offered(self)

    async def action_key(self, name: str) -> None:
        """Run the action of a key, or notify the user why it is not available."""
        await super().action_key(name)
        self.frame.keys.show(self.keys_here())

    def on_input_line_typed(self, event: InputLine.Typed) -> None:
        """Filter by the typed text."""
        self.filter(event.text, done=event.done)
        if event.done:
            self.note_view()


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
