"""Forecasts of the parallel queue, as they are shown: when statements should start, and how good that has been."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

Executing = tuple[int, int, int, str]
"""Who executes what: instance, SID, serial and SQL_ID."""


class StartForecast(Struct, frozen=True):
    """In how many seconds a queued statement should start: the `median`, and `low` to `high` in 8 cases of 10.

    None where none is shown; `why_none` says why. `timeout` tells that its timeout comes before: then it starts by it
    or not at all, and there are no figures either.
    """

    median: float | None = None
    low: float | None = None
    high: float | None = None
    timeout: bool = False
    why_none: str = ""


class ForecastRecord(Struct, frozen=True):
    """How good the first forecasts have been of the last 50 statements that have started since, or should have.

    Of `judged` starts `held` came between low and high; `median_error` is by how many seconds the median was off, in
    the middle of them, None without any.
    """

    judged: int = 0
    held: int = 0
    median_error: float | None = None

    def is_poor(self) -> bool:
        """Whether fewer than half held: then nothing that rests on the same courses is said to be known."""
        return 2 * self.held < self.judged


class EndingEffect(Struct, frozen=True):
    """What the end of some running statements would do, in the middle of courses played with and without them.

    `starts` more statements start at once. The last of those queued now starts after `through` seconds in place of
    `otherwise`; None where that is too far away to be told.
    """

    who: tuple[Executing, ...]
    starts: int
    through: float | None
    otherwise: float | None


class QueueForecast(Struct, frozen=True):
    """What stands behind the forecasts of a reading.

    `ended` statements have been seen to end in the last hour, `watched` seconds of it were seen; `courses` were played
    with random numbers from `seed`. `judged_since` is the first reading after which forecasts could be judged.
    `worked_out_again` tells that a recording is read that was kept without what was shown then.
    """

    record: ForecastRecord = ForecastRecord()
    effects: tuple[EndingEffect, ...] = ()
    ended: int = 0
    watched: float = 0.0
    courses: int = 0
    seed: int = 1
    judged_since: datetime | None = None
    worked_out_again: bool = False

    def effect_of(self, *who: Executing) -> EndingEffect | None:
        """Return what the end of these together would do, None where that was not played, or the record is poor."""
        if self.record.is_poor():
            return None
        return next((each for each in self.effects if set(each.who) == set(who)), None)
