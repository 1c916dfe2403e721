"""Guard of the driver: it must not notice a connection lost during a call, because that would crash the process."""

from __future__ import annotations

import asyncio
import errno
import gc
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from presman.base.release import Release
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.instance_rows import Instance
from presman.rows.queries import LONG_TEXTS, has_long_texts, load
from presman.rows.session_rows import Session
from presman.sources import SourceError
from presman.sources.oracle.guard import MOST, AnswerTooLarge, Guard, Sockets
from presman.sources.oracle.thin_connection import CUT, BoundSelect, ConnectionLost, ThinConnection
from tests.oracle.bench import RELEASES, USUAL, Bench
from tests.oracle_server.faults import Cut, Ora, Redirect, Resend, Stage

TEXT = "SELECT sql_fulltext FROM gv$sql WHERE sql_id = :sql_id"
MANY = [BoundSelect(TEXT, {"sql_id": "9md3ukhghgj58"}, 2) for _ in range(6)]

# This crashed the driver: a cut line during a pipeline of statements with CLOBs, which it repeats one by one.
IN_A_PIPELINE = """
import faulthandler, sys
from presman.base.secret import Secret
from presman.sources.oracle.thin_connection import ConnectionLost, BoundSelect, ThinConnection
from presman.sources.oracle.settings import ConnectSettings
faulthandler.enable()
many = [BoundSelect(sys.argv[2], {"sql_id": "9md3ukhghgj58"}, 2) for _ in range(6)]
for _ in range(int(sys.argv[3])):
    line = ThinConnection(ConnectSettings(sys.argv[1], "presman", Secret("presman")))
    line.connect(5.0)
    try:
        line.fetch_all(many, 5.0)
        print("done")
    except ConnectionLost as lost:
        print(lost)
    line.close()
"""


def test_an_event_loop_that_cannot_be_made_is_reported_and_leaves_nothing(
    bench19: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When Python discards an incomplete loop, it complains about each missing part, which fails this test."""

    def no_more(*_: Any) -> Any:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    source = bench19.source()
    with monkeypatch.context() as without:
        without.setattr(socket, "socketpair", no_more)
        before = len(list(Path("/dev/fd").iterdir()))
        for _ in range(3):
            with pytest.raises(SourceError, match="open files have run out"):
                source.open()
        gc.collect()
        assert len(list(Path("/dev/fd").iterdir())) <= before, (
            "fewer if files of other tests were collected in the meantime"
        )
    assert source.open().major == 19
    source.close()


def test_the_driver_outlives_a_cut_among_clobs(bench23: Bench) -> None:
    """In a process of its own: without the guard the first cut causes SIGSEGV."""
    faults = [(after, skip) for after in (0, 1, 9, 40, 500) for skip in (0, 1, 5)]
    for after, skip in faults:
        bench23.server.faults.add(Stage.STATEMENT, Cut(after), "define: ", skip=skip)
    asked = [sys.executable, "-c", IN_A_PIPELINE, bench23.server.dsn, TEXT, str(len(faults))]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert len(lines) == len(faults)
    assert set(lines) == {CUT}


@pytest.mark.parametrize("action", [Ora(3113, "end-of-file on communication channel"), Ora(28, "killed"), Cut(30)])
def test_the_session_ends_in_the_middle_of_a_pipeline(bench23: Bench, action: Any) -> None:
    """The driver then closes its socket by itself, but would still wait for answers that never come."""
    line = ThinConnection(bench23.settings())
    line.connect(5.0)
    bench23.server.faults.add(Stage.STATEMENT, action, "gv$sql", skip=2)
    with pytest.raises(ConnectionLost) as caught:
        line.fetch_all(MANY, 5.0)
    assert not caught.value.stuck
    with pytest.raises(ConnectionLost):
        line.fetch(MANY[0], 5.0)
    line.close()


def test_no_clob_is_asked_for_in_a_pipeline(bench23: Bench) -> None:
    source = bench23.opened(call_timeout=5)
    bench23.server.counters.reset()
    binds = {"at_inst_id": 1, "sql_id": "9md3ukhghgj58", "child_number": 0}
    clobs = [replace(each, binds=binds) for each in bench23.requests(SqlText, PlanXml)]
    requests = [*bench23.requests(Instance, Session), *clobs]
    answer = source.read(requests)
    assert [len(section.rows) for section in answer.sections] == [1, 40, 1, 0]
    calls = [(seen.call, "CLOB" if "sql_fulltext" in seen.sql or "other_xml" in seen.sql else "")
             for seen in bench23.server.counters.log]  # fmt: skip
    assert calls == [
        *[("execute", "")] * 3,
        ("pipeline", ""),
        ("execute", "CLOB"),
        ("define", ""),
        ("execute", "CLOB"),
        ("define", ""),
    ]
    assert answer.round_trips == bench23.server.counters.round_trips == 5


@pytest.mark.parametrize("release", [*RELEASES, Release(11, 2), Release(12, 2), Release(18), Release(21)], ids=str)
def test_which_queries_have_clobs_is_known_from_their_records(release: Release) -> None:
    """According to the catalog, all CLOB columns are in fields of LONG_TEXTS."""
    clobs = {"sql_fulltext", "other_xml"}
    for record, query in load(release).items():
        words = set(query.cluster_sql.replace(",", " ").lower().split("from")[0].split())
        assert bool(words & clobs) is has_long_texts(record), query.name
    assert LONG_TEXTS.keys() == {"sql_text", "other_xml"}


def test_the_catalog_knows_no_other_clobs() -> None:
    from presman.rows.queries import columns_of
    from presman.rows.queries import load as queries

    found = set()
    for query in queries(Release(23)).values():
        for column in columns_of(query.view, Release(99)):
            if column.datatype.startswith(("CLOB", "LONG")):
                found.add(column.name)
    asked = {name for query in queries(Release(23)).values() for name in found if name.lower() in query.cluster_sql}
    assert asked == {"SQL_FULLTEXT", "OTHER_XML"}


# -- listeners that send elsewhere ------------------------------------------------------------------------------------


@pytest.mark.parametrize("bench", USUAL, ids=str, indirect=True)
@pytest.mark.parametrize("times", [1, 3])
def test_a_listener_that_sends_elsewhere_and_hangs_up(bench: Bench, times: int) -> None:
    """Without the guard the driver sometimes mistakes the end of the first connection for that of the second."""
    for _ in range(6):
        bench.server.faults.add(Stage.CONNECT, Redirect(bench.server.port), times=times)
        source = bench.opened(call_timeout=5)
        assert len(bench.read(source, Session)[0].rows) == 40
        source.close()
    assert bench.server.counters.most_sessions == 1


@pytest.mark.parametrize("bench", USUAL, ids=str, indirect=True)
def test_a_listener_that_asks_for_a_resend(bench: Bench) -> None:
    bench.server.faults.add(Stage.CONNECT, Resend())
    assert len(bench.read(bench.opened(call_timeout=5), Session)[0].rows) == 40


# -- the guard by itself ----------------------------------------------------------------------------------------------


class Driver:
    """A stand-in for the driver that records its calls."""

    def __init__(self, stumbles: bool = False) -> None:
        self.received: list[Any] = []
        self.stumbles = stumbles

    def data_received(self, data: bytes) -> None:
        if self.stumbles:
            raise AttributeError("what is this?")
        self.received.append(data)

    def connection_lost(self, error: Exception | None) -> None:
        self.received.append("lost")


class Transport:
    """A stand-in for a transport that records its calls."""

    def __init__(self) -> None:
        self.done: list[Any] = []

    def write(self, data: bytes) -> None:
        self.done.append(data)

    def is_closing(self) -> bool:
        return "closed" in self.done

    def close(self) -> None:
        self.done.append("closed")

    def abort(self) -> None:
        self.done.append("aborted")

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return name


REFUSED = bytes.fromhex("000c0000 04000000 22000000")


@pytest.fixture
def loop() -> Any:
    made = Sockets()
    yield made
    made.close()


def guarded(loop: Sockets, **given: Any) -> tuple[Guard, Driver, Transport]:
    driver, transport = Driver(**given), Transport()
    guard = Guard(loop, driver)
    guard.connection_made(transport)
    loop._guards.append(guard)
    return guard, driver, transport


def test_during_the_login_the_driver_learns_of_a_loss(loop: Sockets) -> None:
    guard, driver, _ = guarded(loop)
    guard.connection_lost(None)
    assert driver.received == ["lost"]
    assert not loop.lost.is_set()


def test_data_sent_after_a_loss_is_answered_with_the_loss(loop: Sockets) -> None:
    """The driver did not notice the loss before, because it was not waiting."""
    guard, driver, transport = guarded(loop)
    guard.connection_lost(None)
    guard.wire.write(b"login")
    loop.run_until_complete(asyncio.sleep(0))
    assert (driver.received, transport.done) == (["lost", "lost"], [])


def test_a_partial_answer_of_a_listener_is_reported(loop: Sockets) -> None:
    assert loop.incomplete_answer() is None, "there is no connection"
    guard, _, _ = guarded(loop)
    assert loop.incomplete_answer() is None, "nothing came"
    guard.data_received(REFUSED[:5])
    assert "that is not an Oracle listener (it answered" in str(loop.incomplete_answer())


def test_after_the_login_only_the_line_learns_of_a_loss(loop: Sockets) -> None:
    guard, driver, transport = guarded(loop)
    loop.settle()
    guard.connection_lost(None)
    assert loop.lost.is_set()
    guard.data_received(REFUSED)
    guard.wire.write(b"anybody there?")
    assert (driver.received, transport.done) == ([], [])


def test_a_loss_before_the_end_of_the_login_is_a_loss(loop: Sockets) -> None:
    guard, _, _ = guarded(loop)
    guard.connection_lost(None)
    loop.settle()
    assert loop.lost.is_set()


def test_nothing_comes_after_the_driver_has_closed(loop: Sockets) -> None:
    """With TLS there may still be data to read then, which would crash the driver."""
    guard, driver, transport = guarded(loop)
    loop.settle()
    guard.wire.close()
    guard.data_received(REFUSED)
    guard.connection_lost(None)
    assert (driver.received, transport.done) == ([], ["closed"])
    assert loop.lost.is_set()


def test_a_driver_that_stumbles_is_the_end_of_the_line(loop: Sockets) -> None:
    guard, _, transport = guarded(loop, stumbles=True)
    loop.settle()
    guard.data_received(REFUSED)
    assert transport.done == ["aborted"]
    assert loop.lost.is_set()
    assert str(loop.fault) == "the server's answer makes no sense (AttributeError)"


def test_an_answer_has_a_limit_and_each_call_a_new_one(loop: Sockets) -> None:
    guard, driver, transport = guarded(loop)
    loop.settle()
    loop.count(MOST - len(REFUSED))
    guard.data_received(REFUSED)
    assert driver.received == [REFUSED]
    loop.allow()
    loop.count(MOST)
    guard.data_received(REFUSED)
    assert transport.done == ["aborted"]
    assert isinstance(loop.fault, AnswerTooLarge)


def test_a_proxys_answer_is_passed_on_as_a_whole(loop: Sockets) -> None:
    guard, driver, _ = guarded(loop)
    guard.wire.write(b"CONNECT db:1521 HTTP/1.0\r\n\r\n")
    for part in (b"HT", b"TP/1.1 200 Connection established\r\n", b"Via: x\r\n\r\n"):
        guard.data_received(part)
    assert driver.received == [b"HTTP/1.1 200 Connection established\r\nVia: x\r\n\r\n"]


@pytest.mark.parametrize("answer", [b"SSH-2.0-x\r\n", b"H\0"])
def test_the_driver_refuses_what_is_no_proxy(loop: Sockets, answer: bytes) -> None:
    guard, driver, _ = guarded(loop)
    guard.wire.write(b"CONNECT db:1521 HTTP/1.0\r\n\r\n")
    guard.data_received(answer)
    assert driver.received == [answer]


def test_a_proxy_with_an_endless_answer(loop: Sockets) -> None:
    guard, driver, transport = guarded(loop)
    guard.wire.write(b"CONNECT db:1521 HTTP/1.0\r\n\r\n")
    guard.data_received(b"HTTP/1.1 200 " + bytes(9_000))
    assert (driver.received, transport.done[1:]) == (["lost"], ["aborted"])
