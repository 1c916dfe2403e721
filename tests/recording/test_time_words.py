"""From when to when a window of a recording is: what a time of day means where it ends."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from presman.recording.time_words import TimeError, span_of

FIRST, LAST = datetime(2026, 11, 22, 21, 23, 15, tzinfo=UTC), datetime(2026, 11, 22, 21, 29, 46, tzinfo=UTC)


@pytest.mark.parametrize(
    ("start", "end", "begins", "ends"),
    [
        ("20:00", "23:00", "22 20:00", "22 23:00"),  # and not yesterday's 23:00
        ("", "23:00", None, "22 23:00"),
        ("21:24", "21:24", "22 21:24", "22 21:24"),  # both ends belong to it
        ("22:00", "21:25", "21 22:00", "22 21:25"),
        ("22:00", "22:30", "21 22:00", "21 22:30"),
        ("", "21:00", None, "22 21:00"),
        ("21:24", "", "22 21:24", None),
    ],
)
def test_from_when_to_when(start: str, end: str, begins: str | None, ends: str | None) -> None:
    found = [each and f"{each:%d %H:%M}" for each in span_of(start, end, FIRST, LAST, UTC)]
    assert found == [begins, ends]


@pytest.mark.parametrize(("start", "end"), [("21:26", "21:24"), ("23:00", "22:00"), ("last", "first")])
def test_what_ends_before_it_begins_is_told_with_what_there_is(start: str, end: str) -> None:
    with pytest.raises(TimeError, match="ends before it begins; the recording is from 2026-11-22"):
        span_of(start, end, FIRST, LAST, UTC)
