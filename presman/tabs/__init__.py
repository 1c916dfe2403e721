"""Tabs: the contents of each as values: tables, lines, charts, keys, notes. Laid out by the monitor, printed by `once`.

A tab is one module here whose first line is ``Tab KEY TITLE: …`` (``(containers)`` after the title: for container
databases only) and which has a `TAB`. It needs no other registration.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from presman.tabs.parts import Tab

_FIRST_LINE = re.compile(r'"""Tab (?P<key>\S) (?P<title>[^:(]+?)(?: \((?P<only>containers)\))?: ')


class TabName(NamedTuple):
    """A tab's digit, its name (that of its module), its title, and whether only container databases have it."""

    key: str
    name: str
    title: str
    containers: bool


@cache
def tab_names() -> tuple[TabName, ...]:
    """Return the tabs in order of their keys, read from the modules' first lines: no import slows the start."""
    found = []
    for path in Path(__file__).parent.glob("*.py"):
        with path.open(encoding="utf-8") as file:
            match = _FIRST_LINE.match(file.readline())
        if match:
            found.append(TabName(match["key"], path.stem, match["title"], match["only"] is not None))
    return tuple(sorted(found, key=lambda name: (name.key == "0", name.key)))  # as on the keyboard


@cache
def tab(name: str) -> Tab:
    """Import the module of a tab and return the tab."""
    found: Tab = import_module(f"{__name__}.{name}").TAB
    return found


def title(name: str) -> str:
    """Return the title of a tab."""
    return next(each.title for each in tab_names() if each.name == name)
