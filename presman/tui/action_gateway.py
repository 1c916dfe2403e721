"""Gateway to actions, as the screen needs it. Without one there is no way to act at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from textual.app import App

    from presman.analysis.readings.reading import Reading
    from presman.polling.sampler import CarryOut
    from presman.records.commands import Command


class ActionGateway(Protocol):
    """The way to actions, given to the monitor only where they were allowed."""

    @property
    def carry_out(self) -> CarryOut:
        """What the sampler's thread calls with a confirmed command."""

    def note(self, database: str, command: Command, text: str) -> str:
        """Write a line about a command into the log of what was done; return why that cannot be done, "" if it is."""

    def offers(self, row: Any, reading: Reading) -> bool:
        """Whether something can be done with a row."""

    def refusal(self, row: Any, reading: Reading) -> str:
        """Return why nothing can be done with a session or statement, "" where something can or the row is neither."""

    def ask(self, app: App[Any], row: Any, reading: Reading, send: Callable[[Command], None]) -> None:
        """Ask what to do with a row, and `send` what was confirmed."""
