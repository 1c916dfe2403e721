"""Sentences agree: the lines of a screen do not contradict each other about a session, a queue or a wait.

Over all scenarios, at three sizes, poll after poll: an idle holder named on one line is not denied on another,
a queue is as bad in the table as in its alert, and a promise that was broken does not stand again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import combinations, groupby, pairwise
from typing import NamedTuple

import pytest
from msgspec.structs import replace

import presman.analysis.advice.contenders
import presman.analysis.advice.freeing
import presman.analysis.advice.kept
import presman.analysis.advice.unblock
from presman.analysis.advice.contenders import Unblock
from presman.analysis.advice.ending import LONG_IDLE, NEARLY_DONE, WORKS, ending, step_left
from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.step import Proof, Step, ToDo
from presman.analysis.advice.to_do import to_do
from presman.analysis.advice.unblock import unblock, unblock_of
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    Cause,
    QueuedStatement,
    RunningStatement,
    Servers,
    Shortage,
    group_title,
)
from presman.analysis.trends.sql_minutes import SqlTexts
from presman.figures.drawing.lines import Line, plain
from presman.figures.group_figures import state_text
from presman.figures.statement_figures import RUNNING
from presman.forecast.forecaster import Forecaster
from presman.output.cells import table
from presman.output.why_answer import AskedStatement, ReasonHistory, as_text
from presman.rows.commands import CommandKind
from presman.tabs.alerts import alerts
from presman.tabs.choices import Link, LinkState
from presman.tabs.overview import alert_lines, short_alerts
from presman.tabs.parts import Moment
from presman.tui.copies import Copyable, copies
from presman.tui.pages.advice_lines import to_start_line
from presman.tui.panels.parallel_panel import most_for_why, room_for_why, why_block, why_lines
from presman.tui.widgets.frame_lines import alert_line, do_line
from presman.tui.widgets.line_api import whole_sentences
from tests.analysis.test_simulated import play, started
from tests.recording.recorded import polled
from tests.scenarios import KINDS
from tests.thorough import THOROUGH, some
from tests.tui.readings import busy

SIZES = ((80, 24), (120, 35), (200, 50))
POLLS, EVERY = (300, 2.0) if THOROUGH else (6, 40.0)
SEEDS = some([1], [2, 7])

_WHO = r"[A-Z][A-Z0-9_]* \d+:\d+"
_IN_ABOUT = re.compile(rf"(?:should|may|can) start .*in about (\d+):(\d\d), when ({_WHO})")
_SLACK = 2.0
"""Seconds by which an end may come later than promised: the time left is shown in whole seconds."""


class Screen(NamedTuple):
    """The sentences of the tabs Overview and Parallel at one size, as texts."""

    top: str
    do: str
    findings: tuple[str, ...]
    why: tuple[str, ...]
    running: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, ...]:
        return (self.top, self.do, *self.findings, *self.why, *self.running)


def screen(reading: Reading, width: int, height: int) -> Screen:
    """Return the sentences, made by the functions that the panels call, with the room that they have."""
    moment = Moment(reading, alerts=alerts(reading, Link(LinkState.LIVE)))
    step = to_do(reading)
    findings = whole_sentences(alert_lines(moment), short_alerts(moment), width - 2, (height - 3) // 3)
    why = why_lines(
        why_block(reading, unblock(reading), (), ()), width - 2, most_for_why(height - 5), room_for_why(height - 5)
    )
    return Screen(
        plain(alert_line(moment.alerts, width)),
        "" if step is None else plain(do_line(step, width)),
        texts(findings),
        texts(why),
        tuple(table(RUNNING.columns, reading.running, width - 2)[1:]) if reading.running else (),
    )


def texts(lines: list[Line]) -> tuple[str, ...]:
    """Return wrapped sentences as one text each: continued lines are indented by three."""
    found: list[str] = []
    for line in map(plain, lines):
        if found and line.startswith("   "):
            found[-1] += f" {line.strip()}"
        else:
            found.append(line.strip())
    return tuple(found)


def contradictions(reading: Reading, shown: Screen) -> Iterator[str]:
    """Yield contradictions between the lines of one screen."""
    idle = {each.who: each for each in reading.running if each.idle is not None}
    step = to_do(reading)
    for line in shown.lines:
        if idle and ("nobody is idle" in line or "no idle" in line):
            yield f"{sorted(idle)} idle, denied: {line}"
        if not idle and re.search(r"idle holder", line):
            yield f"nobody is idle, but: {line}"
        for name, each in idle.items():
            if re.search(rf"{re.escape(name)}(?:,\d+)?, runs", line):
                yield f"{name} is idle for {each.idle_time}, but: {line}"
    several = {group_title(each) for each in reading.heads} if len(reading.heads) > 1 else set()
    if step is not None and step.subject in several and step.subject not in shown.do:
        yield f"the queue is not named, and WHY may be about another: {shown.do} {shown.why[0]}"
    first = shown.running[: len(idle)]
    if not all(re.search(r"○ .*(idle holder|sniped|a session of )|✕ killed", line) for line in first):
        yield f"{sorted(idle)} idle, and not the first in Running: {first}"
    if step is not None and step.step is Step.END:
        ended = re.match(rf"end ({_WHO})", step.text)
        if ended is None or ended[1] not in idle:
            yield f"who is to be ended is not idle: {step.text}"
        ways = {group_title(each.head): plain(to_start_line(each)) for each in unblock(reading)}
        if ended is not None and f"{ended[1].partition(' ')[2]}," not in ways.get(step.subject, step.script):
            yield f"DO ends somebody else than TO START IT: {step.text} {ways[step.subject]}"
    if idle and step is not None and step.step is Step.WAIT:
        yield from not_named(reading, step, sorted(idle))


def wanted_and_of_no_use(reading: Reading) -> Iterator[str]:
    """Yield the queues that should want the servers of an idle holder although `why` calls them useless."""
    step = to_do(reading)
    lines = [each.sentence for each in unblock(reading)] + ([] if step is None else [step.text])
    for each in (each for each in reading.running if each.idle is not None):
        for line in lines:
            keeps = re.search(rf"{re.escape(each.who)} \(idle [\d:]+\) keeps (\d+) servers? that (.+?) wants?\b", line)
            if keeps is None:
                continue
            names = re.split(", | and ", keeps[2])
            yield from (f"{one} has no use of {each.who}: {line}" for one in names if one in why_useless(each, reading))
            wanting = [head for head in reading.heads if group_title(head) in names]
            room = [head.group for head in wanting if head.cause in {Cause.NOT_CHOSEN, Cause.UNEXPLAINED}]
            yield from (f"{one} has all that it wants: {line}" for one in room)
            starts = [head.short <= int(keeps[1]) for head in wanting if head.short is not None and not head.equals]
            nobody = "is not enough now" in line
            if "at least one of their heads starts" in line and not all(starts):
                yield f"who of {names} is chosen may be short of more: {line}"
            about_it = line[keeps.start() :]  # the text before it is about other servers
            nothing = "is not known" in about_it or "no view shows it" in about_it
            if len(starts) == len(wanting) and (nobody if any(starts) else starts and nothing):
                yield f"of {names} {starts} start by what their alerts say: {line}"


def wanted_by_nobody(reading: Reading) -> Iterator[str]:
    """Yield the lines by which a queue that is empty now wants servers, or may get them."""
    empty = {row.title for row in reading.cluster_groups()} - {group_title(head) for head in reading.heads}
    for way in unblock(reading):
        for line in {way.sentence, *(each.why_not for each in way.candidates)}:
            titles = [each for each in empty if re.search(rf"\b{each}\b[^;:]* (wants?|takes? turns|may get)\b", line)]
            yield from (f"nobody is queued in {each}: {line}" for each in titles)


def ordered(reading: Reading) -> Iterator[str]:
    """Yield the words with which DO orders an end or promises a start although no end is proven to help."""
    step = to_do(reading)
    for words in () if step is None or step.step is Step.END else (step.text, step.short):
        now = words.replace("end it if it stays idle (from 2:00 on DO offers it)", "")
        if re.search(r"(?<!whether to )\bend it\b|\blets .* start|\bDO offers\b", now):
            yield f"it orders an end, or promises what is not proven: {words}"


def without_verb(reading: Reading) -> Iterator[str]:
    """Yield the lines that name a session to free a head, but neither to end it nor to wait for it."""
    for found in unblock(reading):
        line, first = plain(to_start_line(found)), next(iter(found.candidates), None)
        if first is not None and "① " in line:
            verb = "cancel" if first.commands and first.commands[0].kind is CommandKind.CANCEL else "end"
            if f" {verb} ① " not in line and "① wait: " not in line:
                yield f"no verb for the first: {line}"


def offered_and_not_named(reading: Reading) -> Iterator[str]:
    """Yield steps of DO that leave open which session to end although TO START IT names one for the same head."""
    step, every = to_do(reading), unblock(reading)
    for way in every if step is not None and "whose work to end" in step.text else ():
        if way.answers and (len(every) == 1 or step.subject == group_title(way.head)):  # type: ignore[union-attr]
            yield f"{plain(to_start_line(way))}, and DO: {step.text}"  # type: ignore[union-attr]


def not_named(reading: Reading, step: ToDo, idle: list[str]) -> Iterator[str]:
    """Yield the idle holders that DO should name and does not."""
    offers = [plain(to_start_line(each)) for each in unblock(reading)]
    named = [name for name in idle if any(f"{name.partition(' ')[2]}," in each for each in offers)]
    if named and not any(name in step.text for name in named):
        yield f"TO START IT offers {named}, DO names none of them: {step.text}"
    ending = (each for each in reading.running if each.is_last or each.overdue or step_left(each) is not None)
    answers = [*idle, *(each.who for each in ending)]
    reasons = (
        "by its forecast",
        "SMON",
        "is free",
        "are free",
        "one queue",
        "no session to end is named",
        "queue timeout",
    )
    if not any(each in step.text for each in (*answers, *reasons)):
        yield f"{idle} idle, not named: {step.text}"


def offered_without_proof(reading: Reading) -> Iterator[str]:
    """Yield commands that can be copied although no line says that they help."""
    step = to_do(reading)
    lines = " ".join(
        [*(plain(to_start_line(each)) for each in unblock(reading)), step.text if step is not None else ""]
    )
    heads = {each.statement.executing()[:3] for each in reading.heads}
    for way in unblock(reading):
        missing = max((each.short for each in way.head.shortages), default=0)
        for each in way.answers:
            ended = [one for one in way.candidates if one.statement in each]
            proven = any(one.effect is not None and one.effect.proven for one in ended)
            waited_for = sum(one.frees for one in way.candidates[: way.needed] if one.ends_in is not None)
            enough = sum(one.frees for one in ended) + waited_for >= missing
            if not proven and (way.turns or way.blocked or way.unsure or not enough):
                yield f"{[one.who for one in each]} frees too little, or it is for others: {way.sentence}"
    for row in (*(each.statement for each in reading.heads), *reading.running):
        for each in copies(row, reading, SqlTexts(), Copyable("r", "the row", "")):
            if each.command is None or each.command.kind is CommandKind.DEQUEUE:
                continue
            victim = each.command.victim
            if (victim.inst_id, victim.sid, victim.serial) in heads and each.command.kind is CommandKind.CANCEL:
                continue
            session = f"{victim.inst_id}:{victim.sid}"
            if not re.search(rf"[①-⑨] \S* ?[^①-⑨]*{session},|^end .* {session} ", lines):
                yield f"{each.text} for a row of {row.group}, and no line says so: {lines}"
        if isinstance(row, QueuedStatement):
            asked = AskedStatement(sid=row.sid, inst_id=row.inst_id)
            endings = re.findall(r"^    by ending (.*)$", as_text(reading, asked, ReasonHistory()), re.MULTILINE)
            if len(endings) != len(unblock_of(row, reading).answers):  # type: ignore[union-attr]
                yield f"why names others: {endings}"


def ended_though_it_ends(reading: Reading) -> Iterator[str]:
    """Yield sessions whose work would be lost although an answer, or the head's wait, ends within seconds."""
    trusted = reading.forecast is not None and not reading.forecast.record.is_poor()
    for way in unblock(reading):
        offered = [each for each in way.candidates if each.commands]
        starts = way.head.statement.starts
        if trusted and starts is not None and starts.high is not None and starts.high <= NEARLY_DONE:
            yield from (f"{starts}, and {each.statement.who}: {way.sentence}" for each in offered
                        if Proof.QUEUE_SOONER not in each.proven)  # fmt: skip
        nearly = [each.statement for each in way.candidates if each.enough and nearly_done(each.statement)]
        yield from (f"{each.statement.who} is nearly done: {way.sentence}" for each in offered
                    if nearly_done(each.statement))  # fmt: skip
        if nearly and any(each.statement.idle is None for each in offered):
            yield f"{nearly[0].who} is nearly done, and alone enough: {plain(to_start_line(way))}"


def nearly_done(each: RunningStatement) -> bool:
    """Whether a statement makes progress and should end before a decision is possible."""
    return each.comes_nearer and each.remaining is not None and each.remaining <= NEARLY_DONE


def promised_twice(reading: Reading) -> Iterator[str]:
    """Yield servers that several queues are promised for certain."""
    sure = [each for each in unblock(reading) if each.answers and not each.rivals and not each.unsure]
    for way, other in combinations(sure, 2):
        freed = {each.executing(): each.servers for one in (way, other) for each in one.answers[0]}
        shared = {each.executing() for each in way.answers[0]} & {each.executing() for each in other.answers[0]}
        wanted = sum(each.head.wants.high for each in (way, other) if each.head.wants is not None)
        if shared and sum(freed.values()) + (way.head.target or 0) - (way.head.in_use or 0) < wanted:
            yield f"{freed} for both: {way.sentence} / {other.sentence}"


def dearer_than_needed(reading: Reading) -> Iterator[str]:
    """Yield first candidates although another is enough, holds fewer servers and loses no hour more."""
    for way in unblock(reading):
        first, *others = way.candidates or (None,)
        if first is None or way.needed != 1 or not first.commands:
            continue
        for each in others:
            less = each.enough and each.statement.servers < first.statement.servers
            spoken_for = each.ends_in is None and not each.refused and each.objection in {"", WORKS}
            idle = each.statement.idle is not None, first.statement.idle is not None
            if less and spoken_for and idle[0] >= idle[1] and (each.lost or 0.0) // 3600 <= (first.lost or 0.0) // 3600:
                yield f"{first.statement.who} is first, and {each.statement.who} is enough: {way.sentence}"


def judged_twice(reading: Reading) -> Iterator[str]:
    """Yield the queues that their alert judges otherwise than the table of groups, DO or the reason does."""
    found = {alert.subject: alert for alert in alerts(reading, Link(LinkState.LIVE)) if alert.key == "queue_waits"}
    heads = {(head.con_id, head.group): head for head in reading.heads}
    for group in reading.cluster_groups():
        queue = next((each for each in group.states if each.word == "queued"), None)
        if queue is None or group.title not in found or "timeout" in queue.text:
            continue
        alert, head = found[group.title], heads.get((group.con_id, group.name))
        if queue.level != alert.state:
            yield f"{state_text(group)} in the table, {alert.glyph} {alert.short}"
        if head is None:  # it is only counted
            continue
        if ("too large" in queue.text) != ("too large" in alert.short) or head.why not in alert.short:
            yield f"{queue.text} in the table, {alert.short}"
        if "never" in alert.text:
            yield f"never is more than is known: {alert.text}"


def broken(before: Reading, then: ToDo, after: Reading, now: ToDo) -> Iterator[str]:
    """Yield promises of the previous poll that did not come true and are repeated."""
    seconds = (after.at - before.at).total_seconds()
    old, new = _IN_ABOUT.search(then.text), _IN_ABOUT.search(now.text)
    if old is not None and new is not None and old[3] == new[3] and then.subject == now.subject:
        left = 60 * int(old[1]) + int(old[2])
        if left + _SLACK <= seconds:
            yield f"{seconds:.0f} s after {then.text!r}: {now.text!r}"
    offered = re.match(rf"wait: ({_WHO}) keeps .* on DO offers it\)", then.text)
    holder = next((each for each in after.running if offered is not None and each.who == offered[1]), None)
    if (
        holder is not None
        and (holder.idle or 0.0) >= LONG_IDLE
        and "DO offers it" in now.text
        and holder.who in now.text
    ):
        yield f"{then.text!r}, and {holder.idle:.0f} s idle: {now.text!r}"


def starts_promised_twice(before: Reading, after: Reading) -> Iterator[str]:
    """Yield heads that should have started at the next look, twice."""
    then = {head.statement.sql_id: head.sentence for head in before.heads}
    for head in after.heads:
        if all(
            "nothing that presman sees holds it back" in each
            for each in (head.sentence, then.get(head.statement.sql_id, ""))
        ):
            yield f"{head.group}: {head.sentence}"


ORDERS = (ordered, offered_and_not_named, without_verb)
OFFERS = (offered_without_proof, ended_though_it_ends, promised_twice, dearer_than_needed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scenario", KINDS)
def test_no_line_contradicts_another(scenario: str, seed: int) -> None:
    source, clock = started(scenario, seed)
    readings = list(play(source, clock, POLLS, EVERY, forecaster=Forecaster()))
    found = []
    for number, reading in enumerate(readings):
        for wrong in (judged_twice, wanted_and_of_no_use, wanted_by_nobody, *ORDERS, *OFFERS):
            found += [(number, each) for each in wrong(reading)]
        for size in SIZES if THOROUGH else SIZES[number % len(SIZES) :][:1]:
            found += [(number, size, each) for each in contradictions(reading, screen(reading, *size))]
    for number, (before, after) in enumerate(pairwise(readings)):
        then, now = to_do(before), to_do(after)
        if then is not None and now is not None:
            found += [(number, each) for each in broken(before, then, after, now)]
        found += [(number, each) for each in starts_promised_twice(before, after)]
    assert not found


@pytest.mark.parametrize("seed", SEEDS)
def test_do_names_the_same_idle_holder_while_servers_change(seed: int) -> None:
    """Whether its end is enough changes whenever a statement ends; the named session and the proof do not."""
    source, clock = started("storm", seed)
    readings = list(play(source, clock, 300 if THOROUGH else 21, 2.0, forecaster=Forecaster()))
    doubts = [each for each in (sure_of_limit(reading) for reading in readings) if each is not None]
    assert doubts == sorted(doubts), "known servers of a statement stay known"
    answers = [answer(reading) for reading in readings]
    assert len({name for _, name in answers if name}) == 1
    reasons = [reason(reading) for reading in readings]
    named = [bool(name) for (_, name), (*_, by_itself, _) in zip(answers, reasons, strict=True) if not any(by_itself)]
    assert sum(named) > len(named) * 2 / 3
    pairs = list(pairwise(zip(reasons, answers, strict=True)))
    assert not [(old, new) for old, new in pairs if old[0] == new[0] and old[1] != new[1]]
    assert sum(old[1] != new[1] for old, new in pairs) <= len(pairs) / 8


@pytest.mark.parametrize("scenario", some(["pdb"], ["throttled"]))
def test_the_subject_of_do_does_not_alternate(scenario: str) -> None:
    """With I/O limits, a queue, starved groups and a full pool each poll chose another subject."""
    steps = [to_do(reading) for _, reading in polled(scenario, 300 if THOROUGH else 24)]
    about = [None if step is None else (step.step, step.subject) for step in steps]
    runs = [(what, len(list(polls))) for what, polls in groupby(about)]
    assert not [run for run in runs[1:-1] if run[1] <= 2], "no answer for single polls"


def sure_of_limit(reading: Reading) -> bool | None:
    """Return whether DO is sure that a limit does not count an idle holder's servers, None where it does not say."""
    step = to_do(reading)
    found = None if step is None else re.search(r"limit (may|does) not count them", step.text)
    return None if found is None else found[1] == "does"


def answer(reading: Reading) -> tuple[Step | None, str]:
    """Return the kind of step of DO and the idle holder that it names."""
    step = to_do(reading)
    idle = (each.who for each in reading.running if step is not None and each.idle is not None)
    return (None, "") if step is None else (step.step, next((name for name in idle if name in step.text), ""))


def reason(reading: Reading) -> tuple[object, ...]:
    """Return the basis of an answer: first statements, idle holders, ends by themselves, the forecast."""
    idle = [each for each in reading.running if each.idle is not None]
    effects = (reading.effect_of(each) for each in idle)
    gains = [0.0 if each is None or not each.is_sooner() else each.sooner or 0.0 for each in effects]
    heads = tuple((head.con_id, head.group, head.statement.executing()) for head in reading.heads)
    by_itself = tuple((not each.turns and each.may_end) or each.wait is not None for each in unblock(reading))
    return heads, tuple(each.who for each in idle), by_itself, any(gain > NEARLY_DONE for gain in gains)


def test_offers_without_proof_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """All are offered: those not enough, those that hold too much, the same one for two queues."""

    def all_offered(found: Unblock, reading: Reading) -> Unblock:
        commands = (ending(each.statement, reading).commands for each in found.candidates)
        offered = map(lambda each, those: replace(each, commands=those), found.candidates, commands)
        return replace(found, candidates=tuple(offered))

    reading = replace(busy(), number=2)
    assert not [each for wrong in OFFERS for each in wrong(reading)]
    monkeypatch.setattr(presman.analysis.advice.unblock, "answered", all_offered)
    reading = replace(busy(), number=3)
    assert any("it is for others" in each for each in offered_without_proof(reading))
    free = replace(reading.heads[1], in_use=256, shortages=(Shortage(8, everybody=True),), wants=Servers(8, 8))
    idle = [replace(reading.running[0], servers=servers, sid=servers, idle=900.0 + servers) for servers in (24, 8)]
    both = replace(reading, heads=(replace(free, group="BATCH"), free), running=(idle[1],), groups=())
    for function in ("contenders", "take_turns"):
        monkeypatch.setattr(presman.analysis.advice.unblock, function, lambda *_: ())
    assert list(promised_twice(both)), "8 servers, and each of the two wants 8"
    monkeypatch.setattr(presman.analysis.advice.freeing, "_smallest_first", lambda each: -each.statement.servers)
    larger = replace(reading, heads=(free,), running=tuple(idle), groups=())
    assert list(dearer_than_needed(larger)) == [f"{idle[0].who} is first, and {idle[1].who} is enough: ending one idle "
                                                "holder frees the 24 servers that let it start"]  # fmt: skip


def test_useless_servers_called_wanted_would_be_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """BATCH is at its own limit, and the idle holder is in ETL."""
    idle = replace(busy().running[0], group="ETL")
    held = replace(busy(), running=(idle, *busy().running[1:]), groups=(), number=2)
    assert not list(wanted_and_of_no_use(held))
    monkeypatch.setattr(presman.analysis.advice.contenders, "own_limits", lambda *_: [])
    monkeypatch.setattr(presman.analysis.advice.kept, "why_useless", lambda *_: {})
    assert len(list(wanted_and_of_no_use(replace(held, number=3)))) == 1, "the line of ETL"


def test_contradictions_would_be_found() -> None:
    """The reading of an idle holder beside the screen of a working one, and the reverse."""
    idle = replace(busy(), groups=())
    working = replace(idle, running=tuple(replace(each, idle=None) for each in idle.running))
    at_work, at_rest = screen(working, 200, 50), screen(idle, 200, 50)
    assert not list(contradictions(idle, at_rest))
    assert any("denied" in each for each in contradictions(idle, at_work))
    assert any("nobody is idle, but" in each for each in contradictions(working, at_rest))
    step = ToDo(
        Step.WAIT, "wait: the head of Q should start by itself in about 0:01, when RPT 1:5 ends", "", "", (), "", "Q"
    )
    later = replace(idle, at=idle.at + timedelta(seconds=4))
    assert list(broken(idle, step, later, step)), "1 s was left 4 s ago"
    assert not list(broken(idle, step, idle, step))
