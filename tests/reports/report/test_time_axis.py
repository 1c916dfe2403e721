"""Time axis of the charts of a report, with gaps."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest

from presman.base.markup import WIDTH
from presman.recording.time_bins import PollGap
from presman.reports.report.report_charts import LEFT, RIGHT, TimeAxis, below, side_by_side

START = datetime(2026, 3, 12, tzinfo=UTC)


def minutes(start: float, end: float) -> PollGap:
    return PollGap(START + timedelta(minutes=start), START + timedelta(minutes=end))


def test_gaps_too_close_to_distinguish_are_drawn_as_one() -> None:
    """A month with a poll between two gaps every ten minutes: 4,320 gaps on some 900 units."""
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


MIDNIGHT = datetime(2026, 3, 12).astimezone()


@pytest.mark.parametrize(
    ("seconds", "step", "labels"),
    [
        (9, 1, ["00:00:00", "00:00:01"]),
        (10, 2, ["00:00:00", "00:00:02"]),  # ten steps of 1 are too many
        (599, 120, ["00:00:00", "00:02:00"]),
        (600, 120, ["00:00", "00:02"]),
        (86_399, 10_800, ["00:00", "03:00"]),
        (86_400, 10_800, ["03-12 00:00", "03-12 03:00"]),
        (9 * 43_200, 43_200, ["03-12 00:00", "03-12 12:00"]),
        (9 * 43_200 + 1, 86_400, ["03-12", "03-13"]),
    ],
)
def test_ticks_are_round_and_as_short_as_the_stretch_allows(seconds: int, step: int, labels: list[str]) -> None:
    axis = TimeAxis(MIDNIGHT, MIDNIGHT + timedelta(seconds=seconds))
    ticks = axis.ticks()
    assert [axis.label(each) for each in ticks[:2]] == labels
    assert len(ticks) == seconds // step + 1
    assert {(later - earlier).total_seconds() for earlier, later in pairwise(ticks)} == {step}


def test_ticks_begin_at_a_round_instant_behind_the_start() -> None:
    axis = TimeAxis(MIDNIGHT + timedelta(seconds=61), MIDNIGHT + timedelta(seconds=599))
    assert [axis.label(each) for each in axis.ticks()] == ["00:02:00", "00:03:00", "00:04:00", "00:05:00", "00:06:00",
                                                           "00:07:00", "00:08:00", "00:09:00"]  # fmt: skip


def test_an_instant_is_placed_in_proportion_and_never_outside() -> None:
    axis = TimeAxis(START, START + timedelta(minutes=10))
    left, right = axis.x(START), axis.x(START + timedelta(minutes=10))
    assert axis.x(START + timedelta(minutes=4)) == pytest.approx(left + 0.4 * (right - left))
    assert (axis.x(START - timedelta(minutes=1)), axis.x(START + timedelta(minutes=11))) == (left, right)
    assert (left, right) == (LEFT, WIDTH - RIGHT)


def test_the_date_is_omitted_within_one_day() -> None:
    noon = MIDNIGHT + timedelta(hours=12)
    assert TimeAxis(MIDNIGHT, noon).instant(noon) == "12:00:00"
    assert TimeAxis(MIDNIGHT, noon + timedelta(days=1)).instant(noon) == "2026-03-12 12:00:00"
    assert TimeAxis(MIDNIGHT, noon).instant(noon + timedelta(days=1)) == "2026-03-13 12:00:00"
