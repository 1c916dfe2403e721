"""The tool that changes the product: which changes it makes, and that what is called equivalent is still there."""

from __future__ import annotations

from pathlib import Path

from tests.mutation.__main__ import ROOT, Nearest, equivalent
from tests.mutation.mutants import chosen, mutants_of

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


def test_each_place_is_changed_by_itself_and_texts_and_types_are_left_alone() -> None:
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


def test_the_same_seed_draws_the_same_and_another_one_others() -> None:
    mutants = mutants_of("room.py", SOURCE.encode())
    assert chosen(mutants, 5, 1) == chosen(mutants[::-1], 5, 1) != chosen(mutants, 5, 2)
    assert chosen(mutants, 3, 1) == chosen(mutants, 5, 1)[:3]
    moved = mutants_of("room.py", b"\n" + SOURCE.encode())
    assert [each.key for each in chosen(moved, 5, 1)] == [each.key for each in chosen(mutants, 5, 1)]


def test_the_nearest_tests_are_those_that_import_a_module() -> None:
    stages = Nearest(ROOT).stages("presman/analysis/plans/lint_cdb.py")
    assert stages[0] == ["tests/analysis/test_lint_cdb.py"]
    assert "tests/analysis/test_lint.py" in stages[1]
    assert "tests/analysis/test_cpu.py" in stages[2]


def test_what_is_called_equivalent_is_still_a_mutant() -> None:
    for key, reason in equivalent().items():
        path = Path(key.partition("::")[0])
        assert key in {each.key for each in mutants_of(path.as_posix(), (ROOT / path).read_bytes())}
        assert len(reason.split()) > 3
