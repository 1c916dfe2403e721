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


def test_a_file_that_tells_nothing_beside_others_is_asked_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def forked(part: list[str], *_: Any) -> Ended:
        asked.append(list(part))
        told = {} if len(part) > 1 else {f"{part[0]}::one": Called(0.1, 0.0, frozenset({"p.py::f"}))}
        names = [name for name in part if name != "empty.py"]
        save(dict.fromkeys(names, told), dict.fromkeys(part, "1"), tmp_path / "log.json")
        return Ended(0, 0.0)

    monkeypatch.setattr(tool, "forked", forked)
    monkeypatch.setattr(tool, "digest", lambda _: "1")
    monkeypatch.setenv("PRESMAN_WARM_UPS", "")
    found = tool.surveyed(["a.py", "empty.py"], tmp_path / "build" / "kept.json", tmp_path / "log.txt")
    assert asked == [["a.py", "empty.py"], ["a.py"], ["empty.py"]]
    assert (list(found["a.py"]), found["empty.py"]) == (["a.py::one"], {})
    assert tool.surveyed(["a.py"], tmp_path / "build" / "kept.json", tmp_path / "log.txt") == {"a.py": found["a.py"]}
    assert len(asked) == 3, "what is known is not asked again"


class Tries(tool.Tests):
    """Tries that are written down: what fails next and how long it takes; which of them are of the mutant."""

    def __init__(self, *found: tuple[str, float, float], of_the_mutant: tuple[str, ...] = ()) -> None:
        self.found, self.of_the_mutant = list(found), of_the_mutant
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

    def _is_of_the_mutant(self, test: str, *_: object) -> bool:
        return test in self.of_the_mutant


@pytest.mark.parametrize(
    ("tries", "believed", "told"),
    [
        ([("t/a.py::one", 1, 1)], (), "t/a.py::one"),
        ([("", 1, 1), ("t/b.py::one", 1, 1)], (), "t/b.py::one"),
        ([("", 1, 1), ("", 1, 1)], (), ""),
        ([("", 9, 1), ("", 1, 1)], (), "?"),
        ([("?", 10, 1)], (), "?"),
        # One of screens, and one that waited long, is believed only when it is looked at again.
        ([("tests/tui/a.py::one[x]", 1, 1), ("", 1, 1), ("", 1, 1)], (), ""),
        ([("tests/tui/a.py::one[x]", 1, 1)], ("tests/tui/a.py::one[x]",), "tests/tui/a.py::one[x]"),
        ([("t/a.py::one", 1, 30), ("t/a.py::two", 1, 1)], (), "t/a.py::two"),
        ([("t/a.py::one", 1, 30)], ("t/a.py::one",), "t/a.py::one"),
    ],
)
def test_what_is_believed(
    tries: list[tuple[str, float, float]], believed: tuple[str, ...], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = Tries(*tries, of_the_mutant=believed)
    monkeypatch.setattr(tool.time, "monotonic", lambda: tests.now)
    assert tests._noticed(Trial(MUTANT, "", "", [], {}, frozenset(), 10.0), b"") == told
    assert tests.found == []
    if tries[0][0].endswith("[x]") and not told:
        assert tests.before[1] == {"tests/tui/a.py::one"}, "all its cases are left out"


def test_a_mutant_has_its_seconds_of_cpu_and_the_file_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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
