"""The history of histograms, poll by poll."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.latency.latency_history import (
    NUMBERS,
    LatencyColumn,
    LatencyHistory,
    Track,
    number_of,
)
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket, EventWaits, Histogram
from presman.base.release import Release
from presman.polling.poller import Poller
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import EventHistogram
from presman.rows.queries import DetailLevel
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import NOON, group, instance, snapshot
from tests.scenarios import with_short_past
from tests.thorough import some

EVENT = "log file sync"


def histogram(
    deltas: dict[int, int | None], now: EventWaits | None = None, inst_id: int = 1, event: str = EVENT
) -> Histogram:
    buckets = tuple(Bucket(upper, 10**9, delta) for upper, delta in sorted(deltas.items()))
    return Histogram(inst_id, event, buckets, 2.0, "Commit", None, now)


EMPTY = analyse(None, snapshot(instance()))


def reading(second: float, *histograms: Histogram) -> Reading:
    from datetime import timedelta

    return replace(EMPTY, at=NOON + timedelta(seconds=second), histograms=histograms)


def test_bucket_numbers_are_powers_of_two_of_microseconds_in_either_view() -> None:
    assert [number_of(1 << power) for power in range(NUMBERS)] == list(range(NUMBERS))
    assert [number_of(1000 << power) for power in range(23)] == list(range(10, 33))


def test_what_was_added_comes_back_per_event_and_instance() -> None:
    history = LatencyHistory()
    history.add(reading(2, histogram({512: 3, 1024: 0}, EventWaits(3, 900)), histogram({64: 5}, inst_id=2)))
    history.add(
        reading(4, histogram({512: 0, 1024: 2}, EventWaits(1, 5)), histogram({64: 1}, inst_id=2, event="other"))
    )
    first, second = history.columns(1, EVENT)
    assert (first.seconds, first.counts, first.waited) == (2.0, {9: 3}, EventWaits(3, 900))
    assert (second.counts, second.waited) == ({10: 2}, EventWaits(1, 5))
    both, _ = history.columns(0, EVENT)
    assert (both.counts, both.waited) == ({9: 3, 6: 5}, None)
    assert [column.counts for column in history.columns(2, "other")] == [{}, {6: 1}]
    assert [column.counts for column in history.columns(1, "never seen")] == [{}, {}]


def test_waits_that_no_counter_has_are_kept_as_far_as_there_is_room() -> None:
    """A foreign recording may have instance 65536 or -1, for which there is no column."""
    history = LatencyHistory()
    history.add(
        reading(
            2,
            histogram({512: 1 << 63, 1024: -5}, EventWaits(-1, -(1 << 63))),
            histogram({64: 5}, inst_id=1 << 16),
            histogram({64: 7}, inst_id=-1),
        )
    )
    (column,) = history.columns(1, EVENT)
    assert (column.counts, column.waited) == ({9: (1 << 32) - 1, 10: 0}, EventWaits(0, 0))
    assert [each.counts for each in history.columns(1 << 16, EVENT)] == [{}]


def test_a_poll_without_a_delta_is_a_gap_of_that_event_alone() -> None:
    history = LatencyHistory()
    history.add(reading(2, histogram({512: None}), histogram({64: 5}, inst_id=2)))
    assert [(column.seconds, column.counts) for column in history.columns(1, EVENT)] == [(None, {})]
    assert [column.seconds for column in history.columns(0, EVENT)] == [None]
    assert [column.seconds for column in history.columns(2, EVENT)] == [2.0]


def test_a_poll_that_is_not_newer_changes_nothing() -> None:
    history = LatencyHistory()
    for second in (2, 4, 4, 3):
        history.add(reading(second, histogram({512: 1})))
    assert len(history) == 2


def test_it_is_bounded_by_count_and_by_bytes() -> None:
    history = LatencyHistory(count=50)
    for second in range(200):
        history.add(reading(second, histogram({512: 1})))
    assert len(history) == 50
    assert history.dropped == 150
    small = LatencyHistory(size=20_000)
    wide = {1 << power: 1000 for power in range(33)}
    for second in range(500):
        small.add(reading(second, *(histogram(wide, event=f"event {n}") for n in range(5))))
        assert small.used <= 20_000
    assert 5 < len(small) < 30
    tiny = LatencyHistory(size=1)
    for second in range(3):
        tiny.add(reading(second, histogram({512: 1})))
    assert len(tiny) == 1, "the newest poll is there, however large"


def test_a_track_follows_through_drops_and_changes_of_the_event() -> None:
    history = LatencyHistory(count=10)
    track = Track(history)
    for second in range(25):
        history.add(reading(second, histogram({512: second + 1}), histogram({64: 1}, event="other")))
        assert track.follow(0, EVENT) == (second == 0)
        assert [column.counts for column in track.columns] == [c.counts for c in history.columns(0, EVENT)]
    assert track.follow(0, "other")
    assert {tuple(column.counts.items()) for column in track.columns} == {((6, 1),)}
    for second in range(25, 60):
        history.add(reading(second, histogram({512: 1})))
    assert not track.follow(0, "other")
    assert [column.counts for column in track.columns] == [{}] * 10


def test_the_window_sums_what_was_polled_in_it() -> None:
    history = LatencyHistory()
    for second in range(2, 202, 2):
        history.add(reading(second, histogram({1000: 1, 4000: 2}, EventWaits(3, 6000))))
    track = Track(history)
    track.follow(1, EVENT)
    end = NOON.timestamp() + 200
    found = track.window(end, 60)
    assert (found.waits, found.seconds, found.mean_us) == (90, 60.0, 2000)
    assert [(bucket.upper_us, bucket.waits) for bucket in found.buckets] == [(1000, 30), (2000, 0), (4000, 60)]
    assert track.window(end, 3600).seconds == 200.0
    assert track.window(end - 100, 20).waits == 30


def test_a_column_of_a_minute_has_the_average_measured_in_that_minute() -> None:
    """V$SYSTEM_EVENT is read at each poll, histograms once a minute while they are not shown."""
    history = LatencyHistory()
    for second, waits in ((0, 100), (60, 130)):
        one = histogram({512: 30})
        history.add(reading(second, replace(one, startup=EventWaits(waits, 1000 * waits), seconds=60.0)))
    first, second = history.columns(1, EVENT)
    assert (first.waited, second.waited) == (None, EventWaits(30, 30_000))


def test_polls_before_an_event_was_read_are_gaps() -> None:
    """They counted as time without waits: its window was longer than what was read."""
    history = LatencyHistory()
    track = Track(history)
    usual = histogram({512: 1})
    history.add(reading(2, usual))
    track.follow(1, "latch free")
    assert [column.seconds for column in track.columns] == [None]
    history.add(reading(4, usual, histogram({64: None}, event="latch free")))
    for second in (6, 8):
        history.add(reading(second, usual, histogram({64: second}, EventWaits(second, 60), event="latch free")))
    history.add(reading(10, usual, histogram({64: 0}, EventWaits(0, 0), event="latch free")))
    track.follow(1, "latch free")
    assert [column.seconds for column in track.columns] == [None, None, 2.0, 2.0, 2.0]
    window = track.window(NOON.timestamp() + 10, 60)
    assert (window.seconds, window.waits) == (6.0, 14)
    assert [column.seconds for column in history.columns(1, EVENT)] == [2.0] * 5


def test_throttled_cpus_are_those_of_the_instance_or_of_all() -> None:
    before = snapshot(instance(), group("A"), group("B"))
    after = snapshot(instance(), group("A", cpu_wait_time=3000), group("B", cpu_wait_time=1000), after=2)
    history = LatencyHistory()
    history.add(analyse(before, after))
    assert [column.throttled for column in history.columns(0, EVENT)] == [pytest.approx(2.0)]
    history.add(replace(EMPTY, at=after.at.replace(second=30)))
    assert history.columns(1, EVENT)[1].throttled is None
    assert before.rows(ConsumerGroup)


def test_throttled_cpus_of_all_are_not_known_while_those_of_one_instance_are_not() -> None:
    before = snapshot(instance(1), group("A", inst_id=1))
    after = snapshot(
        instance(1), instance(2), group("A", cpu_wait_time=3000), group("A", inst_id=2, active_sessions=1), after=2
    )
    history = LatencyHistory()
    history.add(analyse(before, after))
    assert [column.throttled for column in history.columns(0, EVENT)] == [None]
    assert [column.throttled for column in history.columns(1, EVENT)] == [pytest.approx(1.5)]


@pytest.mark.parametrize(
    ("scenario", "release", "detail_level"),
    some(
        [
            ("mixed", Release(11, 2), DetailLevel.WHOLE),
            ("rac", None, DetailLevel.WHOLE),
            ("mixed", None, DetailLevel.NARROW),
        ],
        [("mixed", None, DetailLevel.WHOLE)],
    ),
)
def test_deltas_are_what_the_simulated_instances_counted(
    scenario: str, release: Release | None, detail_level: DetailLevel
) -> None:
    """The deltas of every poll, summed, against the events' own counts, whatever the intervals.

    In 11.2 there is only V$EVENT_HISTOGRAM, whose first bucket is a whole millisecond, number 10. Narrow polls read
    histograms once a minute: fewer columns, which lose nothing.
    """
    first = 0 if release is None else 10
    clock = [0.0]
    source = SimulatorSource(with_short_past(scenario), seed=3, clock=lambda: clock[0], release=release)
    poller = Poller(source, clock=lambda: clock[0])
    poller.detail_level = detail_level
    poller.open()
    previous = poller.poll()
    own = {(machine.inst_id, name): (list(event.counts), sum(event.counts), event.micros)
           for machine in source.simulation.machines for name, event in machine.events.items()}  # fmt: skip
    read = {(each.inst_id, each.event) for each in previous.rows(EventHistogram)}
    history = LatencyHistory()
    rng = random.Random(1)
    for number in reversed(range(15)):
        clock[0] += rng.choice([0.5, 2.0, 7.0])
        poller.detail_level = detail_level if number else DetailLevel.WHOLE  # in the last one
        current = poller.poll()
        history.add(analyse(previous, current))
        previous = current
    seen = 0
    for machine in source.simulation.machines:
        for name, event in machine.events.items():
            if (machine.inst_id, name) not in read:
                continue
            counts, total, micros = own[machine.inst_id, name]
            grown: Counter[int] = Counter()
            for number, (now, then) in enumerate(zip(event.counts, counts, strict=True)):
                grown[max(first, number)] += now - then
            columns = history.columns(machine.inst_id, name)
            assert Counter(_sum(columns)) == grown
            seen += sum(grown.values())
            if event.wait_class != "Idle":
                assert sum(column.waited.waits for column in columns if column.waited) == sum(event.counts) - total
                measured = sum(column.waited.microseconds for column in columns if column.waited)
                assert measured == pytest.approx(event.micros - micros, abs=1)
    assert seen > 10_000
    assert len(history) == (15 if detail_level is DetailLevel.WHOLE else 2)
    poller.close()


def _sum(columns: list[LatencyColumn]) -> dict[int, int]:
    total: dict[int, int] = {}
    for column in columns:
        for number, count in column.counts.items():
            total[number] = total.get(number, 0) + count
    return total


def test_memory_of_half_an_hour_of_a_busy_database() -> None:
    history = LatencyHistory()
    wide = {1 << power: 5 for power in range(3, 17)}
    for poll in range(900):
        history.add(reading(2 * poll, *(histogram(wide, EventWaits(70, 1), event=f"event {n}") for n in range(20))))
    assert len(history) == 900
    assert history.used < 2 << 20


@pytest.mark.parametrize(
    ("upper", "number"), [(-5, 0), (0, 0), (1, 0), (2, 1), (3, 2), (1024, 10), (1 << 60, NUMBERS - 1)]
)
def test_the_number_of_a_bucket_is_the_power_of_two_that_bounds_it(upper: int, number: int) -> None:
    assert number_of(upper) == number
