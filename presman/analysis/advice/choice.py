"""Choice of the statements whose ends let the head of a queue start: as few as will do, with the least work lost.

Servers that the end of a running statement frees for that head are counted here, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import inf

from msgspec import Struct

from presman.analysis.advice.contenders import Counted
from presman.analysis.advice.ending import ends_in, lost, time_left
from presman.analysis.readings.statement_readings import RunningStatement, Shortage


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
        servers = _held(statement, shortage)
        low.append(servers if helps and counted else 0)
        high.append(servers if helps and counted is not False else 0)
    return Freeing(statement, tuple(low), tuple(high)) if any(high) else None


def _held(statement: RunningStatement, shortage: Shortage) -> int:
    """Return the servers a statement holds where the head's may run."""
    if not shortage.inst_ids:
        return statement.servers
    return sum(held for inst_id, held in statement.servers_by_instance.items() if inst_id in shortage.inst_ids)


def _concerns(statement: RunningStatement, shortage: Shortage) -> bool:
    if shortage.everybody:
        return True
    return statement.con_id == shortage.con_id and shortage.group in {"", statement.group}


def is_blocker(statement: RunningStatement, blocked: Iterable[RunningStatement]) -> bool:
    """Whether any of these waits for a statement's session."""
    return f"{statement.inst_id}:{statement.sid}" in {each.blocker for each in blocked}


def in_order(
    helpers: Sequence[Freeing], blocked: Sequence[RunningStatement], short: Sequence[int]
) -> tuple[list[Freeing], list[Freeing]]:
    """Return those that let a head start together, and the others; the first to be named and copied first.

    Who would do alone stands before who would not. Where somebody holds others up, nobody else is said to be needed.
    """
    chosen = _choose(helpers, short)
    if blocked and any(each.ends_in is None for each in chosen):
        chosen = []
    others = sorted(
        (each for each in helpers if each not in chosen and (all(each.high) or is_blocker(each.statement, blocked))),
        key=lambda each: (
            not is_blocker(each.statement, blocked),
            each.statement.kind is not None,
            not covers([each], short),
            _by_harm(each),
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


def _choose(helpers: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return as few statements as certainly cover all shortages, those whose end harms least; [] if all do not."""
    ending = sorted((each for each in helpers if each.ends_in is not None and any(each.low)), key=_by_harm)
    chosen = _prefix(ending, short)
    if not chosen:
        left = _left(short, ending)
        chosen = _choose_to_end([each for each in helpers if each.ends_in is None], left)
        chosen = [*ending, *chosen] if chosen else []
    return sorted(_without_needless(chosen, short), key=_by_harm)


def _choose_to_end(helpers: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return those to end: idle holders if they do, else those with the least work lost; [] if all do not."""
    idle = sorted((each for each in helpers if each.idle and any(each.low)), key=_by_harm)
    alone = [each for each in idle if covers([each], short)]
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


def _without_needless(chosen: Sequence[Freeing], short: Sequence[int]) -> list[Freeing]:
    """Return the chosen without those that the others make needless, the most harmful left out first."""
    kept = list(chosen)
    for each in sorted(chosen, key=_by_harm, reverse=True):
        rest = [other for other in kept if other is not each]
        if rest and covers(rest, short):
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
        return (inf if work is None else work, helper.statement.inst_id, helper.statement.sid)
    return (-_gain(helper, left), inf if work is None else work)


def _by_harm(helper: Freeing) -> tuple[float, ...]:
    """Those first that end by themselves, the soonest before the others; then idle holders, the longest and largest
    before the others; then by the work that would be lost; last who does more than a user's statement.
    """
    each = helper.statement
    work = lost(each)
    session = (each.inst_id, each.sid, each.serial)
    if helper.ends_in is not None:
        return (-1, helper.ends_in, *session)
    if helper.idle:
        return (0, -each.servers * (each.idle or 0.0), *session)
    return (1 if each.kind is None else 2, inf if work is None else work, *session)
