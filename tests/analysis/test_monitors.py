"""Servers of GV$ queries on a cluster: recognised, counted separately, and not listed as statements."""

from __future__ import annotations

from typing import Any

import pytest

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.analysis.trends import Watch
from presman.base.release import SUPPORTED, Release
from presman.polling.poller import Poller
from presman.rows.instance_rows import Instance
from presman.rows.session_rows import PxProcess, PxSession, Session
from presman.rows.session_state import ALL_STATEMENTS, ServerProcesses
from presman.sources.simulator.machine import OWN_SID
from presman.sources.simulator_source import SimulatorSource
from tests.analysis.make import NOON, instance, row, snapshot
from tests.scenarios import with_short_past

PAIR = (instance(1, parallel="YES"), instance(2, parallel="YES"))


def server(inst_id: int, sid: int, qcsid: int, serial: int = 3) -> PxSession:
    return row(PxSession, inst_id=inst_id, sid=sid, serial=serial, qcsid=qcsid, qcserial=qcsid, qcinst_id=1, degree=2,
               req_degree=2, server_set=1)  # fmt: skip


def process(inst_id: int, sid: int, name: str, is_gv: str = "", serial: int = 3) -> PxProcess:
    return row(PxProcess, inst_id=inst_id, sid=sid, serial=serial, server_name=name, is_gv=is_gv)


def coordinators(*rows: Any) -> list[int]:
    return [each.sid for each in analyse(None, snapshot(*rows)).running]


def test_is_gv_and_the_names_mark_gv_queries() -> None:
    servers = [server(1, 11, 5), server(2, 12, 5), server(1, 13, 6), server(2, 14, 6), server(1, 15, 7)]
    listed = [
        process(1, 11, "P000", "FALSE"), process(2, 12, "P000", "FALSE"),
        process(1, 13, "PZ99", "TRUE"), process(2, 14, "PZ99"), process(1, 15, "P00F"),
    ]  # fmt: skip
    reading = analyse(None, snapshot(*PAIR, *servers, *listed))
    assert [each.sid for each in reading.running] == [5, 7]
    assert reading.monitor_servers == 2
    assert all(each.certain for each in reading.running)


def test_the_program_names_the_process_if_the_view_cannot_be_read() -> None:
    sessions = [
        row(Session, inst_id=1, sid=13, serial=3, program="oracle@racdb01 (PZ98)"),
        row(Session, inst_id=1, sid=11, serial=3, program="ORACLE.EXE (P00A)"),
    ]
    assert coordinators(*PAIR, server(1, 11, 5), server(1, 13, 6), *sessions) == [5]
    assert analyse(None, snapshot(*PAIR, server(1, 13, 6), *sessions)).monitor_servers == 1


def test_another_user_of_the_sid_proves_nothing() -> None:
    """SIDs are reused: the process of serial 4 is not that of the server of serial 3."""
    assert coordinators(*PAIR, server(1, 11, 5), process(1, 11, "P000", "FALSE", serial=4)) == []
    assert coordinators(*PAIR, server(1, 11, 5), process(1, 11, "P000", "FALSE", serial=3)) == [5]


def test_servers_that_came_or_went_between_two_reads_are_left_out() -> None:
    assert coordinators(*PAIR, server(1, 11, 5), process(1, 99, "P000", "FALSE")) == []
    reading = analyse(None, snapshot(*PAIR, server(1, 11, 5)))
    assert [(each.sid, each.certain) for each in reading.running] == [(5, False)]


def test_a_parallel_statement_that_reads_gv_views_keeps_its_own_servers() -> None:
    servers = [server(1, 11, 5), server(1, 12, 5), server(2, 13, 5)]
    listed = [process(1, 11, "P000"), process(1, 12, "PZ99"), process(2, 13, "PZ99")]
    (only,) = analyse(None, snapshot(*PAIR, *servers, *listed)).running
    assert only.servers == 1


def test_on_a_single_instance_every_server_is_a_statements() -> None:
    assert coordinators(instance(1, parallel="NO"), server(1, 11, 5)) == [5]
    known = ServerProcesses.of([instance(1, parallel="NO")], (), (), several=False)
    assert known.serves_gv_query(1, 11, 3) is False


def test_servers_without_serial_numbers_are_recognised_as_well() -> None:
    known = ServerProcesses.of(PAIR, [process(1, 11, "PZ99", serial=0)], (), several=True)
    assert known.serves_gv_query(1, 11, 77) is True
    known = ServerProcesses.of(PAIR, [process(1, 11, "PZ99"), process(1, 11, "P000", serial=9)], (), several=True)
    assert known.serves_gv_query(1, 11, 0) is None


def readings(release: Release) -> list[Reading]:
    seconds = 0.0
    source = SimulatorSource(with_short_past("rac"), release=release, clock=lambda: seconds, start=NOON)
    poller = Poller(source)
    poller.open()
    found: list[Reading] = []
    before = None
    for _ in range(8):
        seconds += 5.0
        now = poller.poll()
        found.append(analyse(before, now))
        before = now
    poller.close()
    return found


@pytest.mark.parametrize("release", [SUPPORTED[0], SUPPORTED[-1]], ids=str)
def test_the_monitors_of_the_cluster_are_no_statements(release: Release) -> None:
    """The scenario has presman's own query at each poll, and another monitor's for 14 of 20 seconds."""
    watch = Watch()
    found = readings(release)
    for reading in found:
        watch.add(reading)
        users = {each.user for each in reading.running} | {each.user for each in reading.queue}
        assert not users & {"DBSNMP", "PRESMAN"}
        assert all(each.certain and each.sid != OWN_SID for each in reading.running)
        assert reading.monitor_servers in {2, 4}  # one on each of two instances, for one monitor or both
        assert not {span.user for span in watch.runs.within(NOON, reading.at)} & {"DBSNMP", "PRESMAN"}
        roles = {each.user: each.px_role for each in reading.sessions if each.program in {"emagent", "presman"}}
        assert roles in ({"DBSNMP": "GV$"}, {"DBSNMP": ""})
    assert {reading.monitor_servers for reading in found} == {2, 4}
    assert any(reading.running for reading in found)


@pytest.mark.parametrize(("parallel", "is_cluster"), [(["NO", "YES"], True), (["NO"], False), (["YES"], True)])
def test_one_instance_is_enough_to_recognise_a_cluster(parallel: list[str], is_cluster: bool) -> None:
    rows = [row(Instance, inst_id=number, parallel=each) for number, each in enumerate(parallel, start=1)]
    assert (ServerProcesses.of(rows, (), (), several=False) is not ALL_STATEMENTS) is is_cluster
