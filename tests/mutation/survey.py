"""Survey of which tests call which function: these tests try its mutants first, the fastest of them ahead."""

from __future__ import annotations

import functools
import hashlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

STARTING = 0.3
"""Seconds to import a file, without its tests."""


QUICK = 0.2
"""Tests of up to so many seconds may run between tests of other files, although shared fixtures are then made twice."""

CLOSEST = 10
"""So many tests are tried before all others if many call a function."""

Codes = dict[int, CodeType]
"""Code that was entered, by id, because code objects compare equal if their contents are equal."""


class Called(NamedTuple):
    """A test's seconds and functions (PATH::NAME).

    `shared` are the seconds of fixtures and caches that it uses and that another test had made before it.
    """

    seconds: float
    shared: float
    functions: frozenset[str]

    @property
    def alone(self) -> float:
        """Return its seconds if it makes the shared fixtures and caches itself."""
        return self.seconds + self.shared


Survey = dict[str, dict[str, Called]]
"""By file and by test."""


class Surveyor:
    """A plug-in of pytest that records what each test calls, in any thread.

    The calls of a fixture of a whole file count for each test that uses it, and the calls of a cached function's first
    call count for each test that calls it again. Otherwise they would count for the first test only.
    """

    def __init__(self, root: Path) -> None:
        self.root = f"{root}/"
        self.found: Survey = defaultdict(dict)
        self._entered: Codes = {}
        self._shared = 0.0
        self._fixtures: dict[object, tuple[float, Codes]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self) -> None:
        """Replace `cache` and `lru_cache` for modules imported from here on, to record what cached functions call."""
        functools.lru_cache = self.noting_cache
        functools.cache = self.noting_cache(None)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Record the code that is entered while a test is set up, runs and is torn down."""
        entered = self._entered

        def note(frame: FrameType, _event: str, _value: Any) -> None:
            entered[id(frame.f_code)] = frame.f_code

        entered.clear()
        self._shared, made, begun = 0.0, set(self._fixtures), time.monotonic()
        threading.settrace(note)
        sys.settrace(note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            seconds = time.monotonic() - begun
            for fixture in {each[-1] for each in item._fixtureinfo.name2fixturedefs.values() if each}:
                took, codes = self._fixtures.get(fixture, (0.0, {}))
                entered |= codes
                self._shared += took if fixture in made else 0.0
            names = frozenset(filter(None, map(self._name, list(entered.values()))))
            called = Called(round(seconds, 3), round(self._shared, 3), names)
            self.found[item.nodeid.partition("::")[0]][item.nodeid] = called

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Record what a fixture calls that several tests of a file share."""
        if fixturedef.scope in {"function", "session"}:
            return (yield)
        with self._apart() as codes:
            begun = time.monotonic()
            result = yield
            self._fixtures[fixturedef] = (time.monotonic() - begun, codes)
        return result

    @contextmanager
    def _apart(self) -> Iterator[Codes]:
        """Collect the code that is entered inside the block separately, too."""
        before, inside = dict(self._entered), Codes()
        self._entered.clear()
        try:
            yield inside
        finally:
            inside |= self._entered
            self._entered |= before

    def noting_cache(self, maxsize: Any = 128, typed: bool = False) -> Any:
        """Return a replacement of `lru_cache` that records what functions of presman and its tests call."""

        def cached(function: Callable[..., Any]) -> Any:
            if not function.__module__.startswith(("presman.", "tests.")):
                return _lru_cache(maxsize, typed)(function)
            below: dict[Any, tuple[float, Codes]] = {}

            def first(*given: Any, **named: Any) -> Any:
                with self._apart() as codes:
                    begun = time.monotonic()
                    answer = function(*given, **named)
                below[_key(given, named)] = (time.monotonic() - begun, codes)
                return answer

            kept = _lru_cache(maxsize, typed)(first)

            @functools.wraps(function)
            def asked(*given: Any, **named: Any) -> Any:
                known = below.get(_key(given, named))
                answer = kept(*given, **named)
                if known is not None:
                    self._entered |= known[1]
                    self._shared += known[0]
                return answer

            asked.cache_clear, asked.cache_info = kept.cache_clear, kept.cache_info  # type: ignore[attr-defined]
            return asked

        return cached(maxsize) if callable(maxsize) else cached

    def _name(self, code: CodeType) -> str:
        path = code.co_filename.removeprefix(self.root)
        return f"{path}::{plain(code.co_qualname)}" if path.startswith("presman/") else ""


_lru_cache = functools.lru_cache


def _key(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return given, tuple(sorted(named.items()))


class Only:
    """A plug-in of pytest that leaves out tests, and runs the others from the fastest to the slowest.

    Slow tests run file by file.
    """

    def __init__(self, files: list[str], seconds: dict[str, float], tried: frozenset[str]) -> None:
        self.files, self.seconds, self.tried = files, seconds, tried

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the named tests, or all if none is named, except those tried before, named with or without a case."""
        kept = [item for item in items if not self.seconds or item.nodeid in self.seconds]
        left = (item for item in kept if not {item.nodeid, item.nodeid.partition("[")[0]} & self.tried)
        items[:] = sorted(left, key=self._order)

    def _order(self, item: pytest.Item) -> tuple[int, float]:
        seconds = self.seconds.get(item.nodeid, 0.0)
        return 0 if seconds <= QUICK else 1 + self.files.index(item.nodeid.partition("::")[0]), seconds


def plain(name: str) -> str:
    """Return a function's name without `<locals>`, `<lambda>` and `<listcomp>`, as in `Mutant.where`."""
    return ".".join(part for part in name.split(".") if not part.startswith("<"))


class Calls:
    """Which tests call a function."""

    def __init__(self, survey: Survey) -> None:
        self.survey = survey
        self._tests: dict[str, list[tuple[str, str]]] = defaultdict(list)
        self._names: dict[str, set[str]] = defaultdict(set)
        for file, tests in survey.items():
            for test, called in tests.items():
                for name in called.functions:
                    self._tests[name].append((file, test))
                    self._names[name.partition("::")[0]].add(name)

    def callers(self, path: str, where: str) -> dict[str, dict[str, float]]:
        """Return the tests that call a function, with their seconds, by file: fast and near files first.

        For code outside of functions, these are the tests that call any function of its class or file.
        """
        name, known = f"{path}::{where}", self._names.get(path, set())
        names = {name} & known or {each for each in known if each.startswith(f"{name}.")} or known
        found: dict[str, dict[str, float]] = defaultdict(dict)
        for file, test in {each for own in names for each in self._tests[own]}:
            found[file][test] = self.survey[file][test].alone
        return dict(sorted(found.items(), key=lambda each: (self._cost(*each) / _nearness(each[0], path), each[0])))

    def closest(self, path: str, where: str) -> dict[str, dict[str, float]]:
        """Return the few callers that call most of the file's rarely called functions, with their seconds, by file.

        A thousand tests call what every screen calls, but only one or two of them check what a click there does.
        Returns nothing if there are only a few callers.
        """
        tests = [(file, test) for file, own in self.callers(path, where).items() for test in own]
        if len(tests) <= CLOSEST:
            return {}
        rarity = {name: 1 / len(self._tests[name]) for name in self._names[path]}

        def worth(pair: tuple[str, str]) -> float:
            called = self.survey[pair[0]][pair[1]]
            return sum(rarity[name] for name in called.functions & rarity.keys()) / (QUICK + called.alone)

        found: dict[str, dict[str, float]] = defaultdict(dict)
        for file, test in sorted(tests, key=lambda pair: (-worth(pair), pair))[:CLOSEST]:
            found[file][test] = self.survey[file][test].alone
        return dict(found)

    def _cost(self, file: str, tests: Iterable[str]) -> float:
        called = [self.survey[file][test] for test in tests]
        return STARTING + sum(each.seconds for each in called) + max(each.shared for each in called)


def _nearness(file: str, path: str) -> int:
    """Return how many folders a test file and a product file have in common; `tests` and `presman` count as one.

    >>> _nearness("tests/sources/simulator/test_io.py", "presman/sources/simulator/views/io.py")
    3
    """
    pairs = zip(file.split("/")[1:], path.split("/")[1:], strict=False)
    return 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def digest(path: Path) -> str:
    """Return a hash that shows whether a test file has changed since the survey."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def save(survey: Survey, digests: dict[str, str], path: Path) -> None:
    """Write a survey, with each function's name once."""
    names = sorted({name for tests in survey.values() for called in tests.values() for name in called.functions})
    number = {name: at for at, name in enumerate(names)}
    files = {
        file: {
            test: [called.seconds, called.shared, sorted(number[name] for name in called.functions)]
            for test, called in own.items()
        }
        for file, own in survey.items()
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"names": names, "digests": digests, "files": files}))


def load(path: Path, digests: dict[str, str]) -> Survey:
    """Return the saved survey of the files that have not changed since."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text())
    names = kept["names"]
    return {
        file: {
            test: Called(*seconds, frozenset(map(names.__getitem__, own))) for test, (*seconds, own) in tests.items()
        }
        for file, tests in kept["files"].items()
        if digests.get(file) == kept["digests"].get(file)
    }


def lots(files: Iterable[str], sizes: tuple[int, ...] = (3, 12)) -> Iterator[list[str]]:
    """Yield files in lots, the first of them small, because a lot imports all its files before its first test."""
    left = list(files)
    for size in sizes:
        if left:
            yield left[:size]
            left = left[size:]
    if left:
        yield left
