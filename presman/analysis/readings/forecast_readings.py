"""Forecast of the parallel queue: how good it has been, and what the ends of running statements would do."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from presman.analysis.readings.statement_readings import Executing

LEAST_JUDGED = 5
"""Fewer starts than these tell nothing of how good forecasts are."""

PROOF_JUDGED = 20
"""Starts that must have been judged before forecasts are a proof for ending somebody."""


class ForecastRecord(Struct, frozen=True):
    """How good the first forecasts have been of the last 50 statements that have started since, or should have.

    Of `judged` starts `held` came between low and high; `median_error` is by how many seconds the median was off, in
    the middle of them, None without any.
    """

    judged: int = 0
    held: int = 0
    median_error: float | None = None

    def in_words(self) -> str:
        """Return how many have started within the range that was forecast first."""
        return f"{self.held} of {self.judged} started in the range forecast"

    def is_poor(self) -> bool:
        """Whether fewer than half held: then nothing that rests on the same courses is said to be known.

        Fewer than five tell nothing yet: of one that holds in 8 cases of 10 it would be said one time in five, of five
        one time in seventeen.
        """
        return self.judged >= LEAST_JUDGED and 2 * self.held < self.judged

    def tells_effects(self) -> bool:
        """Whether so many were judged, and are not poor, that it is told what ending somebody would do."""
        return self.judged >= LEAST_JUDGED and not self.is_poor()

    def is_proof(self) -> bool:
        """Whether so many were judged, and are not poor, that somebody may be named to be ended because of them."""
        return self.judged >= PROOF_JUDGED and not self.is_poor()


class EndingEffect(Struct, frozen=True):
    """What the end of some running statements would do, in the middle of courses played with and without them.

    `starts` more statements start at once. The last of those queued now starts `sooner` by so many seconds, in 8 cases
    of 10 by `sooner_low` to `sooner_high`; None where that is too far away to be told. It starts after `through`
    seconds in place of `otherwise`, the latest of the starts in the queue's table; None, too, where the last came
    together with others, or one has no forecast. It is `proven` where so much is gained in most courses, for a minute
    by now, and the forecasts have been judged often enough: only then is somebody offered to be ended for it.
    """

    who: tuple[Executing, ...]
    starts: int
    through: float | None
    otherwise: float | None
    proven: bool = False
    sooner: float | None = None
    sooner_low: float | None = None
    sooner_high: float | None = None


class QueueForecast(Struct, frozen=True):
    """What stands behind the forecasts of a reading.

    `ended` statements have been seen to end in the last hour, `watched` seconds of it were seen; `courses` were played
    with random numbers from `seed`. `judged_since` is the first reading after which forecasts could be judged.
    `worked_out_again` tells that a recording is read that was kept without what was shown then. `effects` are there
    only where the record allows to tell them.
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
        """Return what the end of these together would do, None where that is not known."""
        return next((each for each in self.effects if set(each.who) == set(who)), None)
