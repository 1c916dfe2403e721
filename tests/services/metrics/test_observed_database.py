"""Databases that are polled for metrics: up, lost, hanging and wrong, independent of each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from presman.analysis import assemble
from presman.analysis.alerts.alert_settings import AlertSetting, AlertSettings
from presman.base.log_event import LogEvent
from presman.output.alert_notifier import AlertNotifier
from presman.polling import sampler
from presman.rows.cursor_rows import PlanXml, PxPlanLine, SqlText
from presman.rows.instance_rows import EventHistogram
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section
from presman.services.live import LiveTarget
from presman.services.metrics.metric_page import Exporter, ObservedDatabase, families
from presman.sources import LoginRefusal, SourceError
from presman.sources.simulator_source import SimulatorSource
from tests.patience import until
from tests.services.metrics.observed import of, series
from tests.sources.fakes import START, FakeSource, row

Watch = Callable[..., ObservedDatabase]


def target(
    source: Any, label: str = "prod", interval: float = 0.001, alerts: AlertSettings = (), **more: Any
) -> LiveTarget:
    return LiveTarget(label, lambda: source, interval, notifier=AlertNotifier(alerts), **more)


def lines(messages: list[LogEvent]) -> list[str]:
    """Return the messages except those of each poll."""
    return [event.line for event in messages if event.level != "debug"]


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def messages() -> list[LogEvent]:
    return []


@pytest.fixture
def watch(messages: list[LogEvent], monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Reconnect only when the test says so: otherwise the database would be back before a slow test has checked."""
    monkeypatch.setattr(sampler, "FIRST_PAUSE", 600.0)
    begun: list[ObservedDatabase] = []

    def begin(source: Any, clock: Clock | None = None, **more: Any) -> ObservedDatabase:
        database = ObservedDatabase(target(source, **more), messages.append, clock=clock or Clock())
        begun.append(database)
        database.sampler.begin()
        return database

    yield begin
    for database in begun:
        database.sampler.stop()


def test_heads_of_the_queue_have_a_forecast(watch: Watch) -> None:
    database = watch(SimulatorSource("storm"), interval=0.05)
    until(lambda: database.state().observation is not None, "a poll")
    observation = database.state().observation
    assert observation is not None
    assert observation.reading.heads
    assert all(head.statement.starts is not None for head in observation.reading.heads)


def test_the_last_poll_is_shown(watch: Watch) -> None:
    database = watch(FakeSource())
    assert database.sampler.is_alive
    until(lambda: database.state().polls >= 3, "three polls")
    state = database.state()
    assert state.is_up
    assert state.observation is not None
    assert state.observation.reading.number >= 3
    assert state.last_poll is not None
    assert state.round_trips >= 3


def test_before_the_first_poll_a_database_is_neither_up_nor_down(messages: list[LogEvent]) -> None:
    database = ObservedDatabase(target(FakeSource()), messages.append)
    assert database.state().is_up is None
    assert of(series(database), "up") == []  # type: ignore[arg-type]
    assert of(series(database), "polls_total") == [0]  # type: ignore[arg-type]


def test_a_lost_database_has_no_figures_and_is_reported_once(watch: Watch, messages: list[LogEvent]) -> None:
    source = FakeSource()
    database = watch(source)
    until(lambda: database.state().is_up, "the first poll")
    source.failures = [SourceError(f"cut number {number}", code="DPY-4011") for number in range(2)]
    until(lambda: database.state().failures, "the loss")
    assert not database.state().is_up
    until(lambda: database.reachability.trouble == "DPY-4011 cut number 0", "why it is lost")
    database.sampler.poll_now()
    until(lambda: database.state().failures == 2, "the second attempt")
    database.sampler.poll_now()
    until(lambda: database.state().is_up, "the connection")
    until(lambda: len(lines(messages)) == 2, "the message")
    assert lines(messages) == ["prod: DPY-4011 cut number 0", "prod: connected again"]
    events = [(event.event, event.level, event.database) for event in messages]
    assert events[0] == ("polled", "debug", "prod")
    until(lambda: ("connected", "info", "prod") in [(each.event, each.level, each.database) for each in messages], "it")
    assert ("lost", "warning", "prod") in events
    assert database.reachability.trouble == ""
    assert of(series(database), "connection_failures_total") == [2]  # type: ignore[arg-type]


def test_a_database_whose_views_do_not_answer_is_not_up(watch: Watch, messages: list[LogEvent]) -> None:
    late = Section(problem=Problem("", "no answer in time", "V$X", late=True))
    source = FakeSource(answers=lambda _: late)
    database = watch(source)
    until(lambda: database.state().failures, "a poll without an answer")
    assert not database.state().is_up
    assert lines(messages) == ["prod: no view answers in time"]
    source.answers = lambda _: None
    source.now += timedelta(hours=1)  # slow views are not read for a while
    until(lambda: database.state().is_up, "an answer")


def test_a_wrong_password_is_not_tried_again(watch: Watch, messages: list[LogEvent]) -> None:
    database = watch(FakeSource(failures=[SourceError("ORA-01017: no", code="ORA-01017", retry=False)]))
    until(lambda: lines(messages), "the reason")
    assert lines(messages) == ["prod: ORA-01017: no; not tried again before a restart"]
    assert database.sampler.is_alive
    assert not database.state().is_up


def test_a_hanging_poll_removes_the_figures(watch: Watch) -> None:
    clock = Clock()
    source = FakeSource()
    database = watch(source, clock)
    until(lambda: database.state().is_up, "the first poll")
    source.hang = threading.Event()
    source.entered.clear()
    until(source.entered.is_set, "a poll that hangs")
    polls = database.state().polls
    clock.now += 5.0
    assert database.state().is_up
    clock.now += 1000.0
    state = database.state()
    assert not state.is_up
    assert state.polls >= polls
    source.hang.set()
    until(lambda: database.state().is_up, "the next poll")


def test_an_internal_error_affects_one_database_only(
    watch: Watch, messages: list[LogEvent], monkeypatch: pytest.MonkeyPatch
) -> None:
    analyse = assemble.analyse

    def broken(previous: Any, current: Any, cache: Any) -> Any:
        if current.target == "bad":
            raise ZeroDivisionError("of \x1b[31m its own")
        return analyse(previous, current, cache)

    monkeypatch.setattr(assemble, "analyse", broken)
    bad, good = watch(FakeSource(name="bad"), label="bad"), watch(FakeSource())
    until(lambda: good.state().polls >= 2, "polls of the other")
    until(lambda: bad.state().failures >= 2, "errors of the first")
    assert bad.sampler.is_alive
    assert not bad.state().is_up
    assert lines(messages) == ["bad: internal error: ZeroDivisionError: of ␛[31m its own"]


def test_histograms_stay_as_they_were_read_with_their_sums(watch: Watch) -> None:
    rows = {
        EventHistogram: (row(EventHistogram, inst_id=1, event="log file sync", wait_time_micro=1024, wait_count=3),)
    }
    source = FakeSource(rows, kind="oracle", step=2.0)
    database = watch(source)
    until(lambda: database.state().polls >= 12, "polls of half a minute")
    asked = [request.query.record for read in source.reads for request in read]
    assert asked.count(EventHistogram) == 1
    observation = database.state().observation
    assert observation is not None
    assert observation.histograms[0].buckets[0].count == 3


@pytest.mark.parametrize(("alerts", "each"), [((), False), ((AlertSetting("latency", warning=1.0),), True)])
def test_histograms_are_read_at_each_poll_only_for_a_threshold(watch: Watch, alerts: Any, each: bool) -> None:
    source = FakeSource(kind="oracle", step=0.5)
    database = watch(source, alerts=alerts)
    until(lambda: database.state().polls >= 4, "a few polls")
    asked = [request.query.record for read in source.reads for request in read]
    assert (asked.count(EventHistogram) > 1) is each


def test_neither_texts_nor_idle_sessions_are_read(watch: Watch) -> None:
    waiting = [
        row(Session, inst_id=1, sid=number, serial=1, sql_id=f"{number:013}", event="resmgr:pq queued",
            state="WAITING", status="ACTIVE")
        for number in range(40)
    ]  # fmt: skip
    plans = {record: (row(record),) for record in (PlanXml, PxPlanLine)}
    source = FakeSource({Session: tuple(waiting), **plans}, kind="oracle", step=40.0)
    database = watch(source)
    until(lambda: database.state().polls >= 8, "polls of minutes")
    requests = [request for read in source.reads for request in read]
    assert all(request.query.record is not SqlText for request in requests)
    assert all(not request.binds.get("with_idle") for request in requests)
    assert len({request.binds["sql_id"] for request in requests if "sql_id" in request.binds}) == 20


def test_databases_begin_one_after_the_other_and_end_together(messages: list[LogEvent]) -> None:
    sources = [FakeSource(hang=threading.Event()) for _ in range(5)]
    exporter = Exporter([target(source, f"db{number}", 5.0) for number, source in enumerate(sources)], messages.append)
    assert exporter.is_healthy
    pauses: list[float] = []
    exporter.start(pauses.append)
    assert pauses == [1.0] * 4
    assert exporter.is_healthy
    until(lambda: all(source.entered.is_set() for source in sources), "five polls that hang")
    exporter.stop()
    until(lambda: not any(database.sampler.is_alive for database in exporter.databases), "the end of all")
    assert not exporter.is_healthy


def test_the_source_s_own_clock_does_not_matter(watch: Watch) -> None:
    database = watch(FakeSource(now=START.replace(year=1999)))
    until(lambda: database.state().is_up, "the first poll")
    last = database.state().last_poll
    assert last is not None
    assert last > START.timestamp() - 10 * 366 * 86400


def test_the_next_attempt_for_a_locked_account_is_reported(watch: Watch, messages: list[LogEvent]) -> None:
    locked = SourceError("ORA-28000: locked", code="ORA-28000", retry=False, refusal=LoginRefusal.LOCKED)
    begun = time.time()
    database = watch(FakeSource(failures=[locked]))
    until(lambda: database.state().failures, "the loss")
    assert lines(messages) == ["prod: ORA-28000: locked; tried again every 10 min"]
    state = database.state()
    assert state.next_try is not None
    assert begun <= state.next_try - 600 <= time.time()
    (family,) = (each for each in families([database]) if each.metric.name == "presman_next_try_timestamp_seconds")
    assert [sample.value for sample in family.samples] == [state.next_try]
    database.sampler.poll_now()
    until(lambda: database.state().is_up, "an open account")
    assert database.state().next_try is None
