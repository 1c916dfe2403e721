"""Ways to let the head of a queue start, and the running statements that may be ended, or waited for, for that."""

from __future__ import annotations

from msgspec import Struct

from presman.analysis.readings.statement_readings import QueueHead, RunningStatement
from presman.rows.commands import Command


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


class Unblock(Struct, frozen=True):
    """How to let one head start. The first `needed` of `candidates` do together; 0 if none are known to.

    `commands` act on the waiting statement itself. `sentence` says it all in words. `soon` is in how many seconds all
    that are needed should have ended by themselves, None if that is not so. `blocked` are the statements that hold
    servers the head could use, and wait for another session themselves: none of them is a candidate, whom they wait for
    comes first, and then `needed` is 0. `by_itself` are those that let it start without anybody being ended, as far as
    the time they have left tells, the last to end at the end; () where that is not known. `rivals` are the groups that
    want the same servers and may get them first. `itself` is a statement of the head's own session that holds servers
    it is short of: it is queued behind itself. `unknown` is why it is not known who holds servers, "" where it is.
    `in_vain` are the rivals that may be served first and want more than comes free, so that nobody would start.
    """

    head: QueueHead
    candidates: tuple[Candidate, ...]
    needed: int
    commands: tuple[Command, ...]
    sentence: str
    soon: float | None = None
    blocked: tuple[RunningStatement, ...] = ()
    by_itself: tuple[RunningStatement, ...] = ()
    rivals: tuple[str, ...] = ()
    itself: RunningStatement | None = None
    unknown: str = ""
    in_vain: tuple[str, ...] = ()

    @property
    def names_nobody(self) -> bool:
        """Whether the sentence alone says what there is to say: nobody is waited for, or could be ended."""
        named = self.blocked or any(each.is_named for each in self.candidates)
        return not named or bool(self.unknown) or self.itself is not None

    @property
    def refused(self) -> Candidate | None:
        """Who cannot be ended, and whose end alone would do, or is all there is."""
        fixed = next((each for each in self.candidates if each.refused and each.ends_in is None), None)
        return fixed if fixed is not None and (fixed.enough or not self.needed) else None

    @property
    def wait(self) -> float | None:
        """In how many seconds the head should start by itself; None where others may take its servers."""
        return None if self.rivals else self.soon

    @property
    def blockers(self) -> tuple[Candidate, ...]:
        """The candidates that others wait for, who hold servers themselves."""
        names = {each.blocker for each in self.blocked}
        return tuple(each for each in self.candidates if f"{each.statement.inst_id}:{each.statement.sid}" in names)
