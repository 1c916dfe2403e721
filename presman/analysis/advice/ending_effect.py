"""Effect of an end on the whole queue, as the forecast has it: whether it is known, proven, and in which words."""

from __future__ import annotations

from math import inf

from presman.analysis.advice.ending import NEARLY_DONE
from presman.analysis.readings.forecast_readings import EndingEffect
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import RunningStatement
from presman.base.formats import duration

_NO_SOONER, _LITTLE = 0.02, 1.0
"""A gain of less than 2 %, or than a second, is not mentioned: so much differs by chance."""


def is_sooner(effect: EndingEffect) -> bool:
    """Whether it is known that the last that is queued now would start sooner, by more than chance makes."""
    return effect.sooner is not None and effect.sooner >= max(_LITTLE, _NO_SOONER * (effect.otherwise or 0.0))


_TENTH = 0.1


def saves_enough(through: float, otherwise: float) -> bool:
    """Whether an end that lets the last now queued start sooner saves what matters: not less than it takes to decide,
    and not less than a tenth of the time that is left.
    """
    return through < inf and otherwise - through >= max(NEARLY_DONE, _TENTH * otherwise)


def effect_words(effect: EndingEffect | None, *, enough: bool = True) -> str:
    """Return what an end would do to the whole queue, "" where that is not known.

    How many start at once is not said of an end that is not `enough` for a head now, and not that none does of one that
    is: the courses are of the last minute, in which more or fewer servers may have been free.
    """
    if effect is None:
        return ""
    words = [at_once(effect)] if enough and effect.starts > 0 else []
    if is_sooner(effect):
        words.append(f"the last queued {'' if effect.proven else 'perhaps '}{sooner_then(effect)}")
    return ", ".join(words)


def sooner_then(effect: EndingEffect) -> str:
    """Return by how much sooner the last that is queued now should start, and when that is, with an end and without."""
    if effect.otherwise is None:
        return sooner(effect)
    return f"{sooner(effect)}: in {duration(effect.through)} instead of {duration(effect.otherwise)}"


def sooner(effect: EndingEffect) -> str:
    """Return by how much sooner the last that is queued now should start: in 8 cases of 10 where all of them are a
    gain, else in half of them.
    """
    low, high = duration(effect.sooner_low), duration(effect.sooner_high)
    if (effect.sooner_low or 0.0) < _LITTLE:
        return f"{duration(effect.sooner)} sooner"
    return f"{low if low == high else f'{low}-{high}'} sooner"


def at_once(effect: EndingEffect) -> str:
    """Return how many an end would let start at once."""
    return f"{effect.starts} of the queue start{'s' * (effect.starts == 1)} at once"


def effect_of(reading: Reading, *way: RunningStatement) -> EndingEffect | None:
    """Return what the end of these would do to the whole queue, None where that was not forecast."""
    return None if reading.forecast is None else reading.forecast.effect_of(*(each.executing() for each in way))


def is_proven(effect: EndingEffect | None) -> bool:
    """Whether the forecast proves that the queue empties sooner by what matters."""
    return effect is not None and effect.proven


def gain(effect: EndingEffect) -> float:
    """Return by how many seconds the last that is queued now should start sooner, 0 where that is not known."""
    return effect.sooner or 0.0


def helps_nobody(effect: EndingEffect | None) -> bool:
    """Whether it was forecast that waiting is as good."""
    return effect is not None and effect.sooner is not None and effect.starts <= 0 and effect.sooner < 1.0
