"""Keys for pages and tabs: help, going back, going to a name, quitting, the palette, the theme."""

from presman.tabs import TabName, tab_names
from presman.tabs.parts import Key
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import AppKey, KeyedApp
from presman.tui.keys.drill_keys import drill_into, open_page, open_statement
from presman.tui.keys.table_keys import set_filter
from presman.tui.widgets.line_api import LineApiWidget

THEMES = ("textual-dark", "textual-light", "nord", "gruvbox", "solarized-light", "ansi-dark", "ansi-light")
"""The themes that the theme key cycles through."""


async def show_tab(app: FrameApp, name: str) -> None:
    """Show a tab."""
    app.reader.close()
    await app.panels.show(name)
    app.read_enough()
    app.reader.request_details(None)
    app.panels.focus_first()
    app.repaint()


async def to_tab(app: FrameApp, name: TabName) -> None:
    """Show a tab, or notify the user if it is already shown."""
    before = is_at_top(app), app.monitor.choices.tab, app.panels.focused
    await show_tab(app, name.name)
    if before == (True, name.name, app.panels.focused):
        app.notify(f"{name.title} is already shown.")


def go_to_fleet(app: FrameApp) -> None:
    """End the monitor and show the fleet again."""
    app.goes_home = app.hands_on = True
    app.exit()


def is_at_top(app: FrameApp) -> bool:
    """Return whether the tab itself is shown: no page and no drill-down."""
    return not (app.reader.is_open or app.monitor.choices.scopes)


async def escape(app: FrameApp) -> None:
    """Close the page, else end the filter, else go back a step; from the tab itself, go to the fleet."""
    choices, typed_in = app.monitor.choices, app.typed_in
    if app.home and not can_go_back(app):
        go_to_fleet(app)
    elif typed_in and typed_in[0].id != "filter":
        typed_in[0].display = False
        if not app.reader.is_open:
            app.panels.focus_first()
    elif app.reader.is_open and (app.reader.needle or typed_in):
        set_filter(app, "", done=True)
    elif app.reader.is_open:
        app.reader.close()
        app.reader.request_details(None)
        app.repaint()
    elif choices.filter or not choices.scopes:
        set_filter(app, "", done=True)
    else:
        await drill_into(app, choices.scopes[:-1])


async def leave(app: FrameApp) -> None:
    """Close the page, or go back a step; from the tab itself, quit or go to the fleet."""
    if app.reader.is_open:
        app.reader.filter("", done=True)
        await escape(app)
    elif app.monitor.choices.scopes:
        await drill_into(app, app.monitor.choices.scopes[:-1])
    elif app.home:
        go_to_fleet(app)
    else:
        await app.action_quit()


def next_theme(app: KeyedApp) -> None:
    """Switch to the next theme."""
    index = THEMES.index(app.theme) + 1 if app.theme in THEMES else 0
    app.theme = THEMES[index % len(THEMES)]
    app.notify(f"theme {app.theme}", timeout=2)


def change_signs(app: KeyedApp) -> None:
    """Switch between ASCII only and all signs."""
    app.keep_to_ascii(only=not app.is_ascii)
    app.notify("ASCII only" if app.is_ascii else "all signs", timeout=2)
    app.refresh_css(animate=False)
    app.repaint()
    for view in app.screen_stack[0].query(LineApiWidget):  # a widget on top of another is not repainted with the rest
        view.forget()


def can_go_back(app: FrameApp) -> bool:
    """Return whether a page, a filter or a drill-down is open."""
    choices = app.monitor.choices
    return app.reader.is_open or bool(app.typed_in or choices.filter or choices.scopes)


ESCAPE = AppKey(
    Key("escape", "escape", "Esc", "back", "Back to where you came from, on the same row; clears a filter."),
    escape, lambda app: app.home or can_go_back(app), "No page is open and nothing is filtered; q quits.",
)  # fmt: skip
LEAVE = AppKey(
    Key("leave", "q", "q", "back / quit", "Back to where you came from, on the same row; at the top, quit."),
    leave, relabel=lambda app: ("fleet" if app.home else "quit") if is_at_top(app) else "back",
)  # fmt: skip
THEME = AppKey(Key("theme", "t", "t", "theme", "Next theme; all of them are in the command palette."), next_theme)
SIGNS = AppKey(
    Key("signs", "T", "T", "signs", "Switch between ASCII only, for terminals that show other characters badly, and "
        "all characters."),
    change_signs,
)  # fmt: skip
PALETTE = AppKey(
    Key("palette", "", "^P", "palette", "Find a command by its name."), lambda app: app.action_command_palette()
)
SUSPEND = AppKey(
    Key("suspend", "ctrl+z", "^Z", "to the shell", "Go back to the shell; fg comes back here. Nothing is polled until "
        "then."),
    lambda app: app.action_suspend_process(),
)  # fmt: skip
QUIT = AppKey(Key("quit", "", "^Q", "quit", "Quit."), lambda app: app.action_quit())


def _tab_key(name: TabName) -> AppKey:
    text = f"Show the tab {name.title}."
    key = Key(f"tab_{name.name}", name.key, name.key, name.title, text)
    why_not = "This is not a container database: there are no PDBs to show."

    def has_it(app: FrameApp) -> bool:
        return app.monitor.reading is None or name.name not in app.panels.hidden()

    return AppKey(key, lambda app: to_tab(app, name), has_it, why_not)


_EVERY = ", ".join(f"{each.key} {each.title}" for each in tab_names())
TABS_IN_HELP = Key("tabs", "", f"{tab_names()[0].key} … {tab_names()[-1].key}", "tabs", f"Show a tab: {_EVERY}.")

TABS = tuple(_tab_key(name) for name in tab_names())


def return_to_fleet(app: FrameApp) -> None:
    """Make q and Esc go back to the fleet."""
    app.home = True
    back = ESCAPE.worded("Back to where you came from, on the same row; clears a filter; then to the fleet.")
    out = LEAVE.worded("Back to where you came from, on the same row; at the top, to the fleet.", "back")
    app.own_keys = {**app.own_keys, back.key.name: back, out.key.name: out}


# ---- Keys that go to a name, to a time, to another target.


async def ask_where(app: FrameApp) -> None:
    """Open the input line for a name to go to."""
    from presman.tabs.go_to import names
    from presman.tui.widgets.choosers import ask

    await ask(app, "go", names=names(app.monitor.reading, app.panels.hidden(), app.targets))


async def go(app: FrameApp, text: str) -> None:
    """Go to the destination of a name or time, or notify the user that there is none."""
    from presman.figures.session_figures import SESSIONS
    from presman.recording.time_words import ENDS, is_time
    from presman.tabs.drill_down import Statement
    from presman.tabs.go_to import goal, names

    where = app.monitor.reading, app.panels.hidden(), app.targets
    # A group may be called LAST: as a name it has priority over the time.
    if is_time(text) or text.strip().lower() in ENDS.difference(map(str.lower, names(*where))):
        app.reader.close()
        app.panels.focus_first()
        app.moments.jump(text)
        return
    found = goal(text, *where)
    if found.trouble:
        app.notify(found.trouble, timeout=8)
        if not app.reader.is_open:
            app.panels.focus_first()
    elif found.target:
        switch(app, found.target)
    elif found.tab:
        await show_tab(app, found.tab)
    else:
        app.reader.close()
        if found.scope is not None and found.scope.sql_id:
            open_statement(app, Statement(found.scope.sql_id))
        elif found.scope is not None:
            await drill_into(app, ())
            await drill_into(app, (found.scope,))
        if found.session is not None:
            open_page(app, found.session, SESSIONS)


def switch(app: FrameApp, target: str) -> None:
    """End the monitor and start it again with another target."""
    if target == app.monitor.name:
        app.notify(f"{target} is already shown.")
        if not app.reader.is_open:
            app.panels.focus_first()
        return
    app.switch_to, app.hands_on = target, app.home  # without a fleet, a password prompt may come in between
    app.exit()


def choose_target(app: FrameApp) -> None:
    """Open the dialog for another target."""
    from presman.tui.widgets.choosers import TargetChooser

    def chosen(target: str | None) -> None:
        if target is not None:
            switch(app, target)

    app.push_screen(TargetChooser(app.targets, app.monitor.name), chosen)


def has_targets(app: FrameApp) -> bool:
    """Return whether config.ini has other targets than the current one."""
    return not app.is_served and any(target != app.monitor.name for target in app.targets)


GO = AppKey(
    Key("go", "colon", ":", "go to", "Go to a tab, group, instance, session (its SID or 1:SID), SQL_ID or target of "
        "config.ini by name, the first letters are enough; or to a time: :19:08, :-15m."),
    ask_where,
)  # fmt: skip
TARGETS = AppKey(
    Key("targets", "D", "D", "databases", "Watch another target of config.ini."),
    choose_target, has_targets,
    lambda app: "presman serves only this target." if app.is_served else "config.ini has no other target.",
)  # fmt: skip
