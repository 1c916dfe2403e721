"""Durations for which statements hold their servers, learnt from those that were seen: ended, or still running.

Kaplan and Meier's estimate, which counts those that still run as long as they have run, and those that ran already
when they were first seen from then on. Of n that have run for some time, the next to end takes away one part in
n + 1/2 and not in n: one that runs longer than all before it must stay possible, and with the mean that is left to such
a one the mean of all is just that of those seen. (One part in n + 1 made the mean of five a seventh too long.)
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cached_property
from math import exp, log
from typing import NamedTuple

from msgspec import Struct

FEW = 5
"""Fewer ends than this tell nothing."""


class Lasted(NamedTuple):
    """One statement: seconds it held its servers, whether that is over, and for how long it had when first seen."""

    seconds: float
    ended: bool = True
    first_age: float = 0.0


class Durations(Struct, frozen=True, dict=True):
    """A distribution of seconds: at each of `times`, ascending, what part `lasts` longer; `mean` is that of all seen.

    Between two times ends are spread evenly; those beyond the last one go on for `mean` seconds more, on average.
    """

    times: tuple[float, ...]
    lasts: tuple[float, ...]
    mean: float

    def longer_than(self, seconds: float) -> float:
        """Return what part lasts longer than that.

        >>> Durations((10.0, 20.0), (0.5, 0.25), 20.0).longer_than(15.0)
        0.375
        """
        after = bisect_right(self.times, seconds)
        if after == len(self.times):
            return self.lasts[-1] * exp((self.times[-1] - seconds) / self.mean)
        begin, part = (self.times[after - 1], self.lasts[after - 1]) if after else (0.0, 1.0)
        way = (seconds - begin) / (self.times[after] - begin)
        return part + (self.lasts[after] - part) * way

    def left(self, run: float, chance: float) -> float:
        """Return the seconds that one which has `run` for so long has left; `chance` (0..1) of those alike have less.

        >>> Durations((10.0, 20.0), (0.5, 0.25), 20.0).left(10.0, 0.25)
        5.0
        """
        if run >= self.times[-1]:
            return -self.mean * log(1.0 - chance)
        part = (self.longer_than(run) if run > 0.0 else 1.0) * (1.0 - chance)
        if part <= self.lasts[-1]:
            return self.times[-1] + self.mean * log(self.lasts[-1] / part) - run
        place = bisect_left(self._over, -part)
        begin, above = (self.times[place - 1], self.lasts[place - 1]) if place else (0.0, 1.0)
        way = (above - part) / (above - self.lasts[place])
        return max(0.0, begin + (self.times[place] - begin) * way - run)

    @cached_property
    def _over(self) -> tuple[float, ...]:
        """`lasts`, negated: ascending, as bisect wants it."""
        return tuple(-each for each in self.lasts)


def durations(seen: Iterable[Lasted]) -> Durations | None:
    """Return the distribution behind some statements, None where fewer than five have ended.

    >>> five = [Lasted(seconds) for seconds in (10, 20, 30, 40, 50)]
    >>> [round(part, 3) for part in durations(five).lasts]
    [0.818, 0.636, 0.455, 0.273, 0.091]
    """
    known = [each for each in seen if each.seconds > each.first_age >= 0]
    ends = sorted(each.seconds for each in known if each.ended)
    if len(ends) < FEW:
        return None
    all_of_them = sorted(each.seconds for each in known)
    entries = sorted(each.first_age for each in known)
    times: list[float] = []
    lasts: list[float] = []
    part = 1.0
    for index, seconds in enumerate(ends):
        before = index - bisect_left(ends, seconds)  # at the same time
        at_risk = bisect_left(entries, seconds) - bisect_left(all_of_them, seconds) - before
        part *= 1.0 - 1.0 / (at_risk + 0.5)
        times.append(seconds)
        lasts.append(part)
    exposed = sum(each.seconds - each.first_age for each in known)
    return Durations(tuple(times), tuple(lasts), exposed / len(ends))
