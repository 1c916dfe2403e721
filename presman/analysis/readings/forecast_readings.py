"""Forecast of the parallel queue: its accuracy, and the effect of ending running statements, in words."""

from datetime import datetime

from msgspec import Struct

from presman.analysis.readings.statement_readings import Executing
from presman.base.formats import duration

LEAST_JUDGED = 5
"""Fewer starts than this show nothing about the accuracy of forecasts."""

PROOF_JUDGED = 20
"""Starts that must have been judged before a forecast is a proof for ending a session."""


class ForecastRecord(Struct, frozen=True):
    """The accuracy of the first forecasts of the last 50 statements that have started, or should have started.

    Of `judged` starts, `held` came between low and high. `median_error` is the median of the errors of the forecast
    median in seconds, None without any.
    """

    judged: int = 0
    held: int = 0
    median_error: float | None = None

    def in_words(self) -> str:
        """Return how many statements started within the range that was forecast first."""
        return f"{self.held} of {self.judged} started in the range forecast"

    def is_poor(self) -> bool:
        """Whether fewer than half held: then nothing is shown that is computed from the same simulated courses.

        Fewer than five starts show nothing yet. A forecast that holds in 8 cases of 10 would be called poor one time in
        five after one start, one time in seventeen after five.
        """
        return self.judged >= LEAST_JUDGED and 2 * self.held < self.judged

    def shows_effects(self) -> bool:
        """Whether enough starts were judged, and are not poor, to show the effect of ending a session."""
        return self.judged >= LEAST_JUDGED and not self.is_poor()

    def is_proof(self) -> bool:
        """Whether enough starts were judged, and are not poor, to name a session to be ended by the forecast."""
        return self.judged >= PROOF_JUDGED and not self.is_poor()


_NO_SOONER, _LITTLE = 0.02, 1.0
"""A gain of less than 2 %, or of less than a second, is not mentioned: it is within chance."""

SMALL_GAIN = 30.0
"""Seconds of gain below which only that is said, unless it is proven: courses drawn anew differ by as much."""


class EndingEffect(Struct, frozen=True):
    """The effect of ending some running statements: the median of courses simulated with and without these ends.

    `starts` more statements start at once. The last of those queued now starts `sooner` by that many seconds, in 8
    cases of 10 by `sooner_low` to `sooner_high`; None if that is too far away to forecast. It starts after `through`
    seconds instead of `otherwise`, the latest start in the queue's table. `through` is also None if the last came
    together with others, or one has no forecast. The effect is `proven` if that much is gained in most courses, has
    been for a minute, and enough forecasts have been judged: only then is a session offered to be ended for it.
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
        """Whether the last statement now queued is known to start sooner, by more than chance."""
        return self.sooner is not None and self.sooner >= max(_LITTLE, _NO_SOONER * (self.otherwise or 0.0))

    def is_within_chance(self) -> bool:
        """Whether the gain is small, or may be nothing, and is not proven: then its times are not shown."""
        return not self.proven and ((self.sooner or 0.0) < SMALL_GAIN or (self.sooner_low or 0.0) < _LITTLE)

    def sooner_then(self) -> str:
        """Return how much sooner the last statement now queued should start, and when, with and without the end."""
        if self.otherwise is None or self.is_within_chance():
            return self.sooner_words()
        return f"{self.sooner_words()}: in {duration(self.through)} instead of {duration(self.otherwise)}"

    def sooner_words(self) -> str:
        """Return how much sooner the last statement now queued should start.

        The range covers 8 cases of 10 if all of them are a gain; a proven gain that may be nothing is the median.
        """
        low, high = duration(self.sooner_low), duration(self.sooner_high)
        if self.is_within_chance():
            is_small = (self.sooner or 0.0) < SMALL_GAIN
            return f"less than {duration(SMALL_GAIN)} sooner" if is_small else f"up to {high} sooner"
        if (self.sooner_low or 0.0) < _LITTLE:
            return f"{duration(self.sooner)} sooner"
        return f"{low if low == high else f'{low}-{high}'} sooner"


def effect_words(effect: EndingEffect | None, *, enough: bool = True) -> str:
    """Return the effect of an end on the whole queue in words, "" if not known.

    The number of immediate starts is left out if the end is not `enough` for a head now, and so is a zero if it is
    enough. The courses use the last minute, in which more or fewer servers may have been free.
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
    """Whether the forecast proves that the queue empties sooner by enough."""
    return effect is not None and effect.proven


def helps_none(effect: EndingEffect | None) -> bool:
    """Whether the forecast says that waiting is as good."""
    return effect is not None and effect.sooner is not None and effect.starts <= 0 and effect.sooner < 1.0


class QueueForecast(Struct, frozen=True):
    """The basis of the forecasts of a reading.

    `ended` statements were seen to end in the last hour, of which `watched` seconds were seen. `courses` were simulated
    with random numbers from `seed`. `judged_since` is the first reading after which forecasts could be judged.
    `worked_out_again` means that the forecasts were computed again for a recording that did not keep them. `effects`
    are present only if the record is good enough to show them.
    """

    record: ForecastRecord = ForecastRecord()
    effects: tuple[EndingEffect, ...] = ()
    ended: int = 0
    watched: float = 0.0
    courses: int = 0
    seed: int = 1
    judged_since: datetime | None = None
    worked_out_again: bool = False

    def effect_of(self, *executing: Executing) -> EndingEffect | None:
        """Return the effect of ending these statements together, None if not known."""
        return next((each for each in self.effects if set(each.who) == set(executing)), None)
