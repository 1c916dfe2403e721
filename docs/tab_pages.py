"""Pages of the tabs, from their definitions: the keys, and for each tab its tables, columns and formulas."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from docs.contents import picture
from docs.markdown import page, rows
from presman.figures.figure import Figure, Table
from presman.tabs import TabName, tab, tab_names
from presman.tui.keys.all_keys import APP_KEYS
from presman.tui.keys.page_keys import TABS
from presman.tui.keys.table_keys import INSTANCES

MOVING = ("`↑` `↓` `PgUp` `PgDn` `Home`, `k` `j`", "move in the table or page")


def keys_page() -> str:
    """Return the page of keys."""
    return page(
        "Keys of the monitor",
        "Every key of presman's terminal monitor of Oracle Resource Manager and the parallel queue, with what it does.",
        "Keys",
        "`?` shows those of the tab you are on, with every column. A click works where a key does.",
        key_table(),
    )


def key_table() -> str:
    """Return the table of keys."""
    return rows(("key", "what it does"), _keys())


def _keys() -> Iterator[tuple[str, str]]:
    tabs = " ".join(f"`{name.key}` {name.title}" for name in tab_names())
    only = ", ".join(name.title for name in tab_names() if name.containers)
    yield tabs, f"tabs; {only} only in a container database"
    for each in APP_KEYS:
        if each not in TABS:
            yield f"`{each.key.shown}`", each.key.help
        if each is INSTANCES:
            own = ((name.title, key) for name in tab_names() for key in tab(name.name).keys)
            yield from ((f"`{key.shown}`", f"On {title}: {key.help}") for title, key in own)
    yield MOVING


def tab_page(name: TabName) -> str:
    """Return the page of a tab."""
    shown = tab(name.name)
    where = " Only in a container database." if name.containers else ""
    parts = [f"Key `{name.key}`. {about(name)}{where}", *_picture(name), *shown.notes]
    if shown.keys:
        parts += [
            "## Keys of its own",
            rows(("key", "what it does"), ((f"`{key.shown}`", key.help) for key in shown.keys)),
        ]
    for each in (*shown.tables, *(part.table for part in shown.for_text)):
        parts += [f"## {each.title}", *_fields(each), table(each)]
    return page(
        f"Tab {name.title} of the Oracle monitor: columns and formulas",
        f"{about(name)} Its columns on Oracle Resource Manager, with view and formula.",
        f"{name.key} {name.title}",
        *parts,
    )


def about(name: TabName) -> str:
    """Return the purpose of a tab, from the docstring of its module."""
    text = (import_module(tab.__module__ + f".{name.name}").__doc__ or "").partition(": ")[2].partition("\n")[0]
    return text[:1].upper() + text[1:]


def _picture(name: TabName) -> list[str]:
    path = picture(name.name)
    return [f"![The tab {name.title} on a scenario of the demo](../../{path})"] if path else []


def _fields(shown: Table[Any]) -> list[str]:
    return [f"In JSON: each element of `.{shown.json}[]`." if shown.json else "JSON has no list of these rows."]


def table(shown: Table[Any]) -> str:
    """Return the figures of a table."""

    def json(figure: Figure[Any]) -> tuple[str, ...]:
        return (f"`{figure.path}`" if figure.path else "",) if shown.json else ()

    found = ((each.head or each.key, each.unit.name, *json(each), each.help) for each in shown.columns)
    return rows(("column", "unit", *(("JSON",) if shown.json else ()), "what it is"), found)
