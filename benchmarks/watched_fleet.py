"""Cost of a fleet: 50 databases in one process against one, on loopback servers, some slow, some dead.

Run it alone with `python -m benchmarks.watched_fleet`; it takes some minutes, mostly waiting. `--databases`,
`--seconds`, `--interval` and `--release` are for other fleets; `soak` watches a fleet for long and prints memory,
threads and files. The servers are another process, so that CPU and memory are those of presman alone.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from benchmarks.load import simulated
from benchmarks.report import Report
from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.queries import Scope
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.services.live_fleet import LiveFleet
from presman.sources import Answer, Request
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from presman.tui import textual_internals
from tests.oracle_server.faults import Delay, Stage
from tests.oracle_server.simulated import simulated_server

SCENARIO, SERVERS = "mixed", 3
"""The scenario of all servers, and the number of healthy servers, each of which serves a part of the fleet."""

SLOW = 2.0
"""Seconds that one query takes on the slow server."""

FOR_EVER = -1
TIDY = 15.0
"""Seconds between garbage collections: presman.tui.fleet_app."""

OF_A_DAY = 24 * 3600 // 5
"""Polls of a database in a day."""

WARM_UP = 4
"""Polls of each database that do not count."""

OF_FIFTY = {"slow": 5, "dead": 5}
"""How many of 50 databases are on the slow server, and how many on none."""


class FleetCost(NamedTuple):
    """What a fleet cost while it was measured.

    `cpu_ms` are of the process, for each finished poll; `late` are the seconds by which polls of healthy databases
    began after their time, ascending; `rss_mb` is the memory before and after.
    """

    databases: int
    polls: int
    cpu_ms: float
    late: list[float]
    rss_mb: tuple[float, float]
    live: int
    lost: int


class Lines(Protocol):
    """The report of `make bench`, which takes the figures."""

    def line(self, what: str, value: float, unit: str, *, bar: float, yardstick: float | None = None) -> None:
        """Print one figure."""


# ---- the servers


def serve(release: Release) -> None:
    """Serve the scenario until standard input ends, on the last server slowly; print the addresses."""
    with ExitStack() as stack:
        places = []
        for _ in range(SERVERS + 1):
            simulator = SimulatorSource(SCENARIO, release=release, seed=1)
            simulator.open()
            server = stack.enter_context(simulated_server(simulator, release))
            places.append(server.dsn)
        server.faults.add(Stage.STATEMENT, Delay(SLOW), "v$osstat", times=FOR_EVER)
        print(json.dumps(places), flush=True)
        sys.stdin.read()


@contextmanager
def servers(release: Release) -> Iterator[list[str]]:
    """Start the servers; yield their addresses, the slow one last."""
    command = [sys.executable, "-m", "benchmarks.watched_fleet", "serve", "--release", str(release)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield json.loads(process.stdout.readline())
    finally:
        process.stdin.close()
        process.wait(10)


# ---- the fleet, in a process of its own


class _TimedSource(OracleSource):
    """A source that records when each poll begins."""

    def __init__(self, dsn: str, name: str, begun: list[float] | deque[float]) -> None:
        super().__init__(ConnectSettings(dsn, "presman", Secret("presman")), name=name)
        self._begun = begun

    def advance(self) -> None:
        self._begun.append(time.monotonic())


def watch(places: Sequence[str], databases: int, seconds: float, interval: float) -> FleetCost:
    """Watch databases in this process; if there are several, some are slow and some dead (OF_FIFTY)."""
    share = databases / 50 if databases > 1 else 0
    slow, dead = round(OF_FIFTY["slow"] * share), round(OF_FIFTY["dead"] * share)
    healthy = databases - slow - dead
    nobody = [_closed_port(), _mute_port()]
    where = [places[number % SERVERS] for number in range(healthy)]
    where += [places[-1]] * slow + [nobody[number % 2] for number in range(dead)]
    begun: list[list[float]] = [[] for _ in where]
    targets = [
        LiveTarget(f"db{number}", partial(_TimedSource, place, f"db{number}", begun[number]))
        for number, place in enumerate(where)
    ]
    fleet = LiveFleet("bench", targets, interval)
    fleet.start()
    _rest(WARM_UP * interval + 2)
    textual_internals.settle_garbage()
    counts, cpu, memory, since = list(map(len, begun)), time.process_time(), _rss_mb(), time.monotonic()
    _rest(seconds)
    cpu, memory_after = time.process_time() - cpu, _rss_mb()
    members = fleet.members()
    polls = sum(map(len, begun)) - sum(counts)
    late = [
        (at - number / databases * interval) % interval
        for number in range(healthy)
        for at in begun[number]
        if at >= since
    ]
    fleet.stop()
    states = [member.connection.name for member in members]
    return FleetCost(
        databases, polls, 1000 * cpu / polls, sorted(late), (memory, memory_after), states.count("LIVE"),
        states.count("LOST"),
    )  # fmt: skip


def _rest(seconds: float) -> None:
    """Wait as the screen does, with a garbage collection now and then."""
    end = time.monotonic() + seconds
    while (left := end - time.monotonic()) > 0:
        time.sleep(min(left, TIDY))
        textual_internals.tidy_garbage()


_kept: list[socket.socket] = []


def _closed_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{free.getsockname()[1]}/nobody"


def _mute_port() -> str:
    """Return a port that accepts connections and never answers."""
    mute = socket.socket()
    mute.bind(("127.0.0.1", 0))
    mute.listen(64)
    _kept.append(mute)
    return f"127.0.0.1:{mute.getsockname()[1]}/mute"


def _rss_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def measured(places: Sequence[str], databases: int, seconds: float, interval: float) -> FleetCost:
    """Let another process watch databases."""
    command = [
        sys.executable, "-m", "benchmarks.watched_fleet", "watch", *places, "--databases", str(databases),
        "--seconds", str(seconds), "--interval", str(interval),
    ]  # fmt: skip
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    return FleetCost(**{**found, "rss_mb": tuple(found["rss_mb"])})


def watched(report: Lines, databases: int, seconds: float, interval: float, release: Release) -> None:
    with servers(release) as places:
        one = measured(places, 1, 3 * seconds, interval)  # one database has few polls
        many = measured(places, databases, seconds, interval)
    what = f"{release.major}, fleet of {databases}"
    report.line(f"{what}: CPU a poll", many.cpu_ms, "ms", yardstick=one.cpu_ms, bar=1.2)
    on_time = sum(late <= 0.5 for late in many.late) / len(many.late)
    report.line(f"{what}: polls not on time", 100 * (1 - on_time), "%", bar=1)
    report.line(f"{what}: memory over 60 MB, per database", (many.rss_mb[1] - 60) / databases, "MB", bar=3)
    print(one._replace(late=one.late[-3:]), many._replace(late=many.late[-3:]))


def soak(databases: int, seconds: float, interval: float, release: Release) -> None:
    """Print memory, threads and files while a fleet is watched, at a short interval: minutes have the polls of days."""
    with servers(release) as places:
        targets = [
            LiveTarget(f"db{number}", partial(_TimedSource, places[number % SERVERS], f"db{number}", deque(maxlen=1)))
            for number in range(databases)
        ]
        targets.append(LiveTarget("dead", partial(_TimedSource, _closed_port(), "dead", deque(maxlen=1))))
        watched = LiveFleet("soak", targets, interval)
        watched.start()
        end, begun = time.monotonic() + seconds, time.monotonic()
        while time.monotonic() < end:
            _rest(min(30.0, seconds / 10))
            polls = [each.reading.number if each.reading else 0 for each in watched.databases.values()]
            files = len(list(Path("/proc/self/fd").iterdir()))
            gone = time.monotonic() - begun
            print(
                f"{gone:6.0f} s  {sum(polls):>9,} polls  {max(polls):>7,} of one  {_rss_mb():6.1f} MB"
                f"  {threading.active_count()} threads  {files} files",
                flush=True,
            )
        watched.stop()


class _Again:
    """Repeated polls of a simulated database, as if time went on, as fast as they are requested."""

    kind = "simulator"
    name = "again"
    scope = Scope.CLUSTER
    damage = notes = ()

    def __init__(self, polls: Sequence[Snapshot]) -> None:
        self._polls = polls
        self._number = 0

    def open(self) -> Release:
        """Return the release."""
        return self._polls[0].release

    def advance(self) -> None:
        """Go to the next poll."""
        self._number += 1

    def snapshot(self) -> Snapshot:
        """Return the current poll."""
        rounds, place = divmod(self._number, len(self._polls))
        poll = self._polls[place]
        span = self._polls[-1].at - self._polls[0].at + timedelta(seconds=2)
        return replace(poll, number=self._number, at=poll.at + rounds * span)

    def before(self) -> Snapshot | None:
        """Return None: it is not called."""
        return None

    def find_newest(self) -> str:
        """Return "": all polls can be read."""
        return ""

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Raise: only whole polls are read."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Do nothing: nothing takes long."""

    def close(self) -> None:
        """Do nothing."""


def a_day(report: Lines, polled_at_last: int = OF_A_DAY) -> None:
    """Print the memory after a day of polls of two databases at 5 seconds, beside that after the first tenth."""
    polls = simulated("mixed", min(120, polled_at_last))
    watched = LiveFleet("day", [LiveTarget(f"db{number}", partial(_Again, polls)) for number in range(2)], 1e-4)
    for each in watched.databases.values():
        each.sampler.phase = None
    watched.start()
    found = []
    for polled in (polled_at_last // 10, polled_at_last):
        while any(each.reading is None or each.reading.number < polled for each in watched.databases.values()):
            time.sleep(0.5)
        gc.collect()
        found.append(_rss_mb())
    watched.stop()
    report.line(f"memory after {polled_at_last:,} polls of 2 databases", found[1], "MB", yardstick=found[0], bar=1.02)


def main() -> None:
    """Measure, or be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.watched_fleet", description=__doc__)
    parser.add_argument("what", nargs="?", default="measure", choices=("measure", "serve", "watch", "soak", "day"))
    parser.add_argument("places", nargs="*")
    parser.add_argument("--databases", type=int, default=50)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--interval", type=float, default=5.0)
    parser.add_argument("--release", type=Release.parse, default=Release(19))
    options = parser.parse_args()
    if options.what == "serve":
        serve(options.release)
    elif options.what == "watch":
        found = watch(options.places, options.databases, options.seconds, options.interval)
        print(json.dumps(found._asdict()))
    elif options.what == "soak":
        soak(options.databases, options.seconds, options.interval, options.release)
    elif options.what == "day":
        a_day(Report())
    else:
        watched(Report(), options.databases, options.seconds, options.interval, options.release)


if __name__ == "__main__":
    main()
