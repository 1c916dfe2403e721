"""Lines of advice, what would let the heads start: on the Parallel tab, in full on the pages behind its rows. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from presman.analysis.advice.contenders import Candidate, Unblock
from presman.analysis.advice.ending import ending, objection
from presman.analysis.advice.freeing import no_use
from presman.analysis.advice.step import Proof
from presman.analysis.advice.to_do import offered
from presman.analysis.advice.unblock import LISTED, refused_holder, unblock_of
from presman.analysis.readings.forecast_readings import EndingEffect, effect_words
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import ParallelStatement, QueuedStatement, RunningStatement
from presman.base.formats import ABSENT, counted, duration, in_about, listed, server_time
from presman.figures.drawing.lines import Line, Run, length
from presman.rows.commands import Command, CommandKind

_NUMBERS = "①②③④⑤⑥⑦⑧⑨"
_AND, _OR = " + ", "  or "
ROLLED_BACK = "it runs nothing; what is not committed is rolled back"
"""Of an idle session: no view that presman reads says whether it has a transaction."""


def ends_it(found: Unblock, room: int | None = None, *, key: bool = False) -> Line:
    """Return the line of a head's answers, or why there are none; what must end together is joined by a plus.

    As many are named as `room` cells take, at least one, and the others counted; `key` adds what the keys c and 1 copy.
    """
    label: Run = (" TO START IT  ", "title")
    hint = _hint(found) if key else ()
    if found.looks_first:
        return (label, *_blockers(found), *hint)
    if found.names_nobody:
        return (label, (found.sentence, "dim"), *hint)
    hint = (*perhaps_others(found), *hint)
    every, joint = _named_of(found)
    runs: list[Run] = [label]
    for index, candidate in enumerate(every):
        more = _named(every, index, joint)
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
    """Return that others may get the servers that come free, () where nobody else wants them."""
    return ((f"; {listed(found.rivals, 'or')} may get them first", "warn"),) if found.rivals else ()


def _what_it_does(effect: EndingEffect, enough: bool, room: int | None) -> list[Run]:
    """Return in brackets what somebody's end would do to the queue: all of it, or how it begins, or nothing."""
    whole = effect_words(effect, enough=enough)
    words = (f" ({each})" for each in (whole, whole.partition(", ")[0], whole.partition(": ")[0]) if each)
    return [(each, "note") for each in words if room is None or len(each) <= room][:1]


def _number(index: int) -> str:
    """Return the sign of a candidate: ① to ⑨, then 10. and so on."""
    return _NUMBERS[index] if index < len(_NUMBERS) else f"{index + 1}."


def _others_counted(joint: str, count: int) -> str:
    """Return what counts those for whom there is no room: they end, too, or one of them is another answer."""
    others = counted(count, "other")
    return f"{joint}{others if joint == _AND else 'another' if count == 1 else f'one of {others}'}"


def _named_of(found: Unblock) -> tuple[Sequence[Candidate], str]:
    """Return whom one may end or wait for, and what stands between them: all together, or each alone."""
    if found.needed > 1:
        return found.candidates[: found.needed], _AND
    if found.soon is not None:
        return found.candidates[:1], _OR
    return [each for each in found.candidates if each.commands], _OR


def _blockers(found: Unblock) -> Line:
    """Return whom to look at before anybody is ended: he holds up statements that hold servers, and may hold some."""
    each = max(found.blocked, key=lambda one: one.servers)
    more = f" and {len(found.blocked) - 1} more" if len(found.blocked) > 1 else ""
    who = f"{each.who} ({counted(each.servers, 'server')}){more}"
    holders = {f"{one.statement.inst_id}:{one.statement.sid}": one.statement for one in found.blockers}
    own = holders.get(each.blocker)
    whom = each.blocker if own is None else f"{own.who} ({state(own)}, holds {own.servers})"
    return ((f"look at {whom} first: {who} waits for it{found.too_few}", "warn"),)


def _named(every: Sequence[Candidate], index: int, joint: str) -> list[Run]:
    """Return one of `every` behind what is done to him, where that is not what is done to the one before."""
    candidate = every[index]
    style = "bad" if candidate.statement.idle is not None else ""
    words = briefer(candidate) if index else brief(candidate)
    verb = _verb(candidate)
    again = index > 0 and verb == _verb(every[index - 1])
    runs = [(joint if index else "", "dim"), ("" if again else verb, ""), (f"{_number(index)} ", "key"), (words, style)]
    return [run for run in runs if run[0]]


def _verb(candidate: Candidate) -> str:
    """Return what the first command for somebody does to him, "" where there is none: one waits for him.

    Whether work may be lost is for a person to say.
    """
    decide = "decide: " if Proof.DBA_DECIDES in candidate.proven else ""
    return f"{decide}{candidate.verb} " if candidate.verb else decide


def _hint(found: Unblock) -> Line:
    """Return what c and 1 copy: the command for the first answer, else the head's own."""
    if found.only_waits:
        return ()
    index = next((index for index, each in enumerate(_named_of(found)[0]) if each.commands), None)
    if index is not None:
        return (("   c 1", "key"), (f" copies {_number(index)}", "dim"))
    own = _of_the_head(found) if not found.candidates else []
    return (("   c 1", "key"), (f" copies: {own[0].kind.value}", "dim")) if own else ()


def brief(candidate: Candidate) -> str:
    """Return who a candidate is, what it does and what it holds, in a few words."""
    each = candidate.statement
    who = " ".join(part for part in (each.user or "?", _program(each)) if part)
    return _with_servers(candidate, f"{who} {each.inst_id}:{each.sid},{each.serial}, {state(each)}")


def briefer(candidate: Candidate) -> str:
    """Return the same without its program and what it works on, for those after the first."""
    each = candidate.statement
    return _with_servers(candidate, f"{each.who},{each.serial}, {_doing(each)}")


def _with_servers(candidate: Candidate, who: str) -> str:
    each = candidate.statement
    if candidate.ends_in is not None:
        who = _wait_for(candidate)
    elif candidate.refused:
        return refused_holder(candidate)
    doubt = ", perhaps not counted" if candidate.frees < candidate.perhaps else ""
    kind = f", {each.kind.name}: {each.kind.loss}" if each.kind is not None else ""
    return f"{who}, holds {each.servers}{doubt}{kind}"


def _wait_for(candidate: Candidate) -> str:
    """Return that one waits for a statement: how far it is, and when it should end."""
    each, when = candidate.statement, in_about(candidate.ends_in)
    if each.idle is not None:
        return f"wait: Oracle ends {each.who}, idle {each.idle_time}, {when} ({each.ended_by})"
    done = f" at {100 * each.progress:.0f} %" if each.progress is not None else ""
    return f"wait: {each.who}{done} ends by itself {when}"


def _program(each: RunningStatement) -> str:
    return (each.module or each.program).partition("@")[0][:20]


def state(each: RunningStatement) -> str:
    """Return what a statement does: idle for how long, or what it works on and when that should be done."""
    if each.idle is not None:
        return f"idle {each.idle_time}"
    if each.blocker:
        return f"runs {duration(each.elapsed)}, blocked by {each.blocker}"
    if each.queued:
        return "queued with another statement"
    if each.progress is None:
        return f"runs {duration(each.elapsed)}"
    left = f", {_left(each)}" if each.remaining is not None else ""
    return f"runs {duration(each.elapsed)}, {each.operation} {100 * each.progress:.0f} %{left}"


def _doing(each: RunningStatement) -> str:
    """Return the same in a word or two: for one that works, when what it works on should be done."""
    working = each.idle is None and not each.blocker and not each.queued
    return f"{each.operation}: {_left(each)}" if working and each.remaining is not None else state(each)


def _left(each: RunningStatement) -> str:
    """Return what is left: of the statement only where its plan has nothing to do after this operation."""
    if each.overdue:
        return "should be done by now"
    return f"{duration(each.remaining)} left" if each.is_last else f"this step done {in_about(each.remaining)}"


def commands_to_copy(row: Any, reading: Reading) -> list[tuple[Command, str]]:
    """Return the commands that are offered for a row, those that help most first, each with whom it hits.

    For one of the queue they are those that end the answers of its head, the first of each before the others, and those
    that start or cancel the head itself; for a running statement its own, where it is an answer.
    """
    if isinstance(row, RunningStatement):
        return [(each, f"{row.user}, {state(row)}, holds {row.servers}") for each in offered(row, reading).commands]
    found = unblock_of(row, reading) if isinstance(row, QueuedStatement) else None
    if found is None or found.only_waits:
        return []
    firsts = [(each.commands[0], brief(each)) for each in found.candidates if each.commands]
    others = [(command, brief(each)) for each in found.candidates for command in each.commands[1:]]
    who = found.head.statement
    return [*firsts, *((each, f"{who.user}, the head of {found.head.group}") for each in _of_the_head(found)), *others]


def _of_the_head(found: Unblock) -> list[Command]:
    """Return what acts on the statement that waits, and ends no session."""
    return [each for each in found.commands if each.kind is not CommandKind.KILL]


def not_offered(row: Any, reading: Reading) -> list[Candidate]:
    """Return who holds servers that the head of a row's queue could use, and is not offered to be ended."""
    found = unblock_of(row, reading) if isinstance(row, QueuedStatement) else None
    return [each for each in found.candidates if not each.commands] if found is not None else []


def without_command(candidate: Candidate) -> str:
    """Return who is not offered to be ended, and why not."""
    why = "" if _is_told(candidate) else f": {candidate.why_not}"
    return f"{briefer(candidate)}; no command{why}"


def why_no_command(row: Any, reading: Reading) -> str:
    """Return why no command is offered to copy for a row, "" where one is or nothing is to be said."""
    if isinstance(row, RunningStatement):
        why = offered(row, reading).refused
        shows = " Enter shows its commands." if why and ending(row, reading).commands else ""
        return f"Nothing copied: {why}.{shows}" if why else ""
    found = unblock_of(row, reading) if isinstance(row, QueuedStatement) else None
    return f"Nothing copied: {found.sentence}." if found is not None and found.only_waits else ""


def why_not_ended(row: ParallelStatement, reading: Reading) -> str:
    """Return why a statement is not offered to be ended, or not by DO, as a sentence; "" where it is."""
    if refused := ending(row, reading).refused:
        return f"No command is offered: {refused}."
    if not isinstance(row, RunningStatement):
        return ""
    against = objection(row)
    found = [f"DO does not offer to end it: {against}."] if against else []
    useless = no_use(row, reading).items() if row.idle is not None else ()
    return " ".join(
        [*found, *(f"Ending it alone would not let the head of {name} start: {why}." for name, why in useless)]
    )


def command_lines(commands: Iterable[Command]) -> list[Line]:
    """Return commands to copy, each with what it does."""
    lines: list[Line] = []
    for command in commands:
        lines.append(((f"  {command.kind.value}: ", "dim"), (command.note, "dim")))
        lines.append((("    ", ""), (command.text, "key")))
    return lines


def candidates_lines(found: Unblock) -> list[Line]:
    """Return all candidates of a head in full, with the commands of those who are answers."""
    lines: list[Line] = [(("  ", ""), (f"{found.sentence[:1].upper()}{found.sentence[1:]}.", ""))]
    if words := effect_words(found.effect):
        lines.append((("  ", ""), (f"If they are ended together: {words}.", "note")))
    if words := _all_together(found):
        lines.append((("  ", ""), (words, "")))
    named, together = _named_of(found)[0], found.candidates[: found.needed]
    # In the order of the numbers that the line of the head and the list of copies have.
    for index, candidate in enumerate([*named, *(each for each in found.candidates if each not in named)]):
        each = candidate.statement
        needed = "bad" if candidate in together and candidate.commands else ""
        alone = "; enough alone" if candidate.enough and len(together) > 1 and candidate not in together else ""
        lines += [(), (("  ", ""), (f"{_number(index)} {brief(candidate)}{alone}", needed))]
        if words := effect_words(candidate.effect, enough=candidate.enough):
            lines.append((("     ", ""), (f"if ended: {words}", "note")))
        about = f"{each.group}, SQL_ID {each.sql_id or ABSENT}, program {each.program}{_lost_by(candidate)}"
        lines.append((("     ", ""), (about, "dim")))
        if each.sql_text:
            lines.append((("     ", ""), (" ".join(each.sql_text.split())[:200], "dim")))
        lines += [(("     ", ""), (command.text, "key")) for command in candidate.commands]
        if candidate.why_not and not _is_told(candidate):
            lines.append((("     ", ""), (f"no command: {candidate.why_not}", "")))
    return lines


def _all_together(found: Unblock) -> str:
    """Return how much all free together of whom no few are known to be enough.

    It is "" where some are enough, or not all are listed.
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
    """Return what would be lost if somebody were ended, "" of whom nobody ends."""
    if candidate.refused:
        return ""
    return f"; {ROLLED_BACK}" if candidate.lost == 0 else f"; {_lost(candidate.lost)} of work would be lost"


def _is_told(candidate: Candidate) -> bool:
    """Whether the line that names somebody says why he gets no command: one waits, or he is who he is."""
    kind = candidate.statement.kind
    is_kind = kind is not None and kind.loss in candidate.why_not
    return candidate.ends_in is not None or bool(candidate.refused) or is_kind


def _lost(server_seconds: float | None) -> str:
    return "an unknown amount" if server_seconds is None else server_time(server_seconds)
