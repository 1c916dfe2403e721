"""Effects of ending running statements: the same courses with them and without them, a few at each reading."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
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

_LASTS = timedelta(minutes=1)

Way = tuple[Executing, ...]


class _Difference(NamedTuple):
    starts: int
    through: float
    otherwise: float


class Effects:
    """What the ends of those would do that are named to let a head start."""

    def __init__(self) -> None:
        self._offered: dict[Way, datetime] = {}
        """The ways to let a head start, those of the last reading first; when each was offered last."""
        self._played: dict[Way, deque[_Difference]] = {}
        self._now: list[Way] = []
        self._turn = 0

    def offer(self, reading: Reading) -> int:
        """Take what can be done now; return how many ways there are. What was played is kept for a minute."""
        found = (way for each in unblock(reading) for way in each.ways[:SHOWN])
        self._now = list(dict.fromkeys(tuple(each.executing() for each in way) for way in found))
        self._offered |= dict.fromkeys(self._now, reading.at)
        for way in [way for way, at in self._offered.items() if reading.at - at > _LASTS]:
            del self._offered[way]
            self._played.pop(way, None)
        return len(self._now)

    def play(self, model: Modelled, courses: Sequence[tuple[Draw, Played]]) -> int:
        """Play some courses without those of one way; return how many steps it took.

        That is the first of those offered of which nothing is told yet, else each in its turn.
        """
        holders = {each.executing(): index for index, each in enumerate(model.holders) if each is not None}
        known = [way for way in self._now if all(who in holders for who in way)]
        if not known or not courses:
            return 0
        self._turn += 1
        untold = (each for each in known if len(self._played.get(each, ())) < ENOUGH)
        way = next(untold, known[self._turn % len(known)])
        steps, differences = 0, self._played.setdefault(way, deque(maxlen=KEPT))
        for drawn, otherwise in courses:
            played = play(model.now, drawn, [holders[who] for who in way])
            steps += played.steps
            differences.append(_Difference(played.at_once - otherwise.at_once, played.empty, otherwise.empty))
        return steps

    def told(self) -> tuple[EndingEffect, ...]:
        """Return what is known."""
        known = ((way, self._played.get(way, ())) for way in self._now)
        return tuple(_effect(way, found) for way, found in known if len(found) >= ENOUGH)


def _effect(way: Way, found: Sequence[_Difference]) -> EndingEffect:
    through, otherwise = (median(each[place] for each in found) for place in (1, 2))
    starts = round(median(each.starts for each in found))
    return EndingEffect(way, starts, _known(through), _known(otherwise))


def _known(seconds: float) -> float | None:
    return None if seconds == inf else seconds
