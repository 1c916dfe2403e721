"""What a statement does, in the words of lines that name it."""

from __future__ import annotations

from typing import Any

import pytest

from presman.tui.pages.advice_lines import state
from tests.tui.readings import running


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"idle": 1330.0}, "idle 22:10"),
        ({"blocker": "1:77"}, "runs 7:40, blocked by 1:77"),
        ({"queued": True}, "queued with another statement"),
        ({}, "runs 7:40"),
        ({"progress": 0.25, "operation": "Hash Join"}, "runs 7:40, Hash Join 25 %"),
        (
            {"progress": 0.25, "operation": "Hash Join", "remaining": 61.0},
            "runs 7:40, Hash Join 25 %, this step done in about 1:01",
        ),
        (
            {"progress": 0.25, "operation": "Scan", "remaining": 61.0, "is_last": True},
            "runs 7:40, Scan 25 %, 1:01 left",
        ),
    ],
)
def test_the_state_of_a_statement_in_words(facts: dict[str, Any], expected: str) -> None:
    assert state(running(**facts)) == expected
