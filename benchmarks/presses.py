"""Answers to keys: the first press of each tab, and presses in a storm, beside a bare app with as many tabs."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Sequence
from itertools import chain
from pathlib import Path

from benchmarks import bare_tabs
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
"""Keys, and a text that shows that their tab is on the screen."""

BARE = [sys.executable, "-m", "benchmarks.bare_tabs"]
BARE_TABS = tuple((b"%d" % number, b"%d:20:5" % number) for number in (*range(2, bare_tabs.TABS + 1), 1))
"""The bare app's keys, and a cell of the table on each one's tab."""

WARM = 5.0
"""Seconds after the first data within which all tabs are made."""

Press = tuple[bytes, bytes]


def presses(report: Report, runs: int) -> None:
    """Measure the first press of each tab, and every press in a storm."""
    first: dict[str, list[list[float]]] = {"bare": [], "mixed": [], "storm": []}
    again: dict[str, list[float]] = {name: [] for name in first}
    for _ in range(runs):  # in turns, so that other load on the machine affects all alike
        for name, starts in first.items():
            new, known = _pressed(name)
            starts.append(new)
            again[name] += known
    # The last key of the bare app leads back to its first tab, which is not new.
    bare = 1e3 * statistics.median(chain.from_iterable(each[:-1] for each in first["bare"]))
    slowest = 1e3 * max(statistics.median(each) for each in zip(*first["mixed"], strict=True))
    report.line("first press of a tab, the slowest of them", slowest, "ms", bar=30)
    report.line("... beside a tab of a bare app", slowest, "ms", yardstick=bare, bar=0.5)
    storm, usual = (1e3 * statistics.median(again[name]) for name in ("storm", "bare"))
    report.line("a key answered, storm", storm, "ms", bar=20)
    report.line("... beside a bare app", storm, "ms", yardstick=usual, bar=1.5)


def _pressed(name: str) -> tuple[list[float], list[float]]:
    """Return the seconds of the first press of each tab, and of three more of each; `name` is a scenario, or "bare"."""
    if name == "bare":
        return _taken(Screen(BARE), BARE_TABS[-1][1], BARE_TABS)
    return _taken(Screen([PRESMAN, "demo", name, "--no-tour"]), b"LIVE", TABS)


def _taken(screen: Screen, begun: bytes, tabs: Sequence[Press]) -> tuple[list[float], list[float]]:
    try:
        screen.wait_for(begun, limit=60)
        screen.idle(WARM, 2.0)
        first = [key_answer(screen, [press]) for press in tabs]
        return first, [key_answer(screen, [press]) for press in (*tabs, *tabs, *tabs)]
    finally:
        screen.close()
