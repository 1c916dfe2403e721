"""Step: the thing to do, in the words of DO, and the proofs for the commands that it offers."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple

from presman.base.formats import ago
from presman.rows.commands import Command

# ---- Proof: a closed list of words for screens, `why` and JSON alike


class Proof(Enum):
    """What is proven about an end, or that nothing is proven and a person decides. JSON uses the names.

    Several may hold. `DBA_DECIDES` is added to a proof if work would be lost. It is alone if a command lets a statement
    pass others or cancels it.
    """

    HEAD_STARTS = "that lets the head start"
    HEAD_STARTS_TOGETHER = "together that lets the head start"
    SERVERS_FREED = "that frees servers; which statement gets them is not known"
    QUEUE_SOONER = "the queue empties sooner"
    DBA_DECIDES = "work would be lost, so a person decides"


def in_words(proven: Sequence[Proof]) -> str:
    """Return in words the proofs of an end that is offered, and whether a person has to decide about it."""
    return f"proven: {'; '.join(each.value for each in proven)}"


# ---- Step


class Step(Enum):
    """The kind of thing that is to be done."""

    END = "end"
    LOOK = "look"
    WAIT = "wait"
    CHANGE = "change"


class ToDo(NamedTuple):
    """What to do: a sentence, a `short` one for narrow lines, and the name (not the key) of the tab with details.

    `commands` are those that `C` copies, () if there is nothing to run. `affects` names the sessions that they act on,
    `proven` has the proofs of their effect. `subject` is the group or container that it is about. `beside` is, in
    short, what `text` says about the queue after a step about something else. `between` are words for lines that are
    too narrow for `text` or for `short` and must not lose its point, longest first.
    """

    step: Step
    text: str
    short: str
    tab: str
    commands: tuple[Command, ...] = ()
    affects: str = ""
    subject: str = ""
    proven: tuple[Proof, ...] = ()
    beside: str = ""
    between: tuple[str, ...] = ()

    def longer_by(self, more: str) -> ToDo:
        """Return the step with more words at its end, which lines that are too narrow for them leave out."""
        return self._replace(text=f"{self.text}{more}", between=(self.text, *self.between))

    def aged(self, age: float) -> ToDo:
        """Return the step with the age in seconds of the answers that it rests on, 0 for those of the poll."""
        text, short = (f"{words} ({ago(age)})" if age else words for words in (self.text, self.short))
        return self._replace(text=text, short=short)

    @property
    def command(self) -> Command | None:
        """The first command, None without any."""
        return self.commands[0] if self.commands else None

    @property
    def script(self) -> str:
        """All commands as text, one per line."""
        return "\n".join(each.text for each in self.commands)

    @property
    def lines(self) -> list[str]:
        """What to do and, below it, each command with the sessions it acts on, for output without a screen."""
        return [f"DO {self.text}", *(f"   {each.text}  -- affects {self.affects}" for each in self.commands)]
