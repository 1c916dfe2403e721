"""Ways to let the head of a queue start: which running statements to end, and the cost of that, in words.

Rules: :mod:`freeing` chooses and orders the statements. A statement that may be a monitor's query is not named at all,
nor is one that waits for another session: that session comes first. A statement that cannot be ended (a background
process, a session marked as killed) is described as such. A start is predicted only if no other queue could take the
servers.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain

from msgspec.structs import replace

from presman.analysis.advice.answers import answered, too_early
from presman.analysis.advice.contenders import (
    Candidate,
    Unblock,
    contenders,
    first_may_want_more,
    own_limits,
    take_turns,
    too_large,
    want_the_same,
    who_is_first,
)
from presman.analysis.advice.ending import (
    ending,
    idle_to_end,
    lost,
    may_end_within,
    objection,
    refusal,
    starts_soon,
    work_left,
)
from presman.analysis.advice.freeing import Freeing, by_time, covers, freeing, in_order, limit_name
from presman.analysis.advice.kept import kept_for_others, kept_servers, queues_want, still_short, too_few
from presman.analysis.caches import once
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.readings.forecast_readings import is_proven
from presman.analysis.readings.reading import Reading, instance_name
from presman.analysis.readings.statement_readings import (
    Cause,
    NotKnown,
    QueuedStatement,
    QueueHead,
    QueueReason,
    RunningStatement,
    Shortage,
    group_title,
)
from presman.base.formats import counted, in_about, instances_are, listed
from presman.base.sums import largest


def why_none_named(head: QueueHead) -> str:
    """Return why no running statement is named."""
    if head.cause is Cause.NEVER_FITS:
        back = f"it fits again once {instances_are(head.fits_with)} back; until then " if head.fits_with else ""
        run = "if it cannot wait, run it with a lower DOP or in another group"
        return f"{back}it is too large for its limit: ending others may not help; {run}"
    if head.cause in {Cause.UNEXPLAINED, Cause.NOT_CHOSEN} and head.statement.reason is QueueReason.UNKNOWN:
        return "the servers it wants are free: no running statement is known to hold it up"
    if head.cause in {Cause.UNKNOWN, Cause.SYSTEM, Cause.GROUP, Cause.CONTAINER}:
        return "how many servers it lacks is not known, so no session is named"
    return "it waits for its turn in the queue, not for servers"


def sentence(found: Unblock, doubtful: int, reading: Reading) -> str:
    """Return in one sentence how a head can start; `doubtful` statements may be monitors' and are not named."""
    if found.unknown:
        return f"who holds servers is not known: {found.unknown}"
    if found.outdated:
        return f"which session to end is not known: {found.outdated} did not answer"
    if found.checks_blocker_first:
        return f"{_blocked_first(found.blocked)}{found.too_few}"
    if found.doubt is not None and not found.can_start_now:
        return f"{found.doubt}, so no session to end is named"
    if found.leaves_soon and found.only_waits:
        is_late = bool(found.times_out and found.candidates)  # an earlier end might have helped
        lead = "" if found.can_start_now else "too late to end a session for it: " if is_late else "wait: "
        return f"{lead}it {found.leaves_soon}"
    fixed = found.refused
    more = f"; {refused_holder(fixed)}" if fixed is not None and found.needed and found.soon is None else ""
    loses_work = any(each.idle is None for answer in found.answers[:1] for each in answer)
    later = found.may_end_later if loses_work and not found.turns else ""
    words = f"{_what_helps(found, doubtful, reading)}{more}{f'; {later}' if later else ''}"
    return f"{queues_behind_itself(found.itself)}; without it {words}" if found.itself is not None else words


def queues_behind_itself(holder: RunningStatement) -> str:
    """Return the sentence that the queued session itself holds servers: its end also ends the waiting statement."""
    held = counted(holder.servers, "server")
    cure = "close it, or raise the limit"
    return f"{holder.who} is queued behind itself: its open cursor keeps {held} ({cure})"


def _blocked_first(blocked: Sequence[RunningStatement]) -> str:
    """Return which session to check before any statement is ended."""
    most = max(blocked, key=lambda each: each.servers)
    held = counted(sum(each.servers for each in blocked), "server")
    waiting = "a session that waits for it" if len(blocked) == 1 else "sessions that wait for others"
    return f"look at {most.blocker} first: {held} are held by {waiting}"


def _what_helps(found: Unblock, doubtful: int, reading: Reading) -> str:
    """Return which ends free enough."""
    if not found.candidates:
        if doubtful:
            maybe = f"{_statements(doubtful)} may be GV$ queries of monitors, so they are not named"
            return f"{maybe}; ending others would not help"
        return "no running statement holds servers that it could use"
    if not found.needed:
        refused = [each for each in found.candidates if each.refused and each.ends_in is None]
        if len(refused) == len(found.candidates):
            return "; ".join(dict.fromkeys(_refused_holders(refused)))
        return "the sessions that can be ended may not free enough, so none is named"
    offers_nobody = found.soon is None and not any(each.commands for each in found.candidates)
    waits_for_one = bool(found.may_end) and not found.turns
    if offers_nobody and found.itself is None and (early := too_early(found)) and not waits_for_one:
        return f"it {early}"
    is_contested = offers_nobody and bool(found.turns)
    return _turns(found, reading) if is_contested else _chosen(found, found.candidates[: found.needed])


def _turns(found: Unblock, reading: Reading) -> str:
    """Return the words on an idle holder whose servers several queues want, and on the first of these queues."""
    idle = (each.statement for each in found.candidates if each.statement.idle is not None)
    keep = ((each.servers, kept_servers(each, found.turns, reading)) for each in idle)
    for_it = [each for each in keep if group_title(found.head) in each[1].queues]
    if not for_it:
        beside = kept_for_others(found.turns, found.head, reading)
        return f"{_want_next(found, reading)}: {found.order}, so ending a session may not help{beside}"
    _, kept = max(for_it, key=lambda each: each[0])
    if kept.pauses:
        return f"{kept.words}; {kept.pauses}"
    if kept.starts or len(kept.queues) > 1:
        return f"{kept.words}: {kept.starts or found.order}"
    others = [name for name in found.turns if name not in kept.queues]
    take = f"{listed(others)} take{'s' * (len(others) == 1)} turns with it"
    return f"{kept.words}; {take}, so that is not proven"


def _want_next(found: Unblock, reading: Reading) -> str:
    """Return the queues that want the next free servers; under its own limit a queue can use only those it counts."""
    own = own_limits(found.head, reading)
    if not own:
        return queues_want(found.turns, reading, " the next free servers")
    wanted = queues_want([name for name in found.turns if name != group_title(found.head)], reading, " them, too")
    return f"only servers that {limit_name(own[0])} counts can start it, and {wanted}"


def _refused_holders(refused: Sequence[Candidate]) -> Iterator[str]:
    """Yield which holders cannot be ended; those gone with an instance share one reason and one sentence."""
    gone: Counter[int] = Counter()
    for each in refused:
        if each.statement.orphaned:
            gone[each.statement.inst_id] += each.statement.servers
        else:
            yield refused_holder(each)
    for inst_id, servers in gone.items():
        held = counted(servers, "server")
        yield f"statements lost with instance {inst_id} still hold {held}, and there is no session to end"


def refused_holder(candidate: Candidate) -> str:
    """Return which session holds servers and cannot be ended, and why."""
    each = candidate.statement
    return f"{each.who} holds {counted(each.servers, 'server')}: {candidate.refused}"


def _chosen(found: Unblock, chosen: Sequence[Candidate]) -> str:
    if found.may_end and not any(each.commands for each in found.candidates):
        return f"wait: {found.may_end}"
    same = f"; {want_the_same(found.rivals)}: {found.order}" if found.rivals else ""
    same = same or (f"; {found.unsure}" if found.unsure else "")
    # A statement that wants more than its limit was seen to start once nothing else ran, but this is not predicted.
    perhaps = found.head.cause is Cause.NEVER_FITS
    statement = f"one of the first {found.head.equals + 1}" if found.head.equals else "it"
    lets = f"with which {statement} may start" if found.rivals or found.unsure else f"that let {statement} start"
    lets = "with which it may start, though it is too large for the target" if perhaps else lets
    waits = [each.ends_in for each in chosen if each.ends_in is not None]
    total = sum(each.statement.servers for each in chosen)
    if len(waits) == len(chosen):
        starts = "may start" if found.rivals or found.unsure or perhaps else "should start by itself"
        return f"wait: it {starts} {in_about(max(waits))}, with {counted(total, 'server')} freed then{same}"
    after = f"after {_statements(len(waits))} that should end {in_about(max(waits))}, " if waits else ""
    to_end = chosen[len(waits) :]
    objected = sorted((each for each in to_end if each.why_not), key=lambda each: each.why_not != each.objection)
    against = None if perhaps or not objected else objected[0]
    if against is not None:
        own = f"{against.statement.who}: " if against.why_not == against.objection else ""
        same = f"; but {own}{against.why_not}"
    if len(to_end) == 1:
        kind = "idle holder" if to_end[0].statement.idle is not None else "statement"
        held = counted(to_end[0].statement.servers, "server")
        return f"{after}ending one {kind} frees the {held} {lets}{same}"
    freed = sum(each.statement.servers for each in to_end)
    names = listed([each.statement.who for each in to_end])
    together = f"ending {names if len(to_end) <= _NAMED else _statements(len(to_end))} together"
    return f"{after}{together} frees the {counted(freed, 'server')} {lets}{same}"


def _statements(number: int) -> str:
    return counted(number, "statement")


_NAMED = 3
"""The most statements to be ended together that a sentence names."""


_ASKED = 2
"""The most idle holders whose ends are forecast, whatever a head is short of."""


LISTED = 12
"""Candidates kept for one head, unless more are needed."""


@once
def unblock(reading: Reading) -> tuple[Unblock, ...]:
    """Return how to let each head of `reading` start, in the order of the heads."""
    if not reading.heads:
        return ()
    counts, idle = Counted.of(reading), idle_to_end(reading)[:_ASKED]
    return tuple(replace(_unblock(head, reading, counts), idle=idle) for head in reading.heads)


def unblock_of(row: QueuedStatement, reading: Reading) -> Unblock | None:
    """Return how to let the head of a statement's queue start."""
    key = (row.con_id, row.group)
    return next((each for each in unblock(reading) if (each.head.con_id, each.head.group) == key), None)


def _unblock(head: QueueHead, reading: Reading, counts: Counted) -> Unblock:
    # Facts of the last full minute may help to choose a session, but do not show whether the head lacks servers now.
    is_doubted = not _recent(head) or head.cause is Cause.UNKNOWN
    doubt = _not_known_of(reading) or (head.not_known if is_doubted else None)
    nobody = Unblock(head, (), 0, ending(head.statement, reading).commands, why_none_named(head), doubt=doubt)
    if head.shortages and (doubt is None or doubt is head.not_known):
        whole = answered(_with_rivals(_with_holders(nobody, reading, counts), reading, counts), reading)
        return replace(whole, sentence=sentence(whole, sum(not each.certain for each in reading.running), reading))
    is_explained = doubt is not None or nobody.leaves_soon
    return replace(nobody, sentence=sentence(nobody, 0, reading)) if is_explained else nobody


def _recent(head: QueueHead) -> str:
    """Return what is known of a head for the last full minute only, "" if nothing."""
    return str(head.not_known) if head.not_known is not None and head.not_known.is_recent else ""


def _with_holders(found: Unblock, reading: Reading, counts: Counted) -> Unblock:
    """Return `found` with the statements that hold servers the head lacks, and those that are enough together."""
    head, doubt, shortages = found.head, found.doubt, found.head.shortages
    certain = (each for each in reading.running if each.certain)  # not those that may be monitors' GV$ queries
    helpers = [helper for each in certain if (helper := freeing(each, shortages, counts))]
    # A session may queue while an open cursor of its own keeps servers: its end would end the head with it.
    session = head.statement.executing()[:3]
    itself = next((each.statement for each in helpers if each.statement.executing()[:3] == session), None)
    helpers = [each for each in helpers if each.statement is not itself]
    unknown = reading.why_unavailable("V$PX_SESSION") or ("" if helpers else _unlisted(reading))
    if doubt is None and not reading.unanswered("V$SESSION"):
        unknown = unknown or reading.why_unavailable("V$SESSION")
    # A statement that waits for a session, or cannot be ended, is shown but never chosen.
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    fixed = [each for each in helpers if each.ends_in is None and refusal(each.statement)]
    helpers = [each for each in helpers if not each.statement.blocker and each not in fixed]
    short = [each.short for each in shortages]
    first = [each for each in helpers if is_proven(reading.effect_of(each.statement)) and not objection(each.statement)]
    chosen, others = in_order(helpers, blocked, short, first) if doubt is None else ([], helpers)
    kept = (*chosen, *others, *fixed)[: max(LISTED, len(chosen))]
    known = helpers if doubt is None else []
    return replace(
        found,
        candidates=tuple(_candidate(each, shortages, reading) for each in kept),
        needed=len(chosen),
        soon=largest(each.ends_in for each in chosen),
        blocked=blocked,
        by_itself=tuple(each.statement for each in by_time(known, short)),
        by_step=tuple(each.statement for each in by_time(known, short, work_left)),
        itself=itself,
        unknown=unknown,
        starts_within=_starts_within(head, reading),
        too_few=too_few(blocked, head, reading),
    )


def _with_rivals(found: Unblock, reading: Reading, counts: Counted) -> Unblock:
    """Return `found` with the queues that compete for the servers, and the effect of the needed ends on all queues.

    They are judged for the ends that the advice names: those to wait for, else those to end.
    """
    head, to_end = found.head, tuple(each.statement for each in found.candidates[: found.needed])
    freed = found.by_itself if found.soon is not None else to_end or found.by_itself
    rivals = contenders(head, freed, reading, counts) if freed else ()
    turns = take_turns(head, freed, reading, counts)
    return replace(
        found,
        rivals=rivals,
        turns=turns,
        order=who_is_first(head, turns or rivals, reading),
        unsure=first_may_want_more(head, reading) or _recent(head),
        rivals_too_large=too_large(head, rivals, freed, reading, counts),
        effect=reading.effect_of(*next(iter(found.possible), ())) if found.needed > 1 else None,
    )


def _not_known_of(reading: Reading) -> NotKnown | None:
    """Return the unknown facts about the whole database: the effect of a quiesce on the queue, or a gone instance.

    Limits and the target are parts of the servers of the open instances. V$INSTANCE may not answer, or an instance may
    be silent for a poll.
    """
    if reading.quiesce is not None:
        return NotKnown("whether a queued statement starts while the database is quiesced")
    new = next((each for each in reading.gone if each.inst_id in reading.just_gone), None)
    if new is not None:
        gone = f"whether {instance_name(new.inst_id, new.instance_name)} is gone"
        return NotKnown(gone, "one poll has no rows of it")
    view = reading.unanswered("V$INSTANCE")
    silent = (each for each in reading.header.instances if each.servers.target is None)
    known = ((each.inst_id, each.name) for each in silent if len(reading.header.instances) > 1)
    missing = ((each.inst_id, each.instance_name) for each in reading.missing)
    first = next(chain(known, missing), None) if view else None
    return None if first is None else NotKnown(f"whether {instance_name(*first)} is gone", view)


def _starts_within(head: QueueHead, reading: Reading) -> float | None:
    """Return the seconds within which a head should start by its forecast, None unless that is soon.

    This is not repeated once it has proved wrong, nor said if it rests on the end of an idle holder, which waits for
    its user.
    """
    latest = starts_soon(head, reading)
    if latest is None or head.statement.executing() in reading.late_starts:
        return None
    soon = [each for each in reading.running if may_end_within(each, latest)]
    return None if still_short(soon, head, reading) else latest


def _unlisted(reading: Reading) -> str:
    """Return the sentence that V$PX_SESSION does not show the holders of the servers in use, "" if it does."""
    pool, shown = reading.header.servers, sum(each.servers for each in reading.running)
    in_use = pool.in_use if pool.counted is None else pool.counted
    return f"V$PX_SESSION shows {shown} of {counted(in_use, 'server')} in use" if in_use and shown < in_use else ""


def _candidate(helper: Freeing, shortages: Sequence[Shortage], reading: Reading) -> Candidate:
    each = helper.statement
    doubt = "" if helper.low == helper.high else "whether the queue counts its servers here is not known"
    return Candidate(
        statement=each,
        frees=min(helper.low),
        perhaps=min(helper.high),
        enough=covers([helper], [shortage.short for shortage in shortages]),
        lost=lost(each),
        ends_in=helper.ends_in,
        refused=ending(each, reading).refused,
        objection=objection(each) or doubt,
        effect=reading.effect_of(each),
    )
