"""Cost of `presman metrics`: fifty databases in one process against one alone, the page, and a long run.

The databases are loopback servers in processes of their own. The measured presman is also a process of its own: this
module, started with `watch`.

`python -m benchmarks.scraped_fleet many 200 15` measures 200 databases at an interval of 15 s, one of them slow and one
dead: what each costs, and how many polls are late. It takes some minutes, mostly waiting.
"""

from __future__ import annotations

import itertools
import json
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from presman.services.metrics.metric_page import ObservedDatabase

FLEET, SLOW, REFUSED, MUTE = 50, 4, 3, 3
"""All databases, and those of them over a slow line, on a port without a listener, and on a port that never answers."""

INTERVAL, ON_TIME = 5.0, 0.5
LATENCY = 0.03
"""Delay of the slow line each way, in seconds."""

WARM_UP, WINDOW = 30.0, 60.0
PER_PROCESS = 22
SCRAPES = 1_000
LONG_RUN, EARLY = 3_000, 1_000
"""Polls of the long run, and after how many its memory is first measured. 24 hours are 17,280."""


class Lines(Protocol):
    """The report of `make bench`, which takes the figures."""

    def line(self, what: str, value: float, unit: str, *, bar: float, yardstick: float | None = None) -> None:
        """Print one figure."""


class Watched(NamedTuple):
    """Figures of one run, as the measured presman reports them."""

    per_poll: float
    dead: float
    late: float
    memory: float
    page: float
    size: int
    scraped: float
    growth: float
    threads: int
    files: int


# ---- the databases


@contextmanager
def serving(healthy: int, slow: int = 0, speed: float = 1.0) -> Iterator[list[str]]:
    """Serve databases, the slow ones first, and yield their addresses."""
    processes, found = [], []
    try:
        left = healthy + slow
        while left > 0:
            many, left = min(left, PER_PROCESS), left - PER_PROCESS
            command = [sys.executable, "-m", "benchmarks.scraped_fleet", "serve", str(many), str(slow), str(speed)]
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
            processes.append(process)
            assert process.stdout is not None
            found += json.loads(process.stdout.readline())
            slow = 0
        yield found
    finally:
        for process in processes:
            process.kill()
            process.communicate()


def serve(many: int, slow: int, speed: float) -> None:
    """Be a process that serves databases until its standard input ends."""
    from presman.sources.simulator_source import SimulatorSource
    from tests.oracle_server.simulated import simulated_server

    servers = []
    for number in range(many):
        source = SimulatorSource("mixed", seed=number + 1, speed=speed)
        server = simulated_server(source, source.open())
        server.latency = LATENCY if number < slow else 0.0
        servers.append(server.start())
    print(json.dumps([server.dsn for server in servers]), flush=True)
    sys.stdin.read()


@contextmanager
def dead() -> Iterator[list[str]]:
    """Yield addresses without a listener, and with one that never answers."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        refused = f"127.0.0.1:{free.getsockname()[1]}/nowhere"
        mute = socket.create_server(("127.0.0.1", 0), backlog=64)
        try:
            yield [f"{refused}{number}" for number in range(REFUSED)] + [
                f"127.0.0.1:{mute.getsockname()[1]}/nothing{number}" for number in range(MUTE)
            ]
        finally:
            mute.close()


# ---- presman


def watched(healthy: Sequence[str], others: Sequence[str] = (), polls: int = 0, interval: float = INTERVAL) -> Watched:
    """Return the figures of a presman that watches these databases in a process of its own."""
    given = json.dumps({"healthy": list(healthy), "others": list(others), "polls": polls, "interval": interval})
    command = [sys.executable, "-m", "benchmarks.scraped_fleet", "watch", given]
    return Watched(**json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout))


def watch(healthy: list[str], others: list[str], polls: int, interval: float) -> Watched:
    """Be the presman that is measured."""
    from presman.base.running_out import collect_rarely
    from presman.cli.limits import give_back_memory, make_room
    from presman.services.metrics.metric_page import Exporter, Exposition
    from presman.services.metrics.web_server import WebApp, WebServer

    give_back_memory()
    collect_rarely()
    make_room(len(healthy) + len(others), server=True)
    exporter = Exporter([_target(dsn, 0.001 if polls else interval) for dsn in (*healthy, *others)], lambda _: None)
    exposition = Exposition(exporter.databases)
    server = WebServer(WebApp(exposition, lambda: True), "127.0.0.1", 0)
    server.start()
    times = _listen(exporter.databases[: len(healthy)])
    exporter.start()
    if polls:
        return _long_run(exporter.databases[0], f"{server.url}/metrics", polls)
    time.sleep(max(WARM_UP, 3 * interval))
    ours = [_thread(database) for database in exporter.databases]
    before, counted = _seconds(ours), sum(database.state().polls for database in exporter.databases)
    for each in times.values():
        each.clear()
    time.sleep(max(WINDOW, 8 * interval))
    spent = [after - begun for after, begun in zip(_seconds(ours), before, strict=True)]
    counted = sum(database.state().polls for database in exporter.databases) - counted
    page, size, scraped = _scrapes(exposition, f"{server.url}/metrics")
    memory = _resident()
    late = [
        abs(after - begun - interval) > ON_TIME for each in times.values() for begun, after in itertools.pairwise(each)
    ]
    asleep = [spent[number] for number, database in enumerate(exporter.databases) if not database.state().polls]
    return Watched(
        per_poll=sum(spent) / counted * 1e3,
        dead=sum(asleep) / len(asleep) * 1e3 if asleep else 0.0,
        late=sum(late) / max(1, len(late)),
        memory=memory,
        page=page,
        size=size,
        scraped=scraped,
        growth=0.0,
        threads=threading.active_count(),
        files=len(list(Path("/proc/self/fd").iterdir())),
    )


def _target(dsn: str, interval: float) -> Any:
    from presman.base.secret import Secret
    from presman.services.live import LiveTarget
    from presman.sources.oracle.oracle_source import OracleSource
    from presman.sources.oracle.settings import ConnectSettings

    settings = ConnectSettings(dsn, "presman", Secret("presman"))
    return LiveTarget(dsn, lambda: OracleSource(settings, name=dsn), interval)


def _listen(databases: Sequence[ObservedDatabase]) -> dict[int, list[float]]:
    """Record when the polls of each database begin."""
    times: dict[int, list[float]] = {}
    for number, database in enumerate(databases):
        seen = times[number] = []
        take = database._take

        def noting(came: Any, take: Any = take, seen: list[float] = seen) -> None:
            seen.append(time.monotonic() - came.snapshot.seconds)
            take(came)

        database._take = noting  # type: ignore[method-assign]
    return times


def _thread(database: ObservedDatabase) -> int:
    number = database.sampler._thread.native_id
    assert number is not None
    return number


def _seconds(threads: Sequence[int]) -> list[float]:
    """Return the CPU seconds of some threads."""
    return [int(Path(f"/proc/self/task/{each}/schedstat").read_text().split()[0]) / 1e9 for each in threads]


def _resident() -> float:
    import psutil

    return float(psutil.Process().memory_info().rss / 2**20)


def _scrapes(exposition: Any, url: str) -> tuple[float, int, float]:
    """Return the least CPU ms to write the page, its size, and the median ms of many scrapes."""
    accept = "application/openmetrics-text;version=1.0.0"
    written, taken = [], []
    for _ in range(100):
        begun = time.thread_time()
        body, _kind = exposition.write(accept)
        written.append(time.thread_time() - begun)
    request = urllib.request.Request(url, headers={"Accept": accept})
    for _ in range(SCRAPES if len(body) < 100_000 else 20):
        begun = time.perf_counter()
        with urllib.request.urlopen(request, timeout=60) as response:
            response.read()
        taken.append(time.perf_counter() - begun)
    return min(written) * 1e3, len(body), sorted(taken)[len(taken) // 2] * 1e3


def _long_run(database: ObservedDatabase, url: str, polls: int) -> Watched:
    """Poll as fast as possible, with a scrape at every tenth poll; return how much memory grew."""
    early, looked = 0.0, 0
    while (done := database.state().polls) < polls:
        if done >= looked + 10:
            looked = done
            with suppress(OSError), urllib.request.urlopen(url, timeout=60) as response:
                response.read()
        if not early and done >= min(EARLY, polls // 3):
            early = _resident()
        time.sleep(0.05)
    memory = _resident()
    return Watched(0.0, 0.0, 0.0, memory, 0.0, 0, 0.0, memory / early, threading.active_count(), 0)


# ---- the figures


def scraped(report: Lines) -> None:
    with serving(1) as (one,):
        alone = watched([one])
    healthy = FLEET - SLOW - REFUSED - MUTE
    with serving(healthy, SLOW) as served, dead() as others:
        many = watched(served[SLOW:], [*served[:SLOW], *others])
    report.line(f"metrics of {FLEET} databases: CPU a poll", many.per_poll, "ms", yardstick=alone.per_poll, bar=1.2)
    report.line("... percent of polls more than 0.5 s off their time", 100 * many.late, "%", bar=1)
    report.line("... memory", many.memory, "MB", bar=60 + 3 * FLEET)
    report.line("... CPU of a dead one in a minute", many.dead, "ms", bar=alone.per_poll * 5)
    report.line("... a scrape of all", many.scraped, "ms", bar=1_000)
    report.line("metrics of one database: memory", alone.memory, "MB", bar=63)
    report.line("... CPU to write its page", alone.page, "ms", bar=5)
    report.line("... its size", alone.size / 1e3, "kB", bar=60)
    report.line(f"... the middle one of {SCRAPES:,} scrapes", alone.scraped, "ms", bar=10)
    with serving(1, speed=100.0) as (one,):
        late = watched([one], polls=LONG_RUN)
    report.line(f"... memory after {LONG_RUN:,} polls against {EARLY:,}", late.growth, "x", bar=1.03)


def many(databases: int, interval: float) -> None:
    """Print what many databases cost, one of them slow and one dead; many share a server."""
    from benchmarks.watched_fleet import servers
    from presman.base.release import Release

    with servers(Release(19)) as (*quick, slow), dead() as others:
        alone = watched(quick[:1])
        healthy = [f"{quick[number % len(quick)]}?number={number}" for number in range(databases - 2)]
        found = watched(healthy, [slow, others[0]], interval=interval)
    print(f"{databases} databases, a poll each {interval:g} s")
    for what in ("memory", "threads", "files"):
        whole, base = getattr(found, what), getattr(alone, what)
        print(f"  {what}: {whole:.0f}, {(whole - base) / (databases - 1):.2f} for each more (memory in MB)")
    print(f"  CPU of a poll: {found.per_poll:.1f} ms, {alone.per_poll:.1f} of one database alone")
    print(f"  late by more than {ON_TIME:g} s: {100 * found.late:.2f} % of the polls of those that answer")
    print(f"  a scrape of all: {found.scraped:.0f} ms, {found.size / 1e6:.1f} MB")


def main() -> None:
    """Be the process that the command line names."""
    if sys.argv[1] == "many":
        many(int(sys.argv[2]), float(sys.argv[3]))
    elif sys.argv[1] == "serve":
        serve(int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
    else:
        print(json.dumps(watch(**json.loads(sys.argv[2]))._asdict()), flush=True)


if __name__ == "__main__":
    main()
