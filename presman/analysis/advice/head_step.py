"""Step for the head of one queue if no session is to be ended for it: what to check, or what to wait for.

DO waits for statements that should end by themselves soon, and predicts that the head starts then only if no other
queue wants the same servers. If holders of servers wait for a session, that session is checked first. A person decides
which work to lose, on the tab that lists it. `between` holds the step's wordings of medium length, the longest first.
"""

from collections.abc import Iterator, Sequence
from math import inf

from presman.analysis.advice.answers import NO_USE, too_early, too_little
from presman.analysis.advice.contenders import STARTS_NOW, Candidate, Unblock, last_of, want_the_same
from presman.analysis.advice.ending import LONG_IDLE, SAVES_LITTLE, pause, refusal, saves_little, step_left, time_left
from presman.analysis.advice.freeing import why_useless
from presman.analysis.advice.kept import has_just_stopped, kept_in_words, starts_no_head
from presman.analysis.advice.step import Step, ToDo
from presman.analysis.advice.unblock import queues_behind_itself, refused_holder
from presman.analysis.alerts.queue_alerts import session_words
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.forecast_readings import helps_none
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement, group_title
from presman.base.formats import counted, duration, in_about, instances_are, listed

_NAMED = 2
"""The most statements, enough together, that DO lists by name."""


def head_step(found: Unblock, reading: Reading) -> ToDo:
    """Return the step for one head."""
    head = found.head
    if found.blocked:
        held = max(found.blocked, key=lambda each: each.servers)
        age = max(reading.age_of(view) or 0.0 for view in ("V$SESSION", "V$PX_SESSION"))
        return look_at_blocker(held, reading, queue_name(head)).aged(age).longer_by(found.too_few)
    if found.can_start_now and not found.outdated:  # past its limits, so it does not matter what is not known of them
        return _start_or_lose(found)
    if found.doubt is not None and not found.unknown:
        text, slowed = f"wait: {found.doubt}, so no session to end is named for", _slowed_by_io(found, reading)
        short = f"wait: {found.doubt.what} is not known"
        return _step(found, Step.WAIT, f"{text} {head_in_words(head)}{slowed}", short)
    if (found.leaves_soon or found.soon is not None) and not found.outdated:
        return _by_itself(found)
    if found.itself is not None:
        short = f"close the open cursor of {found.itself.who}"
        return _step(found, Step.CHANGE, queues_behind_itself(found.itself), short)
    return _too_large(found, reading) if head.cause is Cause.NEVER_FITS else _patience(found, reading)


def _by_itself(found: Unblock) -> ToDo:
    """Return the step to wait for a head that leaves the queue soon by itself."""
    if not found.leaves_soon:
        return _wait_for(found, "should start by itself")
    short = f"wait: {queue_name(found.head)} {found.leaves_soon}".partition(", by")[0].partition(": then")[0]
    return _step(found, Step.WAIT, f"wait: {head_in_words(found.head)} {found.leaves_soon}", short)


def _start_or_lose(found: Unblock) -> ToDo:
    """Return the step to decide about a head that ends at its queue timeout soon, and that a command can start."""
    left, ends = duration(found.head.statement.timeout_left), found.head.statement.at_timeout
    lead, when = f"decide whether to start {head_in_words(found.head)} now", f"its queue timeout is in {left}"
    short = f"start {queue_name(found.head)}'s head now? {when}"
    return _step(found, Step.LOOK, f"{lead} ({STARTS_NOW}): {when}, then {ends}", short, f"{lead}: {when}")


def _step(found: Unblock, step: Step, text: str, short: str, *between: str) -> ToDo:
    """Return a step for a head: about its queue, without a command."""
    return ToDo(step, text, short, "parallel", subject=queue_name(found.head), between=between)


def _too_large(found: Unblock, reading: Reading) -> ToDo:
    """Return the step for a head that wants more than there is: wait if it is known when the others end.

    A queued statement keeps its degree; only a new run can have a lower one. Limits are parts of the servers of the
    open instances, so a gone instance comes first.
    """
    head = found.head
    name, the_head = queue_name(head), head_in_words(head)
    if head.is_too_large_for_target and found.by_itself:
        return _wait_for(found, "may start")
    gone = instances_are([each.inst_id for each in reading.gone])  # no limit counts their servers
    without = f" without {gone.rpartition(' ')[0]}" if reading.gone else ""
    if head.fits_with:
        back = f"{instances_are(head.fits_with)} back"
        text = f"{the_head} fits again once {back}; else cancel it and run it with a lower DOP, or in another group"
        return _step(found, Step.CHANGE, text, f"run {name}'s head with a lower DOP, or wait until {back}")
    helps, short = _cure_of_size(head, name, without)
    of = f", which is that of the instances that are left{without}" if without else ""
    return _step(found, Step.CHANGE, f"{the_head} is {head.why}{of}: {helps}", short)


def _cure_of_size(head: QueueHead, name: str, without: str) -> tuple[str, str]:
    """Return the remedy for a head that is too large, in full and in short; `without` names gone instances."""
    lower = f"run {name}'s head with a lower DOP"
    if head.is_too_large_for_target and head.in_use == 0:
        helps = "no servers are in use and it is still queued, so cancel it and run it with a lower DOP"
        return helps, f"{lower}: it is {head.why}{without}"
    if head.is_too_large_for_target:
        helps = "it may start only when no servers are in use; with a lower DOP it starts sooner"
        return helps, f"{lower}, or wait until no servers are in use{without}"
    if head.allowed == 0:
        return "it allows none, so raise the limit", f"raise the limit of {name}: it allows no servers"
    if head.as_large:
        starts = f"it may start when {name} holds no servers"
        helps = f"one as large runs now, so {starts}; with a lower DOP it starts sooner"
        return helps, f"{lower}, or wait until {name} holds no servers"
    cure = "if it cannot wait, cancel it and run it with a lower DOP, or in another group"
    return f"whether it ever starts is not known; {cure}", f"{lower}, or wait: it may never start{without}"


def queue_name(head: QueueHead) -> str:
    """Return the name of a head's queue, that of its group."""
    return group_title(head) if head.group else "the queue"


def head_in_words(head: QueueHead) -> str:
    """Return the head in words, as one of several if others have waited equally long."""
    which = f"one of the first {head.equals + 1}" if head.equals else "the head"
    return f"{which} of {queue_name(head)}"


def _wait_for(found: Unblock, starts: str) -> ToDo:
    """Return the step to wait for statements that should end; it predicts a start only without rivals."""
    name, the_head, last = queue_name(found.head), head_in_words(found.head), found.by_itself[-1]
    about, when = in_about(time_left(last)), _when(found, last)
    text, short = f"wait: {the_head} may start {about}, {when}", f"wait: {name} may start {about}"
    if found.rivals:
        same = f"{text}; {want_the_same(found.rivals)}"
        return _step(found, Step.WAIT, same, f"{short}; so may {listed(found.rivals)}")
    if found.unsure:
        return _step(found, Step.WAIT, f"{text}; {found.unsure}", short)
    if found.head.cause is Cause.NEVER_FITS:  # it has been seen to start alone, but that is not predicted
        alone = f"wait: {the_head} may start only when no servers are in use, {about}, {when} ({found.head.why})"
        return _step(found, Step.WAIT, alone, short)
    sure = f"wait: {name} {starts.partition(' by ')[0]} {about}"
    return _step(found, Step.WAIT, f"wait: {the_head} {starts} {about}, {when}", sure)


def _when(found: Unblock, last: RunningStatement) -> str:
    """Return the words on the end to wait for."""
    holder = last.who
    if last.idle is not None:
        return f"when Oracle ends {holder}, idle {last.idle_time} ({last.ended_by})"
    of = "" if len(found.by_itself) == 1 else f", the last of {len(found.by_itself)},"
    return f"when {holder}{of} {'ends' if found.soon is not None else 'should be done'}"


def lasting_cure(reading: Reading) -> str:
    """Return the setting that would end such sessions in future, "" if it is set or not known to exist."""
    off = reading.header.idle_blocker_minutes == 0
    return "; MAX_IDLE_BLOCKER_TIME would end such sessions while statements queue" if off else ""


def _patience(found: Unblock, reading: Reading) -> ToDo:
    """Return the step to wait, with the time if known, or to decide which work to end. The first case counts."""
    name, the_head, cause = queue_name(found.head), head_in_words(found.head), found.head.cause
    if cause is Cause.UNEXPLAINED:
        text = f"check what else limits {the_head}: the servers it wants are free, yet it is still queued"
        return _step(found, Step.LOOK, text, f"check what else limits {name}")
    if cause in {Cause.BEHIND, Cause.NOT_CHOSEN}:
        short = f"wait: {name}'s head is {cause.value}"
        return _step(found, Step.WAIT, f"wait: {the_head} {found.head.sentence}", short)
    if found.unknown:
        text = f"find out who holds the servers that {the_head} wants: {found.unknown}"
        return _step(found, Step.LOOK, text, f"who holds the servers that {name} wants is not known")
    if found.outdated:
        text = f"wait: which session to end so that {the_head} starts is not known: {found.outdated} did not answer"
        return _step(found, Step.WAIT, text, f"wait: {found.outdated} did not answer")
    if found.by_itself:
        return _wait_for(found, "can start")
    text, short, *between = _while_holders_stay(found, reading)
    if short == _shortly(found):
        between += _decided(found, reading)
    return _step(found, Step.WAIT, text, short, *between)


def _while_holders_stay(found: Unblock, reading: Reading) -> tuple[str, ...]:
    """Return the advice while no holder of servers is known to end soon: in full, in short, and between.

    The first case counts. The last is that a person decides which work to lose.
    """
    fixed = found.refused
    if fixed is not None and (fixed.statement.idle is None or not _leaves_a_decision(found)):
        text = f"wait: {refused_holder(fixed)}"
        return text, text
    late = next((each.statement for each in found.candidates if each.statement.overdue), None)
    if late is not None:
        over = f"{late.who} should have ended by now but still runs"
        when = f"{over}, so when {head_in_words(found.head)} starts is not known:"
        return _advised(when, found, reading), _shortly(found, f"wait: {over}")
    if found.may_end and not found.turns and not _leaves_a_decision(found):
        return _may_end(found, reading)
    if any(each.idle is not None for each in reading.running):
        return _idle_holder(found, reading)
    return _nobody_idle(found, reading)


def _nobody_idle(found: Unblock, reading: Reading) -> tuple[str, ...]:
    """Return the advice for the case that every holder of servers works: in full, in short, and between."""
    the_head, slowed = head_in_words(found.head), _slowed_by_io(found, reading)
    if near := _one_of_them_may_end(found):
        return f"{near}{slowed}", near.partition(";")[0], near, near.partition(", and none")[0]
    if _leaves_a_decision(found):
        text = f"no idle session holds servers that {the_head} could use: {_wait_or_decide(found, reading)}"
        return f"{text}{slowed}", _shortly(found), text
    early, name = too_early(found), queue_name(found.head)
    because = found.sentence.replace(", so ending a session may not help", "")
    why = f"{the_head} {early}" if early else f"ending a session may not start {the_head}: {because}"
    short = f"wait: too early to end a session for {name}" if early else f"wait: ending a session may not start {name}"
    text = f"{_wait(found, reading)}: {why}"
    return f"{text}{slowed}", short, text, f"wait: {why}"


def _one_of_them_may_end(found: Unblock) -> str:
    """Return the advice to wait for one of several that would have to end together, "" if none may end soon."""
    for each in found.candidates[: found.needed]:
        left = step_left(each.statement)
        if left is not None and each.why_not == each.objection and not found.turns:
            soon = f"wait: {each.statement.who} may end by itself {in_about(left)}"
            first = found.may_end_first
            last = f", and none once {first[-1].who} has ended, {in_about(first[-1].remaining)}" if first else ""
            return f"{soon}; then fewer sessions have to be ended{last}"
    return ""


def _may_end(found: Unblock, reading: Reading) -> tuple[str, ...]:
    """Return the advice to wait for a statement that may end by itself soon, in full, in short, and between."""
    short, slowed = f"wait: {found.may_end.partition(',')[0]}", _slowed_by_io(found, reading)
    if idle := found.idle_beside:
        also = listed([f"{each.who} (idle {each.idle_time})" for each in idle])
        text = f"{short}; until then ending {also} is not enough"
        return f"{text}{slowed}", short, text
    can = "may" if found.rivals or found.unsure else "can"
    text = f"wait: {found.may_end}, and then {head_in_words(found.head)} {can} start"
    return f"{text}{slowed}", short, text, f"{short}, and then {queue_name(found.head)} {can} start"


def _decided(found: Unblock, reading: Reading) -> Iterator[str]:
    """Yield shorter words than the full ones of a step to wait or to decide, the longest first."""
    whole, name = _wait_or_decide(found, reading), queue_name(found.head)
    if not (ends := _ends_offered(found, estimates=False)):
        yield f"{whole} for {name}"
        yield "wait, or decide whose work to end"
        return
    yield whole
    yield f"wait, or{whole.partition(', or')[2]}"
    then = f"{name} {'may' if found.rivals else 'can'} start{_work_lost(_answer(found))}"
    yield f"wait, or decide whether to {_ends_offered(found)}: {then}"
    yield f"wait, or {ends} (you decide): {then}"
    yield f"wait, or {ends}: you decide"


def _wait_or_decide(found: Unblock, reading: Reading) -> str:
    """Return the advice to wait, or to decide about the sessions that TO START IT names, with the effect."""
    wait = _wait(found, reading)
    if not (ends := _ends_offered(found)):
        return f"{wait}, or decide whose work to end" if _leaves_a_decision(found) else wait
    can = "may" if found.rivals else "can"
    then = f"then {head_in_words(found.head)} {can} start{_work_lost(_answer(found))}"
    return f"{wait}, or decide whether to {ends}: {then}"


def _wait(found: Unblock, reading: Reading) -> str:
    """Return the advice to wait, with how long by the forecast, and until a statement may end by itself.

    The time of a statement that may be ended stands beside its name.
    """
    starts, first = reading.trusted_start(found.head), () if found.turns else found.may_end_first
    known = []
    if starts is not None and starts.low is not None:
        known.append(f"the head should start in {duration(starts.low)}-{duration(starts.high)}, by its forecast")
    named = [each.statement for each in _answer(found)[:_NAMED]]
    if any(each not in named for each in first):
        known.append(f"{last_of(first)} may end {in_about(first[-1].remaining)}")
    return f"wait ({'; '.join(known)})" if known else "wait"


def _leaves_a_decision(found: Unblock) -> bool:
    """Whether TO START IT names a session that a person may decide to end, even if DO names it only after a while."""
    return any(each.proven for each in found.candidates)


def _advised(why: str, found: Unblock, reading: Reading) -> str:
    """Return a reason and the advice: the reason first if there is something to decide, else the wait first."""
    if _leaves_a_decision(found):
        return f"{why} {_wait_or_decide(found, reading)}"
    early = too_early(found)
    more = f"; the head {early}" if early and early not in why else ""
    return f"{_wait(found, reading)}: {why.rstrip(':;')}{more}"


def _answer(found: Unblock) -> list[Candidate]:
    """Return the candidates that TO START IT names first, [] if it names none."""
    first = next(iter(found.answers), ())
    return [each for each in found.candidates if each.statement in first]


def _ends_offered(found: Unblock, *, estimates: bool = True) -> str:
    """Return the words on the commands for the candidates that TO START IT names first, "" if it names none.

    A session is ended if it executes nothing that could be cancelled; otherwise its statement is cancelled. `estimates`
    adds when each may end by itself: DO says to wait for it once that is soon.
    """
    answer = _answer(found)
    words: list[str] = []
    for before, each in zip([None, *answer], answer[:_NAMED], strict=False):
        is_same = before is not None and before.verb == each.verb
        named = each.statement.who
        if estimates and each.statement.idle is None and not each.statement.overdue:
            left = step_left(each.statement, inf)
            named += " (no estimate of its end)" if left is None else f" (it may end {in_about(left)})"
        words.append(named if is_same else f"{each.verb} {named}")
    more = [counted(len(answer) - _NAMED, "other")] if len(answer) > _NAMED else []
    return listed([*words, *more])


def _work_lost(answer: Sequence[Candidate]) -> str:
    """Return the words on the work lost if they are ended, "" if all are idle user sessions."""
    busy = [each.statement.who for each in answer if each.statement.idle is None or each.statement.kind is not None]
    if not busy:
        return ""
    of = busy[0] if len(busy) == 1 else f"{len(busy)} of them"
    work = "that work" if len(busy) == len(answer) else f"the work of {of}"
    return f", and {work} is lost"


def _shortly(found: Unblock, otherwise: str = "") -> str:
    """Return the advice in short, `otherwise` if nothing is to be decided."""
    if ends := _ends_offered(found):
        return f"wait, or {ends}: you decide"
    decides = not otherwise or _leaves_a_decision(found)
    return f"wait, or decide whose work to end for {queue_name(found.head)}" if decides else otherwise


def _slowed_by_io(found: Unblock, reading: Reading) -> str:
    """Return the remedy for the I/O limit that slows the statements of the head's container, "" without one."""
    held = (each for each in reading.io_limited if each.verdict is IoVerdict.THROTTLED)
    pdb = next((each for each in held if each.con_id == found.head.con_id), None)
    return "" if pdb is None else slowed_by(pdb)


def slowed_by(pdb: LimitedContainer) -> str:
    """Return the end of a sentence: the I/O limit of a container slows it, and what to do about that."""
    return f"; {pdb.held_by or 'an I/O limit'} slows {pdb.name}: raise it if {pdb.name} needs more I/O"


def _idle_holder(found: Unblock, reading: Reading) -> tuple[str, ...]:
    """Return why DO names no idle holder to be ended, in full, in short, and between.

    The screen shows each idle holder, so DO mentions one and the effect of its end.
    """
    name = group_title(found.head)
    idle = [each for each in found.candidates if each.statement.idle is not None]
    helping = [each for each in idle if name not in why_useless(each.statement, reading)]
    chosen = found.candidates[: found.needed]
    if chosen and all(each in helping for each in chosen):
        return _idle_answer(found, next((each for each in chosen if each.objection), chosen[0]), reading)
    if helping:
        return _idle_beside_others(found, helping[0], reading)
    every = (each for each in reading.running if each.idle is not None)
    return _idle_elsewhere(found, max(every, key=lambda each: (each.servers, each.idle or 0.0)), reading)


def _idle_answer(found: Unblock, candidate: Candidate, reading: Reading) -> tuple[str, ...]:
    """Return the advice to wait although the end of idle holders would let the head start, and why."""
    each, the_head = candidate.statement, head_in_words(found.head)
    keeps, idle = f"{each.who} keeps {counted(each.servers, 'server')}", f"idle {each.idle_time}"
    why = candidate.objection or (f"{NO_USE}, so waiting is as good" if helps_none(candidate.effect) else "")
    why = candidate.why_not if too_early(found) else why or candidate.why_not or SAVES_LITTLE
    reason = why.removeprefix(f"{idle}, so ")
    if too_early(found):
        reason = reason.partition(": ")[0]
    stopped = has_just_stopped(each)
    kept = kept_in_words(each) if stopped else keeps
    text = f"wait: {kept} that {the_head} could use; {reason if stopped else why}"
    short = f"wait: {kept}{'' if stopped else f', {idle}'}; {reason}"
    if why != pause(each) or why != candidate.why_not or found.needed > 1 or saves_little(candidate.effect):
        return f"{text}{lasting_cure(reading)}", short, text
    if not each.idle_known:
        never = "DO offers no end of a session whose LAST_CALL_ET is not known"
        return f"{text}, and {never}{lasting_cure(reading)}", short
    end = "end it if it stays idle"
    later = f"{end} (from {duration(LONG_IDLE)} on DO offers it)"
    between = f"{text}: {later}", f"{short}: {later}", f"{short}: {end}"
    return f"{text}: {later}{lasting_cure(reading)}", short, *between


def _idle_beside_others(found: Unblock, candidate: Candidate, reading: Reading) -> tuple[str, ...]:
    """Return the advice for an idle holder that keeps servers the head lacks, if ending it alone is not enough.

    The servers that are enough change with each statement that ends, and the next statement to be served is not known:
    no start is predicted.
    """
    each = candidate.statement
    why, short = _why_beside(found, candidate, reading)
    text, is_chosen = f"{kept_in_words(each)}; {why}", candidate in found.candidates[: found.needed]
    if is_chosen and candidate.proven and not found.answers:  # TO START IT names the sessions at once, DO after a while
        decide = f"wait, or decide whose work to end besides {each.who}"
        return f"{text}; {decide}", decide, f"{decide} (idle {each.idle_time})"
    return _advised(f"{text};", found, reading), _shortly(found, short), *_only_wait(text, found)


def _why_beside(found: Unblock, candidate: Candidate, reading: Reading) -> tuple[str, str]:
    """Return why an idle holder that is not enough alone is not to be ended now, and the advice in short."""
    each, name = candidate.statement, queue_name(found.head)
    short = f"wait: ending {each.who} may not help {name}"
    early = too_early(found)
    if candidate in found.candidates[: found.needed] and (early or candidate.objection) and candidate.why_not:
        why = candidate.why_not if early else candidate.objection
        return why.removeprefix(f"idle {each.idle_time}, so "), short
    if helps_none(candidate.effect):
        return f"{NO_USE}, so waiting is as good", short
    none_start = starts_no_head(each, [group_title(found.head)], reading)
    if none_start and candidate.frees == candidate.perhaps:
        lacking = none_start.partition(", so")[0]
        return none_start, f"wait: {each.who} keeps {counted(each.servers, 'server')}, {lacking}"
    if each.kind is not None and each.kind.loss in candidate.objection:
        never = f"it is {each.kind.name}, so never offered"
        return f"{never}: if it is ended, {each.kind.loss}", f"wait: {kept_in_words(each)}; {never}"
    # If its servers certainly count, they are too few; otherwise the objection says that this is not known.
    counts = candidate.frees == candidate.perhaps and not candidate.enough
    unsure = too_little(candidate, found.head, reading) if counts else candidate.objection
    return str(found.head.not_known or unsure), short


def _idle_elsewhere(found: Unblock, each: RunningStatement, reading: Reading) -> tuple[str, ...]:
    """Return the advice for an idle holder whose servers the head could not use."""
    cause = why_useless(each, reading).get(group_title(found.head), "")
    useless = f"ending it would not let {head_in_words(found.head)} start"
    why = refusal(each) or f"{useless}{f': {cause}' if cause else ''}"
    text = _advised(f"{kept_in_words(each)}, but {why};", found, reading)
    short = _shortly(found, f"wait: ending {each.who} does not let {queue_name(found.head)} start")
    return text, short, *_only_wait(f"{kept_in_words(each)}, but {refusal(each) or useless}", found)


def _only_wait(why: str, found: Unblock) -> tuple[str, ...]:
    """Return the wording with the wait alone, () if there is something to decide: no wording may leave that out."""
    return () if _leaves_a_decision(found) else (f"wait: {why}",)


def look_at_blocker(held: RunningStatement, reading: Reading, name: str) -> ToDo:
    """Return the step to check the session that a holder of servers waits for; it comes first."""
    blocker = session_words(held.blocker, reading) or f"session {held.blocker}"
    short = f"look at {blocker}: {held.who} waits for it"
    return ToDo(Step.LOOK, f"{short} and holds {counted(held.servers, 'server')}", short, "top", subject=name)
