"""Gateway from the screens to actions: the commands offered, the dialog, and the runner that carries them out."""

import json
import os
import pwd
import socket
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from presman.actions.remarks import SessionRow, remarks
from presman.analysis.advice.ending import ending, victim_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.session_list import GV_QUERY
from presman.base.formats import ABSENT, spelled
from presman.base.private_files import open_private, state_folder
from presman.base.release import Release
from presman.base.text import clean, one_line
from presman.polling.named_sessions import requests
from presman.polling.poll_events import ActionResult
from presman.rows.commands import Command, CommandKind, Victim, switch
from presman.rows.queries import load
from presman.rows.session_rows import NamedSession, Session
from presman.rows.session_state import is_queued
from presman.sources import OutcomeUnknown, SourceError


class ActionDialog(ModalScreen[Command | None]):
    """Offers commands by digit and returns the confirmed one, None if there is none."""

    CSS = """
    ActionDialog { align: center middle; }
    ActionDialog > Vertical {
        width: 90%; max-width: 130; height: auto; max-height: 100%;
        border: round $error; padding: 0 2; background: $panel; overflow-y: auto; scrollbar-size-vertical: 1;
    }
    ActionDialog Static { height: auto; }
    ActionDialog Input { margin: 1 0 0 0; border: none; height: 1; padding: 0; display: none; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", show=False),
        *(Binding(str(n), f"choose({n})", f"choose {n}", show=False) for n in range(1, 10)),
        Binding("up,k", "scroll(-1)", "scroll up", show=False),
        Binding("down,j", "scroll(1)", "scroll down", show=False),
    ]

    def __init__(self, about: Callable[[Reading], str], commands: Sequence[Command], reading: Reading) -> None:
        super().__init__()
        self._describe = about
        self._about = about(reading)
        self._cluster = len(reading.header.instances) > 1
        self._commands = commands
        self._chosen: Command | None = None

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Static(Content(self._menu()), id="action-text")
            yield Input(placeholder="y and Enter send it, anything else cancels", max_length=3, disabled=True)

    def _menu(self) -> str:
        rows = [f"{n}  {self._kind(each)}\n   {each.text}" for n, each in enumerate(self._commands, start=1)]
        return "\n".join([self._about, "A digit chooses, ↑↓ scroll, Esc leaves. Nothing is sent yet.", "", *rows])

    def arrive(self, reading: Reading) -> None:
        """Show the session as `reading` has it: it keeps running while the user decides."""
        self._about = self._describe(reading)
        if self.is_current:
            self._show()

    def _show(self) -> None:
        text = self._menu() if self._chosen is None else question(self._about, self._chosen)
        self.query_one("#action-text", Static).update(Content(text))

    def _kind(self, command: Command) -> str:
        """Return what a command does. A switch of group works only from the instance of the session."""
        if command.kind is not CommandKind.SWITCH:
            return str(command.kind.value)
        where = f" (works from instance {command.victim.inst_id} only)" if self._cluster else ""
        return f"{command.kind.value} to {command.binds['consumer_group']}{where}"

    def action_choose(self, number: int) -> None:
        """Show the statement of a command and ask for confirmation."""
        if self._chosen is not None:
            return
        if number > len(self._commands):
            self.app.notify(f"There is no command {number} here.")
            return
        self._chosen = self._commands[number - 1]
        self._show()
        line = self.query_one(Input)
        line.display, line.disabled = True, False
        line.focus()

    def action_scroll(self, lines: int) -> None:
        """Scroll to lines that do not fit into a small terminal."""
        self.query_one(Vertical).scroll_relative(y=lines, animate=False)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the command if it was confirmed."""
        if self.is_current:  # a command is sent once, however often Enter is pressed
            self.dismiss(self._chosen if event.value.strip() == "y" else None)

    def action_leave(self) -> None:
        """Close the dialog without a command."""
        if self.is_current:
            self.dismiss(None)


def question(about: str, command: Command) -> str:
    """Return the exact statement with its binds, and its effect."""
    binds = ", ".join(f":{name} = {value!r}" for name, value in command.binds.items())
    sent = f"This will be sent:\n\n  {command.statement}\n  binds: {binds or ABSENT}\n"
    safe = "Its session is read again first; nothing is sent if it has changed. What is done is logged.\n"
    return "\n".join([about, "", sent, command.note, safe, "Type y and Enter to send it."])


# ---- Offers of the dialog: the commands for a row of a table.

MOST = 9
"""Commands offered for one row: each has a digit."""


def available_actions(row: Any, reading: Reading) -> tuple[Command, ...]:
    """Return the commands for a row, the gentlest first; none if the row is not a session or is a parallel server."""
    if not isinstance(row, SessionRow):
        return ()
    if isinstance(row, SessionReading) and row.px_role in {"server", GV_QUERY}:
        return ()  # actions go to the coordinator, not to its servers; a GV$ query of a monitor needs none
    victim = victim_of(row)
    switches = [] if reading.header.autonomous else _switches(victim, row, reading)
    endings = ending(row, reading)
    found = (*endings.commands, *([] if endings.refused else switches))[:MOST]
    return tuple(each._replace(victim=victim) for each in found)


def refusal(row: Any, reading: Reading) -> str:
    """Return why no command is offered for a session or statement, "" if one is or the row is neither."""
    return ending(row, reading).refused if isinstance(row, SessionRow) else ""


def _switches(victim: Victim, row: SessionRow, reading: Reading) -> list[Command]:
    """Return a switch to each other group of the active plan. Groups whose names need quoting are left out."""
    found = []
    for group in reading.cluster_groups():
        if group.in_plan and group.con_id == row.con_id and group.name != row.group:
            try:
                found.append(switch(victim, group.name))
            except ValueError:
                continue
    return found


# ---- Execution of one command: read the victim's identity again, run the statement, log the outcome.

_LONGEST = 500

READ_LIMIT = 10.0
"""Seconds that reading the session again may take. After that the command is not sent: the confirmation is too old."""

MARKED = "ORA-00031"
"""Session marked for kill: it ends once its work is rolled back."""

UNKNOWN = "sent; its result is not known"


class ActionRunner:
    """Carries out commands on a source that can `perform`, one at a time, and logs each.

    Each line appended to the file `log` is a JSON object; `now` is the clock of those lines.
    """

    def __init__(self, log: Path | None = None, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.log = log or default_log()
        self._now = now

    def note(self, database: str, command: Command, text: str) -> str:
        """Log the outcome of a command; return why the log cannot be written, "" if it was."""
        try:
            self._write(database, command, one_line(clean(text), _LONGEST))
        except OSError as error:
            return f"{self.log} cannot be written: {error.strerror or error}"
        return ""

    def carry_out(self, command: Command, source: Any, release: Release) -> ActionResult:
        """Carry out one command. Nothing is sent if the victim has changed or the log cannot be written.

        Raises nothing: the outcome says what went wrong.
        """
        if trouble := self.note(source.name, command, "asked for"):
            return ActionResult(command, False, f"not sent: {trouble}")
        done, text = self._attempt(command, source, release)
        line = one_line(clean(text), _LONGEST)
        trouble = self.note(source.name, command, text)
        return ActionResult(command, done, line if not trouble or trouble in line else f"{line}; {trouble}")

    def _attempt(self, command: Command, source: Any, release: Release) -> tuple[bool, str]:
        """Send a command if nothing has changed; return whether it was done, and a message."""
        begun = time.monotonic()
        reason = self._obstacle(command, source, release)
        if not reason and (took := time.monotonic() - begun) > READ_LIMIT:
            reason = f"reading its session took {spelled(took)}"
        if reason := reason or self.note(source.name, command, "being sent"):
            return False, f"not sent: {reason}"
        try:
            source.perform(command.statement, command.binds)
        except OutcomeUnknown as error:
            return False, f"{UNKNOWN}: {_error_words(error)}"
        except SourceError as error:
            if error.code == MARKED and command.kind is CommandKind.KILL:
                return True, f"done: {MARKED}, marked for kill: it ends as soon as it can"
            return False, f"refused: {_error_words(error)}"
        return True, "done"

    def _obstacle(self, command: Command, source: Any, release: Release) -> str:
        """Return why a command must not be sent, "" if it may be."""
        if not hasattr(source, "perform"):
            return f"{source.name} cannot be acted on"
        try:
            if reason := elsewhere(command, source):
                return reason
            session = self._session(command, source, release)
            return changed(command, session) or in_another_container(command, session, source)
        except SourceError as error:
            return _error_words(error)

    def _session(self, command: Command, source: Any, release: Release) -> Session | None:
        """Read the session again. Raises SourceError if it cannot be read."""
        victim = command.victim
        question = requests(load(release)[NamedSession], [(victim.inst_id, victim.sid)])
        section = source.read(question).sections[0]
        if section.problem is not None:
            raise SourceError(f"its session cannot be read: {section.problem}", retry=False)
        rows = (row for row in section.rows if (row.inst_id, row.sid, row.serial) == victim[:3])
        return next(rows, None)

    def _write(self, database: str, command: Command, outcome: str) -> None:
        """Append one line to the log, which only the user can read. Raises OSError."""
        at, victim = self._now().isoformat(timespec="milliseconds"), command.victim
        entry: dict[str, object] = {"at": at, "by": operating_user(), "database": database, "kind": command.kind.name}
        entry |= {"inst_id": victim.inst_id, "sid": victim.sid, "serial": victim.serial, "sql_id": victim.sql_id}
        entry |= {"statement": command.statement, "binds": dict(command.binds), "outcome": outcome}
        with os.fdopen(open_private(self.log, os.O_APPEND), "a", encoding="utf-8") as file:
            file.write(json.dumps(entry, ensure_ascii=True) + "\n")


class Gateway(ActionRunner):
    """Asks the user what to do, and does it. The monitor has one only with `--allow-actions`."""

    _dialog: ActionDialog | None = None

    def has_actions(self, row: Any, reading: Reading) -> bool:
        """Whether any command can be offered for a row."""
        return bool(available_actions(row, reading))

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why no command is offered for a session or statement, "" if one is or the row is neither."""
        return refusal(row, reading)

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask what to do with a row, and call `send` with the confirmed command."""
        session = f"{row.user} {row.inst_id}:{row.sid},{row.serial} in {row.group}, SQL_ID {row.sql_id or '-'}"

        def about(now: Reading) -> str:
            return "\n".join([session, *remarks(row, now, reading)])

        def answered(command: Command | None) -> None:
            self._dialog = None
            if command is not None:
                send(command)

        self._dialog = ActionDialog(about, available_actions(row, reading), reading)
        app.clear_notifications()  # they would cover the dialog
        app.push_screen(self._dialog, answered)

    def arrive(self, reading: Reading) -> None:
        """Pass a new reading to the open dialog, if there is one."""
        if self._dialog is not None:
            self._dialog.arrive(reading)


def changed(command: Command, session: Session | None) -> str:
    """Return how the victim has changed since the command was offered, "" if it has not."""
    victim = command.victim
    if session is None:
        return f"session {victim.sid},{victim.serial} on instance {victim.inst_id} is no longer there"
    if victim.status and session.status != victim.status:
        return f"it is {session.status} now, was {victim.status}"
    # An idle session executes nothing; it may hold servers for its last statement. There is nothing to cancel.
    idle = session.status != "ACTIVE" and command.kind is not CommandKind.CANCEL
    executes = session.sql_id or (session.prev_sql_id if idle and victim.sql_id else "")
    if executes != victim.sql_id:
        return f"it executes {session.sql_id or 'nothing'} now, not {victim.sql_id or 'nothing'}"
    if None not in (victim.exec_id, session.sql_exec_id) and session.sql_exec_id != victim.exec_id:
        return f"it executes {executes} again: SQL_EXEC_ID {session.sql_exec_id} now, {victim.exec_id} before"
    if victim.queued and not is_queued(session.event, session.state):
        return f"{executes} is not queued any more"
    return ""


def elsewhere(command: Command, source: Any) -> str:
    """Return why a command cannot be sent from this instance, "" if it can: a switch works only on its own instance."""
    if command.kind is not CommandKind.SWITCH or source.instance == command.victim.inst_id:
        return ""
    other = command.victim.inst_id
    return f"it acts on instance {source.instance} only, the session is on {other}: connect to {other} and run it there"


def in_another_container(command: Command, session: Session | None, source: Any) -> str:
    """Return why a command cannot be sent from this container, "" if it can: a switch works only in its own."""
    if command.kind is not CommandKind.SWITCH or session is None or not session.con_id:
        return ""
    here = source.container()
    if here is None or here == session.con_id:
        return ""
    return f"it acts on container {here} only, the session is in {session.con_id}: connect to that one and run it there"


def operating_user() -> str:
    """Return who acts: user@host of the operating system, which environment variables cannot change."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = ""
    return f"{name or f'uid {os.getuid()}'}@{socket.gethostname() or 'localhost'}"


def default_log() -> Path:
    """Return $XDG_STATE_HOME/presman/actions.log. Raises OSError."""
    return state_folder() / "actions.log"


def _error_words(error: SourceError) -> str:
    return f"{error.code} {error}" if error.code and error.code not in str(error) else str(error)
