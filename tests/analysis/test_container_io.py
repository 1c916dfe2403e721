"""What MAX_IOPS and MAX_MBPS do to a container."""

from __future__ import annotations

from functools import partial

import pytest

from presman.analysis.groups.container_io import held_by, io_sentence, io_verdict, worst_io
from presman.analysis.readings.container_readings import IoVerdict, LimitedContainer
from presman.analysis.readings.group_readings import IoRates
from presman.rows.instance_rows import PdbMetric
from presman.rows.queries import null_row

Limited = partial(LimitedContainer, 1, 3, "SALES")


def doing(requests: float, mb: float) -> IoRates:
    """Small reads only."""
    return IoRates(mb, 0.0, 0.0, 0.0, requests, 0.0, 0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    ("row", "expected", "sentence"),
    [
        (Limited(doing(500, 4), 3.0, None, None), IoVerdict.FREE, ""),
        (
            Limited(None, None, 500, None),
            IoVerdict.UNKNOWN,
            "What it uses now is not known; it may use 500 IOPS (MAX_IOPS).",
        ),
        (
            Limited(doing(200, 4), 0.0, 500, 80),
            IoVerdict.UNDER,
            "Uses 200 of 500 IOPS (MAX_IOPS) and 4 of 80 MB/s (MAX_MBPS): no I/O was throttled in the last full "
            "minute.",
        ),
        (
            Limited(doing(499, 4), 8.26, 500, 80, held_by="MAX_IOPS"),
            IoVerdict.THROTTLED,
            "In the last full minute MAX_IOPS throttled it: each I/O waited 8.3 ms on average; now it uses 499 of 500 "
            "IOPS (MAX_IOPS) and 4 of 80 MB/s (MAX_MBPS).",
        ),
        (
            Limited(doing(10, 77), 0.0, None, 80),
            IoVerdict.NEAR,
            "Uses 77 of 80 MB/s (MAX_MBPS): MAX_MBPS is nearly reached, but no I/O was throttled in the last full "
            "minute.",
        ),
        (
            Limited(doing(10, 77), None, None, 80),
            IoVerdict.NEAR,
            "Uses 77 of 80 MB/s (MAX_MBPS): MAX_MBPS is nearly reached.",
        ),
        (
            Limited(doing(499, 4), 2.0, 500, 80),
            IoVerdict.THROTTLED,
            "In the last full minute one of its limits throttled it: each I/O waited 2.0 ms on average; now it uses "
            "499 of 500 IOPS (MAX_IOPS) and 4 of 80 MB/s (MAX_MBPS).",
        ),
        (
            Limited(None, 2.0, None, 80, held_by="MAX_MBPS"),
            IoVerdict.THROTTLED,
            "In the last full minute MAX_MBPS throttled it: each I/O waited 2.0 ms on average; what it uses now of 80 "
            "MB/s (MAX_MBPS) is not known.",
        ),
    ],
)
def test_each_verdict_has_its_sentence(row: LimitedContainer, expected: IoVerdict, sentence: str) -> None:
    assert io_verdict(row) is expected
    assert io_sentence(row) == sentence


@pytest.mark.parametrize(
    ("iops", "mb", "limits", "expected"),
    [
        (None, None, (None, 80), "MAX_MBPS"),  # there is no other
        (20.0, 1.0, (500, None), "MAX_IOPS"),
        (480.0, 60.0, (500, 80), "MAX_IOPS"),
        (100.0, 76.0, (500, 80), "MAX_MBPS"),
        (500.0, 80.0, (500, 80), "MAX_IOPS and MAX_MBPS"),
        (250.0, 40.0, (500, 80), ""),  # in a part of the minute, and that of which one is not known
        (None, None, (500, 80), ""),
    ],
)
def test_the_io_limit_that_throttled_is_found_by_what_that_minute_used(
    iops: float | None, mb: float | None, limits: tuple[int | None, int | None], expected: str
) -> None:
    minute = null_row(PdbMetric)._replace(avg_io_throttle=2.0, iops=iops, iombps=mb)
    assert held_by(minute, *limits) == expected


def test_the_worst_of_the_instances_counts() -> None:
    assert worst_io([IoVerdict.NEAR, IoVerdict.THROTTLED, IoVerdict.UNKNOWN]) is IoVerdict.THROTTLED
    assert worst_io([IoVerdict.FREE, IoVerdict.UNDER]) is IoVerdict.UNDER
    assert worst_io([]) is IoVerdict.UNKNOWN
