"""Keys that take something along, or act: copying, the CSV file, commands where they were allowed."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from presman.base.formats import counted, duration, spelled
from presman.figures.figure import Table
from presman.tabs.link import LinkState
from presman.tabs.parts import Key
from presman.tui import state_files
from presman.tui.keys.app_key import NO_DATA, AppKey, has_data
from presman.tui.wanted_breadth import read_enough

if TYPE_CHECKING:
    from presman.analysis.readings.reading import Reading
    from presman.records.commands import Command
    from presman.tui.frame_app import FrameApp

SOON = 0.05
"""Seconds until it is looked again whether there is room for more polls to write."""


def copy(app: FrameApp) -> None:
    """Copy the page, or the row under the cursor, to the clipboard and to a file."""
    if app.reader.is_open:
        _take(app, app.reader.text)
        return
    panel, grid = app.panels.present, app.panels.grid
    why_not = panel.why_no_command(grid)
    if why_not:
        app.tell(why_not, seconds=8)
        return
    old = app.monitor.why_no_command
    if old and panel.has_command(grid):
        app.tell(f"Nothing copied: no command is offered while {old}.", seconds=8)
        return
    command = panel.command(grid)
    if command is None:
        _take(app, "" if grid is None or grid.row is None else _row_text(grid.table, grid.row))
        return
    _keep(app, command[0].text)
    affects = f"It affects {command[1]}. {command[0].note}{_as_old(app)}"
    app.tell(f"Copied, not run: {command[0].text}\n{affects}", seconds=8)


def copy_to_do(app: FrameApp) -> None:
    """Copy the commands of the line DO, to the clipboard and to a file; nothing is run."""
    found = app.monitor.to_do
    if found is None or found.command is None:
        return
    _keep(app, found.script)
    whom = "It affects" if len(found.commands) == 1 else "They affect"
    affects = f"{whom} {found.affects}. {found.command.note}{_as_old(app)}"
    app.tell(f"Copied, not run: {found.script}\n{affects}", seconds=8)


def _as_old(app: FrameApp) -> str:
    """Return how old the data is that a command comes from, "" while it is as fresh as it can be."""
    monitor = app.monitor
    age = monitor.clock() - monitor.link.fresh
    late = monitor.link.state is not LinkState.REPLAY and age > 2 * monitor.choices.refresh
    return f"\nIts data is {duration(age)} old: check again before you run it." if late else ""


def has_to_do(app: FrameApp) -> bool:
    """While the line DO has a command, of what is there now."""
    found = app.monitor.to_do
    return found is not None and found.command is not None


def _row_text(table: Table[Any], row: Any) -> str:
    return "\n".join(f"{figure.head}: {figure.show(row)}" for figure in table.columns if not figure.trend)


def _take(app: FrameApp, text: str) -> None:
    app.tell(f"Copied {len(text)} characters{_keep(app, text)}" if text else "There is no row here to copy.")


def _keep(app: FrameApp, text: str) -> str:
    """Copy a text, and return where else it is: not all terminals take it."""
    app.copy_to_clipboard(text)
    if app.is_served:
        return " to the browser's clipboard"
    try:
        return f"; also in {state_files.keep('copied.txt', text + chr(10))}"
    except OSError as error:
        return f"; not kept in a file: {error.strerror}"


def act(app: FrameApp) -> None:
    """Ask what to do with the row under the cursor, or that of the page, and have it done if that is confirmed.

    What a page is about may have gone on meanwhile: nothing is sent but to the session and statement that was seen.
    """
    from presman.analysis.folds import QueuedFold

    grid, reading, gateway = app.panels.grid, app.monitor.reading, app.gateway
    row = app.reader.row if app.reader.is_open else grid.row if grid is not None else None
    if isinstance(row, QueuedFold):
        app.tell(f"{counted(row.count, 'statement')} in one row: u unfolds them, then choose one.", seconds=8)
        return
    if gateway is None or reading is None or not gateway.offers(row, reading):
        what = "what this page shows" if app.reader.is_open else "this row"
        why = gateway.refusal(row, reading) if gateway is not None and reading is not None else ""
        app.tell(f"No action on {what}: {why or 'actions are on a session or a statement'}.")
        return

    def send(command: Command) -> None:
        if trouble := gateway.note(app.monitor.name, command, "confirmed"):
            app.tell(f"Not sent: {trouble}", severity="error", seconds=12)
            return
        app.feed.act(command)
        app.tell("It is sent as soon as the database answers, within 10 s or not at all.", seconds=5)

    gateway.ask(app, row, reading, send)


def export(app: FrameApp) -> None:
    """Begin to append this view's measure to a CSV file, or end that."""
    monitor = app.monitor
    if monitor.latest is None:
        return
    measure = app.panels.present.measure(app.panels.grid)
    told, well = app.recording.toggle(monitor.name, measure, monitor.latest)
    read_enough(app.feed, app.panels, app.recording)
    app.tell(told, severity="information" if well else "error", seconds=8 if well else 10)
    app.paint_lines()


def tape(app: FrameApp) -> None:
    """Begin a recording with the minutes that the charts show, or end it."""
    monitor, taping = app.monitor, app.tape
    if taping.is_on:
        path = taping.path
        taping.close()
        app.tell(f"Recording ended: presman replay {path}", seconds=8)
        app.paint_lines()
        return
    latest = monitor.latest
    if latest is None:
        return
    taping.begin(monitor.name, latest.kind)
    app.paint_lines()
    app.run_worker(_load_or_tell(app, latest), group="tape")  # keys and polls go on meanwhile


async def _load_or_tell(app: FrameApp, latest: Reading) -> None:
    try:
        await _load(app, latest)
    except Exception as error:
        app.complain(error)


async def _load(app: FrameApp, latest: Reading) -> None:
    """Write the minutes up to the poll that is the newest when there is no other one any more, as fast as it goes."""
    monitor, taping = app.monitor, app.tape
    mine, path = taping.number, taping.path
    earliest = latest.at - timedelta(minutes=monitor.choices.window)
    number, kept, first = max(1, latest.number - len(monitor.timeline) + 1), 0, latest.at
    while (newest := monitor.latest) is not None and number <= newest.number:
        pair = monitor.timeline.moment(newest.number - number, number)
        number += 1
        if pair is not None and pair[1].at >= earliest:
            taping.past(pair)
            first = min(first, pair[1].at)
            kept += 1
            await asyncio.sleep(0)
        while taping.is_behind and taping.number == mine and taping.is_on:
            await asyncio.sleep(SOON)
        if taping.number != mine or not taping.is_on:
            return
    taping.loaded()
    since = spelled((latest.at - first).total_seconds())
    app.tell(f"Recording to {path}, from {since} ago on ({counted(kept, 'poll')}); R ends it", seconds=8)


def may_record(app: FrameApp) -> bool:
    """Once there is something to record, and that is no recording itself; where the file would be the user's own."""
    return has_data(app) and app.monitor.link.state is not LinkState.REPLAY and not app.is_served


def why_not_record(app: FrameApp) -> str:
    """Return why nothing is recorded."""
    return (
        "A recording would be written on the host where presman runs."
        if app.is_served
        else "There is nothing to record here."
    )


def may_act(app: FrameApp) -> bool:
    """Where acting was allowed, on a row of the newest poll or on the page about one."""
    return not why_not_act(app)


def why_not_act(app: FrameApp) -> str:
    """Return what is missing for acting, "" if nothing is."""
    if app.is_served:
        return "Actions are not possible from a browser."
    if app.gateway is None:
        return "Actions need --allow-actions: presman was started without it."
    if not has_data(app):
        return NO_DATA
    if app.monitor.choices.behind:
        return "Actions need the newest poll: press End."
    if app.reader.is_open and app.reader.row is None:
        return "This page is about no session or statement: q goes back to the tables."
    return ""


COPY = AppKey(
    Key("copy", "c", "c", "copy", "Copy the page or the row: to the clipboard (OSC 52) and to a file. On the tab "
        "Parallel: the command that would let the queue's head start, or end the running statement."),
    copy, has_data, NO_DATA,
)  # fmt: skip
COPY_TO_DO = AppKey(
    Key("copy_to_do", "C", "C", "copy DO", "Copy the commands that the line DO names, from any tab. Nothing is run."),
    copy_to_do, has_to_do,
    "The line DO has no command now.",
)  # fmt: skip
ACT = AppKey(
    Key("act", "a", "a", "act", "With --allow-actions: start, switch, cancel or kill the row's statement or session, "
        "after a question."),
    act, may_act, why_not_act,
)  # fmt: skip
EXPORT = AppKey(
    Key("export", "e", "e", "CSV", "Append this tab's measure to a CSV file at each poll; again to end. A browser "
        "then downloads the file."),
    export, has_data, NO_DATA,
)  # fmt: skip
TAPE = AppKey(
    Key("tape", "R", "R", "record", "Write every poll to a recording, starting with the polls of the charts' window "
        "(w); again to end. `presman replay` plays it."),
    tape, may_record, why_not_record,
    relabel=lambda app: "end recording" if app.tape.is_on else "record",
)  # fmt: skip
