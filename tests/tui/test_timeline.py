"""The recent polls: which belongs to an instant, which readings are kept or recomputed; six polls 5 s apart."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from presman.polling.history import History
from presman.tui.timeline import _KEPT_READINGS, Timeline
from tests.recording.recorded import polled


@pytest.fixture
def timeline() -> Timeline:
    found = Timeline()
    for snapshot, reading in polled("quiet", 6):
        found.add(reading, snapshot)
    return found


def test_a_timeline_is_empty_before_the_first_poll() -> None:
    empty = Timeline()
    assert (len(empty), empty.first(), empty.reading(0), empty.numbered(1)) == (0, None, None, None)


def test_an_instant_maps_to_the_last_poll_before_it(timeline: Timeline) -> None:
    first = timeline.first()
    assert first is not None
    assert len(timeline) == 6
    seconds = (-99, 0, 4.9, 5, 5.1, 24.9, 25, 99)
    assert [timeline.behind(first + timedelta(seconds=each)) for each in seconds] == [5, 5, 5, 4, 4, 1, 0, 0]


def test_a_poll_is_found_by_its_number(timeline: Timeline) -> None:
    for behind in range(6):
        found = timeline.numbered(6 - behind)
        assert found is not None
        assert found[1].number == 6 - behind
        assert (found[0] is None) == (behind == 5)
        reading = timeline.reading(behind)
        assert reading is not None
        assert reading.number == 6 - behind
    for beyond in (-1, 6):
        assert timeline.numbered(6 - beyond) is None
        assert timeline.reading(beyond) is None


def test_all_readings_but_the_last_two_are_recomputed(timeline: Timeline) -> None:
    newest = timeline.reading(0)
    assert timeline.reading(0) is newest
    assert len(timeline._readings) == _KEPT_READINGS == 2
    old = timeline.reading(5)
    timeline.reading(4)
    timeline.reading(3)
    assert timeline.reading(5) is not old
    assert timeline.reading(5) == old


def test_a_timeline_may_begin_before_its_first_reading() -> None:
    (before, _), (snapshot, reading) = list(polled("quiet", 2))
    found = Timeline()
    found.begin(before)
    found.add(reading, snapshot)
    assert len(found) == 2
    pair = found.numbered(2)
    assert pair is not None
    assert (pair[0], pair[1].number) == (before, 2)
    assert found.first() == before.at


def test_numbers_that_begin_again_are_found_after_old_polls_are_gone() -> None:
    """The history keeps four polls; in the list of numbers those before are removed now and then."""
    timeline, ((snapshot, reading),) = Timeline(), polled("quiet", 1)
    timeline._history = History(count=4)
    numbers = (7, 8, 1, 2, 3, 5, 6, 7, 8, 9, 11, 12, 13, 14)
    for total, number in enumerate(numbers, 1):
        timeline.add(reading, replace(snapshot, number=number))
        kept = numbers[:total][-len(timeline) :]
        of_this_connection = list(kept[kept.index(1) :] if 1 in kept else kept)
        assert timeline.first_number() == of_this_connection[0]
        found = {each: timeline.numbered(each) for each in range(16)}
        assert [each for each, pair in found.items() if pair is not None] == of_this_connection
        assert all(pair is None or pair[1].number == each for each, pair in found.items())


def test_a_reading_has_the_snapshots_of_its_own_connection() -> None:
    """After another login polls began at 1 again: a reading of before had those of the new poll with its number."""
    timeline, polls = Timeline(), list(polled("quiet", 4))
    for (snapshot, reading), number in zip(polls, (1, 2, 1, 2), strict=True):
        timeline.add(replace(reading, number=number), replace(snapshot, number=number))
    for behind in range(4):
        reading = timeline.reading(behind)
        assert reading is not None
        pair = timeline.pair_of(reading)
        assert pair is not None
        assert (pair[1].at, pair[1].number) == (reading.at, reading.number)
