"""Servers that the ends of running statements free for a head, and the sets of ends that are enough, least harm first.

Rules: a statement helps a head only under a limit that the head is short of. Every statement holds servers of the
system's target, only statements of the same group hold those of a group's limit, only statements of the same container
those of a container's limit. First come statements that are about to end by themselves: for them the DBA waits. Then
come idle holders, ordered by servers times idle seconds, because ending them throws no work away. Then come the
statements whose end throws away least work, by servers times elapsed time in whole hours, and of equal ones those with
the fewest servers. Last come sessions that do more than a user's statement, such as RMAN's. If one statement is not
enough, the smallest sufficient set is named.
"""

from collections.abc import Callable, Iterable, Sequence
from math import inf

from msgspec import Struct

from presman.analysis.advice.ending import ends_in, lost, objection, time_left
from presman.analysis.parallel.counted_servers import Counted
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import (
    QueuedStatement,
    QueueHead,
    RunningStatement,
    Shortage,
    group_title,
    is_known,
)


class Freeing(Struct, frozen=True, eq=False):
    """Servers of each shortage that the end of a statement frees, at least (`low`) and at most (`high`)."""

    statement: RunningStatement
    low: tuple[int, ...]
    high: tuple[int, ...]

    @property
    def idle(self) -> bool:
        """Whether it is a user's ordinary session that holds servers and does nothing."""
        return self.statement.idle is not None and self.statement.kind is None

    @property
    def ends_in(self) -> float | None:
        """Seconds after which it should end by itself, None unless that is soon."""
        return ends_in(self.statement)


def freeing(statement: RunningStatement, shortages: Sequence[Shortage], counts: Counted) -> Freeing | None:
    """Return the servers of each shortage that the end of a statement frees, None if it frees none of any."""
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


def is_blocker(statement: RunningStatement, blocked: Iterable[RunningStatement]) -> bool:
    """Whether any of `blocked` waits for a statement's session."""
    return f"{statement.inst_id}:{statement.sid}" in {each.blocker for each in blocked}


def why_useless(statement: RunningStatement, reading: Reading) -> dict[str, str]:
    """Return by head (the title of its group) why ending a statement alone frees no servers that this head needs.

    If it frees servers under one limit only, another limit may still hold the head back.
    """
    counts = Counted.of(reading)
    found = {}
    for head in reading.heads:
        certain = [each for each in head.shortages if each.is_certain]
        lacking = [each for each in certain if freeing(statement, [each], counts) is None]
        certain = [each for each in lacking if len(lacking) == len(certain) or each.short > spare(head, reading)]
        if certain:
            found[group_title(head)] = _why_no_use(statement, certain[0], counts)
    return found


def spare(head: QueueHead, reading: Reading) -> float:
    """Return the number of servers by which a head's shortage may be too high.

    The servers that it wants may be a range, and another statement that has waited as long may be first.
    """
    wants = [head.wants, *(each.wants for each in alike(head, reading))]
    least = min(each.low if is_known(each) else -inf for each in wants)
    return (head.wants.high if is_known(head.wants) else 0) - least


def alike(head: QueueHead, reading: Reading) -> list[QueuedStatement]:
    """Return the statements that may be first instead of a head, with the head; empty if that is known to be first."""
    queue = (each for each in reading.queue if (each.con_id, each.group) == (head.con_id, head.group))
    return [each for each in queue if each.may_be_first(head.statement)] if head.equals else []


def _why_no_use(statement: RunningStatement, shortage: Shortage, counts: Counted) -> str:
    """Return why a statement holds none of the servers that a limit leaves too few of."""
    if not shortage.everybody and statement.con_id != shortage.con_id:
        return f"it is in another container{f', {statement.container}' if statement.container else ''}"
    if not _concerns(statement, shortage):
        return f"it is in {group_title(statement)}, and {shortage.group}'s own limit leaves too few servers"
    if counts.of_statement(statement, everybody=shortage.everybody) is False:
        return f"{limit_name(shortage)} does not count its servers"
    return "its servers run on other instances"


def limit_name(shortage: Shortage) -> str:
    """Return the name of the limit that leaves too few servers: each limit counts different statements."""
    if shortage.everybody:
        return "the target"
    return f"{shortage.group}'s limit" if shortage.group else "the limit of its container"


def in_order(
    helpers: Sequence[Freeing], blocked: Sequence[RunningStatement], short: Sequence[int], first: Sequence[Freeing] = ()
) -> tuple[list[Freeing], list[Freeing]]:
    """Return the statements that let a head start together, and the others; the first is named and copied first.

    A statement that is enough alone comes before one that is not. If a session blocks others, no further statements are
    called needed. `first` are idle holders whose end is proven to help: DO names one of them, so one is among the
    chosen, unless others end by themselves.
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


TimeLeft = Callable[[RunningStatement], float | None]
"""The seconds after which a statement ends, None if not known."""


def by_time(helpers: Sequence[Freeing], short: Sequence[int], seconds_left: TimeLeft = time_left) -> list[Freeing]:
    """Return the statements whose ends let a head start earliest, in the order of their ends; [] if not known."""

    def left(each: Freeing) -> float:
        seconds = seconds_left(each.statement)
        return inf if seconds is None else seconds

    ending = [each for each in helpers if left(each) < inf and any(each.low)]
    kept = _prefix(sorted(ending, key=lambda each: (left(each), _by_harm(each))), short)
    return sorted(_without_needless(kept, short), key=left)


def _choose(helpers: Sequence[Freeing], short: Sequence[int], first: Sequence[Freeing]) -> list[Freeing]:
    """Return the fewest statements that certainly cover all shortages, with the least harm; [] if no set is enough."""
    ending = sorted((each for each in helpers if each.ends_in is not None and any(each.low)), key=_by_harm)
    chosen = _prefix(ending, short)
    if not chosen:
        chosen = _choose_to_end([each for each in helpers if each.ends_in is None], _left(short, ending))
        chosen = [*ending, *chosen] if chosen else []
    kept = sorted((each for each in chosen if each in first), key=_by_harm)[:1]
    return sorted(_without_needless(chosen, short, kept), key=_by_harm)


def _choose_to_end(helpers: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return the statements to end: idle holders if enough, else the least work lost; [] if no set is enough."""
    idle = sorted((each for each in helpers if each.idle and any(each.low)), key=_by_harm)
    alone = sorted((each for each in idle if covers([each], short)), key=_smallest_first)
    chosen = _prefix([*alone, *(each for each in idle if each not in alone)], short)
    if chosen:
        return chosen
    # Ending idle holders loses no work, so all of them come before anyone's work, then the best addition each time.
    chosen = list(idle)
    busy = [each for each in helpers if not each.idle]
    left = _left(short, chosen)
    while any(left):
        useful = [each for each in busy if _gain(each, left)]
        if not useful:
            return []
        best = min(useful, key=lambda one: (one.statement.kind is not None, not covers([one], left), _cost(one, left)))
        busy.remove(best)
        chosen.append(best)
        left = _left(left, [best])
    return chosen


def _left(short: Sequence[int], helpers: Sequence[Freeing]) -> list[int]:
    """Return the servers that are still missing under each limit once `helpers` have ended."""
    return [max(0, want - sum(each.low[n] for each in helpers)) for n, want in enumerate(short)]


def _without_needless(chosen: Sequence[Freeing], short: Sequence[int], never: Sequence[Freeing] = ()) -> list[Freeing]:
    """Return the chosen without the needless ones, the most harmful removed first, but none of `never`."""
    # A statement chosen later may free so much that an earlier one is not needed any more.
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
    """Whether the ends of `helpers` certainly free the missing servers under every limit."""
    return all(sum(each.low[n] for each in helpers) >= want for n, want in enumerate(short))


def _gain(helper: Freeing, left: Sequence[int]) -> int:
    return sum(min(freed, want) for freed, want in zip(helper.low, left, strict=True))


def _cost(helper: Freeing, left: Sequence[int]) -> tuple[float, ...]:
    """Return the sort key for the next statement to end: harm if it is enough, else servers gained, then work lost."""
    work = lost(helper.statement)
    if covers([helper], left):
        return _by_harm(helper)
    return (-_gain(helper, left), inf if work is None else work)


def _by_harm(helper: Freeing) -> tuple[float, ...]:
    """Return the sort key by harm, least first.

    Statements that end by themselves come first, the soonest of them first. Then come idle holders without an
    objection, the largest and longest idle first. Then come statements by the work that would be lost, in whole hours
    of a server, and of equal ones those with fewest servers. Sessions that do more than a user's statement come last.
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
    """Return the sort key of harm for statements that are enough alone: the smallest idle holder comes first."""
    each = helper.statement
    if not helper.idle or helper.ends_in is not None:
        return _by_harm(helper)
    return (0, bool(objection(each)), each.servers, -(each.idle or 0.0), each.inst_id, each.sid, each.serial)
