"""Ways to let the head of a queue start: which running statements to end, and what it would cost, in words.

The rules. A statement helps a head only where the head is short: everybody holds servers of the system's target, only
the same group those of a group's limit, only the same container those of a container's. First come those that are about
to end by themselves: for them one waits. Then idle holders, by servers times idle seconds, because ending them throws
no work away; then those whose end throws away least, by servers times elapsed time in whole hours, and of those the
ones with fewest servers; last sessions that do more than a user's statement, such as RMAN's. If one is not enough, as
few as will do are named together. What may be a monitor's query is not named at all, nor is who waits for another
session: that session comes first. Who cannot be ended (a background process, a session marked as killed) is told as
that. A start is promised only where no other queue could take the servers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

from msgspec import Struct
from msgspec.structs import replace

from presman.analysis.advice.answers import answered, is_new
from presman.analysis.advice.contenders import (
    Candidate,
    Unblock,
    contenders,
    first_may_want_more,
    is_blocker,
    is_proven,
    take_turns,
    too_large,
    want_the_same,
    who_is_first,
)
from presman.analysis.advice.ending import (
    NEARLY_DONE,
    ending,
    ends_in,
    idle_to_end,
    lost,
    objection,
    refusal,
    time_left,
)
from presman.analysis.caches import once
from presman.analysis.parallel.counted_servers import Counted, why_not_counted
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    Cause,
    EndingEffect,
    QueuedStatement,
    QueueHead,
    RunningStatement,
    Shortage,
    group_title,
)
from presman.base.formats import counted, duration, in_about, listed


class Freeing(Struct, frozen=True, eq=False):
    """What the end of a statement frees of each shortage, at least and at most."""

    statement: RunningStatement
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def idle(self) -> bool:
        """Whether it holds servers and does nothing, and is a user's ordinary session."""
        return self.statement.idle is not None and self.statement.kind is None

    @property
    def ends_in(self) -> float | None:
        """Seconds after which it should end by itself, None unless that is soon."""
        return ends_in(self.statement)


def freeing(statement: RunningStatement, shortages: Sequence[Shortage], counts: Counted) -> Freeing | None:
    """Return what the end of a statement frees of each shortage, None if nothing of any."""
    low, high = [], []
    for shortage in shortages:
        helps = _concerns(statement, shortage)
        counted = counts.of_statement(statement, everybody=shortage.everybody)
        servers = statement.held_on(shortage.inst_ids)
        low.append(servers if helps and counted else 0)
        high.append(servers if helps and counted is not False else 0)
    return Freeing(statement, tuple(low), tuple(high)) if any(high) else None


def _concerns(statement: RunningStatement, shortage: Shortage) -> bool:
    if shortage.everybody:
        return True
    return statement.con_id == shortage.con_id and shortage.group in {"", statement.group}


def no_use(statement: RunningStatement, reading: Reading) -> dict[str, str]:
    """Return by head, as its group's title, why the end of a statement frees nothing that it is short of."""
    counts = Counted.of(reading)
    found = {}
    for head in reading.heads:
        if head.shortages and freeing(statement, head.shortages, counts) is None:
            found[group_title(head)] = _why_no_use(statement, head.shortages[0], counts)
    return found


def _why_no_use(statement: RunningStatement, shortage: Shortage, counts: Counted) -> str:
    """Return why a statement holds nothing of what a limit leaves too little of."""
    if not shortage.everybody and statement.con_id != shortage.con_id:
        return f"it is in another container{f', {statement.container}' if statement.container else ''}"
    if not _concerns(statement, shortage):
        return f"it is in {group_title(statement)}, and {shortage.group} is at its own limit"
    if counts.of_statement(statement, everybody=shortage.everybody) is False:
        return "the queue does not count its servers"
    return "its servers run on other instances"


def in_order(
    helpers: Sequence[Freeing],
    blocked: Sequence[RunningStatement],
    short: Sequence[int],
    first: Sequence[Freeing] = (),
) -> tuple[list[Freeing], list[Freeing]]:
    """Return those that let a head start together, and the others; the first to be named and copied first.

    Who would do alone stands before who would not. Where somebody holds others up, nobody else is said to be needed.
    `first` are idle holders whose end is proven to help: DO names one, so one is among the chosen, unless others end by
    themselves.
    """
    chosen = _choose(helpers, short, first)
    if blocked and any(each.ends_in is None for each in chosen):
        chosen = []
    others = sorted(
        (each for each in helpers if each not in chosen and (all(each.high) or is_blocker(each.statement, blocked))),
        key=lambda each: (
            not is_blocker(each.statement, blocked),
            each.statement.kind is not None,
            not (alone := covers([each], short)),
            _smallest_first(each) if alone else _by_harm(each),
        ),
    )
    return chosen, others


def by_time(helpers: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return those whose ends let a head start the earliest, in the order in which they should end; [] if not known."""

    def left(each: Freeing) -> float:
        seconds = time_left(each.statement)
        return inf if seconds is None else seconds

    ending = [each for each in helpers if left(each) < inf and any(each.low)]
    kept = _prefix(sorted(ending, key=lambda each: (left(each), _by_harm(each))), short)
    return sorted(_without_needless(kept, short), key=left)


def _choose(helpers: Sequence[Freeing], short: Sequence[int], first: Sequence[Freeing]) -> list[Freeing]:
    """Return as few statements as certainly cover all shortages, those whose end harms least; [] if all do not."""
    ending = sorted((each for each in helpers if each.ends_in is not None and any(each.low)), key=_by_harm)
    chosen = _prefix(ending, short)
    if not chosen:
        left = _left(short, ending)
        chosen = _choose_to_end([each for each in helpers if each.ends_in is None], left)
        chosen = [*ending, *chosen] if chosen else []
    kept = sorted((each for each in chosen if each in first), key=_by_harm)[:1]
    return sorted(_without_needless(chosen, short, kept), key=_by_harm)


def _choose_to_end(helpers: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return those to end: idle holders if they do, else those with the least work lost; [] if all do not."""
    idle = sorted((each for each in helpers if each.idle and any(each.low)), key=_by_harm)
    alone = sorted((each for each in idle if covers([each], short)), key=_smallest_first)
    chosen = _prefix([*alone, *(each for each in idle if each not in alone)], short)
    if chosen:
        return chosen
    chosen = list(idle)
    busy = [each for each in helpers if not each.idle]
    left = _left(short, chosen)
    while any(left):
        useful = [each for each in busy if _gain(each, left)]
        if not useful:
            return []
        best = min(
            useful, key=lambda each: (each.statement.kind is not None, not covers([each], left), _cost(each, left))
        )
        busy.remove(best)
        chosen.append(best)
        left = _left(left, [best])
    return chosen


def _left(short: Sequence[int], helpers: Sequence[Freeing]) -> list[int]:
    """Return what is still short under each limit once these have ended."""
    return [max(0, want - sum(each.low[n] for each in helpers)) for n, want in enumerate(short)]


def _without_needless(chosen: Sequence[Freeing], short: Sequence[int], never: Sequence[Freeing] = ()) -> list[Freeing]:
    """Return the chosen without those that the others make needless, the most harmful left out first, some `never`."""
    kept = list(chosen)
    for each in sorted(chosen, key=_by_harm, reverse=True):
        rest = [other for other in kept if other is not each]
        if rest and each not in never and covers(rest, short):
            kept = rest
    return kept


def _prefix(order: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    for count in range(1, len(order) + 1):
        if covers(order[:count], short):
            return list(order[:count])
    return []


def covers(helpers: Sequence[Freeing], short: Sequence[int]) -> bool:
    """Whether the ends of these certainly free what is short under every limit."""
    return all(sum(each.low[n] for each in helpers) >= want for n, want in enumerate(short))


def _gain(helper: Freeing, left: Sequence[int]) -> int:
    return sum(min(freed, want) for freed, want in zip(helper.low, left, strict=True))


def _cost(helper: Freeing, left: Sequence[int]) -> tuple[float, ...]:
    """Return what decides between two that free enough, or between two that do not: work lost for what is gained."""
    work = lost(helper.statement)
    if covers([helper], left):
        return _by_harm(helper)
    return (-_gain(helper, left), inf if work is None else work)


def _by_harm(helper: Freeing) -> tuple[float, ...]:
    """Those first that end by themselves, the soonest before the others; then idle holders against whom nothing speaks,
    the largest and longest before the others; then by the work that would be lost, in whole hours of a server, and of
    those that lose as little who holds fewest servers; last who does more than a user's statement.
    """
    each = helper.statement
    work = lost(each)
    session = (each.inst_id, each.sid, each.serial)
    if helper.ends_in is not None:
        return (-1, helper.ends_in, *session)
    if helper.idle:
        return (0, bool(objection(each)), -each.servers * (each.idle or 0.0), *session)
    work = inf if work is None else work
    hours = work // 3600 if work < inf else inf
    return (1 if each.kind is None else 2, hours, each.servers, work, *session)


def _smallest_first(helper: Freeing) -> tuple[float, ...]:
    """The same for those who would do alone, but that of idle holders the smallest comes first: it is enough, too."""
    each = helper.statement
    if not helper.idle or helper.ends_in is not None:
        return _by_harm(helper)
    return (0, bool(objection(each)), each.servers, -(each.idle or 0.0), each.inst_id, each.sid, each.serial)


def nobody_named(head: QueueHead) -> str:
    """Say why no running statement is named."""
    if head.cause is Cause.NEVER_FITS:
        return (
            "it is too large for its limit: ending others may not help, a run with a lower DOP or in another group may"
        )
    if head.cause is Cause.UNEXPLAINED:
        return "the servers it wants are free: no running statement is known to hold it up"
    if head.cause in {Cause.UNKNOWN, Cause.SYSTEM, Cause.GROUP}:
        return "how many servers it lacks is not known, so no session is named"
    return "it waits for its turn in the queue, not for servers"


def sentence(found: Unblock, doubtful: int, reading: Reading) -> str:
    """Say what lets a head start; `doubtful` statements may be monitors' and are not named."""
    if found.unknown:
        return f"who holds servers is not known: {found.unknown}"
    if found.outdated:
        return f"whose end would help is not known: {found.outdated} has not answered now"
    if found.looks_first:
        return _blocked_first(found.blocked)
    fixed = found.refused
    more = f"; {refused_holder(fixed)}" if fixed is not None and found.needed and found.soon is None else ""
    words = f"{_what_helps(found, doubtful, reading)}{more}"
    return f"{queues_behind_itself(found.itself)}; without it {words}" if found.itself is not None else words


def queues_behind_itself(holder: RunningStatement) -> str:
    """Say that the session that is queued holds servers itself: its end would end the statement that waits, too."""
    held = counted(holder.servers, "server")
    cure = "close it, or raise the limit"
    return f"{holder.who} is queued behind itself: its open cursor keeps {held} ({cure})"


def _blocked_first(blocked: Sequence[RunningStatement]) -> str:
    """Say whom to look at before anybody is ended."""
    most = max(blocked, key=lambda each: each.servers)
    held = counted(sum(each.servers for each in blocked), "server")
    return (
        f"look at {most.blocker} first: {held} are held by "
        f"{'a session that waits for it' if len(blocked) == 1 else 'sessions that wait for others'}"
    )


def _what_helps(found: Unblock, doubtful: int, reading: Reading) -> str:
    """Say whose ends free enough."""
    if not found.candidates:
        if doubtful:
            maybe = f"{_statements(doubtful)} may be GV$ queries of monitors, so they are not named"
            return f"{maybe}; ending others would not help"
        return "no running statement holds servers that it could use"
    if not found.needed:
        refused = [each for each in found.candidates if each.refused and each.ends_in is None]
        if len(refused) == len(found.candidates):
            return "; ".join(dict.fromkeys(_refused_holders(refused)))
        return "those that can be ended are not known to free enough, so nobody is named"
    offers_nobody = found.soon is None and not any(each.commands for each in found.candidates)
    if offers_nobody and found.itself is None and is_new(found):
        return f"it has waited for {duration(found.head.statement.waited)} only, so nobody is named to be ended for it"
    is_contested = offers_nobody and bool(found.turns)
    return _turns(found, reading) if is_contested else _chosen(found, found.candidates[: found.needed])


def _turns(found: Unblock, reading: Reading) -> str:
    """Say who is idle with servers that several queues may get, and who of them is first; else that they take turns."""
    idle = [each.statement for each in found.candidates if each.statement.idle is not None]
    if not idle:
        free = f"{listed(found.turns, 'or')} may get the next servers that come free: {found.order}"
        return f"{free}, so nobody's end is proven to help"
    each = max(idle, key=lambda one: one.servers)
    queues, doubt = served_by(each, found.turns, reading)
    keeps = f"{each.who} (idle {each.idle_time}) keeps {counted(each.servers, 'server')}"
    others = [name for name in found.turns if name not in queues]
    turns = f"; {listed(others)} {'takes' if len(others) == 1 else 'take'} turns with it, so that is not proven"
    return f"{keeps} that {listed(queues, 'or')} may get{doubt}{f': {found.order}' if len(queues) > 1 else turns}"


def served_by(each: RunningStatement, queues: Sequence[str], reading: Reading) -> tuple[list[str], str]:
    """Return which queues an idle holder's servers are for, and in words that his own is, or may be, none of them.

    His own is not where the limit that holds his group back does not count these servers.
    """
    group = (each.con_id, each.group)
    holds = any((limit.con_id, limit.group) == group for head in reading.heads for limit in head.shortages)
    if not holds or not why_not_counted(each, reading):
        return list(queues), ""
    does = "may" if Counted.of(reading).of_statement(each, everybody=False) is None else "does"
    others = [name for name in queues if name != group_title(each)]
    return others, f" ({group_title(each)}'s limit {does} not count them)"


def _refused_holders(refused: Sequence[Candidate]) -> Iterator[str]:
    """Say who cannot be ended; what is gone with an instance together, for it has one reason."""
    gone: dict[int, int] = {}
    for each in refused:
        if each.statement.orphaned:
            gone[each.statement.inst_id] = gone.get(each.statement.inst_id, 0) + each.statement.servers
        else:
            yield refused_holder(each)
    for inst_id, servers in gone.items():
        held = counted(servers, "server")
        yield f"what is gone with instance {inst_id} still has {held}, and there is no session to end"


def refused_holder(candidate: Candidate) -> str:
    """Say who holds servers and cannot be ended, and why."""
    each = candidate.statement
    held = counted(each.servers, "server")
    if each.kind is not None and each.kind.is_background:
        done = f", {100 * each.progress:.0f} % done" if each.progress is not None else ""
        return f"{candidate.refused}{done}; it holds {held}"
    return f"{each.who} holds {held}: {candidate.refused}"


def _chosen(found: Unblock, chosen: Sequence[Candidate]) -> str:
    same = f"; {want_the_same(found.rivals)}: {found.order}" if found.rivals else ""
    same = same or (f"; {found.unsure}" if found.unsure else "")
    # That what wants more than its limit starts once nothing else runs was seen, and is promised nowhere.
    perhaps = found.head.cause is Cause.NEVER_FITS
    whom = f"one of {found.head.equals + 1} that have waited as long" if found.head.equals else "it"
    lets = f"with which {whom} may start" if found.rivals or found.unsure else f"that let {whom} start"
    lets = "with which it may start, though it is too large for the target" if perhaps else lets
    waits = [each.ends_in for each in chosen if each.ends_in is not None]
    total = sum(each.statement.servers for each in chosen)
    if len(waits) == len(chosen):
        starts = "may start" if found.wait is None or perhaps else "should start by itself"
        return f"wait: it {starts} {in_about(max(waits))}, with {counted(total, 'server')} freed then{same}"
    after = f"after {_statements(len(waits))} that should end {in_about(max(waits))}, " if waits else ""
    to_end = chosen[len(waits) :]
    against = None if perhaps else next((each for each in to_end if each.why_not), None)
    if against is not None:
        own = f"{against.statement.who}: " if against.why_not == against.objection else ""
        same = f"; but {own}{against.why_not}"
    if len(to_end) == 1:
        kind = "idle holder" if to_end[0].statement.idle is not None else "statement"
        held = counted(to_end[0].statement.servers, "server")
        return f"{after}ending one {kind} frees the {held} {lets}{same}"
    freed = sum(each.statement.servers for each in to_end)
    who = listed([each.statement.who for each in to_end])
    together = f"ending {who if len(to_end) <= _NAMED else _statements(len(to_end))} together"
    return f"{after}{together} frees the {counted(freed, 'server')} {lets}{same}"


_NO_SOONER, _LITTLE = 0.02, 1.0
"""A gain of less than 2 %, or than a second, is not mentioned: so much differs by chance."""


def is_sooner(effect: EndingEffect) -> bool:
    """Whether it is known that the last that is queued now would start sooner, by more than chance makes."""
    return effect.sooner is not None and effect.sooner >= max(_LITTLE, _NO_SOONER * (effect.otherwise or 0.0))


_TENTH = 0.1


def saves_enough(through: float, otherwise: float) -> bool:
    """Whether an end that lets the last now queued start sooner saves what matters: not less than it takes to decide,
    and not less than a tenth of the time that is left.
    """
    return through < inf and otherwise - through >= max(NEARLY_DONE, _TENTH * otherwise)


def effect_words(effect: EndingEffect | None, *, enough: bool = True) -> str:
    """Return what an end would do to the whole queue, "" where that is not known.

    How many start at once is not said of an end that is not `enough` for a head now, and not that none does of one that
    is: the courses are of the last minute, in which more or fewer servers may have been free.
    """
    if effect is None:
        return ""
    words = [at_once(effect)] if enough and effect.starts > 0 else []
    if is_sooner(effect):
        words.append(f"the last queued {'' if effect.proven else 'perhaps '}{sooner_then(effect)}")
    return ", ".join(words)


def sooner_then(effect: EndingEffect) -> str:
    """Return by how much sooner the last that is queued now should start, and when that is, with an end and without."""
    if effect.otherwise is None:
        return sooner(effect)
    return f"{sooner(effect)}: in {duration(effect.through)} instead of {duration(effect.otherwise)}"


def sooner(effect: EndingEffect) -> str:
    """Return by how much sooner the last that is queued now should start: in 8 cases of 10 where all of them are a
    gain, else in half of them.
    """
    low, high = duration(effect.sooner_low), duration(effect.sooner_high)
    if (effect.sooner_low or 0.0) < _LITTLE:
        return f"{duration(effect.sooner)} sooner"
    return f"{low if low == high else f'{low}-{high}'} sooner"


def at_once(effect: EndingEffect) -> str:
    """Return how many an end would let start at once."""
    return f"{effect.starts} of the queue start{'s' * (effect.starts == 1)} at once"


def _statements(number: int) -> str:
    return counted(number, "statement")


_NAMED = 3
"""Statements to be ended together that a sentence names."""

_ASKED = 2
"""Idle holders of whom it is asked what their ends would do, whatever a head is short of."""

LISTED = 12
"""Candidates kept for one head, but all that are needed."""


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
    commands = ending(head.statement, reading).commands
    shortages = head.shortages
    if not shortages:
        return Unblock(head, (), 0, commands, nobody_named(head))
    certain = [each for each in reading.running if each.certain]
    helpers = [helper for each in certain if (helper := freeing(each, shortages, counts))]
    itself = next((each.statement for each in helpers if _is_of(each.statement, head.statement)), None)
    helpers = [each for each in helpers if each.statement is not itself]
    unknown = reading.why_unavailable("V$PX_SESSION") or ("" if helpers else _unlisted(reading))
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    fixed = [each for each in helpers if each.ends_in is None and refusal(each.statement)]
    helpers = [each for each in helpers if not each.statement.blocker and each not in fixed]
    short = [each.short for each in shortages]
    first = [
        each for each in helpers if is_proven(effect_of(reading, each.statement)) and not objection(each.statement)
    ]
    chosen, others = in_order(helpers, blocked, short, first)
    found = tuple(
        _candidate(each, shortages, reading) for each in (*chosen, *others, *fixed)[: max(LISTED, len(chosen))]
    )
    needed = len(chosen)
    ends = [each.ends_in for each in found[:needed]]
    soon = max(ends) if ends and None not in ends else None  # type: ignore[type-var]
    by_itself = tuple(each.statement for each in by_time(helpers, short))
    freed = by_itself if soon is not None else tuple(each.statement for each in found[:needed]) or by_itself
    rivals = contenders(head, freed, reading, counts) if freed else ()
    turns = take_turns(head, reading)
    whole = Unblock(
        head, found, needed, commands, "", soon, blocked, by_itself, rivals, turns,
        who_is_first(head, turns or rivals, reading), first_may_want_more(head, reading), itself, unknown,
        too_large(head, rivals, freed, reading, counts),
    )  # fmt: skip
    together = effect_of(reading, *next(iter(whole.possible), ())) if needed > 1 else None
    whole = answered(replace(whole, effect=together), reading)
    return replace(whole, sentence=sentence(whole, len(reading.running) - len(certain), reading))


def effect_of(reading: Reading, *way: RunningStatement) -> EndingEffect | None:
    """Return what the end of these would do to the whole queue, None where that was not forecast."""
    return None if reading.forecast is None else reading.forecast.effect_of(*(each.executing() for each in way))


def _unlisted(reading: Reading) -> str:
    """Return that V$PX_SESSION does not show who holds the servers in use, "" if it does."""
    pool, shown = reading.header.servers, sum(each.servers for each in reading.running)
    in_use = pool.in_use if pool.counted is None else pool.counted
    return f"V$PX_SESSION shows {shown} of {counted(in_use, 'server')} in use" if in_use and shown < in_use else ""


def _is_of(statement: RunningStatement, queued: QueuedStatement) -> bool:
    """Whether a statement's servers are kept by the session that is queued."""
    return (statement.inst_id, statement.sid, statement.serial) == (queued.inst_id, queued.sid, queued.serial)


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
        effect=effect_of(reading, each),
    )
