"""The points of a scatter chart: thinned to the room there is, by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.trace.tally import Trail


@pytest.mark.parametrize("pieces", [[[7, 9, 3, 8, 1]], [[7], [9, 3], [], [8, 1]], [[7, 9, 3], [8], [1]]])
def test_of_neighbours_the_first_and_the_longest_stay_in_any_order(pieces: list[list[int]]) -> None:
    """Four slots: once there are four waits, pairs of neighbours become one slot each."""
    trail = Trail(4)
    for each in pieces:
        trail.add(each)
    assert trail._stride == 2
    assert trail._slots == [(1, 7, 2, 9), (3, 3, 4, 8), (5, 1, 5, 1)]
    assert len(trail) == 3


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=200), st.integers(1, 40))
def test_the_longest_wait_is_never_lost_and_there_are_never_more_slots(waits: list[int], piece: int) -> None:
    trail, whole = Trail(8), Trail(8)
    for start in range(0, len(waits), piece):
        trail.add(waits[start : start + piece])
        assert len(trail) < 8
    whole.add(waits)
    assert trail._slots == whole._slots
    assert max(longest for _, _, _, longest in trail._slots) == max(waits)
    for first, time, at, longest in trail._slots:
        assert (waits[first - 1], waits[at - 1]) == (time, longest)
