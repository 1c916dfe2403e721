"""Servers that a queued statement wants: each source by itself, and which goes before which."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis import analyse
from presman.analysis.parallel.queue import server_sets
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.statement_readings import Cause, Servers, WantsSource
from presman.rows.cursor_rows import PlanXml, PxPlanLine
from presman.rows.group_rows import GroupMetric
from presman.rows.session_rows import PxSession, Session, SessionInfo
from tests.analysis.make import active_plan, group, queued_session, row, snapshot


def plan(*nodes: str, sql_id: str = "sql7", **first: Any) -> list[PxPlanLine]:
    """A plan whose lines work for these table queues, "" for a coordinator."""
    return [
        row(PxPlanLine, sql_id=sql_id, id=n, depth=n, object_node=node, operation="" if node else "PX COORDINATOR")
        for n, node in enumerate(nodes, start=1)
    ]


def execution(*sets: tuple[int | None, int | None], sql_id: str = "sql7", degree: int = 8) -> list[Any]:
    """A running execution of the same cursor: `degree` servers in each (tree, set)."""
    servers = [
        row(PxSession, sid=100 + 50 * place + n, qcsid=3, qcserial=9, qcinst_id=1, server_group=tree, server_set=number,
            degree=degree, req_degree=degree)
        for place, (tree, number) in enumerate(sets)
        for n in range(degree)
    ]  # fmt: skip
    return [*servers, row(Session, sid=3, serial=9, sql_id=sql_id, sql_child_number=0, status="ACTIVE")]


def metric(statements: float, servers: float, inst_id: int = 1) -> GroupMetric:
    values = {"avg_queued_parallel_stmts": statements, "avg_queued_parallel_servers": servers}
    return row(GroupMetric, inst_id=inst_id, consumer_group_name="BATCH", intsize_csec=6000, **values)


def read(*rows: Any, dop: int | None = 8, told: int | None = None) -> Reading:
    own = [
        queued_session(7, "BATCH"),
        row(SessionInfo, sid=7, current_consumer_group="BATCH", dop=dop, pq_servers=told),
    ]
    return analyse(None, snapshot(active_plan(active=60, target=64), group("BATCH"), *own, *rows))


def wanted(*rows: Any, dop: int | None = 8, told: int | None = None) -> Servers | None:
    (queued,) = read(*rows, dop=dop, told=told).queue
    return queued.wants


TWO_SETS = plan("", ":Q1001", ":Q1001", ":Q1000")
ONE_SET = plan("", ":Q1000", ":Q1000")
FOUR_TREES = plan("", ":Q1000", "", ":Q2001", ":Q2000", "", ":Q3002", ":Q3001", ":Q3000", "", ":Q4000")


def test_what_the_queued_session_shows_goes_before_all() -> None:
    assert wanted(*ONE_SET, *execution((1, 1)), told=16) == Servers(16, 16, WantsSource.PQ_SERVERS)
    assert wanted(told=8) == Servers(8, 8, WantsSource.PQ_SERVERS)


@pytest.mark.parametrize("told", [None, 0, 4, 12, 40])
def test_what_is_no_small_multiple_of_the_degree_is_another_statements(told: int | None) -> None:
    assert wanted(*TWO_SETS, told=told) == Servers(16, 16, WantsSource.PLAN)


def test_a_running_execution_goes_before_the_plan() -> None:
    assert wanted(*ONE_SET, *execution((1, 1), (1, 2))) == Servers(16, 16, WantsSource.RUNNING)


def test_published_case_of_four_trees_with_degree_eight_that_were_admitted_as_sixteen() -> None:
    """Its servers were 64 in all, as V$PX_SESSION shows them by tree; the queue let three of them in below 48."""
    trees = [(tree, number) for tree in (1, 2, 3, 4) for number in (1, 2)]
    reading = read(*execution(*trees))
    assert reading.queue[0].wants == Servers(16, 16, WantsSource.RUNNING)
    assert [(each.servers, each.sets, each.tree_sets) for each in reading.running] == [(64, 8, 2)]
    assert wanted(*FOUR_TREES) == Servers(16, 16, WantsSource.PLAN)


def test_one_set_stays_a_range_whoever_tells() -> None:
    assert wanted(*ONE_SET) == Servers(8, 16, WantsSource.PLAN)
    assert wanted(*execution((1, 1))) == Servers(8, 16, WantsSource.RUNNING)
    (head,) = read(*ONE_SET).heads
    assert head.sentence == (
        "wants 8 to 16 servers (DOP 8, one set by its plan); 60 of the target's 64 are in use; short by 4 to 12"
    )


def test_an_execution_whose_sets_are_not_told_tells_nothing() -> None:
    assert wanted(*execution((None, None)), *TWO_SETS) == Servers(16, 16, WantsSource.PLAN)


def test_without_any_of_them_the_degree_alone_is_a_range() -> None:
    assert wanted() == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(*plan(":Q1001", ":Q1000", sql_id="other")) == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(dop=1) is None
    assert wanted(dop=None) is None


def test_without_a_degree_the_mean_of_the_groups_queue_is_told_as_such() -> None:
    """40 + 8 servers for 2 + 0.5 statements: 19.2 each."""
    reading = read(metric(2.0, 40.0), metric(0.5, 8.0, 2), dop=None)
    (head,) = reading.heads
    assert head.wants == Servers(19, 19, WantsSource.MEAN)
    assert (str(head.wants), head.cause, head.short, head.shortages) == ("~19", Cause.UNKNOWN, None, ())
    assert head.sentence == (
        "its DOP is not known (those queued in its group wanted 19 servers each in the last minute); "
        "60 of the target's 64 are in use"
    )
    assert wanted(metric(2.0, 40.0)) == Servers(8, 16, WantsSource.DEGREE)
    assert wanted(metric(0.0, 0.0), dop=None) is None


@pytest.mark.parametrize(
    ("nodes", "sets"),
    [
        ((":Q1000",), 1),
        ((":Q1000", ":Q1001"), 2),
        ((":Q1000", ":Q1001", ":Q1002", ":Q1003"), 2),  # producers and consumers take turns
        ((":Q1000", ":Q2000", ":Q3000"), 1),  # three trees of one operation
        ((":Q10000", ":Q10001"), 2),  # the tenth tree
        ((":Q1000", ":Q10000"), 1),
        (("", "LINK", "AQ1001", ":Q12", ":Q1000X"), 0),
        ((), 0),
    ],
)
def test_server_sets_of_a_plan(nodes: tuple[str, ...], sets: int) -> None:
    assert server_sets(plan(*nodes)) == sets


def test_lines_that_an_adaptive_plan_skips_do_not_count() -> None:
    lines = plan("", ":Q1002", ":Q1001", ":Q1000")
    assert server_sets(lines, skipped={2, 3}) == 1
    xml = (
        '<other_xml><info type="dop">8</info><display_map><row op="1" dis="1" par="0" prt="0" dep="1" skp="0"/>'
        '<row op="2" dis="1" par="1" prt="0" dep="1" skp="1"/><row op="3" dis="1" par="1" prt="0" dep="1" skp="1"/>'
        '<row op="4" dis="2" par="1" prt="0" dep="2" skp="0"/></display_map></other_xml>'
    )
    assert wanted(*lines, row(PlanXml, sql_id="sql7", other_xml=xml)) == Servers(8, 16, WantsSource.PLAN)


def test_what_is_below_a_coordinator_that_is_forced_serial_has_no_servers() -> None:
    """Its lines keep their table queues (FORCED SERIAL in DBMS_XPLAN); the tree beside it is parallel."""
    lines = [
        row(PxPlanLine, id=1, depth=1, operation="PX COORDINATOR", options="FORCED SERIAL"),
        row(PxPlanLine, id=2, depth=2, object_node=":Q1001", operation="PX SEND"),
        row(PxPlanLine, id=3, depth=3, object_node=":Q1000", operation="PX SEND"),
        row(PxPlanLine, id=4, depth=1, operation="PX COORDINATOR"),
        row(PxPlanLine, id=5, depth=2, object_node=":Q2000", operation="PX SEND"),
    ]
    assert server_sets(lines) == 1
    assert server_sets(lines[:3]) == 0
