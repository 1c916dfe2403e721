"""Holders of parallel servers: sets, degrees and the statement; by hand."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from presman.analysis.assemble import analyse
from presman.analysis.facts.facts import Facts
from presman.analysis.parallel import running as of_running
from presman.analysis.parallel.running import Holding, Holdings, holdings, sets_and_degrees
from presman.analysis.parallel.server_pools import is_coordinator
from presman.analysis.parallel.statement_end import course
from presman.analysis.readings.session_readings import Operation
from presman.analysis.readings.statement_readings import RunningStatement
from presman.figures.statement_figures import running_state
from presman.rows.session_rows import PxProcess, PxSession, Session, SessionLongops
from tests.analysis.make import NOON, instance, row, snapshot
from tests.tui.readings import running


def server(sid: int, server_set: int | None = 1, degree: int | None = 4, **values: Any) -> PxSession:
    given = {"sid": sid, "serial": 1, "qcsid": 9, "qcserial": 77, "qcinst_id": 1, "server_group": 1}
    return row(PxSession, **(given | {"server_set": server_set, "degree": degree, "req_degree": degree} | values))


def found(*rows: PxSession) -> Mapping[str, Any]:
    return sets_and_degrees(Holding.of((1, 9, 77), rows).kinds)


def test_sets_and_degrees_of_a_statement() -> None:
    """Two parallelizers: the first with two sets of 4, of which 8 were asked for; the second with one set of 6 of 8."""
    rows = [server(1), server(2, 2, req_degree=8), server(3, 1, 6, server_group=2, req_degree=8)]
    assert found(*rows) == {"sets": 3, "tree_sets": 2, "degree": 6, "requested": 8, "downgraded": 50.0}
    assert found(server(1), server(2)) == {"sets": 1, "tree_sets": 1, "degree": 4, "requested": 4, "downgraded": 0.0}
    unknown = {"sets": 1, "tree_sets": None, "degree": None, "requested": None, "downgraded": 0.0}
    assert found(server(1, None, None, server_group=None)) == unknown


def test_a_degree_of_which_nothing_is_left_is_lost_as_a_whole() -> None:
    assert found(server(1, 1, 0, req_degree=8))["downgraded"] == 100.0


@pytest.mark.parametrize(("later", "queued"), [(1.0, False), (0.0, True), (None, True)])
def test_a_session_with_servers_read_after_it_is_no_longer_queued(
    later: float | None, queued: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(of_running, "outdated_view", lambda _: "V$SESSION")
    at = {Session: NOON, PxSession: None if later is None else NOON + timedelta(seconds=later)}
    facts: Any = SimpleNamespace(
        snapshot=SimpleNamespace(section=lambda record: SimpleNamespace(at=at[record]), rows=lambda _: ())
    )
    (found,) = of_running._of_one_moment(facts, [running(526, queued=True, event="resmgr:pq queued")])
    assert (found.queued, found.event != "", found.outdated) == (queued, queued, "V$SESSION")


@pytest.mark.parametrize(("remaining", "nearer"), [(9.0, True), (10.0, True), (10.5, False)])
def test_an_estimate_in_whole_seconds_may_stay_for_two_seconds(remaining: float, nearer: bool) -> None:
    before = row(SessionLongops, opname="Table Scan", target="SALES", sofar=100, time_remaining=10)
    facts: Any = SimpleNamespace(
        earlier_operations={(1, 9, "x"): [before]}, deltas=SimpleNamespace(interval=lambda _: 2.0)
    )
    for done in (100, 101):
        work = Operation("Table Scan", "SALES", done, 1000, "Blocks", remaining)
        found = course(facts, work, (1, 9), "x")
        assert found.comes_nearer is ((nearer and done > 100) or remaining < 10.0)
        assert not found.overdue


@pytest.mark.parametrize(
    ("values", "own"),
    [
        ({"sid": 9, "degree": None, "qcinst_id": None}, True),
        ({"sid": 9, "degree": None, "qcinst_id": 1}, True),
        ({"sid": 9, "degree": None, "qcinst_id": 2}, False),  # a server here of a coordinator there with its number
        ({"sid": 9, "degree": 4}, False),
        ({"sid": 8, "degree": None}, False),
    ],
)
def test_the_row_of_a_coordinator(values: dict[str, Any], own: bool) -> None:
    assert is_coordinator(server(**values)) is own


def holdings_of(*rows: Any) -> Holdings:
    return holdings(Facts.of(None, snapshot(instance(), *rows)))


def counts(found: Holdings) -> tuple[dict[Any, int], dict[Any, int]]:
    return {place: len(each.rows) for place, each in found.statements.items()}, dict(found.monitors)


def test_servers_are_their_coordinators() -> None:
    own = server(9, None, None, qcinst_id=None, qcserial=None, serial=77)
    lacking = [server(sid, qcserial=None) for sid in (1, 2)]  # a spool without QCSERIAL#
    nobody = server(5, qcsid=0)
    assert counts(holdings_of(own, *lacking, nobody)) == ({(1, 9, 77): 2}, {})
    assert counts(holdings_of(*lacking)) == ({(1, 9, 0): 2}, {})
    elsewhere = server(3, qcinst_id=None)
    assert counts(holdings_of(elsewhere)) == ({(1, 9, 77): 1}, {}), "the coordinator is on the same instance"


def process(sid: int, is_gv: str) -> PxProcess:
    return row(PxProcess, sid=sid, serial=1, is_gv=is_gv, server_name="PZ99" if is_gv == "TRUE" else "P000")


def test_servers_of_gv_queries_are_counted_apart() -> None:
    cluster = [instance(parallel="YES"), instance(2, parallel="YES")]

    def of(*rows: Any) -> Holdings:
        return holdings(Facts.of(None, snapshot(*cluster, *rows)))

    assert counts(of(server(1), process(1, "FALSE"))) == ({(1, 9, 77): 1}, {})
    assert counts(of(server(1), process(1, "TRUE"))) == ({}, {(1, 9, 77): 1})
    mixed = of(server(1), server(2), server(3), process(1, "FALSE"), process(2, "TRUE"))
    assert counts(mixed) == ({(1, 9, 77): 2}, {}), "2 works for a monitor, 3 for the session it came with"
    assert counts(of(server(1), server(2), process(1, "TRUE"))) == ({}, {(1, 9, 77): 2})
    assert counts(of(server(1), process(5, "FALSE"))) == ({}, {}), "it has come or gone between two reads"
    unread = of(server(1))
    assert counts(unread) == ({(1, 9, 77): 1}, {})
    assert [each.certain for each in unread.statements.values()] == [False]
    assert [each.certain for each in mixed.statements.values()] == [True]


def one(*rows: Any) -> RunningStatement:
    (found,) = analyse(None, snapshot(instance(), *rows)).running
    return found


def coordinator(**values: Any) -> Session:
    given = {
        "sid": 9,
        "serial": 77,
        "status": "ACTIVE",
        "sql_id": "x",
        "username": "ANNA",
        "program": "p",
        "machine": "m",
    }
    return row(Session, **(given | {"resource_consumer_group": "ETL", "last_call_et": 30} | values))


def test_a_statements_facts_are_those_of_its_coordinator() -> None:
    found = one(server(1), server(2), coordinator(sql_exec_start=NOON - timedelta(seconds=20)))
    assert (found.inst_id, found.sid, found.serial, found.servers, found.group) == (1, 9, 77, 2, "ETL")
    assert (found.user, found.program, found.machine, found.sql_id) == ("ANNA", "p", "m", "x")
    assert (found.elapsed, found.idle, found.last_call, found.status) == (20.0, None, 30.0, "ACTIVE")
    assert (found.seen, found.idle_known, found.queued, found.session_sql_id) == (True, True, False, "x")
    assert dict(found.servers_by_instance) == {1: 2}


def test_an_execution_that_began_before_its_session_has_no_time() -> None:
    """Both have whole seconds of two clocks: two seconds apart they may be the same."""
    started = NOON - timedelta(seconds=20)
    for later, elapsed in ((2.0, 20.0), (2.1, None)):
        logon = started + timedelta(seconds=later)
        assert one(server(1), coordinator(sql_exec_start=started, logon_time=logon)).elapsed == elapsed


def test_an_idle_coordinator_keeps_servers_of_what_it_ran_last() -> None:
    found = one(server(1), coordinator(status="INACTIVE", sql_id="", prev_sql_id="y", last_call_et=900))
    assert (found.idle, found.sql_id, found.session_sql_id, found.elapsed) == (900.0, "y", "y", None)
    for since in (None, -5):  # its host's clock went back
        unknown = one(server(1), coordinator(status="INACTIVE", last_call_et=since))
        assert (unknown.idle, unknown.idle_known, unknown.last_call) == (0.0, False, None)


@pytest.mark.parametrize(
    ("poll_seconds", "sessions_later", "since", "idle"),
    [(1.5, 0.0, 1, None), (1.5, 0.0, 2, 2.0), (0.01, 1.5, 1, None), (0.01, 0.0, 1, 1.0)],
)
def test_a_session_that_became_idle_during_the_poll_is_no_idle_holder(
    poll_seconds: float, sessions_later: float, since: int, idle: float | None
) -> None:
    """A statement that ended after V$PX_SESSION and before V$SESSION was read was a warning of `check`."""
    session = coordinator(status="INACTIVE", last_call_et=since, event="SQL*Net message from client", state="WAITING")
    seen = snapshot(server(1), session, instance(), seconds=poll_seconds)
    at = seen.at + timedelta(seconds=sessions_later)
    sections = {**seen.sections, Session: replace(seen.section(Session), at=at)}
    (found,) = analyse(None, replace(seen, sections=sections)).running
    assert found.idle == idle
    assert found.servers == 1
    assert idle is not None or running_state(found).endswith("just ended, or idle")


@pytest.mark.parametrize(
    ("held_before", "waited", "queued"), [(False, 60.0, False), (True, 60.0, True), (False, 3.0, True)]
)
def test_servers_that_came_during_a_wait_end_the_queueing(held_before: bool, waited: float, queued: bool) -> None:
    """A row of V$SESSION that was a poll older made a statement that had started queue behind itself."""
    session = coordinator(event="resmgr:pq queued", state="WAITING", wait_time_micro=int(1e6 * waited))
    before = snapshot(server(1, qcsid=9 if held_before else 8, qcserial=77), session, instance())
    found = analyse(before, snapshot(server(1), session, instance(), after=5.0))
    (statement,) = found.running
    assert (statement.queued, len(found.queue)) == (queued, int(queued))


def test_without_its_coordinator_a_statement_is_known_by_a_server() -> None:
    started = NOON - timedelta(seconds=8)
    of_server = row(Session, sid=1, serial=1, sql_id="z", resource_consumer_group="BATCH", username="BERT",
                    program="P000", sql_exec_start=started)  # fmt: skip
    found = one(server(1), of_server)
    assert (found.group, found.user, found.program, found.sql_id, found.elapsed) == ("BATCH", "BERT", "", "z", 8.0)
    assert (found.seen, found.idle, found.idle_known, found.last_call) == (False, None, True, None)
    nobody = one(server(1))
    assert (nobody.group, nobody.user, nobody.sql_id, nobody.elapsed, nobody.status) == ("", "", "", None, "")


def test_the_statement_is_that_of_the_servers_where_the_coordinator_has_gone_on() -> None:
    of_server = row(Session, sid=1, serial=1, sql_id="old", sql_exec_start=NOON - timedelta(seconds=50))
    gone_on = coordinator(sql_id="new", prev_sql_id="old", sql_exec_start=NOON - timedelta(seconds=1))
    found = one(server(1), of_server, gone_on)
    assert (found.sql_id, found.session_sql_id, found.elapsed) == ("old", "new", 50.0)


def test_most_servers_come_first_and_then_by_place() -> None:
    rows = [server(1), server(2, qcsid=8), server(3, qcsid=7), server(4, qcsid=7)]
    found = analyse(None, snapshot(instance(), *rows)).running
    assert [(each.sid, each.servers) for each in found] == [(7, 2), (8, 1), (9, 1)]
