"""Keys for tables: sorting, filtering, one row per instance, details, the next table."""

from presman.base.formats import counted
from presman.tabs.choices import WINDOWS
from presman.tabs.parts import Key
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import AppKey, KeyedApp, has_rows, has_tables
from presman.tui.keys.drill_keys import list_sessions, no_rows, shows_statement


def sort(app: KeyedApp) -> None:
    """Sort the table by its next column."""
    if (grid := app.grid) is not None:
        keys = grid.drawing.sortable()
        index = keys.index(grid.rows.sort_key) + 1 if grid.rows.sort_key in keys else 0
        grid.sort_by(keys[index % len(keys)])


def reverse(app: KeyedApp) -> None:
    """Reverse the sort order of the table."""
    if (grid := app.grid) is not None:
        grid.sort_by(grid.rows.sort_key, descending=not grid.rows.descending)


def choose_columns(app: KeyedApp) -> None:
    """Open the dialog for the columns of a table."""
    from presman.tui.widgets.choosers import ColumnChooser

    if (grid := app.grid) is None:
        return

    def chosen(keys: tuple[str, ...] | None) -> None:
        if keys is not None:
            grid.drawing.choose(keys)
            grid.sort_by(grid.rows.sort_key, descending=grid.rows.descending)
            app.note_view()

    app.push_screen(ColumnChooser(grid.table, grid.drawing.shown(grid.size.width), grid.drawing.hidden), chosen)


async def details(app: FrameApp) -> None:
    """Show the details of the row under the cursor or, on the page of a statement, its sessions."""
    if app.reader.is_open:
        await list_sessions(app)
    elif (grid := app.panels.grid) is not None:
        grid.action_open()


async def ask_filter(app: KeyedApp) -> None:
    """Open the input line for a filter, which applies while it is typed."""
    from presman.tui.widgets.choosers import ask

    await ask(app, "filter", app.needle)


def set_filter(app: FrameApp, needle: str, *, done: bool) -> None:
    """Filter the page, else the tab, by the text typed so far; once it is `done`, give the focus back."""
    choices = app.monitor.choices
    if done:
        for line in app.query("#filter"):
            line.display = False
    if app.reader.is_open:
        app.reader.filter(needle, done=done)
        return
    if needle != choices.filter:
        app.monitor.choose(filters={**choices.filters, choices.panel: needle})
        app.panels.filter()
        app.paint_lines()
    if done:
        app.panels.focus_first()


def instances(app: FrameApp) -> None:
    """Switch between one row per instance and the cluster."""
    app.monitor.choose(by_instance=not app.monitor.choices.by_instance)
    app.repaint()


def window(app: FrameApp) -> None:
    """Change the window of the charts, and notify the user of it: not every tab has room for its charts."""
    index = WINDOWS.index(app.monitor.choices.window) + 1
    app.monitor.choose(window=WINDOWS[index % len(WINDOWS)])
    app.repaint()
    app.notify(f"Charts show {counted(app.monitor.choices.window, 'minute')}.", timeout=2)


def next_table(app: FrameApp) -> None:
    """Go to the next table of the tab."""
    app.screen.focus_next("Grid")


def has_instances(app: FrameApp) -> bool:
    """Return whether the database is a cluster."""
    reading = app.monitor.reading
    return reading is not None and len(reading.header.instances) > 1


def has_several(app: FrameApp) -> bool:
    """Return whether the tab has several tables."""
    return has_tables(app) and len(app.panels.present.grids()) > 1


def follow(app: FrameApp) -> None:
    """Follow the statement under the cursor, or stop following."""
    from presman.tui.following import FollowedStatement, followable

    row = followable(app.grid.row if app.grid is not None else None)
    if app.following is not None:
        app.notify(f"{app.following.name} is no longer followed.")
        app.following = None
    elif row is not None:
        app.following = FollowedStatement(row, app.monitor.reading)
        app.notify(f"Following {app.following.name}: a bell and a message when it starts. f again stops that.")
    app.paint_lines()


def can_follow(app: FrameApp) -> bool:
    """Return whether the cursor is on a queued or running statement, or one is followed."""
    if not has_tables(app) or app.following is not None:
        return has_tables(app)
    from presman.tui.following import followable

    return (grid := app.grid) is not None and followable(grid.row) is not None


FOLLOW = AppKey(
    Key("follow", "f", "f", "follow", "Keep the cursor on this statement through sorting and refresh, from the queue "
        "to its servers; a bell and a message say when it starts and when it ends. f again stops that."),
    follow, can_follow, "The cursor is not on a queued or running parallel statement.",
    relabel=lambda app: "follow" if app.following is None else "unfollow",
)  # fmt: skip
DETAILS = AppKey(
    Key("details", "enter", "Enter", "open", "On a group, event, instance or PDB: list its sessions and "
        "statements. On a session or statement: open its page. On the page of a statement: list the sessions that run "
        "it."),
    details, lambda app: has_rows(app) or shows_statement(app), no_rows,
    relabel=lambda app: "sessions" if app.reader.is_open else "open",
)  # fmt: skip
FILTER = AppKey(
    Key("filter", "slash", "/", "filter", "Show only rows, or lines of a page, that contain a text; with ! before it, "
        "those without it. Enter keeps it, an empty text shows all."),
    ask_filter, lambda app: has_rows(app) or app.is_page_open, no_rows,
    relabel=lambda app: "search" if app.is_page_open else "filter",
)  # fmt: skip
SORT = AppKey(
    Key("sort", "s", "s", "sort", "Sort by the next column (or click its head); numbers sort largest first."),
    sort, has_rows, no_rows,
)  # fmt: skip
REVERSE = AppKey(Key("reverse", "S", "S", "reverse", "Sort the other way round."), reverse, has_rows, no_rows)
COLUMNS = AppKey(
    Key("columns", "O", "O", "columns", "Choose the columns of the table and their order: the first ones stay where "
        "there is no room for all."),
    choose_columns, has_rows, no_rows,
)  # fmt: skip
INSTANCES = AppKey(
    Key("instances", "i", "i", "instances", "One row per instance, or the sums over the cluster."),
    instances, has_instances, "There is only one instance.",
)  # fmt: skip
WINDOW = AppKey(
    Key("window", "w", "w", "window", "How much time the charts show: 15, 60 or 5 minutes. For 60, "
        "V$RSRCMGRMETRIC_HISTORY has the minutes before the first poll."),
    window, lambda app: has_tables(app) and app.panels.present.tab.over_time, "There is no chart here.",
)  # fmt: skip
NEXT_TABLE = AppKey(
    Key("next_table", "", "Tab", "next table", "Go to the next table of the tab."), next_table, has_several
)
