"""Noise: whether two windows differ by more than their polls vary anyway. Pure.

Successive polls are similar, so a test that treats them as independent would find differences everywhere. Therefore
each window is cut into blocks that are longer than its autocorrelation, and the blocks of both windows are shuffled
(a permutation test of the difference of the means; seeded, so the same windows get the same answer).
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from itertools import combinations, pairwise
from math import ceil, comb, isclose
from random import Random
from typing import NamedTuple

LEAST_BLOCKS = 5
"""The fewest blocks of a window: with fewer even the most extreme division is not rare (5 and 5 have 252 divisions)."""
MOST_BLOCKS = 20
LEAST_LENGTH = 3
"""The fewest values in a block."""
RARE = 0.01
"""A difference reached by a smaller share of the divisions is more than noise."""
FALSE_ALARMS = 0.02
"""The share of equal windows that are called different, measured with made-up polls of long autocorrelation."""
_MOST_DIVISIONS = 1999  # 2,000 with the observed one
_SEED = 19
_CLOSE = 1e-9
"""Relative difference up to which values are equal, because of rounding."""

METHOD = (
    "more than noise: each window is cut into blocks long enough to be independent, and fewer than 1 in 100 random "
    "divisions of the blocks differ as much (permutation test, fixed seed); fewer than "
    f"{LEAST_BLOCKS} such blocks in a window are too few to compare; figures of the same waits have blocks "
    "of one length; no overlap: too few blocks, too, but each value of one window is above each of the other: how "
    "often that happens by chance is not known"
)


class Judgement(Enum):
    """The possible results of a comparison."""

    MORE = "more than noise"
    NOISE = "within noise"
    SAME = "the same"
    TOO_FEW = "too few to compare"
    NO_OVERLAP = "no overlap"
    ONE_SIDED = "in one window only"


class Value(NamedTuple):
    """The value of a poll as numerator and denominator, so that sums are weighted correctly: CPU s over seconds."""

    over: float
    under: float


def mean(values: Sequence[Value]) -> float | None:
    """Return the weighted mean; None if the denominators are zero."""
    under = sum(value.under for value in values)
    return sum(value.over for value in values) / under if under > 0 else None


def judge(first: Sequence[Value], second: Sequence[Value], least: int = LEAST_LENGTH) -> Judgement:
    """Return whether the means of two series, each in order of time, differ by more than noise.

    `least` is the fewest values in a block: figures that rest on the same waits need blocks of one length.
    """
    one, other = mean(first), mean(second)
    if one is None or other is None:
        return Judgement.ONE_SIDED
    if isclose(one, other, rel_tol=_CLOSE):
        return Judgement.SAME
    probability = chance(first, second, least)
    if probability is None:
        a, b = _known(first), _known(second)
        is_apart = max(a) < min(b) or max(b) < min(a)
        return Judgement.NO_OVERLAP if is_apart and min(len(a), len(b)) >= LEAST_BLOCKS else Judgement.TOO_FEW
    return Judgement.MORE if probability < RARE else Judgement.NOISE


def chance(first: Sequence[Value], second: Sequence[Value], least: int = LEAST_LENGTH) -> float | None:
    """Return the share of divisions whose means differ at least as much; None if there are too few blocks."""
    length = block_length(((first, second),), least)
    one, other = blocks(first, length), blocks(second, length)
    if min(len(one), len(other)) < LEAST_BLOCKS:
        return None
    every = one + other
    total, count = sum(every), len(every)
    # A division chooses the blocks of the first window; the mean of the second follows from the total.
    small = len(one)

    def difference(part: float) -> float:
        return abs(part / small - (total - part) / (count - small))

    # A little less, so that rounding cannot keep the observed division, or its mirror image, from reaching itself.
    seen = difference(sum(one)) - _CLOSE * max(map(abs, every))
    divisions = _divisions(count, small)
    reached = sum(difference(sum([every[index] for index in division])) >= seen for division in divisions)
    # The complete list of divisions includes the observed one; to a random sample it is added.
    more = int(len(divisions) < comb(count, small))
    return (reached + more) / (len(divisions) + more)


def block_length(pairs: Iterable[tuple[Sequence[Value], Sequence[Value]]], least: int = LEAST_LENGTH) -> int:
    """Return the length of a block in values: more than the memory of each of these series."""
    return max(least, *(memory(values) for pair in pairs for values in pair))


def memory(values: Sequence[Value]) -> int:
    """Return after how many values a series has lost its memory: twice its autocorrelation time, at least 1.

    That time is 1 + 2 x the sum of the autocorrelations before the first that is not positive; lags go up to a
    quarter of the series.
    """
    known = _known(values)
    if len(known) < 4:
        return 1
    middle = sum(known) / len(known)
    around = [each - middle for each in known]
    spread = sum(each * each for each in around)
    if spread <= _CLOSE * _CLOSE * middle * middle * len(known):  # all values are equal but for rounding
        return 1
    time = 1.0
    for lag in range(1, len(around) // 4 + 1):
        alike = sum(a * b for a, b in zip(around, around[lag:], strict=False)) / spread
        if alike <= 0:
            break
        time += 2 * alike
    return 1 if time <= 1 else ceil(2 * time)


def blocks(values: Sequence[Value], length: int) -> list[float]:
    """Return the means of up to MOST_BLOCKS consecutive blocks of at least `length` values, without empty blocks."""
    number = min(MOST_BLOCKS, len(values) // length)
    bounds = [len(values) * index // number for index in range(number + 1)] if number else []
    parts = (values[low:high] for low, high in pairwise(bounds))
    return [found for part in parts if (found := mean(part)) is not None]


def _known(values: Sequence[Value]) -> list[float]:
    return [value.over / value.under for value in values if value.under > 0]


@cache
def _divisions(count: int, small: int) -> list[tuple[int, ...]]:
    """Return ways to choose `small` of `count` positions: all of them, or a random sample of so many."""
    if comb(count, small) <= _MOST_DIVISIONS:
        return list(combinations(range(count), small))
    draw = Random(_SEED)
    return [tuple(draw.sample(range(count), small)) for _ in range(_MOST_DIVISIONS)]
