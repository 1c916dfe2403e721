"""Many databases in one process: slow and dead ones delay no other, and one without a thread is reported."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from presman.analysis.fleet import ConnectionState
from presman.base.log_event import LogEvent
from presman.base.release import Release
from presman.base.running_out import ran_out
from presman.rows.queries import Scope
from presman.services.live import LiveTarget
from presman.services.live_fleet import LiveFleet
from presman.services.metrics.metric_page import Exporter
from presman.services.recorder import Recorder
from tests.oracle.bench import Bench
from tests.oracle_server.faults import Mute, Refuse, Stage
from tests.patience import until
from tests.sources.fakes import FakeSource

HEALTHY = 8
NO_THREAD = ran_out(RuntimeError("can't start new thread"))


def observed(name: str, make_source: Callable[[], Any], interval: float = 0.02) -> LiveTarget:
    """Return a target whose polls have no short limit: a hanging poll lasts until the others have polled."""
    return LiveTarget(name, make_source, interval, Scope.INSTANCE, budget=600.0)


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if each.name.startswith("presman")]


def files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


def test_ten_databases_of_which_one_is_slow_and_one_is_dead(make_bench: Callable[[Release], Bench]) -> None:
    """The slow one answers only the login, the dead one not even that.

    Each takes a thread and four files here, and one at the server in this process: 3 of a loop, 2 of a connection.
    """
    bench, slow = make_bench(Release(19)), make_bench(Release(23))
    slow.server.faults.add(Stage.STATEMENT, Mute(), "v$", times=-1)
    dead = partial(bench.source, dsn="127.0.0.1:9/nowhere")
    makers = [*(bench.source for _ in range(HEALTHY)), partial(slow.source, call_timeout=600.0), dead]
    messages: list[LogEvent] = []
    exporter = Exporter([observed(f"db{number}", make) for number, make in enumerate(makers)], messages.append)
    healthy, (hangs, nowhere) = exporter.databases[:HEALTHY], exporter.databases[HEALTHY:]
    before = files()
    exporter.start(lambda _: None)
    try:
        until(lambda: all(each.state().polls >= 3 for each in healthy), "three polls of each that answers")
        assert threads().count("presman-sampler") == len(makers)
        assert files() <= before + 5 * len(makers)
        assert hangs.state().polls == 0
        assert hangs.state().is_up is None, "unknown: its first poll hangs"
        assert nowhere.state().is_up is False
        assert [each.sampler.is_alive for each in exporter.databases] == [True] * 10
        assert {each.database for each in messages if each.level != "debug"} == {"db9"}
    finally:
        exporter.stop()
    until(lambda: not threads(), "the end of all threads")
    assert files() <= before + HEALTHY + 1, "what the server has not closed yet"


def all_failed(exporter: Exporter, times: int) -> bool:
    return all(each.state().failures >= times for each in exporter.databases)


def test_logins_that_are_refused_leave_nothing(bench19: Bench) -> None:
    bench19.server.faults.add(Stage.CONNECT, Refuse(12514), times=-1)
    exporter = Exporter([observed(f"db{number}", bench19.source) for number in range(4)], lambda _: None)
    before = files()
    exporter.start(lambda _: None)
    until(partial(all_failed, exporter, 1), "the refusals")
    for number in range(2, 5):
        for each in exporter.databases:
            each.sampler.poll_now()
        until(partial(all_failed, exporter, number), "as many again")
    until(lambda: files() <= before, "loops are closed")
    exporter.stop()
    until(lambda: not threads(), "the end of all threads")


@pytest.fixture
def no_third_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no thread for the third sampler, and none for a second writer."""
    begin, left = threading.Thread.start, {"presman-sampler": 2, "presman-recorder": 3}

    def start(thread: threading.Thread) -> None:
        left[thread.name] = left.get(thread.name, 99) - 1
        if left[thread.name] == -1:
            raise RuntimeError("can't start new thread")
        begin(thread)

    monkeypatch.setattr(threading.Thread, "start", start)


@pytest.mark.usefixtures("no_third_thread")
def test_metrics_of_the_others_go_on() -> None:
    messages: list[LogEvent] = []
    exporter = Exporter([observed(f"db{number}", FakeSource) for number in range(5)], messages.append)
    exporter.start(lambda _: None)
    others = [database for number, database in enumerate(exporter.databases) if number != 2]
    until(lambda: all(each.state().polls >= 3 for each in others), "polls of the others")
    assert exporter.databases[2].state().is_up is False
    assert exporter.run_out() == "", "the others are polled"
    assert [each.line for each in messages if each.level == "warning"] == [
        f"db2: {NO_THREAD}; not tried again before a restart"
    ]
    assert not exporter.is_healthy, "it must be restarted"
    exporter.stop()
    until(lambda: not threads(), "the end of all threads")


@pytest.mark.usefixtures("no_third_thread")
def test_the_others_of_a_fleet_go_on() -> None:
    fleet = LiveFleet("fleet", [LiveTarget(f"db{number}", FakeSource) for number in range(5)], 0.02)
    fleet.start()
    until(lambda: fleet.is_settled, "each is known")
    connections = [each.connection for each in fleet.members()]
    assert connections[2] is ConnectionState.REFUSED
    assert fleet.members()[2].reason == NO_THREAD
    assert ConnectionState.REFUSED not in connections[:2] + connections[3:]
    fleet.stop()
    until(lambda: not threads(), "the end of all threads")


@pytest.mark.usefixtures("no_third_thread")
def test_recordings_of_the_others_go_on(tmp_path: Path) -> None:
    """The third has no polling thread, the fourth no writing thread."""
    messages: list[LogEvent] = []
    targets = [LiveTarget(f"db{number}", FakeSource, 0.02, Scope.INSTANCE, kind="simulator") for number in range(5)]
    recorder = Recorder(targets, str(tmp_path / "many.presman"), messages.append, polls=2)
    recorder.run(60.0, lambda: None)
    assert [each.written for each in recorder.databases] == [2, 2, 0, 0, 2]
    assert [each.line for each in messages if each.event == "lost"] == [
        f"db2: not connected: {NO_THREAD}; not tried again",
        f"db3: not connected: {NO_THREAD}; not tried again",
    ]  # fmt: skip
    until(lambda: not threads(), "the end of all threads")
