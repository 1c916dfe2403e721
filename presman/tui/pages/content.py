"""Content of the page: details of a row, help, I/O outliers."""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any

from textual.binding import Binding

from presman.analysis.facts.cursor_facts import hints
from presman.analysis.readings.group_readings import GroupReading
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import (
    DopFacts,
    ParallelStatement,
    QueuedStatement,
    RunningStatement,
    running_in_words,
    runs,
)
from presman.analysis.readings.wait_readings import OutlierReading
from presman.analysis.session_list import SERVER
from presman.analysis.trends import Watch
from presman.analysis.trends.sql_minutes import SqlPast, sql_past
from presman.analysis.trends.statement_runs import StatementRun
from presman.base.formats import ABSENT, clock, counted, duration, number
from presman.figures.drawing.lines import Line, plain
from presman.figures.figure import Table
from presman.figures.histogram_figures import OUTLIERS
from presman.figures.statement_figures import in_view, queue_position
from presman.rows.session_state import comma_serial
from presman.tabs import tab, tab_names
from presman.tabs.choices import DrillScope
from presman.tabs.drill_down import ScopeContents, Statement, contents_of
from presman.tabs.parts import Key, Tab
from presman.tui.pages.detail_lines import (
    BLANK,
    cost_lines,
    detail_lines,
    fact,
    focus_of,
    plan_lines,
    section,
    sentence,
    title,
    usual_lines,
)
from presman.tui.pages.row_details import again, dop_lines, has_degree, page

Content = Callable[["Reading | None"], list[Line]]
"""Makes the lines of the page from the reading on screen."""


def stamp(reading: Reading) -> Line:
    """Return the line with the time of the reading."""
    return (("read at ", "dim"), (clock(reading.at), "dim"))


def details_of(row: Any, table: Table[Any], watch: Watch, width: int) -> Content:
    """Return the page of a row, which follows it across readings, also when a queued statement starts to run.

    `width` is the number of cells for text that cannot be wrapped.
    """
    last = row

    def content(reading: Reading | None) -> list[Line]:
        nonlocal last
        if reading is None:
            return []
        found = again(last, table, reading)
        last = last if found is None else found
        gone: list[Line] = [((" ◌ no longer there; this is the last data seen", "warn"),), ()]
        lines = [stamp(reading), *(gone if found is None else []), *_named(page(last, table, reading), last, watch)]
        if focus_of(last) is not None:
            lines += detail_lines(last, reading, width)
            if isinstance(last, ParallelStatement) and last.sql_id:
                lines += past_lines(sql_past(watch, last.sql_id, last.con_id, reading.at))
        elif isinstance(last, GroupReading):
            index = (last.con_id, last.name)
            for each in watch.queue_marks.compare(reading):
                if (each.con_id, each.name) == index:
                    lines += section("Is its queue worse than usual?", usual_lines(each))
        return lines

    return content


def cursor_of(statement: Statement, watch: Callable[[], Watch], width: int, *, recorded: bool) -> Content:
    """Return the page of a statement, running or not; `watch` returns what was observed so far."""

    def content(reading: Reading | None) -> list[Line]:
        return [] if reading is None else cursor_lines(statement, reading, watch(), width, recorded=recorded)

    return content


def _named(lines: list[Line], row: Any, watch: Watch) -> list[Line]:
    """Return the page of a row with the name of its group in the group's colour in the heading."""
    name = str(getattr(row, "name" if hasattr(row, "used") else "group", ""))
    style = watch.colours.style(name, getattr(row, "con_id", None))
    heading, _, after = plain(lines[0]).rpartition(name) if style else ("", "", "")
    return [((heading, "title"), (name, style), (after, "title")), *lines[1:]] if heading else lines


def help_of(tab: Tab, title: str, keys: Iterable[Key], in_table: Iterable[Binding]) -> Content:
    """Return the help of a tab, which does not depend on the data."""
    always, at_times = ([each.table for each in tab.rows() if each.optional is away] for away in (False, True))
    lines = help_page(title, keys, in_table, always, tab.notes, at_times=at_times)
    return lambda _reading: lines


def help_of_others(present: Tab) -> list[Line]:
    """Return the columns of the other tabs, by tab, so that a search in the help finds them from any tab."""
    every = [(f"   tab {each.key} {each.title}", table) for each in tab_names() for table in tab(each.name).tables]
    return [line for where, table in every if table not in present.tables for line in columns(table, where)]


_STATES = (
    ("● LIVE", "good", "the data is at most two refresh intervals old"),
    ("◌ LATE 0:07", "warn", "the data is older, by the age shown; or the number of views shown did not answer"),
    ("▶ 2026-03-14 10:00:20", "note", "a spool: the time of the sample shown; ■ END after the last one"),
    ("‖ PAUSED 0:42", "warn", "the view is frozen; polling and history continue"),
    ("◀ 03:12:40", "warn", "scrolled back to that time"),
    ("✕ LOST 0:12, retry in 4s", "bad", "no connection; the last data stays on screen, with its age"),
    ("rates over 2.9s", "dim", "so long, and not for the interval, as after F5, another tab or another interval"),
    ("✕ REFUSED 0:12", "bad", "no connection, and no retry, because wrong passwords lock accounts: F5 retries"),
)


def help_page(
    tab: str,
    keys: Iterable[Key],
    in_table: Iterable[Binding],
    tables: Sequence[Table[Any]],
    more: Sequence[str] = (),
    states: Sequence[tuple[str, str, str]] = _STATES,
    at_times: Sequence[Table[Any]] = (),
) -> list[Line]:
    """Return the help of a tab: every column with its source, other facts, its keys, the states.

    Tables that are shown only `at_times` follow those that are always shown.
    """
    lines: list[Line] = [((f"Help: {tab}", "title"), ("   / searches, q or Esc goes back", "dim"))]
    for table in tables:
        lines += columns(table)
    for table in at_times:
        lines += columns(table, "   shown only while it has rows")
    for text in more:
        lines += [(), ((text, ""),)]
    lines += [(), (("Keys", "title"),)]
    lines += [((f"  {key.shown:<8}", "key"), (f"{key.label:<14}", ""), (key.help, "dim")) for key in keys]
    lines += [((f"  {each.key_display or each.key:<8}", "key"), (each.description, "")) for each in in_table]
    lines += [(), (("States", "title"),)]
    return lines + [((f"  {mark:<26}", style), (text, "dim")) for mark, style, text in states]


def columns(table: Table[Any], where: str = "") -> list[Line]:
    """Return every column of a table with its source; `where` follows the title of the table."""
    heading: Line = ((f"Table {table.title}", "title"), *([(where, "dim")] if where else []))
    return [(), heading, *(((f"  {each.head:<20.60} ", "key"), (each.help, "")) for each in table.columns)]


CAUTION = (
    "On some platforms the latency column of these views is not a latency (its values only grow). presman compares "
    "the rows with each other and with the histogram of the waits, and shows no latency that is impossible."
)


def outliers_page(width: int) -> Content:
    """Return the page of I/O outliers, which fills once the views have answered."""

    def content(reading: Reading | None) -> list[Line]:
        lines: list[Line] = [((" I/O outliers", "title"),), ((f" {CAUTION}", "dim"),), ()]
        if reading is None:
            return lines
        troubles = [trouble for trouble in reading.troubles if trouble.query in {"io_outlier", "lgwrio_outlier"}]
        for trouble in troubles:
            lines += [((f" {trouble.view}: {trouble.text} {trouble.cure}", "warn"),), ()]
        if not reading.outliers and not troubles:
            lines.append(((" requested; the answer comes with the next poll (the views exist from 12.1 on)", "dim"),))
        for each in reading.outliers:
            lines += _view(each, width)
        return lines

    return content


def _view(found: OutlierReading, width: int) -> list[Line]:
    from presman.output.cells import table

    head: Line = ((f" {found.view}", "title"), (f"  rows: {len(found.rows)}, asked at {clock(found.at)}", "dim"))
    lines: list[Line] = [head, *(((f" ▲ not plausible: {why}", "warn"),) for why in found.doubts)]
    if not found.rows:
        return [*lines, ((f" {OUTLIERS.empty}", "dim"),), ()]
    columns = [column for column in OUTLIERS.columns if column.key != "view"]
    return [*lines, *(((f" {text}", ""),) for text in table(columns, found.rows, max(40, width - 6))), ()]


# ---- The page of a statement over all its sessions: text, sessions, observed past, statistics, degree, plan.

_LISTED = 12
"""Sessions that the page lists."""

_TEXT = 16
"""Lines of a text before the rest of the page; a longer text follows in full at its end."""


def scope_of_statement(statement: Statement) -> DrillScope:
    """Return the scope that lists the sessions of a statement."""
    return DrillScope(statement.sql_id, con_id=statement.con_id, sql_id=statement.sql_id)


def cursor_lines(statement: Statement, reading: Reading, watch: Watch, width: int, *, recorded: bool) -> list[Line]:
    """Return the page of a statement."""
    found = contents_of(scope_of_statement(statement), reading)
    past = sql_past(watch, statement.sql_id, statement.con_id, reading.at)
    text = watch.sql_texts.text(statement.sql_id) or next((row.sql_text for row in _rows(found) if row.sql_text), "")
    why_none = watch.sql_texts.why_none(statement.sql_id, reading, recorded=recorded)
    body = [sentence(line) for line in text.split("\n")] if text else [sentence(_in_words(why_none), "dim")]
    more = len(body) - _TEXT
    first = [*body[:_TEXT], sentence(f"… {counted(more, 'more line')} at the end of this page", "dim")]
    lines = [stamp(reading), title(f"Statement {statement.sql_id}"), BLANK, *_owner_and_sessions(found, past)]
    lines += section("SQL text", first if more > 1 else body)
    lines += section("Sessions that run it now", _sessions(found, reading))
    lines += past_lines(past)
    lines += _cursor(statement, found, reading, text, width, recorded=recorded)
    return lines + section("SQL text, the rest", body[_TEXT:] if more > 1 else [])


def _rows(found: ScopeContents) -> tuple[ParallelStatement, ...]:
    return (*found.running, *found.queue)


_WHY_NO_TEXT = {
    "(no longer in V$SQL)": "V$SQL no longer has this statement: it was aged out of the shared pool.",
    "(V$SQL cannot be read)": "V$SQL cannot be read; presman doctor names the grant that is missing.",
    "(not in the spool)": "The spool does not have its text: V$SQL was spooled without it, or not at all.",
    "(not read)": "Not read yet: presman reads it while this page is open.",
    "(not recorded)": "The text is not in the recording: presman had not read it by then.",
}


def _in_words(why_none: str) -> str:
    return _WHY_NO_TEXT.get(why_none, why_none) or ABSENT


def _owner_and_sessions(found: ScopeContents, past: SqlPast) -> Iterable[Line]:
    """Yield the owner of a statement and how many sessions now run it."""
    row: Any = next(iter((*_rows(found), *found.sessions)), None) or past.activity or next(iter(past.newest), None)
    yield fact("group", row.group if row else "")
    yield fact("user", row.user if row else "")
    rest = _own_sessions(found)
    parts = running_in_words(found.running)
    parts += [f"{len(found.queue)} queued"] if found.queue else []
    parts += [f"{counted(len(rest), 'other session')}" if parts else counted(len(rest), "session")] if rest else []
    yield fact("now", ", ".join(parts) or "no session runs it")


def _own_sessions(found: ScopeContents) -> list[SessionReading]:
    """Return the sessions that run it without parallel servers and are not in the queue."""
    listed = {(row.inst_id, row.sid, row.serial) for row in _rows(found)}
    return [row for row in found.sessions if row.px_role != SERVER and (row.inst_id, row.sid, row.serial) not in listed]


def _sessions(found: ScopeContents, reading: Reading) -> list[Line]:
    others = _own_sessions(found)
    lines = [_session(row, f"{counted(row.servers, 'server')}, {_doing(row)}") for row in found.running]
    lines += [_session(row, f"{_queued(row)}, {queue_position(row, reading)}{in_view(reading)}") for row in found.queue]
    lines += [_session(row, row.event or row.status) for row in others]
    if not lines:
        unavailable = reading.why_unavailable("V$SESSION")
        return [sentence(f"Not known: {unavailable}." if unavailable else "No session runs it at this moment.", "dim")]
    more = len(lines) - _LISTED
    hint = f"{f'… and {more} more: ' if more > 0 else ''}Enter lists them, with what can be done"
    return [*lines[:_LISTED], sentence(hint, "dim")]


def _queued(row: QueuedStatement) -> str:
    return "queued" if row.waited is None else f"queued for {duration(row.waited)}"


def _doing(row: RunningStatement) -> str:
    if row.idle is not None:
        return f"idle for {row.idle_time}"
    done = "" if row.progress is None else f", {row.operation} {100 * row.progress:.0f} %"
    return f"{runs(row)}{done}"


def _session(row: ParallelStatement | SessionReading, does: str) -> Line:
    session = f"{row.inst_id}:{row.sid}{comma_serial(row.serial)}"
    return ((f"  {session:<15} ", "dim"), (f"{row.user or '?'} of {row.group or '?'}: {does}", ""))


def past_lines(past: SqlPast) -> list[Line]:
    """Return the lines on the observed past of a statement."""
    lines = [BLANK, title("Executions seen")]
    if past.activity is not None:
        each = past.activity
        servers = "" if each.servers is None else f", {number(each.servers)} servers"
        busy = f"{number(each.on_cpu)} sessions on CPU, {number(each.waiting)} waiting{servers}"
        lines.append(fact("on average", f"{busy}, over the {duration(past.watched)} watched"))
    if not past.executions:
        return [*lines, sentence("No parallel execution of it was seen; serial ones are not counted.", "dim")]
    lines.append(fact("executions", f"{past.executions} parallel, on up to {counted(past.servers, 'server')}"))
    waited = f", {duration(past.mean_wait)} on average, {duration(past.longest_wait)} at most" if past.queued else ""
    lines.append(fact("in the queue", f"{past.queued} of {past.executions} were seen queued{waited}"))
    ran = "none has finished" if past.mean_run is None else f"{duration(past.mean_run)} on average"
    lines.append(fact("ran", ran))
    return [*lines, *(_execution(each, past.at) for each in past.newest)]


def _execution(each: StatementRun, at: datetime) -> Line:
    waited, took = each.waited(at), each.ran(at)
    queued = "not seen in the queue" if waited is None else f"queued {duration(waited)}"
    ran = "never ran" if each.ended else "waits"
    if took is not None:
        ran = f"{'ran' if each.ended else 'runs'} {duration(took)}"
        if each.idle and not each.ended:
            ran = f"idle for {duration((at - each.idle).total_seconds())} and keeps them"
    servers = counted(each.servers, "server") if each.servers else "servers not known"
    return ((f"  {clock(each.began):<15} ", "dim"), (f"{each.user or '?'}: {queued}, {ran}, {servers}", ""))


def _cursor(
    statement: Statement, found: ScopeContents, reading: Reading, text: str, width: int, *, recorded: bool
) -> list[Line]:
    """Return the statistics, degree and plan that were read."""
    detail = reading.detail if reading.detail and reading.detail.sql_id == statement.sql_id else None
    row = next(iter(_rows(found)), None)
    dop = detail.dop if detail and detail.dop.facts else row.dop if row else DopFacts()
    lines = section("Executions of this cursor so far (V$SQL)", cost_lines(None if detail is None else detail.cost))
    if row is not None or has_degree(dop) or hints(text):
        lines += dop_lines(dop, row.requested if row else None, text)
    if detail is not None and detail.plan:
        return lines + plan_lines(detail, width)
    gone = "V$SQL_PLAN has no plan for it, or the plan is still being read."
    note = "Not in the recording: presman reads them only while this page is open." if recorded else gone
    return [*lines, BLANK, title("Plan and statistics"), sentence(note, "dim")]
