"""What watching costs a database, and how the screen reacts over a slow line: through the loopback server."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from benchmarks.terminal import Screen, key_answer
from presman.oracle_server import OracleServer
from presman.oracle_server.faults import Delay, Stage
from presman.oracle_server.simulated import simulated_server
from presman.poller import Poller
from presman.release import Release
from presman.secret import Secret
from presman.sources.oracle import OracleSource
from presman.sources.simulator import SimulatorSource
from presman.targets import ConnectSettings

if TYPE_CHECKING:
    from presman.snapshot import Snapshot

RELEASES = (Release(12, 1), Release(19), Release(23))
WARM_UP, POLLS = 3, 5
"""Polls before it counts, in which the texts and plans of statements are looked up once, and those that count."""

LATENCY = 0.1
"""Seconds each way."""


class Lines(Protocol):
    """Where figures go: the report of `make bench`."""

    def line(self, what: str, value: float, unit: str, *, bar: float, yardstick: float | None = None) -> None:
        """Print one figure."""


@contextmanager
def serving(release: Release) -> Iterator[OracleServer]:
    """Serve the busiest scenario in the shape of a release."""
    simulator = SimulatorSource("storm", release=release, seed=1)
    simulator.open()
    with simulated_server(simulator, release) as server:
        yield server
    simulator.close()


def round_trips(report: Lines, release: Release) -> None:
    """Round trips and statements per poll, and the sessions there ever were."""
    with serving(release) as server:
        source = OracleSource(ConnectSettings(server.dsn, "presman", Secret("presman")), name="bench")
        poller = Poller(source)
        poller.open()
        for _ in range(WARM_UP):
            poller.poll()
        server.counters.reset()
        snapshots: list[Snapshot] = [poller.poll() for _ in range(POLLS)]
        counters = server.counters
        each = len(counters.statements()) / POLLS
        name = f"{release.major}.{release.minor}" if release < Release(18) else str(release.major)
        bar = 1.0 if release >= Release(23) else each
        report.line(f"{name}: round trips per poll ({each:.0f} statements)", counters.round_trips / POLLS, "", bar=bar)
        report.line(f"{name}: the same as presman says", snapshots[-1].round_trips, "", bar=bar)
        report.line(f"{name}: database sessions, most at a time", counters.most_sessions, "", bar=1)
        report.line(f"{name}: bytes to the database per poll", counters.bytes_in / POLLS, "B", bar=20_000)
        poller.close()


def reaction(report: Lines, presman: str) -> None:
    """A key and quitting: over a line that takes 100 ms each way, and while a query hangs."""
    with serving(Release(19)) as server:
        environment = {"PRESMAN_PASSWORD": "presman", "PRESMAN_CONFIG": os.devnull}
        screen = Screen([presman, f"presman@{server.dsn}", "--refresh", "0.5"], **environment)
        try:
            screen.wait_for(b"LIVE")
            server.latency = LATENCY
            presses = [(b"4", b"DOP reason"), (b"1", b"Top waits")] * 6
            report.line("19, 100 ms each way: a key answered", key_answer(screen, presses) * 1e3, "ms", bar=50)
            server.latency = 0.0
            server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=-1)
            time.sleep(1.5)  # a poll has begun
            begun = time.perf_counter()
            screen.press(b"q")
            screen.wait_for_end()
            report.line("19, a query hangs: quit", (time.perf_counter() - begun) * 1e3, "ms", bar=500)
        finally:
            screen.close()


def wire(report: Lines, presman: str) -> None:
    """Print the section."""
    for release in RELEASES:
        round_trips(report, release)
    reaction(report, presman)
