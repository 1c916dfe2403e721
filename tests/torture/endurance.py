"""Endurance: a month of polls, each five simulated seconds after the one before, and monitors with random keys.

Memory, threads, files and tasks must not grow, and every number must be finite and not negative. The polls are a course
of a simulated database, repeated at later times and with new statements and sessions: a month has a million of those,
and presman must forget them. The threads of `presman record`, `metrics` and `fleet` poll them.
"""

from __future__ import annotations

import gc
import math
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import psutil
from msgspec import Struct
from msgspec.structs import fields, replace

from benchmarks.terminal import Screen
from presman.base.formats import counted
from presman.base.release import Release
from presman.cli.limits import give_back_memory
from presman.recording.reader import Recording
from presman.recording.retention import RecordingLocation, RetentionLimits, trim
from presman.rows.queries import Scope, field_types
from presman.rows.snapshot import Section, Snapshot
from presman.services.live import LiveTarget
from presman.services.live_fleet import LiveFleet
from presman.services.metrics.metric_page import Exporter, Exposition, families
from presman.services.recorder import DatabaseRecorder
from presman.sources import Answer, Request
from tests.cli.run import environment
from tests.recording.recorded import figures, polled
from tests.torture.rounds import Broken, Rounds, Task
from tests.tui.test_any_keys import KEYS, MOVES, USUAL

STEP = 5.0
A_MONTH = int(30 * 86_400 / STEP)
"""518,400 polls."""

COURSE = 240
"""Polls of the course that is repeated: twenty minutes."""

LOOKS = 12
"""How often memory, threads, files and tasks are checked. The first third of the checks is a warm-up."""

MOST_GROWN = 16.0, 0.1
"""By how many megabytes, or what part, the memory of the last third may be above that of the middle third."""

PATIENCE = 60.0
"""Seconds after which a polling thread counts as ended."""

AT_ONCE = 50
"""Polls that may wait to be written."""

TRIM_EVERY = 720
RETAIN = timedelta(days=1)

MONITOR_KEYS = 12_000
"""Forty minutes with a key each 0.2 s: keys pause the monitor, and it should poll a storm more than 1,000 times."""


class Look(NamedTuple):
    """What a process uses after so many polls: memory in megabytes, threads, files, asyncio's tasks."""

    polls: int
    memory: float
    threads: int
    files: int
    tasks: int

    def __str__(self) -> str:
        counts = f"{self.threads} threads, {self.files} files, {self.tasks} tasks"
        return f"{self.polls:,} polls: {self.memory:.1f} MB, {counts}"


NO_ROOM = Look(0, 0.0, 0, 2, 0)
OF_DAYS = NO_ROOM._replace(files=8)
"""Each day is a file, with two of SQLite's beside it: two more days may be open at the end than in the middle."""

OF_KEYS = Look(0, 0.0, 2, 8, 100)
"""Keys may begin a recording and a CSV file, and open tabs and pages that were not open before."""


REMEMBERED = 300
"""Polls that the monitor keeps for scrolling back and for charts (usually 3,600): all kept before memory is judged."""

WARM = 1_000
"""Polls before a monitor's memory is judged: until then keys open tabs and pages for the first time."""


def flat(looks: Sequence[Look], room: Look = NO_ROOM, warm: int = 0) -> str:
    """Return the maxima of the middle third and of the last third in a line. Raises Broken if something grows.

    `room` is by how many threads, files and tasks the last third may be higher, for what comes and goes, such as a
    recording that a key begins and ends. With fewer than `warm` polls memory is not judged, and the line notes it.
    """
    third = max(1, len(looks) // 3)
    before, after = (
        [max(each) for each in zip(*part, strict=True)] for part in (looks[third:-third] or looks, looks[-third:])
    )
    is_judged = looks[-1].polls >= warm
    most = (0, max(MOST_GROWN[0], before[1] * MOST_GROWN[1]) if is_judged else math.inf, *room[2:])
    for what, one, other, more in list(zip(Look._fields, before, after, most, strict=True))[1:]:
        if other > one + more:
            raise Broken(f"{what} grew from {one:g} to {other:g}: " + "; ".join(map(str, looks)))
    unjudged = "" if is_judged else f" (not judged: fewer than {warm:,} polls)"
    memory = f"memory {before[1]:.0f} to {after[1]:.0f} MB{unjudged}"
    return f"{memory}, {after[2]} threads, {after[3]} files, {after[4]} tasks at most"


def sane(value: Any, where: str = "") -> None:
    """Raise Broken for a number that is not finite or is below 0, anywhere in a value."""
    if isinstance(value, int | float):
        if not math.isfinite(value) or value < 0:
            raise Broken(f"{where} is {value}")
        return
    for name, each in _parts(value):
        sane(each, f"{where}.{name}" if name else where)


def _parts(value: Any) -> Iterable[tuple[Any, Any]]:
    """Return the parts of a value, with their names if they have any."""
    if isinstance(value, Struct):
        return ((each.name, getattr(value, each.name)) for each in fields(value))
    if hasattr(value, "_asdict"):
        return value._asdict().items()
    if isinstance(value, Mapping):
        return value.items()
    return (("", each) for each in value) if isinstance(value, tuple | list | frozenset | set) else ()


# ---- a month of polls


class Month:
    """A source that repeats a course of polls, each round later and with new names. `give` allows one poll."""

    kind = "simulator"
    name = "month"
    scope = Scope.CLUSTER
    notes = damage = ()

    def __init__(self, course: Sequence[Snapshot]) -> None:
        self._course = course
        self._span = course[-1].at - course[0].at + timedelta(seconds=STEP)
        self._number = -1
        self._given = threading.Semaphore(0)
        self._taken = threading.Semaphore(0)
        self._changed: dict[int, Section] = {}

    def give(self) -> None:
        """Allow the sampler another poll, and wait until it asks for it. Raises Broken."""
        self._given.release()
        if not self._taken.acquire(timeout=PATIENCE):
            raise Broken(f"the sampler asks for no poll within {PATIENCE:g} s")

    def open(self) -> Release:
        """Return the release."""
        return self._course[0].release

    def advance(self) -> None:
        """Wait until the next poll is allowed, and go to it."""
        self._given.acquire()
        self._number += 1
        if self._number % len(self._course) == 0:
            self._changed.clear()
        self._taken.release()

    def snapshot(self) -> Snapshot:
        """Return the current poll."""
        rounds, place = divmod(max(0, self._number), len(self._course))
        poll, later = self._course[place], rounds * self._span
        sections = {record: self._later(record, section, rounds, later) for record, section in poll.sections.items()}
        return replace(poll, number=self._number + 1, at=poll.at + later, sections=MappingProxyType(sections))

    def _later(self, record: Any, section: Section, rounds: int, later: timedelta) -> Section:
        """Return a section as it would be `later`; a section that several polls share stays shared."""
        known = self._changed.get(id(section))
        if known is None:
            change = _changes(record, rounds, later)
            rows = tuple(record._make(map(_call, change, row)) for row in section.rows) if any(change) else section.rows
            at = None if section.at is None else section.at + later
            known = self._changed[id(section)] = replace(section, rows=rows, at=at)
        return known

    def find_newest(self) -> str:
        """Every poll can be read."""
        return ""

    def before(self) -> Snapshot | None:
        """Return None: it is not called."""
        return None

    def read(self, requests: Sequence[Request], within: float | None = None) -> Answer:
        """Raise: only whole polls are read."""
        raise NotImplementedError

    def cancel(self) -> None:
        """Release the thread that waits for a poll."""
        self._given.release()

    def close(self) -> None:
        """Do nothing."""


Change = Callable[[Any], Any] | None


def _call(change: Change, value: Any) -> Any:
    return value if change is None or not value else change(value)


def _changes(record: Any, rounds: int, later: timedelta) -> list[Change]:
    """Return how each field of a record changes in a round: instants become later, names new."""
    mark = "".join("0123456789abcdfghjkmnpqrstuvwxyz"[rounds >> shift & 31] for shift in (15, 10, 5, 0))

    def change(name: str, kind: type[Any]) -> Change:
        if kind is datetime:
            return lambda value: value + later
        if name in {"sql_id", "prev_sql_id"}:
            return lambda value: mark + value[4:]
        if name in {"serial", "qcserial"}:
            return lambda value: value + rounds
        return None

    return [change(name, kind) for name, (kind, _) in field_types(record).items()]


def _course(task: Task, polls: int) -> list[Snapshot]:
    """Return polls of the scenario that the part names: a month of `queueing` takes a fifth of the time of `mixed`."""
    return [snapshot for snapshot, _ in polled(task.part.split()[-1], polls, step=STEP)]


def _polls(rounds: Rounds, month: Month, log: Callable[[str], None], now_and_then: Callable[[int], None]) -> list[Look]:
    """Allow a month's polls one after the other, and return what the process used in between."""
    looks: list[Look] = []
    due = 1 / LOOKS + rounds.spent
    for number in rounds:
        month.give()
        now_and_then(number)
        if (gone := max(number / rounds.times, rounds.spent)) >= due:
            due = gone + 1 / LOOKS
            looks.append(_look(number + 1))
            log(str(looks[-1]))
    looks.append(_look(rounds.done))
    return looks


def _look(polls: int) -> Look:
    gc.collect()
    process = psutil.Process()
    return Look(polls, process.memory_info().rss / 2**20, threading.active_count(), process.num_fds(), 0)


def record(task: Task, course: int = COURSE) -> str:
    """Record a month into a folder, in which the last day is kept besides the current one."""
    month, reported = Month(_course(task, course)), []
    location = RecordingLocation(f"{task.folder}{os.sep}")
    target = LiveTarget("month", lambda: month, 1e-4, kind="simulator")
    recorder = DatabaseRecorder(
        target, location, lambda event: reported.append(event.line) if event.level != "debug" else None
    )
    recorder.start()

    def tend(number: int) -> None:
        while recorder.waiting > AT_ONCE:
            time.sleep(0.001)
        if number % TRIM_EVERY == TRIM_EVERY - 1 and recorder.last_at is not None:
            trim(location, RetentionLimits(RETAIN), recorder.last_at)

    try:
        looks = _polls(task.rounds, month, task.log, tend)
    finally:
        recorder.stop_polling()
        month.cancel()
        is_written = recorder.finish(60.0)
        location.close()
    if reported or not is_written or recorder.given_up:
        raise Broken(f"{recorder.given_up} polls given up, {recorder.waiting} left, reported: {reported[:5]}")
    with Recording(str(task.folder)) as recording:
        playback = recording.playbacks[-1]
        for place in range(max(0, len(playback) - course), len(playback)):
            sane(playback.reading(place), f"poll {place}")
        for measure in ("cpu", "parallel", "queue", "latency"):
            sane(figures(playback, measure, playback.at(max(0, len(playback) - course))), measure)
    return f"{_days(recorder.written)} recorded, {flat(looks, OF_DAYS)}"


def metrics(task: Task, course: int = COURSE) -> str:
    """Watch two databases for a month, scraped at each third poll."""
    months = [Month(_course(task, course)) for _ in range(2)]
    reported: list[str] = []
    targets = [LiveTarget(f"db{number}", lambda month=month: month, 1e-4) for number, month in enumerate(months)]
    exporter = Exporter(targets, lambda event: reported.append(event.line) if event.level != "debug" else None)
    exposition = Exposition(exporter.databases)
    exporter.start(lambda _: None)

    def tend(number: int) -> None:
        months[1].give()
        if number % 3 == 2:
            exposition.write("")
        if number % 50 == 49:
            for database in exporter.databases:
                observation = database.state().observation
                sane(None if observation is None else observation.reading, database.target.name)
            for family in families(exporter.databases):
                sane(list(family.samples), family.metric.name)

    try:
        looks = _polls(task.rounds, months[0], task.log, tend)
    finally:
        for month in months:
            month.cancel()
        exporter.stop()
    if reported:
        raise Broken(f"reported: {reported[:5]}")
    return f"{_days(task.rounds.done)} of 2 databases scraped, {flat(looks)}"


def fleet(task: Task, course: int = COURSE) -> str:
    """Watch a fleet of two for a month."""
    months = [Month(_course(task, course)) for _ in range(2)]
    watched = LiveFleet("fleet", [LiveTarget(f"db{place}", lambda month=month: month)
                                  for place, month in enumerate(months)], 1e-4)  # fmt: skip
    for each in watched.databases.values():
        each.sampler.phase = None
    watched.start()

    def tend(number: int) -> None:
        months[1].give()
        if number % 50 == 49:
            for member in watched.members():
                sane(member.key_figures, member.name)
                sane(member.past, f"{member.name}: past")
                watched.to_do(member.name)

    try:
        looks = _polls(task.rounds, months[0], task.log, tend)
        reasons = [member.reason for member in watched.members() if member.reason]
    finally:
        for month in months:
            month.cancel()
        watched.stop()
    if reasons:
        raise Broken(f"reported: {reasons}")
    return f"{_days(task.rounds.done)} of 2 databases watched, {flat(looks)}"


def _days(polls: int) -> str:
    return f"{counted(polls, 'poll')}, {polls * STEP / 86_400:.2f} days at {STEP:g} s,"


# ---- monitors

LAUNCH = """
import asyncio, os, signal, sys
from pathlib import Path
os.chdir(sys.argv.pop(1))
import presman.config.config_file
presman.config.config_file.SHORTEST_REFRESH = 0.1
from presman.analysis.latency.latency_history import LatencyHistory
from presman.polling.history import History
from presman.analysis.trends import series
History.__init__.__defaults__ = (POLLS, *History.__init__.__defaults__[1:])
LatencyHistory.__init__.__defaults__ = (POLLS, *LatencyHistory.__init__.__defaults__[1:])
series.KEPT = POLLS
from presman.tui import feed
from presman.tui.app import MonitorApp
from tests.torture.endurance import Broken, sane
polls = 0
def broken(text):
    with Path("broken").open("a") as file:
        print(text, file=file)
def message_of(*arguments, usual=feed.message_of):
    global polls
    message = usual(*arguments)
    if not isinstance(message, feed.Arrived) or not message.whole:
        return message
    polls += 1
    try:
        sane(message.reading, "reading")
    except (Broken, AttributeError) as error:
        broken(f"poll {polls}: {error!r} of {message!r}"[:2000])
    return message
def look(*_):
    Path("looks").write_text(f"{polls} {len(asyncio.all_tasks())}")
feed.message_of = message_of
MonitorApp.complain = lambda self, error: broken(repr(error))
signal.signal(signal.SIGUSR2, look)
from presman.cli import main
sys.exit(main())
""".replace("POLLS", str(REMEMBERED))
"""presman, but it polls each 0.2 s, keeps few polls, writes down errors and, on a signal, how many tasks it has."""

PRESSED = {
    "question_mark": b"?", "f1": b"\x1bOP", "f5": b"\x1b[15~", "enter": b"\r", "space": b" ", "left": b"\x1b[D",
    "right": b"\x1b[C", "shift+left": b"\x1b[1;2D", "shift+right": b"\x1b[1;2C", "end": b"\x1b[F", "home": b"\x1b[H",
    "slash": b"/", "colon": b":", "up": b"\x1b[A", "down": b"\x1b[B", "pagedown": b"\x1b[6~", "tab": b"\t",
    "escape": b"\x1b",
}  # fmt: skip
"""The bytes that a terminal sends for keys that are not letters."""

SLOWER = {"plus", "equals_sign", "minus"}
"""Keys that change how often it polls."""

PAUSE = 0.2


def monitor(task: Task) -> str:
    """Press random keys on a monitor that polls five times a second. Raises Broken if it grows or ends."""
    scenario = task.part.split()[-1]
    words = [sys.executable, "-c", LAUNCH, str(task.folder), f"demo:{scenario}", "--refresh", "0.2"]
    screen = Screen(words, **environment(PRESMAN_CONFIG=os.devnull, XDG_STATE_HOME=str(task.folder)))
    rng, looks, pressed = random.Random(f"{task.seed} {scenario}"), [], 0
    try:
        screen.wait_for(b"LIVE")
        due = 0.0
        while pressed < task.rounds.times and (not pressed or task.rounds.spent < 1):
            keys = [key for key in rng.choice((MOVES, USUAL, KEYS)) if key not in SLOWER]
            key = rng.choice(keys)
            screen.press(PRESSED.get(key, key.encode()))
            pressed += 1
            screen.listen(PAUSE)
            if (gone := max(pressed / task.rounds.times, task.rounds.spent)) >= due:
                due = gone + 1 / LOOKS
                looks.append(_look_at(screen.pid, task.folder))
                task.log(f"{scenario}: {looks[-1]}, {pressed} keys")
        looks.append(_look_at(screen.pid, task.folder))
    except (RuntimeError, TimeoutError) as error:
        raise Broken(f"{scenario}, seed {task.seed}, {pressed} keys: it ended: {error}") from error
    finally:
        screen.close()
    errors = task.folder / "broken"
    if errors.exists():
        raise Broken(f"{scenario}, seed {task.seed}: {errors.read_text()[:2000]}")
    return f"{scenario}: {counted(looks[-1].polls, 'poll')}, {pressed} random keys, {flat(looks, OF_KEYS, WARM)}"


def _look_at(pid: int, folder: Path) -> Look:
    """Return what a monitor and its child processes use."""
    answer = folder / "looks"
    answer.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR2)
    end = time.monotonic() + 20.0
    while not (answer.exists() and (counts := answer.read_text())):
        if time.monotonic() > end:
            raise TimeoutError("it does not answer a signal")
        time.sleep(0.01)
    polls, tasks = map(int, counts.split())
    family = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    found = []
    for each in family:
        with suppress(psutil.NoSuchProcess):
            found.append((each.memory_info().rss, each.num_threads(), each.num_fds()))
    memory, threads, files = map(sum, zip(*found, strict=True))
    return Look(polls, memory / 2**20, threads, files, tasks)


_WHAT: dict[str, Callable[[Task], str]] = {
    **{f"{part.__name__} {scenario}": part for scenario in ("queueing", "mixed") for part in (record, metrics, fleet)},
    "monitor storm": monitor,
    "monitor rac": monitor,
}
WHAT = tuple(_WHAT)


def run(task: Task) -> str:
    """Run one part for a month of polls, or as long as its time lasts."""
    give_back_memory()
    if task.part.startswith("monitor") and task.rounds.times > MONITOR_KEYS:
        task = task._replace(rounds=Rounds(MONITOR_KEYS, task.rounds.seconds))
    return _WHAT[task.part](task)
