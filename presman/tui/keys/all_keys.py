"""Keys of the monitor, all of them, in the orders of help and of the bottom line."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from presman.tabs import tab, tab_names
from presman.tabs.parts import Key
from presman.tui.keyed_app import AppKey, has_tables
from presman.tui.keys.drill_keys import DESCRIBE, FOLDING, UNFOLD
from presman.tui.keys.drill_keys import where as breadcrumb_to
from presman.tui.keys.go_keys import GO, TARGETS
from presman.tui.keys.page_keys import ESCAPE, LEAVE, PALETTE, QUIT, SIGNS, SUSPEND, TABS, TABS_IN_HELP, THEME
from presman.tui.keys.table_keys import (
    COLUMNS,
    DETAILS,
    FILTER,
    FOLLOW,
    INSTANCES,
    NEXT_TABLE,
    REVERSE,
    SORT,
    WINDOW,
    has_instances,
)
from presman.tui.keys.take_keys import ACT, COPY, COPY_TO_DO, EXPORT, RECORD, REPORT
from presman.tui.keys.time_keys import (
    BACK,
    FAR_BACK,
    FAR_FORWARD,
    FASTER,
    FORWARD,
    JUMP,
    LIVE,
    NEXT_EVENT,
    PAUSE,
    POLL_NOW,
    PREVIOUS_EVENT,
    SLOWER,
    is_lost,
)
from presman.tui.widgets.tab_line import Labelled

if TYPE_CHECKING:
    from presman.tui.frame_app import FrameApp


def show_help(app: FrameApp) -> None:
    """Show the keys and the columns of this tab."""
    from presman.tui.pages.content import help_of, help_of_others
    from presman.tui.widgets.grid import Grid

    bindings = [binding for binding in Grid.BINDINGS if not isinstance(binding, tuple) and binding.action != "open"]
    in_table = [(binding.key_display or binding.key, binding.description) for binding in bindings]
    present = app.panels.present.tab
    content = help_of(present, breadcrumb_to(app), listed(app), in_table)
    app.reader.open(content, found_by_search=partial(help_of_others, present))


HELP = AppKey(
    Key("help", "question_mark,f1", "?", "help", "Keys, and every column of this tab: its view and its formula."),
    show_help,
)

APP_KEYS: tuple[AppKey, ...] = (
    HELP, *TABS, DETAILS, DESCRIBE, ESCAPE, LEAVE, PAUSE, BACK, FORWARD, FAR_BACK, FAR_FORWARD, LIVE, JUMP,
    NEXT_EVENT, PREVIOUS_EVENT, FILTER, SORT, REVERSE, UNFOLD, FOLLOW, INSTANCES, COLUMNS, WINDOW, SLOWER, FASTER,
    POLL_NOW, COPY, COPY_TO_DO, ACT, EXPORT, RECORD, REPORT, GO, TARGETS, THEME, SIGNS, PALETTE, NEXT_TABLE, SUSPEND,
    QUIT,
)  # fmt: skip
"""In the order of the help page."""

TAB_NAMES = tuple(each.name for each in tab_names())

_BEFORE = (
    HELP,
    LEAVE,
    POLL_NOW,
    DETAILS,
    DESCRIBE,
    PAUSE,
    LIVE,
    BACK,
    FORWARD,
    FILTER,
    SORT,
    REVERSE,
    UNFOLD,
    INSTANCES,
)
_MOMENTS = (JUMP, NEXT_EVENT, PREVIOUS_EVENT)
_TAKEN = (COPY, COPY_TO_DO, ACT, EXPORT, RECORD, REPORT)
_BEHIND = (*_TAKEN, FOLLOW, GO, *_MOMENTS, WINDOW, SLOWER, FASTER, TARGETS, COLUMNS, THEME, PALETTE)
"""What the bottom line offers before and behind the keys of the tab, the most needed first."""


def keys_of(app: FrameApp) -> tuple[AppKey, ...]:
    """Return the keys of an app: all of them, its own in place of those with their names, and behind the others."""
    own = app.own_keys
    return tuple(own.get(each.key.name, each) for each in APP_KEYS)


def tab_keys(app: FrameApp) -> tuple[Key, ...]:
    """Return the keys of the present tab, while they do something."""
    return app.panels.present.tab.keys if has_tables(app) else ()


def offered(app: FrameApp) -> list[Labelled]:
    """Return what the bottom line offers here and now."""
    if not app.begun:
        return []
    own = [Labelled(key.shown, key.label, tab_key_action(key.keys)) for key in tab_keys(app)]
    before = [_own(app, each) for each in _BEFORE if each is not POLL_NOW or is_lost(app)]
    more = [each for each in _MOMENTS if each.key.name in app.own_keys]
    behind = [_own(app, each) for each in _BEHIND if each not in more]
    return [
        *(each.labelled(app) for each in (*before, *more) if each.when(app)),
        *own,
        *(each.labelled(app) for each in behind if each.when(app)),
    ]


def _own(app: FrameApp, key: AppKey) -> AppKey:
    return app.own_keys.get(key.key.name, key)


def listed(app: FrameApp) -> list[Key]:
    """Return the keys that the help of a tab lists: all but those that this database or this tab never has."""
    present = app.panels.present.tab
    folding = app.monitor.choices.panel in FOLDING
    has = ((INSTANCES, has_instances(app)), (WINDOW, present.over_time), (UNFOLD, folding))
    without = [each for each, there in has if not there]
    if app.is_served:
        without += [ACT, RECORD, REPORT, TARGETS, SUSPEND]
    found = [each.key for each in keys_of(app) if each not in without and each not in TABS]
    place = found.index(COPY.key)
    return [*present.keys, TABS_IN_HELP, *found[:place], *found[place:]]


def tab_key_action(keys: str) -> str:
    """Return the action of a tab's key as Textual calls it."""
    return f"tab_key('{keys}')"


def where(keys: str) -> str:
    """Return which tabs have a key, in words: ``g is a key of the tab Parallel (4).``."""
    found = [(key, name) for name in tab_names() for key in tab(name.name).keys if keys == key.keys]
    tabs = " and ".join(f"the tab {name.title} ({name.key})" for _, name in found)
    return f"{found[0][0].shown} is a key of {tabs}."
