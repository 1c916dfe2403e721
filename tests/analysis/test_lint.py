"""Each rule about plans: a case in which it fires, and a near one in which it is silent."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.plans.lint import lint
from presman.analysis.plans.lint_rules import RULES, Finding, Severity
from presman.rows.group_rows import GroupMapping, Plan, PlanDirective, RsrcPlanHistory
from presman.rows.instance_rows import Database, Parameter, Pdb
from presman.rows.session_rows import Session
from tests.analysis.make import NOON, active_plan, directive, group, instance, row, snapshot

REST = directive("DAY", "OTHER_GROUPS", 0, 100)


def findings(*rows: Any, plan: Any = None) -> list[Finding]:
    """The findings about a database of these rows that runs the plan DAY."""
    active = [plan] if plan is not None else [active_plan()]
    now = snapshot(instance(), *active, *rows)
    return list(lint(analyse(None, now), now))


def parameter(name: str, value: str) -> Parameter:
    return row(Parameter, name=name, value=value)


def mapping(group: str, user: str = "APP") -> GroupMapping:
    return row(GroupMapping, attribute="ORACLE_USER", value=user, consumer_group=group)


def window(plan: str, **values: Any) -> RsrcPlanHistory:
    given: dict[str, Any] = {"name": plan, "start_time": NOON, "allowed_automated_switches": "TRUE"}
    return row(RsrcPlanHistory, **(given | values))


def in_pdb(*rows: PlanDirective) -> list[Any]:
    cdb = [row(Database, cdb="YES"), row(Pdb, con_id=3, name="SALES", open_mode="READ WRITE")]
    return [*cdb, active_plan("CDB", con_id=1), active_plan("DAY", con_id=3), *rows]


def timed(queued_ms: int, timeout: int | None) -> list[Any]:
    queue = {"pqs_queued": 10, "pq_queued_time": queued_ms, "pqs_completed": 5}
    return [REST, directive("DAY", "A", 60, parallel_queue_timeout=timeout), group("A", **queue)]


MAINTENANCE = window("NIGHT", enabled_by_scheduler="TRUE", window_name="MONDAY_WINDOW", end_time=NOON, sequence=1)
CASES: dict[str, tuple[list[Any], list[Any]]] = {
    "no-other-groups": ([directive("DAY", "A", 100)], [directive("DAY", "A", 90), REST]),
    "zero-share": (
        [REST, directive("DAY", "A", 100), directive("DAY", "B"), mapping("B")],
        [directive("DAY", "OTHER_GROUPS", 10), directive("DAY", "A", 90), directive("DAY", "B")],
    ),
    "tiny-other-groups": (
        [directive("DAY", "A", 99), directive("DAY", "OTHER_GROUPS", 0, 50)],
        [directive("DAY", "A", 90), directive("DAY", "OTHER_GROUPS", 0, 50)],
    ),
    "target-is-maximum": (
        [REST, directive("DAY", "A", 60, parallel_stmt_critical="BYPASS QUEUE"),
         parameter("parallel_servers_target", "128"), parameter("parallel_max_servers", "128")],
        [REST, directive("DAY", "A", 60, parallel_stmt_critical="BYPASS QUEUE"),
         parameter("parallel_servers_target", "128"), parameter("parallel_max_servers", "256")],
    ),
    "limit-below-degree": (
        [REST, directive("DAY", "A", 60, parallel_server_limit=24, parallel_degree_limit_p1=16)],
        [REST, directive("DAY", "A", 60, parallel_server_limit=25, parallel_degree_limit_p1=16)],
    ),
    "short-timeout": (timed(600_000, 60), timed(600_000, 61)),
    "window-swaps-plan": (
        [REST, directive("DAY", "A", 60), MAINTENANCE, window("DAY", sequence=2)],
        [REST, directive("DAY", "A", 60), MAINTENANCE,
         window("DAY", sequence=2, allowed_automated_switches="FALSE")],
    ),
    "pdb-plan-with-subplans": (
        in_pdb(directive("DAY", "A", 1), directive("DAY", "SUB", 1, type="PLAN"), directive("SUB", "B", 1)),
        in_pdb(directive("DAY", "A", 1), directive("DAY", "SUB", 1)),
    ),
    "pdb-plan-too-large": (
        in_pdb(*(directive("DAY", f"G{i}", 1) for i in range(9))),
        in_pdb(*(directive("DAY", f"G{i}", 1) for i in range(8))),
    ),
    "pdb-plan-with-levels": (
        in_pdb(directive("DAY", "A", 1), directive("DAY", "B", 0, 50)),
        in_pdb(directive("DAY", "A", 1), directive("DAY", "B", 50)),
    ),
    "overfull-level": (
        [REST, directive("DAY", "A", 60), directive("DAY", "B", 50)],
        [REST, directive("DAY", "A", 60), directive("DAY", "B", 50),
         row(Plan, plan="DAY", mgmt_method="RATIO")],
    ),
    "percent-or-shares": (
        [directive("DAY", name, part) for name, part in (("A", 4), ("B", 2), ("C", 1), ("OTHER_GROUPS", 1))],
        [row(Plan, plan="DAY", mgmt_method="RATIO"),
         *(directive("DAY", name, part) for name, part in (("A", 4), ("B", 2), ("C", 1), ("OTHER_GROUPS", 1)))],
    ),
    "unallocated": (
        [directive("DAY", "A", 60), directive("DAY", "OTHER_GROUPS", 0, 50)],
        [directive("DAY", "A", 60), REST],
    ),
    "limit-below-share": (
        [REST, directive("DAY", "A", 60, utilization_limit=50)],
        [REST, directive("DAY", "A", 60, utilization_limit=60)],
    ),
    "limit-caps-servers": (
        [REST, directive("DAY", "A", 60, utilization_limit=70)],
        [REST, directive("DAY", "A", 60, utilization_limit=70, parallel_server_limit=100)],
    ),
    "mapped-elsewhere": (
        [REST, directive("DAY", "A", 60), mapping("NIGHT_GROUP")],
        [REST, directive("DAY", "A", 60), mapping("A"), row(GroupMapping, attribute="ORACLE_USER", value="X",
                                                            consumer_group="NIGHT_GROUP", status="PENDING")],
    ),
    "switch-to-nowhere": (
        [REST, directive("DAY", "A", 60, switch_group="SLOW", switch_time=60)],
        [REST, directive("DAY", "A", 60, switch_group="CANCEL_SQL", switch_time=60)],
    ),
    "pool-without-timeout": (
        [REST, directive("DAY", "A", 60, active_sess_pool_p1=10)],
        [REST, directive("DAY", "A", 60, active_sess_pool_p1=10, queueing_p1=30)],
    ),
    "queue-never-used": (
        [REST, directive("DAY", "A", 60, parallel_server_limit=50), parameter("parallel_degree_policy", "MANUAL")],
        [REST, directive("DAY", "A", 60, parallel_server_limit=50, parallel_stmt_critical="QUEUE"),
         parameter("parallel_degree_policy", "MANUAL")],
    ),
}  # fmt: skip


def of(rule: str, rows: list[Any]) -> list[Finding]:
    own = any(type(each).__name__ == "RsrcPlan" for each in rows)
    now = snapshot(instance(), *([] if own else [active_plan()]), *rows)
    return [each for each in lint(analyse(None, now), now) if each.rule == rule]


@pytest.mark.parametrize("rule", CASES)
def test_it_fires_with_a_reason_and_a_source(rule: str) -> None:
    found = of(rule, CASES[rule][0])
    assert found
    for each in found:
        assert len(each.text) > 30
        assert each.text.endswith(".")
        assert ": " in each.source
        assert each.plan == "DAY"


@pytest.mark.parametrize("rule", CASES)
def test_it_is_silent_where_nothing_is_doubtful(rule: str) -> None:
    assert of(rule, CASES[rule][1]) == []


def test_every_rule_has_its_cases() -> None:
    assert {rule.key for rule in RULES} == set(CASES)


def test_the_most_severe_findings_come_first_and_only_once() -> None:
    rows = [directive("DAY", "A", 60, utilization_limit=40), mapping("NOWHERE")]
    found = findings(*rows)
    order = [list(Severity).index(each.severity) for each in found]
    assert order == sorted(order)
    assert len(found) == len(set(found)) >= 3


def test_pending_directives_are_not_judged() -> None:
    assert findings(REST, directive("DAY", "A", 60), directive("DAY", "B", status="PENDING"), mapping("A")) == []


def test_a_group_is_reached_by_a_session_or_a_switch_too() -> None:
    rows = [directive("DAY", "OTHER_GROUPS", 10), directive("DAY", "A", 90), directive("DAY", "B")]
    assert findings(*rows) == []
    session = row(Session, sid=5, resource_consumer_group="B")
    assert [each.subject for each in findings(*rows, session)] == ["B"]
    switched = [directive("DAY", "OTHER_GROUPS", 10), directive("DAY", "A", 90, switch_group="B", switch_time=5)]
    assert [each.subject for each in findings(*switched, directive("DAY", "B"))] == ["B"]


def test_without_a_plan_there_is_nothing_to_judge() -> None:
    assert findings(plan=active_plan("INTERNAL_PLAN", cpu_managed="OFF")) == []


SUBPLAN = (directive("DAY", "A", 1), directive("DAY", "SUB", 1, type="PLAN"), directive("SUB", "B", 1))


def test_only_a_subplan_is_one_and_only_a_container_may_not_have_it() -> None:
    (finding,) = of("pdb-plan-with-subplans", in_pdb(*SUBPLAN))
    assert (finding.subject, finding.severity) == ("SUB", Severity.ERROR)
    assert finding.text == "SUB is a subplan, which the plan of a pluggable database may not have."
    assert of("pdb-plan-with-subplans", [*SUBPLAN, REST]) == []
    assert of("pdb-plan-with-levels", [*SUBPLAN, REST]) == []
