"""Live pipeline: a sampler that starts without a listener, the meaning of its events, messages about lost databases."""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from presman.analysis import assemble
from presman.base.log_event import LogEvent
from presman.polling.cadence import PollNeeds
from presman.polling.poll_events import Event, Polled, PreviewCame, SourceEnded, SourceLost
from presman.polling.poller import Poller
from presman.polling.sampler import Sampler
from presman.rows.queries import DetailLevel, Focus, Scope
from presman.rows.session_rows import Session, SessionStatistic
from presman.rows.snapshot import Snapshot
from presman.services.live import (
    EarlySampler,
    LiveTarget,
    NotUnderstood,
    Preview,
    Reachability,
    ReadingCame,
    Readings,
    sampler_of,
)
from presman.sources.simulator_source import SimulatorSource
from tests.patience import until
from tests.scenarios import with_short_past
from tests.sources.fakes import FakeSource


def begun(let_go: Callable[[], object]) -> tuple[EarlySampler, SimulatorSource]:
    source = SimulatorSource("quiet")
    start = EarlySampler(
        lambda on_event: Sampler(lambda: source, refresh=60, scope=Scope.CLUSTER, post=on_event), let_go
    )
    return start, source


def test_readings_wait_for_a_listener() -> None:
    ended: list[bool] = []
    start, source = begun(lambda: ended.append(True))
    until(lambda: source._database is not None and start.sampler.polled.poller is not None, "an open source")
    events: list[Event] = []
    threads: set[str] = set()

    def listen(event: Event) -> None:
        threads.add(threading.current_thread().name)
        events.append(event)

    sampler = start.sampler
    sampler.set_refresh(0.05)
    start.attach(listen)
    until(lambda: sum(isinstance(each, Polled) for each in events) > 1, "two polls")
    numbers = [each.snapshot.number for each in events if isinstance(each, Polled)]
    assert numbers[:2] == [1, 2]
    assert threads == {"presman-sampler"}, "the screen's own thread analyses nothing"
    start.end()
    until(lambda: not sampler.is_alive, "the end of the thread")
    assert ended == [True]


def test_a_start_ends_without_a_listener() -> None:
    ended: list[bool] = []
    start, source = begun(lambda: ended.append(True))
    until(lambda: source._database is not None, "an open source")
    start.end()
    until(lambda: not start.sampler.is_alive, "the end of the thread")
    assert ended == [True]


class AlertNotifier:
    detail_level = DetailLevel.HISTOGRAMS

    def __init__(self) -> None:
        self.calls: list[Any] = []

    def read(self, reading: Any) -> Any:
        self.calls.append(("read", reading.number))
        return reading

    def look(self, reading: Any) -> Any:
        self.calls.append(("look", reading.number))
        return reading

    def lost(self, text: str) -> None:
        self.calls.append(("lost", text))

    def close(self) -> None:
        self.calls.append("closed")


@pytest.fixture(scope="module")
def polls() -> list[Snapshot]:
    """Three polls, two seconds apart by the clock of their source."""
    poller = Poller(FakeSource(step=2.0))
    poller.open()
    return [poller.poll() for _ in range(3)]


def test_each_poll_has_rates_since_the_previous_one(polls: list[Snapshot]) -> None:
    notifier = AlertNotifier()
    readings = Readings(notifier)
    first, second = (readings.of(Polled(each)) for each in polls[:2])
    assert isinstance(first, ReadingCame)
    assert isinstance(second, ReadingCame)
    assert (first.previous, first.reading.interval) == (None, None)
    assert second.previous is polls[0]
    assert second.reading.interval == 2.0
    readings.forget()
    third = readings.of(Polled(polls[2]))
    assert isinstance(third, ReadingCame)
    assert (third.previous, third.reading.interval) == (None, None)
    assert notifier.calls == [("read", 1), ("read", 2), ("read", 3)]


def test_an_extra_poll_has_rates_since_the_last_but_one_and_is_no_base_for_others() -> None:
    """Regular polls at 2, 4 and 6 s, extra ones at 4.1 and 4.2 s: none of them has rates of a tenth of a second."""
    source = FakeSource(step=2.0)
    poller, readings = Poller(source), Readings()
    poller.open()

    def came(step: float, *, is_extra: bool = False) -> ReadingCame:
        source.step = step
        found = readings.of(Polled(poller.poll(), is_extra))
        assert isinstance(found, ReadingCame)
        assert found.is_extra is is_extra
        return found

    assert came(0.1, is_extra=True).reading.interval is None, "one poll alone has no rates"
    assert [came(2.0).reading.interval for _ in range(2)] == [None, 2.0]
    poller.focus(Focus(1, 7))
    extra = [came(0.1, is_extra=True) for _ in range(2)]
    assert [round(each.reading.interval or 0.0, 1) for each in extra] == [2.1, 2.2]
    after = came(1.8)
    assert round(after.reading.interval or 0.0, 1) == 2.0
    assert after.previous is not None
    assert after.previous.at == after.snapshot.at - timedelta(seconds=2)
    # What only a page asked for has its rates from the moment at which it was asked for.
    assert after.previous.section(SessionStatistic).at == extra[1].snapshot.at
    assert after.previous.section(Session).at == after.previous.at
    assert round(came(0.1, is_extra=True).reading.interval or 0.0, 1) == 2.1


def test_a_preview_is_no_poll_and_a_loss_is_passed_on(polls: list[Snapshot]) -> None:
    notifier = AlertNotifier()
    readings = Readings(notifier)
    preview = readings.of(PreviewCame(polls[0], time.monotonic() - polls[0].seconds))
    assert isinstance(preview, Preview)
    assert preview.age >= polls[0].seconds
    came = readings.of(Polled(polls[0]))
    assert isinstance(came, ReadingCame)
    assert came.previous is None
    loss = SourceLost("end of file", "ORA-03113", 1.0, datetime(2026, 11, 24, tzinfo=UTC))
    assert readings.of(loss) is loss
    end = SourceEnded()
    assert readings.of(end) is end
    assert notifier.calls == [("look", 1), ("read", 1), ("lost", "ORA-03113 end of file")]


def test_a_fault_affects_one_poll_only(polls: list[Snapshot], monkeypatch: pytest.MonkeyPatch) -> None:
    readings, fault = Readings(), ZeroDivisionError("a fault")

    def fail(*_: object) -> None:
        raise fault

    with monkeypatch.context() as broken:
        broken.setattr(assemble, "analyse", fail)
        came = readings.of(Polled(polls[0]))
        assert came == NotUnderstood(fault)
        assert came.line == "internal error: ZeroDivisionError: a fault"
    came = readings.of(Polled(polls[1]))
    assert isinstance(came, ReadingCame)
    assert came.previous is polls[0]


def test_exhausted_memory_is_not_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (85 << 20, 85 << 20))
    assert NotUnderstood(MemoryError()).line == "memory has run out: the limit is 85 MB (ulimit -v)"


def test_a_sampler_reads_what_screens_and_alerts_need() -> None:
    needs = PollNeeds(few=True)
    target = LiveTarget("db", FakeSource, 7.0, Scope.INSTANCE, ("diagnostics",), 3.0, AlertNotifier(), lambda: None)
    sampler = sampler_of(target, lambda _: None, detail_level=DetailLevel.NARROW, needs=needs, phase=0.5)
    assert sampler._detail_level == DetailLevel.HISTOGRAMS
    assert (sampler._refresh, sampler._scope, sampler.polled._packs) == (7.0, Scope.INSTANCE, ("diagnostics",))
    assert (sampler.budget, sampler.polled.needs, sampler.phase, sampler.polled.renewed) == (
        3.0,
        needs,
        0.5,
        target.renewed,
    )
    assert sampler_of(target._replace(notifier=None), lambda _: None)._detail_level == DetailLevel.WHOLE


def test_without_a_thread_the_source_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    events: list[Event] = []
    sampler = sampler_of(LiveTarget("db", FakeSource), events.append)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert not sampler.begin()
    (lost,) = events
    assert isinstance(lost, SourceLost)
    assert lost.retry_in is None


def test_each_cause_of_a_loss_is_reported_once_and_then_the_return() -> None:
    events: list[LogEvent] = []
    connection = Reachability("prod", events.append)
    connection.answer()
    soon = datetime(2026, 11, 24, tzinfo=UTC)
    connection.lose("cut number 1", "ORA-03113", "lost: cut number 1", next_try=soon)
    connection.lose("cut number 2", "ORA-03113", "lost: cut number 2")
    assert (connection.trouble, connection.next_try) == ("cut number 2", None)
    connection.lose("no view answers", "late", "no view answers", "late", "error")
    connection.answer()
    connection.answer()
    assert (connection.trouble, connection.next_try) == ("", None)
    connection.lose("cut number 3", "ORA-03113", "lost: cut number 3")
    assert [(each.event, each.level, each.line) for each in events] == [
        ("lost", "warning", "prod: lost: cut number 1"),
        ("late", "error", "prod: no view answers"),
        ("connected", "info", "prod: connected again"),
        ("lost", "warning", "prod: lost: cut number 3"),
    ]


def test_forecasts_are_made_while_they_are_wanted() -> None:
    now = [0.0]
    poller = Poller(SimulatorSource(with_short_past("storm"), clock=lambda: now[0]))
    poller.open()
    readings = Readings()

    def has_forecast() -> bool:
        now[0] += 2.0
        event = readings.of(Polled(poller.poll()))
        assert isinstance(event, ReadingCame)
        return event.reading.forecast is not None and event.reading.queue[0].starts is not None

    assert not has_forecast()
    readings.with_forecasts = True
    assert has_forecast()
    readings.with_forecasts = False
    assert not has_forecast()
    poller.close()
