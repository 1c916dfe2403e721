"""Details of one statement: calculated by hand, and through poller and simulator."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.facts.session_facts import operations
from presman.analysis.parallel.detail import cost, plan_step, skew
from presman.analysis.readings.reading import Reading
from presman.analysis.readings.session_readings import Detail, ServerWork
from presman.polling.poller import Poller
from presman.rows.cursor_rows import CursorTotals, PlanLine
from presman.rows.queries import CPU, Focus
from presman.rows.session_rows import PxStatistic, Session, SessionLongops, SessionStatistic, StatisticName
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import instance, row, snapshot
from tests.analysis.test_simulated import Clock
from tests.thorough import some

MB = 2**20


@pytest.mark.parametrize(
    ("node", "queue"),
    [
        (":Q1000", "Q1,00"),
        (":Q1012", "Q1,12"),
        (":Q2001", "Q2,01"),
        (":TQ10000", "Q1,00"),
        (":Q10003", "Q10,03"),
        ("", ""),
        ("LINK", "LINK"),
    ],
)
def test_table_queues_as_dbms_xplan_writes_them(node: str, queue: str) -> None:
    assert plan_step(row(PlanLine, object_node=node)).queue == queue


@pytest.mark.parametrize(
    ("tag", "in_out"),
    [
        ("PARALLEL_TO_SERIAL", "P->S"),
        ("PARALLEL_TO_PARALLEL", "P->P"),
        ("PARALLEL_COMBINED_WITH_PARENT", "PCWP"),
        ("PARALLEL_COMBINED_WITH_CHILD", "PCWC"),
        ("PARALLEL_FROM_SERIAL", "S->P"),
        ("", ""),
        ("SOMETHING_NEW", "SOMETHING_NEW"),
    ],
)
def test_how_rows_are_passed_on(tag: str, in_out: str) -> None:
    assert plan_step(row(PlanLine, other_tag=tag)).in_out == in_out


def test_cost_is_per_execution() -> None:
    found = cost(
        row(
            CursorTotals, executions=4, px_servers_executions=64, elapsed_time=200_000_000, cpu_time=100_000_000,
            user_io_wait_time=40_000_000, rows_processed=96, physical_read_bytes=400 * MB,
            io_cell_offload_eligible_bytes=200 * MB, io_interconnect_bytes=50 * MB,
        )
    )  # fmt: skip
    assert (found.elapsed, found.cpu, found.io_wait, found.servers) == (50.0, 25.0, 10.0, 16.0)
    assert (found.rows, found.megabytes, found.offloaded, found.saved) == (24.0, 100.0, 0.5, 0.75)


def test_without_a_storage_layer_it_is_not_mentioned() -> None:
    found = cost(row(CursorTotals, executions=1, physical_read_bytes=MB, io_interconnect_bytes=MB))
    assert found.offloaded is found.saved is None


def test_a_statement_that_never_ran_has_no_averages() -> None:
    found = cost(row(CursorTotals))
    assert found.elapsed is found.cpu is found.servers is None


def server(number: int, cpu: float, mb: float, server_set: int = 1) -> ServerWork:
    return ServerWork(1, 100 + number, f"P{number:03}", server_set, number, "on CPU", cpu, None, 0, mb)


def test_skew_is_the_busiest_over_the_mean() -> None:
    one, two = skew([server(1, 30, 10), server(2, 10, 10), server(3, 20, 10), server(1, 0, 0, 2), server(2, 0, 8, 2)])
    assert (one.servers, one.cpu, one.megabytes) == (3, pytest.approx(1.5), pytest.approx(1.0))
    assert (two.servers, two.cpu, two.megabytes) == (2, None, pytest.approx(2.0))


def longop(sid: int, sofar: int, total: int, **more: Any) -> SessionLongops:
    given = {"qcsid": 9, "sql_id": "a", "opname": "Table Scan", "target": "SALES", "sofar": sofar, "totalwork": total}
    return row(SessionLongops, sid=sid, **(given | more))


def test_a_servers_coordinator_is_not_guessed_on_a_cluster() -> None:
    """Its coordinator may be on any instance; the instance in V$PX_SESSION is used, a SID alone is not."""
    rows = [longop(1, 10, 100, inst_id=2), longop(2, 10, 100, inst_id=2), longop(9, 5, 10, inst_id=1)]
    alone, known = (1, 9, "a"), {(2, 1): (1, 9)}
    found = operations(rows, known, several=True)
    assert {work: (each.done, each.total) for work, (each,) in found.items()} == {alone: (15, 110)}
    assert set(operations(rows, known)) == {alone, (2, 9, "a")}


def test_rows_of_an_ended_session_belong_to_no_server() -> None:
    """V$SESSION_LONGOPS keeps the row of a session that was killed half way; its SID has another SERIAL# now."""
    left = row(SessionLongops, sid=9, serial=70, sql_id="a", opname="Table Scan", target="T", sofar=1, totalwork=9)
    now = row(Session, sid=9, serial=71, sql_id="a", status="ACTIVE")
    assert Facts.of(None, snapshot(instance(), left, now)).sessions.operations == {}
    assert set(Facts.of(None, snapshot(instance(), left._replace(serial=71), now)).sessions.operations) == {(1, 9, "a")}


def test_the_servers_parts_of_an_operation_are_one() -> None:
    found = operations([
        longop(1, 10, 100, time_remaining=90), longop(2, 50, 100, time_remaining=20), longop(3, 100, 100),
        longop(4, 5, 10, opname="Sort Output", target="", time_remaining=200),
        longop(5, 5, 10, qcsid=0, sql_id="b"),
    ], {})  # fmt: skip
    sort, scan = found[1, 9, "a"]
    assert (scan.done, scan.total, scan.progress, scan.remaining) == (60, 200, 0.3, 90.0)
    assert sort.name == "Sort Output"
    assert found[1, 5, "b"][0].remaining is None


def test_servers_on_another_instance_belong_to_their_coordinator() -> None:
    """The view has the coordinator's SID alone, and instance 2 has a session of that SID, too."""
    there = [longop(7, 10, 40, time_remaining=30)._replace(inst_id=2), longop(8, 10, 40, time_remaining=10)]
    found = operations(there, {(2, 7): (1, 9), (1, 8): (1, 9)})
    assert {place: each[0].total for place, each in found.items()} == {(1, 9, "a"): 80}


def test_remaining_time_decreases_since_it_was_read() -> None:
    rows = [longop(1, 10, 100, time_remaining=90), longop(2, 5, 10, qcsid=8, time_remaining=20)]
    found = operations(rows, {}, age=25.0)
    assert (found[1, 9, "a"][0].remaining, found[1, 8, "a"][0].remaining) == (65.0, None)


def detail_of(reading: Reading) -> Detail:
    assert reading.detail is not None
    return reading.detail


def test_statistics_and_servers_have_deltas() -> None:
    names = [row(StatisticName, statistic=7, name=CPU), row(StatisticName, statistic=8, name="user calls")]

    def at(after: float, cpu: int, calls: int) -> Any:
        rows = [
            row(SessionStatistic, sid=9, statistic=8, value=calls), row(SessionStatistic, sid=9, statistic=99, value=1),
            row(PxStatistic, sid=50, qcsid=9, qcinst_id=1, server_set=1, server=1, degree=2, statistic=7, value=cpu),
            row(PxStatistic, sid=51, qcsid=9, qcinst_id=2, server_set=1, server=1, degree=2, statistic=7, value=cpu),
        ]  # fmt: skip
        return snapshot(instance(), *names, *rows, after=after)

    first, second = at(0, 1000, 40), at(2, 1150, 44)
    alone = detail_of(analyse(None, first))
    assert [each.delta for each in alone.statistics] == [None]
    assert alone.servers[0].cpu_rate is None
    found = detail_of(analyse(first, second))
    assert [(each.name, each.total, each.delta) for each in found.statistics] == [("user calls", 44, 4)]
    (only,) = found.servers  # the other works for a coordinator of that SID on another instance
    assert (only.cpu, only.cpu_rate) == (11.5, pytest.approx(0.75))


def test_no_focus_no_detail() -> None:
    assert analyse(None, snapshot(instance())).detail is None


@pytest.mark.parametrize("scenario", some(["rac", "pdb"], ["storm"]))
def test_a_focus_asks_at_each_poll_until_it_ends(scenario: str) -> None:
    clock = Clock()
    poller = Poller(SimulatorSource(scenario, seed=3, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC)))
    poller.open()
    first = poller.poll()
    while not (statements := analyse(None, first).running):
        assert clock.now < 3600, "no operation takes an hour"
        clock.now += 20
        first = poller.poll()
    statement = statements[0]
    poller.focus(Focus(statement.inst_id, statement.sid, statement.sql_id, statement.child))
    clock.now += 1
    second = poller.poll()
    clock.now += 1
    third = poller.poll()
    reading = analyse(second, third)
    found = detail_of(reading)
    assert (found.sql_id, found.sid) == (statement.sql_id, statement.sid)
    assert found.plan[0].id == 0
    assert any(step.in_out == "P->S" for step in found.plan)
    assert len(found.servers) == statement.servers
    assert len(found.skew) == statement.sets
    assert found.cost is not None
    assert any(each.delta is not None for each in found.statistics)
    assert reading.troubles == ()
    poller.focus(None)
    clock.now += 1
    assert analyse(third, poller.poll()).detail is None
    poller.close()


def test_progress_of_the_simulated_scan_is_that_of_its_work() -> None:
    clock = Clock()
    source = SimulatorSource("storm", seed=3, clock=clock, start=datetime(2026, 3, 14, 9, tzinfo=UTC))
    poller = Poller(source)
    poller.open()
    poller.focus(Focus())
    clock.now += 30
    reading = analyse(None, poller.poll())
    known = [each for each in reading.running if each.progress is not None]
    assert known
    executions = {(one.session.sid, one.session.serial): one for one in source.simulation.workload.running}
    for each in known:
        one = executions[each.sid, each.serial]
        assert each.progress == pytest.approx(1 - one.left / one.work, abs=0.02)
        scanned = each.operation.removeprefix("Table Scan of ").lower()
        assert f" {scanned} " in each.sql_text, "it scans a table that its text names"
    assert reading.detail is None


def test_a_look_at_a_statement_that_no_session_runs_names_none() -> None:
    found = analyse(None, snapshot(instance(2), row(PlanLine, inst_id=2, sql_id="7xq3h", id=0))).detail
    assert found is not None
    assert (found.inst_id, found.sid, found.sql_id, found.cost, found.servers) == (2, 0, "7xq3h", None, ())
    servers = analyse(None, snapshot(instance(), row(PxStatistic, qcsid=7, sid=8, statistic=1))).detail
    assert servers is not None
    assert (servers.inst_id, servers.sid, servers.sql_id, servers.child) == (0, 7, "", None)
