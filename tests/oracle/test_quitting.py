"""Quitting at any moment: while connecting, in a login, a query, a pipeline, between two of them, or hanging."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter

import pytest

from presman.polling.poll_events import Event
from presman.polling.sampler import Sampler
from presman.rows.queries import Scope
from presman.sources.oracle.oracle_source import OracleSource
from tests.oracle.bench import Bench
from tests.oracle.test_cost import Storm
from tests.oracle_server.faults import Action, Cut, Delay, Hold, Mute, Ora, Stage
from tests.patience import until
from tests.thorough import some

TIMES = int(os.environ.get("PRESMAN_QUITS", "5"))

HANGING: dict[Stage, list[Action]] = {
    Stage.CONNECT: [Mute(), Cut(9)],
    Stage.LOGIN: [Mute(), Delay(60), Cut(150), Ora(18, "maximum number of sessions exceeded")],
    Stage.STATEMENT: [Mute(), Delay(60), Hold(60), Cut(40), Ora(3113, "end-of-file on communication channel")],
}


class Moments:
    """Makes a fault now and then, and signals when the server has had `left` requests."""

    def __init__(self, rng: random.Random) -> None:
        self._storm = Storm(rng.randrange(10**6), 0.1, 1.0, HANGING)
        self._left = rng.randrange(60)
        self.reached = threading.Event()

    def __call__(self, stage: Stage, sql: str) -> Action | None:
        self._left -= 1
        action = self._storm(stage, sql)
        if self._left <= 0 or action is not None:
            self.reached.set()
        return action


def quit_once(bench: Bench, rng: random.Random) -> str:
    """Quit at a moment that `rng` chooses, and return the events until then."""
    moment = Moments(rng)
    bench.server.faults.chooser = moment
    events: list[Event] = []
    sampler = Sampler(
        lambda: bench.source(call_timeout=60, connect_timeout=60),
        refresh=0.01,
        scope=Scope.CLUSTER,
        post=events.append,
    )
    sampler.start()
    if rng.random() < 0.9:
        moment.reached.wait(60)
    time.sleep(rng.random() * 0.01)
    stopped = sampler.stop(patience=60)
    posted = len(events)
    bench.server.faults.clear()
    assert stopped, "the thread ended because it was cancelled"
    until(lambda: not bench.server.counters.connections, "no connection is left")
    assert bench.server.counters.sessions == 0
    assert len(events) == posted, "nothing is posted after the end"
    return type(events[-1]).__name__ if events else "nothing yet"


@pytest.mark.parametrize("seed", some([1], [2]))
def test_quitting_at_any_moment(bench: Bench, seed: int) -> None:
    """PRESMAN_QUITS=500 makes it a long one."""
    rng = random.Random(seed)
    threads = threading.active_count()
    seen = Counter(quit_once(bench, rng) for _ in range(TIMES))
    assert seen.total() == TIMES
    # The cancelling thread waits for the sampler's, and then ends, too.
    until(lambda: threading.active_count() <= threads, "no thread is left")


def test_quitting_before_there_is_a_source(bench19: Bench) -> None:
    """The first imports may take longer than the quit waits: nothing may start after them."""
    made = threading.Event()

    def make() -> OracleSource:
        made.wait(60)
        return bench19.source(connect_timeout=60)

    sampler = Sampler(make, refresh=1.0, scope=Scope.CLUSTER, post=lambda _event: None)
    sampler.start()
    assert not sampler.stop(patience=0.0)
    made.set()
    sampler._thread.join(60)
    assert not sampler.is_alive
    assert not bench19.server.counters.connections
    assert not bench19.server.counters.round_trips


class Deaf(OracleSource):
    """A source that ends only at the tenth request."""

    requests = 0

    def cancel(self) -> None:
        self.requests += 1
        if self.requests >= 10:
            super().cancel()


def test_a_source_that_ignores_the_end_is_asked_again(bench19: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.polling.sampler.CANCEL_INTERVAL", 0.005)
    bench19.server.faults.add(Stage.STATEMENT, Mute(), "gv$session")
    source = Deaf(bench19.settings(call_timeout=60))
    sampler = Sampler(lambda: source, refresh=1.0, scope=Scope.CLUSTER, post=lambda _event: None)
    sampler.start()
    until(lambda: any("session" in text for text in bench19.server.counters.statements()), "asked for sessions")
    sampler.stop(patience=0.0)
    sampler._thread.join(60)
    assert not sampler.is_alive
    assert source.requests >= 10
