"""Databases of a fleet: each has its own thread, and none waits for another."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.fleet import ConnectionState, Member
from presman.base.errors import InputError
from presman.figures.fleet_figures import why
from presman.polling import sampler
from presman.polling.poll_events import SourceLost
from presman.rows.queries import DetailLevel
from presman.services.live import LiveTarget, ReadingCame
from presman.services.live_fleet import LiveFleet, WatchedDatabase
from presman.sources import LoginRefusal, SourceError
from tests.patience import until
from tests.sources.fakes import FakeSource


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., WatchedDatabase]]:
    """Reconnect only when the test says so: otherwise the database would be back before a slow test has checked."""
    monkeypatch.setattr(sampler, "FIRST_PAUSE", 60.0)
    begun: list[WatchedDatabase] = []

    def begin(source: Any, interval: float = 3600.0, **settings: Any) -> WatchedDatabase:
        make = source if callable(source) else lambda: source
        database = WatchedDatabase(LiveTarget("db", make), interval, **settings)
        database.sampler.polled._rng = random.Random(1)
        begun.append(database)
        database.start()
        return database

    yield begin
    for database in begun:
        assert database.sampler.stop(20)


def reaches(database: WatchedDatabase, connection: ConnectionState) -> Member:
    until(lambda: database.member().connection is connection, f"{connection}, it is {database.member()}")
    return database.member()


def test_live_and_late_by_its_age(watch: Callable[..., WatchedDatabase]) -> None:
    clock = Clock()
    database = watch(FakeSource(), 5.0, clock=clock)
    assert database.member().connection in {ConnectionState.STARTING, ConnectionState.LIVE}
    member = reaches(database, ConnectionState.LIVE)
    assert member.key_figures is not None
    assert member.since is None
    assert database.live_reading is database.reading is not None
    clock.now += 12.0
    late = database.member()
    assert late.connection is ConnectionState.LATE
    assert late.key_figures == member.key_figures
    assert late.age is not None
    assert late.age >= 12.0
    assert database.live_reading is None, "no action may rest on old data"


def test_a_lost_database_is_retried_and_old_figures_are_hidden(watch: Callable[..., WatchedDatabase]) -> None:
    clock = Clock()
    source = FakeSource()
    database = watch(source, clock=clock)
    reaches(database, ConnectionState.LIVE)
    source.failures += [SourceError("ORA-03113: end-of-file", code="ORA-03113")]
    database.sampler.poll_now()
    lost = reaches(database, ConnectionState.LOST)
    assert (lost.key_figures, lost.reason) == (None, "ORA-03113: end-of-file")
    assert lost.retry_in is not None
    assert 0 < lost.retry_in <= 60
    assert len(lost.past.cpu_percent) == 1
    clock.now += 60.0
    assert database.member().since == 60.0
    assert database.member().retry_in == 0.0
    database.sampler.poll_now()
    assert len(reaches(database, ConnectionState.LIVE).past.cpu_percent) == 2


def test_a_refused_or_ended_database_is_not_retried(watch: Callable[..., WatchedDatabase]) -> None:
    def refuse() -> FakeSource:
        raise InputError("no password of monitor")

    refused = reaches(watch(refuse), ConnectionState.REFUSED)
    assert (refused.retry_in, refused.reason) == (None, "no password of monitor")
    assert reaches(watch(FakeSource(length=1), 0.001), ConnectionState.STOPPED).reason


def test_a_listener_gets_the_newest_poll_at_once_and_more_detail(watch: Callable[..., WatchedDatabase]) -> None:
    database = watch(FakeSource())
    reaches(database, ConnectionState.LIVE)
    events: list[Any] = []
    database.listen(events.append, 0.001)
    assert isinstance(events[0], ReadingCame)
    assert events[0].reading is database.reading
    assert database._readings.with_forecasts
    database.set_detail_level(DetailLevel.WHOLE)
    until(lambda: len(events) > 3, "polls as often as the listener wants")
    numbers = [each.reading.number for each in events]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    database.leave()
    assert not database.is_attached
    assert not database._readings.with_forecasts
    assert (database.sampler._detail_level, database.sampler._refresh) == (DetailLevel.NARROW, 3600.0)


def test_a_later_listener_gets_the_loss_with_the_seconds_left(
    watch: Callable[..., WatchedDatabase],
) -> None:
    clock = Clock()
    source = FakeSource(failures=[SourceError("no listener")])
    database = watch(source, clock=clock)
    reaches(database, ConnectionState.LOST)
    events: list[Any] = []
    clock.now += 30.0
    database.listen(events.append, 3600.0)
    assert isinstance(events[0], SourceLost)
    assert events[0].retry_in is not None
    assert events[0].retry_in <= 30.0


def test_a_faulty_poll_is_reported_and_the_next_one_counts(
    watch: Callable[..., WatchedDatabase], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    with monkeypatch.context() as broken:
        broken.setattr("presman.services.live_fleet.key_figures_of", fail)
        database = watch(FakeSource())
        fault = "internal error: ZeroDivisionError: a fault"
        until(lambda: database.member().reason == fault, "the fault is reported")
    database.sampler.poll_now()
    assert reaches(database, ConnectionState.LIVE).reason == ""


def _given(source: FakeSource) -> FakeSource:
    return source


def test_dead_and_hanging_databases_delay_neither_others_nor_the_end() -> None:
    hanging, dead = FakeSource(hang=threading.Event()), FakeSource(failures=[SourceError("nobody there")] * 1000)
    healthy = [FakeSource() for _ in range(6)]
    sources = [hanging, dead, *healthy]
    targets = [LiveTarget(f"db{number}", partial(_given, each)) for number, each in enumerate(sources)]
    fleet = LiveFleet("test", targets, 0.02)
    threads = threading.active_count()
    fleet.start()
    until(lambda: all(each.advanced > 5 for each in healthy), "healthy ones are polled")
    states = [member.connection for member in fleet.members()]
    assert states[:2] == [ConnectionState.STARTING, ConnectionState.LOST]
    assert {*states[2:]} <= {ConnectionState.LIVE, ConnectionState.LATE}
    assert not fleet.is_settled
    assert hanging.hang is not None
    hanging.hang.set()
    until(lambda: fleet.is_settled, "each is known")
    fleet.stop()
    until(lambda: threading.active_count() <= threads, "no thread is left")


def test_each_database_has_its_own_phase_and_all_share_the_interval() -> None:
    fleet = LiveFleet("test", [LiveTarget(f"db{number}", FakeSource) for number in range(4)], 5.0)
    assert [each.sampler.phase for each in fleet.databases.values()] == [0.0, 0.25, 0.5, 0.75]
    fleet.set_interval(2.0)
    assert (fleet.interval, {each.sampler._refresh for each in fleet.databases.values()}) == (2.0, {2.0})
    assert fleet.to_do("db1") == ""
    fleet.stop()


def test_a_locked_account_is_refused_and_tried_every_ten_minutes(watch: Callable[..., WatchedDatabase]) -> None:
    locked = SourceError("ORA-28000: locked", code="ORA-28000", retry=False, refusal=LoginRefusal.LOCKED)
    clock = Clock()
    database = watch(FakeSource(failures=[locked]), clock=clock)
    assert reaches(database, ConnectionState.REFUSED).retry_in == 600.0
    clock.now += 100.5
    member = database.member()
    assert member.retry_in == 499.5
    assert why(member) == "retry in 8:20: ORA-28000: locked"
    assert why(replace(member, wants_password=True)) == "config.ini is read in 8:20: ORA-28000: locked"
    database.sampler.poll_now()
    assert reaches(database, ConnectionState.LIVE).retry_in is None


def test_without_a_thread_a_database_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    database = WatchedDatabase(LiveTarget("prod", FakeSource), 3600.0)
    monkeypatch.setattr(threading.Thread, "start", start)
    assert not database.start()
    member = database.member()
    assert member.connection is ConnectionState.REFUSED
    assert "have run out" in member.reason or "has run out" in member.reason
