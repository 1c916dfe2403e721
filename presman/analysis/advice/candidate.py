"""A running statement that may be ended, or waited for, so that the head of a queue starts."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.readings.statement_readings import RunningStatement
from presman.records.commands import Command


class Candidate(Struct, frozen=True):
    """A running statement whose end helps a head.

    `frees` is what it certainly frees under every limit that binds, `perhaps` what it may free: they differ where it
    cannot be told whether the queue counts it (it may have bypassed the queue). `lost` is the work its end throws away
    in server seconds, 0 for an idle holder, None where it is not known for how long it has run. `ends_in` is the
    seconds after which it should end by itself, None unless that is soon; then no `commands`: one waits for it.
    `refused` is why no command is offered, "" where one is; `objection` why DO does not name it to be ended, "" where
    nothing speaks against it.
    """

    statement: RunningStatement
    frees: int
    perhaps: int
    enough: bool
    lost: float | None
    commands: tuple[Command, ...]
    ends_in: float | None = None
    refused: str = ""
    objection: str = ""

    @property
    def is_named(self) -> bool:
        """Whether one may end it, or wait for it."""
        return bool(self.commands) or self.ends_in is not None
