from __future__ import annotations

from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.latency import histograms
from presman.analysis.latency.histograms import OPEN_FROM, PERMILLES, HistogramSpan
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.wait_readings import Bucket, EventWaits, Histogram
from presman.figures.drawing.lines import plain
from presman.figures.histogram_figures import HISTOGRAMS, brief, figures
from presman.rows.instance_rows import EventHistogram, SystemEvent, WatchedHistogram
from presman.tabs import latency as tab_latency
from presman.tabs.choices import Choices
from presman.tabs.parts import Moment
from tests.analysis.make import instance, row, snapshot
from tests.output.readings import reading

PLACE = (1, "log file parallel write")
TEN_MINUTES = {1000: 2460371, 2000: 6605, 4000: 1702, 8000: 1774, 16000: 726}
THREE_HOURS = {1000: 51521618, 2000: 165210, 4000: 36313, 8000: 36242, 16000: 18478}


def micro_bound(wait: int) -> int:
    """The bound of the bucket of EVENT_HISTOGRAM_MICRO in which a wait is counted."""
    return min(1 << 32, 1 << wait.bit_length())


def milli_bound(wait: int) -> int:
    """The same of EVENT_HISTOGRAM, in microseconds."""
    return 1000 * min(1 << 22, 1 << (wait // 1000).bit_length())


def bucketed(waits: list[int], bound: object) -> dict[int, int]:
    counts: dict[int, int] = {}
    for wait in waits:
        counts[bound(wait)] = counts.get(bound(wait), 0) + 1  # type: ignore[operator]
    return counts


def of(counts: dict[int, int], waited: EventWaits | None = None) -> histograms.Latency:
    return histograms.latency(PLACE, HistogramSpan.NOW, counts, 2.0, waited)


exact = st.lists(st.integers(0, 1 << 34), min_size=1, max_size=200)


@given(exact, st.sampled_from([micro_bound, milli_bound]))
def test_the_true_percentile_is_always_in_the_bucket_shown(waits: list[int], bound: object) -> None:
    found = of(bucketed(waits, bound))
    for percentile, permille in zip(found.percentiles, PERMILLES, strict=True):
        true = sorted(waits)[ceil(permille * len(waits) / 1000) - 1]
        assert percentile.lower_us <= true
        assert percentile.upper_us is None or true < percentile.upper_us
        if percentile.estimate_us is not None:
            assert percentile.upper_us is not None
            assert percentile.lower_us <= percentile.estimate_us < percentile.upper_us


@given(exact, st.sampled_from([micro_bound, milli_bound]))
def test_thresholds_never_claim_too_much(waits: list[int], bound: object) -> None:
    for threshold in of(bucketed(waits, bound)).thresholds:
        # 1,024 us stand for a millisecond: the views have no other bound there.
        under = sum(wait < threshold.limit_us * 1.024 for wait in waits)
        over = sum(wait >= threshold.limit_us for wait in waits)
        assert threshold.under <= 100 * under / len(waits) + 1e-9
        assert threshold.over <= 100 * over / len(waits) + 1e-9


@given(exact, st.sampled_from([micro_bound, milli_bound]))
def test_shares_add_up_and_no_bucket_is_left_out(waits: list[int], bound: object) -> None:
    found = of(bucketed(waits, bound))
    assert sum(bucket.waits for bucket in found.buckets) == found.waits == len(waits)
    assert sum(bucket.waits_percent for bucket in found.buckets) == pytest.approx(100)
    assert sum(bucket.time_percent for bucket in found.buckets) == pytest.approx(100)
    for before, after in zip(found.buckets, found.buckets[1:], strict=False):
        assert before.upper_us == after.lower_us
    assert found.longest is not None
    assert found.longest.lower_us <= max(waits)


@pytest.mark.parametrize(("counts", "percent"), [(TEN_MINUTES, 99.5627), (THREE_HOURS, 99.5051)])
def test_published_log_writes_under_a_millisecond(counts: dict[int, int], percent: float) -> None:
    first, *_ = of(counts).thresholds
    assert first.under == pytest.approx(percent, abs=5e-5)
    assert first.under + first.over == pytest.approx(100)


def test_a_first_millisecond_that_is_one_bucket_shows_in_the_error_of_the_estimate() -> None:
    found = of(TEN_MINUTES, EventWaits(2471178, 2471178 * 445))
    assert found.mean_us == 445
    assert found.error_percent is not None
    assert found.error_percent > 60
    assert of(TEN_MINUTES).error_percent is None


def test_the_last_bucket_has_no_upper_end() -> None:
    for last in (1 << 32, 1000 << 22):
        assert last >= OPEN_FROM > 1 << 31
        found = of({1024: 1, last: 9})
        assert found.longest is not None
        assert found.longest.open_ended
        assert {(each.upper_us, each.estimate_us) for each in found.percentiles} == {(None, None)}
        assert found.percentiles[0].lower_us == last // 2
        assert [each.percent for each in found.percentiles] == [permille / 10 for permille in PERMILLES]


def test_buckets_missing_between_are_empty_ones() -> None:
    found = of({256: 3, 4096: 1, 65536: 0})
    assert [(each.upper_us, each.waits) for each in found.buckets] == [
        (256, 3), (512, 0), (1024, 0), (2048, 0), (4096, 1),
    ]  # fmt: skip


def test_an_event_without_waits_has_no_figures() -> None:
    found = of({1024: 0})
    assert (found.waits, found.buckets, found.percentiles, found.thresholds, found.longest) == (0, (), (), (), None)
    assert found.estimated_mean_us is None


def test_an_open_wait_is_reported_as_missing_from_the_histogram() -> None:
    """Beside `resmgr:pq queued 2.00 sessions` the line read "no waits"."""
    assert plain(brief("now", of({}), 80)).split(maxsplit=3) == ["now", "2.0", "s", "no wait has ended"]


def test_an_average_of_nearly_a_second_is_written_in_digits() -> None:
    """It was `avg 1e+03 ms`."""
    span = of({1048576: 2}, EventWaits(2, 2 * 999_700))
    assert "avg 999.7ms" in plain(brief("now", span, 120))


def test_the_line_of_a_period_has_only_whole_figures() -> None:
    """ "p50 <2:14 p99…" stood on 60 columns that had blanks between its parts."""
    span = of({1024: 5, 134217728: 2})
    whole = plain(brief("now", span, 120)).split()
    assert whole[-2] == "max"
    for width in range(30, 120):
        line = plain(brief("now", span, width))
        assert len(line) <= width
        assert line.split() == whole[: len(line.split())]
        assert len(line.split()) % 2 == len(whole) % 2, "no name without its figure"


def test_a_line_of_figures_says_of_which_time_it_is_and_whether_its_average_was_measured() -> None:
    """Two lines began with a length only, and (-20 %) stood beside a measured average."""
    measured, estimated = (plain(brief("window", of({1024: 4}, each), 60)) for each in (EventWaits(4, 3840), None))
    assert measured.split()[:6] == ["window", "2.0", "s", "2/s", "avg", "0.96"]
    assert estimated.split()[:6] == ["window", "2.0", "s", "2/s", "avg", "~0.768"]
    assert "%" not in measured


def counted(event: str = PLACE[1], inst_id: int = 1, **buckets: int) -> list[EventHistogram]:
    return [
        row(EventHistogram, inst_id=inst_id, event=event, wait_time_micro=int(bound[1:]), wait_count=count)
        for bound, count in buckets.items()
    ]


def histogram(reading: Reading, inst_id: int = 1, event: str = PLACE[1]) -> Histogram:
    (found,) = [each for each in reading.histograms if (each.inst_id, each.event) == (inst_id, event)]
    return found


def deltas(reading: Reading, inst_id: int = 1, event: str = PLACE[1]) -> list[int | None]:
    return [bucket.delta for bucket in histogram(reading, inst_id, event).buckets]


def test_buckets_and_events_that_appear_began_at_nothing() -> None:
    before = snapshot(*counted(_512=5))
    after = snapshot(*counted(_512=7, _1024=2), *counted("latch free", _64=3), after=2)
    reading = analyse(before, after)
    assert deltas(reading) == [2, 2]
    assert deltas(reading, event="latch free") == [3]
    assert histogram(reading).seconds == 2.0


def test_an_instance_not_read_before_has_no_deltas() -> None:
    reading = analyse(snapshot(*counted(_512=5)), snapshot(*counted(_512=7), *counted(inst_id=2, _512=900), after=2))
    assert deltas(reading) == [2]
    assert deltas(reading, 2) == [None]
    assert histograms.histogram_of(reading, 0, PLACE[1]) is not None
    both = histograms.histogram_of(reading, 0, PLACE[1])
    assert both is not None
    assert histograms.now(both) is None
    assert histograms.since_startup(both, None).waits == 907


@pytest.mark.parametrize("after", [{"_512": 4, "_1024": 9}, {"_512": 6}])
def test_a_bucket_that_shrinks_or_goes_is_a_reset(after: dict[str, int]) -> None:
    reading = analyse(snapshot(*counted(_512=5, _1024=1)), snapshot(*counted(**after), after=2))
    assert set(deltas(reading)) == {None}


def test_a_restart_ends_the_deltas() -> None:
    started = snapshot(instance(), *counted(_512=5))
    again = snapshot(instance(startup_time=started.at), *counted(_512=50), after=2)
    assert deltas(analyse(started, again)) == [None]


def test_repeated_buckets_of_instances_without_number_are_summed() -> None:
    twice = [*counted(_512=5, _1024=1), *counted(_512=7, _1024=1)]
    later = [*counted(_512=6, _1024=1), *counted(_512=9, _1024=1)]
    reading = analyse(snapshot(*twice), snapshot(*later, after=2))
    assert [bucket.count for bucket in histogram(reading).buckets] == [15, 2]
    assert deltas(reading) == [3, 0]


def waited(waits: int, micros: int, event: str = PLACE[1], inst_id: int = 1) -> SystemEvent:
    return row(SystemEvent, inst_id=inst_id, event=event, wait_class="System I/O", total_waits=waits,
               time_waited_micro=micros)  # fmt: skip


def test_the_measured_average_stands_beside_the_estimated_one() -> None:
    before = snapshot(*counted(_512=5), waited(5, 2000))
    reading = analyse(before, snapshot(*counted(_512=15), waited(15, 5000), after=2))
    lately = histograms.now(histogram(reading))
    assert lately is not None
    assert (lately.mean_us, lately.estimated_mean_us, lately.waits_per_s) == (300, 384, 5)
    assert lately.error_percent == pytest.approx(28)
    assert histograms.since_startup(histogram(reading), 100.0).mean_us == pytest.approx(1000 / 3)


def test_instances_together() -> None:
    rows = [*counted(_512=5, _1024=1), *counted(inst_id=2, _1024=3, _2048=1)]
    more = [*counted(_512=6, _1024=1), *counted(inst_id=2, _1024=5, _2048=1)]
    measured = [waited(6, 10), waited(4, 20, inst_id=2)]
    reading = analyse(snapshot(*rows, *measured), snapshot(*more, waited(7, 15), waited(6, 50, inst_id=2), after=2))
    both = histograms.histogram_of(reading, 0, PLACE[1])
    assert both is not None
    assert [(each.upper_us, each.count, each.delta) for each in both.buckets] == [
        (512, 6, 1), (1024, 6, 2), (2048, 1, 0),
    ]  # fmt: skip
    assert both.now == EventWaits(3, 35)
    assert both.startup == EventWaits(13, 65)


def test_a_watched_event_has_deltas_from_its_second_poll_on_and_never_twice() -> None:
    def watch(event: str, count: int) -> WatchedHistogram:
        return row(WatchedHistogram, event=event, wait_time_micro=64, wait_count=count)

    usual = counted(_512=5)
    first = analyse(snapshot(*usual, watch("latch free", 900)), snapshot(*usual, watch("gc cr request", 50), after=2))
    assert deltas(first, event="gc cr request") == [None]
    second = analyse(
        snapshot(*usual, watch("gc cr request", 50)), snapshot(*usual, watch("gc cr request", 53), after=4)
    )
    assert deltas(second, event="gc cr request") == [3]
    assert len(analyse(None, snapshot(*usual, watch(PLACE[1], 5))).histograms) == 1


def test_events_to_choose_from_are_those_with_a_histogram_or_waits_the_dearest_first() -> None:
    before = [*counted(_512=5), *counted("PX Deq: Execute Reply", _1048576=1), waited(5, 0), waited(1, 0, "latch free")]
    after = [*counted(_512=15), *counted("PX Deq: Execute Reply", _1048576=3), waited(15, 5000),
             waited(3, 900_000, "latch free")]  # fmt: skip
    found = histograms.events(analyse(snapshot(*before), snapshot(*after, after=2)))
    assert [(each.event, each.counted, each.estimated) for each in found] == [
        ("PX Deq: Execute Reply", True, True), ("latch free", False, False), (PLACE[1], True, False),
    ]  # fmt: skip
    idle, latch, write = found
    assert idle.sessions == pytest.approx(2 * 0.75 * 1048576 / 2e6)
    assert (latch.sessions, latch.mean_ms) == (pytest.approx(0.45), pytest.approx(450))
    assert write.p99 is not None
    assert (write.p99.upper_us, write.mean_ms) == (512, pytest.approx(0.5))
    assert {each.sessions for each in histograms.events(analyse(None, snapshot(*after)))} == {None}
    minute = replace(analyse(snapshot(*before), snapshot(*after, after=60)), interval=2.0)
    assert {(each.p99, each.longest) for each in histograms.events(minute)} == {(None, None)}, "they are of a minute"


def test_summaries_include_every_histogram() -> None:
    reading = analyse(None, snapshot(*counted(_512=5), *counted("latch free", _64=3)))
    assert [(each.now, each.startup.event, each.startup.waits) for each in histograms.summaries(reading)] == [
        (None, "latch free", 3), (None, PLACE[1], 5),
    ]  # fmt: skip


def test_impossible_buckets_are_left_out() -> None:
    """A bound of 0 and a count below 0: their share of the estimated time would be a division by zero."""
    rows = [
        EventHistogram(1, PLACE[1], upper, count) for upper, count in ((0, 7), (-8, 2), (512, 5), (1024, -5), (2048, 1))
    ]
    reading = analyse(None, snapshot(*rows))
    assert [(bucket.upper_us, bucket.count) for bucket in histogram(reading).buckets] == [(512, 5), (2048, 1)]
    assert analyse(None, snapshot(*rows[:2])).histograms == ()
    assert [each.startup.waits for each in histograms.summaries(reading)] == [6]


def test_a_long_average_names_its_unit_and_is_no_count_of_milliseconds() -> None:
    """All waits are in one bucket; its estimate is 0.75 of the bound: 0.75 x 2^30 us = 805,306,368 us = 13 min 25 s."""
    values = {each.name: each.now for each in figures(of({1 << 30: 4}), None, None, 15)}
    assert values["est. average (error)"].startswith("13:25")
    assert values["over"] == "last 2.0 s"
    short = {each.name: each.now for each in figures(of({1 << 10: 4}), None, None, 15)}
    assert short["est. average (error)"].startswith("0.768 ms")  # 0.75 x 1,024 us
    mean = HISTOGRAMS.column("mean_ms").unit.text
    assert (mean(1.2874), mean(141_723.345), mean(None)) == ("1.287", "142 s", "-"), "was 141,723.345"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.5, "90 (180/s)"),
        (180.0, "90 (0.5/s)"),
        (3600.0, "90 (90/h)"),  # 0.025 a second
        (41 * 86400.0, "90 (2.2/d)"),  # 90 / 41
    ],
)
def test_a_low_rate_is_per_hour_or_per_day(seconds: float, words: str) -> None:
    """90 waits in 41 days were `2.5e-05/s`."""
    counted = histograms.now(Histogram(1, "e", (Bucket(1024, 90, 90),), seconds=seconds))
    assert next(each.now for each in figures(counted, None, None, 15) if each.name == "waits") == words


@pytest.mark.parametrize(("seconds", "words"), [(5.3, "5.3 s"), (59.9, "59.9 s"), (60.2, "1:00"), (125.0, "2:05")])
def test_equal_times_are_written_in_one_way(seconds: float, words: str) -> None:
    """It was `last 5.3 s` and `0:05 of 15 min` beside each other, and `60.2 s` above them."""
    counted = histograms.now(Histogram(1, "e", (Bucket(1024, 4, 4),), seconds=seconds))
    (over, *_) = figures(counted, counted, None, 15)
    assert (over.now, over.window) == (f"last {words}", f"{words} of 15 min")
    moment = Moment(replace(reading(), interval=seconds, histograms=()), Choices())
    assert tab_latency.over(moment) == f"in the last {words}"


def test_a_bucket_without_a_delta_leaves_the_waits_since_the_last_poll_unknown() -> None:
    some = Histogram(1, "e", (Bucket(512, 90, 9), Bucket(1024, 4, None)), seconds=2.0)
    assert histograms.now(some) is None
    assert histograms.latency_percentile(some, 500) is None
