"""How long statements last, by Kaplan and Meier: survivals, conditional times left, censored and late-seen ones."""

from __future__ import annotations

from statistics import fmean

import pytest

from presman.forecast.statement_history import Durations, ObservedDuration, kaplan_meier

FIVE = [ObservedDuration(seconds) for seconds in (10.0, 20.0, 30.0, 40.0, 50.0)]


def test_each_of_five_ends_takes_two_parts_of_eleven_and_one_is_left() -> None:
    found = kaplan_meier(FIVE)
    assert found is not None
    assert found.survival == pytest.approx((9 / 11, 7 / 11, 5 / 11, 3 / 11, 1 / 11))
    assert found.mean == 30.0  # 150 seconds, five ends


@pytest.mark.parametrize("number", [5, 8, 50])
def test_the_mean_is_that_of_those_seen(number: int) -> None:
    """If it were longer, each queued statement would seem to wait longer, by as much for each one before it."""
    seen = [10.0 * 1.3**each for each in range(number)]
    found = kaplan_meier(map(ObservedDuration, seen))
    assert found is not None
    drawn = fmean(found.left(0.0, (each + 0.5) / 20_000) for each in range(20_000))
    assert drawn == pytest.approx(fmean(seen), rel=0.003)


def test_four_ends_are_too_few_and_running_statements_do_not_count() -> None:
    assert kaplan_meier(FIVE[:4]) is None
    assert kaplan_meier([*FIVE[:4], ObservedDuration(60.0, ended=False)]) is None


def test_a_running_statement_counts_for_its_time_so_far() -> None:
    found = kaplan_meier([*FIVE, ObservedDuration(25.0, ended=False)])
    assert found is not None
    # Six are at risk at 10 s, five at 20 s; at 30 s three, without the one that has run for 25 s.
    two = 11 / 13 * 9 / 11
    assert found.survival == pytest.approx((11 / 13, two, *(two * part / 7 for part in (5, 3, 1))))
    assert found.mean == 35.0  # 175 seconds, five ends


def test_a_statement_seen_late_is_not_at_risk_before() -> None:
    found = kaplan_meier([*FIVE, ObservedDuration(45.0, entry_age=35.0)])
    assert found is not None
    # Five are at risk at 10 s, three at 30 s; at 40 s three again: the late one is there.
    assert found.survival[:3] == pytest.approx((9 / 11, 7 / 11, 5 / 11))
    assert found.survival[3:] == pytest.approx((5 / 11 * 5 / 7, 5 / 11 * 5 / 7 * 3 / 5, 5 / 11 * 5 / 7 * 3 / 5 / 3))
    assert found.mean == pytest.approx(160 / 6)


def test_ends_at_the_same_time_are_so_many_steps_there() -> None:
    found = kaplan_meier([ObservedDuration(40.0)] * 5)
    assert found is not None
    assert found.times == (40.0,) * 5
    assert found.survival == pytest.approx((9 / 11, 7 / 11, 5 / 11, 3 / 11, 1 / 11))
    # Two in eleven end before 40 s, one after it, eight just then.
    assert [found.left(0.0, chance) for chance in (1 / 11, 0.25, 0.5, 0.9)] == pytest.approx([20.0, 40.0, 40.0, 40.0])
    assert found.longer_than(40.0) == pytest.approx(1 / 11)


def test_a_statement_that_ended_unseen_does_not_count() -> None:
    assert kaplan_meier([*FIVE[:4], ObservedDuration(5.0, entry_age=5.0)]) is None


HALVES = Durations((10.0, 20.0), (0.5, 0.25), 20.0)


@pytest.mark.parametrize(
    ("run", "chance", "left"),
    [
        (0.0, 0.0, 0.0),
        (0.0, 0.25, 5.0),  # half of the half that ends before 10 s
        (0.0, 0.5, 10.0),
        (0.0, 0.75, 20.0),
        (10.0, 0.25, 5.0),  # of those that last longer than 10 s half end before 20 s
        (10.0, 0.5, 10.0),
        (15.0, 0.0, 0.0),
        (20.0, 1 - 1 / 2.718281828, 20.0),  # beyond the last end: its mean once more
        (30.0, 1 - 1 / 2.718281828, 20.0),
    ],
)
def test_the_time_left_is_what_is_left_to_those_that_last_longer(run: float, chance: float, left: float) -> None:
    assert HALVES.left(run, chance) == pytest.approx(left, abs=1e-6)


@pytest.mark.parametrize("means", [10, 100, 1000])
def test_an_exceptionally_long_statement_has_a_mean_time_left(means: int) -> None:
    # Nothing is remembered beyond the last end: half of those alike have 20 s x ln 2 left, however long they have run.
    assert [HALVES.left(20.0 * means, chance) for chance in (0.0, 0.5)] == pytest.approx([0.0, 13.8629436])


def test_part_of_statements_that_last_longer() -> None:
    assert [HALVES.longer_than(seconds) for seconds in (0.0, 5.0, 10.0, 15.0, 20.0)] == [1.0, 0.75, 0.5, 0.375, 0.25]
    assert HALVES.longer_than(40.0) == pytest.approx(0.25 / 2.718281828)
