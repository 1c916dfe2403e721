"""Cost of recordings: bytes a day, appending a poll, a jump, a report, and `presman record` as a process.

Polls come from the simulator, five simulated seconds apart and as fast as it can make them; the real writer writes them
to a SQLite file. Run it alone with `python -m benchmarks.recording`; it takes some minutes. `--days` makes the long run
longer, `--month` adds the report of a month at 60 seconds.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import psutil
from msgspec.structs import replace

from benchmarks.report import Report
from benchmarks.wire import serving
from presman.analysis.assemble import analyse
from presman.analysis.caches import RowCache
from presman.analysis.readings.reading import Reading
from presman.base.release import Release
from presman.rows.queries import DetailLevel
from presman.rows.snapshot import Snapshot

PRESMAN = str(Path(sys.executable).parent / "presman")
START = datetime(2026, 11, 22, tzinfo=UTC)
STEP = 5.0

CHAIN = 256
"""Polls of a chain: bytes are counted between ends of chains, so that they include packing."""
WARM_UP, COUNTED = CHAIN, 6 * CHAIN
"""Polls that are written first, and polls that count: a little more than two hours."""

A_DAY = round(86_400 / STEP)
MOST_BYTES = {"mixed": 45.0, "storm": 85.0}
"""MB a day."""

JUMP, PAINTED_JUMP = 55.0, 110.0
"""Most time of a jump, in times of keeping a poll in memory (0.9 ms): 50 ms to its data, 100 ms to the screen."""

AGAIN = 360
"""Polls that are written repeatedly, as if time went on, where the benchmark must be fast."""
JUMPS, PAINTED = 300, 60
SETTLES = 5.0
"""Seconds after which a replay has made all its tabs."""
PROCESS_POLLS = 80

Moment = tuple[Snapshot, Reading]


class WriteCost(NamedTuple):
    """MB a day; the median CPU milliseconds of appending a poll and of keeping it in memory."""

    megabytes: float
    append: float
    keep: float
    history: float


class LongRun(NamedTuple):
    """MB of memory early in a long run and at its end, and its number of polls."""

    early: float
    late: float
    polls: int


def moments(scenario: str) -> Iterator[Moment]:
    """Yield snapshots and readings of a scenario, as a recorder polls them."""
    from presman.polling.poller import Poller
    from presman.sources.simulator_source import SimulatorSource

    now = [0.0]
    poller = Poller(SimulatorSource(scenario, seed=1, clock=lambda: now[0], start=START), clock=lambda: now[0])
    poller.detail_level = DetailLevel.HISTOGRAMS
    poller.open()
    previous, cache = None, RowCache()
    while True:
        now[0] += STEP
        snapshot = poller.poll()
        yield snapshot, analyse(previous, snapshot, cache)
        previous = snapshot


def write_cost(scenario: str, place: Path) -> WriteCost:
    """Write and keep the polls of a scenario."""
    from presman.polling.history import History
    from presman.recording.store import Store
    from presman.recording.writer import RecordingWriter
    from presman.tui.timeline import Timeline

    store = Store(str(place), writing=True)
    writer = RecordingWriter(store, scenario, "simulator", STEP)
    timeline, history = Timeline(), History()
    taken: list[tuple[float, float, float]] = []
    before = 0
    for number, (snapshot, reading) in enumerate(moments(scenario), start=1):
        begun = time.thread_time()
        writer.append(snapshot, reading)
        appended = time.thread_time()
        timeline.add(reading, snapshot)
        kept = time.thread_time()
        history.append(snapshot)
        taken.append((appended - begun, kept - appended, time.thread_time() - kept))
        if number == WARM_UP:
            before = store.size() or 0
            taken.clear()
        elif number == WARM_UP + COUNTED:
            break
    grown = (store.size() or 0) - before
    writer.close()
    store.close()
    figures = [1e3 * statistics.median(column) for column in zip(*taken, strict=True)]
    return WriteCost(grown / COUNTED * A_DAY / 1e6, *figures)


def again(kept: Sequence[Moment], polls: int, step: float) -> Iterator[Moment]:
    """Yield the same polls repeatedly, `step` seconds apart, as if time went on."""
    for number in range(polls):
        snapshot, reading = kept[number % len(kept)]
        at = START + timedelta(seconds=step * (number + 1))
        rounds = number // len(kept)  # counters restart with each round, so that no rate spans two rounds
        yield (
            replace(snapshot, at=at, number=number + 1, epoch=snapshot.epoch + rounds),
            replace(reading, at=at, number=number + 1, interval=step),
        )


def long_run(place: Path, polls: int, step: float) -> LongRun:
    """Be the process that writes many polls; return its memory after the first tenth and at the end."""
    from itertools import islice

    from presman.recording.store import Store
    from presman.recording.writer import RecordingWriter

    kept = list(islice(moments("mixed"), AGAIN))
    store = Store(str(place), writing=True)
    writer = RecordingWriter(store, "mixed", "simulator", step)
    early = 0.0
    for number, (snapshot, reading) in enumerate(again(kept, polls, step), start=1):
        writer.append(snapshot, reading)
        if number == polls // 10:
            early = _resident()
    late = _resident()
    writer.close()
    store.close()
    return LongRun(early, late, polls)


def _resident() -> float:
    gc.collect()
    return float(psutil.Process().memory_info().rss / 2**20)


def in_a_process(place: Path, polls: int, step: float) -> LongRun:
    """Let another process write many polls."""
    command = [sys.executable, "-m", "benchmarks.recording", "write", str(place), str(polls), str(step)]
    return LongRun(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def jumps(place: Path, many: int = JUMPS) -> list[float]:
    """Return the milliseconds of jumps to random instants of a recording, as the screen makes them, ascending."""
    from presman.recording.reader import Recording
    from presman.tui.past_timeline import timeline_before

    chosen = random.Random(1)
    taken = []
    with Recording(str(place)) as recording:
        playback = recording.playback()
        assert playback.first is not None
        assert playback.last is not None
        length = (playback.last - playback.first).total_seconds()
        for _ in range(many):
            at = playback.first + timedelta(seconds=chosen.uniform(0, length))
            begun = time.perf_counter()
            previous, current = pair = playback.pair(playback.index(at))
            playback.meaning(pair)
            timeline_before(playback, previous, current.at)
            taken.append(1e3 * (time.perf_counter() - begun))
    return sorted(taken)


async def painted_jumps(place: Path, many: int = PAINTED) -> list[float]:
    """Return the milliseconds from the request for a random instant to the screen that shows it, ascending."""
    from textual.message import Message

    from presman.recording.recording_source import RecordingSource
    from presman.tui.player import Jumped
    from presman.tui.replay_app import ReplayApp

    come = asyncio.Event()

    def note(message: Message) -> None:
        if isinstance(message, Jumped):
            come.set()

    chosen = random.Random(2)
    app = ReplayApp(lambda: RecordingSource(str(place), name="bench"), name="bench")
    taken = []
    async with app.run_test(size=(200, 50), message_hook=note) as pilot:
        await pilot.pause(SETTLES)
        app.player.play(on=False)
        await pilot.pause(0.5)
        assert app.span is not None
        first, last = app.span
        for _ in range(many):
            come.clear()
            begun = time.perf_counter()
            app.player.jump(first + (last - first) * chosen.random())
            await asyncio.wait_for(come.wait(), 5)
            await pilot.pause()
            taken.append(1e3 * (time.perf_counter() - begun))
    return sorted(taken)


def report_time(place: Path, folder: Path) -> float:
    """Return the CPU seconds of `presman report` on a whole recording."""
    before = os.times()
    subprocess.run([PRESMAN, "report", str(place), "-o", str(folder / "month.html")], check=True, capture_output=True)
    after = os.times()
    return after.children_user + after.children_system - before.children_user - before.children_system


class RecorderCost(NamedTuple):
    """What `presman record` costs: MB of memory in all, MB of its own, and CPU milliseconds a poll.

    Its own memory is what the machine holds for it alone (RssAnon of Linux; USS elsewhere). The rest is pages of files
    of libraries, which all their users share, and which the system takes back when it needs memory.
    """

    resident: float
    own: float
    cpu: float


def recorder_process(folder: Path) -> RecorderCost:
    """Return what `presman record` costs on a database of a loopback server."""
    with serving(Release(19), "mixed") as oracle:
        command = [
            PRESMAN,
            "record",
            f"presman@{oracle.dsn}",
            "-o",
            str(folder / "process.presman"),
            "--interval",
            "0.5",
        ]
        environment = os.environ | {"PRESMAN_PASSWORD": "presman", "XDG_STATE_HOME": str(folder)}
        process = subprocess.Popen(
            [*command, "--polls", str(PROCESS_POLLS), "--log-level", "debug"], env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert process.stderr is not None
        watched, seen = psutil.Process(process.pid), []
        for line in process.stderr:
            if "written" in line and process.poll() is None:
                times = watched.cpu_times()
                seen.append((times.user + times.system, watched.memory_info().rss / 2**20, _own(watched)))
            if len(seen) == PROCESS_POLLS - 1:
                break
        process.communicate()
    begun = seen[len(seen) // 4]
    return RecorderCost(seen[-1][1], seen[-1][2], 1e3 * (seen[-1][0] - begun[0]) / (len(seen) - 1 - len(seen) // 4))


def _own(process: psutil.Process) -> float:
    """Return the MB of memory that a process alone uses."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text("ascii", "replace")
    except OSError:
        return float(process.memory_full_info().uss / 2**20)
    return next(int(line.split()[1]) / 1024 for line in status.splitlines() if line.startswith("RssAnon"))


def _jumping(report: Report, day: Path, polls: int, keep: float) -> None:
    """Print how long a jump takes, against keeping a poll in memory."""
    taken = jumps(day)
    what = f"a jump to any moment of {polls:,} polls: median of {len(taken)}"
    report.line(what, statistics.median(taken), "ms", yardstick=keep, bar=JUMP)
    late = taken[round(0.95 * len(taken)) - 1]
    report.line("... 95th percentile", late, "ms", yardstick=keep, bar=2 * JUMP)
    painted = asyncio.run(painted_jumps(day))
    what = f"... to the painted screen: median of {len(painted)}"
    report.line(what, statistics.median(painted), "ms", yardstick=keep, bar=PAINTED_JUMP)


def recordings(report: Report, days: int = 1, *, month: bool = False) -> None:
    with tempfile.TemporaryDirectory(prefix="presman-bench-") as name:
        folder = Path(name)
        keep = 0.0
        for scenario, bar in MOST_BYTES.items():
            cost = write_cost(scenario, folder / f"{scenario}.presman")
            keep = keep or cost.keep
            report.line(f"recording of {scenario}, a day at {STEP:g} s", cost.megabytes, "MB", bar=bar)
            what = "... appending a poll against keeping it in memory"
            report.line(what, cost.append, "ms", yardstick=cost.keep, bar=3)
            report.line("... against its snapshot alone", cost.append, "ms", yardstick=cost.history, bar=5)
        day = folder / "day.presman"
        run = in_a_process(day, days * A_DAY, STEP)
        what = f"... memory after {run.polls:,} polls against {run.polls // 10:,}"
        report.line(what, run.late, "MB", yardstick=run.early, bar=1.03)
        _jumping(report, day, run.polls, keep)
        recorder = recorder_process(folder)
        report.line("presman record of one database: memory of its own", recorder.own, "MB", bar=60)
        report.line("... with pages of files that others share", recorder.resident, "MB", bar=80)
        report.line(f"... percent of a core at {STEP:g} s", recorder.cpu / 10 / STEP, "%", bar=1)
        if month:
            place = folder / "month.presman"
            in_a_process(place, 30 * 1440, 60.0)
            report.line("presman report of a month at 60 s", report_time(place, folder), "s", bar=10)


def main() -> int:
    if sys.argv[1:2] == ["write"]:
        place, polls, step = sys.argv[2:]
        print(json.dumps(long_run(Path(place), int(polls), float(step))._asdict()), flush=True)
        return 0
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recording", description=__doc__)
    parser.add_argument("--days", type=int, default=1, help="of the long run, at 5 seconds (1)")
    parser.add_argument("--month", action="store_true", help="the report of a month, too")
    chosen = parser.parse_args()
    report = Report()
    recordings(report, chosen.days, month=chosen.month)
    return 1 if report.missed_bars else 0


if __name__ == "__main__":
    sys.exit(main())
