"""Keys for copying, CSV files, recordings, reports, what-if questions, and actions where they are allowed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from presman.analysis.readings.reading import Reading
from presman.base import private_files
from presman.base.errors import InputError
from presman.base.formats import counted, duration, spelled
from presman.base.private_files import replace_private
from presman.base.text import clean, one_line
from presman.figures.figure import Table
from presman.tabs.choices import LinkState
from presman.tabs.parts import Key
from presman.tui.exports import PollRecording, file_name, write_past
from presman.tui.keyed_app import NO_DATA, AppKey, KeyedApp, has_data

if TYPE_CHECKING:
    from presman.forecast.scheduler import Group
    from presman.recording.recording_source import RecordingSource
    from presman.rows.commands import Command
    from presman.tui.copies import Copyable
    from presman.tui.frame_app import FrameApp


_NAMED = 40
"""Characters of the copied text that the notice repeats."""

_KILLS = "KILL SESSION"
"""The words in a command that ends a session."""


def copy(app: FrameApp) -> None:
    """Offer what can be copied of a statement; for anything else copy the page, or the row under the cursor."""
    from presman.tui.copies import Copyable, copies

    monitor, grid = app.monitor, app.panels.grid
    row: Any = None
    if app.reader.is_open:
        row, shown = app.reader.row, Copyable("p", "this page", app.reader.text)
    else:
        row = app.panels.present.subject(grid)
        shown = Copyable("r", "the row", "" if grid is None or grid.row is None else _row_text(grid.table, grid.row))
    offered: tuple[Copyable, ...] = ()
    if monitor.reading is not None:
        texts = monitor.timeline.watch.sql_texts
        is_recorded = monitor.choices.recorded
        offered = copies(row, monitor.reading, texts, shown, old=monitor.why_no_command, recorded=is_recorded)
    why = app.panels.present.why_no_rows
    if offered:
        _choose(app, offered, "of the head that WHY names first; " if why and not app.reader.is_open else "")
    elif not shown.text and why:
        app.notify(why)
    else:
        copy_text(app, shown.text)


def _choose(app: FrameApp, offered: tuple[Copyable, ...], whose: str) -> None:
    """Ask what to copy, and copy it. The title begins with `whose`, the words on its owner."""
    from presman.tui.widgets.choosers import CopyChooser

    def chosen(what: Copyable | None) -> None:
        if what is None:
            return
        if not what.text:
            app.notify(f"Nothing copied: {what.why_not or f'there is no {what.what}'}.", timeout=8)
        elif what.command is not None:
            _take_command(app, what.text, f"It affects {what.affects}. {what.command.note}")
        else:
            named = f" {what.text}" if len(what.text) <= _NAMED else f", {len(what.text)} characters"
            app.notify(f"Copied: {what.what}{named}, {_keep(app, what.text)}", timeout=8)

    app.push_screen(CopyChooser(offered, app.size.width, whose), chosen)


def _take_command(app: FrameApp, text: str, affects: str) -> None:
    """Copy a command, and notify the user what it does and that nothing was run."""
    kept = _keep(app, text)
    kills = "\nIt is a KILL command: it ends a session when you run it." if _KILLS in text.upper() else ""
    app.notify(f"Copied, not run: {text}\n({kept}){kills}{_age_remark(app)}\n{affects}", timeout=12)


def copy_script(app: FrameApp, script: str) -> None:
    """Copy a script that changes limits; nothing is run."""
    copied = f"a script of {counted(len(script.splitlines()), 'line')} ({_keep(app, script)})"
    affects = "If you run it, it takes effect at once, for all users."
    app.notify(f"Copied, not run: {copied}.\n{affects}{_age_remark(app)}", timeout=12)


def copy_to_do(app: FrameApp) -> None:
    """Copy the commands of the line DO, to the clipboard and to a file; nothing is run."""
    found = app.monitor.to_do
    if found is None or found.command is None:
        return
    verb = "It affects" if len(found.commands) == 1 else "They affect"
    _take_command(app, found.script, f"{verb} {found.affects}. {found.command.note}")


def _age_remark(app: FrameApp) -> str:
    """Return how old the data behind a command is, or when the past that it comes from was; "" while it is fresh."""
    monitor = app.monitor
    past = "recording" if app.replayed is not None else "spool" if monitor.link.is_past else ""
    if past and monitor.reading is not None:
        from presman.recording.time_words import spelled_instant

        return f"\nIt comes from a {past}, as of {spelled_instant(monitor.reading.at)}: check again before you run it."
    age = monitor.clock() - monitor.link.fresh
    late = age > 2 * monitor.choices.refresh
    return f"\nIts data is {duration(age)} old: check again before you run it." if late else ""


def has_to_do(app: FrameApp) -> bool:
    """Return whether the line DO has a command that is based on current data."""
    found = app.monitor.to_do
    return found is not None and found.command is not None


def _row_text(table: Table[Any], row: Any) -> str:
    return "\n".join(f"{figure.head}: {figure.show(row)}" for figure in table.columns if not figure.trend)


def copy_text(app: KeyedApp, text: str) -> None:
    """Copy a text, and notify the user how it begins, of its length and of the file that also has it."""
    begin = text.partition("\n")[0].strip()[:_NAMED]
    copied = f"Copied: {begin} …, {len(text)} characters, {_keep(app, text)}" if text else ""
    app.notify(copied or "There is no row here to copy.")


def _keep(app: KeyedApp, text: str) -> str:
    """Copy a text and return the file that also has it: a terminal does not confirm a copy, and tmux ignores it."""
    app.copy_to_clipboard(text)
    if app.is_served:
        return "to the browser's clipboard"
    try:
        return f"also in {private_files.keep_file('copied.txt', text + chr(10))}"
    except OSError as error:
        return f"not kept in a file: {error.strerror}"


def act(app: FrameApp) -> None:
    """Ask for an action on the row under the cursor, or on that of the page, and send it once it is confirmed.

    The session may have changed meanwhile: the action applies only to the session and statement that were shown.
    """
    from presman.analysis.collapsed_rows import CollapsedStatements

    grid, reading, gateway = app.panels.grid, app.monitor.reading, app.gateway
    row = app.reader.row if app.reader.is_open else grid.row if grid is not None else None
    if isinstance(row, CollapsedStatements):
        app.notify(f"{counted(len(row.same), 'statement')} in one row: u unfolds them, then choose one.", timeout=8)
        return
    if gateway is None or reading is None or not gateway.has_actions(row, reading):
        what = "what this page shows" if app.reader.is_open else "this row"
        why = gateway.refusal(row, reading) if gateway is not None and reading is not None else ""
        app.notify(f"No action on {what}: {why or 'actions work on a session or a statement'}.")
        return

    def send(command: Command) -> None:
        if trouble := gateway.note(app.monitor.name, command, "confirmed"):
            app.notify(f"Not sent: {trouble}", severity="error", timeout=12)
            return
        app.feed.act(command)
        app.notify("It is sent as soon as the database answers, within 10 s or not at all.", timeout=5)

    gateway.ask(app, row, reading, send)


def export(app: FrameApp) -> None:
    """Start or stop appending this view's measure to a CSV file."""
    monitor = app.monitor
    if monitor.latest is None:
        return
    measure = app.panels.present.measure(app.panels.grid)
    # Not an extra poll: the next row has what it grew by.
    newest = monitor.timeline.reading(0) or monitor.latest
    message, well = app.recording.toggle(monitor.name, measure, newest)
    app.read_enough()
    app.notify(message, severity="information" if well else "error", timeout=8 if well else 10)
    app.paint_lines()


def record(app: FrameApp) -> None:
    """Start a recording with the minutes that the charts show, or stop it."""
    monitor, poll_recording = app.monitor, app.poll_recording
    if poll_recording.is_on:
        path = poll_recording.path
        poll_recording.close()
        app.notify(f"Recording ended: presman replay {path}", timeout=8)
        app.paint_lines()
        return
    if (latest := monitor.latest) is None:
        return
    poll_recording.begin(monitor.name, latest.kind)
    app.paint_lines()
    app.run_worker(app.attempt(_load(app, latest)), group="record")  # does not block keys and polls


async def _load(app: FrameApp, latest: Reading) -> None:
    """Write the minutes up to the newest poll, then each poll that arrives."""
    poll_recording = app.poll_recording
    mine, path = poll_recording.number, poll_recording.path
    kept = await write_past(app.monitor, poll_recording, latest)
    if kept is None or poll_recording.number != mine:
        return
    poll_recording.loaded()
    polls, first = kept
    since = spelled((latest.at - first).total_seconds())
    app.notify(f"Recording to {path}, from {since} ago on ({counted(polls, 'poll')}); R ends it", timeout=8)


def report(app: FrameApp) -> None:
    """Write the report of what is on screen, without blocking polls and keys."""
    if app.is_reporting:
        app.notify("The report is being written.")
        return
    app.is_reporting = True
    app.run_worker(write_report(app), group="report")


def why_not_report(app: FrameApp) -> str:
    """Return why no report can be made."""
    return "A report would be written where presman runs." if app.is_served else NO_DATA


def may_record(app: FrameApp) -> bool:
    """Return whether there is data to record that is not itself a recording, and the file would be the user's own."""
    return has_data(app) and app.monitor.link.state is not LinkState.REPLAY and not app.is_served


def why_not_record(app: FrameApp) -> str:
    """Return why no recording can be made."""
    return "A recording would be written where presman runs." if app.is_served else "There is nothing to record here."


def why_not_act(app: FrameApp) -> str:
    """Return why no action is possible, "" if one is."""
    if app.is_served:
        return "Actions are not possible in a browser."
    if app.gateway is None:
        return "Actions need --allow-actions: presman was started without it."
    if not has_data(app):
        return NO_DATA
    if app.monitor.choices.behind:
        return "Actions need the newest poll: press End."
    if app.reader.is_open and app.reader.row is None:
        return "This page is not about a session or statement: q goes back to the tables."
    return ""


COPY = AppKey(
    Key("copy", "c", "c", "copy", "Copy to the clipboard (OSC 52) and to a file, which is named. Of a statement: "
        "choose SQL_ID, text, sid,serial or a command from a list; c c copies the SQL_ID. Of anything else: the page "
        "or the row."),
    copy, has_data, NO_DATA,
)  # fmt: skip
COPY_TO_DO = AppKey(
    Key("copy_to_do", "C", "C", "copy DO", "Copy the commands of DO, from any tab. Nothing is run."),
    copy_to_do, has_to_do,
    "DO has no command now; c lists those of the row.",
)  # fmt: skip
ACT = AppKey(
    Key("act", "a", "a", "act", "With --allow-actions: start, switch, cancel or kill the row's statement or session, "
        "after you confirm."),
    act, lambda app: not why_not_act(app), why_not_act,
)  # fmt: skip
EXPORT = AppKey(
    Key("export", "e", "e", "CSV", "Append this tab's measure to a CSV file at each poll; again to end. A browser "
        "then downloads the file."),
    export, has_data, NO_DATA,
)  # fmt: skip
RECORD = AppKey(
    Key("record", "R", "R", "record", "Write every poll to a recording, starting with the polls of the charts' window "
        "(w); again to end. `presman replay` plays it."),
    record, may_record, why_not_record,
    relabel=lambda app: "end recording" if app.poll_recording.is_on else "record",
)  # fmt: skip
REPORT = AppKey(
    Key("report", "r", "r", "report", "Write an HTML report, as `presman report` does: of the recording in a replay, "
        "of the minutes that the charts show (w) on a live database."),
    report, lambda app: has_data(app) and not app.is_served, why_not_report,
)  # fmt: skip


async def write_report(app: FrameApp) -> None:
    """Write the report, and notify the user of its file or of why there is none."""
    from presman.recording.store_errors import RecordingError
    from presman.sources import SourceError

    path = (app.folder or Path.cwd()) / file_name(app.monitor.name, "report", datetime.now(UTC), "html")
    try:
        app.notify("Writing the report …", timeout=3)
        at = None if app.monitor.reading is None else app.monitor.reading.at
        if app.replayed is None:
            polls = await _of_history(app, path)
        else:
            polls = await asyncio.to_thread(_make, app.replayed, at, path, "")
        app.notify(f"Report of {counted(polls, 'poll')}: {path}", timeout=15)
    except (OSError, RecordingError, SourceError, InputError) as error:
        why = (isinstance(error, OSError) and error.strerror) or str(error)
        app.notify(f"No report in {path.parent}: {one_line(clean(str(why)), 300)}", severity="error", timeout=15)
    except Exception as error:
        app.report_error(error)
    finally:
        app.is_reporting = False


async def _of_history(app: FrameApp, path: Path) -> int:
    """Report the minutes that the charts show. They are first recorded, as by the key R, in a temporary folder."""
    from presman.recording.recording_source import RecordingSource
    from presman.recording.store_errors import RecordingError

    monitor, troubles = app.monitor, list[str]()
    latest, at = monitor.latest, monitor.reading.at if monitor.is_frozen and monitor.reading is not None else None
    assert latest is not None
    with TemporaryDirectory(prefix="presman-") as folder:
        poll_recording = PollRecording(Path(folder), troubles.append)
        location = str(poll_recording.begin(monitor.name, latest.kind))
        try:
            await write_past(monitor, poll_recording, latest)
        finally:
            await asyncio.to_thread(poll_recording.close)
        if troubles:
            raise RecordingError(troubles[0])
        source = RecordingSource(location, name=monitor.name)
        source.goals = tuple(each.goal for each in monitor.reading.goals) if monitor.reading is not None else ()
        return await asyncio.to_thread(_make, lambda: source, at, path, "the monitor's own polls")


def _make(make_source: Callable[[], RecordingSource], at: datetime | None, path: Path, source: str) -> int:
    """Write the page and return the number of its polls; `source` is the origin to name in it, "" for its file."""
    from msgspec.structs import replace

    from presman.reports.report.incident_page import incident_of, incident_page

    incident = incident_of(make_source(), at, lambda _text: None)
    incident = replace(incident, source=source or incident.source)
    replace_private(path, incident_page(incident, datetime.now(UTC)).encode("utf-8"))
    return incident.polls


# ---- The key for what if: it begins at the limit of the row, of the group on screen or of the alert.


def what_if(app: FrameApp) -> None:
    """Open the what-if panel."""
    from presman.reports.whatif_queue import of_alerts, of_group
    from presman.tui.what_if_screen import WhatIfScreen

    monitor = app.monitor
    if monitor.reading is not None:
        group, subject = _group_on_show(app), "" if monitor.to_do is None else monitor.to_do.subject
        found = of_alerts(monitor.alerts, monitor.reading, subject)
        question = found if group is None else (group, of_group(group, monitor.reading))
        app.push_screen(WhatIfScreen(monitor, *question, partial(copy_script, app)))


def _group_on_show(app: FrameApp) -> Group | None:
    """Return the group of the page, of the row under the cursor on the tab Parallel, or of the list."""
    from presman.forecast.scheduler import Group
    from presman.tabs.drill_down import scope_of

    choices, row = app.monitor.choices, app.reader.row
    if not app.reader.is_open and choices.panel == "parallel" and app.grid is not None:
        row = app.grid.row
    for each in (scope_of(row), row, choices.scope):
        if name := getattr(each, "group", ""):
            return Group(getattr(each, "con_id", None) or 0, name)
    return None


def why_not_what_if(app: FrameApp) -> str:
    """Return why the what-if panel is not available, "" if it is."""
    if app.monitor.cost is None:
        return NO_DATA
    why = app.monitor.why_old
    return f"What if needs the newest poll: {why}." if why else ""


WHAT_IF = AppKey(
    Key("what_if", "W", "W", "what if", "Try other limits of the plan, first that of the row, the group or the alert: "
        "when each queued statement would start, the script for the change, advice (a). Nothing is changed in the "
        "database."),
    what_if, lambda app: not why_not_what_if(app), why_not_what_if,
)  # fmt: skip
