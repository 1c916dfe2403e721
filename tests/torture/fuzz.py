"""Fuzz: a server that sends malformed messages. presman must report each in one line, use bounded memory, and go on."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from presman.base.release import Release
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import environment
from tests.oracle_server.simulated import simulated_server
from tests.torture.mutator import Mutator
from tests.torture.relay import running
from tests.torture.rounds import Broken

CLIENT = """
import faulthandler, resource, sys, time
from pathlib import Path
from presman.polling.poller import Poller
from presman.base.secret import Secret
from presman.sources import SourceError
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
faulthandler.enable()
resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
settings = ConnectSettings(sys.argv[1], "presman", Secret("presman"), call_timeout=0.3)
poller = Poller(OracleSource(settings, connect_timeout=0.5))
for line in sys.stdin:
    begun = time.monotonic()
    try:
        poller.open()
        for _ in range(2):
            poller.poll()
        outcome = "ok"
    except SourceError as error:
        outcome = str(error)
    peak = Path("/proc/self/status")
    peak = peak.read_text().partition("VmHWM:")[2].split()[0] if peak.exists() else "0"
    print(f"{time.monotonic() - begun:.2f} {peak} {outcome}", flush=True)
poller.close()
"""
"""Opens one session for each line of input; prints its seconds, the peak memory in kB, and the outcome."""


@dataclass
class Fuzzed:
    """How sessions ended: `ended` counts the outcomes, without what follows a colon."""

    release: Release
    where: str
    slowest: float
    mebibytes: int
    ended: Counter[str]

    def __str__(self) -> str:
        return (
            f"{self.release}: {self.ended.total()} sessions with bytes changed {self.where}: alive,"
            f" slowest {self.slowest:.1f} s, most memory {self.mebibytes} MB, {self.ended['ok']} read to their end"
        )


def fuzz(release: Release, rounds: Iterable[int], seed: int, *, heads: bool) -> Fuzzed:
    """Change bytes of a session in each round, in the `heads` of packets or behind them. Raises Broken."""
    simulator = SimulatorSource("mixed", release=release, seed=seed)
    simulator.open()
    found = Fuzzed(release, "in the heads of packets" if heads else "in their bodies", 0.0, 0, Counter())
    with simulated_server(simulator, release) as server, running(Mutator(server.port, seed, heads=heads)) as between:
        words = [sys.executable, "-c", CLIENT, f"127.0.0.1:{between.port}/presman"]
        pipe = subprocess.PIPE
        with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment()) as client:
            for number in rounds:
                between.begin(number)
                line = _ask(client)
                if not line:
                    errors = client.communicate()[1][-3000:]
                    raise Broken(f"{release}, seed {seed}, heads {heads}, session {number}: {errors}")
                seconds, kibibytes, outcome = line.split(" ", 2)
                found.slowest = max(found.slowest, float(seconds))
                found.mebibytes = max(found.mebibytes, int(kibibytes) >> 10)
                found.ended[outcome.split(":")[0].strip()] += 1
            client.communicate()
    simulator.close()
    return found


def _ask(client: subprocess.Popen[str]) -> str:
    assert client.stdin is not None
    assert client.stdout is not None
    try:
        print(file=client.stdin, flush=True)
        return client.stdout.readline()
    except BrokenPipeError:
        return ""
