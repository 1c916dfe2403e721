"""Calibration of forecasts on what came true: courses give an interval its shape, outcomes give it its width.

Adaptive conformal intervals: how far each outcome was from the median, in half widths of its interval, is kept; the
next intervals are as wide as it takes to hold so many of them. A miss makes that more, a hit a little less.
"""

from __future__ import annotations

from collections import deque
from math import ceil
from statistics import median
from typing import NamedTuple

from presman.analysis.readings.statement_readings import ForecastRecord
from presman.forecast.durations import FEW

HELD = 0.8
"""What part of the outcomes an interval is to hold."""

KEPT = 50
_BEGIN = 0.85
"""What part is aimed at before anything came true."""
_UNTRIED = 1.5
"""How many times as wide as the courses make it an interval is until five outcomes are known."""
_STEP = 0.05
_LEAST, _MOST = 0.5, 0.98
_NARROWEST, _WIDEST = 0.25, 8.0


class Interval(NamedTuple):
    """A forecast in seconds."""

    median: float
    low: float
    high: float

    def widened(self, factor: float, least: float) -> Interval:
        """Return one whose halves, of `least` seconds at least, are so many times as wide."""
        below, above = (factor * max(each, least) for each in _halves(self))
        return Interval(self.median, max(0.0, self.median - below), self.median + above)


class ForecastOutcome(NamedTuple):
    """What became of a forecast: its `distance` from the median in half widths, its `error` in seconds."""

    distance: float
    error: float
    held: bool


class Calibration:
    """The last outcomes of forecasts that were shown. `least` is the half width, in seconds, that is never undercut."""

    def __init__(self) -> None:
        self._outcomes: deque[ForecastOutcome] = deque(maxlen=KEPT)
        self._part = _BEGIN
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
        below, above = (max(each, least) for each in _halves(raw))
        error = seconds - raw.median
        held = shown.low <= seconds <= shown.high
        found = ForecastOutcome(error / above if error > 0 else -error / below, abs(error), held)
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
        return ForecastRecord(len(errors), held, median(errors) if errors else None)

    def _made_of_outcomes(self) -> float:
        distances = sorted(each.distance for each in self._outcomes)
        if len(distances) < FEW:
            return _UNTRIED
        place = min(len(distances), ceil(self._part * (len(distances) + 1))) - 1
        return min(_WIDEST, max(_NARROWEST, distances[place]))


def _halves(raw: Interval) -> tuple[float, float]:
    return raw.median - raw.low, raw.high - raw.median
