"""Cost of idle sessions: polls of 8 instances with 5,000 sessions each, against 8 instances with a few.

The loopback server serves them as 19c. Rows and bytes are those that the database sends at one refresh; CPU is that of
presman's thread. Run it alone with `python -m benchmarks.crowd`; it also prints a poll that lists idle sessions.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import NamedTuple

from presman.base.secret import Secret
from presman.polling.poller import Poller
from presman.rows.queries import DetailLevel
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from tests.oracle_server.simulated import simulated_server

INSTANCES, EACH = 8, 5000
FEW = 5
"""Sessions on each instance of the other database."""

WARM_UP, POLLS = 5, 5
"""Polls that do not count, because texts and plans are looked up, and polls that count."""

SCENARIO = """
title = "A crowd of idle sessions"
database = "BIGDB"
release = "19"
warmup = "5m"
plan = "DAY"

[capacity]
instances = 8
cpu_count = 16
parallel_servers_target = 64
parallel_max_servers = 160

[plans.DAY.directives]
SHOP = { mgmt_p1 = 60 }
ANALYSIS = { mgmt_p1 = 30 }
OTHER_GROUPS = { mgmt_p1 = 10 }

[[statements]]
name = "analysis"
group = "ANALYSIS"
every = "20s"
dop = [4, 8, 16]
work = "45s"
hold_chance = 0.2
hold = "3m"
"""

POOL = """
[[sessions]]
name = "shop{number}"
group = "SHOP"
user = "SHOP{number}"
count = {count}
cpu = "1ms"
io = "0ms"
think = "{think}s"
"""


class CrowdCost(NamedTuple):
    """A poll: rows and bytes from the database, round trips, CPU milliseconds, and the number of sessions."""

    rows: int
    size: int
    round_trips: int
    cpu: float
    sessions: int


def scenario(each: int) -> str:
    """Return a scenario with `each` sessions on each instance, of which some forty are active at a time."""
    pools = [POOL.format(number=n, count=each, think=max(1, each // FEW) / 100) for n in range(1, INSTANCES + 1)]
    return SCENARIO + "".join(pools)


def cost(each: int, detail_level: DetailLevel) -> CrowdCost:
    """Return what a poll costs. No time passes in the server, so that it makes its tables once."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "crowd.toml"
        path.write_text(scenario(each), encoding="utf-8")
        simulator = SimulatorSource(str(path), seed=1, clock=lambda: 0.0)
        release = simulator.open()
        with simulated_server(simulator, release) as server:
            settings = ConnectSettings(server.dsn, "presman", Secret("presman"), call_timeout=300)
            poller = Poller(OracleSource(settings, name="crowd"), clock=lambda: 0.0)
            poller.detail_level = detail_level
            poller.open()
            for _ in range(WARM_UP):
                poller.poll()
            server.counters.reset()
            taken = []
            for _ in range(POLLS):
                begun = time.thread_time()
                snapshot = poller.poll()
                taken.append(time.thread_time() - begun)
            rows = sum(len(section.rows) for section in snapshot.sections.values())
            size = server.counters.bytes_out // POLLS
            trips = server.counters.round_trips // POLLS
            poller.close()
        simulator.close()
    return CrowdCost(rows, size, trips, median(taken) * 1e3, INSTANCES * each)


def main() -> None:
    """Print what polls of many and of few sessions cost, without and with idle sessions."""
    for each in (FEW, EACH):
        for detail_level in (DetailLevel.NARROW, DetailLevel.WHOLE):
            found = cost(each, detail_level)
            print(
                f"{found.sessions:>6,} sessions, {str(detail_level.name).lower():<7}{found.rows:>8,} rows "
                f"{found.size:>11,} bytes {found.round_trips:>4} round trips {found.cpu:>7.0f} ms of CPU",
                flush=True,
            )


if __name__ == "__main__":
    main()
