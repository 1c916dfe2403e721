"""Choice of the statements whose ends let the head of a queue start: as few as will do, with the least work lost."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from presman.analysis.advice.ending import lost, time_left
from presman.analysis.advice.freeing import Freeing, is_blocker
from presman.analysis.readings.statement_readings import RunningStatement


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
    place = (each.inst_id, each.sid, each.serial)
    if helper.ends_in is not None:
        return (-1, helper.ends_in, *place)
    if helper.idle:
        return (0, -each.servers * (each.idle or 0.0), *place)
    return (1 if each.kind is None else 2, inf if work is None else work, *place)
