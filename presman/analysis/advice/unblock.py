"""Ways to let the head of a queue start: which running statements to end, and what it would cost.

The rules. A statement helps a head only where the head is short: everybody holds servers of the system's target, only
the same group those of a group's limit, only the same container those of a container's. First come those that are
about to end by themselves: for them one waits. Then idle holders, by servers times idle seconds, because ending them
throws no work away; then those whose end throws away least, by servers times elapsed seconds; last sessions that do
more than a user's statement, such as RMAN's. If one is not enough, as few as will do are named together. What may be a
monitor's query is not named at all, nor is who waits for another session: that session comes first. Who cannot be
ended (a background process, a session marked as killed) is told as that. A start is promised only where no other queue
could take the servers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.advice.candidate import Candidate
from presman.analysis.advice.choice import by_time, covers, in_order
from presman.analysis.advice.contenders import contenders
from presman.analysis.advice.counted import Counted
from presman.analysis.advice.ending import ending, lost, objection
from presman.analysis.advice.freeing import Freeing, freeing, is_blocker
from presman.analysis.advice.unblock_words import nobody_named, sentence
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement, QueueHead, RunningStatement, Shortage
from presman.records.commands import Command

LISTED = 12
"""Candidates kept for one head."""


class Unblock(Struct, frozen=True):
    """How to let one head start. The first `needed` of `candidates` do together; 0 if none are known to.

    `commands` act on the waiting statement itself. `sentence` says it all in words. `soon` is in how many seconds all
    that are needed should have ended by themselves, None if that is not so. `blocked` are the statements that hold
    servers the head could use, and wait for another session themselves: none of them is a candidate, whom they wait for
    comes first, and then `needed` is 0. `by_itself` are those that let it start without anybody being ended, as far as
    the time they have left tells, the last to end at the end; () where that is not known. `rivals` are the groups that
    want the same servers and may get them first. `itself` is a statement of the head's own session that holds servers
    it is short of: it queues behind itself. `unknown` is why it is not known who holds servers, "" where it is.
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

    @property
    def names_nobody(self) -> bool:
        """Whether the sentence alone says what there is to say: nobody is waited for, or could be ended."""
        named = self.blocked or any(each.is_named for each in self.candidates)
        return not named or bool(self.unknown) or self.itself is not None

    @property
    def wait(self) -> float | None:
        """In how many seconds the head should start by itself; None where others may take its servers."""
        return None if self.rivals else self.soon

    @property
    def blockers(self) -> tuple[Candidate, ...]:
        """The candidates that others wait for, who hold servers themselves."""
        return tuple(each for each in self.candidates if is_blocker(each.statement, self.blocked))


def unblock(reading: Reading) -> tuple[Unblock, ...]:
    """Return how to let each head of `reading` start, in the order of the heads."""
    if not reading.heads:
        return ()
    counts = Counted.of(reading)
    return tuple(_unblock(head, reading, counts) for head in reading.heads)


def _unblock(head: QueueHead, reading: Reading, counts: Counted) -> Unblock:
    commands = ending(head.statement, reading).commands
    unknown = next((each.why for each in reading.unseen if each.view.endswith("V$PX_SESSION")), "")
    shortages = head.shortages
    if not shortages:
        return Unblock(head, (), 0, commands, nobody_named(head))
    certain = [each for each in reading.running if each.certain]
    helpers = [helper for each in certain if (helper := freeing(each, shortages, counts))]
    itself = next((each.statement for each in helpers if _is_of(each.statement, head.statement)), None)
    helpers = [each for each in helpers if each.statement is not itself]
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    fixed = [each for each in helpers if each.ends_in is None and ending(each.statement, reading).refused]
    helpers = [each for each in helpers if not each.statement.blocker and each not in fixed]
    short = [each.short for each in shortages]
    chosen, others = in_order(helpers, blocked, short)
    found = tuple(_candidate(each, shortages, reading) for each in (*chosen, *others, *fixed)[:LISTED])
    needed = len(chosen)
    ends = [each.ends_in for each in found[:needed]]
    soon = max(ends) if ends and None not in ends else None  # type: ignore[type-var]
    by_itself = tuple(each.statement for each in by_time(helpers, short))
    freed = by_itself if soon is not None else tuple(each.statement for each in found[:needed]) or by_itself
    rivals = contenders(head, freed, reading, counts) if freed else ()
    whole = Unblock(head, found, needed, commands, "", soon, blocked, by_itself, rivals, itself, unknown)
    return replace(whole, sentence=sentence(whole, len(reading.running) - len(certain)))


def _is_of(statement: RunningStatement, queued: QueuedStatement) -> bool:
    """Whether a statement's servers are kept by the session that is queued."""
    return (statement.inst_id, statement.sid, statement.serial) == (queued.inst_id, queued.sid, queued.serial)


def _candidate(helper: Freeing, shortages: Sequence[Shortage], reading: Reading) -> Candidate:
    each = helper.statement
    found = ending(each, reading)
    doubt = "" if helper.low == helper.high else "whether the queue counts its servers here is not known"
    return Candidate(
        statement=each,
        frees=min(helper.low),
        perhaps=min(helper.high),
        enough=covers([helper], [shortage.short for shortage in shortages]),
        lost=lost(each),
        commands=() if helper.ends_in is not None else found.commands,
        ends_in=helper.ends_in,
        refused=found.refused,
        objection=objection(each, reading) or doubt,
    )
