from __future__ import annotations

import json

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.latency.system_waits import doubts
from presman.analysis.readings.wait_readings import Bucket, Histogram
from presman.output.json_document import dump
from presman.polling.poller import Poller
from presman.rows.instance_rows import EventHistogram, IoOutlier, LgwrioOutlier
from presman.rows.snapshot import Problem, Section
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import NOON, row, snapshot

WRITE = "log file parallel write"


def values(*latencies: int, inst_id: int = 1) -> list[tuple[int, str, int]]:
    return [(inst_id, WRITE, latency) for latency in latencies]


def test_latencies_that_may_be_true_are_not_doubted() -> None:
    assert doubts(values(700, 512, 2100, 600, 533)) == ()
    assert doubts([]) == ()
    assert doubts(values(500, 600, 700, 800)) == ()  # four in order may be chance
    assert doubts(values(500, 600, 700) + values(500, 600, 700, inst_id=2)) == ()
    assert doubts(values(600, 0, 3_600_000)) == ()


def test_values_that_only_grow_are() -> None:
    (why,) = doubts(values(500, 600, 700, 800, 900))
    assert "each of the 5 values is larger than the one before" in why
    assert doubts(values(500, 600, 700, 700, 900)) == ()


@pytest.mark.parametrize(
    ("rows", "why"), [((600, -3), "negative"), ((600, 3_600_001), "1 of 2 values are above an hour")]
)
def test_absurd_values_are(rows: tuple[int, ...], why: str) -> None:
    assert why in " ".join(doubts(values(*rows)))


@pytest.mark.parametrize("buckets", [(Bucket(1 << 17, 0, None),), (Bucket(4_194_304_000, 3, None),)])
def test_a_histogram_without_a_wait_or_with_one_beyond_its_bounds_contradicts_nothing(buckets: tuple[Bucket]) -> None:
    assert doubts(values(700, 400, 900), [Histogram(1, WRITE, buckets)]) == ()


def test_values_far_above_the_longest_wait_contradict_the_histogram() -> None:
    longest = Histogram(1, WRITE, (Bucket(1 << 17, 3, None), Bucket(1 << 24, 0, None)))
    (why,) = doubts(values(700, 400, 900), [longest])
    assert "2 values are far above the longest wait" in why
    assert "(under 131 ms)" in why
    assert doubts(values(700, 400, 900), [Histogram(1, WRITE, (Bucket(1 << 32, 3, None),))]) == ()
    assert doubts(values(700, 400, 900, inst_id=2), [longest]) == ()
    edge = Histogram(1, WRITE, (Bucket(128_000, 3, None),))
    assert doubts(values(512, 511), [edge]) == (), "four times the bound of 128 ms"
    assert len(doubts(values(513, 511), [edge])) == 1


def test_doubted_latencies_are_in_no_reading() -> None:
    rows = [row(LgwrioOutlier, wait_event=WRITE, io_latency=10**9 + n, disk1_name="D", disk1_latency=10**9 + n)
            for n in range(6)]  # fmt: skip
    (found,) = analyse(None, snapshot(*rows)).outliers
    assert found.view == "V$LGWRIO_OUTLIER"
    assert len(found.doubts) == 2
    assert {(each.latency_ms, each.disks) for each in found.rows} == {(None, ())}
    assert "1000000000" not in json.dumps(json.loads(dump(analyse(None, snapshot(*rows))))["outliers"])


def test_believed_ones_are_with_their_disks() -> None:
    rows = [row(IoOutlier, function_name="Buffer Cache Reads", io_size=8, wait_event="db file sequential read",
                file_name="+DATA/x", io_latency=900, disk1_name="D1", disk1_latency=890, disk2_name="D2",
                disk2_latency=700)]  # fmt: skip
    (found,) = analyse(None, snapshot(*rows)).outliers
    assert (found.at, found.doubts) == (NOON, ())
    (only,) = found.rows
    assert (only.latency_ms, only.disks, only.size_kb) == (900, (("D1", 890), ("D2", 700)), 8)


def test_a_view_that_cannot_be_read_is_a_trouble_and_one_not_asked_is_nothing() -> None:
    missing = Section((), NOON, 0.0, Problem("ORA-00942", "table or view does not exist", "GV$IO_OUTLIER"))
    reading = analyse(None, snapshot(sections={IoOutlier: missing}))
    assert reading.outliers == ()
    assert [trouble.query for trouble in reading.troubles] == ["io_outlier"]
    assert analyse(None, snapshot()).outliers == ()


def test_the_poller_asks_on_request_only_and_once() -> None:
    clock = [0.0]
    poller = Poller(SimulatorSource("mixed", seed=1, clock=lambda: clock[0]))
    poller.open()
    assert poller.poll().rows(IoOutlier) == ()
    poller.request(IoOutlier)
    poller.request(LgwrioOutlier)
    clock[0] = 2.0
    asked = poller.poll()
    clock[0] = 4.0
    after = poller.poll()
    poller.close()
    assert len(asked.rows(LgwrioOutlier)) >= 5
    assert after.section(IoOutlier) is asked.section(IoOutlier)
    without_impossible, doubted = analyse(None, asked).outliers
    assert without_impossible.doubts == ()
    assert any("larger than the one before" in why for why in doubted.doubts)


def test_a_lasting_wish_is_asked_at_every_poll_and_a_later_one_takes_its_place() -> None:
    from presman.rows.instance_rows import WatchedHistogram

    clock = [0.0]
    poller = Poller(SimulatorSource("mixed", seed=1, clock=lambda: clock[0]))
    poller.open()
    poller.request(WatchedHistogram, {"event": "latch free"}, lasting=True)
    seen = []
    for second in range(4):
        clock[0] = 2.0 * second
        if second == 2:
            poller.request(WatchedHistogram, {"event": "control file sequential read"}, lasting=True)
        snapshot_ = poller.poll()
        seen.append({each.event for each in snapshot_.rows(WatchedHistogram)})
        assert snapshot_.section(WatchedHistogram).at == snapshot_.at
        assert len(snapshot_.rows(EventHistogram)) > 10
    poller.close()
    assert seen == [{"latch free"}] * 2 + [{"control file sequential read"}] * 2
