"""Calibration of forecasts on what came true: courses give an interval its shape, outcomes give it its width.

Adaptive conformal intervals: how far each outcome was from the median, in half widths of its interval, is kept; the
next intervals are as wide as it takes to hold so many of them. A miss makes that more, a hit a little less. First
forecasts are judged by first forecasts, those of who has waited for a while by all that stood at some looks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from math import ceil
from statistics import median
from typing import NamedTuple

from presman.analysis.readings.forecast_readings import ForecastRecord
from presman.forecast.statement_history import FEW

HELD = 0.8
"""What part of the outcomes an interval is to hold, and what is aimed at before anything came true."""

KEPT = 50
_UNTRIED = 1.5
"""How many times as wide as the courses make it an interval is until five outcomes are known."""
_STEP = 0.01
"""How much the part that is aimed at follows an outcome.

Those of a burst err together, and it is seen late: with larger steps the width swings, and is narrow just when the next
burst comes.
"""
_LEAST, _MOST = 0.5, 0.98
_STANDING = 0.86
"""What part is aimed at of all who wait: a little more than is to hold, since those of one queue err together."""
_DRIFTS, _DRIFTS_AFTER = 0.3, 300.0
"""A half of an interval is at least such a part of what its median is beyond so many seconds.

Courses have the load of the last hour, and that of the next is another.
"""
_HOUR = 3600.0
_OF_ONE_LOOK = 50
"""Forecasts of one look that are judged: of a longer queue every second, every third."""
_NARROWEST, _WIDEST = 0.25, 8.0


def tenths(seconds: float) -> float:
    """Return seconds as they are shown and kept: a recording has tenths, and tells the same as who watched."""
    return round(seconds, 1)


class Interval(NamedTuple):
    """A forecast in seconds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ascending: Sequence[float]) -> Interval:
        """Return the middle of numbers, and what 8 of 10 of them lie between."""
        return cls(*(ascending[int(part * (len(ascending) - 1) + 0.5)] for part in (0.5, 0.1, 0.9)))

    def distance(self, seconds: float, least: float) -> float:
        """Return how far from the median so many seconds are, in halves that are `least` seconds at least."""
        below, above = _halves(self, least)
        error = seconds - self.median
        return error / above if error > 0 else -error / below

    def widened(self, factor: float, least: float) -> Interval:
        """Return an interval whose halves, of `least` seconds at least, are `factor` times as wide."""
        below, above = _halves(self, least)
        return Interval(self.median, max(0.0, self.median - factor * below), self.median + factor * above)


class ForecastOutcome(NamedTuple):
    """What became of a forecast: its `distance` from the median in half widths, its `error` in seconds."""

    distance: float
    error: float
    held: bool


class Calibration:
    """The last outcomes of forecasts that were shown. `least` is the half width, in seconds, that is never undercut."""

    def __init__(self) -> None:
        self._outcomes: deque[ForecastOutcome] = deque(maxlen=KEPT)
        self._part = HELD
        self.factor = _UNTRIED
        """How many times as wide as the courses make it an interval is."""

    def widened(self, raw: Interval, least: float) -> Interval:
        """Return an interval as it is to be shown."""
        return raw.widened(self.factor, least)

    def judge(
        self, raw: Interval, shown: Interval, seconds: float, least: float, before: ForecastOutcome | None = None
    ) -> ForecastOutcome:
        """Take that a statement started after so many seconds, or has not yet after so many; return the outcome.

        `before` is what it counted as while it had not started: that is replaced.
        """
        held = shown.low <= seconds <= shown.high
        found = ForecastOutcome(raw.distance(seconds, least), abs(seconds - raw.median), held)
        if before is None:
            self._outcomes.append(found)
            self._part += _STEP * (HELD if not held else HELD - 1)
            self._part = min(_MOST, max(_LEAST, self._part))
        elif before in self._outcomes:
            self._outcomes[self._outcomes.index(before)] = found
        self.factor = self._made_of_outcomes()
        return found

    def record(self) -> ForecastRecord:
        """Return how good the forecasts have been."""
        errors = [each.error for each in self._outcomes]
        held = sum(each.held for each in self._outcomes)
        return ForecastRecord(len(errors), held, tenths(median(errors)) if errors else None)

    def _made_of_outcomes(self) -> float:
        distances = sorted(each.distance for each in self._outcomes)
        return _UNTRIED if len(distances) < FEW else _holding(self._part, distances)


class StandingForecast(NamedTuple):
    """A forecast that stood `at` an instant (in seconds, as all here), as courses make it."""

    at: float
    raw: Interval
    least: float


class QueueCalibration:
    """Outcomes of all forecasts of some polls of the last hour, not only of the first of each statement.

    Most first forecasts are of those who start soon. Who waits long is foreseen at each look, and counts at each.
    `factor` is how many times as wide intervals of all who wait must be; None until enough is known.
    """

    def __init__(self) -> None:
        self._open: dict[Hashable, list[StandingForecast]] = {}
        self._known: deque[tuple[float, float]] = deque(maxlen=60 * _OF_ONE_LOOK)
        self.factor: float | None = None

    def start(self, who: Hashable, at: float | None) -> None:
        """Take that one has started at an instant, None for one that left without."""
        for each in self._open.pop(who, ()):
            if at is not None and at >= each.at:
                self._known.append((each.at, each.raw.distance(at - each.at, each.least)))

    def forget_open(self) -> None:
        """Forget what stands of all who wait: it will not be judged."""
        self._open.clear()

    def look(self, now: float, shown: Sequence[tuple[Hashable, StandingForecast]]) -> None:
        """Take what stands of all who wait, and make the factor of what has come of it until now."""
        since = now - _HOUR
        distances = sorted([*(found for at, found in self._known if at >= since), *self._late(now, since)])
        self.factor = _holding(_STANDING, distances) if len(distances) >= FEW else None
        for who, standing in shown[:: max(1, ceil(len(shown) / _OF_ONE_LOOK))]:
            standings = self._open.setdefault(who, [])
            standings[:] = [*(each for each in standings if each.at >= since), standing]

    def _late(self, now: float, since: float) -> list[float]:
        """Return the distances, so far, of those who still wait behind their medians."""
        still = (each for standings in self._open.values() for each in standings if each.at >= since)
        return [each.raw.distance(now - each.at, each.least) for each in still if now - each.at > each.raw.median]


def _holding(part: float, distances: Sequence[float]) -> float:
    """Return the factor within which `part` of the ascending `distances` lies."""
    place = min(len(distances), ceil(part * (len(distances) + 1))) - 1
    return min(_WIDEST, max(_NARROWEST, distances[place]))


def _halves(raw: Interval, least: float) -> tuple[float, float]:
    """Return the halves of an interval, which are `least` seconds at least, and more the farther off it is."""
    least = max(least, _DRIFTS * (raw.median - _DRIFTS_AFTER))
    return max(raw.median - raw.low, least), max(raw.high - raw.median, least)
