"""Synchronous line of thick mode, and the whole source on it, through the driver's thin mode.

Oracle Client libraries are not available here: the call of the driver shows that and where it would load them.
"""

from __future__ import annotations

import threading
from typing import Any

import oracledb
import pytest

from presman.rows.instance_rows import Instance, Sysstat
from presman.rows.session_rows import Session
from presman.sources import SourceError
from presman.sources.oracle.thick_connection import ThickConnection
from presman.sources.oracle.thin_connection import BoundSelect, Cancelled, ConnectionLost
from tests.oracle.bench import Bench, hurried
from tests.oracle_server.faults import Cut, Delay, Hold, Mute, Ora, Stage
from tests.patience import until

SESSIONS = BoundSelect("SELECT sid FROM gv$session WHERE sid > :low", {"low": 0}, 64)


def connected(bench: Bench) -> ThickConnection:
    line = ThickConnection(bench.settings())
    line.connect(2.0)
    return line


def test_reads_in_one_round_trip(bench: Bench) -> None:
    line = connected(bench)
    bench.server.counters.reset()
    assert len(line.fetch(SESSIONS, 5.0)) == 40
    assert line.round_trips == bench.server.counters.round_trips == 1
    line.close()
    line.close()


def test_an_error_leaves_the_line(bench: Bench) -> None:
    line = connected(bench)
    bench.server.faults.add(Stage.STATEMENT, Ora(942, "table or view does not exist"), "gv$session")
    with pytest.raises(oracledb.DatabaseError, match="ORA-00942"):
        line.fetch(SESSIONS, 5.0)
    assert len(line.fetch(SESSIONS, 5.0)) == 40
    line.close()


@pytest.mark.parametrize("action", [Delay(60), Mute(), Hold(60)])
def test_a_timeout_gives_the_line_up(bench: Bench, action: Delay | Mute | Hold) -> None:
    wide = [(1, sid, "x" * 100) for sid in range(1, 400)]
    bench.put("GV$SESSION", ["INST_ID", "SID", "PROGRAM"], wide)
    line = connected(bench)
    bench.server.faults.add(Stage.STATEMENT, action, "gv$session")
    with pytest.raises(ConnectionLost):
        line.fetch(BoundSelect("SELECT sid, program FROM gv$session", {}, 512), 0.1)
    line.close()


def test_a_cut_is_a_loss(bench: Bench) -> None:
    line = connected(bench)
    bench.server.faults.add(Stage.STATEMENT, Cut(100), "gv$session")
    with pytest.raises(ConnectionLost) as caught:
        line.fetch(SESSIONS, 5.0)
    assert not caught.value.stuck
    line.close()


def test_cancel(bench: Bench) -> None:
    line = connected(bench)
    bench.server.faults.add(Stage.STATEMENT, Delay(60), "gv$session")
    ended: list[str] = []

    def read() -> None:
        try:
            line.fetch(SESSIONS, 60.0)
        except Cancelled:
            ended.append("cancelled")

    reading = threading.Thread(target=read)
    reading.start()
    until(lambda: any("session" in text for text in bench.server.counters.statements()), "asked for sessions")
    line.cancel()
    reading.join(60)
    assert ended == ["cancelled"]
    with pytest.raises(Cancelled):
        line.fetch(SESSIONS, 1.0)
    line.close()


# -- the whole source on it ---------------------------------------------------------------------------------------


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Let the driver stay in thin mode; return the folders from which it should load client libraries."""
    folders: list[Any] = []

    def remember(lib_dir: str | None) -> None:
        folders.append(lib_dir)

    monkeypatch.setattr(oracledb, "init_oracle_client", remember)
    return folders


def test_a_source_in_thick_mode(bench: Bench, asked_for: list[Any]) -> None:
    source = bench.opened(thick=True, lib_dir="/opt/client")
    assert asked_for == ["/opt/client"]
    assert source.about().driver.endswith(", thick")
    bench.server.counters.reset()
    answer = bench.answer(source, Instance, Session, Sysstat)
    assert [len(section.rows) for section in answer.sections] == [1, 40, 1]
    assert answer.round_trips == bench.server.counters.round_trips == 4  # one for the clock, and one for each query
    source.close()
    assert bench.server.counters.most_sessions <= 1


def test_a_query_fails_alone_in_thick_mode(bench: Bench, asked_for: list[Any]) -> None:
    source = bench.opened(thick=True)
    for action, code in ((Ora(942, "table or view does not exist"), "ORA-00942"), (Delay(60), "")):
        bench.server.faults.add(Stage.STATEMENT, action, "gv$session")
        with hurried(source):
            instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
        assert (len(instance.rows), len(statistics.rows)) == (1, 1)
        assert sessions.problem is not None
        assert sessions.problem.code == code
    assert [len(section.rows) for section in bench.read(source, Session)] == [40]
    assert asked_for == [None, None]  # the query that took too long cost the connection


def test_a_loss_in_thick_mode(bench: Bench, asked_for: list[Any]) -> None:
    source = bench.opened(thick=True)
    bench.server.faults.add(Stage.STATEMENT, Ora(3113, "end-of-file on communication channel"), "gv$session")
    with pytest.raises(SourceError) as caught:
        bench.read(source, Instance, Session)
    assert (caught.value.code, caught.value.retry) == ("ORA-03113", True)
    source.open()
    assert [len(section.rows) for section in bench.read(source, Session)] == [40]
    assert len(asked_for) == 2
    assert bench.server.counters.most_sessions == 1


def test_a_login_that_hangs_in_thick_mode(bench19: Bench, asked_for: list[Any]) -> None:
    for hanging in (Stage.CONNECT, Stage.LOGIN):
        bench19.server.faults.add(hanging, Mute())
        with pytest.raises(SourceError, match="no answer within"):
            bench19.source(thick=True, connect_timeout=0.1).open()
    assert len(asked_for) == 2
    bench19.server.faults.clear()  # on a busy machine the second login was given up before it reached the fault
    bench19.server.drop_sessions()
    assert len(bench19.read(bench19.opened(thick=True), Session)[0].rows) == 40


def test_cancel_ends_a_login_in_thick_mode(bench19: Bench, asked_for: list[Any]) -> None:
    bench19.server.faults.add(Stage.CONNECT, Mute())
    source = bench19.source(thick=True, connect_timeout=60)
    ended: list[str] = []

    def connect() -> None:
        try:
            source.open()
        except SourceError as error:
            ended.append(str(error))

    opening = threading.Thread(target=connect)
    opening.start()
    until(lambda: bench19.server.counters.connections, "connected")
    source.cancel()
    opening.join(60)
    assert ended == ["cancelled"]
    assert asked_for == [None]


def test_a_login_that_comes_too_late_is_ended(bench19: Bench, asked_for: list[Any]) -> None:
    bench19.server.faults.add(Stage.LOGIN, Delay(0.2), skip=3)
    with pytest.raises(SourceError, match="no answer within"):
        bench19.source(thick=True, connect_timeout=0.1).open()
    counters = bench19.server.counters
    until(lambda: counters.logins and not counters.connections, "a login that was ended")
    assert (counters.sessions, len(asked_for)) == (0, 1)


def test_without_client_libraries(bench19: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(lib_dir: str | None) -> None:
        raise oracledb.DatabaseError(f"DPI-1047: Cannot locate a 64-bit Oracle Client library: {lib_dir}")

    monkeypatch.setattr(oracledb, "init_oracle_client", missing)
    with pytest.raises(SourceError, match="--thick=LIBDIR says where it is") as caught:
        bench19.opened(thick=True)
    assert (caught.value.code, caught.value.retry) == ("DPI-1047", False)
    assert not bench19.server.counters.connections
