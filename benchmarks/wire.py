"""Cost of watching for the database, and answers of the screen over a slow line, with the loopback server."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from benchmarks.crowd import EACH, FEW, cost
from benchmarks.terminal import Screen, key_answer
from presman.base.release import Release
from presman.base.secret import Secret
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from tests.oracle_server import OracleServer
from tests.oracle_server.faults import Delay, Stage
from tests.oracle_server.simulated import simulated_server

if TYPE_CHECKING:
    from presman.rows.snapshot import Snapshot

RELEASES = (Release(12, 1), Release(19), Release(23))
WARM_UP, POLLS = 3, 5
"""Polls that do not count, because the texts and plans of statements are looked up, and polls that count."""

ROUNDS = 4
FOR_EVER = -1
F5 = b"\x1b[15~"
"""Polls now."""

LATENCY = 0.1
"""Delay each way, in seconds."""


class Lines(Protocol):
    """The report of `make bench`, which takes the figures."""

    def line(self, what: str, value: float, unit: str, *, bar: float, yardstick: float | None = None) -> None:
        """Print one figure."""


@contextmanager
def serving(release: Release, scenario: str = "storm", speed: float = 1.0) -> Iterator[OracleServer]:
    """Serve a scenario, by default the busiest one, as a release."""
    simulator = SimulatorSource(scenario, release=release, seed=1, speed=speed)
    simulator.open()
    with simulated_server(simulator, release) as server:
        yield server
    simulator.close()


def round_trips(report: Lines, release: Release) -> None:
    """Round trips and statements per poll, and the most sessions at a time."""
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
    """A key over a line that takes 100 ms each way, and quitting while a query hangs.

    The yardstick is the same key while nothing is read, which takes the time to draw the other tab. The best of a few
    rounds counts, because other load on the machine only adds to it.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # so that the server, a thread of this process, does not delay the measurement
    with serving(Release(19)) as server:
        still, _ = reactions(server, presman, "3600")
        key, leaving = reactions(server, presman, "0.5", latency=LATENCY)
    sys.setswitchinterval(before)
    report.line("19, 100 ms each way: a key answered", key * 1e3, "ms", bar=50)
    report.line("the same beside a line that is not used", key * 1e3, "ms", bar=1.5, yardstick=still * 1e3)
    report.line("19, a query hangs: quit", leaving * 1e3, "ms", bar=500)


def reactions(server: OracleServer, presman: str, refresh: str, latency: float = 0.0) -> tuple[float, float]:
    """Return the seconds until a key is answered while presman polls, and until it has ended while a query hangs."""
    environment = {"PRESMAN_PASSWORD": "presman", "PRESMAN_CONFIG": os.devnull}
    screen = Screen([presman, f"presman@{server.dsn}", "--refresh", refresh], **environment)
    try:
        screen.wait_for(b"LIVE")
        server.latency = latency
        presses = [(b"4", b"DOP reason"), (b"1", b"Top waits")] * 3
        key = min(key_answer(screen, presses) for _ in range(ROUNDS))
        server.latency = 0.0
        hanging = server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=FOR_EVER)
        screen.press(F5)
        while hanging.times == FOR_EVER:  # until the query has begun
            screen.quiet(0.05)
        begun = time.perf_counter()
        screen.press(b"q")
        screen.wait_for_end()
        return key, time.perf_counter() - begun
    finally:
        server.faults.clear()
        screen.close()


def crowd(report: Lines) -> None:
    """A refresh with 40,000 idle sessions against one with 40: idle sessions should cost nothing."""
    many, few = cost(EACH, DetailLevel.NARROW), cost(FEW, DetailLevel.NARROW)
    what = f"19, {many.sessions:,} idle sessions against {few.sessions}"
    report.line(f"{what}: rows per poll", many.rows, "", yardstick=few.rows, bar=1.2)
    report.line(f"{what}: bytes", many.size, "B", yardstick=few.size, bar=1.2)
    report.line(f"{what}: round trips", many.round_trips, "", yardstick=few.round_trips, bar=1.0)
    report.line(f"{what}: CPU", many.cpu, "ms", yardstick=few.cpu, bar=1.5)


def wire(report: Lines, presman: str) -> None:
    for release in RELEASES:
        round_trips(report, release)
    crowd(report)
    reaction(report, presman)
