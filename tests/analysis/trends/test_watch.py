"""State that is remembered over many readings."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.parallel.usual import QueueMarks
from presman.analysis.readings.reading import Evidence, Reading, UnavailableView
from presman.analysis.readings.session_readings import ON_CPU, Activity
from presman.analysis.readings.statement_readings import Downgrades, RunningStatement
from presman.analysis.trends import Watch
from presman.analysis.trends.series import Series, completed
from presman.analysis.trends.statement_runs import StatementRun, StatementRuns
from presman.rows.queries import DetailLevel
from tests.analysis.make import NOON, active_plan, group, instance, queued_session, snapshot
from tests.analysis.test_simulated import play, started
from tests.output.readings import group as group_reading
from tests.thorough import THOROUGH
from tests.tui.readings import queued

BASE = replace(analyse(None, snapshot(instance(), active_plan())), basis=())
CLASSES = ("Parallel operations not downgraded", "Parallel operations downgraded to serial", "queries parallelized")


def running(sid: int = 1, **changes: Any) -> RunningStatement:
    values: dict[str, Any] = {
        "inst_id": 1, "sid": sid, "serial": 7, "group": "ETL", "user": "U", "program": "p", "module": "", "service": "",
        "machine": "", "sql_id": "9md3ukhghgj58", "child": 0, "servers": 8, "sets": 1, "degree": 8, "requested": 16,
        "downgraded": 50.0, "elapsed": 30.0, "idle": None, "status": "ACTIVE", "event": "", "servers_by_instance": {},
        "dop": None, "sql_text": "",
    }  # fmt: skip
    return RunningStatement(**(values | changes))


def at(seconds: float, *statements: RunningStatement, **changes: Any) -> Reading:
    return replace(BASE, at=NOON + timedelta(seconds=seconds), running=statements, **changes)


def downgraded(runs: StatementRuns) -> list[StatementRun]:
    return runs.downgraded_since(NOON - timedelta(hours=1))


def test_each_execution_is_downgraded_once() -> None:
    runs = StatementRuns()
    runs.add(at(0, running()))
    runs.add(at(2, running(elapsed=32.0, degree=6)))
    assert len(downgraded(runs)) == 1
    runs.add(at(60, running(elapsed=3.0)))  # the same session, the same SQL, another execution
    runs.add(at(62))
    runs.add(at(64, running(elapsed=1.0)))
    assert [each.downgraded_at for each in downgraded(runs)] == [NOON + timedelta(seconds=s) for s in (64, 60, 0)]
    (last,) = runs.downgraded_since(NOON + timedelta(seconds=64))
    assert (last.degree, last.requested, last.downgraded) == (8, 16, 50.0)
    assert downgraded(runs)[-1].degree == 8, "as it was first seen"


@pytest.mark.parametrize(("elapsed", "entered"), [(30.0, 1), (27.5, 1), (26.5, 2), (10.0, 2)])
def test_another_execution_begins_five_seconds_later(elapsed: float, entered: int) -> None:
    """ELAPSED_TIME comes seconds late: two seconds after one that had run for 30, less than 27 are another one."""
    runs = StatementRuns()
    runs.add(at(0, running()))
    runs.add(at(2, running(elapsed=elapsed)))
    assert len(downgraded(runs)) == entered


def test_without_a_start_an_execution_is_downgraded_once_while_it_is_there() -> None:
    runs = StatementRuns()
    for seconds in (0, 2, 4):
        runs.add(at(seconds, running(elapsed=None), running(2, downgraded=0.0)))
    assert len(downgraded(runs)) == 1
    runs.add(at(6, running(2)))
    assert [each.sid for each in downgraded(runs)] == [2, 1], "one may be seen to be downgraded later, too"


def test_operations_by_class_over_the_hour() -> None:
    marks = QueueMarks()

    def counted(seconds: float, *totals: int) -> Reading:
        rows = tuple(
            Downgrades(inst, name, total, None) for inst in (1, 2) for name, total in zip(CLASSES, totals, strict=True)
        )
        return at(seconds, downgrades=rows)

    for minute in range(4):
        marks.add(counted(minute * 60, 100 + 10 * minute, 2 * minute, 7))
        marks.add(counted(minute * 60 + 30, 5000, 5000, 5000))  # between two marks nothing is taken
    last = counted(200, 135, 6, 9)
    assert marks.downgrades(last) == {CLASSES[0]: 70, CLASSES[1]: 12}
    assert marks.downgraded_by_minute(last) == (4, 4, 4)
    assert marks.downgrades(counted(60, 110, 2, 7)) == {CLASSES[0]: 20, CLASSES[1]: 4}  # as seen from then


def counters(seconds: float, queued: int, waited_ms: int) -> Reading:
    row = group("ETL", pqs_queued=queued, pqs_completed=queued, pq_queued_time=waited_ms, current_pqs_queued=1)
    return analyse(None, snapshot(instance(), active_plan(), row, after=seconds))


def test_the_last_minute_and_the_hour() -> None:
    marks = QueueMarks()
    for minute in range(70):
        marks.add(counters(minute * 60, minute, minute * 30_000))
    (one,) = marks.compare(counters(70 * 60, 72, 70 * 30_000 + 60_000))
    assert one.now.seconds == 60
    assert one.now.mean_queue == pytest.approx(1.5)
    assert one.hour is not None
    assert one.hour.seconds == 3600
    assert one.hour.mean_queue == pytest.approx((60 * 30 + 60) / 3600)


def test_counters_that_begin_anew_are_not_compared() -> None:
    marks = QueueMarks()
    marks.add(counters(0, 100, 1_000_000))
    marks.add(counters(60, 2, 1000))
    (one,) = marks.compare(counters(121, 4, 62_000))
    assert one.now.mean_queue == pytest.approx(1.0)
    assert one.hour == one.now


def test_all_arrivals_since_a_counter_reset_are_in_the_hour() -> None:
    """A plan is switched 10 s after a mark: 3 statements came in the two minutes since, 2 of them in the first."""
    marks = QueueMarks()
    marks.add(counters(0, 100, 1_000_000))
    marks.add(counters(10, 0, 0))
    marks.add(counters(60, 2, 30_000))
    marks.add(counters(70, 2, 40_000))
    (one,) = marks.compare(counters(130, 3, 60_000))
    assert one.hour is not None
    assert one.hour.seconds == 120
    assert one.hour.mean_queue == pytest.approx(60 / 120)
    assert one.now.seconds == 60


def test_a_statement_queues_runs_idles_and_ends() -> None:
    spans = StatementRuns()
    waiting = analyse(None, snapshot(instance(), active_plan(), queued_session(1, "ETL", 40.0), after=0)).queue
    queued = replace(waiting[0], serial=7, sql_id="9md3ukhghgj58")
    spans.add(at(0, queue=(queued,)))
    spans.add(at(10, queue=(replace(queued, waited=50.0),)))
    spans.add(at(20, running(elapsed=5.0)))
    spans.add(at(30, running(elapsed=None, idle=4.0)))
    spans.add(at(40))
    (span,) = spans.within(NOON, NOON + timedelta(minutes=1))
    moments = [span.queued, span.started, span.idle, span.ended]
    assert moments == [NOON + timedelta(seconds=s) for s in (-40, 15, 26, 35)]
    assert span.servers == 8
    assert spans.within(NOON + timedelta(seconds=36), NOON + timedelta(seconds=50)) == []


def test_the_same_session_again_is_another_span() -> None:
    spans = StatementRuns()
    spans.add(at(0, running(elapsed=5.0)))
    spans.add(at(20, running(elapsed=5.0)))
    first, second = spans.within(NOON, NOON + timedelta(minutes=1))
    assert first.ended == second.started == NOON + timedelta(seconds=15)


def test_a_session_that_never_ran_before_it_queued() -> None:
    """The start of an execution may be the time of its submission."""
    spans = StatementRuns()
    waiting = analyse(None, snapshot(instance(), active_plan(), queued_session(1, "ETL", 10.0))).queue
    spans.add(at(0, queue=(replace(waiting[0], serial=7, sql_id="9md3ukhghgj58"),)))
    spans.add(at(20, running(elapsed=60.0)))
    (span,) = spans.within(NOON, NOON + timedelta(minutes=1))
    assert span.started == NOON + timedelta(seconds=10)  # between the last look at the queue and the next


def test_spans_agree_with_the_simulator() -> None:
    source, clock = started("storm", 3)
    watch = Watch()
    truth: dict[tuple[int, int], dict[float, Any]] = {}
    for reading in play(source, clock, 120 if THOROUGH else 25, 2.0, DetailLevel.NARROW):
        watch.add(reading)
        for session, one in source.simulation.workload.executions.items():
            truth.setdefault((session.sid, session.serial), {})[one.queued_at] = one.started
    origin = datetime(2026, 3, 14, 9, tzinfo=UTC)
    known = [span for span in watch.runs.within(origin, reading.at) if span.started and span.queued]
    assert known
    for span in known:
        began = (span.queued - origin).total_seconds()
        queued_at, ran = min(truth[span.sid, span.serial].items(), key=lambda each: abs(each[0] - began))
        assert abs(began - queued_at) <= 1.1
        assert abs((span.started - origin).total_seconds() - ran) <= 2.1


def of_instances(seconds: float, used: dict[int, float], queued: int = 0) -> Reading:
    """Return a reading of one group that uses so many CPUs on each instance, 0 being the cluster."""
    groups = tuple(group_reading("ETL", inst_id, cpus) for inst_id, cpus in used.items())
    waiting = analyse(None, snapshot(instance(), active_plan(), queued_session(1, "ETL", 40.0))).queue
    return at(seconds, groups=groups, queue=waiting * queued, basis=())


def test_an_instance_that_was_alone_keeps_its_own_values_when_another_comes() -> None:
    series, noon = Series(), NOON.timestamp()

    def used(inst_id: int) -> tuple[float | None, ...]:
        return series.buckets(("used", inst_id, 0, "ETL"), noon, 10.0, 3)

    series.add(of_instances(0, {0: 2.0, 1: 2.0}, queued=3))
    series.add(of_instances(10, {0: 3.0, 1: 3.0}))
    assert used(1) == used(0) == (2.0, 3.0, None)
    assert series.names("used", 1) == [(0, "ETL")]
    assert {inst_id for _, inst_id, _, _ in series._values} == {0}, "kept once while it is alone"
    series.add(of_instances(20, {0: 5.0, 1: 4.0, 2: 1.0}))
    assert (used(0), used(1), used(2)) == ((2.0, 3.0, 5.0), (2.0, 3.0, 4.0), (None, None, 1.0))
    queue = [series.buckets(("queued", inst_id, 0, ""), noon, 10.0, 1) for inst_id in (0, 1)]
    assert queue == [(3.0,), (None,)], "the queue is one of the whole cluster"


def test_active_sessions_are_kept_by_class_and_those_of_none_are_zero() -> None:
    series, noon = Series(), NOON.timestamp()
    series.add(at(0, activity=Activity(3, {"User I/O": 2, ON_CPU: 1}, ())))
    series.add(at(10))
    kept = {name: series.buckets(("active", 0, 0, name), noon, 10.0, 2) for name in ("User I/O", ON_CPU, "Commit")}
    assert kept == {"User I/O": (2.0, None), ON_CPU: (1.0, None), "Commit": (0.0, None)}


@pytest.mark.parametrize(("seconds", "integral"), [(120, (360.0, 120.0)), (121, (0.0, 0.0))])
def test_nothing_is_known_between_polls_over_two_minutes_apart(seconds: float, integral: tuple[float, float]) -> None:
    series, noon = Series(), NOON.timestamp()
    for at_seconds in (0, seconds):
        series.add(of_instances(at_seconds, {0: 3.0, 1: 3.0}))
    assert series.integral(("used", 0, 0, "ETL"), noon, noon + seconds) == integral


def test_values_of_a_series_over_a_period() -> None:
    """2 CPUs for 10 s, then 4; 200 s later 6, and nothing is known of the time between."""
    series, noon = Series(), NOON.timestamp()
    for seconds, cpus in ((0, 1.0), (10, 2.0), (20, 4.0), (220, 6.0), (230, 8.0)):
        series.add(of_instances(seconds, {0: cpus, 1: cpus}))
    series.add(of_instances(230, {0: 99.0, 1: 99.0}))  # no newer than the last
    key = ("used", 0, 0, "ETL")
    assert series.integral(key, noon, noon + 230) == (2 * 10 + 4 * 10 + 8 * 10, 30)
    assert series.integral(key, noon + 5, noon + 10) == (2 * 5, 5)
    assert series.most(key, noon, noon + 20) == 4.0
    assert series.most(key, noon + 21, noon + 219) is None
    assert series.buckets(key, noon, 20.0, 2) == (1.5, 4.0)  # at 0 and 10, at 20
    assert completed(NOON + timedelta(seconds=59), 60.0) == noon
    assert completed(NOON + timedelta(seconds=60), 60.0) == noon + 60


@pytest.mark.parametrize("counter", ["pqs_queued", "pqs_completed"])
def test_one_counter_that_goes_back_resets_all(counter: str) -> None:
    """Marks at 0 and 60 s; a counter falls at 60 s: at 120 s a minute is known and not two."""
    marks = QueueMarks()

    def at_minute(number: int, count: int) -> Reading:
        row = group("ETL", current_pqs_queued=1, **{counter: count})
        return analyse(None, snapshot(instance(), active_plan(), row, after=60.0 * number))

    marks.add(at_minute(0, 9))
    marks.add(at_minute(1, 3))
    (one,) = marks.compare(at_minute(2, 5))
    assert one.hour is not None
    assert one.hour.seconds == 60


@pytest.mark.parametrize(("view", "kept"), [("GV$PX_SESSION", {1, 2}), ("V$PX_SESSION", {1, 2}), ("V$SESSION", {2})])
def test_nothing_ends_while_its_view_is_silent(view: str, kept: set[int]) -> None:
    """1 runs and 2 is queued; then neither is visible. Only V$PX_SESSION shows running statements."""
    runs = StatementRuns()
    queue = (queued(sid=2, waited=5.0),)
    runs.add(at(0, running(1), queue=queue))
    why = f"{view}: ORA-00942"
    basis = (Evidence("queue", (view,), why),) if view == "V$SESSION" else ()
    runs.add(at(2, unseen=(UnavailableView(view, why),), basis=basis, queue=()))
    assert {run.sid for run in runs.open} == kept
    runs.add(at(4, queue=()))
    assert runs.open == []
    ended = {run.sid: run.ended for run in runs.ended_since(NOON)}
    assert ended == {sid: NOON + timedelta(seconds=3 if sid in kept else 1) for sid in (1, 2)}


@pytest.mark.parametrize("view", ["V$PX_SESSION", "V$SESSION"])
def test_a_queued_statement_that_no_view_lists_for_an_hour_is_cut_off(view: str) -> None:
    """It counted as queued for as long as presman ran, and so did each one after it."""
    runs, why = StatementRuns(), f"{view}: ORA-00942"
    runs.add(at(0, queue=(queued(sid=2, waited=5.0),)))
    basis = (Evidence("queue", (view,), why),) if view == "V$SESSION" else ()
    hidden = {"unseen": (UnavailableView(view, why),), "basis": basis, "queue": ()}
    runs.add(at(3600, **hidden))
    assert [run.sid for run in runs.open] == [2]
    runs.add(at(3601, **hidden))
    assert runs.open == []
    (run,) = runs.of(queued(sid=2).sql_id)
    assert (run.ended, run.cut, run.waited(NOON)) == (NOON, True, 5.0)
