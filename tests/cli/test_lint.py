from __future__ import annotations

import json

import pytest

from presman.cli import exit_codes
from tests.cli.run import QUEUEING, Run

ZERO = "demo:throttled?seed=1"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([ZERO], exit_codes.FINDINGS),
        ([ZERO, "--fail-on", "never"], exit_codes.OK),
        (["demo:pdb"], exit_codes.OK),
        (["demo:pdb", "--fail-on", "note"], exit_codes.FINDINGS),
        (["demo:pdb", "--fail-on", "warning"], exit_codes.OK),
        (["spool:/nonexistent"], exit_codes.USAGE),
        ([ZERO, "--fail-on", "eror"], exit_codes.USAGE),
    ],
)
def test_the_code_shows_whether_a_finding_is_severe_enough(arguments: list[str], code: int, inside: Run) -> None:
    assert inside("lint", *arguments).returncode == code


def test_text_has_reason_rule_source_and_counts(inside: Run) -> None:
    done = inside("lint", ZERO)
    assert done.returncode == exit_codes.FINDINGS
    text = done.stdout
    assert "error: CPU_PLAN BATCH: BATCH is guaranteed nothing" in text
    assert "zero-share  (Administrator's Guide" in text
    assert text.splitlines()[-1] == "3 errors, 1 note"


def test_json_names_every_part_of_a_finding(inside: Run) -> None:
    found = json.loads(inside("lint", ZERO, "--format", "json").stdout)
    assert found["plan"] == "CPU_PLAN"
    assert {"rule", "severity", "plan", "subject", "text", "source"} == set(found["findings"][0])
    assert found["findings"][0]["severity"] == "error"


def test_a_spool_without_a_plan_is_no_all_clear(inside: Run) -> None:
    done = inside("lint", QUEUEING)
    assert done.returncode == exit_codes.NOT_JUDGED
    assert "Cannot judge the plans: GV$RSRC_PLAN, DBA_RSRC_PLAN_DIRECTIVES" in done.stdout
    assert inside("lint", QUEUEING, "--fail-on", "never").returncode == exit_codes.OK
    sight = json.loads(inside("lint", QUEUEING, "--format", "json").stdout)["sight"]
    assert (sight["blind"], sight["judged"]) == (True, [])


def test_no_finding_names_the_plan_and_the_views(inside: Run) -> None:
    last = inside("lint", "demo:quiet").stdout.splitlines()[-1]
    assert last.startswith("No finding in DEFAULT_PLAN (by GV$RSRC_PLAN, DBA_RSRC_PLAN_DIRECTIVES,")


def test_once_carries_the_assessment(inside: Run) -> None:
    done = inside("once", "demo:pdb?speed=10", "--format", "json", "--interval", "0.5")
    found = json.loads(done.stdout)["assessment"]
    assert [row["name"] for row in found["pdbs"]] == ["SALES", "HR", "TEST"]
    assert found["conformance"][0]["score"] == 100.0
    assert {row["name"] for row in found["plan"]["lines"]} >= {"SALES", "ONLINE", "PAYROLL"}
    assert all(row["text"].endswith(".") for row in found["verdicts"])
