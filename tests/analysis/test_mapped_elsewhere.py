"""Sessions mapped to a group that the plan does not name: which users the finding names, and how many."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from presman.analysis.plans.lint_rules import mapped_elsewhere


def found(*mapped: tuple[str, str, str], **facts: Any) -> dict[str, str]:
    plain = {"top": True, "rows": [1], "tree_groups": {"ETL", "OTHER_GROUPS"}}
    case: Any = SimpleNamespace(mapped=mapped, **(plain | facts))
    return {group: text.partition(" mapped to ")[0] for group, text in mapped_elsewhere(case)}


@pytest.mark.parametrize(
    ("many", "named"),
    [(1, "USER U1 is"), (3, "USER U1, USER U2, USER U3 are"), (4, "USER U1, USER U2, USER U3 and 1 more are"),
     (6, "USER U1, USER U2, USER U3 and 3 more are")],
)  # fmt: skip
def test_three_are_named_and_the_others_counted(many: int, named: str) -> None:
    rows = [("USER", f"U{number}", "LOST") for number in range(1, many + 1)]
    assert found(*rows, ("USER", "V", "ETL")) == {"LOST": named}


def test_groups_come_by_name_and_only_of_a_top_plan_that_has_directives() -> None:
    rows = (("USER", "A", "Z"), ("SERVICE", "B", "Y"))
    assert list(found(*rows).items()) == [("Y", "SERVICE B is"), ("Z", "USER A is")]
    assert found(*rows, top=False) == found(*rows, rows=[]) == {}
