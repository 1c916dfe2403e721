"""Several processes for the tests: forks of the one that has imported and collected them, which takes 6 s of CPU.

Whoever is free takes the tests of the next file. `-n 3` asks for three workers, `-n0` for none but this process; else
there are two for each processor: many tests wait for a process, a thread or a timeout.
"""

from __future__ import annotations

import importlib
import mmap
import os
import struct
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest

ROOT = Path(__file__).parent
PLACE = struct.Struct("i")
"""The number of a file that is to be taken, or of a test that a worker has begun."""

STOP = 0
"""The byte of the shared memory that says that no more tests are to be begun."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Ask how many."""
    words = "processes that share the tests, a file at a time; 0: none but this one"
    parser.getgroup("general")._addoption(
        "-n", dest="workers", type=_number, default=2 * (os.cpu_count() or 1), help=words
    )


def _number(text: str) -> int:
    return 2 * (os.cpu_count() or 1) if text == "auto" else int(text)


def compile_side_by_side(number: int) -> None:
    """In a fresh checkout have several processes compile a share of the tests each, by importing it."""
    sys.dont_write_bytecode = False  # whatever the shell says: else each run would compile all tests
    if number < 2 or any(ROOT.glob("__pycache__/*-pytest-*.pyc")):
        return
    paths = sorted(ROOT.rglob("test_*.py"))
    begun = [_begin(_import, paths[each::number]) for each in range(number)]
    for process in begun:
        os.waitpid(process, 0)


def _import(paths: Sequence[Path]) -> None:
    for path in paths:
        with suppress(Exception, pytest.skip.Exception):  # collecting will tell
            importlib.import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))


def _begin(act: Any, *given: Any) -> int:
    """Do something in a fork, and return its process."""
    sys.stdout.flush()
    sys.stderr.flush()
    return os.fork() or _end_after(act, *given)


def _end_after(act: Any, *given: Any) -> NoReturn:
    code = 1
    try:
        act(*given)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session: pytest.Session) -> bool | None:
    """Share the tests out, unless there is little to share."""
    option = session.config.option
    files = [list(tests) for _, tests in groupby(range(len(session.items)), lambda place: session.items[place].path)]
    number = min(option.workers, len(files))
    if number < 2 or session.testsfailed or option.collectonly or option.usepdb:
        return None
    Shared(session, files).run(number)
    return True


def folder_of_all(factory: pytest.TempPathFactory) -> Path | None:
    """Return the folder that all workers share, None in a process that has no others beside it."""
    own = factory.getbasetemp()
    return own.parent if own.name.startswith("worker") else None


class Shared:
    """The tests that are shared out. `files` are the numbers of those of each file."""

    def __init__(self, session: pytest.Session, files: list[list[int]]) -> None:
        self._session, self._files = session, files
        self._memory = mmap.mmap(-1, 4096)
        self._turns, give = os.pipe()
        os.write(give, b"".join(map(PLACE.pack, range(len(files)))))  # a pipe hands each to one of those who read
        os.close(give)

    def run(self, number: int) -> None:
        """Begin so many workers, and pass on what they tell until all have ended."""
        base = self._session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        lines: dict[Any, int] = {}
        for each in range(1, number + 1):
            (base / f"worker{each}").mkdir()
            ours, theirs = Pipe(duplex=False)
            _begin(self._work, each, theirs)
            theirs.close()
            lines[ours] = each
        try:
            while lines:
                for line in wait(list(lines)):
                    self._hear(line, lines)
        finally:
            self._memory[STOP] = 1
        if self._session.shouldfail:
            raise self._session.Failed(self._session.shouldfail)
        if self._session.shouldstop:
            raise self._session.Interrupted(self._session.shouldstop)

    def _hear(self, line: Any, lines: dict[Any, int]) -> None:
        """Pass on what a worker tells of a test: nothing more when it has ended, in good order or not."""
        hook, config = self._session.config.hook, self._session.config
        try:
            told = line.recv()
        except EOFError:
            told = self._death(lines.pop(line))
            os.wait()
        if not told:
            return
        place = {"nodeid": told[0]["nodeid"], "location": told[0]["location"]}
        hook.pytest_runtest_logstart(**place)
        for each in told:
            hook.pytest_runtest_logreport(report=hook.pytest_report_from_serializable(config=config, data=each))
        hook.pytest_runtest_logfinish(**place)
        if self._session.shouldfail or self._session.shouldstop:
            self._memory[STOP] = 1

    def _death(self, worker: int) -> list[Any]:
        """Return what is to be told of the test in whose middle a worker ended, nothing if there is none."""
        (begun,) = PLACE.unpack_from(self._memory, worker * PLACE.size)
        if begun < 0:
            return []
        item, config = self._session.items[begun], self._session.config
        words = "the process of the tests ended here"
        report = pytest.TestReport(item.nodeid, item.location, {}, "failed", words, "call")
        return [config.hook.pytest_report_to_serializable(config=config, report=report)]

    # ---- in a worker

    def _work(self, worker: int, line: Connection) -> None:
        """Run the tests of one file after the other, and tell of each."""
        session, manager = self._session, self._session.config.pluginmanager
        capture, reporter = manager.getplugin("capturemanager"), manager.getplugin("terminalreporter")
        capture.stop_global_capturing()  # its files are those of all
        capture.start_global_capturing()
        reporter._tw._file = Path(os.devnull).open("w")  # noqa: SIM115
        factory: Any = session.config._tmp_path_factory  # type: ignore[attr-defined]
        factory._basetemp /= f"worker{worker}"
        manager.register(Teller(session.config, line))
        try:
            self._run_taken(worker)
        finally:
            capture.stop_global_capturing()

    def _run_taken(self, worker: int) -> None:
        session, tests = self._session, self._taken()
        place = next(tests, -1)
        while place >= 0 and not (self._memory[STOP] or session.shouldfail or session.shouldstop):
            PLACE.pack_into(self._memory, worker * PLACE.size, place)
            following = next(tests, -1)
            after = session.items[following] if following >= 0 else None
            session.config.hook.pytest_runtest_protocol(item=session.items[place], nextitem=after)
            place = following
        session._setupstate.teardown_exact(None)
        PLACE.pack_into(self._memory, worker * PLACE.size, -1)

    def _taken(self) -> Iterator[int]:
        """Yield the tests of files that nobody else has taken."""
        while turn := os.read(self._turns, PLACE.size):
            yield from self._files[PLACE.unpack(turn)[0]]


class Teller:
    """Tells the process that began a worker of each of its tests."""

    def __init__(self, config: pytest.Config, line: Connection) -> None:
        self._config, self._line = config, line
        self._reports: list[Any] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep what is to be told."""
        self._reports.append(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))

    def pytest_runtest_logfinish(self) -> None:
        """Tell it."""
        self._line.send(self._reports)
        self._reports = []
