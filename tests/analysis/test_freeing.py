"""The choice of sessions under two limits: how many servers each frees under either limit; by hand."""

from __future__ import annotations

from typing import Any

from presman.analysis.advice.freeing import Freeing, _choose, _choose_to_end, _left, _prefix, by_time, covers
from tests.tui.readings import running


def freeing(sid: int, *low: int, idle: float | None = None, elapsed: float = 100.0, **facts: Any) -> Freeing:
    status = "ACTIVE" if idle is None else "INACTIVE"
    row = running(sid, idle=idle, status=status, elapsed=elapsed, servers=max(low), **facts)
    return Freeing(row, low, low)


def sids(found: list[Freeing]) -> list[int]:
    return [each.statement.sid for each in found]


IDLE_OF_ANOTHER_GROUP = freeing(1, 0, 32, idle=900.0)
"""It frees servers of the target, and none of the group's limit."""

OF_THE_GROUP = freeing(2, 16, 16, elapsed=50.0)
LARGE = freeing(3, 16, 48, elapsed=500.0)


def test_an_idle_holder_that_helps_under_one_limit_is_ended_beside_one_that_helps_under_the_other() -> None:
    """16 are short in the group and 32 in all: the idle one and 16 servers for 50 s lose less than 48 for 500 s."""
    helpers = [LARGE, OF_THE_GROUP, IDLE_OF_ANOTHER_GROUP]
    assert sids(_choose_to_end(helpers, [16, 32])) == [1, 2]
    assert _left([16, 32], [IDLE_OF_ANOTHER_GROUP]) == [16, 0]
    assert covers([IDLE_OF_ANOTHER_GROUP, OF_THE_GROUP], [16, 48])
    assert not covers([IDLE_OF_ANOTHER_GROUP, OF_THE_GROUP], [16, 49])


def test_none_is_chosen_if_none_helps_under_a_limit() -> None:
    assert _choose_to_end([IDLE_OF_ANOTHER_GROUP], [1, 1]) == []
    assert _choose_to_end([], [1]) == []
    assert _choose_to_end([IDLE_OF_ANOTHER_GROUP, freeing(4, 0, 99)], [1, 1]) == []


def test_idle_holders_that_are_enough_alone_come_first() -> None:
    """Two have held 16 each for long; one has held 32 for a moment and is enough alone."""
    one, other = freeing(1, 16, 16, idle=9000.0), freeing(2, 16, 16, idle=8000.0)
    alone = freeing(3, 32, 32, idle=10.0)
    assert sids(_choose_to_end([one, other, alone], [32, 32])) == [3]
    assert sids(_choose_to_end([one, other], [32, 32])) == [1, 2]
    assert sids(_choose_to_end([freeing(5, 0, 0, idle=9.0, sets=1), one], [16, 16])) == [1]


def test_one_that_is_enough_alone_comes_before_a_better_ratio() -> None:
    little, enough = freeing(1, 8, 8, elapsed=1.0), freeing(2, 32, 32, elapsed=900.0)
    assert sids(_choose_to_end([little, enough], [32, 32])) == [2]
    most = freeing(3, 24, 24, elapsed=900.0)
    assert sids(_choose_to_end([little, most], [32, 32])) == [3, 1]


def test_a_prefix_is_as_short_as_it_covers() -> None:
    order = [freeing(n, 8, 8) for n in range(4)]
    assert sids(_prefix(order, [16, 16])) == [0, 1]
    assert _prefix(order, [33, 8]) == []
    assert sids(_prefix(order, [32, 8])) == [0, 1, 2, 3]


def ending(sid: int, left: float, *low: int) -> Freeing:
    """A statement whose last operation has so many seconds left."""
    return freeing(sid, *low, remaining=left, is_last=True, progress=0.97)


def test_those_that_end_by_themselves_are_waited_for_where_they_are_enough() -> None:
    soon, late = ending(1, 5.0, 16, 16), ending(2, 20.0, 32, 32)
    busy = freeing(3, 32, 32)
    assert soon.ends_in is not None
    assert sids(_choose([busy, late, soon], [16, 16], [])) == [1]
    assert sids(_choose([busy, late, soon], [32, 32], [])) == [2]
    assert sids(_choose([busy, late, soon], [48, 48], [])) == [1, 2]
    assert sids(_choose([busy, late, soon], [80, 80], [])) == [1, 2, 3]
    assert _choose([busy, late, soon], [81, 81], []) == []


def test_the_earliest_ends_come_first_and_only_as_many_as_needed() -> None:
    five, nine, twenty = ending(1, 5.0, 8, 8), ending(2, 9.0, 32, 32), ending(3, 20.0, 64, 64)
    helpers = [twenty, freeing(9, 64, 64), nine, five, ending(4, 1.0, 0, 0)]
    assert sids(by_time(helpers, [8, 8])) == [1]
    assert sids(by_time(helpers, [32, 32])) == [2], "the first is needless then"
    assert sids(by_time(helpers, [40, 40])) == [1, 2]
    assert by_time(helpers, [200, 200]) == []
