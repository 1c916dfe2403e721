"""Cost of forecasts in `presman record` in a long storm: `python -m benchmarks.recorder [--polls N]`.

Two recorders, one of them without forecasts, poll the same database of a loopback server, where `SPEED` seconds pass in
each second, so that polls are some five simulated seconds apart, as by default. It measures the CPU of each process
after the first polls. Each poll takes a second: six minutes in all, two with `--polls 120`.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from benchmarks.wire import serving
from presman.base.release import Release

SPEED = 5.0
INTERVAL = 1.0
"""Seconds between two polls; `SPEED` times as many pass on the database."""
WARM_UP = 40
"""Polls that do not count: texts are looked up, and forecasts begin only when five statements have ended."""

FORESEES = "from presman.cli import main; raise SystemExit(main())"
FORESEES_NOTHING = f"""
from presman.forecast.forecaster import Forecaster
Forecaster.read = lambda self, reading, *_: reading
{FORESEES}
"""


class RecorderTime(NamedTuple):
    """The counted polls, the process's CPU seconds in them, and the seconds that passed on the database."""

    polls: int
    cpu: float
    passed: float


_WRITTEN = re.compile(r"poll \d+ written")


class _Watch(threading.Thread):
    """Reads a recorder's output, and its CPU seconds at each poll."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        super().__init__(daemon=True)
        self._process, self._seen = process, list[tuple[float, float]]()

    def run(self) -> None:
        watched = psutil.Process(self._process.pid)
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if _WRITTEN.search(line) and self._process.poll() is None:
                times = watched.cpu_times()
                self._seen.append((times.user + times.system, time.monotonic()))
        self._process.wait()

    def found(self) -> RecorderTime:
        """Return the CPU after the first polls."""
        self.join()
        (begun, first), (used, last) = self._seen[WARM_UP], self._seen[-1]
        return RecorderTime(len(self._seen) - WARM_UP - 1, used - begun, SPEED * (last - first))


def recorders(scenario: str, polls: int) -> tuple[RecorderTime, RecorderTime]:
    """Return the CPU of two recorders of one storm, with forecasts first."""
    with (
        tempfile.TemporaryDirectory(prefix="presman-bench-") as folder,
        serving(Release(19), scenario, SPEED) as oracle,
    ):
        environment = os.environ | {"PRESMAN_PASSWORD": "presman", "XDG_STATE_HOME": folder}
        watches = []
        for number, code in enumerate((FORESEES, FORESEES_NOTHING)):
            place = str(Path(folder) / f"{number}.presman")
            command = [sys.executable, "-c", code, "record", f"presman@{oracle.dsn}", "-o", place]
            command += ["--interval", str(INTERVAL), "--polls", str(polls), "--log-level", "debug"]
            process = subprocess.Popen(
                command, env=environment, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )  # fmt: skip
            watches.append(_Watch(process))
            watches[-1].start()
        first, second = (watch.found() for watch in watches)
        return first, second


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenario", nargs="?", default="storm")
    parser.add_argument("--polls", type=int, default=340)
    options = parser.parse_args()
    for name, found in zip(("with", "without"), recorders(options.scenario, options.polls), strict=True):
        each = 1000 * found.cpu / found.polls
        apart = found.passed / found.polls
        print(
            f"{name} forecasts: {found.cpu:.1f} s of CPU in {found.polls} polls {apart:.1f} s apart, {each:.0f} ms each"
        )


if __name__ == "__main__":
    main()
