"""The help page of a tab, made of the action table and of the columns' own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from presman.columns import Table
from presman.tui.actions import Action
from presman.tui.widgets.lines import Line

_STATES = (
    ("● LIVE", "good", "the data is as fresh as the refresh interval"),
    ("‖ PAUSED 0:42", "warn", "the view is frozen; polling and history go on"),
    ("◀ 03:12:40", "warn", "scrolled back to that time"),
    ("✕ LOST 0:12, retry in 4s", "bad", "no connection; the last data stays on screen, its age counts"),
)


def help_page(tab: str, actions: Iterable[Action], grid_keys: Iterable[tuple[str, str]], tables: Sequence[Table[Any]],
              more: Sequence[str] = ()) -> list[Line]:  # fmt: skip
    """Return the help of a tab: its keys, the states, and every column with its source."""
    lines: list[Line] = [((f"Help: {tab}", "title"), ("   q or Esc goes back", "dim")), ()]
    lines.append((("Keys", "title"),))
    for action in actions:
        lines.append(((f"  {action.shown:<8}", "key"), (f"{action.label:<14}", ""), (action.help, "dim")))
    lines += [((f"  {keys:<8}", "key"), (text, "")) for keys, text in grid_keys]
    lines += [(), (("States", "title"),)]
    lines += [((f"  {mark:<26}", style), (text, "dim")) for mark, style, text in _STATES]
    for text in more:
        lines += [(), ((text, ""),)]
    for table in tables:
        lines += [(), ((f"Table {table.title}", "title"),)]
        lines += [((f"  {column.head:<20.60} ", "key"), (column.help, "")) for column in table.columns]
    return lines
