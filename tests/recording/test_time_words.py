"""Times in words: the meaning of a time of day at the start and at the end of a window of a recording."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from presman.recording.recording_source import RecordingSource
from presman.recording.time_words import TimeError, instant_of, span_of, spelled_span
from tests.recording.recorded import polled, record

FIRST, LAST = datetime(2026, 11, 22, 21, 23, 15, tzinfo=UTC), datetime(2026, 11, 22, 21, 29, 46, tzinfo=UTC)


def test_a_shown_time_can_be_typed_to_find_its_poll() -> None:
    """Screens show 21:23:15.4 as 21:23:15, and JSON 21:23:15.400700 in milliseconds; neither is the poll before."""
    first, between, last = (each + timedelta(seconds=0.4007) for each in (FIRST, FIRST + timedelta(seconds=2), LAST))
    for poll in (first, between, last):
        shown = f"{poll:%H:%M:%S}", f"{poll:%Y-%m-%d %H:%M:%S}", f"{poll:%Y-%m-%dT%H:%M:%S}+00:00"
        for words in (*shown, f"{poll:%H:%M:%S}.400", f"{poll:%H:%M:%S}.4007"):
            found = instant_of(words, first, last, UTC)
            assert poll <= found < poll + timedelta(seconds=1)
            assert span_of(words, words, first, last, UTC)[1] == found
    assert instant_of("21:23:14", first, last, UTC) < FIRST
    assert instant_of("21:23:15.2", first, last, UTC) < first
    assert instant_of("21:29:46", first, last, UTC) == last, "nothing follows it, which is no error"
    assert instant_of("21:36", first, last, UTC) == LAST.replace(minute=36, second=0), "not yesterday's"
    assert instant_of("09:22", first, last, UTC).hour == 9
    for words in ("2s ago", "-2s"):
        assert instant_of(words, first, last, UTC) == last - timedelta(seconds=2)


def test_a_window_begins_with_the_second_that_is_written() -> None:
    assert span_of("21:24:00", "", FIRST, LAST, UTC) == (FIRST.replace(minute=24, second=0), None)


@pytest.mark.parametrize(
    ("start", "end", "begins", "ends"),
    [
        ("20:00", "23:00", "22 20:00", "22 23:00"),  # not yesterday's 23:00
        ("", "23:00", None, "22 23:00"),
        ("21:24", "21:24", "22 21:24", "22 21:24"),  # both ends are included
        (
            "22:00",
            "",
            "22 22:00",
            None,
        ),  # the recording ends half an hour before: not yesterday's 22:00, which would select all of it
        ("22:00", "22:30", "22 22:00", "22 22:30"),
        ("09:25", "21:25", "22 09:25", "22 21:25"),
        ("09:22Z", "", "22 09:22", None),
        ("", "21:00", None, "22 21:00"),
        ("21:24", "", "22 21:24", None),
    ],
)
def test_a_span_from_two_times(start: str, end: str, begins: str | None, ends: str | None) -> None:
    found = [each and f"{each:%d %H:%M}" for each in span_of(start, end, FIRST, LAST, UTC)]
    assert found == [begins, ends]


@pytest.mark.parametrize(
    ("start", "end"), [("21:26", "21:24"), ("23:00", "22:00"), ("22:00", "21:25"), ("last", "first")]
)
def test_a_window_that_ends_before_it_begins_is_reported_with_the_recorded_times(start: str, end: str) -> None:
    with pytest.raises(TimeError, match="ends before it begins; the recording is from 2026-11-22"):
        span_of(start, end, FIRST, LAST, UTC)


# Clocks go back on 2026-10-25 at 01:00 UTC in Berlin and on 2026-11-01 at 06:00 UTC in New York, and forward on
# 2026-03-29 at 01:00 UTC and on 2026-03-08 at 07:00 UTC (the time zone database).
BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
BACK = {BERLIN: ("2026-10-24T23:30Z", "2026-10-25T02:30Z"), NEW_YORK: ("2026-11-01T04:30Z", "2026-11-01T07:30Z")}
FORWARD = {BERLIN: ("2026-03-29T00:10Z", "2026-03-29T03:10Z"), NEW_YORK: ("2026-03-08T06:10Z", "2026-03-08T09:10Z")}


def ends(hours: tuple[str, str]) -> tuple[datetime, datetime]:
    return datetime.fromisoformat(hours[0]), datetime.fromisoformat(hours[1])


@pytest.mark.parametrize(
    ("words", "zone", "found", "taken"),
    [
        ("02:30", BERLIN, "00:30", "02:30+02:00 is taken, not 02:30+01:00"),
        ("2026-10-25 02:30", BERLIN, "00:30", "02:30+02:00 is taken, not 02:30+01:00"),
        ("02:30+02:00", BERLIN, "00:30", None),
        ("02:30+01:00", BERLIN, "01:30", None),
        ("2026-10-25T02:30:00+01:00", BERLIN, "01:30", None),
        ("00:30Z", BERLIN, "00:30", None),
        ("01:30Z", BERLIN, "01:30", None),
        ("03:00", BERLIN, "02:00", None),
        ("01:30", NEW_YORK, "05:30", "01:30-04:00 is taken, not 01:30-05:00"),
        ("01:30-04:00", NEW_YORK, "05:30", None),
        ("01:30-05:00", NEW_YORK, "06:30", None),
    ],
)
def test_the_choice_between_two_equal_hours_is_reported(
    words: str, zone: ZoneInfo, found: str, taken: str | None
) -> None:
    messages: list[str] = []
    assert f"{instant_of(words, *ends(BACK[zone]), zone, messages.append):%H:%M}" == found
    assert [each.partition("clocks go back: ")[2] for each in messages] == ([taken] if taken else [])


def test_a_window_may_begin_yesterday_where_the_recording_does() -> None:
    first, last = FIRST.replace(hour=23), FIRST.replace(day=23, hour=2)
    assert span_of("22:00", "01:00", first, last, UTC) == (
        FIRST.replace(hour=22, minute=0, second=0),
        last.replace(hour=1, minute=0, second=0, microsecond=999999),
    )
    assert span_of("22:00", "", first, last, UTC)[0] == FIRST.replace(hour=22, minute=0, second=0)


def test_the_recorded_one_of_two_equal_hours_is_taken() -> None:
    _, last = ends(BACK[BERLIN])
    messages: list[str] = []
    first = datetime(2026, 10, 25, 0, 45, tzinfo=UTC)  # the first 02:45
    assert f"{instant_of('02:30', first, last, BERLIN, messages.append):%H:%M}" == "01:30"
    assert messages == ["2026-10-25 02:30 comes twice, as clocks go back: 02:30+01:00 is taken, not 02:30+02:00"]


def test_a_window_ends_after_it_begins_where_an_hour_comes_twice() -> None:
    messages: list[str] = []
    found = span_of("02:50+02:00", "02:05", *ends(BACK[BERLIN]), BERLIN, messages.append)
    assert [each and f"{each:%H:%M}" for each in found] == ["00:50", "01:05"]
    assert messages == ["2026-10-25 02:05 comes twice, as clocks go back: 02:05+01:00 is taken, not 02:05+02:00"]


@pytest.mark.parametrize("zone", [BERLIN, NEW_YORK], ids=str)
def test_an_hour_that_does_not_exist_is_reported(zone: ZoneInfo) -> None:
    first, last = ends(FORWARD[zone])
    for words in ("02:30", f"{first:%Y-%m-%d} 02:30"):
        with pytest.raises(TimeError, match=f"there is no 02:30 on {first:%Y-%m-%d}: clocks go forward then"):
            instant_of(words, first, last, zone)
    assert f"{instant_of('02:30+01:00', first, last, BERLIN):%H:%M}" == "01:30", "an offset has every hour"


def test_a_span_is_described_by_its_ends() -> None:
    start, end = (datetime(2026, 3, 12, hour).astimezone() for hour in (3, 4))
    assert spelled_span(start, end) == "from 2026-03-12 03:00:00 to 2026-03-12 04:00:00"
    assert spelled_span(start, None) == "from 2026-03-12 03:00:00 on"
    assert spelled_span(None, end) == "up to 2026-03-12 04:00:00"
    assert spelled_span(None, None) == ""


def test_unrecorded_parts_of_a_window_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 4)))

    def notes(start: str = "", end: str = "", at: str = "") -> list[str]:
        source = RecordingSource(str(path), name="a", start=start, end=end, at=at)
        source.open()
        source.close()
        return [each.partition(" recorded ")[2].split()[0] for each in source.notes]

    assert notes("1h ago") == ["before"]
    assert notes("1h ago", "2099-01-01") == ["before", "after"]
    assert notes(at="2099-01-01") == ["after"]
    assert notes("first", "last") == notes("30s ago") == notes() == []
