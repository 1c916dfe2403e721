"""Faults end to end: the real driver, the real protocol, a socket."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.cursor_rows import SqlText
from presman.rows.instance_rows import Instance, Sysstat
from presman.rows.queries import load
from presman.rows.session_rows import Session
from presman.sources import Request, SourceError
from presman.sources.oracle.oracle_source import OracleSource
from tests.oracle.bench import NOW, Bench, across, hurried
from tests.oracle_server.faults import Cut, Delay, Garbage, Hold, Mute, Ora, Refuse, Stage, Warn
from tests.patience import until


def each_with(name: str, *cases: Any) -> pytest.MarkDecorator:
    """Try each case on one release and the first on all."""
    return pytest.mark.parametrize(("bench", name), across(*cases), ids=str, indirect=["bench"])


def assert_recovers(bench: Bench, source: OracleSource) -> None:
    """The next good poll is right, in one session."""
    bench.server.faults.clear()
    source.open()
    instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
    assert [row.instance_name for row in instance.rows] == ["orcl"]
    assert len(sessions.rows) == 40
    assert [row.value for row in statistics.rows] == [12345]
    assert bench.server.counters.most_sessions == 1


# -- connecting ---------------------------------------------------------------------------------------------------


@each_with(
    "refusal",
    *((18, True), (1017, False), (28000, False), (28001, False), (1045, False), (20, True), (1033, True), (1089, True)),
)
def test_login_is_refused(bench: Bench, refusal: tuple[int, bool]) -> None:
    code, retry = refusal
    bench.server.faults.add(Stage.LOGIN, Ora(code, "not now"), skip=1 if bench.release == Release(23) else 3)
    source = bench.source()
    with pytest.raises(SourceError) as caught:
        source.open()
    assert caught.value.code == f"ORA-{code:05}"
    assert caught.value.retry is retry
    assert_recovers(bench, source)


def test_wrong_password(bench: Bench) -> None:
    source = bench.source(password=Secret("sesame"))
    with pytest.raises(SourceError) as caught:
        source.open()
    assert (caught.value.code, caught.value.retry) == ("ORA-01017", False)
    assert "sesame" not in str(caught.value)
    assert bench.server.counters.sessions == 0


def test_unknown_user_reads_like_a_wrong_password(bench19: Bench) -> None:
    with pytest.raises(SourceError) as caught:
        bench19.source(user="nobody").open()
    assert caught.value.code == "ORA-01017"


def test_password_about_to_expire_lets_in(bench: Bench) -> None:
    warning = Warn(28002, "the password will expire within 7 days")
    bench.server.faults.add(Stage.LOGIN, warning, skip=1 if bench.release == Release(23) else 3)
    assert bench.source().open().major == bench.release.major


@pytest.mark.parametrize(("code", "shown"), [(12514, "ORA-12514"), (12505, "ORA-12505"), (12528, "ORA-12528")])
def test_listener_refuses(bench: Bench, code: int, shown: str) -> None:
    bench.server.faults.add(Stage.CONNECT, Refuse(code))
    source = bench.source()
    with pytest.raises(SourceError) as caught:
        source.open()
    assert (caught.value.code, caught.value.retry) == (shown, True)
    assert_recovers(bench, source)


def test_unknown_service(bench19: Bench) -> None:
    with pytest.raises(SourceError) as caught:
        bench19.source(dsn=bench19.server.dsn.replace("/presman", "/elsewhere")).open()
    assert caught.value.code == "ORA-12514"


def test_no_listener_on_the_port(bench19: Bench) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(SourceError) as caught:
            bench19.source(dsn=f"127.0.0.1:{port}/presman").open()
    assert caught.value.retry


def test_host_without_address(bench19: Bench) -> None:
    with pytest.raises(SourceError) as caught:
        bench19.source(dsn="no-such-host.invalid:1521/presman").open()
    assert caught.value.retry


def test_host_without_route(bench19: Bench) -> None:
    with pytest.raises(SourceError) as caught:
        bench19.source(dsn="203.0.113.1:1521/presman", connect_timeout=0.1).open()
    assert caught.value.retry


@each_with("action", Cut(), Mute(), Garbage(), Garbage(b"\0\x0a\0\0\x04\0\0\0??"), Garbage(b"SSH-2.0-x\r\n"))
def test_no_oracle_behind_the_port(bench: Bench, action: Any) -> None:
    bench.server.faults.add(Stage.CONNECT, action)
    source = bench.source(connect_timeout=0.1)
    with pytest.raises(SourceError) as caught:
        source.open()
    assert caught.value.retry
    assert_recovers(bench, bench.source())


@each_with("after", 200, 0, 1, 7, 8, 30)
@pytest.mark.parametrize("phase", [0, 1])
def test_cut_during_login(bench: Bench, phase: int, after: int) -> None:
    bench.server.faults.add(Stage.LOGIN, Cut(after), skip=phase)
    source = bench.source()
    with pytest.raises(SourceError) as caught:
        source.open()
    assert caught.value.retry
    assert_recovers(bench, source)


def test_mute_during_login(bench: Bench) -> None:
    bench.server.faults.add(Stage.LOGIN, Mute(), skip=1)
    source = bench.source(connect_timeout=0.1)
    with pytest.raises(SourceError) as caught:
        source.open()
    assert caught.value.retry
    assert_recovers(bench, bench.source())


def test_release_too_old_for_the_thin_driver(make_bench: Callable[[Release], Bench]) -> None:
    with pytest.raises(SourceError, match="--thick") as caught:
        make_bench(Release(11, 2)).source().open()
    assert not caught.value.retry


# -- losing the session -------------------------------------------------------------------------------------------


@each_with("code", 28, 1012, 1089, 1092, 2396, 3113, 3114, 3135)
def test_session_is_ended(bench: Bench, code: int) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Ora(code, "your session is gone"), "gv$session")
    with pytest.raises(SourceError) as caught:
        bench.read(source, Instance, Session, Sysstat)
    # In a pipeline the driver does not pass on the last error of a session.
    assert caught.value.code == ("DPY-4011" if bench.release == Release(23) else f"ORA-{code:05}")
    assert caught.value.retry
    assert_recovers(bench, source)


@each_with("after", 900, 0, 1, 5, 300, 1500)
def test_cut_in_the_middle_of_a_row(bench: Bench, after: int) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Cut(after), "gv$session")
    with pytest.raises(SourceError) as caught:
        bench.read(source, Instance, Session, Sysstat)
    assert caught.value.retry
    assert_recovers(bench, source)


def test_cut_while_idle(bench: Bench) -> None:
    source = bench.opened()
    bench.server.drop_sessions()
    with pytest.raises(SourceError) as caught:
        bench.read(source, Instance)
    assert caught.value.retry
    assert_recovers(bench, source)


# -- one query among others ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [942, 1031])
def test_missing_grant(bench: Bench, code: int) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Ora(code, "table or view does not exist"), "gv$session")
    instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
    assert instance.rows
    assert statistics.rows
    assert not sessions.rows
    assert sessions.problem is not None
    assert sessions.problem.code == f"ORA-{code:05}"
    assert sessions.problem.view == "GV$SESSION"
    right = "READ" if bench.release >= Release(12, 1) else "SELECT"
    assert sessions.problem.cure == f"GRANT {right} ON SYS.GV_$SESSION TO PRESMAN"
    assert str(sessions.problem) == f"ORA-{code:05} GV$SESSION: table or view does not exist"


@each_with("code", 4031, 1555, 12801, 12850, 54321)
@pytest.mark.parametrize("after", [0, 3])
def test_query_fails_alone(bench: Bench, code: int, after: int) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Ora(code, "unable to allocate", after), "gv$session")
    instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
    assert instance.rows
    assert statistics.rows
    assert sessions.problem is not None
    assert sessions.problem.code == f"ORA-{code:05}"
    assert ("--scope instance" in sessions.problem.cure) is (code in {12801, 12850})
    assert len(bench.read(source, Session)[0].rows) == 40
    assert bench.server.counters.logins == 1


def test_slow_query(bench: Bench) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=-1)
    for _ in range(2):
        with hurried(source):
            instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
        assert instance.rows
        assert statistics.rows
        assert sessions.problem is not None
        assert "no answer within" in sessions.problem.text
    assert_recovers(bench, source)


def test_slow_query_is_asked_apart_until_it_is_quick_again(bench23: Bench) -> None:
    source = bench23.opened()
    bench23.server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=2)
    with hurried(source):
        assert bench23.read(source, Instance, Session)[1].problem  # first in the pipeline, then alone
    counters = bench23.server.counters
    for pipelines, others in ((1, 1), (1, 0)):
        counters.reset()
        answer = bench23.answer(source, Instance, Session)
        assert not any(section.problem for section in answer.sections)
        assert counters.calls["pipeline"] == pipelines
        assert answer.round_trips == counters.round_trips == pipelines + others
    assert counters.most_sessions == 1


def test_query_that_cannot_even_be_interrupted(bench: Bench) -> None:
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Mute(), "gv$session", times=2 if bench.release == Release(23) else 1)
    with hurried(source):
        instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
    assert instance.rows
    assert statistics.rows
    assert sessions.problem is not None
    assert_recovers(bench, source)


def test_rest_of_the_answer_comes_late(bench: Bench) -> None:
    wide = [(1, sid, 7, "USER", f"USER{sid}", "x" * 60) for sid in range(5000, 7000)]
    bench.put("GV$SESSION", ["INST_ID", "SID", "SERIAL#", "TYPE", "USERNAME", "PROGRAM"], wide)
    source = bench.opened()
    bench.server.faults.add(Stage.STATEMENT, Hold(60), "gv$session", times=2)
    with hurried(source):
        instance, sessions, statistics = bench.read(source, Instance, Session, Sysstat)
    assert instance.rows
    assert statistics.rows
    assert sessions.problem is not None
    bench.server.faults.clear()
    assert len(bench.read(source, Session)[0].rows) == 2000


def test_lob_that_cannot_be_read(bench: Bench) -> None:
    source = bench.opened()
    query = load(bench.release)[SqlText]
    request = Request(query, {"at_inst_id": 1, "sql_id": "9md3ukhghgj58", "child_number": 0})
    bench.server.faults.add(Stage.STATEMENT, Ora(22924, "snapshot too old"), "define: ")
    section = source.read([request]).sections[0]
    assert section.problem is not None
    assert section.problem.code == "ORA-22924"
    text = source.read([request]).sections[0].rows[0]
    assert text.sql_text.startswith("select /* é */ 1 from dual\n")
    assert len(text.sql_text) == 27 * 400


# -- ending -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("action", [Delay(60), Mute()])
def test_cancel_ends_a_hanging_read(bench: Bench, action: Any) -> None:
    source = bench.opened(call_timeout=60)
    bench.server.faults.add(Stage.STATEMENT, action, "gv$session")
    ended: list[Any] = []

    def read() -> None:
        try:
            bench.read(source, Instance, Session)
        except SourceError as error:
            ended.append(error)

    reading = threading.Thread(target=read)
    reading.start()
    until(lambda: any("session" in text for text in bench.server.counters.statements()), "asked for sessions")
    source.cancel()
    reading.join(60)
    assert not reading.is_alive()
    assert str(ended[0]) == "cancelled"
    assert_recovers(bench, source)


def test_cancel_ends_a_hanging_login(bench19: Bench) -> None:
    bench19.server.faults.add(Stage.CONNECT, Mute())
    source = bench19.source(connect_timeout=60)
    errors: list[SourceError] = []

    def connect() -> None:
        try:
            source.open()
        except SourceError as error:
            errors.append(error)

    opening = threading.Thread(target=connect)
    opening.start()
    until(lambda: bench19.server.counters.connections, "connected")
    source.cancel()
    opening.join(60)
    assert not opening.is_alive()
    assert errors


def test_close_is_bounded_and_quiet(bench: Bench) -> None:
    source = bench.opened()
    bench.server.drop_sessions()
    source.close()
    source.close()
    with pytest.raises(SourceError, match="not connected"):
        bench.read(source, Instance)


def test_answers_carry_the_clock_of_the_database(bench: Bench) -> None:
    answer = bench.answer(bench.opened(), Instance)
    assert answer.at == NOW
    assert answer.sections[0].at is not None
    assert (answer.sections[0].at - NOW).total_seconds() < 60
