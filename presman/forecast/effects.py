"""Effects of ending running statements: the same courses with them and without them, a few at each reading."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from statistics import median
from typing import NamedTuple

from presman.analysis.advice.ending import saves_enough
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.forecast_readings import EndingEffect
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing
from presman.forecast.calibration import Interval, tenths
from presman.forecast.course import HORIZON, Draw, Played, play
from presman.forecast.queue_now import Modelled

SHOWN = 3
"""Ways to let a head start that are played."""
KEPT = 20
"""Courses that stand behind an effect."""
ENOUGH = 5
"""Fewer courses than this, and an effect is not known."""

_MOST, _HALF = 0.75, 0.5
"""In what part of the courses an end must save enough to be taken for proven, and to stay so."""

_LASTS = timedelta(minutes=1)
"""How long what was played is kept, and for how long an end must have saved enough before that is a proof."""

Way = tuple[Executing, ...]


class _Difference(NamedTuple):
    at: datetime
    starts: int
    through: float
    otherwise: float

    @property
    def sooner(self) -> float:
        """By how many seconds the last starts sooner: infinite for one that would not start at all."""
        return self.otherwise - self.through if self.through < inf else 0.0


class Effects:
    """What the ends of those would do that are named to let a head start."""

    def __init__(self) -> None:
        self._played: dict[Way, deque[_Difference]] = {}
        self._now: list[Way] = []
        self._since: dict[Way, datetime] = {}
        """Since when the ends of those have saved enough at each look."""

    def offer(self, reading: Reading) -> int:
        """Take what can be done now; return how many ways there are. What was played is kept for a minute."""
        found = (way for each in unblock(reading) for way in each.ways[:SHOWN])
        self._now = list(dict.fromkeys(tuple(each.executing() for each in way) for way in found))
        for way, played in list(self._played.items()):
            while played and reading.at - played[0].at > _LASTS:
                played.popleft()
            if not played:
                del self._played[way]
        return len(self._now)

    def play(self, model: Modelled, courses: Sequence[tuple[Draw, Played]], at: datetime, most: float) -> int:
        """Play courses without the statements of each way, one way after the other, the least known first.

        Nothing more is begun after `most` steps of the model; return how many it took.
        """
        holders = {each.executing(): index for index, each in enumerate(model.holders) if each is not None}
        ways = [way for way in self._now if all(who in holders for who in way)] if courses else []
        steps = 0
        for way in sorted(ways, key=lambda way: len(self._played.get(way, ()))):
            if steps >= most:
                break
            differences = self._played.setdefault(way, deque(maxlen=KEPT))
            for drawn, otherwise in courses:
                played = play(model.now, drawn, [holders[who] for who in way])
                steps += played.steps
                differences.append(_Difference(at, played.at_once - otherwise.at_once, played.empty, otherwise.empty))
        return steps

    def known(
        self, at: datetime, *, trusted: bool, last: float | None, factor: float = 1.0
    ) -> tuple[EndingEffect, ...]:
        """Return what is known of what is offered now; nothing is proven while the forecasts are not `trusted`.

        `last` is in how many seconds the last that is queued should start, by its forecast; None where that is not
        known. Ranges are `factor` times as wide as courses make them.
        """
        played = {way: found for way in self._now if len(found := self._played.get(way, ())) >= ENOUGH}
        self._since = {
            way: self._since.get(way, at)
            for way, found in played.items()
            if trusted and _part_that_saves(found) >= (_HALF if way in self._since else _MOST)
        }
        return tuple(
            _effect(way, found, last, factor, proven=at - self._since.get(way, at) >= _LASTS)
            for way, found in played.items()
        )


def _part_that_saves(found: Sequence[_Difference]) -> float:
    """Return in what part of the courses an end saves so much that it matters."""
    return sum(saves_enough(each.through, each.otherwise) for each in found) / len(found)


def _effect(way: Way, found: Sequence[_Difference], last: float | None, factor: float, *, proven: bool) -> EndingEffect:
    # The middle of what each pair of courses differs by: that of the times alone changes with the courses drawn.
    gains = sorted(each.sooner for each in found)
    middle = median(gains)
    starts = round(median(each.starts for each in found))
    if middle == inf:
        return EndingEffect(way, starts, None, None, proven)
    sooner, low, high = Interval.of(gains)._replace(median=middle).widened(factor, 0.0)
    most = HORIZON if last is None else last
    sooner, low, high = (tenths(min(max(0.0, each), most)) for each in (sooner, low, high))
    through = None if last is None else tenths(last - sooner)
    return EndingEffect(way, starts, through, last, proven, sooner, low, high)
