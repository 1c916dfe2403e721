"""Keys that lead elsewhere or change how things look: going by name, targets, columns, signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.tabs.parts import Key
from presman.tui.keys.app_key import AppKey, has_tables
from presman.tui.keys.page_keys import show_tab
from presman.tui.keys.place_keys import go_into, open_page, open_statement
from presman.tui.widgets.line_api import LineApiWidget

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp


async def ask_where(app: FrameApp) -> None:
    """Ask for a name to go to."""
    from presman.tabs.going import names
    from presman.tui.widgets.go_line import GoLine

    line = app.query_one_optional(GoLine)
    if line is None:
        line = GoLine()
        await app.mount(line, before="#keys")
    line.begin(names(app.monitor.reading, app.panels.hidden(), app.targets))


async def go(app: FrameApp, text: str) -> None:
    """Go to what a name or a time means, or say that it means nothing."""
    from presman.figures.session_figures import SESSIONS
    from presman.recording.time_words import is_time
    from presman.tabs.going import goal
    from presman.tabs.statement import Statement

    if is_time(text):
        app.reader.close()
        app.panels.focus_first()  # before the next key, which the hidden line would swallow
        app.moments.jump(text)
        return
    found = goal(text, app.monitor.reading, app.panels.hidden(), app.targets)
    if found.trouble:
        app.tell(found.trouble, seconds=8)
        if not app.reader.is_open:
            app.panels.focus_first()
    elif found.target:
        switch(app, found.target)
    elif found.tab:
        await show_tab(app, found.tab)
    else:
        app.reader.close()
        if found.place is not None and found.place.sql_id:
            open_statement(app, Statement(found.place.sql_id))
        elif found.place is not None:
            await go_into(app, ())
            await go_into(app, (found.place,))
        if found.session is not None:
            open_page(app, found.session, SESSIONS)


def switch(app: FrameApp, target: str) -> None:
    """End, to begin again with another target."""
    if target == app.monitor.name:
        app.tell(f"{target} is on the screen.")
        return
    app.switch_to, app.hands_on = target, app.home  # away from a fleet a password may be asked for between the two
    app.exit()


def choose_target(app: FrameApp) -> None:
    """Ask for another target."""
    from presman.tui.widgets.choosers import TargetChooser

    def chosen(target: str | None) -> None:
        if target is not None:
            switch(app, target)

    app.push_screen(TargetChooser(app.targets, app.monitor.name), chosen)


def choose_columns(app: FrameApp) -> None:
    """Ask which columns a table shall have."""
    from presman.tui.widgets.choosers import ColumnChooser

    grid = app.panels.grid
    if grid is None:
        return

    def chosen(keys: tuple[str, ...] | None) -> None:
        if keys is not None:
            grid.drawing.choose(keys)
            grid.sort_by(grid.rows.sort_key, descending=grid.rows.descending)
            app.note_view()

    app.push_screen(ColumnChooser(grid.table, grid.drawing.shown(grid.size.width), grid.drawing.hidden), chosen)


def change_signs(app: FrameApp) -> None:
    """Paint ASCII only, or all signs."""
    app.keep_to_ascii(only=not app.is_ascii)
    app.tell("ASCII only" if app.is_ascii else "all signs", seconds=2)
    app.refresh_css(animate=False)
    app.repaint()
    for view in app.frame.query(LineApiWidget):  # a widget that is over another is not painted with the rest
        view.forget()


def has_targets(app: FrameApp) -> bool:
    """Where config.ini names more than what is on the screen."""
    return not app.is_served and any(target != app.monitor.name for target in app.targets)


GO = AppKey(
    Key("go", "colon", ":", "go to", "Go to a tab, group, instance, session (its SID or 1:SID), SQL_ID or target of "
        "config.ini by name, the first letters are enough; or to a time: :19:08, :-15m."),
    ask_where,
)  # fmt: skip
TARGETS = AppKey(
    Key("targets", "D", "D", "databases", "Watch another target of config.ini."),
    choose_target, has_targets,
    lambda app: "Only this target is served." if app.is_served else "config.ini names no other target.",
)  # fmt: skip
COLUMNS = AppKey(
    Key("columns", "O", "O", "columns", "Choose the columns of the table and their order: the first ones stay where "
        "there is no room for all."),
    choose_columns, has_tables, "A page is open: q goes back to the tables.",
)  # fmt: skip
SIGNS = AppKey(
    Key("signs", "T", "T", "signs", "Switch between ASCII only, for terminals that show other characters badly, and "
        "all characters."),
    change_signs,
)  # fmt: skip
