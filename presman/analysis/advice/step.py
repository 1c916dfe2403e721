"""Step: what is to be done, as DO says it."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from presman.analysis.advice.proof import Proof
from presman.rows.commands import Command


class Step(Enum):
    """What kind of thing is to be done."""

    END = "end"
    LOOK = "look"
    WAIT = "wait"
    CHANGE = "change"


class ToDo(NamedTuple):
    """What to do: a sentence, a `short` one for narrow lines, the name (not the key) of the tab that tells more.

    `commands` are what `C` copies, () where nothing is to be run; `affects` whom they hit, `proven` what is proven of
    them. `subject` is the group or container it is about.
    """

    step: Step
    text: str
    short: str
    tab: str
    commands: tuple[Command, ...] = ()
    affects: str = ""
    subject: str = ""
    proven: tuple[Proof, ...] = ()

    @property
    def command(self) -> Command | None:
        """The first command, None where nothing is to be run."""
        return self.commands[0] if self.commands else None

    @property
    def script(self) -> str:
        """All commands as text, a line each."""
        return "\n".join(each.text for each in self.commands)

    @property
    def lines(self) -> list[str]:
        """What to do, and below it each command with whom it hits, as a text without a screen has it."""
        return [f"DO {self.text}", *(f"   {each.text}  -- affects {self.affects}" for each in self.commands)]
