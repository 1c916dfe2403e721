"""Clock set back in a recording: every poll can be found by its own time, and none counts as damaged."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from typing import cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import select

from presman.recording.chain_reader import Chain, ChainIndex
from presman.recording.reader import Recording
from presman.recording.recording_source import RecordingSource
from presman.recording.retention import RecordingLocation, RetentionLimits, _oldest_first, _remove, trim
from presman.recording.schema import POLLS
from presman.recording.store import Store
from presman.recording.time_bins import time_bins
from presman.reports.report.incident import gather
from tests.recording.recorded import START, polled, record

SECONDS = (0, 5, 10, 15, -3595, -3590, -3585)
"""Seconds of the polls since the first one: the clock goes back by an hour after the fourth."""


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def recorded(folder: Path) -> str:
    *_, (snapshot, reading) = polled("storm", 2)
    moments = []
    for number, seconds in enumerate(SECONDS, 1):
        epoch = 1 if seconds >= 0 else 2
        poll = replace(snapshot, at=at(seconds), number=number, epoch=epoch)
        moments.append((poll, replace(reading, at=at(seconds), number=number, interval=5.0 if number > 1 else None)))
    record(folder / "a.presman", moments)
    return str(folder / "a.presman")


def test_polls_keep_their_order_and_are_found_by_their_times(tmp_path: Path) -> None:
    with Recording(recorded(tmp_path)) as recording:
        playback = recording.playback()
        assert [playback.at(index) for index in range(len(playback))] == [at(each) for each in SECONDS]
        assert (playback.first, playback.last) == (at(-3595), at(15))
        for number, seconds in enumerate(SECONDS):
            assert playback.index(at(seconds)) == number
            assert playback.indexes(at(seconds), at(seconds)) == range(number, number + 1)
        assert playback.indexes(at(-3591), at(-3000)) == range(5, 7)
        assert playback.indexes(None, at(-3000)) == range(4, 7)
        assert playback.indexes(at(-3595), at(15)) == playback.indexes() == range(7)
        assert playback.span(range(2, 6)) == (at(-3595), at(15))


def test_figures_after_a_clock_set_back_can_be_read(tmp_path: Path) -> None:
    with Recording(recorded(tmp_path)) as recording:
        playback = recording.playback()
        incident = gather(recording, playback, range(7))
        assert (incident.polls, incident.start, incident.end) == (7, at(-3595), at(15))
        assert sum(each.polls for each in incident.bins) == 7
        assert not incident.damaged
        assert sum(each.polls for each in time_bins(playback, at(-3595), at(-3000), 1)) == 3
        assert recording.damage_of(playback) == []


@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(-1, 5)), max_size=8),
    st.integers(-1, 20),
)
def test_of_chains_that_overlap_the_one_that_reaches_nearest_is_found(spans: list[tuple[int, int]], at: int) -> None:
    """Each was compared at each search: a page of a report searches for hundreds of times."""
    store = cast(Store, object())
    chains = [Chain(store, 1, number, 1, begin, begin + long) for number, (begin, long) in enumerate(spans)]
    index = ChainIndex(chains)
    begun = [number for number, each in enumerate(index.chains) if each.first_at <= at]
    nearest = max(begun, key=lambda each: (min(index.chains[each].last_at, at), each), default=None)
    assume(index.went_back)
    found = index.at(at)
    assert (found and found[1]) == nearest


@pytest.mark.parametrize(
    ("indexes", "chains"),
    [
        (range(1, 8), [0, 1]),  # up to the other store
        (range(7, -1, -1), [2]),
        (range(5, 0, -1), [1, 0]),
        (range(7, 11), [2, 3]),
    ],
)
def test_a_run_of_chains_ends_with_their_store(indexes: range, chains: list[int]) -> None:
    one, other = cast(Store, object()), cast(Store, object())
    stored = [Chain(store, 1, 3 * number, 3, number, number) for number, store in enumerate((one, one, other, other))]
    assert [*ChainIndex(stored).run(indexes)] == [stored[number] for number in chains]


def test_a_copy_beside_a_recording_does_not_hide_that_the_clock_went_back() -> None:
    """The chains of both lie side by side: no two neighbours were of one store, so times were sought out of order."""
    one, copy = cast(Store, object()), cast(Store, object())
    index = ChainIndex(Chain(store, 1, *each) for store in (one, copy) for each in ((0, 3, 20, 25), (3, 3, 5, 8)))
    assert len(index.went_back) == 2
    found = index.at(7)
    assert found is not None
    assert (found[0].first_at, found[0].last_at) == (5, 8)


def test_the_oldest_polls_are_removed_first_and_no_others(tmp_path: Path) -> None:
    """The chain with the earliest time went first, with all rows of figures up to its last poll."""
    place = recorded(tmp_path)
    location = RecordingLocation(place)
    assert trim(location, RetentionLimits(age=timedelta(seconds=3500)), at(15)) == 0, "the first chain is not old"
    store = location.store(START)
    with store.transaction() as connection:
        (first, *_) = chains = _oldest_first(connection, None)
        assert [each.first for each in chains] == sorted(each.first for each in chains)
        assert _remove(connection, first) == first.polls
    with store.reading() as connection:
        assert [*connection.execute(select(POLLS.c.poll).order_by(POLLS.c.poll)).scalars()] == [*range(4, 7)]
    location.close()


def test_opening_a_recording_reports_a_clock_set_back(tmp_path: Path) -> None:
    source = RecordingSource(recorded(tmp_path), name="a")
    source.open()
    (note,) = source.notes
    assert note.startswith("the clock went back from ")
    assert note.endswith(": times that begin before that and end after it are wrong")
    source.close()
