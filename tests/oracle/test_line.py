"""The synchronous line, through the driver's thin mode: Oracle Client libraries are not to be had here."""

from __future__ import annotations

import threading
import time

import oracledb
import pytest

from presman.oracle_server.faults import Cut, Delay, Hold, Mute, Ora, Stage
from presman.sources.oracle_line import Cancelled, Lost, Statement, ThickLine
from tests.oracle.bench import Bench

SESSIONS = Statement("SELECT sid FROM gv$session WHERE sid > :low", {"low": 0}, 64)


def connected(bench: Bench) -> ThickLine:
    line = ThickLine(bench.settings())
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
    with pytest.raises(Lost):
        line.fetch(Statement("SELECT sid, program FROM gv$session", {}, 512), 0.1)
    line.close()


def test_a_cut_is_a_loss(bench: Bench) -> None:
    line = connected(bench)
    bench.server.faults.add(Stage.STATEMENT, Cut(100), "gv$session")
    with pytest.raises(Lost) as caught:
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
    while not any("session" in text for text in bench.server.counters.statements()):
        time.sleep(0.005)
    line.cancel()
    reading.join(5)
    assert ended == ["cancelled"]
    with pytest.raises(Cancelled):
        line.fetch(SESSIONS, 1.0)
    line.close()
