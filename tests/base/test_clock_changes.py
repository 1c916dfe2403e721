"""Clock changes: ticks of charts, and the time zone that a page names."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest

from presman.base.axis import time_label, time_ticks
from presman.recording.time_words import spelled_instant, spelled_time
from presman.reports.html_page import made_at, zone_of
from presman.reports.report.report_charts import TimeAxis, between


@pytest.fixture
def in_zone() -> Iterator[Callable[[str], None]]:
    """Have the user's clock be that of a place."""
    with pytest.MonkeyPatch.context() as patch:

        def set_to(name: str) -> None:
            patch.setenv("TZ", name)
            time.tzset()

        yield set_to
    time.tzset()


# Clocks go back on 2026-10-25 at 01:00 UTC in Lisbon by an hour, and on Lord Howe Island on 2027-04-03 at 15:00 UTC by
# half of one, from 02:00 to 01:30; forward in Lisbon on 2027-03-28 at 01:00 UTC (the time zone database).
@pytest.mark.parametrize(
    ("zone", "start", "hours", "most", "labels"),
    [
        ("Europe/Lisbon", "2026-10-22T00:00", 168, 8, "10-23 10-24 10-25 10-26 10-27 10-28 10-29"),
        ("Europe/Lisbon", "2027-03-25T00:00", 168, 8, "03-25 03-26 03-27 03-28 03-29 03-30 03-31 04-01"),
        ("Europe/Lisbon", "2026-10-24T20:00", 10, 8, "22:00 00:00 02:00 04:00 06:00"),
        ("Europe/Lisbon", "2026-10-24T23:30", 2.5, 6, "00:30 01:00 01:30 01:00 01:30 02:00"),
        ("Europe/Lisbon", "2026-10-25T00:50", 0.5, 3, "01:50 01:00 01:10 01:20"),
        ("Australia/Lord_Howe", "2027-04-03T12:00", 5, 6, "23:00 00:00 01:00 02:00 03:00"),
        ("Australia/Lord_Howe", "2027-04-03T14:00", 2, 5, "01:00 01:30 01:30 02:00 02:30"),
        ("America/New_York", "2026-11-01T02:00", 10, 8, "22:00 00:00 02:00 04:00 06:00"),
    ],
)
def test_ticks_stay_round_where_clocks_change(
    in_zone: Callable[[str], None], zone: str, start: str, hours: float, most: int, labels: str
) -> None:
    in_zone(zone)
    begin, seconds = datetime.fromisoformat(start).replace(tzinfo=UTC), hours * 3600
    ticks = time_ticks(begin, begin + timedelta(seconds=seconds), most)
    assert [time_label(each, seconds) for each in ticks] == labels.split()
    assert {f"{each.astimezone():%S}" for each in ticks} == {"00"}
    if hours > 100:
        assert {f"{each.astimezone():%H:%M}" for each in ticks} == {"00:00"}, "a day begins at midnight"


def test_a_page_says_in_which_zones_its_times_are(in_zone: Callable[[str], None]) -> None:
    summer, winter = datetime(2026, 7, 1, 12, tzinfo=UTC), datetime(2026, 11, 1, 12, tzinfo=UTC)
    in_zone("Europe/Lisbon")
    assert zone_of([summer, summer]) == "UTC+01:00", "whenever the page is made"
    assert zone_of([summer, winter]) == "UTC+01:00 and, after the clock change, UTC+00:00"
    assert (made_at(winter, [summer]), made_at(winter, [summer, winter])) == (
        "2026-11-01 12:00:00 UTC+00:00",
        "2026-11-01 12:00:00",
    )
    in_zone("Australia/Lord_Howe")
    assert zone_of([summer, winter]) == "UTC+10:30 and, after the clock change, UTC+11:00"
    in_zone("America/New_York")
    assert zone_of([summer, winter]) == "UTC-04:00 and, after the clock change, UTC-05:00"


def test_a_time_that_comes_twice_has_its_offset(in_zone: Callable[[str], None]) -> None:
    in_zone("Europe/Lisbon")
    once, first, second = (datetime(2026, 10, day, hour, 30, tzinfo=UTC) for day, hour in ((24, 0), (25, 0), (25, 1)))
    assert (spelled_instant(first), spelled_time(second)) == ("2026-10-25 01:30:00+01:00", "01:30:00+00:00")
    assert spelled_instant(once) == "2026-10-24 01:30:00"
    assert between(first, second) == "2026-10-25 01:30:00+01:00–01:30:00+00:00"
    axis = TimeAxis(first, second)
    assert [axis.instant(at) for at in (first, second, second + timedelta(hours=1))] == [
        "01:30:00+01:00", "01:30:00+00:00", "02:30:00",
    ]  # fmt: skip
