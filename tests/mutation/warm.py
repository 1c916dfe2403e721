"""Trials of function mutants in forks of a process that has collected all tests, in a tenth of a new process's time.

A fork puts the mutated code into the existing functions; processes that tests start find it on disk. That suffices for
code that is called while tests run. Code that runs when a module is imported cannot be changed afterwards, so its
mutants are tried in a new process.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import _lru_cache_wrapper
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple

import pytest

from tests.mutation import fork
from tests.mutation.mutants import Mutant
from tests.mutation.survey import Only


class Trial(NamedTuple):
    """One trial: `tests` of `files` (all if empty) except those in `before`, for at most `seconds` of CPU.

    `text` is the file before the change, `warm_ups` the folder of simulations already played.
    """

    mutant: Mutant | None
    text: str
    warm_ups: str
    files: list[str]
    tests: dict[str, float]
    before: frozenset[str]
    seconds: float


class Found(NamedTuple):
    """The test that notices a mutant, and the seconds of CPU until it was found.

    The test is "" if none notices it, "?" if none did in time, None if a new process is needed.
    """

    test: str | None
    cpu: float


class Endless:
    """A plug-in of pytest that reports a test as failed if it computes much longer than without a mutant."""

    def __init__(self, seconds: dict[str, float], report: Callable[[str], None]) -> None:
        self._seconds, self._report = seconds, report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Limit the process's seconds of CPU, of all threads, while a test runs."""
        seconds = self._seconds.get(item.nodeid, 0.0)
        signal.signal(signal.SIGPROF, lambda *_: self._report(item.nodeid))
        signal.setitimer(signal.ITIMER_PROF, ALLOWED + 2 * seconds if seconds else UNKNOWN)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)


ALLOWED, UNKNOWN = 5.0, 30.0
"""Seconds of CPU that a test may take beyond twice its usual time, and in all if that is not known."""


Spot = tuple[str, str, int]
"""A function's file, name and first line."""


class Functions:
    """The functions of the product that a process has imported, and which of them were called during the imports."""

    def __init__(self) -> None:
        self.called: set[CodeType] = set()
        self.by_spot: dict[Spot, list[FunctionType]] = defaultdict(list)
        self._caches: list[Any] = []

    def note(self, frame: FrameType, _event: str, _value: Any) -> None:
        """Record what is called while tests are imported."""
        if "/presman/" in frame.f_code.co_filename:
            self.called.add(frame.f_code)

    def find(self, root: str) -> None:
        """Find all imported functions and caches."""
        for each in gc.get_objects():
            if isinstance(each, FunctionType) and each.__code__.co_filename.startswith(root):
                code = each.__code__
                self.by_spot[code.co_filename, code.co_qualname, code.co_firstlineno].append(each)
            elif isinstance(each, _lru_cache_wrapper) and str(each.__module__).startswith(("presman.", "tests.")):
                self._caches.append(each)

    def change(self, path: str, old: str, new: str) -> bool:
        """Put the code of a file's new text into its functions; return whether that makes the whole change."""
        before, after = compile(old, path, "exec", dont_inherit=True), compile(new, path, "exec", dont_inherit=True)
        changed = list(_changed(before, after))
        if not changed or any(was.co_name == "<module>" or not _is_function(was) for was, _ in changed):
            return False
        pairs = [(self.by_spot.get(_spot(was), []), was, now) for was, now in changed]
        if not any(functions for functions, _, _ in pairs) or any(was in self.called for _, was, _ in pairs):
            return False
        for functions, was, now in pairs:
            for function in functions:
                if function.__code__ != was or len(was.co_freevars) != len(now.co_freevars):
                    return False
                function.__code__ = now
        for cache in self._caches:
            cache.cache_clear()
        return True


def _spot(code: CodeType) -> Spot:
    return code.co_filename, code.co_qualname, code.co_firstlineno


def _is_function(code: CodeType) -> bool:
    return bool(code.co_flags & 0x2)  # CO_NEWLOCALS: neither a module nor a class


def _changed(before: CodeType, after: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Yield changed code objects, before and after: whole functions, or the code of a class or module itself."""
    inner = [each for each in before.co_consts if isinstance(each, CodeType)]
    others = [each for each in after.co_consts if isinstance(each, CodeType)]
    if _is_function(before):
        if _plain(before) != _plain(after):
            yield before, after
        return
    if _own(before) != _own(after) or len(inner) != len(others):
        yield before, after
        return
    for was, now in zip(inner, others, strict=True):
        yield from _changed(was, now)


def _own(code: CodeType) -> tuple[Any, ...]:
    """Return what a code object does by itself, without nested code objects."""
    constants = [each for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_name, code.co_code, code.co_names, [(type(each), repr(each)) for each in constants]


def _plain(code: CodeType) -> tuple[Any, ...]:
    """Return what a code object does, with nested code objects, without line numbers."""
    return *_own(code), [_plain(each) for each in code.co_consts if isinstance(each, CodeType)]


class _Trials:
    """A plug-in of pytest that runs no tests by itself, but forks for each trial that it receives."""

    def __init__(self, line: Connection, folder: Path, functions: Functions) -> None:
        self._line = line
        self._folder = folder
        self._functions = functions
        self._failed: list[str] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed.append(report.nodeid)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Run the received trials until the connection ends."""
        sys.settrace(None)
        self._functions.find(f"{self._folder}/presman/")
        gc.collect()
        gc.freeze()
        files: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in session.items:
            files[item.nodeid.partition("::")[0]].append(item)
        self._line.send("ready")
        with suppress(EOFError):
            while True:
                mutant, *others = self._line.recv()
                trial = Trial(Mutant(*mutant) if mutant else None, *others)
                self._line.send(tuple(self._tried(trial, session, files)))
        return True

    def _tried(self, trial: Trial, session: pytest.Session, files: dict[str, list[pytest.Item]]) -> Found:
        items = [item for file in trial.files for item in files.get(file, ())]
        Only(trial.files, trial.tests, trial.before).pytest_collection_modifyitems(items)
        if not items:
            return Found("", 0.0)
        answer = self._folder / "warm.answer"
        answer.unlink(missing_ok=True)

        def report(test: str | None) -> int:
            answer.write_text("new start" if test is None else f"found {test}")
            os._exit(0)

        session.config.pluginmanager.register(Endless(trial.tests, report), name := "endless")
        ended = fork.run(lambda: report(self._run(trial, session, items)), self._folder / "warm.log", trial.seconds)
        session.config.pluginmanager.unregister(name=name)
        if ended.status is None:
            return Found("?", ended.cpu)
        found = answer.read_text() if answer.exists() else "found the tests ended"
        return Found(None if found == "new start" else found.removeprefix("found "), ended.cpu)

    def _run(self, trial: Trial, session: pytest.Session, items: list[pytest.Item]) -> str | None:
        """Run tests up to the first failure; return that test, "" if none fails, None if a new process is needed."""
        session.config._tmp_path_factory._given_basetemp = self._folder / "warm-files"  # type: ignore[attr-defined]
        os.environ["PRESMAN_WARM_UPS"] = trial.warm_ups
        if trial.mutant is not None and dotted(Path(trial.mutant.path)) in sys.modules:
            path = self._folder / trial.mutant.path
            if not self._functions.change(str(path), trial.text, path.read_text()):
                return None
        for place, item in enumerate(items):
            item.config.hook.pytest_runtest_protocol(
                item=item, nextitem=items[place + 1] if items[place + 1 :] else None
            )
            if self._failed:
                return self._failed[0]
        return ""


def dotted(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


class Warm:
    """Client of the process that has collected all tests. Raises EOFError if that process has ended."""

    def __init__(self, files: list[str], options: tuple[str, ...], folder: Path) -> None:
        self._line, theirs = Pipe()

        def collect() -> int:
            self._line.close()
            functions = Functions()
            threading.settrace(functions.note)
            sys.settrace(functions.note)
            import_module("pytest").main([*options, "-s", *files], plugins=[_Trials(theirs, folder, functions)])
            return 0

        self._pid = fork.start(collect, folder / "collected.log")
        theirs.close()
        self._line.recv()

    def tried(self, trial: Trial) -> Found:
        """Return which test notices a mutant."""
        # Plain tuples, because pytest has imported the classes from the copy.
        self._line.send((trial.mutant and tuple(trial.mutant), *trial[1:]))
        return Found(*self._line.recv())

    def end(self) -> None:
        self._line.close()
        os.waitpid(self._pid, 0)
