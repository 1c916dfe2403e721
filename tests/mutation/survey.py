"""Which tests call which function of the product: those try a mutant of it first, the quickest ahead."""

from __future__ import annotations

import hashlib
import json
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import takewhile
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import pytest

STARTING = 0.3
"""Seconds that a file takes to be imported, whatever its tests take."""


class Called(NamedTuple):
    """What one test took, in seconds, and the functions that it called, as PATH::NAME."""

    seconds: float
    functions: frozenset[str]


Survey = dict[str, dict[str, Called]]
"""By file and by test."""


class Surveyor:
    """A plug-in of pytest that notes what each test calls."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}/"
        self.found: Survey = defaultdict(dict)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Note the code that is entered while a test is set up, runs and is taken down, in any thread."""
        entered: dict[int, CodeType] = {}

        def note(frame: FrameType, _event: str, _value: Any) -> None:
            entered[id(frame.f_code)] = frame.f_code  # by id: code is compared by all that it consists of

        begun = time.monotonic()
        threading.settrace(note)
        sys.settrace(note)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            threading.settrace(None)
            seconds = round(time.monotonic() - begun, 3)
            names = frozenset(filter(None, (self._name(code) for code in entered.values())))
            self.found[item.nodeid.partition("::")[0]][item.nodeid] = Called(seconds, names)

    def _name(self, code: CodeType) -> str:
        path = code.co_filename.removeprefix(self.root)
        return f"{path}::{plain(code.co_qualname)}" if path.startswith("presman/") else ""


class Only:
    """A plug-in of pytest that leaves out tests, and has the others in the order of the seconds they take."""

    def __init__(self, seconds: dict[str, float], tried: frozenset[str]) -> None:
        self.seconds, self.tried = seconds, tried

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the tests that are named, or all if none is, without those that were tried."""
        kept = [item for item in items if not self.seconds or item.nodeid in self.seconds]
        left = [item for item in kept if item.nodeid not in self.tried]
        items[:] = sorted(left, key=lambda item: self.seconds.get(item.nodeid, 0.0))


def plain(name: str) -> str:
    """Return a function's name without `<locals>`, `<lambda>`, `<listcomp>`: as a mutant names where it is."""
    return ".".join(part for part in name.split(".") if not part.startswith("<"))


def callers(survey: Survey, path: str, where: str) -> dict[str, dict[str, float]]:
    """Return the tests that call a function, with their seconds, by file: the quickest file first, and the nearest.

    What stands outside of a function is of those that call any of its class, or of its file.
    """
    name = f"{path}::{where}"
    found = _calling(survey, lambda function: function == name)
    found = found or _calling(survey, lambda function: function.startswith(f"{name}."))
    found = found or _calling(survey, lambda function: function.startswith(f"{path}::"))
    return dict(
        sorted(found.items(), key=lambda each: ((STARTING + sum(each[1].values())) / _nearness(each[0], path), each[0]))
    )


def _nearness(file: str, path: str) -> int:
    """Return how many folders a file of tests and one of the product have in common, the first for all: tests, presman.

    >>> _nearness("tests/sources/simulator/test_io.py", "presman/sources/simulator/views/io.py")
    3
    """
    pairs = zip(file.split("/")[1:], path.split("/")[1:], strict=False)
    return 1 + sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _calling(survey: Survey, wanted: Callable[[str], bool]) -> dict[str, dict[str, float]]:
    found = {
        file: {test: called.seconds for test, called in tests.items() if any(map(wanted, called.functions))}
        for file, tests in survey.items()
    }
    return {file: tests for file, tests in found.items() if tests}


def digest(path: Path) -> str:
    """Return what tells whether a file of tests is as it was when it was surveyed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def save(survey: Survey, digests: dict[str, str], path: Path) -> None:
    """Write what was found, each function's name once."""
    names = sorted({name for tests in survey.values() for called in tests.values() for name in called.functions})
    number = {name: at for at, name in enumerate(names)}
    files = {
        file: {
            test: [called.seconds, sorted(number[name] for name in called.functions)] for test, called in own.items()
        }
        for file, own in survey.items()
    }
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"names": names, "digests": digests, "files": files}))


def load(path: Path, digests: dict[str, str]) -> Survey:
    """Return what was found of files that are as they were then."""
    if not path.exists():
        return {}
    kept = json.loads(path.read_text())
    names = kept["names"]
    return {
        file: {test: Called(seconds, frozenset(map(names.__getitem__, own))) for test, (seconds, own) in tests.items()}
        for file, tests in kept["files"].items()
        if digests.get(file) == kept["digests"].get(file)
    }


def lots(files: Iterable[str], sizes: tuple[int, ...] = (3, 12)) -> Iterator[list[str]]:
    """Yield files in lots, few first: what they import is imported before the first test."""
    left = list(files)
    for size in sizes:
        if left:
            yield left[:size]
            left = left[size:]
    if left:
        yield left
