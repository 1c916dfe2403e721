"""Waits between two polls, calculated by hand."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.latency.histograms import is_alike
from presman.analysis.readings.wait_readings import EventWaits, WaitReading
from presman.rows.instance_rows import EventHistogram, SystemEvent
from presman.rows.session_rows import Session
from tests.analysis.make import NOON, instance, row, snapshot

EVENT = "db file sequential read"


def ended(waits: int | None, micro: int | None, event: str = EVENT) -> SystemEvent:
    return row(SystemEvent, event=event, wait_class="User I/O", total_waits=waits, time_waited_micro=micro)


def waiting(sid: int, seconds: float | None, event: str = EVENT, wait_class: str = "User I/O") -> Session:
    micro = None if seconds is None else round(seconds * 1e6)
    return row(Session, sid=sid, event=event, state="WAITING", wait_class=wait_class, wait_time_micro=micro)


def found(old: list[Any], new: list[Any], seconds: float = 2.0) -> list[tuple[Any, ...]]:
    reading = analyse(snapshot(instance(), *old), snapshot(instance(), *new, after=seconds, number=2))
    return [(each.event, each.sessions, each.per_second, each.mean_ms) for each in reading.waits]


@pytest.mark.parametrize(
    ("per_second", "mean_ms", "seconds"),
    [(None, None, None), (None, 2.0, None), (5.0, None, None), (0.0, None, 0.0), (5.0, 2.0, 0.01), (0.5, 0.0, 0.0)],
)
def test_the_time_of_waits_that_ended(per_second: float | None, mean_ms: float | None, seconds: float | None) -> None:
    assert WaitReading(1, EVENT, "User I/O", None, per_second, mean_ms).ended == seconds


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # 4 more waits, 1 s together, in 2 s: half a session waits, twice a second, for 250 ms
        ((10, 5_000_000), [ended(14, 6_000_000)], [(EVENT, 0.5, 2.0, 250.0)]),
        ((10, 5_000_000), [ended(10, 5_000_000)], []),  # nothing ended
        ((10, 5_000_000), [ended(9, 6_000_000)], []),  # a counter went back
        ((10, 5_000_000), [ended(None, 6_000_000)], [(EVENT, 0.5, None, None)]),
        ((10, 5_000_000), [ended(14, None)], [(EVENT, None, 2.0, None)]),
        # one that ended after 10 s has waited for 2 of these 2 s
        ((10, 5_000_000), [ended(11, 15_000_000)], [(EVENT, 1.0, 0.5, 10_000.0)]),
        # the same, and three wait now, none of them as long as 2 s
        ((10, 5_000_000), [ended(11, 15_000_000), *(waiting(n, 1.0) for n in range(3))], [(EVENT, 3.0, 0.5, 10_000.0)]),
        # exactly all of the time
        ((10, 5_000_000), [ended(11, 7_000_000), waiting(1, 1.0), waiting(2, 1.0)], [(EVENT, 1.0, 0.5, 2000.0)]),
        # waits that outlast the polls are not counted yet: the sessions are
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 2.0), waiting(2, 0.5)], [(EVENT, 2.0, 0.0, None)]),
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 1.9), waiting(2, 0.5)], []),
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 2.0), waiting(2, None)], []),  # how long is not known
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 9.0, wait_class="Idle")], []),
        # the first of its kind since startup has no row yet
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 2.0, "library cache lock")],
         [("library cache lock", 1.0, 0.0, None)]),
        ((10, 5_000_000), [ended(10, 5_000_000), waiting(1, 2.0, "some wait", "")], []),
    ],
)  # fmt: skip
def test_waits_since_the_last_poll(old: tuple[int, int], new: list[Any], expected: list[tuple[Any, ...]]) -> None:
    assert found([ended(*old)], new) == expected


def test_the_longest_wait_comes_first_and_new_events_have_none() -> None:
    old = [ended(0, 0, name) for name in "ab"]
    assert [each[0] for each in found(old, [ended(1, 10, "a"), ended(1, 20, "b"), ended(5, 99, "new")])] == ["b", "a"]
    assert found([], [ended(1, 10)]) == []


def bucket(upper: int, count: int) -> EventHistogram:
    return row(EventHistogram, event=EVENT, wait_time_micro=upper, wait_count=count)


@pytest.mark.parametrize(
    ("counts", "deltas"),
    [
        ({1024: 5, 2048: 3}, [2, 0]),
        ({1024: 3, 2048: 3}, [0, 0]),
        ({1024: 2, 2048: 9}, [None, None]),  # a bucket shrank: it began anew
        ({1024: 5}, [None]),  # one is gone
        ({1024: 3, 2048: 3, 4096: 1}, [0, 0, 1]),
    ],
)
def test_buckets_since_the_last_poll(counts: dict[int, int], deltas: list[int | None]) -> None:
    old = [instance(), ended(10, 5_000_000), bucket(1024, 3), bucket(2048, 3)]
    new = [instance(), ended(14, 6_000_000), *(bucket(*each) for each in counts.items())]
    (one,) = analyse(snapshot(*old), snapshot(*new, after=2.0, number=2)).histograms
    assert [each.delta for each in one.buckets] == deltas
    assert one.startup == EventWaits(14, 6_000_000)
    assert one.now == (None if None in deltas else EventWaits(4, 1_000_000))


def test_a_restarted_instance_has_no_rates_in_this_poll() -> None:
    old = [instance(), ended(10, 5_000_000), bucket(1024, 3)]
    new = [instance(startup_time=NOON), ended(14, 6_000_000), bucket(1024, 5)]
    (one,) = analyse(snapshot(*old), snapshot(*new, after=2.0, number=2)).histograms
    assert (one.now, one.startup) == (None, EventWaits(14, 6_000_000))


@pytest.mark.parametrize(
    ("seconds", "others", "alike"),
    [(2.0, 2.0, True), (2.0, 2.5, True), (2.5, 2.0, True), (2.0, 2.51, False), (60.0, 70.0, True), (2.0, 60.0, False),
     (None, 2.0, False), (2.0, None, False)],
)  # fmt: skip
def test_intervals_are_alike_up_to_a_fifth_of_the_longer(
    seconds: float | None, others: float | None, alike: bool
) -> None:
    assert is_alike(seconds, others) == alike
