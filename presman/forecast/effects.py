"""Effects of ending running statements: the same courses with and without them, a few at each reading."""

from collections import deque
from collections.abc import Sequence
from datetime import datetime, timedelta
from math import inf
from typing import NamedTuple

from presman.analysis.advice.ending import saves_enough
from presman.analysis.advice.unblock import unblock
from presman.analysis.readings.forecast_readings import EndingEffect
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Executing
from presman.base.sums import median
from presman.forecast.calibration import Interval, tenths
from presman.forecast.course import HORIZON, Draw, Played, play
from presman.forecast.queue_now import Modelled

SHOWN = 3
"""Ways to let a head start whose effects are played."""
KEPT = 20
"""The most courses behind an effect."""
ENOUGH = 5
"""The fewest courses behind an effect: with fewer it is unknown."""

_MOST, _HALF = 0.75, 0.5
"""The part of the courses in which an end must save enough to become proven, and to stay proven."""

_LASTS = timedelta(minutes=1)
"""How long a played course is kept, and how long an end must have saved enough before it is proven."""

Way = tuple[Executing, ...]


class _Difference(NamedTuple):
    at: datetime
    starts: int
    through: float
    otherwise: float

    @property
    def sooner(self) -> float:
        """Return by how many seconds the last statement starts sooner: infinity if it would otherwise not start."""
        return self.otherwise - self.through if self.through < inf else 0.0


class Effects:
    """The effects of ending the statements that are offered to let a head start."""

    def __init__(self) -> None:
        self._played: dict[Way, deque[_Difference]] = {}
        self._now: list[Way] = []
        self._since: dict[Way, datetime] = {}
        """The time since which each way has saved enough at each reading."""

    def offer(self, reading: Reading) -> int:
        """Take the ways offered now and return their number. Played courses are kept for a minute."""
        found = (way for each in unblock(reading) for way in each.ways[:SHOWN])
        self._now = list(dict.fromkeys(tuple(each.executing() for each in way) for way in found))
        for way, played in list(self._played.items()):
            while played and reading.at - played[0].at > _LASTS:
                played.popleft()
            if not played:
                del self._played[way]
        return len(self._now)

    def play(self, model: Modelled, courses: Sequence[tuple[Draw, Played]], at: datetime, most: float) -> int:
        """Play courses without the statements of each way, in turn, starting with the way that has the fewest courses.

        No further way is begun after `most` steps of the model. Return the number of steps.
        """
        holders = {each.executing(): index for index, each in enumerate(model.holders) if each is not None}
        ways = [way for way in self._now if all(executing in holders for executing in way)] if courses else []
        steps = 0
        for way in sorted(ways, key=lambda way: len(self._played.get(way, ()))):
            if steps >= most:
                break
            differences = self._played.setdefault(way, deque(maxlen=KEPT))
            for drawn, otherwise in courses:
                played = play(model.now, drawn, [holders[executing] for executing in way])
                steps += played.steps
                differences.append(_Difference(at, played.at_once - otherwise.at_once, played.empty, otherwise.empty))
        return steps

    def known(
        self, at: datetime, *, trusted: bool, last: float | None, factor: float = 1.0
    ) -> tuple[EndingEffect, ...]:
        """Return the known effects of the ways offered now; nothing is proven unless the forecasts are `trusted`.

        `last` is the forecast start of the last queued statement in seconds, None if unknown. Ranges are `factor` times
        as wide as in the courses.
        """
        # What is proven needs fewer courses to stay proven: otherwise DO would offer an end and withdraw it in turn.
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
    """Return the part of the courses in which an end saves enough to matter."""
    return sum(saves_enough(each.through, each.otherwise) for each in found) / len(found)


def _effect(way: Way, found: Sequence[_Difference], last: float | None, factor: float, *, proven: bool) -> EndingEffect:
    # The median of the differences within pairs: the difference of medians would vary with the courses drawn.
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
