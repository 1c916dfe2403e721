"""Ways to let the head of a queue start: which running statements to end, and what it would cost.

The rules. A statement helps a head only where the head is short: everybody holds servers of the system's target, only
the same group those of a group's limit, only the same container those of a container's. First come those that are
about to end by themselves: for them one waits. Then idle holders, by servers times idle seconds, because ending them
throws no work away; then those whose end throws away least, by servers times elapsed seconds. If one is not enough, as
few as will do are named together. What may be a monitor's query is not named at all, nor is who waits for another
session: that session comes first. A start is promised only where no other queue could take the servers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from msgspec import Struct

from presman.analysis.advice.contenders import contenders, want_the_same
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, QueueHead, RunningStatement, Shortage
from presman.base.formats import counted
from presman.base.release import Release
from presman.records.commands import Command, Victim, for_queued, to_end

LISTED = 12
"""Candidates kept for one head."""

NEARLY_DONE = 30.0
"""Seconds left up to which a statement is waited for: to decide and to end a session takes as long, KILL even 60."""


class Candidate(Struct, frozen=True):
    """A running statement whose end helps a head.

    `frees` is what it certainly frees under every limit that binds, `perhaps` what it may free: they differ where it
    cannot be told whether the queue counts it (it may have bypassed the queue). `lost` is the work its end throws away
    in server seconds, 0 for an idle holder, None where it is not known for how long it has run. `ends_in` is the
    seconds after which it should end by itself, None unless that is soon; then no `commands`: one waits for it.
    """

    statement: RunningStatement
    frees: int
    perhaps: int
    enough: bool
    lost: float | None
    commands: tuple[Command, ...]
    ends_in: float | None = None


class Unblock(Struct, frozen=True):
    """How to let one head start. The first `needed` of `candidates` do together; 0 if none are known to.

    `commands` act on the waiting statement itself. `sentence` says it all in words. `soon` is in how many seconds all
    that are needed should have ended by themselves, None if that is not so. `blocked` are the statements that hold
    servers the head could use, and wait for another session themselves: none of them is a candidate, whom they wait for
    comes first, and then `needed` is 0. `by_itself` are those that let it start without anybody being ended, as far as
    the time they have left tells, the last to end at the end; () where that is not known. `rivals` are the groups that
    want the same servers and may get them first.
    """

    head: QueueHead
    candidates: tuple[Candidate, ...]
    needed: int
    commands: tuple[Command, ...]
    sentence: str
    soon: float | None = None
    blocked: tuple[RunningStatement, ...] = ()
    by_itself: tuple[RunningStatement, ...] = ()
    rivals: tuple[str, ...] = ()

    @property
    def wait(self) -> float | None:
        """In how many seconds the head should start by itself; None where others may take its servers."""
        return None if self.rivals else self.soon

    @property
    def blockers(self) -> tuple[Candidate, ...]:
        """The candidates that others wait for, who hold servers themselves."""
        return tuple(each for each in self.candidates if is_blocker(each.statement, self.blocked))


def is_blocker(statement: RunningStatement, blocked: Iterable[RunningStatement]) -> bool:
    """Whether any of these waits for a statement's session."""
    return f"{statement.inst_id}:{statement.sid}" in {each.blocker for each in blocked}


def unblock(reading: Reading) -> tuple[Unblock, ...]:
    """Return how to let each head of `reading` start, in the order of the heads."""
    if not reading.heads:
        return ()
    release = release_of(reading)
    counts = Counted.of(reading)
    return tuple(_unblock(head, reading, release, counts) for head in reading.heads)


def release_of(reading: Reading) -> Release | None:
    """Return the database's release, None where V$INSTANCE could not be read."""
    try:
        return Release.parse(reading.header.version)
    except ValueError:
        return None


def _unblock(head: QueueHead, reading: Reading, release: Release | None, counts: Counted) -> Unblock:
    who = head.statement
    commands = for_queued(Victim(who.inst_id, who.sid, who.serial, who.sql_id), release)
    shortages = head.shortages
    if not shortages:
        return Unblock(head, (), 0, commands, _without(head))
    certain = [each for each in reading.running if each.certain]
    helpers = [helper for each in certain if (helper := _helper(each, shortages, counts))]
    blocked = tuple(each.statement for each in helpers if each.statement.blocker)
    helpers = [each for each in helpers if not each.statement.blocker]
    chosen, others = _in_order(helpers, blocked, [each.short for each in shortages])
    found = tuple(_candidate(each, shortages, release) for each in (*chosen, *others)[:LISTED])
    needed = len(chosen)
    ends = [each.ends_in for each in found[:needed]]
    soon = max(ends) if ends and None not in ends else None  # type: ignore[type-var]
    by_itself = tuple(each.statement for each in _by_time(helpers, [each.short for each in shortages]))
    freed = by_itself if soon is not None else tuple(each.statement for each in found[:needed]) or by_itself
    rivals = contenders(head, freed, reading) if freed else ()
    doubtful = len(reading.running) - len(certain)
    sentence = _blocked(blocked) if blocked and soon is None else _sentence(found, needed, doubtful, rivals)
    return Unblock(head, found, needed, commands, sentence, soon, blocked, by_itself, rivals)


def _in_order(
    helpers: Sequence[_Helper], blocked: Sequence[RunningStatement], short: Sequence[int]
) -> tuple[list[_Helper], list[_Helper]]:
    """Return those that let a head start together, and the others; the first to be named and copied first.

    Who would do alone stands before who would not. Where somebody holds others up, nobody else is said to be needed.
    """
    chosen = _choose(helpers, short)
    if blocked and any(each.ends_in is None for each in chosen):
        chosen = []
    others = sorted(
        (each for each in helpers if each not in chosen and (all(each.high) or is_blocker(each.statement, blocked))),
        key=lambda each: (not is_blocker(each.statement, blocked), not _covers([each], short), _by_harm(each)),
    )
    return chosen, others


def _by_time(helpers: Sequence[_Helper], short: Sequence[int]) -> list[_Helper]:
    """Return those whose ends let a head start the earliest, in the order in which they should end; [] if not known."""

    def left(each: _Helper) -> float:
        return inf if each.statement.remaining is None else each.statement.remaining

    moving = [each for each in helpers if each.statement.idle is None and left(each) < inf and any(each.low)]
    kept = _prefix(sorted(moving, key=lambda each: (left(each), _by_harm(each))), short)
    return sorted(_without_needless(kept, short), key=left)


class _Helper(Struct, frozen=True, eq=False):
    """What the end of a statement frees of each shortage, at least and at most."""

    statement: RunningStatement
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def idle(self) -> bool:
        return self.statement.idle is not None

    @property
    def ends_in(self) -> float | None:
        return ends_in(self.statement)


def _helper(statement: RunningStatement, shortages: Sequence[Shortage], counts: Counted) -> _Helper | None:
    low, high = [], []
    for shortage in shortages:
        helps = _concerns(statement, shortage)
        counted = True if shortage.everybody else counts.of_statement(statement)
        servers = _held(statement, shortage)
        low.append(servers if helps and counted else 0)
        high.append(servers if helps and counted is not False else 0)
    return _Helper(statement, tuple(low), tuple(high)) if any(high) else None


def _held(statement: RunningStatement, shortage: Shortage) -> int:
    """Return the servers a statement holds where the head's may run."""
    if not shortage.inst_ids:
        return statement.servers
    return sum(held for inst_id, held in statement.servers_by_instance.items() if inst_id in shortage.inst_ids)


def _concerns(statement: RunningStatement, shortage: Shortage) -> bool:
    if shortage.everybody:
        return True
    return statement.con_id == shortage.con_id and shortage.group in {"", statement.group}


def ends_in(statement: RunningStatement) -> float | None:
    """Return in how many seconds a statement should end by itself, None unless that is soon.

    V$SESSION_LONGOPS tells of the operation at work: another one may follow.
    """
    left = statement.remaining
    return left if statement.idle is None and left is not None and left <= NEARLY_DONE else None


def _choose(helpers: Sequence[_Helper], short: Sequence[int]) -> list[_Helper]:
    """Return as few statements as certainly cover all shortages, those whose end harms least; [] if all do not."""
    ending = sorted((each for each in helpers if each.ends_in is not None and any(each.low)), key=_by_harm)
    chosen = _prefix(ending, short)
    if not chosen:
        left = _left(short, ending)
        chosen = _choose_to_end([each for each in helpers if each.ends_in is None], left)
        chosen = [*ending, *chosen] if chosen else []
    return sorted(_without_needless(chosen, short), key=_by_harm)


def _choose_to_end(helpers: Sequence[_Helper], short: Sequence[int]) -> list[_Helper]:
    """Return those to end: idle holders if they do, else those with the least work lost; [] if all do not."""
    idle = sorted((each for each in helpers if each.idle and any(each.low)), key=_by_harm)
    alone = [each for each in idle if _covers([each], short)]
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
        best = min(useful, key=lambda each: (not _covers([each], left), _cost(each, left)))
        busy.remove(best)
        chosen.append(best)
        left = _left(left, [best])
    return chosen


def _left(short: Sequence[int], helpers: Sequence[_Helper]) -> list[int]:
    """Return what is still short under each limit once these have ended."""
    return [max(0, want - sum(each.low[n] for each in helpers)) for n, want in enumerate(short)]


def _without_needless(chosen: Sequence[_Helper], short: Sequence[int]) -> list[_Helper]:
    """Return the chosen without those that the others make needless, the most harmful left out first."""
    kept = list(chosen)
    for each in sorted(chosen, key=_by_harm, reverse=True):
        rest = [other for other in kept if other is not each]
        if rest and _covers(rest, short):
            kept = rest
    return kept


def _prefix(order: Sequence[_Helper], short: Sequence[int]) -> list[_Helper]:
    for count in range(1, len(order) + 1):
        if _covers(order[:count], short):
            return list(order[:count])
    return []


def _covers(helpers: Sequence[_Helper], short: Sequence[int]) -> bool:
    return all(sum(each.low[n] for each in helpers) >= want for n, want in enumerate(short))


def _gain(helper: _Helper, left: Sequence[int]) -> int:
    return sum(min(freed, want) for freed, want in zip(helper.low, left, strict=True))


def _cost(helper: _Helper, left: Sequence[int]) -> tuple[float, ...]:
    """Return what decides between two that free enough, or between two that do not: work lost for what is gained."""
    lost = _lost(helper.statement)
    if _covers([helper], left):
        return (inf if lost is None else lost, helper.statement.inst_id, helper.statement.sid)
    return (-_gain(helper, left), inf if lost is None else lost)


def _by_harm(helper: _Helper) -> tuple[float, ...]:
    """Those first that end by themselves, the soonest before the others; then idle holders, the longest and largest
    before the others; then by the work that would be lost.
    """
    each = helper.statement
    lost = _lost(each)
    place = (each.inst_id, each.sid, each.serial)
    if helper.ends_in is not None:
        return (-1, helper.ends_in, *place)
    if each.idle is not None:
        return (0, -each.servers * each.idle, *place)
    return (1, inf if lost is None else lost, *place)


def _lost(statement: RunningStatement) -> float | None:
    if statement.idle is not None:
        return 0.0
    return None if statement.elapsed is None else statement.servers * statement.elapsed


def _candidate(helper: _Helper, shortages: Sequence[Shortage], release: Release | None) -> Candidate:
    each = helper.statement
    return Candidate(
        statement=each,
        frees=min(helper.low),
        perhaps=min(helper.high),
        enough=_covers([helper], [shortage.short for shortage in shortages]),
        lost=_lost(each),
        commands=() if helper.ends_in is not None else commands_to_end(each, release),
        ends_in=helper.ends_in,
    )


def commands_to_end(statement: RunningStatement, release: Release | None) -> tuple[Command, ...]:
    """Return what ends a running statement. What its coordinator executes is cancelled only if it is that statement."""
    shows = statement.session_sql_id
    victim = Victim(statement.inst_id, statement.sid, statement.serial, shows)
    return to_end(victim, release, idle=statement.idle is not None or shows != statement.sql_id)


class Counted(Struct, frozen=True):
    """Which running statements the queue counts against the limits of their group, as far as sums can tell.

    V$RSRC_CONSUMER_GROUP does not count the servers of statements that bypassed the queue, and no view says which those
    are. If a group's statements hold 16 servers more than it counts, whoever holds more than 16 is counted, and one of
    16 is not if nothing else adds up to 16.
    """

    unknown: Mapping[tuple[int, int, int], bool | None]

    @classmethod
    def of(cls, reading: Reading) -> Counted:
        """Compare what each group holds with what its statements hold."""
        held: dict[tuple[int, str], list[RunningStatement]] = {}
        for each in reading.running:
            held.setdefault((each.con_id, each.group), []).append(each)
        found: dict[tuple[int, int, int], bool | None] = {}
        for group in reading.cluster_groups():
            statements = held.get((group.con_id, group.name), [])
            beyond = sum(each.servers for each in statements) - group.px_servers
            if beyond:
                found |= _divide(statements, beyond)
        return cls(found)

    def of_statement(self, statement: RunningStatement) -> bool | None:
        """Return whether a statement is counted, None if it cannot be told."""
        return self.unknown.get((statement.inst_id, statement.sid, statement.serial), True)


def _divide(statements: Sequence[RunningStatement], beyond: int) -> dict[tuple[int, int, int], bool | None]:
    found: dict[tuple[int, int, int], bool | None] = {}
    for each in statements:
        sums = _sums(other.servers for other in statements if other is not each)
        without = _among(sums, beyond)
        within = _among(sums, beyond - each.servers)
        # Views read at different instants may not add up at all: then nothing is known.
        counted = None if without == within else without
        if counted is not True:
            found[each.inst_id, each.sid, each.serial] = counted
    return found


def _sums(numbers: Iterable[int]) -> int:
    """Return all sums of some of the numbers, as the bits of an integer."""
    sums = 1
    for number in numbers:
        sums |= sums << number
    return sums


def _among(sums: int, number: int) -> bool:
    return number >= 0 and bool(sums >> number & 1)


def _without(head: QueueHead) -> str:
    """Say why no running statement is named."""
    if head.cause is Cause.NEVER_FITS:
        return "it wants more than it may ever have: nobody's end is known to help; a lower DOP or another group does"
    if head.cause in {Cause.UNKNOWN, Cause.SYSTEM, Cause.GROUP}:
        return "how many servers it is short of is not known, so nobody is named"
    return "it is not short of servers: the order of the queue holds it, not a running statement"


def _blocked(blocked: Sequence[RunningStatement]) -> str:
    """Say whom to look at before anybody is ended."""
    most = max(blocked, key=lambda each: each.servers)
    held = counted(sum(each.servers for each in blocked), "server")
    return f"look at {most.blocker} first: {held} are held by who waits for {'it' if len(blocked) == 1 else 'others'}"


def _sentence(found: Sequence[Candidate], needed: int, doubtful: int, rivals: Sequence[str]) -> str:
    if not found:
        if doubtful:
            return f"{_statements(doubtful)} may be monitors' GV$ queries and are not named; no other could be of use"
        return "no running statement holds servers that it could use"
    if not needed:
        return "not even all of these together are known to free enough"
    chosen = found[:needed]
    same = f"; {want_the_same(rivals)}" if rivals else ""
    waits = [each.ends_in for each in chosen if each.ends_in is not None]
    total = sum(each.statement.servers for each in chosen)
    if len(waits) == needed:
        starts = "may start" if rivals else "should start by itself"
        return f"wait: it {starts} in about {_clock(max(waits))}, with {counted(total, 'server')} freed then{same}"
    after = f"after {_statements(len(waits))} that should end in about {_clock(max(waits))}, " if waits else ""
    to_end = chosen[len(waits) :]
    if len(to_end) == 1:
        kind = "idle holder" if to_end[0].statement.idle is not None else "statement"
        held = counted(to_end[0].statement.servers, "server")
        return f"{after}the end of one {kind} frees the {held} that let it start{same}"
    freed = sum(each.statement.servers for each in to_end)
    together = f"the end of {_statements(len(to_end))} together"
    return f"{after}{together} frees the {counted(freed, 'server')} that let it start{same}"


def _statements(number: int) -> str:
    return counted(number, "statement")


def _clock(seconds: float) -> str:
    return f"{int(seconds // 60)}:{int(seconds % 60):02}"
