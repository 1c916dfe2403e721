"""Keys that lead elsewhere: to what has a name, to a time, to another target."""

from __future__ import annotations

from typing import TYPE_CHECKING

from presman.tabs.parts import Key
from presman.tui.keyed_app import AppKey
from presman.tui.keys.drill_keys import drill_into, open_page, open_statement
from presman.tui.keys.page_keys import show_tab

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp


async def ask_where(app: FrameApp) -> None:
    """Ask for a name to go to."""
    from presman.tabs.go_to import names
    from presman.tui.widgets.input_line import ask

    await ask(app, "go", names=names(app.monitor.reading, app.panels.hidden(), app.targets))


async def go(app: FrameApp, text: str) -> None:
    """Go to what a name or a time means, or say that it means nothing."""
    from presman.figures.session_figures import SESSIONS
    from presman.recording.time_words import is_time
    from presman.tabs.go_to import goal
    from presman.tabs.statement import Statement

    if is_time(text):
        app.reader.close()
        app.panels.focus_first()  # before the next key, which the hidden line would swallow
        app.moments.jump(text)
        return
    found = goal(text, app.monitor.reading, app.panels.hidden(), app.targets)
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
    """End, to begin again with another target."""
    if target == app.monitor.name:
        app.notify(f"{target} is on the screen.")
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
