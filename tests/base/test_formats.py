"""Formats of numbers and times, at the values where the form changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from presman.base.axis import nice_axis, tick_label, time_label, time_ticks
from presman.base.formats import (
    clock,
    compact,
    count,
    counted,
    duration,
    in_about,
    many,
    megabytes,
    microseconds,
    number,
    percent,
    retry,
    seconds_of,
    size,
    spelled,
    throughput,
)


@pytest.mark.parametrize(
    ("form", "texts"),
    [
        (in_about, {None: "in about -", 0.0: "at any moment", 1.99: "at any moment", 2.0: "in about 0:02"}),
        (
            duration,
            {
                None: "-", -5.0: "0:00", 0.0: "0:00", 59.9: "0:59", 60: "1:00", 3599: "59:59", 3600: "1:00:00",
                86_399: "23:59:59", 86_400: "1d 00:00", 97_449: "1d 03:04", 2 * 86_400 + 60: "2d 00:01",
            },
        ),
        (
            retry,
            {
                -3.0: "trying now", 0.4: "trying now", 0.6: "retry in 1s", 99.4: "retry in 99s", 99.6: "retry in 1:40",
                598.2: "retry in 9:58",
            },
        ),
        (
            spelled,
            {
                None: "an unknown time", -1.0: "0 s", 0.0: "0 s", 41.0: "41 s", 60.0: "1 min", 61.0: "1 min 1 s",
                3600.0: "1 h", 3601.0: "1 h", 3721.0: "1 h 2 min", 86_400.0: "1 d", 97_200.0: "1 d 3 h",
            },
        ),
        (number, {None: "-", 1234.56: "1,234.6", 0.0: "0.0"}),
        (count, {None: "-", 1233.6: "1,234", 0.4: "0"}),
        (
            compact,
            {
                None: "-", 0.0: "0", 9.0: "9", 9.46: "9.5", -9.46: "-9.5", 99.94: "99.9", 99.96: "100", 100.4: "100",
                999.4: "999", 999.5: "1.0k", -999.5: "-1.0k", 1000.0: "1k", 12_345.0: "12.3k", 123_456.0: "123k",
                999_499.0: "999k", 999_500.0: "1.0M", 1.2e9: "1.2G", 3e12: "3T", 5e15: "5000T",
            },
        ),
        (
            megabytes,
            {
                None: "-", 9.5: "9.5", 212.0: "212", 999.4: "999", 999.5: "1,000", -999.5: "-1,000", 1024.0: "1,024",
                99_999.4: "99,999", 99_999.5: "100k", -99_999.5: "-100k", 1.2e6: "1.2M",
            },
        ),
        (throughput, {None: "-", 9.5: "9.5 MB/s", 999.4: "999 MB/s", 999.5: "1.0 GB/s", 2560.0: "2.5 GB/s"}),
        (percent, {None: "-", 0.0: "0", 0.01: "<1", 0.5: "<1", 0.51: "1", 1.4: "1", -0.2: "-0", 99.6: "100"}),
        (microseconds, {999.0: "999µs", 1536.0: "1.5ms", 2_500_000.0: "2.5s", 160e6: "2:40"}),
        (size, {None: "-", 2**29: "512M", 2**30 - 1: "1024M", 2**30: "1.0G", 12 * 2**30: "12.0G"}),
        (tick_label, {0.75: "0.75", 9_999: "9999", 10_000: "10k", -10_000: "-10k", 9.999e6: "9999k", 1e7: "10M"}),
        (tick_label, {2e10: "20G", 3e13: "30T", 4e16: "40000T"}),
    ],
)  # fmt: skip
def test_each_value_has_its_text(form: Callable[[Any], str], texts: dict[float | None, str]) -> None:
    assert {value: form(value) for value in texts} == texts


def test_one_of_a_noun_and_many() -> None:
    assert [counted(each, "query", "queries") for each in (0, 1, 2, 1200)] == [
        "0 queries", "1 query", "2 queries", "1,200 queries",
    ]  # fmt: skip
    assert [many(each, "server") for each in (None, 1, 3)] == ["- servers", "1 server", "3 servers"]
    assert number(1234.567, 2) == "1,234.57"
    assert number(1.5, 0) == "2"


def test_a_time_of_day_is_the_users() -> None:
    at = datetime(2026, 11, 22, 3, 12, 7, tzinfo=UTC)
    assert clock(at) == f"{at.astimezone():%H:%M:%S}"
    assert clock(None) == "-"


def test_each_unit_of_a_duration() -> None:
    assert [seconds_of(f"2{unit}") for unit in ("us", "ms", "s", "m", "h", "d")] == [
        2e-6, 2e-3, 2.0, 120.0, 7200.0, 172_800.0,
    ]  # fmt: skip
    assert seconds_of("2m", bare=False) == 120.0


@pytest.mark.parametrize(
    ("given", "top", "ticks"),
    [
        ((10, 5), 10, [0, 2, 4, 6, 8, 10]),
        ((11, 5), 12.5, [0, 2.5, 5, 7.5, 10, 12.5]),
        ((19, 5), 20, [0, 4, 8, 12, 16, 20]),
        ((25, 5), 25, [0, 5, 10, 15, 20, 25]),
        ((0.3, 3), 0.3, [0, 0.1, 0.2, 0.3]),
        ((3, 4, -1), 3, [-1, 0, 1, 2, 3]),
        ((-1, 2, -4), 0, [-4, -2, 0]),
        ((0, 4, 0), 1, [0, 1]),
    ],
)
def test_an_axis(given: tuple[float, ...], top: float, ticks: list[float]) -> None:
    found, places = nice_axis(given[0], int(given[1]), *given[2:])
    assert found == pytest.approx(top)
    assert places == pytest.approx(ticks)


def test_a_whole_axis_has_no_half_a_statement() -> None:
    assert nice_axis(2, 4, whole=True) == (2.0, [0.0, 1.0, 2.0])
    assert nice_axis(9, 4, whole=True) == (10.0, [0.0, 4.0, 8.0, 12.0]) or nice_axis(9, 4, whole=True)[0] == 12.0
    assert nice_axis(100, 4, whole=True) == (100.0, [0.0, 25.0, 50.0, 75.0, 100.0])


def test_instants_of_an_axis_are_round_and_hold_both_ends() -> None:
    begin = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
    minutes = [begin + timedelta(minutes=each) for each in range(6)]
    assert time_ticks(begin, minutes[5], 5) == minutes
    assert time_ticks(begin + timedelta(seconds=1), minutes[5], 5) == minutes[1:]
    assert time_ticks(begin, minutes[5], 4) == [minutes[0], minutes[2], minutes[4]]
    assert [each - begin for each in time_ticks(begin, begin + timedelta(seconds=4), 4)] == [
        timedelta(seconds=each) for each in range(5)
    ]
    weeks = time_ticks(begin, begin + timedelta(weeks=9), 3)
    assert {after - before for before, after in pairwise(weeks)} == {timedelta(weeks=4)}


def test_a_label_is_as_short_as_its_axis_allows() -> None:
    at = datetime(2026, 11, 22, 3, 12, 7, tzinfo=UTC)
    local = at.astimezone()
    forms = {599.0: "%H:%M:%S", 600.0: "%H:%M", 86_399.0: "%H:%M", 86_400.0: "%m-%d %H:%M", 388_800.0: "%m-%d %H:%M"}
    assert {seconds: time_label(at, seconds) for seconds in forms} == {
        seconds: local.strftime(form) for seconds, form in forms.items()
    }
    assert time_label(at, 388_801.0) == local.strftime("%m-%d")
