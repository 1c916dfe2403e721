"""Calibration of forecasts by their outcomes: courses determine the shape of an interval, outcomes its width.

These are adaptive conformal intervals. The conformity score of an outcome is its distance from the median, in half
widths of its interval. The next intervals are wide enough to hold the wanted part of the scores that are kept. A miss
increases that part, a hit decreases it a little. First forecasts are calibrated by first forecasts, those of statements
that have waited for a while by all forecasts of some polls.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from math import ceil
from typing import NamedTuple

from presman.analysis.readings.forecast_readings import ForecastRecord
from presman.base.sums import median
from presman.forecast.statement_history import FEW

COVERAGE = 0.8
"""The part of the outcomes that an interval should hold, and the part aimed at before there are outcomes."""

KEPT = 50
_UNTRIED = 1.5
"""The factor by which intervals are wider than in the courses until five outcomes are known."""
_LEARNING_RATE = 0.01
"""The change of the part aimed at after each outcome.

The outcomes of a burst err together, and are known late: with larger steps the width oscillates, and is narrow just
when the next burst comes.
"""
_LEAST_AIM, _MOST_AIM = 0.5, 0.98
_STANDING_COVERAGE = 0.86
"""The part aimed at for all waiting statements: a little more than COVERAGE, since those of one queue err together."""
_DRIFTS, _DRIFTS_AFTER = 0.3, 300.0
"""Half of an interval is at least this part of its median's excess over this many seconds.

The courses have the load of the last hour, and the next hour's differs.
"""
_HOUR = 3600.0
_OF_ONE_LOOK = 50
"""Forecasts of one poll that are judged: of a longer queue every second, every third."""
_NARROWEST, _WIDEST = 0.25, 8.0


def tenths(seconds: float) -> float:
    """Return seconds as shown and kept: a recording has tenths, and must show the same as a live monitor."""
    return round(seconds, 1)


class Interval(NamedTuple):
    """A forecast in seconds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, ascending: Sequence[float]) -> Interval:
        """Return the median of ascending numbers and the range of the middle 8 of 10."""
        return cls(*(ascending[int(part * (len(ascending) - 1) + 0.5)] for part in (0.5, 0.1, 0.9)))

    def score(self, seconds: float, least: float) -> float:
        """Return the conformity score of `seconds`: its distance from the median in halves of at least `least`."""
        below, above = _halves(self, least)
        error = seconds - self.median
        return error / above if error > 0 else -error / below

    def widened(self, factor: float, least: float) -> Interval:
        """Return an interval whose halves, of at least `least` seconds, are `factor` times as wide."""
        below, above = _halves(self, least)
        return Interval(self.median, max(0.0, self.median - factor * below), self.median + factor * above)


class ForecastOutcome(NamedTuple):
    """The outcome of a forecast: its conformity `score`, and its `error` in seconds."""

    score: float
    error: float
    held: bool


class Calibration:
    """The last outcomes of forecasts that were shown. In its methods `least` is the least half width, in seconds."""

    def __init__(self) -> None:
        self._outcomes: deque[ForecastOutcome] = deque(maxlen=KEPT)
        self._aim = COVERAGE
        self.factor = _UNTRIED
        """The factor by which intervals are wider than in the courses."""

    def widened(self, raw: Interval, least: float) -> Interval:
        """Return an interval as it is shown."""
        return raw.widened(self.factor, least)

    def judge(
        self, raw: Interval, shown: Interval, seconds: float, least: float, before: ForecastOutcome | None = None
    ) -> ForecastOutcome:
        """Judge a statement that started after `seconds`, or has not started after them; return the outcome.

        `before` is its outcome while it had not started, which is replaced.
        """
        held = shown.low <= seconds <= shown.high
        found = ForecastOutcome(raw.score(seconds, least), abs(seconds - raw.median), held)
        if before is None:
            self._outcomes.append(found)
            # A miss raises the aim by four times as much as a hit lowers it: they balance when 8 of 10 are held.
            self._aim += _LEARNING_RATE * (COVERAGE if not held else COVERAGE - 1)
            self._aim = min(_MOST_AIM, max(_LEAST_AIM, self._aim))
        elif before in self._outcomes:  # else it is no longer among the newest ones that are kept
            self._outcomes[self._outcomes.index(before)] = found
        scores = sorted(each.score for each in self._outcomes)
        self.factor = _UNTRIED if len(scores) < FEW else _conformal_factor(self._aim, scores)
        return found

    def record(self) -> ForecastRecord:
        """Return the accuracy of the forecasts so far."""
        errors = [each.error for each in self._outcomes]
        held = sum(each.held for each in self._outcomes)
        return ForecastRecord(len(errors), held, tenths(median(errors)) if errors else None)


class KeptForecast(NamedTuple):
    """A forecast of the courses as it was `at` a time; all values are in seconds."""

    at: float
    raw: Interval
    least: float


class QueueCalibration:
    """Outcomes of all forecasts at some polls of the last hour, not only of the first forecast of each statement.

    Most first forecasts are for statements that start soon. A statement that waits long is forecast at each poll, and
    each of these forecasts may count. `factor` widens the intervals of all waiting statements; None until enough is
    known.
    """

    def __init__(self) -> None:
        self._open: dict[Hashable, list[KeptForecast]] = {}
        self._known: deque[tuple[float, float]] = deque(maxlen=60 * _OF_ONE_LOOK)
        self.factor: float | None = None

    def start(self, statement: Hashable, at: float | None) -> None:
        """Note that a statement started at `at`, or left without a start if that is None."""
        for each in self._open.pop(statement, ()):
            if at is not None and at >= each.at:
                self._known.append((each.at, each.raw.score(at - each.at, each.least)))

    def forget_open(self) -> None:
        """Forget the standing forecasts of all waiting statements: they will not be judged."""
        self._open.clear()

    def look(self, now: float, shown: Sequence[tuple[Hashable, KeptForecast]]) -> None:
        """Take the standing forecasts of all waiting statements, and compute the factor from the outcomes so far."""
        since = now - _HOUR
        scores = sorted([*(found for at, found in self._known if at >= since), *self._late(now, since)])
        self.factor = _conformal_factor(_STANDING_COVERAGE, scores) if len(scores) >= FEW else None
        for statement, standing in shown[:: max(1, ceil(len(shown) / _OF_ONE_LOOK))]:
            standings = self._open.setdefault(statement, [])
            standings[:] = [*(each for each in standings if each.at >= since), standing]

    def _late(self, now: float, since: float) -> list[float]:
        """Return the scores so far of the statements that still wait after their medians."""
        # Without them a wait that is much longer than forecast would count only once it is over.
        still = (each for standings in self._open.values() for each in standings if each.at >= since)
        return [each.raw.score(now - each.at, each.least) for each in still if now - each.at > each.raw.median]


def _conformal_factor(part: float, scores: Sequence[float]) -> float:
    """Return the factor within which `part` of the ascending `scores` lies."""
    # Conformal prediction: the next score is one of n + 1, with equal chances for each rank among them.
    rank = min(len(scores), ceil(part * (len(scores) + 1))) - 1
    return min(_WIDEST, max(_NARROWEST, scores[rank]))


def _halves(raw: Interval, least: float) -> tuple[float, float]:
    """Return the halves of an interval: at least `least` seconds, and more for a median far in the future."""
    least = max(least, _DRIFTS * (raw.median - _DRIFTS_AFTER))
    return max(raw.median - raw.low, least), max(raw.high - raw.median, least)
