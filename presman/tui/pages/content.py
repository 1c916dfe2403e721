"""Content of the page: details of a row, or help."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from presman.figures.drawing.lines import Line, plain

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.trends import Watch
    from presman.figures.figure import Table
    from presman.tabs.parts import Key, Tab
    from presman.tabs.statement import Statement

Content = Callable[["Reading | None"], list[Line]]
"""Makes the page's lines of the reading on screen."""


def details_of(row: Any, table: Table[Any], watch: Watch, width: int) -> Content:
    """Return the page of a row, which follows it from reading to reading; a queued statement when it runs, too.

    `width` is how many cells there are for what cannot be wrapped.
    """
    from presman.analysis.readings.group_readings import GroupReading
    from presman.analysis.readings.statement_readings import QueuedStatement, RunningStatement
    from presman.analysis.trends.sql_past import sql_past
    from presman.tui.pages.cursor_page import past_lines
    from presman.tui.pages.detail_lines import detail_lines, focus_of, usual_lines
    from presman.tui.pages.row_details import BLANK, again, page, stamp, title

    last = row

    def content(reading: Reading | None) -> list[Line]:
        nonlocal last
        if reading is None:
            return []
        found = again(last, table, reading)
        last = last if found is None else found
        gone: list[Line] = [((" ○ no longer there; this is the last data seen", "warn"),), ()]
        lines = [stamp(reading), *(gone if found is None else []), *_named(page(last, table, reading), last, watch)]
        if focus_of(last) is not None:
            lines += detail_lines(last, reading, width)
            if isinstance(last, QueuedStatement | RunningStatement) and last.sql_id:
                lines += past_lines(sql_past(watch, last.sql_id, last.con_id, reading.at))
        elif isinstance(last, GroupReading):
            place = (last.con_id, last.name)
            for each in watch.queue_marks.compare(reading):
                if (each.con_id, each.name) == place:
                    lines += [BLANK, title("Is its queue worse than usual?"), *usual_lines(each)]
        return lines

    return content


def cursor_of(statement: Statement, watch: Callable[[], Watch], width: int, *, recorded: bool) -> Content:
    """Return the page of a statement, whether anybody runs it or not; `watch` gives what was seen until now."""
    from presman.tui.pages.cursor_page import cursor_lines

    def content(reading: Reading | None) -> list[Line]:
        return [] if reading is None else cursor_lines(statement, reading, watch(), width, recorded=recorded)

    return content


def _named(lines: list[Line], row: Any, watch: Watch) -> list[Line]:
    """Return the page of a row, in whose heading the name of its group has that group's colour."""
    name = str(getattr(row, "name" if hasattr(row, "used") else "group", ""))
    style = watch.colours.style(name, getattr(row, "con_id", None))
    heading, _, after = plain(lines[0]).rpartition(name) if style else ("", "", "")
    return [((heading, "title"), (name, style), (after, "title")), *lines[1:]] if heading else lines


def help_of(tab: Tab, title: str, keys: Iterable[Key], in_table: Iterable[tuple[str, str]]) -> Content:
    """Return the help of a tab; it does not depend on the data."""
    from presman.tui.pages.help_page import help_page

    lines = help_page(title, list(keys), list(in_table), tab.tables, tab.notes)
    return lambda _reading: lines


def help_of_others(present: Tab) -> list[Line]:
    """Return the columns of the other tabs, by tab: a search in the help finds them from any tab."""
    from presman.tabs import tab, tab_names
    from presman.tui.pages.help_page import columns

    every = [(f"   tab {each.key} {each.title}", table) for each in tab_names() for table in tab(each.name).tables]
    return [line for where, table in every if table not in present.tables for line in columns(table, where)]
