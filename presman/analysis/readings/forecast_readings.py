"""Forecast of the parallel queue: how good it has been, and what the ends of running statements would do, in words."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from presman.analysis.readings.statement_readings import Executing
from presman.base.formats import duration

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


_NO_SOONER, _LITTLE = 0.02, 1.0
"""A gain of less than 2 %, or than a second, is not mentioned: so much differs by chance."""


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

    def is_sooner(self) -> bool:
        """Whether it is known that the last that is queued now would start sooner, by more than chance makes."""
        return self.sooner is not None and self.sooner >= max(_LITTLE, _NO_SOONER * (self.otherwise or 0.0))

    def sooner_then(self) -> str:
        """Return by how much sooner the last that is queued now should start, and when that is, with and without."""
        if self.otherwise is None:
            return self.sooner_words()
        return f"{self.sooner_words()}: in {duration(self.through)} instead of {duration(self.otherwise)}"

    def sooner_words(self) -> str:
        """Return by how much sooner the last that is queued now should start: in 8 cases of 10 where all of them are a
        gain, else in half of them.
        """
        low, high = duration(self.sooner_low), duration(self.sooner_high)
        if (self.sooner_low or 0.0) < _LITTLE:
            return f"{duration(self.sooner)} sooner"
        return f"{low if low == high else f'{low}-{high}'} sooner"


def effect_words(effect: EndingEffect | None, *, enough: bool = True) -> str:
    """Return what an end would do to the whole queue, "" where that is not known.

    How many start at once is not said of an end that is not `enough` for a head now, and not that none does of one that
    is: the courses are of the last minute, in which more or fewer servers may have been free.
    """
    if effect is None:
        return ""
    words = []
    if enough and effect.starts > 0:
        words.append(f"{effect.starts} of the queue start{'s' * (effect.starts == 1)} at once")
    if effect.is_sooner():
        words.append(f"the last queued {'' if effect.proven else 'perhaps '}{effect.sooner_then()}")
    return ", ".join(words)


def is_proven(effect: EndingEffect | None) -> bool:
    """Whether the forecast proves that the queue empties sooner by what matters."""
    return effect is not None and effect.proven


def helps_nobody(effect: EndingEffect | None) -> bool:
    """Whether it was forecast that waiting is as good."""
    return effect is not None and effect.sooner is not None and effect.starts <= 0 and effect.sooner < 1.0


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
