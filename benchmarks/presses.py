"""Keys answered: each tab for the first time, and all of them in a storm."""

from __future__ import annotations

import statistics
import sys
from itertools import chain
from pathlib import Path

from benchmarks.report import Report
from benchmarks.terminal import Screen, key_answer

PRESMAN = str(Path(sys.executable).parent / "presman")

TABS = (
    (b"2", b"[2 CPU]"),
    (b"3", b"[3 I/O]"),
    (b"4", b"[4 Parallel]"),
    (b"5", b"[5 Sessions]"),
    (b"6", b"[6 Plan]"),
    (b"7", b"[7 Latency]"),
    (b"9", b"[9 Top]"),
)
"""Keys, and what says that their tab is on the screen."""

WARM = 5.0
"""Seconds after the first data by when all tabs are made."""


def presses(report: Report, runs: int) -> None:
    """Measure the first press of each tab, and every press in a storm; each figure is of the slowest tab."""
    for scenario, bar in (("mixed", 30), ("storm", 20)):
        first, again = zip(*(_pressed(scenario) for _ in range(runs)), strict=True)
        if scenario == "mixed":
            report.line("first press of a tab, the slowest of them", _slowest(first), "ms", bar=bar)
        else:
            report.line("a key answered, storm", statistics.median(chain.from_iterable(again)) * 1e3, "ms", bar=bar)


def _pressed(scenario: str) -> tuple[list[float], list[float]]:
    """Return the seconds of the first press of each tab, and of three more of each."""
    screen = Screen([PRESMAN, "demo", scenario, "--no-tour"])
    try:
        screen.wait_for(b"LIVE", limit=60)
        screen.idle(WARM, 2.0)
        first = [key_answer(screen, [press]) for press in TABS]
        return first, [key_answer(screen, [press]) for press in TABS * 3]
    finally:
        screen.close()


def _slowest(runs: tuple[list[float], ...]) -> float:
    """Return the milliseconds of the tab whose median is the largest."""
    return 1e3 * float(max(statistics.median(each) for each in zip(*runs, strict=True)))
