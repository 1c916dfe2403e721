"""Durations: one way to write them, wherever they are read."""

from __future__ import annotations

import pytest

from presman.base.formats import microseconds, milliseconds, seconds_of
from presman.cli.parser import age, some_seconds
from presman.config.alert_lines import read_alerts
from presman.config.config_file import refresh_seconds
from presman.sources.simulator.fields import duration


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("90", 90.0),
        ("90s", 90.0),
        (" 1.5 H ", 5400.0),
        ("14d", 1_209_600.0),
        ("20ms", 0.02),
        ("250us", 0.00025),
        (".5", 0.5),
    ],
)
def test_seconds_of_a_duration(text: str, seconds: float) -> None:
    assert seconds_of(text) == pytest.approx(seconds)


@pytest.mark.parametrize("text", ["", "s", "soon", "1,5", "-3", "1e3", "inf", "nan", "5 weeks", "1h30m", "٣s"])
def test_an_invalid_duration_is_reported(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration such as 20ms, 90, 90s, 15m, 2h or 14d$"):
        seconds_of(text)


def test_every_place_reads_minutes_and_days() -> None:
    assert some_seconds("2m") == refresh_seconds("2m") == duration("2m") == age("2m") == 120.0
    assert some_seconds("2d") == duration("2d") == age("2d") == 172_800.0
    assert read_alerts("queue_waits warning=2m for=1h") == read_alerts("queue_waits warning=120 for=3600s")


def test_an_age_has_a_unit() -> None:
    """14 might be meant as days, and what is older than 14 seconds would be removed."""
    with pytest.raises(ValueError, match="'14' is not a duration such as 90s, 15m, 2h or 14d"):
        seconds_of("14", bare=False)


def test_times_too_long_for_milliseconds_name_their_unit() -> None:
    """Under `mean ms` 8:03 looked like 8 ms; and no figure is cut by its column."""
    values = (None, 0.5, 25_725.12, 99_999.96, 100_000.0, 483_000.0, 400_000_000.0)
    texts = [milliseconds(each, 2, 8) for each in values]
    assert texts == ["-", "0.50", "25,725.1", "100,000", "100 s", "483 s", "111.1 h"]
    assert max(map(len, texts)) <= 8


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (999, "999µs"),
        (1_000, "1.0ms"),
        (99_949, "99.9ms"),
        (1_000_000, "1.0s"),
        (59_900_000, "59.9s"),
        (79_800_000, "1:19"),
        (100_000_000, "1:40"),
    ],
)
def test_a_latency_has_the_unit_in_which_it_is_short(value: float | None, text: str) -> None:
    assert microseconds(value) == text
