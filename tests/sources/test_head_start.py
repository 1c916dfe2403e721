"""A sampler may begin before there is somebody who listens, and loses nothing by it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from presman.polling.head_start import HeadStart
from presman.polling.sampler import Event, Polled, Sampler
from presman.records.queries import Breadth, Scope
from presman.sources.simulator_source import SimulatorSource
from tests.patience import until


def begun(let_go: Callable[[], object]) -> tuple[HeadStart, SimulatorSource]:
    source = SimulatorSource("quiet")
    start = HeadStart(lambda hear: Sampler(lambda: source, refresh=60, scope=Scope.CLUSTER, post=hear), let_go)
    return start, source


def test_what_was_read_waits_for_a_listener() -> None:
    ended: list[bool] = []
    start, source = begun(lambda: ended.append(True))
    until(lambda: source._database is not None and start._sampler._poller is not None, "an open source")
    heard: list[Event] = []
    threads: set[str] = set()

    def listen(event: Event) -> None:
        threads.add(threading.current_thread().name)
        heard.append(event)

    sampler = start.heard_by(listen, 0.05, Breadth.NARROW)
    until(lambda: sum(isinstance(each, Polled) for each in heard) > 1, "two polls")
    numbers = [each.snapshot.number for each in heard if isinstance(each, Polled)]
    assert numbers[:2] == [1, 2]
    assert threads == {"presman-sampler"}, "the screen's own thread analyses nothing"
    start.end()
    assert not sampler.is_alive
    assert ended == [True]


def test_it_ends_though_nobody_ever_listened() -> None:
    ended: list[bool] = []
    start, source = begun(lambda: ended.append(True))
    until(lambda: source._database is not None, "an open source")
    start.end()
    until(lambda: not start._sampler.is_alive, "the end of the thread")
    assert ended == [True]
