"""Each rule about a CDB plan: a case in which it fires, and a near one in which it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.plans.lint import lint
from presman.analysis.plans.lint_cdb import RULES
from presman.analysis.plans.lint_rules import Finding
from presman.base.release import Release
from presman.rows.group_rows import CdbPlanDirective, GroupMetric, RsrcPlanHistory
from presman.rows.instance_rows import Database, Parameter, Pdb, SystemEvent
from tests.analysis.make import NOON, active_plan, directive, instance, row, snapshot

PLANNED = [active_plan("OWN", con_id=3), active_plan("OWN", con_id=4), directive("OWN", "OTHER_GROUPS", 1)]
"""Both containers run a plan of their own."""


def given(pdb: str, shares: int | None = 1, **values: Any) -> CdbPlanDirective:
    return row(CdbPlanDirective, plan="CDB", pluggable_database=pdb, shares=shares, **values)


def least(con_id: int, cpus: str) -> Parameter:
    return row(Parameter, con_id=con_id, name="cpu_min_count", value=cpus)


def window(plan: str, **values: Any) -> RsrcPlanHistory:
    return row(RsrcPlanHistory, name=plan, con_id=1, start_time=NOON, **values)


BOTH = [given("SALES", 3), given("HR", 1)]
EXADATA = row(SystemEvent, event="cell single block physical read", wait_class="User I/O", total_waits=1)
NEW = Release(21)
"""Stands for a database of that release; the others are of 19c."""
NIGHT = window("NIGHT", enabled_by_scheduler="TRUE", window_name="MONDAY_WINDOW", end_time=NOON, sequence=1)
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "cdb-tiny-share": ([given("SALES", 100), given("HR", 1)], [given("SALES", 99), given("HR", 1)]),
    "cdb-limit-below-share": (
        [given("SALES", 3, utilization_limit=70), given("HR", 1)],
        [given("SALES", 3, utilization_limit=75), given("HR", 1)],
    ),
    "cdb-limits-leave-idle": (
        [given("SALES", 1, utilization_limit=60), given("HR", 1, utilization_limit=30)],
        [given("SALES", 1, utilization_limit=60), given("HR", 1, utilization_limit=40)],
    ),
    "cdb-servers-for-nobody": (
        [given("SALES", 3), given("HR", 1, parallel_server_limit=1)],
        [given("SALES", 3), given("HR", 1, parallel_server_limit=2)],
    ),
    "cdb-servers-by-plan": (
        [given("SALES", 3, parallel_server_limit=50), given("HR", 1), NEW],
        [given("SALES", 3, parallel_server_limit=50), given("HR", 1)],
    ),
    "cdb-autotask-first": ([*BOTH, given("ORA$AUTOTASK", 4)], [*BOTH, given("ORA$AUTOTASK", 3)]),
    "cdb-over-provisioned": ([*BOTH, least(3, "12"), least(4, "5")], [*BOTH, least(3, "12"), least(4, "4")]),
    "cdb-io-limit-on-exadata": (
        [*BOTH, EXADATA, row(Parameter, con_id=3, name="max_iops", value="500")],
        [*BOTH, row(Parameter, con_id=3, name="max_iops", value="500")],
    ),
    "window-swaps-plan": (
        [*BOTH, NIGHT, window("CDB", allowed_automated_switches="TRUE", sequence=2)],
        [*BOTH, NIGHT, window("CDB", allowed_automated_switches="FALSE", sequence=2)],
    ),
    "cdb-default-directive": ([given("SALES", 3), given("ORA$DEFAULT_PDB_DIRECTIVE", 1)], BOTH),
    "cdb-nobody-there": ([*BOTH, given("CLOSED", 5)], [*BOTH, given("CLOSED", 5, status="PENDING")]),
    "cdb-container-without-plan": (BOTH, [*BOTH, *PLANNED]),
}


def found(*rows: Any) -> list[Finding]:
    fixed: list[Any] = [instance(), row(Database, cdb="YES"), active_plan("CDB", con_id=1)]
    for con_id, name, mode in ((3, "SALES", "READ WRITE"), (4, "HR", "READ WRITE"), (5, "CLOSED", "MOUNTED")):
        fixed.append(row(Pdb, con_id=con_id, name=name, open_mode=mode))
    if not any(type(each).__name__ == "RsrcPlan" for each in rows):
        fixed += PLANNED[::2]
    rows = tuple(each for each in rows if each is not NEW) if (new := NEW in rows) else rows
    fixed.append(row(Parameter, name="parallel_servers_target", value="128"))
    fixed.append(row(GroupMetric, con_id=1, consumer_group_name="X", num_cpus=16))
    now = snapshot(*fixed, *rows, release=NEW if new else Release(19))
    return list(lint(analyse(None, now), now))


@pytest.mark.parametrize("rule", CASES)
def test_it_fires_with_a_reason_and_a_source(rule: str) -> None:
    fired = [each for each in found(*CASES[rule][0]) if each.rule == rule]
    assert len(fired) == 1
    assert fired[0].plan == "CDB"
    assert fired[0].text.endswith(".")
    assert ": " in fired[0].source


@pytest.mark.parametrize("rule", CASES)
def test_it_is_silent_where_nothing_is_doubtful(rule: str) -> None:
    assert [each for each in found(*CASES[rule][1]) if each.rule == rule] == []


def test_every_rule_has_its_cases() -> None:
    names = {rule.key for rule in RULES}
    assert set(CASES) == names


def test_limits_of_the_container_and_of_its_groups_are_multiplied() -> None:
    """50 % of 25 % of 128 servers is 16: a statement of degree 8 fits, one of 9 does not."""
    for degree, fits in ((8, True), (9, False)):
        own = directive("OWN", "A", 1, parallel_server_limit=50, parallel_degree_limit_p1=degree)
        rows = [given("SALES", 3, parallel_server_limit=25), given("HR", 1), *PLANNED, own]
        held = [each for each in found(*rows) if (each.rule, each.plan) == ("limit-below-degree", "OWN")]
        # HR runs the same plan with all the servers.
        assert (held == []) is fits


def test_instances_with_different_plans() -> None:
    two = [instance(1), instance(2), active_plan("DAY", inst_id=1), directive("DAY", "OTHER_GROUPS", 100)]
    differ = snapshot(*two, active_plan("NIGHT", inst_id=2))
    (finding,) = [each for each in lint(analyse(None, differ), differ) if each.rule == "instances-differ"]
    assert "DAY on 1; NIGHT on 2" in finding.text
    assert "in SALES" not in finding.text
    sales: list[Any] = [row(Database, cdb="YES")]
    sales += [row(Pdb, inst_id=each, con_id=3, name="SALES", open_mode="READ WRITE") for each in (1, 2)]
    plans = [active_plan(name, inst_id=at, con_id=con_id) for name, at, con_id in
             (("CDB", 1, 1), ("CDB", 2, 1), ("DAY", 1, 3), ("NIGHT", 2, 3))]  # fmt: skip
    inside = snapshot(instance(1), instance(2), *sales, *plans)
    (finding,) = [each for each in lint(analyse(None, inside), inside) if each.rule == "instances-differ"]
    assert "different plans in SALES: DAY on 1; NIGHT on 2" in finding.text
    same = snapshot(*two, active_plan("DAY", inst_id=2))
    assert [each for each in lint(analyse(None, same), same) if each.rule == "instances-differ"] == []


DEFAULT = "ORA$DEFAULT_PDB_DIRECTIVE"


@pytest.mark.parametrize(
    ("rows", "what"),
    [
        ([given("SALES", 3)], "HR: the default directive applies there (one share)."),
        ([given("SALES", 3), given(DEFAULT, 2)], "HR: the default directive applies there (2 shares)."),
        ([given("SALES", 3), given(DEFAULT, None, utilization_limit=40)],
         "HR: the default directive applies there (1 share, at most 40 % of CPU)."),
        ([given("SALES", 3), given(DEFAULT, 1, utilization_limit=100)],
         "HR: the default directive applies there (1 share)."),
        ([given(DEFAULT, 1)],
         "SALES, HR: the default directive applies there (no SHARES and no limit are set, so CPU_MIN_COUNT decides)."),
    ],
)  # fmt: skip
def test_the_default_directive_says_what_it_gives_to_whom(rows: list[Any], what: str) -> None:
    (text,) = [each.text for each in found(*rows) if each.rule == "cdb-default-directive"]
    assert text == f"No directive names {what}"
