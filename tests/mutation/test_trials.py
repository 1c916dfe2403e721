"""Trials of mutants: what runs alone, when a result counts, how long a mutant may take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.mutation import __main__ as tool
from tests.mutation.fork import Ended
from tests.mutation.mutants import Mutant
from tests.mutation.survey import Called, save
from tests.mutation.warm import Found, Trial

MUTANT = Mutant("presman/base/text.py", "clean", 1, 0, 0, "a", "b")


def test_a_file_without_results_is_surveyed_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def forked(part: list[str], *_: Any) -> Ended:
        asked.append(list(part))
        tests = {} if len(part) > 1 else {f"{part[0]}::one": Called(0.1, 0.0, frozenset({"p.py::f"}))}
        names = [name for name in part if name != "empty.py"]
        save(dict.fromkeys(names, tests), dict.fromkeys(part, "1"), tmp_path / "log.json")
        return Ended(0, 0.0)

    monkeypatch.setattr(tool, "forked", forked)
    monkeypatch.setattr(tool, "digest", lambda _: "1")
    monkeypatch.setenv("PRESMAN_WARM_UPS", "")
    found = tool.surveyed(["a.py", "empty.py"], tmp_path / "build" / "kept.json", tmp_path / "log.txt")
    assert asked == [["a.py", "empty.py"], ["a.py"], ["empty.py"]]
    assert (list(found["a.py"]), found["empty.py"]) == (["a.py::one"], {})
    assert tool.surveyed(["a.py"], tmp_path / "build" / "kept.json", tmp_path / "log.txt") == {"a.py": found["a.py"]}
    assert len(asked) == 3, "known results are not surveyed again"


class Tries(tool.Tests):
    """Scripted trials: the next failures with their seconds, and which of them are reproducible."""

    def __init__(self, *found: tuple[str, float, float], reproducible: tuple[str, ...] = ()) -> None:
        self.found, self.reproducible = list(found), reproducible
        self.now, self.before = 0.0, list[frozenset[str]]()
        self._left = 10.0
        self._near: Any = self
        self._calls: Any = None

    def stages(self, *_: object) -> list[tuple[list[str], dict[str, float], frozenset[str]]]:
        return [(["a.py"], {}, frozenset()), (["b.py"], {}, frozenset())]

    def _found(self, trial: Trial) -> str:
        self.before.append(trial.before)
        test, cpu, lasted = self.found.pop(0)
        self._left -= cpu
        self.now += lasted
        return test

    def _is_reproducible(self, test: str, *_: object) -> bool:
        return test in self.reproducible


@pytest.mark.parametrize(
    ("tries", "reproducible", "noticed"),
    [
        ([("t/a.py::one", 1, 1)], (), "t/a.py::one"),
        ([("", 1, 1), ("t/b.py::one", 1, 1)], (), "t/b.py::one"),
        ([("", 1, 1), ("", 1, 1)], (), ""),
        ([("", 9, 1), ("", 1, 1)], (), "?"),
        ([("?", 10, 1)], (), "?"),
        # A failed test of screens, or one that waited long, counts only if it fails again.
        ([("tests/tui/a.py::one[x]", 1, 1), ("", 1, 1), ("", 1, 1)], (), ""),
        ([("tests/tui/a.py::one[x]", 1, 1)], ("tests/tui/a.py::one[x]",), "tests/tui/a.py::one[x]"),
        ([("t/a.py::one", 1, 30), ("t/a.py::two", 1, 1)], (), "t/a.py::two"),
        ([("t/a.py::one", 1, 30)], ("t/a.py::one",), "t/a.py::one"),
    ],
)
def test_which_failures_count(
    tries: list[tuple[str, float, float]], reproducible: tuple[str, ...], noticed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = Tries(*tries, reproducible=reproducible)
    monkeypatch.setattr(tool.time, "monotonic", lambda: tests.now)
    assert tests._noticed(Trial(MUTANT, "", "", [], {}, frozenset(), 10.0), b"") == noticed
    assert tests.found == []
    if tries[0][0].endswith("[x]") and not noticed:
        assert tests.before[1] == {"tests/tui/a.py::one"}, "all its cases are left out"


def test_the_file_is_restored_after_a_trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.py"
    path.write_text("x = a\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tool, "warm_ups", lambda *_: tmp_path)
    monkeypatch.setenv("PRESMAN_WARM_UPS", "")
    tests = Tries(("t/a.py::one", 3.0, 1.0))
    tests._log = tmp_path / "log"
    seen = []
    tests._found = lambda trial, tried=tests._found: (seen.append(path.read_text()), tried(trial))[1]  # type: ignore[method-assign]
    mutant = MUTANT._replace(path="a.py", start=4, end=5)
    assert tests.tried(mutant, 10.0) == Found("t/a.py::one", 3.0)
    assert (seen, path.read_text()) == (["x = b\n"], "x = a\n")
