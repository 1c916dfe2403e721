"""Huge values in every row: cut when read, marked where shown, and memory stays bounded."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from presman.base.release import Release
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.instance_rows import Instance
from presman.rows.session_rows import Session
from presman.rows.snapshot import Section
from presman.sources import Request
from presman.sources.oracle.guard import MOST
from tests.oracle.bench import USUAL, Bench
from tests.thorough import some

RSS = """
import resource, sys
from pathlib import Path
from presman.polling.poller import Poller
from presman.rows.cursor_rows import PlanXml, SqlText
from presman.rows.session_rows import Session
from presman.base.secret import Secret
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
resource.setrlimit(resource.RLIMIT_AS, (3 << 30, 3 << 30))
poller = Poller(OracleSource(ConnectSettings(sys.argv[1], "presman", Secret("presman"), call_timeout=120)))
poller.open()
for _ in range(2):
    snapshot = poller.poll()
sessions, texts, plans = (snapshot.section(record) for record in (Session, SqlText, PlanXml))
print(len(sessions.rows), len(texts.rows), len(plans.rows), len(snapshot.problems()))
print({len(row.program) for row in sessions.rows}, {row.sql_text.splitlines()[-1] for row in texts.rows})
print({row.other_xml for row in plans.rows})
status = Path("/proc/self/status")  # getrusage includes the maximum of the parent
if status.exists():
    print(next(int(line.split()[1]) >> 10 for line in status.read_text().splitlines() if line.startswith("VmHWM")))
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20)
"""


def huge(bench: Bench, rows: int, program: int, clob: int, queued: int = 8) -> None:
    """Put large values into every row of three views; a few sessions are queued, so that their texts are looked up."""
    ids = [f"sql{number:010}" for number in range(rows)]
    events = ["resmgr:pq queued" if number < queued else "" for number in range(rows)]
    sessions = [
        (1, number + 1, 7, "USER", "U", "p" * program, sql_id, 0, event)
        for number, (sql_id, event) in enumerate(zip(ids, events, strict=True))
    ]
    names = ["INST_ID", "SID", "SERIAL#", "TYPE", "USERNAME", "PROGRAM", "SQL_ID", "SQL_CHILD_NUMBER", "EVENT"]
    bench.put("GV$SESSION", names, sessions)
    texts = [(1, sql_id, 0, "é" * clob) for sql_id in ids[:queued]]
    bench.put("GV$SQL", ["INST_ID", "SQL_ID", "CHILD_NUMBER", "SQL_FULLTEXT"], texts)
    bench.put("GV$SQL_PLAN", ["INST_ID", "SQL_ID", "CHILD_NUMBER", "OTHER_XML"], texts)


@pytest.fixture
def bench(make_bench: Callable[[Release], Bench], request: pytest.FixtureRequest) -> Bench:
    return make_bench(request.param)


@pytest.mark.parametrize("bench", some([Release(23)], [Release(19)]), ids=str, indirect=True)
def test_memory_stays_bounded(bench: Bench) -> None:
    """60 rows of a megabyte each, of which the driver alone would keep several copies, and CLOBs of ten megabytes."""
    huge(bench, rows=60, program=1_000_000, clob=5_000_000, queued=3)
    done = subprocess.run(
        [sys.executable, "-c", RSS, bench.server.dsn], capture_output=True, text=True, timeout=120, check=True
    )
    counts, sizes, documents, mebibytes = done.stdout.splitlines()
    assert counts == "60 3 3 0"
    assert sizes == "{4000} {'… cut here: it has more than 100,000 characters'}"
    assert documents == "{'too long to be read: more than 250,000 characters'}"
    assert int(mebibytes) < 400


def read(bench: Bench, *requests: Request) -> tuple[Section, ...]:
    return bench.opened(call_timeout=100).read(requests).sections


def lookup(bench: Bench, record: type[SqlText] | type[PlanXml]) -> Request:
    """Read the text or the plan of the first statement."""
    binds = {"at_inst_id": 1, "sql_id": f"sql{0:010}", "child_number": 0}
    return replace(bench.requests(record)[0], binds=binds)


@pytest.mark.parametrize("bench", some([Release(23)], [Release(12, 1), Release(19)]), ids=str, indirect=True)
def test_too_large_an_answer_comes_a_few_rows_at_a_time(bench: Bench) -> None:
    """Forty rows of a megabyte are too large for one answer, four rows are not."""
    huge(bench, rows=40, program=1_000_000, clob=1)
    counters = bench.server.counters
    source = bench.opened(call_timeout=100)
    for logins in (2, 0):
        counters.reset()
        counters.logins = 1 if logins else 0
        instance, sessions = bench.read(source, Instance, Session)
        assert [row.instance_name for row in instance.rows] == ["orcl"]
        assert {row.program for row in sessions.rows} == {"p" * 3999 + "…"}
        assert len(sessions.rows) == 40
        assert counters.logins == logins, "the oversized answer cost the connection once"
        assert counters.calls["fetch"] >= 40_000_000 // MOST


@pytest.mark.parametrize("bench", some([Release(23)], [Release(19)]), ids=str, indirect=True)
def test_a_row_that_is_too_large_by_itself_is_a_problem_of_its_query(bench: Bench) -> None:
    huge(bench, rows=1, program=MOST, clob=1)
    source = bench.opened(call_timeout=100)
    for _ in range(2):
        instance, sessions = bench.read(source, Instance, Session)
        assert instance.rows
        assert not sessions.rows
        assert sessions.problem is not None
        assert str(sessions.problem) == "GV$SESSION: the answer has more than 32 MB"


@pytest.mark.parametrize("bench", USUAL, ids=str, indirect=True)
def test_large_texts_say_that_they_are_cut(bench: Bench) -> None:
    huge(bench, rows=1, program=4_001, clob=250_001)
    sessions, texts, plans = read(bench, *bench.requests(Session), lookup(bench, SqlText), lookup(bench, PlanXml))
    assert sessions.rows[0].program == "p" * 3_999 + "…"
    assert texts.rows[0].sql_text == "é" * 100_000 + "\n… cut here: it has more than 100,000 characters"
    assert plans.rows[0].other_xml == "too long to be read: more than 250,000 characters"


@pytest.mark.parametrize("bench", USUAL, ids=str, indirect=True)
def test_an_answer_that_just_fits_is_whole(bench: Bench) -> None:
    huge(bench, rows=1, program=4_000, clob=100_000)
    sessions, texts, plans = read(bench, *bench.requests(Session), lookup(bench, SqlText), lookup(bench, PlanXml))
    assert sessions.rows[0].program == "p" * 4_000
    assert texts.rows[0].sql_text == plans.rows[0].other_xml == "é" * 100_000
