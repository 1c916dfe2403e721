"""Torture by cuts: cuts the connection of a running presman repeatedly; it must survive, reconnect and quit cleanly."""

from __future__ import annotations

import csv
import os
import random
import signal
import subprocess
import sys
import termios
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import psutil

from benchmarks.terminal import ESCAPES, Screen
from presman.base.release import Release
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import environment
from tests.oracle_server import OracleServer
from tests.oracle_server.simulated import simulated_server
from tests.torture.cutter import Cut, Cutter, How
from tests.torture.relay import running
from tests.torture.rounds import Broken

LAUNCH = """
import sys
import presman.config.config_file, presman.polling.sampler
presman.config.config_file.SHORTEST_REFRESH = 0.01
presman.polling.sampler.FIRST_PAUSE, presman.polling.sampler.LONGEST_PAUSE = 0.01, 0.1
from presman.cli import main
sys.exit(main())
"""
"""presman, but without pauses before it reconnects and polls: a thousand cuts would take an hour with them."""

REFRESH = "0.05"
SPAN = 150_000
"""A line is cut within so many bytes to the client: a login and one or two polls of the scenario."""

ASKED = 12_000
"""The same from the client."""

PATIENCE = 20.0
"""Seconds that presman has to reach the cut, and to come back."""

MOST_GROWN = 10, 64
"""Open files, and megabytes: presman keeps two hours of polls to scroll back in, but no connections."""

TERMINAL_IS_BACK = (b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1003l", b"\x1b[?2004l")


class Client(Protocol):
    """A running presman."""

    process: psutil.Process

    def look(self) -> None:
        """Read its output. Raises Broken if it has ended."""

    def leave(self) -> None:
        """End it. Raises Broken if it does not end cleanly."""


class Monitor:
    """The full screen on a terminal."""

    def __init__(self, target: str, folder: Path) -> None:
        words = [sys.executable, "-c", LAUNCH, target, "--refresh", REFRESH]
        self._screen = Screen(words, **_environment(folder))
        self._before = termios.tcgetattr(self._screen._process.fd)
        self.process = psutil.Process(self._screen.pid)
        _until(self._is_back, self.look, "neither LIVE nor LATE on the screen")

    def look(self) -> None:
        try:
            while self._screen._read(0.0):
                pass
        except RuntimeError as error:
            self._screen._process.wait()
            raise Broken(f"the monitor ended: {self._screen._process.signalstatus or self._screen.status}") from error

    def leave(self) -> None:
        self._screen.forget()
        _until(self._is_back, self.look, "neither LIVE nor LATE on the screen")
        self._screen.press(b"q")
        self._screen.wait_for_end(PATIENCE)
        file = self._screen._process.fd
        left = [mode for mode in TERMINAL_IS_BACK if mode not in self._screen.last]
        if self._screen.status != 0 or left or termios.tcgetattr(file) != self._before:
            raise Broken(f"q: exit code {self._screen.status}, not sent: {left}")
        self._screen.close()

    def _is_back(self) -> bool:
        """Whether it shows that polls succeed: on a busy machine 20 polls a second are late."""
        shown = ESCAPES.sub(b"", self._screen.last)
        return b"LIVE" in shown or b"LATE" in shown


class Export:
    """`presman export` to a file."""

    def __init__(self, target: str, folder: Path) -> None:
        self._file = folder / "export.csv"
        words = [sys.executable, "-c", LAUNCH, "export", target, "--refresh", REFRESH, "-o", str(self._file)]
        self._log = (folder / "export.log").open("w+b")
        self._popen = subprocess.Popen(words, env=_environment(folder), stdin=subprocess.DEVNULL, stderr=self._log)
        self.process = psutil.Process(self._popen.pid)
        _until(lambda: self._file.exists() and self._file.stat().st_size > 1000, self.look, "nothing was written")

    def look(self) -> None:
        if self._popen.poll() is not None:
            self._log.seek(0)
            raise Broken(f"the export ended with {self._popen.returncode}: {self._log.read()[-500:]!r}")

    def leave(self) -> None:
        size = self._file.stat().st_size
        _until(lambda: self._file.stat().st_size > size, self.look, "nothing more is written")
        self._popen.send_signal(signal.SIGTERM)
        code = self._popen.wait(PATIENCE)
        self._log.seek(0)
        if code != 128 + signal.SIGTERM or b"Traceback" in self._log.read():
            raise Broken(f"SIGTERM: exit code {code}")
        self._log.close()
        head, *rows = csv.reader(self._file.read_text(encoding="utf-8").splitlines())
        if not rows or head in rows or any(len(row) != len(head) for row in rows):
            raise Broken("the file has a second header, or rows of another length")


CLIENTS: dict[str, Callable[[str, Path], Client]] = {"tui": Monitor, "export": Export}


@dataclass
class Report:
    """What was done to one client of one release, and how it reacted."""

    release: Release
    client: str
    cuts: Counter[How] = field(default_factory=Counter)
    logins: int = 0
    seconds: float = 0.0
    grew: tuple[int, int] = (0, 0)

    def __str__(self) -> str:
        kinds = ", ".join(f"{count} {how.value}" for how, count in sorted(self.cuts.items(), key=str))
        files, mebibytes = self.grew
        return (
            f"{self.release} {self.client}: {self.cuts.total()} cuts ({kinds}), {self.logins} logins, alive,"
            f" reconnected, left in good order; {files:+} files, {mebibytes:+} MB; {self.seconds:.0f} s"
        )


def torture(
    release: Release, client: str, rounds: Iterable[int], seed: int, folder: Path, log: Callable[[str], None]
) -> Report:
    """Cut the connection in each round. Raises Broken."""
    rng = random.Random(f"{seed} {release} {client}")
    report = Report(release, client)
    begun = time.monotonic()
    simulator = SimulatorSource("mixed", release=release, seed=seed)
    simulator.open()
    with simulated_server(simulator, release) as server, running(Cutter(server.port)) as between:
        watched = CLIENTS[client](f"presman@127.0.0.1:{between.port}/presman", folder)
        try:
            before = _footprint(watched.process)
            for number in rounds:
                cut = _choose(rng, number)
                try:
                    _endure(cut, watched, server, between)
                except (Broken, OSError, TimeoutError) as error:
                    raise Broken(f"{release} {client}, seed {seed}, cut {number} {cut}: {error}") from error
                report.cuts[cut.how] += 1
                if number % 100 == 99:
                    log(f"{release} {client}: {number + 1} cuts, {time.monotonic() - begun:.0f} s")
            after = _footprint(watched.process)
            report.grew = after[0] - before[0], after[1] - before[1]
            if any(grown > most for grown, most in zip(report.grew, MOST_GROWN, strict=True)):
                raise Broken(f"{release} {client}, seed {seed}: it grew by {report.grew[0]} files, {report.grew[1]} MB")
            watched.leave()
        finally:
            if watched.process.is_running():
                watched.process.kill()
        report.logins = server.counters.logins
    simulator.close()
    report.seconds = time.monotonic() - begun
    return report


def _choose(rng: random.Random, number: int) -> Cut:
    asking = rng.random() < 0.25
    return Cut(list(How)[number % len(How)], rng.randrange(1, ASKED if asking else SPAN), asking)


def _endure(cut: Cut, watched: Client, server: OracleServer, between: Cutter) -> None:
    """Cut once, and wait until presman has logged in again and sent a query."""
    cuts, logins = between.arm(cut), server.counters.logins
    _until(lambda: between.cuts > cuts, watched.look, "it never reaches the cut")
    _until(lambda: server.counters.logins > logins, watched.look, "it does not come back")
    asked = server.counters.round_trips
    _until(lambda: server.counters.round_trips > asked, watched.look, "it asks for nothing")


def _footprint(process: psutil.Process) -> tuple[int, int]:
    return process.num_fds(), process.memory_info().rss >> 20


def _until(true: Callable[[], bool], look: Callable[[], None], otherwise: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        look()
        if time.monotonic() > end:
            raise Broken(otherwise)
        time.sleep(0.002)
    look()


def _environment(folder: Path) -> dict[str, str]:
    return environment(PRESMAN_PASSWORD="presman", PRESMAN_CONFIG=os.devnull, XDG_STATE_HOME=str(folder))
