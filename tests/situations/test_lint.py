"""Findings of the linter for plans of real sites, and what it does not report: from files."""

from __future__ import annotations

from pathlib import Path

from presman.analysis.assemble import analyse
from presman.analysis.plans.lint import lint
from presman.analysis.plans.lint_rules import Finding
from tests.situations.spooled import RELEASE_19, Views, snapshots

OF_CPU = {"zero-share", "tiny-other-groups", "unallocated", "limit-below-share", "overfull-level", "percent-or-shares"}


def findings(folder: Path, views: Views) -> list[Finding]:
    (now,) = snapshots(folder, views)
    return list(lint(analyse(None, now), now))


RUNAWAYS = RELEASE_19 | {
    "DBA_RSRC_PLAN_DIRECTIVES": """
        PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | SWITCH_GROUP | SWITCH_TIME | MAX_EST_EXEC_TIME
        RUNAWAY | ADHOC | CONSUMER_GROUP | 0 | CANCEL_SQL | 600 |
        RUNAWAY | REPORTS | CONSUMER_GROUP | 0 | KILL_SESSION | 3600 | 7200
        RUNAWAY | OTHER_GROUPS | CONSUMER_GROUP | 0 | | |
    """,
    "DBA_RSRC_GROUP_MAPPINGS": """
        ATTRIBUTE | VALUE | CONSUMER_GROUP
        ORACLE_USER | SCOTT | ADHOC
        ORACLE_USER | RPT | REPORTS
        ORACLE_USER | OLD | GONE
    """,
}
"""A plan that ends runaway calls and hands out nothing."""


def active(*columns: tuple[str, str]) -> Views:
    heads, values = zip(("NAME", "RUNAWAY"), ("IS_TOP_PLAN", "TRUE"), *columns, strict=True)
    return {"V$RSRC_PLAN": f"{' | '.join(heads)}\n{' | '.join(values)}"}


def test_a_plan_that_does_not_manage_cpu_has_no_findings_on_cpu(tmp_path: Path) -> None:
    rules = [each.rule for each in findings(tmp_path, RUNAWAYS | active(("CPU_MANAGED", "OFF")))]
    assert rules == ["mapped-elsewhere"], "other findings stay"


def test_a_plan_without_shares_has_no_findings_on_cpu(tmp_path: Path) -> None:
    assert {each.rule for each in findings(tmp_path, RUNAWAYS | active())} & OF_CPU == set()


def test_groups_without_a_share_are_findings_if_the_plan_manages_cpu(tmp_path: Path) -> None:
    some = RUNAWAYS["DBA_RSRC_PLAN_DIRECTIVES"].replace(
        "REPORTS | CONSUMER_GROUP | 0", "REPORTS | CONSUMER_GROUP | 100"
    )
    views = RUNAWAYS | {"DBA_RSRC_PLAN_DIRECTIVES": some}
    found = [each for each in findings(tmp_path, views | active(("CPU_MANAGED", "ON"))) if each.rule == "zero-share"]
    assert [each.subject for each in found] == ["ADHOC", "OTHER_GROUPS"]
    off = tmp_path / "off"
    off.mkdir()
    assert {each.rule for each in findings(off, views | active(("CPU_MANAGED", "OFF")))} & OF_CPU == set()


def test_a_cdb_plan_that_does_not_manage_cpu_has_no_findings_on_cpu(tmp_path: Path) -> None:
    views = RELEASE_19 | {
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "V$PDBS": "CON_ID | NAME | OPEN_MODE\n2 | PDB$SEED | READ ONLY\n3 | P1 | READ WRITE\n4 | P2 | READ WRITE",
        "DBA_CDB_RSRC_PLAN_DIRECTIVES": "PLAN | PLUGGABLE_DATABASE | SHARES\nCDB | P1 | 200\nCDB | P2 | 1",
    }
    plan = "CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED\n1 | CDB | TRUE | {}"
    assert "cdb-tiny-share" in {each.rule for each in findings(tmp_path, views | {"V$RSRC_PLAN": plan.format("ON")})}
    off = tmp_path / "off"
    off.mkdir()
    assert "cdb-tiny-share" not in {each.rule for each in findings(off, views | {"V$RSRC_PLAN": plan.format("OFF")})}


def test_legacy_directives_beside_those_that_took_their_place_are_not_the_plan(tmp_path: Path) -> None:
    """A plan of ten groups and two levels was plugged in: 19c keeps it as LEGACY beside what it made of it."""
    before = [f"DAY | G{number} | CONSUMER_GROUP | {10 if number < 5 else 0} | 10 | LEGACY" for number in range(10)]
    rows = ["DAY | WEB | CONSUMER_GROUP | 3 | 0 | ", "DAY | OTHER_GROUPS | CONSUMER_GROUP | 1 | 0 | ", *before]
    views = RELEASE_19 | {
        "V$DATABASE": "NAME | CDB\nCDB1 | YES",
        "V$PDBS": "CON_ID | NAME | OPEN_MODE\n3 | P1 | READ WRITE",
        "V$RSRC_PLAN": "CON_ID | NAME | IS_TOP_PLAN | CPU_MANAGED | SHARES\n3 | DAY | TRUE | ON | 1",
        "DBA_RSRC_PLAN_DIRECTIVES": "\n".join(["PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | MGMT_P2 | STATUS", *rows]),
    }
    assert {each.rule for each in findings(tmp_path, views)} & {"pdb-plan-too-large", "pdb-plan-with-levels"} == set()


def test_a_plan_with_legacy_directives_alone_is_judged_by_them(tmp_path: Path) -> None:
    views = RELEASE_19 | active(("CPU_MANAGED", "ON")) | {
        "DBA_RSRC_PLAN_DIRECTIVES": """
            PLAN | GROUP_OR_SUBPLAN | TYPE | MGMT_P1 | STATUS
            RUNAWAY | WEB | CONSUMER_GROUP | 60 | LEGACY
            RUNAWAY | OTHER_GROUPS | CONSUMER_GROUP | 40 | LEGACY
        """,
        "DBA_RSRC_PLANS": "PLAN | MGMT_METHOD | STATUS\nRUNAWAY | EMPHASIS | LEGACY",
    }  # fmt: skip
    assert findings(tmp_path, views) == []
    (now,) = snapshots(tmp_path, views)
    assert {row.name: row.share for row in analyse(None, now).groups} == {"WEB": 0.6, "OTHER_GROUPS": 0.4}
