"""Keys of the fleet's screen: what the user can do there, said once for bindings, keys line, help and palette."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from presman.figures.figure import Table
from presman.tabs.choices import next_step
from presman.tabs.parts import Key
from presman.tui import state_files
from presman.tui.keys.app_key import AppKey
from presman.tui.keys.page_keys import QUIT, SUSPEND, THEMES
from presman.tui.widgets.tab_line import Labelled

if TYPE_CHECKING:
    from presman.tui.fleet.fleet_frame import FleetFrame


def is_list(app: FleetFrame) -> bool:
    """While the table is on show, and not the help."""
    return not app.is_reading


def show_help(app: FleetFrame) -> None:
    """Show keys, states and columns."""
    from presman.tui.fleet.fleet_help import help_lines

    app.read(help_lines([each.key for each in FLEET_KEYS]))


def sort(app: FleetFrame) -> None:
    """Sort by the next column."""
    keys = app.grid.drawing.sortable()
    place = keys.index(app.grid.rows.sort_key) + 1 if app.grid.rows.sort_key in keys else 0
    app.grid.sort_by(keys[place % len(keys)])


def reverse(app: FleetFrame) -> None:
    """Sort the other way round."""
    app.grid.sort_by(app.grid.rows.sort_key, descending=not app.grid.rows.descending)


async def ask_filter(app: FleetFrame) -> None:
    """Ask for a filter; it works while it is typed."""
    from presman.tui.widgets.filter_line import FilterLine

    line = app.query_one_optional(FilterLine)
    if line is None:
        line = FilterLine()
        await app.mount(line, before="#keys")
    line.begin(app.frame.page.needle if app.is_reading else app.view.filter)


def escape(app: FleetFrame) -> None:
    """Close the help, or end its filter or that of the table."""
    if app.is_reading and not app.frame.page.needle:
        app.read(None)
    else:
        app.filter("", done=True)


async def leave(app: FleetFrame) -> None:
    """Close the help; from the table, quit."""
    if app.is_reading:
        app.read(None)
    else:
        await app.action_quit()


def refresh(app: FleetFrame, direction: int) -> None:
    """Poll less (1) or more (-1) often."""
    app.fleet.set_interval(next_step(app.fleet.interval, direction))
    app.repaint()


def poll_now(app: FleetFrame) -> None:
    """Poll all at once."""
    app.fleet.poll_now()
    app.tell("Polling all; lost databases are tried again.", seconds=2)


def choose_columns(app: FleetFrame) -> None:
    """Ask which columns the table shall have."""
    from presman.tui.widgets.choosers import ColumnChooser

    grid = app.grid

    def chosen(keys: tuple[str, ...] | None) -> None:
        if keys is not None:
            grid.drawing.choose(keys)
            grid.sort_by(grid.rows.sort_key, descending=grid.rows.descending)
            app.note_view()

    app.push_screen(ColumnChooser(grid.table, grid.drawing.shown(grid.size.width), grid.drawing.hidden), chosen)


def copy(app: FleetFrame) -> None:
    """Copy the row, or the help, to the clipboard and to a file."""
    text = (
        app.frame.page.text
        if app.is_reading
        else ""
        if app.grid.row is None
        else _row_text(app.grid.table, app.grid.row)
    )
    if not text:
        app.tell("There is no row here to copy.")
        return
    app.copy_to_clipboard(text)
    try:
        kept = f"; also in {state_files.keep('copied.txt', text + chr(10))}"
    except OSError as error:
        kept = f"; not kept in a file: {error.strerror}"
    app.tell(f"Copied {len(text)} characters{kept}")


def _row_text(table: Table[Any], row: Any) -> str:
    return "\n".join(
        f"{figure.head}: {figure.show(row)}" for figure in table.columns if not figure.trend and not figure.bar
    )


def next_theme(app: FleetFrame) -> None:
    """Take the next theme."""
    place = THEMES.index(app.theme) + 1 if app.theme in THEMES else 0
    app.theme = THEMES[place % len(THEMES)]
    app.tell(f"theme {app.theme}", seconds=2)


def change_signs(app: FleetFrame) -> None:
    """Paint ASCII only, or all signs."""
    from presman.tui.widgets.line_api import LineApiWidget

    app.keep_to_ascii(only=not app.is_ascii)
    app.tell("ASCII only" if app.is_ascii else "all signs", seconds=2)
    app.refresh_css(animate=False)
    app.repaint()
    for view in app.frame.query(LineApiWidget):
        view.forget()


def can_go_back(app: FleetFrame) -> bool:
    """While the help is open, or something is filtered or about to be."""
    return app.is_reading or bool(app.view.filter) or any(line.display for line in app.query("FilterLine"))


_PAGE = "The help is open: q goes back to the table."

HELP = AppKey(
    Key("help", "question_mark,f1", "?", "help", "Keys, states, and every column: where it comes from."),
    show_help,
)
OPEN = AppKey(
    Key("open", "enter", "Enter", "open", "Open the monitor on the database under the cursor; Esc or q come back to "
        "this row. It uses the same connection. From a central store: its recording, at the end, as it grows."),
    lambda app: app.grid.action_open(), is_list, _PAGE,
)  # fmt: skip
ESCAPE = AppKey(
    Key("escape", "escape", "Esc", "back", "Closes the help; clears a filter."),
    escape, can_go_back, "Nothing is filtered; q quits.",
)  # fmt: skip
LEAVE = AppKey(
    Key("leave", "q", "q", "quit", "Quit; from the help back to the table."), leave,
    relabel=lambda app: "back" if app.is_reading else "quit",
)  # fmt: skip
PAUSE = AppKey(
    Key("pause", "space", "Space", "pause", "Freeze the table, so that rows stay where they are; polling goes on."),
    lambda app: app.pause(), is_list, _PAGE, relabel=lambda app: "pause" if app.paused_at is None else "go on",
)  # fmt: skip
FILTER = AppKey(
    Key("filter", "slash", "/", "filter", "Show only databases whose row contains a text: a name, lost, a plan; with "
        "! before it, those without it; of the help, lines. Enter keeps it, an empty text shows all."),
    ask_filter,
)  # fmt: skip
SORT = AppKey(
    Key("sort", "s", "s", "sort", "Sort by the next column (or click its head); at first the worst come first."),
    sort, is_list, _PAGE,
)  # fmt: skip
REVERSE = AppKey(Key("reverse", "S", "S", "reverse", "Sort the other way round."), reverse, is_list, _PAGE)
COLUMNS = AppKey(
    Key("columns", "O", "O", "columns", "Choose the columns of the table and their order: the first ones stay where "
        "there is no room for all."),
    choose_columns, is_list, _PAGE,
)  # fmt: skip
SLOWER = AppKey(Key("slower", "plus,equals_sign", "+", "slower", "Poll less often."), lambda app: refresh(app, 1))
FASTER = AppKey(Key("faster", "minus", "-", "faster", "Poll more often."), lambda app: refresh(app, -1))
POLL_NOW = AppKey(
    Key(
        "poll_now",
        "f5",
        "F5",
        "poll now",
        "Poll all now, and try lost databases again. Try a refused one with F5 in its own monitor (Enter): each try "
        "counts, and a wrong password locks accounts.",
    ),
    poll_now,
)
COPY = AppKey(Key("copy", "c", "c", "copy", "Copy the row: to the clipboard (OSC 52) and to a file."), copy)
THEME = AppKey(Key("theme", "t", "t", "theme", "Next theme; all of them are in the command palette."), next_theme)
SIGNS = AppKey(
    Key("signs", "T", "T", "signs", "Switch between ASCII only, for terminals that show other characters badly, and "
        "all characters."),
    change_signs,
)  # fmt: skip
PALETTE = AppKey(
    Key("palette", "", "^P", "palette", "Find a command by its name."), lambda app: app.action_command_palette()
)
FLEET_KEYS: tuple[AppKey, ...] = (
    HELP, OPEN, ESCAPE, LEAVE, PAUSE, FILTER, SORT, REVERSE, COLUMNS, SLOWER, FASTER, POLL_NOW, COPY, THEME, SIGNS,
    PALETTE, SUSPEND, QUIT,
)  # fmt: skip
"""In the order of the help page."""

BY_NAME = {each.key.name: each for each in FLEET_KEYS}

_OFFERED = (
    HELP, LEAVE, OPEN, FILTER, SORT, REVERSE, PAUSE, POLL_NOW, COPY, SLOWER, FASTER, COLUMNS, THEME, SIGNS, PALETTE,
)  # fmt: skip


def offered(app: FleetFrame) -> list[Labelled]:
    """Return what the bottom line offers here and now, the most needed first."""
    return [each.labelled(app) for each in _OFFERED if each.when(app)]
