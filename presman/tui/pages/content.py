"""Content of the page: details of a row, help, I/O outliers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from presman.base.formats import clock
from presman.figures.drawing.lines import Line, plain
from presman.figures.figure import Table
from presman.figures.histogram_figures import OUTLIERS
from presman.tabs.parts import Key

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.analysis.readings.wait_readings import OutlierReading
    from presman.analysis.trends import Watch
    from presman.tabs.parts import Tab
    from presman.tabs.statement import Statement

Content = Callable[["Reading | None"], list[Line]]
"""Makes the page's lines of the reading on screen."""


def details_of(row: Any, table: Table[Any], watch: Watch, width: int) -> Content:
    """Return the page of a row, which follows it from reading to reading; a queued statement when it runs, too.

    `width` is how many cells there are for what cannot be wrapped.
    """
    from presman.analysis.readings.group_readings import GroupReading
    from presman.analysis.readings.statement_readings import ParallelStatement
    from presman.analysis.trends.sql_minutes import sql_past
    from presman.tui.pages.cursor_page import past_lines
    from presman.tui.pages.detail_lines import BLANK, detail_lines, focus_of, title, usual_lines
    from presman.tui.pages.row_details import again, page, stamp

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
            if isinstance(last, ParallelStatement) and last.sql_id:
                lines += past_lines(sql_past(watch, last.sql_id, last.con_id, reading.at))
        elif isinstance(last, GroupReading):
            index = (last.con_id, last.name)
            for each in watch.queue_marks.compare(reading):
                if (each.con_id, each.name) == index:
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

    lines = help_page(title, list(keys), list(in_table), tab.tables, tab.notes)
    return lambda _reading: lines


def help_of_others(present: Tab) -> list[Line]:
    """Return the columns of the other tabs, by tab: a search in the help finds them from any tab."""
    from presman.tabs import tab, tab_names

    every = [(f"   tab {each.key} {each.title}", table) for each in tab_names() for table in tab(each.name).tables]
    return [line for where, table in every if table not in present.tables for line in columns(table, where)]


_STATES = (
    ("● LIVE", "good", "the data is at most two refresh intervals old"),
    ("◌ LATE 0:07", "warn", "the data is older, by the age shown; or some views are late, by the number shown"),
    ("‖ PAUSED 0:42", "warn", "the view is frozen; polling and history continue"),
    ("◀ 03:12:40", "warn", "scrolled back to that time"),
    ("✕ LOST 0:12, retry in 4s", "bad", "no connection; the last data stays on screen, with its age"),
    (
        "✕ REFUSED 0:12",
        "bad",
        "no connection; presman does not retry, because wrong passwords lock accounts: F5 retries",
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


CAUTION = (
    "On some platforms the latency column of these views is not a latency (its values only grow). presman compares "
    "the rows with each other and with the histogram of the waits, and shows no latency that is impossible."
)


def outliers_page(width: int) -> Content:
    """Return the page; it fills as soon as the views have answered."""

    def content(reading: Reading | None) -> list[Line]:
        lines: list[Line] = [((" I/O outliers", "title"),), ((f" {CAUTION}", "dim"),), ()]
        if reading is None:
            return lines
        troubles = [trouble for trouble in reading.troubles if trouble.query in ("io_outlier", "lgwrio_outlier")]
        for trouble in troubles:
            lines += [((f" {trouble.view}: {trouble.text} {trouble.cure}", "warn"),), ()]
        if not reading.outliers and not troubles:
            lines.append(((" asked; the answer comes with the next poll (the views exist from 12.1 on)", "dim"),))
        for each in reading.outliers:
            lines += _view(each, width)
        return lines

    return content


def _view(found: OutlierReading, width: int) -> list[Line]:
    from presman.output.text_table import table

    head: Line = ((f" {found.view}", "title"), (f"  rows: {len(found.rows)}, asked at {clock(found.at)}", "dim"))
    lines: list[Line] = [head, *(((f" ▲ not plausible: {why}", "warn"),) for why in found.doubts)]
    if not found.rows:
        return [*lines, ((f" {OUTLIERS.empty}", "dim"),), ()]
    columns = [column for column in OUTLIERS.columns if column.key != "view"]
    return [*lines, *(((f" {text}", ""),) for text in table(columns, found.rows, max(40, width - 6))), ()]
