"""Calibration: intervals before and after outcomes, worked out by hand."""

from __future__ import annotations

import pytest

from presman.analysis.readings.forecast_readings import ForecastRecord
from presman.forecast.calibration import Calibration, Interval, KeptForecast, QueueCalibration

RAW = Interval(60.0, 50.0, 80.0)


def judged(*outcomes: float) -> Calibration:
    found = Calibration()
    for outcome in outcomes:
        found.judge(RAW, RAW, outcome, 1.0)
    return found


def test_an_interval_is_half_as_wide_again_as_the_courses_make_it_until_five_have_started() -> None:
    assert judged().widened(RAW, 1.0) == Interval(60.0, 45.0, 90.0)
    assert judged(300.0, 300.0, 300.0, 300.0).widened(RAW, 1.0) == Interval(60.0, 45.0, 90.0)


def test_a_range_is_as_wide_as_outcomes_require() -> None:
    # All five are two half widths above: the next reaches twice as far, up and down.
    assert judged(*[100.0] * 5).widened(RAW, 1.0) == Interval(60.0, 40.0, 100.0)
    # All five are half a half width below.
    assert judged(*[55.0] * 5).widened(RAW, 1.0) == Interval(60.0, 55.0, 70.0)


def test_it_is_never_narrower_than_polls_can_tell_nor_begins_before_now() -> None:
    assert judged().widened(Interval(60.0, 60.0, 60.0), 4.0) == Interval(60.0, 54.0, 66.0)
    assert judged().widened(Interval(3.0, 3.0, 9.0), 4.0) == Interval(3.0, 0.0, 12.0)


def test_a_miss_makes_the_next_hold_more() -> None:
    held = judged(*[65.0] * 18, 70.0, 80.0)
    # Twenty scores, 0.25 eighteen times, 0.5, 1.0: 0.8 came down by 0.002 for each to 0.76 of 21, the 16th.
    assert held.widened(RAW, 1.0).high == 65.0
    # Two misses: 0.8 - 18 x 0.002 + 2 x 0.008 = 0.78, of 21 the 17th; with twenty more 0.94 of 41, the 39th of 40.
    assert judged(*[65.0] * 18, *[100.0] * 2).widened(RAW, 1.0).high == 65.0
    assert judged(*[65.0] * 18, *[100.0] * 20, 120.0, 140.0).widened(RAW, 1.0).high == 120.0


def test_an_interval_far_off_is_never_narrower_than_loads_drift() -> None:
    far = Interval(2300.0, 2250.0, 3300.0)
    # 0.3 of what is beyond 300 s: 600 s below, where the courses say 50, and 1,000 above, which is more.
    assert far.widened(1.0, 1.0) == Interval(2300.0, 1700.0, 3300.0)
    assert far.score(2000.0, 1.0) == 0.5
    assert Interval(300.0, 290.0, 310.0).widened(1.0, 1.0) == Interval(300.0, 290.0, 310.0)


def test_the_record_has_the_number_held_and_the_median_error() -> None:
    assert judged().record() == ForecastRecord(0, 0, None)
    assert judged(50.0, 61.0, 90.0).record() == ForecastRecord(3, 2, 10.0)


def test_a_late_start_takes_the_place_of_what_it_counted_as_before() -> None:
    found = judged(*[65.0] * 4)
    late = found.judge(RAW, RAW, 100.0, 1.0)
    found.judge(RAW, RAW, 140.0, 1.0, late)
    assert found.record() == ForecastRecord(5, 4, 5.0)
    # 0.8 - 4 x 0.002 + 0.008 = 0.8 of 6 is the fifth of five scores: (140 - 60) / 20 half widths.
    assert found.widened(RAW, 1.0).high == 60.0 + 4 * 20.0


def test_fifty_outcomes_are_remembered() -> None:
    assert judged(*[90.0] * 10, *[60.0] * 50).record() == ForecastRecord(50, 50, 0.0)


def test_nothing_is_infinitely_wide() -> None:
    assert judged(*[1e6] * 9).widened(RAW, 1.0).high == pytest.approx(60.0 + 8 * 20.0)


@pytest.mark.parametrize(("judged", "held", "poor"), [(0, 0, False), (4, 0, False), (5, 2, True), (5, 3, False)])
def test_forecasts_are_poor_if_fewer_than_half_held_of_enough(judged: int, held: int, poor: bool) -> None:
    assert ForecastRecord(judged, held).is_poor() == poor


def looked(*ats: float, many: int = 5) -> QueueCalibration:
    """One that has seen so many wait at some instants, with the same forecast each time."""
    found = QueueCalibration()
    for at in ats:
        found.look(at, [(number, KeptForecast(at, RAW, 1.0)) for number in range(many)])
    return found


def factor(found: QueueCalibration, at: float) -> float | None:
    found.look(at, [])
    return found.factor


def test_all_waiting_statements_are_judged_after_five_outcomes() -> None:
    found = looked(0.0)
    for number in range(4):
        found.start(number, 100.0)
    assert factor(found, 50.0) is None, "the fifth may still start in time"
    found.start(4, 40.0)
    # Four are two halves above, one is two below: whichever it takes, it is two.
    assert factor(found, 100.0) == 2.0


def test_a_long_wait_counts_at_each_look() -> None:
    found = looked(0.0, 60.0, 120.0, many=2)
    found.start(0, 200.0)  # 140, 80 and 20 s later than was foreseen at the three looks: 7, 4 and 1 halves
    found.start(1, 140.0)  # 80 and 20 s later, and 40 s sooner: 4, 1 and 4 halves
    assert factor(found, 200.0) == 7.0, "the sixth of six"


def test_overdue_statements_count_by_their_delay_and_those_that_left_do_not() -> None:
    found = looked(0.0, many=7)
    for number in range(2):
        found.start(number, None)
    assert factor(found, 60.0) is None
    assert factor(found, 90.0) == 1.5
    assert factor(found, 120.0) == 3.0


def test_forecasts_of_an_hour_ago_are_forgotten() -> None:
    found = looked(0.0)
    for number in range(5):
        found.start(number, 100.0)
    assert factor(found, 3600.0) == 2.0
    assert factor(found, 3601.0) is None
    assert factor(looked(0.0), 3601.0) is None


def test_at_most_fifty_of_a_long_queue_are_judged() -> None:
    found = looked(0.0, many=120)
    for number in range(120):  # every third counts: they start in time, the others much too late
        found.start(number, 60.0 if number % 3 == 0 else 600.0)
    assert factor(found, 600.0) == 0.25
