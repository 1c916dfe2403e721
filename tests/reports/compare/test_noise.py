"""Noise in differences: the arithmetic by hand, and the rate of false alarms."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.reports.compare.noise import FALSE_ALARMS, Judgement, Value, blocks, chance, judge, mean, memory


def polls(*values: float) -> list[Value]:
    return [Value(value, 1.0) for value in values]


def test_a_mean_is_weighted_by_the_denominator() -> None:
    # 4 CPUs for 10 s and 1 CPU for 5 s are 45 CPU seconds in 15 s.
    assert mean([Value(40, 10), Value(5, 5)]) == 3
    assert mean([Value(0, 0)]) is None
    assert mean([]) is None


def test_blocks_are_means_of_neighbours() -> None:
    assert blocks(polls(1, 2, 3, 4, 5, 6), 3) == [2, 5]
    assert blocks(polls(1, 2, 3, 4, 5, 6, 7), 3) == [2, 5.5]  # no poll is left out
    assert blocks(polls(1, 2), 3) == []


def test_two_deals_of_252_differ_as_much_as_ten_separate_blocks() -> None:
    low, high = polls(*[1, 1.1, 0.9] * 5), polls(*[2, 2.1, 1.9] * 5)
    assert chance(low, high) == pytest.approx(2 / 252)
    assert judge(low, high) is Judgement.MORE


def test_reordered_values_are_no_difference() -> None:
    values = [Random(3).gauss(10, 1) for _ in range(60)]
    assert judge(polls(*values), polls(*reversed(values))) is Judgement.SAME


def test_an_autocorrelated_series_has_few_blocks() -> None:
    # 1 1 1 1 0 0 0 0 ...: autocorrelations 1/2 (28 of 56 pairs and so on) at lag 1 and next to 0 at lag 2.
    steps = polls(*([1.0] * 4 + [0.0] * 4) * 8)
    lag_1 = (63 - 2 * 15) / 64
    lag_2 = (62 - 2 * 30) / 64
    assert memory(steps) == -(-2 * (1 + 2 * (lag_1 + lag_2)) // 1)
    assert memory(polls(*range(40))) > 8  # a drift never forgets
    assert judge(polls(*range(40)), polls(*range(20, 60))) is Judgement.TOO_FEW


def test_windows_without_overlap_are_called_that() -> None:
    """Servers in use were 16 to 20, then 32 to 64: "too few to compare" sounded as if they were equal."""
    before, then = polls(*[20.0] * 6, *[16.0] * 34), polls(*[64.0] * 6, *[48.0] * 10, *[32.0] * 4, *[48.0] * 11)
    assert chance(before, then) is None
    assert judge(before, then) is judge(then, before) is Judgement.NO_OVERLAP
    assert judge(before, [*then, Value(20.0, 1.0)]) is Judgement.TOO_FEW, "one value of the other window is as low"
    assert judge(before, then[:4]) is Judgement.TOO_FEW, "four blocks are too few for that, too"


def test_a_figure_missing_in_one_window_is_not_zero() -> None:
    assert judge([], polls(1, 2, 3)) is Judgement.ONE_SIDED
    assert judge(polls(0, 0, 0), polls(1, 2, 3)) is Judgement.TOO_FEW


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(0, 1e6)), max_size=60))
def test_a_window_does_not_differ_from_itself(values: list[tuple[float, float]]) -> None:
    series = [Value(*value) for value in values]
    assert judge(series, series) in {Judgement.SAME, Judgement.ONE_SIDED}


def test_chance_alone_is_seldom_more_than_noise() -> None:
    draw = Random(5)

    def alike() -> list[Value]:
        """Polls that each contain eight tenths of the one before."""
        level, found = draw.gauss(0, 1.67), []
        for _ in range(180):
            level = 0.8 * level + draw.gauss(0, 1)
            found.append(Value(100 + level, 1.0))
        return found

    answers = [judge(alike(), alike()) for _ in range(60)]
    assert answers.count(Judgement.TOO_FEW) < 12
    assert answers.count(Judgement.MORE) <= 3 * FALSE_ALARMS * 60
    shifted = [judge(alike(), [Value(each.over + 3, 1.0) for each in alike()]) for _ in range(10)]
    assert shifted.count(Judgement.MORE) >= 8


def test_rounding_differences_are_no_autocorrelation() -> None:
    """Four values above and four below the mean count as one value at a relative distance of 0.5e-9, not of 2e-9."""

    def two_levels(part: float) -> list[Value]:
        return polls(*[1e6 * (1 + part)] * 4, *[1e6 * (1 - part)] * 4)

    assert memory(two_levels(0.5e-9)) == 1
    assert memory(two_levels(2e-9)) > 1
    # Lag 1 has 7 pairs, one of them unequal: 5/8. Lag 2 has 6 pairs, two of them unequal: 2/8.
    assert memory(two_levels(0.1)) == 6  # twice 1 + 2 x (5/8 + 2/8) = 2.75, rounded up
    assert memory(polls(1, 2, 1)) == 1, "three values are not enough"


def test_too_many_deals_are_sampled_and_the_observed_one_is_added() -> None:
    """Twenty and twenty separate blocks: no other deal differs as much, so it is 1 in 1,999 and itself."""
    low, high = polls(*[1.0, 1.1, 0.9] * 20), polls(*[2.0, 2.1, 1.9] * 20)
    assert chance(low, high) == pytest.approx(1 / 2000)
    # Five and eight blocks have 1,287 deals, which are all tried.
    assert chance(low[:15], high[:24]) == pytest.approx(1 / 1287)
    assert chance(low[:14], high) is None, "four blocks are too few"
    assert judge(low[:14], high) is Judgement.NO_OVERLAP


def test_no_more_than_twenty_blocks() -> None:
    assert len(blocks(polls(*range(600)), 3)) == 20
    assert len(blocks(polls(*range(59)), 3)) == 19
