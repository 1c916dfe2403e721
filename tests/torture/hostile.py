"""Hostile: a database with control sequences in its texts, tried on every screen and in every file, column by column.

The loopback server puts them before the texts of its answers, which the real driver reads. Each byte that the monitor
and the fleet write to their terminals is checked: a control sequence must be one that presman itself writes, without
any text from the database. Files and the output of commands must have no control character and no invisible one.
"""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any

from benchmarks.terminal import ESCAPES, Screen
from presman.base.formats import counted
from presman.base.release import Release
from presman.base.secret import Secret
from presman.config import config_file
from presman.rows.queries import by_query, field_types
from presman.services.live import LiveTarget
from presman.services.metrics.metric_page import Exposition, ObservedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import environment
from tests.oracle_server import OracleServer
from tests.oracle_server.backend import Result
from tests.oracle_server.simulated import simulated_server
from tests.torture.endurance import PRESSED, SLOWER
from tests.torture.judged import harmless, judged
from tests.torture.rounds import Broken, Task
from tests.torture.torture import LAUNCH
from tests.tui.test_any_keys import KEYS, MOVES

MARK = "6666"
BETWEEN_KEYS = 0.02
"""Seconds."""

SILENT = [key for key in KEYS if key != "f"]
"""Keys after which presman does not ring the bell: f follows a statement, and rings when that starts."""

PAYLOAD = (
    f"\x1b[{MARK}m\x1b]0;{MARK}\x07\x1b]52;c;{MARK}\x1b\\\x1bP{MARK}\x1b\\\x9b{MARK}m\x1b[{MARK};1H"
    "\x08\r\n\t\x0e\x00\x7f\u202e\u2066\u200b\ufeff\u2028[red][@click=app.quit]"
)
EVERY = "every column"

SEQUENCES = re.compile(
    rb"\x1b(?:"
    rb"\[[0-9;]*[mHKJABCDG]"  # colours, the place of the cursor, parts of the screen
    rb"|\[\?(?:25|7|1000|1002|1003|1004|1006|1015|1016|1049|2004|2026|2048)[hl]"  # modes: presman's screens and mouse
    rb"|\[\?(?:2026|2048)\$p|\[\d* q|\[[<>=]\d*u|\[\?u|\[c|\[6n"  # questions to the terminal, and its keyboard
    rb"|\]1[01];\?(?:\x07|\x1b\\)|\]22;[a-z-]*\x07"  # questions for colours, the shape of the mouse pointer
    rb"|\]52;c;[A-Za-z0-9+/=]*\x07"  # what the user copied with a key
    rb"|[78=>]|\([B0])"
)
"""All sequences that presman, Textual and the terminal guard write; any other comes from the database."""


@cache
def columns() -> tuple[str, ...]:
    """Return the names of all text columns, as in the queries."""
    return tuple(
        sorted(
            {
                name.upper()
                for record in by_query().values()
                for name, (kind, _) in field_types(record).items()
                if kind is str
            }
        )
    )


COLUMNS = len(columns()) + 1
"""Rounds: each column, and all at once."""

PLACES = ("screens", "files")

WRITTEN = {".html", ".csv", ".jsonl", ".json", ".log", ".svg", ".txt"}


class Poison:
    """Puts the payload before the texts of one column in all answers of a server; set `column` to choose it."""

    def __init__(self, server: OracleServer) -> None:
        self.column = ""
        self._usual = server.backend.execute
        server.backend.execute = self._execute  # type: ignore[method-assign]

    def _names(self) -> Sequence[str]:
        return columns() if self.column == EVERY else (self.column,)

    def _execute(self, sql: str, binds: Sequence[Any], context: Mapping[str, str]) -> Result:
        found = self._usual(sql, binds, context)
        places = {
            place
            for place, column in enumerate(found.columns)
            if column.kind.startswith(("VARCHAR2", "CLOB", "CHAR")) and column.name in self._names()
        }
        if places:
            found.columns = tuple(
                column._replace(kind="VARCHAR2(4000)") if place in places and column.kind != "CLOB" else column
                for place, column in enumerate(found.columns)
            )
            found.rows = [
                tuple(PAYLOAD + str(value or "") if place in places else value for place, value in enumerate(row))
                for row in found.rows
            ]
        return found


@contextmanager
def poisoned_server(seed: int) -> Iterator[tuple[OracleServer, Poison]]:
    """Serve a simulated database that can be poisoned."""
    simulator = SimulatorSource("mixed", release=Release(19), seed=seed)
    simulator.open()
    server = simulated_server(simulator, Release(19))
    poison = Poison(server)
    with server:
        yield server, poison
    simulator.close()


def run(task: Task) -> str:
    """Poison first all columns at once, then one after the other in an order that the seed determines."""
    order = [EVERY, *random.Random(task.seed).sample(columns(), len(columns()))]
    with poisoned_server(task.seed) as (server, poison):
        looked = _screens if task.part == "screens" else _files
        with looked(server, task) as look:
            for number in task.rounds:
                poison.column = order[number % len(order)]
                server.drop_sessions()
                try:
                    look(poison.column, random.Random(f"{task.seed} {number}"))
                except (Broken, TimeoutError, RuntimeError) as error:
                    raise Broken(f"{task.part}, seed {task.seed}, column {poison.column}: {error}") from error
                if number % 10 == 9:
                    task.log(f"{number + 1} columns")
            return f"{task.rounds.done} of {len(order)} columns on {task.part}: {look.report()}"  # type: ignore[attr-defined]


# ---- screens


class LiveEvent(Screen):
    """A presman on a terminal. Every byte that it writes is kept until it is judged."""

    def __init__(self, words: list[str], folder: Path) -> None:
        self.unjudged = bytearray()
        words = ["sh", "-c", 'cd "$0" && exec "$@"', str(folder), *words]  # keys write files into the working directory
        super().__init__(words, **environment(PRESMAN_CONFIG=str(folder / "config.ini"), XDG_STATE_HOME=str(folder)))

    def _read(self, seconds: float) -> bool:
        before = self.written
        found = super()._read(seconds)
        if self.written > before:
            self.unjudged += self._tail[before - self.written :]
        return found

    def judge(self) -> int:
        """Judge the bytes since the last call, up to the last escape sequence, which may be incomplete. Raises Broken.

        Returns how often the mark was shown as text.
        """
        end = self.unjudged.rfind(b"\x1b")
        output, self.unjudged = bytes(self.unjudged[:end]), self.unjudged[end:]
        return innocent(output)


def innocent(output: bytes) -> int:
    """Return how often the mark is in the text of a terminal's output. Raises Broken for a foreign control sequence."""
    for found in ESCAPES.finditer(output):
        sequence = found[0]
        if MARK.encode() in sequence or not SEQUENCES.fullmatch(sequence):
            around = output[max(0, found.start() - 100) : found.end() + 60]
            raise Broken(f"a control sequence that presman does not write: {sequence!r} in {around!r}")
    text = ESCAPES.sub(b"", output)
    harmless(text.decode("utf-8", "replace").replace("\r", "\n"), "the terminal")
    return text.count(MARK.encode())


class _Screens:
    def __init__(self, server: OracleServer, task: Task) -> None:
        for name in ("one", "other"):
            with (task.folder / "config.ini").open("a") as file:
                file.write(f"[{name}]\nconnection_string = presman/presman@{server.dsn}\n")
        (task.folder / "config.ini").chmod(0o600)
        start = [sys.executable, "-c", LAUNCH]
        self._folder = task.folder
        self.shown = 0
        self.screens = [
            LiveEvent([*start, "one", "--refresh", "0.1"], task.folder),
            LiveEvent([*start, "fleet", "one", "other", "--interval", "0.5"], task.folder),
        ]
        for screen, shown in zip(self.screens, (b"PX servers", b"LIVE"), strict=True):
            screen.wait_for(shown)  # not LIVE for the monitor: on a busy machine ten polls a second may always be late

    def __call__(self, column: str, rng: random.Random) -> None:
        """Press each tab's key and random keys on the monitor, and random keys on the fleet."""
        monitor, fleet = self.screens
        monitor.listen(0.4)
        for tab in "1234567":
            for key in (tab, "enter", rng.choice(SILENT), rng.choice(MOVES), rng.choice(SILENT), "escape"):
                if key not in SLOWER:
                    monitor.press(PRESSED.get(key, key.encode()))
                    monitor.listen(BETWEEN_KEYS)
            fleet.press(rng.choice((b"\r", b"\x1b[B", b"s", b"O", b"?", b"\x1b", b"2", b"4")))
            fleet.listen(BETWEEN_KEYS)
        fleet.press(b"\x1b")
        fleet.listen(0.05)
        end = time.monotonic() + 20.0
        self.shown += sum(screen.judge() for screen in self.screens)
        while not self.shown and time.monotonic() < end:  # on a busy machine the first poll may be late
            monitor.listen(0.2)
            self.shown += sum(screen.judge() for screen in self.screens)

    def report(self) -> str:
        if not self.shown:
            raise Broken("the mark was never shown: nothing is proven")
        files = _written(self._folder)
        for text in files:
            harmless(text, "a file that a key wrote")
        written = sum(screen.written for screen in self.screens)
        return (
            f"{written / 1e6:.1f} MB written to two terminals, {counted(len(files), 'file')} by keys,"
            f" the mark {self.shown:,} times as text, nothing that acts"
        )


@contextmanager
def _screens(server: OracleServer, task: Task) -> Iterator[_Screens]:
    found = _Screens(server, task)
    try:
        yield found
    finally:
        for screen in found.screens:
            screen.close()


# ---- files


class _Files:
    def __init__(self, server: OracleServer, task: Task) -> None:
        self._target = f"presman@{server.dsn}"
        self._settings = ConnectSettings(server.dsn, "presman", Secret("presman"))
        self._folder = task.folder / "written"
        self.files, self.marked = 0, 0

    def __call__(self, column: str, rng: random.Random) -> None:
        """Write every kind of file, and check each."""
        folder = self._folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        recording, export = str(folder / "a.presman"), str(folder / "a.csv")
        output_of = partial(judged, PRESMAN_PASSWORD="presman", PRESMAN_CONFIG=os.devnull, XDG_STATE_HOME=str(folder))
        measure = rng.choice(("cpu", "session_io", "parallel", "queue", "latency", "emphasis", "arrivals"))
        how = rng.choice((["json", "--outliers"], ["text", "--outliers"], ["csv"]))
        texts = [
            output_of(words).out
            for words in (
                ["once", self._target, "--interval", "0.1", "--format", *how],
                ["check", self._target, "--interval", "0.1", "-v"],
                ["lint", self._target],
                ["doctor", self._target],
                ["watch", self._target, "--polls", "2", "--refresh", "0.1"],
                ["fleet", self._target, "--format", "json"],
                ["record", self._target, "--interval", "0.1", "--polls", "3", "--duration", "5", "-o", recording],
                ["report", recording, "-o", str(folder / "a.html")],
                ["once", recording, "--format", "json"],
                ["compare", f"{recording}@first..last", "@first..last", "--format", "html"],
                ["bundle", recording, "-o", str(folder / "bundle.presman")],
                ["export", recording, "--measure", measure, "--format", "jsonl", "-o", str(folder / "a.jsonl")],
                ["export", recording, "--measure", measure, "-o", export],
                ["chart", export],
                ["chart", export, "-o", str(folder / "chart.html")],
            )
        ]
        texts += [self._page(), *_written(folder)]
        for text in texts:
            harmless(text, f"a file of {len(text)} characters")
        self.files += len(texts)
        self.marked += sum(MARK in text for text in texts)

    def _page(self) -> str:
        """Return the page of metrics."""
        make = partial(OracleSource, self._settings)
        database = ObservedDatabase(LiveTarget("db", make, 0.1), lambda _: None)
        database.sampler.begin()
        try:
            end = time.monotonic() + 20.0
            while database.state().polls < 2:
                if time.monotonic() > end:
                    return ""  # its views make no sense any more; the other commands report that
                time.sleep(0.01)
            return Exposition([database]).write("")[0].decode()
        finally:
            database.sampler.stop()

    def report(self) -> str:
        if not self.marked:
            raise Broken("the mark was in no file: nothing is proven")
        return f"{self.files:,} files, pages and outputs, the mark in {self.marked:,}, nothing that acts"


def _written(folder: Path) -> list[str]:
    """Return the content of the files that presman wrote into a folder; of recordings all texts in their tables."""
    found = [path.read_text("utf-8") for path in folder.iterdir() if path.suffix in WRITTEN]
    for path in folder.glob("*.presman"):
        with closing(sqlite3.connect(path)) as file:
            names = [name for (name,) in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            rows = [row for name in names for row in file.execute(f'SELECT * FROM "{name}"')]
        found.append("\n".join(value for row in rows for value in row if isinstance(value, str)))
    return found


@contextmanager
def _files(server: OracleServer, task: Task) -> Iterator[_Files]:
    usual, config_file.SHORTEST_REFRESH = config_file.SHORTEST_REFRESH, 0.01
    try:
        yield _Files(server, task)
    finally:
        config_file.SHORTEST_REFRESH = usual
