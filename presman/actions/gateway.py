"""The one way in for a screen that may act: what is offered, the dialog, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from presman.actions.action_runner import ActionRunner
from presman.analysis.advice.ending import ending, ends_in, victim_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import SessionReading
from presman.analysis.readings.statement_readings import ParallelStatement
from presman.analysis.session_list import GV_QUERY
from presman.base.formats import ABSENT, in_about
from presman.rows.commands import Command, CommandKind, Victim, switch


class ActionDialog(ModalScreen[Command | None]):
    """Offers commands by digit; returns the one that was confirmed, None if none was."""

    CSS = """
    ActionDialog { align: center middle; }
    ActionDialog > Vertical {
        width: 90%; max-width: 130; height: auto; max-height: 90%;
        border: round $error; padding: 0 2; background: $panel;
    }
    ActionDialog Input { margin: 1 0 0 0; border: none; height: 1; padding: 0; display: none; }
    """
    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "cancel", show=False),
        *(Binding(str(n), f"choose({n})", f"choose {n}", show=False) for n in range(1, 10)),
    ]

    def __init__(self, about: str, commands: Sequence[Command], *, cluster: bool = False) -> None:
        super().__init__()
        self._about = about
        self._cluster = cluster
        self._commands = commands
        self._chosen: Command | None = None

    def compose(self) -> ComposeResult:
        """Lay the dialog out."""
        with Vertical():
            yield Static(Content(self._menu()), id="action-text")
            yield Input(placeholder="y and Enter send it, anything else cancels", max_length=3, disabled=True)

    def _menu(self) -> str:
        rows = [f"{n}  {self._kind(each)}\n   {each.text}" for n, each in enumerate(self._commands, start=1)]
        return "\n".join([self._about, "", *rows, "", "A digit chooses, Esc leaves. Nothing is sent yet."])

    def _kind(self, command: Command) -> str:
        """Say what a command does; a switch of group works from the session's own instance alone."""
        if command.kind is not CommandKind.SWITCH:
            return str(command.kind.value)
        where = f" (works from instance {command.victim.inst_id} only)" if self._cluster else ""
        return f"{command.kind.value} to {command.binds['consumer_group']}{where}"

    def action_choose(self, number: int) -> None:
        """Show the statement of a command and ask."""
        if self._chosen is not None or not 0 < number <= len(self._commands):
            return
        self._chosen = self._commands[number - 1]
        self.query_one("#action-text", Static).update(Content(question(self._about, self._chosen)))
        line = self.query_one(Input)
        line.display, line.disabled = True, False
        line.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the command if it was confirmed."""
        if self.is_current:  # what is sent is sent once, however often Enter is pressed
            self.dismiss(self._chosen if event.value.strip() == "y" else None)

    def action_leave(self) -> None:
        """Return nothing."""
        if self.is_current:
            self.dismiss(None)


def question(about: str, command: Command) -> str:
    """Return the exact statement with its binds, and what it does."""
    binds = ", ".join(f":{name} = {value!r}" for name, value in command.binds.items())
    return "\n".join([
        about, "", "This will be sent:", "", f"  {command.statement}", f"  binds: {binds or ABSENT}", "", command.note,
        "Its session is read again first; nothing is sent if it has changed. What is done is logged.", "",
        "Type y and Enter to send it.",
    ])  # fmt: skip


class Gateway:
    """Given to the monitor only where actions were allowed."""

    def __init__(self, runner: ActionRunner | None = None) -> None:
        self._runner = runner or ActionRunner()
        self.carry_out = self._runner.carry_out

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line about a command into the log of what was done; return why that cannot be done, "" if it is."""
        return self._runner.note(database, command, text)

    def has_actions(self, row: Any, reading: Reading) -> bool:
        """Whether something can be done with a row."""
        return bool(available_actions(row, reading))

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why nothing can be done with a session or statement, "" where something can or the row is neither."""
        return refusal(row, reading)

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask what to do with a row, and `send` what was confirmed."""
        commands = available_actions(row, reading)
        about = f"{row.user} {row.inst_id}:{row.sid},{row.serial} in {row.group}, SQL_ID {row.sql_id or '-'}"
        about = "\n".join([about, *remarks(row, reading)])

        def answered(command: Command | None) -> None:
            if command is not None:
                send(command)

        app.push_screen(ActionDialog(about, commands, cluster=len(reading.header.instances) > 1), answered)


# ---- Offers of the dialog: the commands for a row of a table.

_Row = ParallelStatement | SessionReading

MOST = 9
"""Commands offered for one row: each has a digit."""


def available_actions(row: Any, reading: Reading) -> tuple[Command, ...]:
    """Return the commands for a row, the gentlest first; none for rows that are no session's, or are a server's."""
    if not isinstance(row, _Row):
        return ()
    if isinstance(row, SessionReading) and row.px_role in {"server", GV_QUERY}:
        return ()  # what is done to a server, is done to its coordinator; and a monitor is nobody's trouble
    victim = victim_of(row)
    switches = [] if reading.header.autonomous else _switches(victim, row, reading)
    own = ending(row, reading)
    found = (*own.commands, *([] if own.refused else switches))[:MOST]
    return tuple(each._replace(victim=victim) for each in found)


def refusal(row: Any, reading: Reading) -> str:
    """Return why nothing is offered for a session or statement, "" where something is or the row is neither."""
    return ending(row, reading).refused if isinstance(row, _Row) else ""


def remarks(row: Any, reading: Reading) -> tuple[str, ...]:
    """Return what to know before anything is done to a row: who blocks it, or that it ends by itself."""
    blocker = getattr(row, "blocker", "")
    found = []
    if blocker:
        who = next((each for each in reading.sessions if f"{each.inst_id}:{each.sid}" == blocker), None)
        name = f"{who.user} {blocker}, {who.status.lower()}" if who is not None else f"session {blocker}"
        found.append(f"It is blocked by {name}: look at that session first.")
    own = (row.inst_id, row.sid, row.serial)
    running = next((each for each in reading.running if (each.inst_id, each.sid, each.serial) == own), None)
    left = ends_in(running) if running is not None else None
    if left is not None:
        found.append(f"It should end by itself {in_about(left)}.")
    kind = getattr(row, "kind", None)
    if kind is not None:
        found.append(f"It is {kind.name}: {kind.loss} if it is ended.")
    return tuple(found)


def _switches(victim: Victim, row: ParallelStatement | SessionReading, reading: Reading) -> list[Command]:
    """Return a switch to each other group of the active plan; a name that is not a plain one is left out."""
    found = []
    for group in reading.cluster_groups():
        if group.in_plan and group.con_id == row.con_id and group.name != row.group:
            try:
                found.append(switch(victim, group.name))
            except ValueError:
                continue
    return found
