"""Effects of ending running statements: the same courses with them and without them, a few at each reading."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from statistics import median
from typing import NamedTuple

from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.forecasts import EndingEffect, Executing
from presman.analysis.readings.reading import Reading
from presman.forecast.course import Draw, Played, play
from presman.forecast.queue_now import Modelled

SHOWN = 3
"""Ways to let a head start that are played."""
KEPT = 20
"""Courses that stand behind an effect."""
ENOUGH = 5
"""Fewer courses than this, and it is not told."""

Way = tuple[Executing, ...]


class _Difference(NamedTuple):
    starts: int
    through: float
    otherwise: float


class Effects:
    """What the ends of those would do that are named to let a head start."""

    def __init__(self) -> None:
        self._ways: dict[Way, deque[_Difference]] = {}

    def offer(self, reading: Reading) -> int:
        """Take what can be done now; return how many ways there are."""
        offered = [tuple(each.executing() for each in way) for found in unblock(reading) for way in found.ways[:SHOWN]]
        self._ways = {way: self._ways.get(way, deque(maxlen=KEPT)) for way in offered}
        return len(self._ways)

    def play(self, model: Modelled, courses: Sequence[tuple[Draw, Played]]) -> int:
        """Play some courses without those of the way that is known least; return how many steps it took."""
        holders = {each.executing(): index for index, each in enumerate(model.holders) if each is not None}
        known = [way for way in self._ways if all(who in holders for who in way)]
        if not known or not courses:
            return 0
        way = min(known, key=lambda each: len(self._ways[each]))
        steps = 0
        for drawn, otherwise in courses:
            played = play(model.now, drawn, [holders[who] for who in way])
            steps += played.steps
            self._ways[way].append(_Difference(played.at_once - otherwise.at_once, played.empty, otherwise.empty))
        self._ways[way] = self._ways.pop(way)  # of those known as little another one is next
        return steps

    def told(self) -> tuple[EndingEffect, ...]:
        """Return what is known."""
        return tuple(_effect(way, found) for way, found in self._ways.items() if len(found) >= ENOUGH)


def _effect(way: Way, found: Sequence[_Difference]) -> EndingEffect:
    through, otherwise = (median(each[place] for each in found) for place in (1, 2))
    starts = round(median(each.starts for each in found))
    return EndingEffect(way, starts, _known(through), _known(otherwise))


def _known(seconds: float) -> float | None:
    return None if seconds == inf else seconds
