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

from msgspec.structs import replace

from presman.analysis.advice.candidate import Candidate, Unblock
from presman.analysis.advice.choice import by_time, covers, in_order
from presman.analysis.advice.contenders import contenders, too_large
from presman.analysis.advice.counted import Counted
from presman.analysis.advice.ending import ending, lost, objection, refusal
from presman.analysis.advice.freeing import Freeing, freeing
from presman.analysis.advice.unblock_words import nobody_named, sentence
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import QueuedStatement, QueueHead, RunningStatement, Shortage
from presman.base.formats import counted

LISTED = 12
"""Candidates kept for one head."""


def unblock(reading: Reading) -> tuple[Unblock, ...]:
    """Return how to let each head of `reading` start, in the order of the heads."""
    if not reading.heads:
        return ()
    counts = Counted.of(reading)
    return tuple(_unblock(head, reading, counts) for head in reading.heads)


def _unblock(head: QueueHead, reading: Reading, counts: Counted) -> Unblock:
    commands = ending(head.statement, reading).commands
    shortages = head.shortages
    if not shortages:
        return Unblock(head, (), 0, commands, nobody_named(head))
    certain = [each for each in reading.running if each.certain]
    helpers = [helper for each in certain if (helper := freeing(each, shortages, counts))]
    itself = next((each.statement for each in helpers if _is_of(each.statement, head.statement)), None)
    helpers = [each for each in helpers if each.statement is not itself]
    unknown = reading.why_unseen("V$PX_SESSION") or ("" if helpers else _unlisted(reading))
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    fixed = [each for each in helpers if each.ends_in is None and refusal(each.statement)]
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
    in_vain = too_large(head, rivals, freed, reading, counts)
    whole = Unblock(head, found, needed, commands, "", soon, blocked, by_itself, rivals, itself, unknown, in_vain)
    return replace(whole, sentence=sentence(whole, len(reading.running) - len(certain)))


def _unlisted(reading: Reading) -> str:
    """Return that V$PX_SESSION does not tell who holds the servers in use, "" if it does."""
    pool, seen = reading.header.servers, sum(each.servers for each in reading.running)
    in_use = pool.in_use if pool.counted is None else pool.counted
    return f"V$PX_SESSION shows {seen} of {counted(in_use, 'server')} in use" if in_use and seen < in_use else ""


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
        objection=objection(each) or doubt,
    )
