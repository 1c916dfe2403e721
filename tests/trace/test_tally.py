"""Figures against exact data: equal to those of the sorted list, or within the stated error."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from presman.trace.tally import BITS, LIMITS, PERMILLES, EventTallies, Tally

TIMES = st.lists(st.one_of(st.integers(0, 3_000), st.integers(0, 10**12)), min_size=1, max_size=200)


def nearest_rank(times: list[int], permille: int) -> int:
    return sorted(times)[max(1, -(-len(times) * permille // 1000)) - 1]


def tally_of(times: list[int]) -> Tally:
    tally = Tally()
    tally.add(times)
    return tally


def test_the_published_writes() -> None:
    summary = tally_of([501, 466, 368]).summary("log file parallel write", "lgwr.trc")
    assert summary.mean == 445
    assert summary.percentiles == (466, 501, 501, 501)
    assert (summary.waits, summary.total, summary.longest, summary.over) == (3, 1335, 501, (0, 0, 0))


def test_no_waits() -> None:
    summary = Tally().summary("x", None)
    assert (summary.mean, summary.longest, summary.blocks) == (None, None, None)
    assert summary.percentiles == (None,) * len(PERMILLES)
    assert summary.over == (None,) * len(LIMITS)


@given(TIMES)
def test_percentiles_are_exact(times: list[int]) -> None:
    tally = tally_of(times)
    assert tally.percentiles() == tuple(nearest_rank(times, permille) for permille in PERMILLES)
    assert tally.over() == tuple(100 * sum(time > limit for time in times) / len(times) for limit in LIMITS)


@given(TIMES, TIMES, st.sampled_from(BITS), st.sampled_from(["before", "between", "after"]))
def test_rounded_percentiles_keep_their_bound(first: list[int], second: list[int], bits: int, when: str) -> None:
    tally, times = Tally(), first + second
    for moment, more in (("before", []), ("between", first), ("after", second)):
        tally.add(more)
        if moment == when:
            tally.round_to(bits)
    summary = tally.summary("x", None)
    assert summary.error == 2.0**-bits
    for permille, found in zip(PERMILLES, summary.percentiles, strict=True):
        exact = nearest_rank(times, permille)
        assert found is not None
        assert abs(found - exact) <= exact * summary.error
    assert (summary.waits, summary.total, summary.longest) == (len(times), sum(times), max(times))
    assert summary.over == tally_of(times).over()


@given(TIMES, TIMES, st.sampled_from([None, *BITS]), st.sampled_from([None, *BITS]))
def test_merged_tallies_are_those_of_all_waits(
    one: list[int], two: list[int], bits: int | None, other: int | None
) -> None:
    together, further, whole = tally_of(one), tally_of(two), tally_of(one + two)
    for tally, rounding in ((together, bits), (further, other)):
        if rounding:
            tally.round_to(rounding)
    together.merge(further)
    if together.bits:
        whole.round_to(together.bits)
    assert together.summary("x", None) == whole.summary("x", None)
    assert together.bits == min((rounding for rounding in (bits, other) if rounding), default=None)


def test_rounding_twice_is_rounding_once_to_the_coarser() -> None:
    times = random.Random(3).sample(range(10**9), 500)
    twice, once = tally_of(times), tally_of(times)
    twice.round_to(11)
    twice.round_to(7)
    once.round_to(7)
    assert twice.summary("x", None) == once.summary("x", None)


def test_blocks_known_and_unknown() -> None:
    tally = Tally()
    tally.add([1, 2], [None, None])
    assert tally.blocks is None
    tally.add([1], [0])
    assert tally.blocks == 0
    tally.add([1, 2], [None, 58])
    assert tally.blocks == 58


def test_a_ledger_stays_within_its_bound() -> None:
    chance, ledger = random.Random(7), EventTallies(distinct=1_000)
    exact: dict[str, list[int]] = {"a": [], "b": []}
    for _ in range(40):
        events = [chance.choice("aab") for _ in range(200)]
        times = [chance.randrange(10**8) if event == "a" else chance.randrange(50) for event in events]
        ledger.add(events, times, [None] * 200)
        for event, time in zip(events, times, strict=True):
            exact[event].append(time)
        assert sum(len(tally.counts) for tally in ledger.tallies.values()) <= 1_000
    rounded, small = (ledger.tallies[event].summary(event, None) for event in "ab")
    assert small.error == 0
    assert rounded.error > 0
    for permille, found in zip(PERMILLES, rounded.percentiles, strict=True):
        assert found == pytest.approx(nearest_rank(exact["a"], permille), rel=rounded.error)
    assert rounded.total == sum(exact["a"])


def test_a_ledger_full_of_coarse_tallies_ends() -> None:
    ledger = EventTallies(distinct=10)
    ledger.add(["x"] * 5_000, range(0, 5_000_000, 1_000), [None] * 5_000)
    assert ledger.tallies["x"].bits == BITS[-1]
    assert ledger.tallies["x"].waits == 5_000
