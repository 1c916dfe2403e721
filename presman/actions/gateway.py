"""The one way in for a screen that may act: what is offered, the dialog, and who carries it out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.app import App

from presman.actions.dialog import ActionDialog
from presman.actions.offers import offers, refusal, remarks
from presman.actions.performer import Performer
from presman.analysis.readings.reading import Reading
from presman.records.commands import Command


class Gateway:
    """Given to the monitor only where actions were allowed."""

    def __init__(self, performer: Performer | None = None) -> None:
        self._performer = performer or Performer()
        self.carry_out = self._performer.carry_out

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line about a command into the log of what was done; return why that cannot be done, "" if it is."""
        return self._performer.note(database, command, text)

    def offers(self, row: Any, reading: Reading) -> bool:
        """Whether something can be done with a row."""
        return bool(offers(row, reading))

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why nothing can be done with a session or statement, "" where something can or the row is neither."""
        return refusal(row, reading)

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask what to do with a row, and `send` what was confirmed."""
        commands = offers(row, reading)
        about = f"{row.user} {row.inst_id}:{row.sid},{row.serial} in {row.group}, SQL_ID {row.sql_id or '-'}"
        about = "\n".join([about, *remarks(row, reading)])

        def answered(command: Command | None) -> None:
            if command is not None:
                send(command)

        app.push_screen(ActionDialog(about, commands, cluster=len(reading.header.instances) > 1), answered)
