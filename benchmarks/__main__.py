"""Command of `make bench`: measures what presman costs, beside yardsticks of the same run, so that machines compare.

Prints one line per figure: presman, the yardstick, their ratio, and the bar, its upper limit. Exits 1 if a bar is
missed, so that a regression is noticed. It is no test, because machines are noisy.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import itertools
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from benchmarks.first_data import first_data
from benchmarks.heat import refresh_cost
from benchmarks.idle_feed import IdleFeed
from benchmarks.load import simulated, snapshot
from benchmarks.presses import presses
from benchmarks.report import Report
from benchmarks.storm import storm
from benchmarks.terminal import Screen, first_frame, key_answer, run_time
from benchmarks.trace import traces
from presman.base.release import Release
from presman.rows.snapshot import Snapshot
from tests.analysis import large_plan

BIN = Path(sys.executable).parent
PRESMAN = str(BIN / "presman")
BARE = [sys.executable, "-m", "benchmarks.bare_app"]
REFRESH = 2.0
SECTIONS = ("start", "run", "analysis", "screen", "trace", "oracle", "metrics", "fleet", "recording")


def start_up(report: Report, runs: int) -> None:
    """Start-up: the first frame against the bare app, `--help` against an empty parser."""
    bare = first_frame(BARE, [b"column 11", b"palette"], runs)
    own = first_frame([PRESMAN, "demo", "--no-tour"], [b"Overview", b"Sessions", b"LIVE"], runs)
    skeleton = first_frame([PRESMAN, "demo", "--no-tour"], [b"Overview", b"Sessions"], runs)
    report.line("first frame", skeleton * 1e3, "ms", yardstick=bare * 1e3, bar=1.2)
    report.line("first data on screen (an hour simulated)", own * 1e3, "ms", yardstick=bare * 1e3, bar=6)
    python = run_time([sys.executable, "-c", "import argparse; argparse.ArgumentParser().parse_args([])"], runs)
    report.line("presman --help", run_time([PRESMAN, "--help"], runs) * 1e3, "ms", yardstick=python * 1e3, bar=4)


def running(report: Report, window: float) -> None:
    """Running: CPU, bytes and memory per refresh against the bare app that rewrites its table, and keys."""
    bare = Screen([*BARE, str(REFRESH)])
    own = Screen([PRESMAN, "demo", "--no-tour", "--refresh", str(REFRESH)])
    try:
        bare.wait_for(b"column 11")
        own.wait_for(b"LIVE")
        for screen in (bare, own):
            screen.idle(6, REFRESH)  # warm caches
        yardstick = bare.idle(window, REFRESH)
        cost = own.idle(window, REFRESH)
        later = own.idle(window, REFRESH)
        report.line("CPU per 60 s, mixed", cost.cpu_per_minute, "s", bar=0.6)
        report.line("CPU per 60 s", cost.cpu_per_minute, "s", yardstick=yardstick.cpu_per_minute, bar=0.4)
        report.line("bytes per refresh, mixed", cost.bytes_per_refresh / 1e3, "kB", bar=16)
        report.line(
            "bytes per refresh",
            cost.bytes_per_refresh / 1e3,
            "kB",
            yardstick=yardstick.bytes_per_refresh / 1e3,
            bar=0.5,
        )
        report.line("memory", later.rss_mib, "MB", bar=70)
        report.line("memory growth over a window", later.rss_mib, "MB", yardstick=cost.rss_mib, bar=1.03)
        presses = [
            (b"4", b"[4 Parallel]"),
            (b"2", b"[2 CPU]"),
            (b"5", b"[5 Sessions]"),
            (b"1", b"[1 Overview]"),
        ] * 3
        report.line("a key answered", key_answer(own, presses) * 1e3, "ms", bar=20)
        escapes = []
        for _ in range(5):
            key_answer(own, [(b"?", b"Help: Overview")])
            escapes.append(key_answer(own, [(b"\x1b", b"Top waits")]))  # the line of tabs does not change
        report.line("Esc answered", statistics.median(escapes) * 1e3, "ms", bar=40)
        own.press(b" ")
        own.idle(2 * REFRESH, REFRESH)  # the first newer poll changes the keys on offer
        paused = own.idle(10, REFRESH).bytes_per_refresh
        report.line("bytes per refresh, paused: newer polls and their cost", paused, "B", bar=600)
    finally:
        bare.close()
        own.close()


def analysis(report: Report) -> None:
    """Analysis of one snapshot with 12 groups, 500 sessions and 128 parallel servers."""
    from presman.analysis.assemble import analyse

    before, after = snapshot(1), snapshot(2)
    small = (snapshot(1, sessions=50, servers=16), snapshot(2, sessions=50, servers=16))
    large = _cpu_ms(lambda: len(analyse(before, after).sessions))  # sessions are computed when they are first read
    report.line("analysis, 12 groups 500 sessions 128 servers", large, "ms", bar=10)
    little = _cpu_ms(lambda: len(analyse(*small).sessions))
    report.line("... against 50 sessions 16 servers", large, "ms", yardstick=little, bar=10)
    plan = large_plan.loaded(1), large_plan.loaded(2)
    report.line("analysis, 64 groups 4 instances 3 tiers", _cpu_ms(lambda: analyse(*plan)), "ms", bar=7)


def screen(report: Report) -> None:
    """One refresh of the Sessions tab with 50 and with 500 rows, and of the Plan tab with 64 groups."""
    fifty, five_hundred = (
        asyncio.run(_refresh_cost("5", [snapshot(number, sessions=count) for number in range(32)]))
        for count in (50, 500)
    )
    report.line("refresh of the Sessions tab, 500 rows against 50", five_hundred, "ms", yardstick=fifty, bar=1.5)
    report.line("refresh of the Sessions tab, 500 rows", five_hundred, "ms", bar=15)
    cost = asyncio.run(storm())
    busy = f"{cost.queued} queued {cost.running} running {cost.sessions} sessions"
    report.line(f"analysis, {busy}", cost.analysis, "ms", bar=20)
    report.line("... keeping it for scrolling back", cost.keeping, "ms", bar=20)
    report.line("... drawing the Parallel tab at 200x50", cost.drawing, "ms", bar=20)
    report.line("... the whole refresh", cost.refresh, "ms", bar=20)
    drawn, bare = (asyncio.run(refresh_cost(maps=maps)) for maps in (True, False))
    report.line("a poll on the two heat maps at 200x50", max(0.0, drawn - bare), "ms", bar=10)
    plan = [large_plan.loaded(number, instances=1) for number in range(32)]
    report.line("refresh of the Plan tab, 64 groups 3 tiers", asyncio.run(_refresh_cost("6", plan)), "ms", bar=10)
    containers = simulated("pdb")
    for tab, name in (("2", "CPU"), ("3", "I/O"), ("6", "Plan"), ("8", "PDBs")):
        refresh = asyncio.run(_refresh_cost(tab, containers, statistics.fmean))
        report.line(f"refresh of the tab {name} with containers, charts and all", refresh, "ms", bar=15)


async def _refresh_cost(
    tab: str, snapshots: Sequence[Snapshot], middle: Callable[[Sequence[float]], float] = statistics.median
) -> float:
    """Return the CPU ms from a reading's arrival to the screen that shows it. Every value on it is new.

    A chart is drawn again when one of its columns is complete: a median leaves that out, a mean includes it.
    """
    from presman.analysis.assemble import analyse
    from presman.tui.app import MonitorApp
    from presman.tui.feed import Arrived

    arrivals = [Arrived(analyse(before, after), after) for before, after in itertools.pairwise(snapshots)]
    for arrived in arrivals:
        len(arrived.reading.sessions)  # the sampler's thread computes them while they are shown
    app = MonitorApp(lambda _post, _refresh: IdleFeed(), name="load")
    async with app.run_test(size=(200, 50)) as pilot:
        await pilot.pause(0.5)
        await pilot.press(tab)
        taken = []
        for arrived in arrivals:
            gc.collect()
            begun = time.process_time()
            app.post_message(arrived)
            await pilot.pause()
            taken.append(time.process_time() - begun)
    return middle(taken[6:]) * 1e3


def _cpu_ms(work: Callable[[], object], turns: int = 40) -> float:
    work()
    taken = []
    for _ in range(turns):
        begun = time.process_time()
        work()
        taken.append(time.process_time() - begun)
    return statistics.median(taken) * 1e3


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--window", type=float, default=30, help="seconds of each idle window (30)")
    parser.add_argument("--runs", type=int, default=7, help="starts per figure (7)")
    parser.add_argument(
        "--only", choices=["start", "run", "analysis", "screen", "trace", "oracle", "metrics", "fleet", "recording"]
    )
    chosen = parser.parse_args()
    report = Report()
    if chosen.only in (None, "trace"):  # first, because a process's peak memory includes its parent's
        traces(report)
    with tempfile.TemporaryDirectory():
        if chosen.only in (None, "start"):
            start_up(report, chosen.runs)
            first_data(report, chosen.runs)
        if chosen.only in (None, "analysis"):
            analysis(report)
        if chosen.only in (None, "screen"):
            screen(report)
        if chosen.only in (None, "run"):
            running(report, chosen.window)
            presses(report, min(chosen.runs, 5))
    if chosen.only in (None, "oracle"):
        from benchmarks.wire import wire

        wire(report, PRESMAN)
    if chosen.only == "fleet":  # minutes of waiting
        from benchmarks.watched_fleet import a_day, watched

        watched(report, 50, 2 * chosen.window, 5.0, Release(19))
        a_day(report)
    if chosen.only == "recording":  # minutes of writing
        from benchmarks.recording import recordings

        recordings(report)
    if chosen.only in (None, "metrics"):
        from benchmarks.scraped_fleet import scraped

        scraped(report)
    return 1 if report.missed_bars else 0


if __name__ == "__main__":
    raise SystemExit(main())
