"""Gaps across the charts of a report."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from presman.recording.time_bins import PollGap
from presman.report.area_chart import nice
from presman.report.time_axis import TimeAxis, below, side_by_side

START = datetime(2026, 3, 12, tzinfo=UTC)


def minutes(start: float, end: float) -> PollGap:
    return PollGap(START + timedelta(minutes=start), START + timedelta(minutes=end))


def test_gaps_that_nobody_could_tell_apart_are_drawn_as_one() -> None:
    """A month with a poll between two gaps each ten minutes: 4,320 gaps on some 900 units."""
    gaps = tuple(minutes(10 * number, 10 * number + 9) for number in range(4_320))
    axis = TimeAxis(START, START + timedelta(days=30), gaps)
    assert [len(each) for each in side_by_side(axis)] == [4_320]
    drawn = str(below(axis, 0.0, 100.0))
    assert drawn.count('class="gap"') == 1
    assert "4,320 gaps, in all " in drawn or "4320 gaps, in all " in drawn


def test_gaps_apart_stay_apart() -> None:
    axis = TimeAxis(START, START + timedelta(hours=1), (minutes(1, 2), minutes(30, 31)))
    assert [len(each) for each in side_by_side(axis)] == [1, 1]
    assert str(below(axis, 0.0, 100.0)).count("gaps") == 0


@pytest.mark.parametrize(
    ("value", "end"),
    [(-1, 1.0), (0, 1.0), (0.05, 0.1), (0.3, 0.5), (1, 1.0), (1.1, 2.0), (2.1, 2.5), (9, 10.0), (10, 10.0), (26, 50.0),
     (999, 1000.0)],
)  # fmt: skip
def test_a_scale_ends_at_a_round_number_not_below_its_values(value: float, end: float) -> None:
    assert nice(value) == pytest.approx(end)
