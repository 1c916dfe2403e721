"""The dialog: what can be done with a row, then the exact statement, which is sent only after a typed y."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from presman.base.formats import ABSENT
from presman.records.commands import Command, CommandKind


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
