"""Noise: whether two windows differ by more than polls differ among themselves. Pure.

Polls follow each other closely, so neighbours are alike, and a test that takes each for news would find a difference
everywhere. So each window is cut into blocks longer than its polls remember, and the blocks of both are dealt out
anew (a permutation test of the difference of the means; seeded, so the same windows have the same answer).
"""

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cache
from itertools import combinations, pairwise
from math import ceil, comb
from random import Random
from typing import NamedTuple

LEAST_BLOCKS = 5
"""Of each window; of fewer even the most uneven deal is not rare: 5 and 5 can be dealt in 252 ways."""
MOST_BLOCKS = 20
LEAST_LENGTH = 3
"""Values in a block at least."""
RARE = 0.01
"""A difference that so few deals reach is more than noise."""
FALSE_ALARMS = 0.02
"""Of differences that are none, those called more than noise: measured with made-up polls that are alike for long."""
_DEALS = 1999
_SEED = 19
_CLOSE = 1e-9
"""Differences that are one but for rounding, relative to the figures."""

METHOD = (
    "more than noise: each window is cut into blocks long enough to be independent, and fewer than 1 in 100 random "
    "divisions of the blocks differ as much (permutation test, fixed seed); fewer than "
    f"{LEAST_BLOCKS} such blocks in a window are too few to compare; figures of the same waits have blocks "
    "of one length; no overlap: too few blocks, too, but each value of one window is above each of the other: that it "
    "was so then is sure, how often chance does that is not known"
)


class Judgement(Enum):
    """What can be said of a difference."""

    MORE = "more than noise"
    NOISE = "within noise"
    SAME = "the same"
    UNTOLD = "too few to compare"
    APART = "no overlap"
    ONE_SIDED = "in one window only"


class Value(NamedTuple):
    """A value of one poll as a quotient, so that blocks and windows are weighted right: CPU seconds over seconds."""

    over: float
    under: float


def mean(values: Sequence[Value]) -> float | None:
    """Return what all of them come to; None where nothing is below the line."""
    under = sum(value.under for value in values)
    return sum(value.over for value in values) / under if under > 0 else None


def judge(first: Sequence[Value], second: Sequence[Value], least: int = LEAST_LENGTH) -> Judgement:
    """Return whether the means of two series, each in order of time, differ by more than noise.

    `least` are the values in a block at least: what is made of the same waits needs blocks of one length.
    """
    one, other = mean(first), mean(second)
    if one is None or other is None:
        return Judgement.ONE_SIDED
    if _is_close(one, other):
        return Judgement.SAME
    probability = chance(first, second, least)
    if probability is None:
        return Judgement.APART if _is_apart(_known(first), _known(second)) else Judgement.UNTOLD
    return Judgement.MORE if probability < RARE else Judgement.NOISE


def chance(first: Sequence[Value], second: Sequence[Value], least: int = LEAST_LENGTH) -> float | None:
    """Return the share of deals of the blocks whose means differ at least as much; None for too few blocks."""
    length = block_length(((first, second),), least)
    one, other = blocks(first, length), blocks(second, length)
    if min(len(one), len(other)) < LEAST_BLOCKS:
        return None
    every = one + other
    total, count = sum(every), len(every)
    # Dealt out are the blocks of the first window; the mean of the second follows from the total.
    small = len(one)

    def apart(part: float) -> float:
        return abs(part / small - (total - part) / (count - small))

    seen = apart(sum(one)) - _CLOSE * max(map(abs, every))
    deals, is_whole = _deals(count, small)
    reached = sum(apart(sum([every[index] for index in deal])) >= seen for deal in deals)
    # Of all deals the one that was seen is among them; of drawn ones it is counted besides.
    return reached / len(deals) if is_whole else (reached + 1) / (len(deals) + 1)


def block_length(pairs: Iterable[tuple[Sequence[Value], Sequence[Value]]], least: int = LEAST_LENGTH) -> int:
    """Return how many values a block has that is longer than any of some series of both windows remembers."""
    return max(least, *(memory(values) for pair in pairs for values in pair))


def memory(values: Sequence[Value]) -> int:
    """Return after how many values a series has forgotten itself: twice its autocorrelation time, at least 1.

    That time is 1 + 2 x the sum of the autocorrelations up to the first that is not above zero; lags go up to a
    quarter of the series.
    """
    known = _known(values)
    if len(known) < 4:
        return 1
    middle = sum(known) / len(known)
    around = [each - middle for each in known]
    spread = sum(each * each for each in around)
    if spread <= _CLOSE * _CLOSE * middle * middle * len(known):
        return 1
    time = 1.0
    for lag in range(1, len(around) // 4 + 1):
        alike = sum(a * b for a, b in zip(around, around[lag:], strict=False)) / spread
        if alike <= 0:
            break
        time += 2 * alike
    return 1 if time <= 1 else ceil(2 * time)


def blocks(values: Sequence[Value], length: int) -> list[float]:
    """Return the means of up to MOST_BLOCKS consecutive blocks of at least `length` values; empty ones are left out."""
    number = min(MOST_BLOCKS, len(values) // length)
    bounds = [len(values) * index // number for index in range(number + 1)] if number else []
    parts = (values[low:high] for low, high in pairwise(bounds))
    return [found for part in parts if (found := mean(part)) is not None]


def _known(values: Sequence[Value]) -> list[float]:
    return [value.over / value.under for value in values if value.under > 0]


def _is_apart(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether each value of one is above each of the other, of as many as there are blocks at least."""
    return min(len(one), len(other)) >= LEAST_BLOCKS and (max(one) < min(other) or max(other) < min(one))


def _is_close(one: float, other: float) -> bool:
    return one == other or abs(one - other) <= _CLOSE * max(abs(one), abs(other))


@cache
def _deals(count: int, small: int) -> tuple[list[tuple[int, ...]], bool]:
    """Return ways to choose `small` of `count` places, and whether these are all there are."""
    if comb(count, small) <= _DEALS:
        return list(combinations(range(count), small)), True
    draw = Random(_SEED)
    return [tuple(draw.sample(range(count), small)) for _ in range(_DEALS)], False
