"""Whether the queue is worse than usual: calculated by hand."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.parallel.usual import Comparison, CounterMark, QueueMarks, between, compare, counter_marks, hours
from presman.analysis.readings.group_readings import QueueTotals
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import UsualQueue
from presman.rows.group_rows import GroupMetricHistory, RsrcPlanHistory
from tests.analysis.make import NOON, active_plan, group, instance, row, snapshot


def mark(minutes: float, *totals: int, running: int = 0, queued: int = 0) -> CounterMark:
    return CounterMark(NOON + timedelta(minutes=minutes), QueueTotals(*totals), running, queued)


def test_since_the_plan_was_activated() -> None:
    # 40 completed, 4 timed out, 3 run, 3 wait: 50 came, 20 of them queued, 600 s together, and ran for 1,800 s
    usual = between(None, mark(0, 20, 40, 640, 1_800_000, 600_000, 4, running=3, queued=3), 3600.0)
    assert usual is not None
    assert usual.percent_queued == pytest.approx(40.0)
    assert usual.mean_wait == pytest.approx(30.0)
    assert usual.queued_share == pytest.approx(0.25)
    assert usual.mean_servers == pytest.approx(16.0)
    assert usual.mean_queue == pytest.approx(1 / 6)  # Little: 600 s of waiting in an hour
    assert usual.timeouts == 4


def test_between_two_marks_only_the_difference_counts() -> None:
    before = mark(0, 20, 40, 640, 1_800_000, 600_000, 4, running=3, queued=3)
    after = mark(1, 28, 46, 736, 1_920_000, 900_000, 4, running=4, queued=6)
    usual = between(before, after, 60.0)
    assert usual is not None
    assert usual.percent_queued == pytest.approx(80.0)  # 6 completed, 1 more runs, 3 more wait: 10 came, 8 queued
    assert usual.mean_wait == pytest.approx(300 / 11)  # of 300 s: 8 queued anew, and 3 had before
    assert usual.mean_servers == pytest.approx(16.0)
    assert usual.mean_queue == pytest.approx(5.0)
    assert usual.timeouts == 0


def test_counters_that_went_back_say_nothing() -> None:
    assert between(mark(0, 20, 40, 640, 1, 1, 4), mark(1, 1, 2, 32, 1, 1, 0), 60.0) is None


def test_nothing_came_nothing_is_divided_by() -> None:
    same = mark(0, 20, 40, 640, 1, 1, 4)
    usual = between(same, same, 60.0)
    assert usual is not None
    assert usual.percent_queued is usual.mean_wait is usual.queued_share is usual.mean_servers is None
    assert usual.mean_queue == 0
    assert between(None, mark(0, 0, 0, 0, 0, 0, 0), None) is not None


def minute(number: int, name: str, queued: float, active: float, servers: float, **more: Any) -> GroupMetricHistory:
    return row(
        GroupMetricHistory, consumer_group_name=name, intsize_csec=6000, end_time=NOON - timedelta(minutes=number),
        avg_queued_parallel_stmts=queued, avg_active_parallel_stmts=active, avg_active_parallel_servers=servers,
        **more,
    )  # fmt: skip


def test_the_metric_history_is_averaged_over_time() -> None:
    found = hours([minute(1, "BATCH", 4, 2, 32), minute(2, "BATCH", 0, 1, 8), minute(1, "ETL", 0, 0, 0)], NOON)
    usual = found[0, "BATCH"]
    assert (usual.seconds, usual.mean_queue) == (120.0, 2.0)
    assert usual.queued_share == pytest.approx(4 / 7)
    assert usual.mean_servers == pytest.approx(40 / 3)
    assert found[0, "ETL"].mean_queue == 0
    assert found[0, "ETL"].queued_share is None


def test_minutes_of_more_than_an_hour_ago_say_nothing_of_the_last_hour() -> None:
    # Read at noon, half an hour on: of 60 minutes 30 are left, and two hours on none.
    rows = [minute(number, "BATCH", 4.0 if number < 30 else 0.0, 2, 32) for number in range(60)]
    assert hours(rows, NOON)[0, "BATCH"].mean_queue == 2.0
    later = hours(rows, NOON + timedelta(minutes=30))[0, "BATCH"]
    assert (later.seconds, later.mean_queue) == (1800.0, 4.0)
    assert hours(rows, NOON + timedelta(hours=2)) == {}


def test_instances_add_up() -> None:
    found = hours([minute(1, "BATCH", 4, 2, 32), minute(1, "BATCH", 2, 2, 32, inst_id=2)], NOON)
    assert found[0, "BATCH"].mean_queue == 6.0
    assert found[0, "BATCH"].seconds == 60.0


def test_before_12_1_the_history_has_no_parallel_columns() -> None:
    assert hours([row(GroupMetricHistory, consumer_group_name="BATCH", intsize_csec=6000, end_time=NOON)], NOON) == {}


def reading(queued: int, *more: Any, after: float = 0.0, **counters: int) -> Reading:
    window = row(RsrcPlanHistory, sequence=1, name="DAY", start_time=NOON - timedelta(hours=2))
    batch = group("BATCH", current_pqs_queued=queued, **counters)
    return analyse(None, snapshot(instance(), active_plan(), window, batch, *more, after=after))


def test_compared_with_the_hour() -> None:
    (one,) = compare(reading(9, minute(1, "BATCH", 3, 2, 32), pqs_queued=10, pq_queued_time=72_000))
    assert one.plan is not None
    assert one.plan.mean_queue == pytest.approx(0.01)  # 72 s in two hours
    assert one.hour is not None
    assert one.hour.mean_queue == 3.0
    assert one.now.mean_queue == 9.0
    assert one.worse


@pytest.mark.parametrize(("hours_ago", "mean"), [((1,), 72 / 3600), ((1, 1), 72 / 3600), ((1, 5), None)])
def test_since_the_plan_of_its_container_was_activated(hours_ago: tuple[int, ...], mean: float | None) -> None:
    """The time since the root's plan was set divided the counters: a queue as usual was called worse."""
    starts = [NOON - timedelta(hours=each) for each in hours_ago]
    windows = [
        row(RsrcPlanHistory, inst_id=number, con_id=con_id, sequence=1, name="DAY", start_time=start)
        for number, begun in enumerate(starts, 1)
        for con_id, start in ((1, NOON - timedelta(days=30)), (3, begun))
    ]
    plans = (active_plan(con_id=1), active_plan(con_id=3, is_top_plan="FALSE"))
    batch = group("BATCH", con_id=3, current_pqs_queued=9, pqs_queued=10, pq_queued_time=72_000)
    found = analyse(None, snapshot(instance(), instance(2), *plans, *windows, batch))
    (plan,) = [each.plan for each in compare(found) if each.con_id == 3]
    assert plan is not None
    assert plan.mean_queue == (None if mean is None else pytest.approx(mean))


def test_a_short_queue_is_not_called_worse() -> None:
    (one,) = compare(reading(1, minute(1, "BATCH", 0.1, 2, 32), pqs_queued=10))
    assert not one.worse
    (one,) = compare(reading(5, minute(1, "BATCH", 3, 2, 32), pqs_queued=10))
    assert not one.worse


def test_now_is_the_last_minute_where_it_was_watched() -> None:
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    then = reading(4, after=60, pqs_queued=16, pqs_completed=14, pq_queued_time=280_000)
    (one,) = compare(then, counter_marks(first), counter_marks(first))
    assert one.now.mean_queue == pytest.approx(3.0)
    assert one.now.mean_wait == pytest.approx(22.5)  # 180 s, of 2 that had queued and 6 more
    assert one.hour == one.now


def test_the_history_and_the_polls_since_are_one_hour() -> None:
    # Three minutes until noon with 2 in the queue, and one since with 180 s of waiting: 540 s in four minutes.
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    history = [minute(number, "BATCH", 2, 2, 32) for number in range(3)]
    then = reading(4, *history, after=60, pqs_queued=16, pqs_completed=14, pq_queued_time=280_000)
    (one,) = compare(then, {}, counter_marks(first))
    # The statements and waits of the three minutes are not known, so neither are those of the four.
    assert one.hour == UsualQueue(240.0, None, None, None, None, 2.25, None)


def test_a_history_that_was_read_anew_is_not_counted_twice() -> None:
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    counters = {"pqs_queued": 16, "pqs_completed": 14, "pq_queued_time": 280_000}
    for read, seconds, queue in ((1, 60.0, 3.0), (3, 180.0, 2.0)):
        history = [minute(number - 2, "BATCH", 2, 2, 32) for number in range(read)]
        (one,) = compare(reading(4, *history, after=60, **counters), {}, counter_marks(first))
        assert one.hour is not None
        assert (one.hour.seconds, one.hour.mean_queue) == (seconds, queue)


Life = tuple[int, int]
"""When a statement queued, and for how long."""


@given(
    lives=st.lists(st.tuples(st.integers(0, 500), st.integers(1, 400)), max_size=12),
    start=st.integers(0, 400),
    seconds=st.integers(1, 300),
)
def test_no_mean_wait_is_longer_than_the_longest(lives: list[Life], start: int, seconds: int) -> None:
    def at(second: int) -> CounterMark:
        waited = [min(second - came, wait) for came, wait in lives if came <= second]
        queued = sum(came <= second < came + wait for came, wait in lives)
        totals = QueueTotals(len(waited), len(waited) - queued, 0, 0, 1000 * sum(waited), 0)
        return CounterMark(NOON + timedelta(seconds=second), totals, 0, queued)

    end = start + seconds
    longest = max((min(end - came, wait) for came, wait in lives if came <= end and came + wait > start), default=0)
    for before, stretch in ((at(start), float(seconds)), (None, float(end))):
        usual = between(before, at(end), stretch)
        assert usual is not None
        known = longest if before else max((min(end - came, wait) for came, wait in lives if came <= end), default=0)
        assert usual.mean_wait is None or 0 <= usual.mean_wait <= known


def test_statements_that_queued_before_the_counters_began_have_no_mean_wait() -> None:
    # Nine that were there when the plan was activated waited 540 s in the first minute; PQS_QUEUED knows of one.
    usual = between(None, mark(1, 1, 9, 0, 0, 540_000, 0, queued=1), 60.0)
    assert usual is not None
    assert (usual.mean_wait, usual.mean_queue) == (None, 9.0)


def test_a_history_of_unknown_length_reaches_no_further_back_than_half_a_second_that_was_watched() -> None:
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    then = reading(2, minute(1, "BATCH", 3, 2, 32), after=0.5, pqs_queued=10, pqs_completed=10, pq_queued_time=101_000)
    (known,) = then.hour
    unknown = replace(then, hour=(replace(known, usual=replace(known.usual, seconds=None)),))
    (one,) = compare(unknown, {}, counter_marks(first))
    assert one.hour is not None
    assert (one.hour.seconds, one.hour.mean_queue) == (0.5, 2.0)


def test_a_poll_that_is_seen_twice_ends_no_mark_and_counters_that_began_anew_end_all() -> None:
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    then = reading(4, after=60, pqs_queued=16, pqs_completed=14, pq_queued_time=280_000)
    marks = QueueMarks()
    for each in (first, then, then):
        marks.add(each)
    (one,) = marks.compare(then)
    assert (one.now.mean_wait, one.now.mean_queue) == (22.5, 3.0)
    for counters in ({"pqs_queued": 15, "pqs_completed": 14}, {"pqs_queued": 16, "pqs_completed": 13}):
        again, anew = QueueMarks(), reading(4, after=120, pq_queued_time=300_000, **counters)
        for each in (first, then, anew):
            again.add(each)
        (one,) = again.compare(anew)
        assert one.now.mean_wait is None


def test_groups_without_parallel_statements_are_left_out() -> None:
    assert compare(reading(0)) == ()


def test_an_earlier_instant_gives_no_average() -> None:
    later = reading(2, after=60, pqs_queued=10)
    (one,) = compare(reading(2, pqs_queued=10), counter_marks(later), counter_marks(later))
    assert one.now.mean_queue is None
    assert isinstance(later.at, datetime)


def minute_of(queued_ms: int, queued: int) -> Comparison:
    """Return the last minute of a group, with this wait, and a mean queue of 0.5 over the last hour."""
    first = reading(1, minute(1, "BATCH", 0.5, 2, 32), pqs_queued=10, pq_queued_time=100_000)
    then = reading(
        1, minute(1, "BATCH", 0.5, 2, 32), after=60, pqs_queued=16, pqs_completed=14,
        pq_queued_time=100_000 + queued_ms,
    )  # fmt: skip
    groups = tuple(row._replace(px_queued=queued) for row in then.groups)
    (one,) = compare(replace(then, groups=groups), counter_marks(first))
    return one


@pytest.mark.parametrize(
    ("queued_ms", "queued", "mean", "worse"),
    [
        (42_000, 2, 0.7, False),  # two at this instant, but 0.7 on average is what is shown
        (120_000, 1, 2.0, True),  # one at this instant, and 2.0 on average is four times 0.5
        (114_000, 5, 1.9, False),  # a short queue
        (180_000, 0, 3.0, False),  # it is gone
    ],
)
def test_what_is_shown_is_what_is_judged(queued_ms: int, queued: int, mean: float, worse: bool) -> None:
    one = minute_of(queued_ms, queued)
    assert one.now.mean_queue == pytest.approx(mean)
    assert one.worse is worse


def test_polls_as_long_as_the_history_are_the_hour() -> None:
    first = reading(2, pqs_queued=10, pqs_completed=10, pq_queued_time=100_000)
    then = reading(4, minute(-1, "BATCH", 5, 2, 32), after=60, pqs_queued=16, pqs_completed=14, pq_queued_time=280_000)
    (one,) = compare(then, {}, counter_marks(first))
    assert one.hour is not None
    assert (one.hour.seconds, one.hour.mean_queue) == (60.0, 3.0)  # 180 s of waiting in 60 s


def test_counters_that_a_release_lacks_count_none_that_came() -> None:
    none = QueueTotals(*(None for _ in QueueTotals._fields))
    assert CounterMark(NOON, none, 0, 0).came == 0
    assert CounterMark(NOON, none._replace(completed=5, timeouts=2), 3, 4).came == 14


def test_a_minute_of_zero_length_does_not_count() -> None:
    def short(length: int) -> GroupMetricHistory:
        return row(GroupMetricHistory, consumer_group_name="BATCH", intsize_csec=length, end_time=NOON,
                   avg_queued_parallel_stmts=3.0, avg_active_parallel_stmts=1.0)  # fmt: skip

    assert hours([short(0)], NOON) == {}
    (usual,) = hours([short(1)], NOON).values()
    assert (usual.seconds, usual.mean_queue) == (0.01, 3.0)
