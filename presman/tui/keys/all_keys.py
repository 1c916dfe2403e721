"""Keys of the monitor, all of them, in the orders of the help and of the bottom line."""

from collections.abc import Iterable
from functools import partial

from presman.tabs import tab, tab_names
from presman.tabs.parts import Key
from presman.tui.frame_app import FrameApp
from presman.tui.keyed_app import AppKey, has_tables
from presman.tui.keys import drill_keys, page_keys, table_keys, take_keys, time_keys
from presman.tui.keys.page_keys import TABS, TABS_IN_HELP
from presman.tui.widgets.frame_lines import Labelled


def show_help(app: FrameApp) -> None:
    """Show the help of this tab: keys and columns."""
    from presman.tui.pages.content import help_of, help_of_others
    from presman.tui.widgets.grid import keys_in_table

    present = app.panels.present.tab
    content = help_of(present, drill_keys.where(app), listed(app), keys_in_table())
    app.reader.open(content, found_by_search=partial(help_of_others, present))


HELP = AppKey(
    Key("help", "question_mark,f1", "?", "help", "Keys, and every column of this tab: its view and its formula."),
    show_help,
)

_MODULES = (drill_keys, page_keys, table_keys, take_keys, time_keys)
_NAMED = {each.key.name: each for module in _MODULES for each in vars(module).values() if isinstance(each, AppKey)}


def _keys(names: str) -> tuple[AppKey, ...]:
    """Return the keys of these names, in that order."""
    return tuple(_NAMED[name] for name in names.split())


APP_KEYS = (
    HELP,
    *TABS,
    *_keys(
        "details describe escape leave pause back forward far_back far_forward live jump next_event previous_event "
        "filter sort reverse unfold follow instances columns window slower faster poll_now copy copy_to_do what_if act "
        "export record report go targets theme signs palette next_table suspend quit"
    ),
)
"""In the order of the help page."""

TAB_NAMES = tuple(each.name for each in tab_names())

_BEFORE = HELP, *_keys("leave poll_now details describe pause live back forward filter sort reverse unfold instances")
_MOMENTS = _keys("jump next_event previous_event")
_TAKEN = _keys("copy copy_to_do what_if act export record report")
_BEHIND = *_TAKEN, *_keys("follow go"), *_MOMENTS, *_keys("window slower faster targets columns theme palette")
"""The keys on the bottom line before and after those of the tab, the most useful first."""


def keys_of(app: FrameApp) -> tuple[AppKey, ...]:
    """Return the keys of an app: all keys, with those of the same name replaced by its own, then its other own keys."""
    return tuple(app.own_keys.get(each.key.name, each) for each in APP_KEYS)


def tab_keys(app: FrameApp) -> tuple[Key, ...]:
    """Return the keys of the current tab if they are available."""
    return app.panels.present.tab.keys if has_tables(app) else ()


def offered(app: FrameApp) -> list[Labelled]:
    """Return the keys that the bottom line currently offers."""
    if not app.begun:
        return []
    of_tabs = [Labelled(key.shown, key.label, tab_key_action(key.keys)) for key in tab_keys(app)]
    before = [each for each in _BEFORE if each.key.name != "poll_now" or time_keys.is_lost(app)]
    more = [each for each in _MOMENTS if each.key.name in app.own_keys]
    behind = [each for each in _BEHIND if each not in more]
    return [*_labelled(app, [*before, *more]), *of_tabs, *_labelled(app, behind)]


def _labelled(app: FrameApp, keys: Iterable[AppKey]) -> list[Labelled]:
    """Return the available ones of `keys`, in the version of the app."""
    own = [app.own_keys.get(each.key.name, each) for each in keys]
    return [each.labelled(app) for each in own if each.when(app)]


def listed(app: FrameApp) -> list[Key]:
    """Return the keys in the help of a tab: all but those that never apply to this database or this tab."""
    present = app.panels.present.tab
    folding = app.monitor.choices.panel in drill_keys.FOLDING
    has = {"instances": table_keys.has_instances(app), "window": present.over_time, "unfold": folding}
    without = {name for name, shown in has.items() if not shown} | {each.key.name for each in TABS}
    if app.is_served:
        without |= {"act", "record", "report", "targets", "suspend"}
    found = [each.key for each in keys_of(app) if each.key.name not in without]
    return [*present.keys, TABS_IN_HELP, *found]


def tab_key_action(keys: str) -> str:
    """Return the Textual action of a tab's key."""
    return f"tab_key('{keys}')"


def where(keys: str) -> str:
    """Return which tabs have a key, in words: ``g is a key of the tab Parallel (4).``; "" if none has."""
    found = [(key, name) for name in tab_names() for key in tab(name.name).keys if keys == key.keys]
    tabs = " and ".join(f"the tab {name.title} ({name.key})" for _, name in found)
    return f"{found[0][0].shown} is a key of {tabs}." if found else ""
