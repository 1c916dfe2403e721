"""The help page of a tab, made of its keys and of the columns' own words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from presman.figures.drawing.lines import Line
from presman.figures.figure import Table
from presman.tabs.parts import Key

_STATES = (
    ("● LIVE", "good", "the data is at most two refresh intervals old"),
    ("◌ LATE 0:07", "warn", "the data is older, by the age shown; or some views are late, by the number shown"),
    ("‖ PAUSED 0:42", "warn", "the view is frozen; polling and history continue"),
    ("◀ 03:12:40", "warn", "scrolled back to that time"),
    ("✕ LOST 0:12, retry in 4s", "bad", "no connection; the last data stays on screen, with its age"),
    (
        "✕ REFUSED 0:12",
        "bad",
        "no connection, not tried again by itself: a wrong password locks accounts; F5 tries",
    ),
)


def help_page(tab: str, keys: Iterable[Key], in_table: Iterable[tuple[str, str]], tables: Sequence[Table[Any]],
              more: Sequence[str] = (), states: Sequence[tuple[str, str, str]] = _STATES) -> list[Line]:  # fmt: skip
    """Return the help of a tab: every column with its source, what else there is to know, its keys, the states."""
    lines: list[Line] = [((f"Help: {tab}", "title"), ("   / searches, q or Esc goes back", "dim"))]
    for table in tables:
        lines += columns(table)
    for text in more:
        lines += [(), ((text, ""),)]
    lines += [(), (("Keys", "title"),)]
    lines += [((f"  {key.shown:<8}", "key"), (f"{key.label:<14}", ""), (key.help, "dim")) for key in keys]
    lines += [((f"  {shown:<8}", "key"), (text, "")) for shown, text in in_table]
    lines += [(), (("States", "title"),)]
    return lines + [((f"  {mark:<26}", style), (text, "dim")) for mark, style, text in states]


def columns(table: Table[Any], where: str = "") -> list[Line]:
    """Return every column of a table with its source; `where` stands behind the table's title."""
    heading: Line = ((f"Table {table.title}", "title"), *([(where, "dim")] if where else []))
    return [(), heading, *(((f"  {each.head:<20.60} ", "key"), (each.help, "")) for each in table.columns)]
