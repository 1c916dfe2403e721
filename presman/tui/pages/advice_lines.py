"""Lines of advice on how to let the heads start: short on the Parallel tab, in full on the pages of its rows. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.ending import ending, objection
from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.step import Proof
from presman.analysis.advice.to_do import offered
from presman.analysis.advice.unblock import LISTED, refused_holder, unblock_of
from presman.analysis.readings.forecast_readings import EndingEffect, effect_words
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import ParallelStatement, QueuedStatement, RunningStatement, runs
from presman.base.formats import counted, duration, in_about, listed, server_time
from presman.figures.drawing.lines import Line, Run, length
from presman.rows.commands import Command, CommandKind
from presman.rows.session_state import comma_serial

_NUMBERS = "①②③④⑤⑥⑦⑧⑨"
_AND, _OR = " + ", "  or "
ROLLED_BACK = "it runs nothing; what is not committed is rolled back"
"""The loss if an idle session ends: no view that presman reads shows whether it has a transaction."""


def to_start_line(found: Unblock, room: int | None = None, *, key: bool = False) -> Line:
    """Return the line of a head's answers, or why there are none. A plus joins sessions that must end together.

    It names as many as fit `room` cells, at least one, and counts the others. `key` adds what the keys c and 1 copy.
    """
    label: Run = (" TO START IT  ", "title")
    hint = _hint(found) if key else ()
    if found.checks_blocker_first:
        return (label, *_blockers(found), *hint)
    if found.shows_only_sentence:
        return (label, (found.sentence, "dim"), *hint)
    hint = (*perhaps_others(found), *hint)
    every, joint = _named_of(found)
    runs: list[Run] = [label]
    for index, candidate in enumerate(every):
        more = _named(every, index, joint)
        # Room stays for the count of those that are not named.
        kept = len(_others_counted(joint, len(every) - index - 1)) if index + 1 < len(every) else 0
        if index and room is not None and length((*runs, *more, *hint)) > room - kept:
            others, used = _others_counted(joint, len(every) - index), length((*runs, *hint))
            is_room = joint == _AND or used > room or used + len(others) <= room  # past it there is another line anyway
            runs.append((others if is_room else " …", "dim"))
            break
        runs += more
        if found.needed < 2 and candidate.effect is not None:
            left = None if room is None else room - kept - length((*runs, *hint))
            runs += _what_it_does(candidate.effect, candidate.enough, left)
    if found.needed > 1 and (words := effect_words(found.effect)):
        runs.append((f" ({words})", "note"))
    return (*runs, *hint)


def perhaps_others(found: Unblock) -> Line:
    """Return a warning that others may get the freed servers first, () if no other queue wants them."""
    return ((f"; {listed(found.rivals, 'or')} may get them first", "warn"),) if found.rivals else ()


def _what_it_does(effect: EndingEffect, enough: bool, room: int | None) -> list[Run]:
    """Return in brackets the effect of an ending on the queue: in full, shortened, or [] if there is no room."""
    whole = effect_words(effect, enough=enough)
    words = (f" ({each})" for each in (whole, whole.partition(", ")[0], whole.partition(": ")[0]) if each)
    return [(each, "note") for each in words if room is None or len(each) <= room][:1]


def _number(index: int) -> str:
    """Return the sign of a candidate: ① to ⑨, then 10. and so on."""
    return _NUMBERS[index] if index < len(_NUMBERS) else f"{index + 1}."


def _others_counted(joint: str, count: int) -> str:
    """Return the count of candidates without room: further ones that must end too, or alternatives."""
    others = counted(count, "other")
    return f"{joint}{others if joint == _AND else 'another' if count == 1 else f'one of {others}'}"


def _named_of(found: Unblock) -> tuple[Sequence[Candidate], str]:
    """Return the candidates to end or wait for, and their joint: all must end together, or each is enough alone."""
    if found.needed > 1:
        return found.candidates[: found.needed], _AND
    if found.soon is not None:
        return found.candidates[:1], _OR
    return [each for each in found.candidates if each.commands], _OR


def _blockers(found: Unblock) -> Line:
    """Return the session to look at before any is ended: it blocks statements that hold servers."""
    each = max(found.blocked, key=lambda one: one.servers)
    more = f" and {len(found.blocked) - 1} more" if len(found.blocked) > 1 else ""
    named = f"{each.who} ({counted(each.servers, 'server')}){more}"
    holders = {f"{one.statement.inst_id}:{one.statement.sid}": one.statement for one in found.blockers}
    own = holders.get(each.blocker)
    blocker = each.blocker if own is None else f"{own.who} ({state(own)}, holds {own.servers})"
    return ((f"look at {blocker} first: {named} waits for it{found.too_few}", "warn"),)


def _named(every: Sequence[Candidate], index: int, joint: str) -> list[Run]:
    """Return a candidate of `every`, after its verb unless the candidate before has the same."""
    candidate = every[index]
    style = "bad" if candidate.statement.idle is not None else ""
    words = briefer(candidate) if index else brief(candidate)
    verb = _verb(candidate)
    again = index > 0 and verb == _verb(every[index - 1])
    runs = [(joint if index else "", "dim"), ("" if again else verb, ""), (f"{_number(index)} ", "key"), (words, style)]
    return [run for run in runs if run[0]]


def _verb(candidate: Candidate) -> str:
    """Return the verb of a candidate's first command, "" if there is none because one waits for it.

    "wait, or" comes first if a DBA must decide whether its work may be lost.
    """
    decide = "wait, or " if Proof.DBA_DECIDES in candidate.proven else ""
    return f"{decide}{candidate.verb} " if candidate.verb else decide


def _hint(found: Unblock) -> Line:
    """Return the hint for the keys c and 1, which copy the command for the first answer, else the head's own."""
    if found.only_waits:
        return ()
    index = next((index for index, each in enumerate(_named_of(found)[0]) if each.commands), None)
    if index is not None:
        return (("   c 1", "key"), (f" copies {_number(index)}", "dim"))
    own = [] if found.candidates else _of_the_head(found)[:1]
    starts = [each.kind.value for each in own if each.kind is CommandKind.DEQUEUE]
    return (("   c 1", "key"), (f" copies: {starts[0]}", "dim")) if starts else ()


def brief(candidate: Candidate) -> str:
    """Return a candidate in a few words: its session, what it does and the servers it holds."""
    each = candidate.statement
    named = " ".join(part for part in (each.user or "?", _program(each)) if part)
    return _with_servers(candidate, f"{named} {each.inst_id}:{each.sid}{comma_serial(each.serial)}, {state(each)}")


def briefer(candidate: Candidate) -> str:
    """Return the words of :func:`brief` without program and operation, for candidates after the first."""
    each = candidate.statement
    return _with_servers(candidate, f"{each.who}{comma_serial(each.serial)}, {_doing(each)}")


def _with_servers(candidate: Candidate, named: str) -> str:
    each = candidate.statement
    if candidate.ends_in is not None:
        named = _wait_for(candidate)
    elif candidate.refused:
        return refused_holder(candidate)
    doubt = ", perhaps not counted" if candidate.frees < candidate.perhaps else ""
    kind = f", {each.kind.name}: {each.kind.loss}" if each.kind is not None else ""
    return f"{named}, holds {each.servers}{doubt}{kind}"


def _wait_for(candidate: Candidate) -> str:
    """Return the advice to wait for a statement, with its progress and its expected end."""
    each, when = candidate.statement, in_about(candidate.ends_in)
    if each.idle is not None:
        return f"wait: Oracle ends {each.who}, idle {each.idle_time}, {when} ({each.ended_by})"
    done = f" at {100 * each.progress:.0f} %" if each.progress is not None else ""
    return f"wait: {each.who}{done} ends by itself {when}"


def _program(each: RunningStatement) -> str:
    return (each.module or each.program).partition("@")[0][:20]


def state(each: RunningStatement) -> str:
    """Return what a statement does: for how long it is idle, or its operation and when that should be done."""
    if each.idle is not None:
        return f"idle {each.idle_time}"
    if each.blocker:
        return f"{runs(each)}, blocked by {each.blocker}"
    if each.queued:
        return "queued with another statement"
    if each.progress is None:
        return runs(each)
    left = f", {_left(each)}" if each.remaining is not None else ""
    return f"{runs(each)}, {each.operation} {100 * each.progress:.0f} %{left}"


def _doing(each: RunningStatement) -> str:
    """Return what a statement does in a word or two; of one that works, when its operation should be done."""
    working = each.idle is None and not each.blocker and not each.queued
    return f"{each.operation}: {_left(each)}" if working and each.remaining is not None else state(each)


def _left(each: RunningStatement) -> str:
    """Return the time left: that of the statement only if this is the last operation of its plan."""
    if each.overdue:
        return "should be done by now"
    return f"{duration(each.remaining)} left" if each.is_last else f"this step done {in_about(each.remaining)}"


class Offers(NamedTuple):
    """The choices to copy for a row: commands, the most helpful first, each with the sessions that it affects.

    `without` are candidates without a command: they hold servers that the head of the row's queue could use. `why` is
    why there is no command, "" if there is one or no reason to give.
    """

    commands: Sequence[tuple[Command, str]] = ()
    without: Sequence[Candidate] = ()
    why: str = ""


def offers_for(row: Any, reading: Reading) -> Offers:
    """Return the choices to copy for a row.

    For a queued statement the commands end the answers of its head, the first command of each before the others, or
    start or cancel the head itself. For a running statement they are its own, if it is an answer.
    """
    if isinstance(row, RunningStatement):
        own = offered(row, reading)
        shows = ". Its page shows its commands" if own.refused and ending(row, reading).commands else ""
        named = f"{row.user or row.who}, {state(row)}, holds {row.servers}"
        return Offers([(each, named) for each in own.commands], why=f"{own.refused}{shows}")
    found = unblock_of(row, reading) if isinstance(row, QueuedStatement) else None
    if found is None:
        return Offers()
    without = [each for each in found.candidates if not each.commands]
    head = found.head.statement
    of_head = [(each, f"{head.user}, the head of {found.head.group}") for each in _of_the_head(found)]
    if found.only_waits:
        return Offers(of_head, without) if found.can_start_now else Offers((), without, found.sentence)
    firsts = [(each.commands[0], brief(each)) for each in found.candidates if each.commands]
    others = [(command, brief(each)) for each in found.candidates for command in each.commands[1:]]
    return Offers([*firsts, *of_head, *others], without, ending(head, reading).refused)


def _of_the_head(found: Unblock) -> list[Command]:
    """Return the commands that act on the waiting statement and end no session."""
    return [each for each in found.commands if each.kind is not CommandKind.KILL]


def without_command(candidate: Candidate) -> str:
    """Return a candidate in words, and why there is no command for it."""
    why = "" if _explains_no_command(candidate) else f": {candidate.why_not}"
    return f"{briefer(candidate)}; no command{why}"


def why_not_ended(row: ParallelStatement, reading: Reading) -> str:
    """Return sentences on why no command ends a statement, or why DO does not offer one; "" if neither applies."""
    if refused := ending(row, reading).refused:
        return f"No command is offered: {refused}."
    if not isinstance(row, RunningStatement):
        return ""
    against, useless = objection(row), why_useless(row, reading).items() if row.idle is not None else ()
    found = [f"DO does not offer to end it: {against}."] if against else []
    found += [f"Ending it alone would not let the head of {name} start: {why}." for name, why in useless]
    return " ".join(found)


def command_lines(commands: Iterable[Command]) -> list[Line]:
    """Return the lines of commands to copy, each with its effect."""
    lines: list[Line] = []
    for command in commands:
        lines.append(((f"  {command.kind.value}: ", "dim"), (command.note, "dim")))  # goes on below the note
        lines.append((("    ", ""), (command.text, "key")))
    return lines


def candidates_lines(found: Unblock) -> list[Line]:
    """Return all candidates of a head in full, with the commands of those that are answers."""
    lines: list[Line] = [(("  ", ""), (f"{found.sentence[:1].upper()}{found.sentence[1:]}.", ""))]
    if words := effect_words(found.effect):
        lines.append((("  ", ""), (f"If they are ended together: {words}.", "note")))
    if words := _all_together(found):
        lines.append((("  ", ""), (words, "")))
    named, together = _named_of(found)[0], found.candidates[: found.needed]
    # In the order of the numbers in the line of the head and in the list to copy from.
    for index, candidate in enumerate([*named, *(each for each in found.candidates if each not in named)]):
        each = candidate.statement
        needed = "bad" if candidate in together and candidate.commands else ""
        alone = "; enough alone" if candidate.enough and len(together) > 1 and candidate not in together else ""
        lines += [(), (("  ", ""), (f"{_number(index)} {brief(candidate)}{alone}", needed))]
        if words := effect_words(candidate.effect, enough=candidate.enough):
            lines.append((("     ", ""), (f"if ended: {words}", "note")))
        lost = "" if candidate.refused else f"; {_lost_by(candidate)}"
        about = f"{each.group}, SQL_ID {each.sql_id or 'not known'}, program {each.program}{lost}"
        lines.append((("     ", ""), (about, "dim")))
        if each.sql_text:
            lines.append((("     ", ""), (" ".join(each.sql_text.split())[:200], "dim")))
        lines += [(("     ", ""), (command.text, "key")) for command in candidate.commands]
        if candidate.why_not and not _explains_no_command(candidate):
            lines.append((("     ", ""), (f"no command: {candidate.why_not}", "")))
    return lines


def _all_together(found: Unblock) -> str:
    """Return how many servers all candidates free together if even that is not enough.

    Return "" if some are enough, or if not all candidates are listed.
    """
    ended = [each for each in found.candidates if not each.refused and each.ends_in is None]
    if found.needed or len(ended) < 2 or len(found.candidates) >= LISTED:
        return ""
    missing, freed = max(each.short for each in found.head.shortages), sum(each.frees for each in ended)
    if freed >= missing:
        return ""
    least = "at least " if any(each.frees < each.perhaps for each in ended) else ""
    held = sum(each.servers for each in found.blocked)
    more = f"; those that wait for another session hold {held} more" if held else ""
    of = f"of the {counted(missing, 'server')} that it is short of"
    return f"Ending all {len(ended)} that can be ended frees {least}{freed} {of}{more}."


def _lost_by(candidate: Candidate) -> str:
    """Return the words on the loss if a candidate were ended."""
    if candidate.lost == 0:
        return ROLLED_BACK
    lost = "an unknown amount" if candidate.lost is None else server_time(candidate.lost)
    return f"{lost} of work would be lost"


def _explains_no_command(candidate: Candidate) -> bool:
    """Return whether the line of a candidate already explains why it has no command: a wait, or the kind of session."""
    kind = candidate.statement.kind
    is_kind = kind is not None and kind.loss in candidate.why_not
    return candidate.ends_in is not None or bool(candidate.refused) or is_kind
