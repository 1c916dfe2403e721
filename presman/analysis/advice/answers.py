"""Answers: the one decision whose end is offered to let a head start, and why that of others is not.

Whatever shows a command that ends somebody for a queue reads this: TO START IT, the list of copies, the pages, `why`,
JSON and report. DO asks for more: that no work is lost.

Somebody is offered only if it is proven that his end helps. Either he certainly frees all that the head is short of,
alone or together with those named beside him, and no other queue takes turns with it for these servers; or the forecast
proves that the queue empties sooner. Never offered is anybody whose end makes more fail than a statement, who pauses
between two fetches, or who works while the end of an idle holder is enough. Nobody at all is offered while another
session has to be looked at first, or while the head should start by itself soon; nobody's work is thrown away while
somebody may end by himself with the step that is nearly done, who would be enough.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.ending import NEARLY_DONE, WORKS, ending
from presman.analysis.advice.kept import who_wants
from presman.analysis.advice.step import Proof
from presman.analysis.readings.forecast_readings import helps_nobody, is_proven
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause
from presman.base.formats import counted, duration, in_about, listed

NAMED = 3
"""Those of whom each would do alone that are offered beside each other: ① to ③, who lose least."""


def answered(found: Unblock, reading: Reading) -> Unblock:
    """Return it with commands for the candidates who are answers, and why there is none for the others."""
    nobody = next(_why_nobody(found, reading), "")
    chosen = found.candidates[: found.needed]
    apart = [_why_not_he(each, found.may_end) for each in chosen]
    hindered = next((why for each, why in zip(chosen, apart, strict=True) if why and each.ends_in is None), "")
    alone = [each for each in found.candidates if _is_like(each, chosen) and not _why_not_he(each, found.may_end)][
        :NAMED
    ]

    def why_not(index: int, each: Candidate) -> str:
        """Return why the servers that a candidate holds do not make him an answer, "" where they do."""
        if each.ends_in is not None or each.refused:
            return _why_not_he(each, found.may_end)
        if nobody:
            return nobody
        if index < found.needed:
            return apart[index] or (hindered and f"not enough alone, and of another one: {hindered}")
        if each in alone and found.needed == 1:
            return ""
        return _why_not_he(each, found.may_end) or _why_not_beside(each, found)

    why = [why_not(index, each) for index, each in enumerate(found.candidates)]
    told = (_told(each, no, found, reading) for each, no in zip(found.candidates, why, strict=True))
    return replace(found, candidates=tuple(told))


def _told(each: Candidate, why: str, found: Unblock, reading: Reading) -> Candidate:
    """Return a candidate with commands and what is proven of them, else with why there are none."""
    proven = tuple(_proofs(each, found, is_enough=not why))
    commands = ending(each.statement, reading).commands if proven else ()
    return replace(each, commands=commands, proven=proven, why_not="" if proven else why)


def _proofs(each: Candidate, found: Unblock, *, is_enough: bool) -> Iterator[Proof]:
    """Yield what is proven of a candidate's end, nothing where he is not offered."""
    together = is_enough and found.needed > 1
    if is_enough and found.rivals:
        yield Proof.SERVERS_FREED
    elif is_enough:
        yield Proof.HEAD_STARTS_TOGETHER if together else Proof.HEAD_STARTS
    may_end = each.ends_in is None and not each.objection and not found.looks_first
    if is_proven(found.effect if together else each.effect) and (is_enough or may_end):
        yield Proof.QUEUE_SOONER
    if is_enough and each.objection:
        yield Proof.DBA_DECIDES


def _why_nobody(found: Unblock, reading: Reading) -> Iterator[str]:
    """Yield why nobody is offered to be ended for a head, nothing where that depends on who it is."""
    if found.unknown:
        yield f"who holds servers is not known: {found.unknown}"
    if found.by_forecast:
        yield f"the head {found.by_forecast}"
    elif found.soon is not None:
        yield f"the head {'may' if found.wait is None else 'should'} start by itself {in_about(found.soon)}"
    if found.looks_first:
        most = max(found.blocked, key=lambda each: each.servers)
        yield f"look at {most.blocker} first: {most.who} waits for it"
    if found.itself is not None:
        yield f"{found.itself.who} is queued behind itself"
    if found.head.cause is Cause.NEVER_FITS:
        yield "that one too large for its limit starts then is not proven"
    if found.needed:
        yield from _why_not_now(found, reading)


def _why_not_now(found: Unblock, reading: Reading) -> Iterator[str]:
    """Yield why not even those are offered who hold enough."""
    if is_new(found):
        yield f"the head has waited for {duration(found.head.statement.waited)} only"
    if found.turns:
        yield f"{who_wants(found.turns, reading, ' the same servers')}: {found.order}"
    if found.unsure:
        yield found.unsure
    if found.in_vain:
        yield f"{listed(found.in_vain)} may be served first and want more than that"
    if found.rivals and helps_nobody(found.effect if found.needed > 1 else found.candidates[0].effect):
        yield NO_USE


NO_USE = "nobody should start sooner if it is ended"


def _why_not_he(each: Candidate, waits: str) -> str:
    """Return what speaks against the end of a candidate himself.

    That his work would be lost does not forbid it, but where one `waits` for who may end by himself.
    """
    if each.ends_in is not None:
        return f"it should end by itself {in_about(each.ends_in)}"
    return each.refused or (waits if each.objection == WORKS else each.objection)


def _is_like(each: Candidate, chosen: Sequence[Candidate]) -> bool:
    """Whether a candidate would do alone, and loses nothing if the one chosen does not."""
    return each.enough and (each.statement.idle is not None or any(one.statement.idle is None for one in chosen))


def _why_not_beside(each: Candidate, found: Unblock) -> str:
    """Return why one is not offered beside those who are chosen."""
    missing = max((one.short for one in found.head.shortages), default=0)
    if not each.enough:
        return f"not enough alone: it frees {each.frees} of {counted(missing, 'server')}"
    if all(one.statement.idle is not None for one in found.candidates[: found.needed]):
        return "an idle holder is enough, and no work is lost by that"
    return "those named first are enough"


def is_new(found: Unblock) -> bool:
    """Whether a head has just come: it may have started before anybody has decided."""
    waited = found.head.statement.waited
    return waited is not None and waited < NEARLY_DONE
