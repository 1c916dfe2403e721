"""Ways to let the head of a queue start: which running statements to end, and what it would cost.

The rules. A statement helps a head only where the head is short: everybody holds servers of the system's target, only
the same group those of a group's limit, only the same container those of a container's. First come those that are
about to end by themselves: for them one waits. Then idle holders, by servers times idle seconds, because ending them
throws no work away; then those whose end throws away least, by servers times elapsed seconds. If one is not enough, as
few as will do are named together. What may be a monitor's query is not named at all, nor is who waits for another
session: that session comes first. A start is promised only where no other queue could take the servers.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from presman.analysis.advice.candidate import Candidate
from presman.analysis.advice.choice import by_time, covers, in_order
from presman.analysis.advice.contenders import contenders
from presman.analysis.advice.counted import Counted
from presman.analysis.advice.freeing import Freeing, freeing, is_blocker, lost
from presman.analysis.advice.unblock_words import blocked_first, nobody_named, what_helps
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueueHead, RunningStatement, Shortage
from presman.base.release import Release
from presman.records.commands import Command, Victim, for_queued, to_end

LISTED = 12
"""Candidates kept for one head."""


class Unblock(Struct, frozen=True):
    """How to let one head start. The first `needed` of `candidates` do together; 0 if none are known to.

    `commands` act on the waiting statement itself. `sentence` says it all in words. `soon` is in how many seconds all
    that are needed should have ended by themselves, None if that is not so. `blocked` are the statements that hold
    servers the head could use, and wait for another session themselves: none of them is a candidate, whom they wait for
    comes first, and then `needed` is 0. `by_itself` are those that let it start without anybody being ended, as far as
    the time they have left tells, the last to end at the end; () where that is not known. `rivals` are the groups that
    want the same servers and may get them first.
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
    release = release_of(reading)
    counts = Counted.of(reading)
    return tuple(_unblock(head, reading, release, counts) for head in reading.heads)


def release_of(reading: Reading) -> Release | None:
    """Return the database's release, None where V$INSTANCE could not be read."""
    try:
        return Release.parse(reading.header.version)
    except ValueError:
        return None


def _unblock(head: QueueHead, reading: Reading, release: Release | None, counts: Counted) -> Unblock:
    who = head.statement
    commands = for_queued(Victim(who.inst_id, who.sid, who.serial, who.sql_id), release)
    shortages = head.shortages
    if not shortages:
        return Unblock(head, (), 0, commands, nobody_named(head))
    certain = [each for each in reading.running if each.certain]
    helpers = [helper for each in certain if (helper := freeing(each, shortages, counts))]
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    helpers = [each for each in helpers if not each.statement.blocker]
    chosen, others = in_order(helpers, blocked, [each.short for each in shortages])
    found = tuple(_candidate(each, shortages, release) for each in (*chosen, *others)[:LISTED])
    needed = len(chosen)
    ends = [each.ends_in for each in found[:needed]]
    soon = max(ends) if ends and None not in ends else None  # type: ignore[type-var]
    by_itself = tuple(each.statement for each in by_time(helpers, [each.short for each in shortages]))
    freed = by_itself if soon is not None else tuple(each.statement for each in found[:needed]) or by_itself
    rivals = contenders(head, freed, reading) if freed else ()
    doubtful = len(reading.running) - len(certain)
    sentence = blocked_first(blocked) if blocked and soon is None else what_helps(found, needed, doubtful, rivals)
    return Unblock(head, found, needed, commands, sentence, soon, blocked, by_itself, rivals)


def _candidate(helper: Freeing, shortages: Sequence[Shortage], release: Release | None) -> Candidate:
    each = helper.statement
    return Candidate(
        statement=each,
        frees=min(helper.low),
        perhaps=min(helper.high),
        enough=covers([helper], [shortage.short for shortage in shortages]),
        lost=lost(each),
        commands=() if helper.ends_in is not None else commands_to_end(each, release),
        ends_in=helper.ends_in,
    )


def commands_to_end(statement: RunningStatement, release: Release | None) -> tuple[Command, ...]:
    """Return what ends a running statement. What its coordinator executes is cancelled only if it is that statement."""
    shows = statement.session_sql_id
    victim = Victim(statement.inst_id, statement.sid, statement.serial, shows)
    return to_end(victim, release, idle=statement.idle is not None or shows != statement.sql_id)
