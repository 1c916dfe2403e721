"""Time to the first figures on the screen, beside pg_activity with PostgreSQL; both databases on loopback."""

from __future__ import annotations

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.report import Report
from benchmarks.terminal import Screen
from benchmarks.wire import serving
from presman.base.release import Release
from tests.real.postgresql import NOBODY, Missing, PostgresServer

BIN = Path(sys.executable).parent
PRESMAN, PG_ACTIVITY = str(BIN / "presman"), str(BIN / "pg_activity")

PG_ACTIVITY_SHOWN = (b"RUNNING QUERIES", b"DATABASE")
SHOWN = (b"Overview", b"LIVE", b"INTERACTIVE")
"""The frame, the link, and the first row of a table of the scenario `mixed`."""

Start = tuple[Sequence[str], Sequence[bytes], Mapping[str, str]]
"""A command, what it shows once it has figures, and its environment."""


def first_data(report: Report, runs: int) -> None:
    """Measure the time from the command to the first figures, of a live connection and of the demo."""
    try:
        if not shutil.which(PG_ACTIVITY):
            raise Missing("no pg_activity: pip install --group yardsticks")
        with tempfile.TemporaryDirectory(prefix="presman-bench-") as folder:
            server = PostgresServer(Path(folder))
            server.start()
            try:
                _beside(report, server, runs)
            finally:
                with suppress(RuntimeError):
                    server.stop()
    except Missing as missing:
        print(f"first figures beside pg_activity: not measured, {missing}")


def _beside(report: Report, server: PostgresServer, runs: int) -> None:
    with serving(Release(19), "mixed") as oracle:
        yardstick = [PG_ACTIVITY, "-h", "127.0.0.1", "-p", str(server.port), "-U", NOBODY, "-d", "postgres"]
        starts: dict[str, Start] = {
            "pg_activity": (yardstick, PG_ACTIVITY_SHOWN, {}),
            "live": ([PRESMAN, f"presman@{oracle.dsn}"], SHOWN, {"PRESMAN_PASSWORD": "presman"}),
            "demo": ([PRESMAN, "demo", "--no-tour"], SHOWN, {}),
        }
        taken = _in_turns(starts, runs)
    report.line("first figures, live", taken["live"] * 1e3, "ms", yardstick=taken["pg_activity"] * 1e3, bar=1.3)
    report.line("first figures, demo", taken["demo"] * 1e3, "ms", yardstick=taken["pg_activity"] * 1e3, bar=1.6)


def _in_turns(starts: Mapping[str, Start], runs: int) -> dict[str, float]:
    """Return the median seconds of each, started in turns so that other load on the machine affects all alike."""
    taken: dict[str, list[float]] = {name: [] for name in starts}
    for run in range(runs + 1):  # the first start warms the file cache and does not count
        for name, (command, markers, environment) in starts.items():
            screen = Screen(command, **environment)
            try:
                screen.wait_for(*markers, limit=60)
                if run:
                    taken[name].append(time.perf_counter() - screen.begun)
                screen.quiet(0.3)
            finally:
                screen.close()
    return {name: statistics.median(each) for name, each in taken.items()}
