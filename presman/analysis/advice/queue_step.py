"""Step to take about the parallel queue: the session to end so that a head starts, or to check, or how long to wait.

Rules: DO says to end a session only if it is an idle holder without an objection (`ending.objection`), and only if this
is proven to help. Either it keeps the servers that a head lacks, alone or with other idle holders, and no other queue
takes these servers; or the forecast proves that the queue empties enough sooner (`EndingEffect.proven`). If several
queues want the same servers, it changes faster than a DBA can decide whether an end lets a head start. Then only the
forecast is a proof; without it DO names the idle holder in a sentence that stays true while servers are taken and
freed, and TO START IT describes the current effect of ending it. :mod:`head_step` has the step for one head if no
session is to be ended.
"""

from collections.abc import Sequence
from datetime import timedelta

from msgspec.structs import replace

from presman.analysis.advice.answers import too_early
from presman.analysis.advice.contenders import Unblock, want_the_same
from presman.analysis.advice.ending import end_is_late, ending, idle_to_end, saves_little
from presman.analysis.advice.head_step import head_in_words, head_step, lasting_cure, queue_name
from presman.analysis.advice.step import Proof, Step, ToDo
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.forecast_readings import EndingEffect, is_proven
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement, urgency
from presman.base.formats import clock, counted, listed

_FIRST = (Step.END, Step.LOOK, Step.CHANGE, Step.WAIT)


def queue_step(reading: Reading, *, decides: bool = True) -> ToDo | None:
    """Return the step for the parallel queue.

    First comes a head that can be helped, then one that does not start by itself and whose servers an idle holder
    keeps that TO START IT names, else the most urgent head. Without `decides`, the step names no session that a person
    would have to decide to end.
    """
    found = unblock(reading) if decides else map(_without_decisions, unblock(reading))
    heads = sorted(found, key=lambda each: urgency(each.head))
    if not heads:
        return None
    ended = _end_for_a_head(heads, reading) or _end_by_forecast(heads, reading)
    steps = [head_step(each, reading) for each in heads]
    # A head that should start by itself needs nothing from an idle holder.
    idle = [each.wait is None and any(one.statement.idle is not None for one in each.candidates) for each in heads]
    # The heads are in order of urgency: of equal steps, `index` takes that of the most urgent head.
    ranks = [(_FIRST.index(step.step), not keeps) for step, keeps in zip(steps, idle, strict=True)]
    best = ended or steps[ranks.index(min(ranks))]
    if ended is None and len(heads) > 1:  # WHY may show another head first, that of the row under the cursor
        best = _naming_its_queue(best)
    starts_soon = heads[0].wait is not None and not heads[0].leaves_soon
    turns = None if best.step is not Step.WAIT or starts_soon else _idle_while_queues_take_turns(heads, reading)
    return turns or (_beside_the_first(best, heads[0], steps[0]) if steps[0].step is Step.WAIT else best)


def _without_decisions(found: Unblock) -> Unblock:
    """Return the ways for a head without commands, so that only steps without a decision remain."""
    return replace(found, candidates=tuple(replace(each, commands=()) for each in found.candidates))


def _beside_the_first(step: ToDo, first: Unblock, waits: ToDo) -> ToDo:
    """Return a step about another queue, with the wait for the first one, which is the most urgent.

    The first queue can only wait, unless a person may decide to end a session. That its head leaves soon is named.
    """
    name, may_end = queue_name(first.head), any(each.proven for each in first.candidates)
    if not step.subject or name == step.subject or name in step.text:
        return step
    if first.leaves_soon:
        return step.longer_by(f"; {waits.short.removeprefix('wait: ')}")
    return step.longer_by(f"; for {name}{f', {waits.short}' if may_end else ' you can only wait'}")


def _naming_its_queue(step: ToDo) -> ToDo:
    words = (step.text, step.short, *step.between)
    text, short, *between = (each if step.subject in each else f"{step.subject}: {each}" for each in words)
    return step._replace(text=text, short=short, between=tuple(between))


def _end_for_a_head(heads: Sequence[Unblock], reading: Reading) -> ToDo | None:
    """Return the step to end the idle holders that keep all that a head is short of, None without any.

    No other queue may take servers under the same limit. If there are other queues, the forecast must not say that
    little is saved. Otherwise the step would be shown and withdrawn within seconds.
    """
    for found in heads:
        chosen = found.candidates[: found.needed]
        if not chosen or found.turns or any(each.why_not or each.objection for each in chosen):
            continue
        effect = chosen[0].effect if len(chosen) == 1 else found.effect
        if len(heads) > 1 and saves_little(effect):
            continue
        can = "may" if found.rivals else "can"
        same = f"; {want_the_same(found.rivals)}" if found.rivals else ""
        helps = f"then {head_in_words(found.head)} {can} start{same}"
        holders = tuple(each.statement for each in chosen)
        step = _end(holders, reading, helps, f"{queue_name(found.head)} {can} start", queue_name(found.head), effect)
        return _beside_a_late_end(step._replace(proven=chosen[0].proven), found)
    return None


def _beside_a_late_end(step: ToDo, found: Unblock) -> ToDo:
    """Return a step with the statement that should have let the head start by its own end, if there is one."""
    late = next((each.statement.who for each in found.candidates if end_is_late(each.statement)), "")
    return step.longer_by(f"; the end of {late} is late") if late else step


def _end_by_forecast(heads: Sequence[Unblock], reading: Reading) -> ToDo | None:
    """Return which idle holder to end because the queue empties sooner then, None if no such holder is known."""
    if all(each.blocked for each in heads):
        return None
    known = [(each, effect) for each in idle_to_end(reading) if (effect := reading.effect_of(each)) is not None]
    proven = [(each, effect) for each, effect in known if is_proven(effect)]
    if not proven:
        return None
    each, effect = max(proven, key=lambda one: one[1].sooner or 0.0)
    step = _end((each,), reading, "", Proof.QUEUE_SOONER.value, "", effect)
    return step._replace(proven=(Proof.QUEUE_SOONER,))


def _idle_while_queues_take_turns(heads: Sequence[Unblock], reading: Reading) -> ToDo | None:
    """Return the step to decide about the idle holder whose servers several queues want; None without one.

    Neither the choice nor the words depend on how many servers are free at this instant, or on which of the queues has
    a head: each start and end changes that.
    """
    for found in heads:
        helping = {each.statement.executing() for each in found.candidates}
        each = next((each for each in idle_to_end(reading) if each.executing() in helping), None)
        if found.turns and each is not None and not found.leaves_soon and not too_early(found):
            lead, idle = f"wait, or decide whether to end {each.who}", f"(idle {each.idle_time})"
            keeps = f"it keeps {counted(each.servers, 'server')}"
            between = f"{lead} {idle}: {keeps} that queues take turns for"
            text = f"{between}, so what its end would start is not certain"
            words = (text, between)
            text = f"{text}{lasting_cure(reading)}"
            return ToDo(Step.WAIT, text, f"{lead}: {keeps}", "parallel", subject=listed(found.turns), between=words)
    return None


def _end(
    holders: Sequence[RunningStatement],
    reading: Reading,
    helps: str,
    brief: str,
    subject: str,
    effect: EndingEffect | None,
) -> ToDo:
    """Return the step to end idle holders, with how that helps, in full and `brief`, and the forecast for it."""
    each = holders[0]
    commands = tuple(ending(one, reading).commands[0] for one in holders)
    keeps = f"idle {each.idle_time}, keeps {counted(each.servers, 'server')}"
    more = f" and {counted(len(holders) - 1, 'other idle holder')}" if len(holders) > 1 else ""
    words = "; ".join(filter(None, [helps, _forecast_words(effect, reading)])) or brief
    shorter = (words, helps or brief, brief)
    text = f"end {each.who} ({keeps}){more}: {words}{lasting_cure(reading)}"
    names = " and ".join(one.who for one in holders) if len(holders) > 1 else each.user or each.who
    affects = f"{names}, {keeps if len(holders) == 1 else 'idle'}; what is not committed is rolled back"
    short, between = f"end {each.who}{more}: {brief}", tuple(f"end {each.who} ({keeps}){more}: {to}" for to in shorter)
    return ToDo(Step.END, text, short, "parallel", commands, affects, subject, between=between)


def _forecast_words(effect: EndingEffect | None, reading: Reading) -> str:
    """Return when the queue empties with and without these ends; "" if that is not known or no better."""
    if effect is None or not effect.is_sooner():
        return ""
    starts = f"the last queued statement {'' if effect.proven else 'perhaps '}starts {effect.sooner_words()}"
    if effect.through is None or effect.otherwise is None or effect.is_within_chance():
        return starts
    then, otherwise = (clock(reading.at + timedelta(seconds=each))[:5] for each in (effect.through, effect.otherwise))
    return starts if then == otherwise else f"{starts}: at {then} instead of {otherwise}"
