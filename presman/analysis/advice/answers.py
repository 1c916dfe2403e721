"""Answers: the statements whose end is offered to let a head start, and why others are not offered.

Everything that shows a command that ends a session for a queue uses this decision: TO START IT, the list of copies, the
pages, `why`, JSON and report. DO requires more: that no work is lost.

A statement is offered only if it is proven that its end helps. One proof is that it certainly frees all servers that
the head lacks, alone or with the statements named beside it, and that no other queue takes turns with the head for
them. The other is a forecast that the queue empties sooner. A statement is never offered if its end makes other work
fail, too, if it pauses between two fetches, or if it works while the end of an idle holder is enough. No statement is
offered while another session must be checked first, or while the head should start by itself soon. No work is thrown
away while a statement that would be enough may end by itself because its current step is nearly done.
"""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.ending import NEARLY_DONE, WORKS, ending
from presman.analysis.advice.kept import queues_want, still_short
from presman.analysis.advice.step import Proof
from presman.analysis.readings.forecast_readings import helps_none, is_proven
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead
from presman.base.formats import counted, duration, in_about, listed

NAMED = 3
"""The number of candidates offered beside each other, each of which is enough alone: ① to ③, least loss first."""


def answered(found: Unblock, reading: Reading) -> Unblock:
    """Return `found` with commands for the candidates that are answers, and the reason for the others."""
    none_offered, waits = next(_why_none(found, reading), ""), found.may_end or _ends_not_known(reading)
    chosen = found.candidates[: found.needed]
    objections = [_why_not_this(each, waits) for each in chosen]
    objected = next((why for each, why in zip(chosen, objections, strict=True) if why and each.ends_in is None), "")
    beside = f"not enough alone, and of another that would have to end: {objected}" if objected else ""
    # The DBA may choose among several that are enough alone, so more than the least harmful one is offered.
    alone = [each for each in found.candidates if _is_like(each, chosen) and not _why_not_this(each, waits)][:NAMED]

    def why_not(index: int, each: Candidate) -> str:
        """Return why ending a candidate is not offered, as far as its servers decide that; "" if it is enough."""
        if each.ends_in is not None or each.refused or each.statement.kind is not None:
            return _why_not_this(each, waits)
        if none_offered:
            return none_offered
        if index < found.needed:
            return objections[index] or beside
        if each in alone and found.needed == 1:
            return ""
        return _why_not_this(each, waits) or _why_not_beside(each, found, reading)

    why = [why_not(index, each) for index, each in enumerate(found.candidates)]
    candidates = (_with_commands(each, no, found, reading) for each, no in zip(found.candidates, why, strict=True))
    return replace(found, candidates=tuple(candidates))


def _ends_not_known(reading: Reading) -> str:
    """Return that V$SESSION_LONGOPS did not answer, so it may hide that a statement is nearly done; "" if it did."""
    silent = reading.unanswered("V$SESSION_LONGOPS")
    return f"whether one that works ends by itself soon is not known ({silent})" if silent else ""


def _with_commands(each: Candidate, why: str, found: Unblock, reading: Reading) -> Candidate:
    """Return a candidate with its commands and their proofs, or with the reason why there are none."""
    proven = tuple(_proofs(each, found, is_enough=not why))
    commands = ending(each.statement, reading).commands if proven else ()
    return replace(each, commands=commands, proven=proven, why_not="" if proven else why)


def _proofs(each: Candidate, found: Unblock, *, is_enough: bool) -> Iterator[Proof]:
    """Yield the proofs for a candidate's end, none if it is not offered."""
    # If other queues may take the servers first, only that they become free is certain.
    together = is_enough and found.needed > 1
    if is_enough and found.rivals:
        yield Proof.SERVERS_FREED
    elif is_enough:
        yield Proof.HEAD_STARTS_TOGETHER if together else Proof.HEAD_STARTS
    may_end = each.ends_in is None and not each.objection and not found.checks_blocker_first
    if is_proven(found.effect if together else each.effect) and (is_enough or may_end):
        yield Proof.QUEUE_SOONER
    if is_enough and each.objection:
        yield Proof.DBA_DECIDES


def _why_none(found: Unblock, reading: Reading) -> Iterator[str]:
    """Yield the reasons that keep every statement from being offered, nothing if it depends on the statement."""
    if found.unknown:
        yield f"who holds servers is not known: {found.unknown}"
    if found.doubt is not None:
        yield str(found.doubt)
    if found.leaves_soon:
        yield f"the head {found.leaves_soon}"
    elif found.soon is not None:
        yield f"the head {'may' if found.wait is None else 'should'} start by itself {in_about(found.soon)}"
    if found.checks_blocker_first:
        most = max(found.blocked, key=lambda each: each.servers)
        yield f"look at {most.blocker} first: {most.who}, which also holds servers, waits for it"
    if found.itself is not None:
        yield f"{found.itself.who} is queued behind itself"
    if found.head.cause is Cause.NEVER_FITS:
        yield "a statement too large for its limit may not start even then"
    if found.needed:
        yield from _why_not_now(found, reading)


def _why_not_now(found: Unblock, reading: Reading) -> Iterator[str]:
    """Yield why even candidates that hold enough servers are not offered."""
    chosen = found.candidates[: found.needed]
    if early := too_early(found):
        yield f"the head {early}"
    if found.turns:
        yield f"{queues_want(found.turns, reading, ' the same servers')}: {found.order}"
    if found.unsure:
        yield found.unsure
    if (silent := reading.unanswered("V$RSRCMGRMETRIC")) and any(each.statement.idle is not None for each in chosen):
        yield f"whether other queues wanted these servers a minute ago is not known ({silent})"
    if found.rivals_too_large:
        yield f"{listed(found.rivals_too_large)} may come first and want more than that frees"
    if found.rivals and helps_none(found.effect if found.needed > 1 else found.candidates[0].effect):
        yield NO_USE


NO_USE = "ending it should not let any statement start sooner"


def _why_not_this(each: Candidate, waits: str) -> str:
    """Return the reason against ending this candidate.

    Lost work is no reason, unless the DBA should wait for a statement that may end by itself; `waits` names it.
    """
    if each.ends_in is not None:
        return f"it should end by itself {in_about(each.ends_in)}"
    return each.refused or (waits if each.objection == WORKS else each.objection)


def _is_like(each: Candidate, chosen: Sequence[Candidate]) -> bool:
    """Whether a candidate is enough alone, and loses no work if a chosen one loses none."""
    return each.enough and (each.statement.idle is not None or any(one.statement.idle is None for one in chosen))


def _why_not_beside(each: Candidate, found: Unblock, reading: Reading) -> str:
    """Return why a candidate is not offered beside the chosen ones."""
    if not each.enough:
        return too_little(each, found.head, reading)
    if all(one.statement.idle is not None for one in found.candidates[: found.needed]):
        return "ending an idle holder is enough, and loses no work"
    return "those above are enough"


def too_little(each: Candidate, head: QueueHead, reading: Reading) -> str:
    """Return the sentence that ending a candidate does not free enough for a head, with "perhaps" if it may."""
    missing = max((one.short for one in head.shortages), default=0)
    perhaps = "" if still_short([each.statement], head, reading) else "perhaps "
    return f"{perhaps}not enough alone: it frees {each.frees} of {counted(missing, 'server')}"


def too_early(found: Unblock) -> str:
    """Return the sentence that a head has just come and may start before a DBA decides; "" if it has not."""
    waited = found.head.statement.waited
    is_new = waited is not None and waited < NEARLY_DONE
    return f"has waited only {duration(waited)}: too early to end a session for it" if is_new else ""
