"""Mutation tool: the changes it makes, the order of tests, and that the listed equivalent mutants still exist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from presman.base.formats import duration, throughput
from tests.mutation.__main__ import ROOT, Nearest, equivalent, mixed, result_line, table, warm_ups
from tests.mutation.mutants import Mutant, chosen, mutants_of
from tests.mutation.survey import CLOSEST, Called, Calls, Only, Survey, Surveyor, load, plain, save
from tests.mutation.warm import Found

SOURCE = '''
"""A text of 3 words."""
WIDTH: int = 4

class Room:
    def full(self, used: float, names: list[str]) -> bool:
        """Return 1."""
        if not names and used + 1 < max(WIDTH, 2):
            self.tell("ü < 1")
        return used > 0
'''


def test_each_mutant_changes_one_place_but_no_text_and_no_type() -> None:
    text = SOURCE.encode()
    mutants = mutants_of("room.py", text)
    assert sorted((each.line, each.before, each.after) for each in mutants) == [
        (3, "4", "5"),
        (8, "1", "2"),
        (8, "2", "3"),
        (8, "max", "min"),
        (8, "not names", "(names)"),
        (8, "not names and used + 1 < max(WIDTH, 2)", "(not (not names and used + 1 < max(WIDTH, 2)))"),
        (8, "not names and used + 1 < max(WIDTH, 2)", "(not names or used + 1 < max(WIDTH, 2))"),
        (8, "used + 1", "(used - 1)"),
        (8, "used + 1 < max(WIDTH, 2)", "(used + 1 <= max(WIDTH, 2))"),
        (8, "used + 1 < max(WIDTH, 2)", "(used + 1 >= max(WIDTH, 2))"),
        (9, 'self.tell("ü < 1")', "pass"),
        (10, "0", "1"),
        (10, "return used > 0", "return None"),
        (10, "used > 0", "(used <= 0)"),
        (10, "used > 0", "(used >= 0)"),
    ]
    assert {each.where for each in mutants} == {"", "Room.full"}
    for each in mutants:
        compile(each.source(text), "room.py", "exec")


def test_small_numbers_are_changed_by_1_and_large_ones_are_doubled() -> None:
    text = b"a = 1\nb = 10\nc = 4096\nd = 0.5\ne = 3600.0\nf = True"
    assert [each.after for each in mutants_of("room.py", text)] == ["2", "11", "8192", "1.5", "7200.0", "False"]


def test_strict_of_zip_is_not_changed() -> None:
    assert [
        each.after for each in mutants_of("room.py", b"pairs = zip(a, b, strict=True)\nkeep = pick(a, all=True)")
    ] == ["False"]


def test_a_seed_draws_the_same_mutants_each_time() -> None:
    mutants = mutants_of("room.py", SOURCE.encode())
    assert chosen(mutants, 5, 1) == chosen(mutants[::-1], 5, 1) != chosen(mutants, 5, 2)
    assert chosen(mutants, 3, 1) == chosen(mutants, 5, 1)[:3]
    moved = mutants_of("room.py", b"\n" + SOURCE.encode())
    assert [each.key for each in chosen(moved, 5, 1)] == [each.key for each in chosen(mutants, 5, 1)]


def test_files_and_lines_can_be_named() -> None:
    mutants = mutants_of("room.py", SOURCE.encode())
    assert all(each.named(["room.py"]) for each in mutants)
    assert {each.line for each in mutants if each.named(["other.py", "room.py:3", "room.py:9"])} == {3, 9}


IMPORTS = {
    "presman/__init__.py": "",
    "presman/base/text.py": "",
    "presman/analysis/plans/lint_cdb.py": "from presman.base.formats import percent",
    "presman/analysis/plans/lint.py": "from presman.analysis.plans.lint_cdb import findings",
    "presman/figures/__init__.py": "",
    "presman/figures/group_figures.py": "",
    "presman/figures/plan_figures.py": "",
    "presman/sources/simulator/machine.py": "from presman.base.text import plain",
    "tests/analysis/test_lint.py": "from presman.analysis.plans.lint import lint",
    "tests/analysis/test_lint_cdb.py": "from presman.analysis.plans.lint_cdb import findings",
    "tests/output/test_figures.py": "from presman import figures",
    "tests/output/test_groups.py": "from presman.figures.group_figures import GROUPS",
}


@pytest.fixture
def near(tmp_path: Path) -> Nearest:
    """The imports of a small project."""
    for name, text in IMPORTS.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Nearest(tmp_path)


LINT_CDB = Mutant("presman/analysis/plans/lint_cdb.py", "_finding", 1, 0, 0, "", "")


def test_without_known_callers_tests_that_import_the_module_come_first(near: Nearest) -> None:
    stages = [files for files, _, _ in near.stages(LINT_CDB, Calls({}))]
    assert stages == [["tests/analysis/test_lint_cdb.py"], ["tests/analysis/test_lint.py"]]
    width = Mutant("presman/figures/group_figures.py", "", 1, 0, 0, "", "")
    first, *_ = [files for files, _, _ in near.stages(width, Calls({}))]
    assert first == ["tests/output/test_figures.py"], "it walks through all modules of the package"
    inside, *_ = [files for files, _, _ in near.stages(width._replace(where="_pool_text"), Calls({}))]
    assert inside == ["tests/output/test_groups.py", "tests/output/test_figures.py"], "fewer imports come first"


def test_a_mutant_of_the_simulator_plays_its_own_simulations(near: Nearest, tmp_path: Path) -> None:
    text = Mutant("presman/base/text.py", "", 1, 0, 0, "", "")
    plays = Mutant("presman/sources/simulator/machine.py", "", 1, 0, 0, "", "")
    shared = warm_ups(LINT_CDB, near, tmp_path)
    (shared / "one").write_text("played")
    own = warm_ups(text, near, tmp_path)
    assert own != shared
    assert (own / "one").read_text() == "played"
    assert warm_ups(plays, near, tmp_path) == own
    assert list(own.iterdir()) == []
    assert warm_ups(LINT_CDB, near, tmp_path) == shared


def test_callers_of_a_function_come_first_and_fast_files_ahead(near: Nearest) -> None:
    name = f"{LINT_CDB.path}::_finding"
    survey: Survey = {
        "a.py": {
            "a.py::slow": Called(2.0, 0, frozenset({name})),
            "a.py::else": Called(0.1, 0, frozenset({f"{name}s"})),
        },
        "b.py": {"b.py::one": Called(0.5, 0, frozenset({name})), "b.py::two": Called(0.6, 0, frozenset({name}))},
    }
    assert Calls(survey).callers(*name.split("::")) == {
        "b.py": {"b.py::one": 0.5, "b.py::two": 0.6},
        "a.py": {"a.py::slow": 2.0},
    }
    (files, tests, before), (_, none, tried), *_ = near.stages(LINT_CDB, Calls(survey))
    assert files == ["b.py", "a.py"]
    assert tests.keys() == tried == {"b.py::one", "b.py::two", "a.py::slow"}
    assert (before, none) == (frozenset(), {})


def test_callers_of_rarely_called_functions_come_first(near: Nearest) -> None:
    """Twenty tests paint the line; one clicks on it and takes longer than each of the twenty."""
    show, click = f"{LINT_CDB.path}::Line.show", f"{LINT_CDB.path}::Line.on_click"
    others = {f"a.py::{number:02}": Called(0.1, 0, frozenset({show})) for number in range(20)}
    survey: Survey = {"a.py": others, "b.py": {"b.py::click": Called(0.5, 0, frozenset({show, click}))}}
    calls, mutant = Calls(survey), LINT_CDB._replace(where="Line.show")
    assert next(iter(calls.closest(mutant.path, mutant.where))) == "b.py"
    (files, tests, before), (_, _, tried), *_ = near.stages(mutant, calls)
    assert files[0] == "b.py"
    assert "b.py::click" in tests
    assert (len(tests), before, tried) == (CLOSEST, frozenset(), frozenset(tests))
    assert calls.closest(LINT_CDB.path, "Line.on_click") == {}, "only one test calls it"


def test_the_nearest_of_equally_fast_files_comes_first() -> None:
    path = "presman/sources/simulator/views/io.py"
    files = ("tests/tui/test_a.py", "tests/sources/test_b.py", "tests/sources/simulator/test_c.py")
    survey = {file: {file: Called(1.0, 0, frozenset({f"{path}::f"}))} for file in files}
    assert list(Calls(survey).callers(path, "f")) == list(files[::-1])


def test_callers_of_code_outside_of_functions_are_those_of_its_class_or_file() -> None:
    survey = {
        "a.py": {"one": Called(1, 0, frozenset({"p.py::Room.full"})), "two": Called(1, 0, frozenset({"p.py::empty"}))}
    }
    assert Calls(survey).callers("p.py", "Room") == {"a.py": {"one": 1}}
    assert Calls(survey).callers("p.py", "") == {"a.py": {"one": 1, "two": 1}}
    assert Calls(survey).callers("q.py", "") == {}
    assert plain("Room.full.<locals>.inner.<locals>.<lambda>") == "Room.full.inner"


def test_calls_of_shared_fixtures_and_caches_count_for_each_test() -> None:
    surveyor = Surveyor(ROOT)
    spelled = surveyor.noting_cache(None)(lambda: duration(60.0))
    fixture = type("Fixture", (), {"scope": "module"})()

    def surveyed(name: str, act: Callable[[], object], **fixtures: object) -> frozenset[str]:
        item = SimpleNamespace(nodeid=f"t.py::{name}", _fixtureinfo=SimpleNamespace(name2fixturedefs=fixtures))
        test = surveyor.pytest_runtest_protocol(item)  # type: ignore[arg-type]
        next(test)
        act()
        with suppress(StopIteration):
            test.send(None)
        return surveyor.found["t.py"][f"t.py::{name}"].functions

    def made() -> None:
        setup = surveyor.pytest_fixture_setup(fixture)
        next(setup)
        throughput(1.0)
        with suppress(StopIteration):
            setup.send(None)

    of_cache, of_fixture = "presman/base/formats.py::duration", "presman/base/formats.py::throughput"
    assert of_cache in surveyed("first", spelled)
    assert of_cache in surveyed("second", spelled)
    assert of_cache not in surveyed("none", lambda: None)
    assert of_fixture in surveyed("makes", made, room=(fixture,))
    surveyor._fixtures[fixture] = (0.5, surveyor._fixtures[fixture][1])
    assert of_fixture in surveyed("has", lambda: None, room=(fixture,))
    assert of_fixture not in surveyed("has none", lambda: None)
    assert [surveyor.found["t.py"][f"t.py::{name}"].shared for name in ("makes", "has", "has none")] == [0, 0.5, 0]


def test_tried_tests_are_left_out_and_slow_ones_come_file_by_file() -> None:
    names = ["a.py::slow", "b.py::quick", "b.py::slow", "a.py::quick", "a.py::tried", "b.py::cases[1]", "b.py::else"]
    items = [SimpleNamespace(nodeid=name) for name in names]
    seconds = {"a.py::slow": 3.0, "b.py::slow": 1.0, "a.py::quick": 0.02, "b.py::quick": 0.01}
    Only(
        ["a.py", "b.py"],
        seconds | {"a.py::tried": 0.0, "b.py::cases[1]": 0.0},
        frozenset({"a.py::tried", "b.py::cases"}),
    ).pytest_collection_modifyitems(items)  # type: ignore[arg-type]
    assert [item.nodeid for item in items] == ["b.py::quick", "a.py::quick", "a.py::slow", "b.py::slow"]


def test_drawn_lists_are_merged_evenly() -> None:
    first, second = [LINT_CDB._replace(line=line) for line in (1, 2)], [LINT_CDB._replace(line=9)] * 4
    assert [each.line for each in mixed(first, second)] == [1, 9, 9, 2, 9, 9]


def test_the_line_of_a_result_has_the_place_and_the_change() -> None:
    mutant = Mutant("presman/base/text.py", "Room.full", 12, 0, 0, "a < b", "(a <= b)")
    place = "presman/base/text.py:12 Room.full | a < b → (a <= b)"
    assert result_line(mutant, Found("", 3.4)) == f"survived (3 s): {place}"
    assert result_line(mutant, Found("?", 60.2)) == f"no time (60 s): {place}"
    assert result_line(mutant, Found("a.py::one", 0.2)) == f"a.py::one (0 s): {place}"


def test_a_mutant_that_ran_out_of_time_counts_as_not_noticed() -> None:
    fates = Counter({"killed": 6, "survived": 1, "no time": 1, "equivalent": 5})
    lines = table({"analysis": fates, "trace": Counter({"killed": 2, "not tried": 3})}).splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["analysis", "6", "1", "1", "5", "75", "%"],
        ["trace", "2", "0", "0", "0", "100", "%", "3", "not", "tried"],
        ["all", "but", "analysis", "2", "0", "0", "0", "100", "%", "3", "not", "tried"],
        ["all", "8", "1", "1", "5", "80", "%", "3", "not", "tried"],
    ]


def test_a_survey_is_valid_until_the_tests_change(tmp_path: Path) -> None:
    survey = {"a.py": {"a.py::one": Called(0.25, 0, frozenset({"p.py::f", "p.py::g"}))}, "b.py": {}}
    save(survey, {"a.py": "1", "b.py": "1"}, tmp_path / "survey.json")
    assert load(tmp_path / "survey.json", {"a.py": "1", "b.py": "1"}) == survey
    assert load(tmp_path / "survey.json", {"a.py": "2", "b.py": "1", "c.py": "1"}) == {"b.py": {}}
    assert load(tmp_path / "none.json", {}) == {}


def test_equivalent_mutants_still_exist() -> None:
    for key, reason in equivalent().items():
        path = Path(key.partition("::")[0])
        assert key in {each.key for each in mutants_of(path.as_posix(), (ROOT / path).read_bytes())}
        assert len(reason.split()) > 3
