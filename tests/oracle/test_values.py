"""Odd values end to end: they arrive with their meaning."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import oracledb
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presman.base.release import Release
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import Instance, Sysstat
from presman.rows.queries import Scope, bind_names, load
from presman.rows.session_rows import PxSession, Session, SessionInfo
from presman.sources import Request
from presman.sources.embedded import EmbeddedDatabase
from tests.oracle.bench import NOW, Bench
from tests.oracle_server import Backend, OracleServer, profile_of
from tests.oracle_server.answers import Answer
from tests.oracle_server.backend import ResultColumn
from tests.oracle_server.wire import (
    Dialect,
    NeedMore,
    Reader,
    Writer,
    decode_date,
    decode_number,
    encode_number,
    encode_timestamp,
)
from tests.thorough import some


@given(st.integers(-(10**38) + 1, 10**38 - 1))
@example(0)
@example(10**38 - 1)
@example(-1)
@example(100)
def test_whole_numbers_survive(value: int) -> None:
    assert decode_number(encode_number(value)) == value


@given(st.decimals(allow_nan=False, allow_infinity=False, places=6, min_value=-(10**12), max_value=10**12))
def test_fractions_survive(value: Decimal) -> None:
    assert decode_number(encode_number(value)) == pytest.approx(float(value), rel=1e-12)


@pytest.mark.parametrize(
    ("value", "encoded"),
    [(1, "c102"), (-1, "3e6466"), (Decimal("0.1"), "c00b"), (100, "c202"), (0, "80"), (123.45, "c202182e")],
)
def test_numbers_as_oracle_writes_them(value: Any, encoded: str) -> None:
    assert encode_number(value).hex() == encoded


@given(st.datetimes(datetime(1, 1, 1), datetime(9999, 12, 31)))
def test_instants_survive(value: datetime) -> None:
    assert decode_date(encode_timestamp(value)) == value


@given(st.one_of(st.none(), st.binary(min_size=1, max_size=70_000)))
def test_bytes_survive(value: bytes | None) -> None:
    data = bytes(Writer().clr(value).data)
    assert Reader(data).clr() == value
    with pytest.raises(NeedMore):
        Reader(data[:-1]).clr()


@given(st.integers(-(2**60), 2**60))
def test_integers_survive(value: int) -> None:
    assert Reader(Writer().sb(value).data).sb() == value


@pytest.mark.parametrize(("packed", "scale"), [(False, "81"), (True, "817f")])
def test_a_scale_travels_as_the_client_says(packed: bool, scale: str) -> None:
    """JDBC and go-ora want small integers after their length; the thin drivers for Python and Node do not."""
    answer = Answer(profile_of(Release(19)), Dialect(12, packed=packed)).describe([ResultColumn("N", "NUMBER")])
    assert f"020000{scale}0116" in answer.data.hex()


def test_an_answer_names_the_call_it_belongs_to() -> None:
    """Clients that count their calls treat an answer to another call as an error."""
    numbered = Answer(profile_of(Release(19)), Dialect(12), sequence=77).error().data
    plain = Answer(profile_of(Release(19)), Dialect(12)).error().data
    assert [(a, b) for a, b in zip(plain, numbered, strict=True) if a != b] == [(0, 77)]


def test_numbers_at_the_edge(bench: Bench) -> None:
    """The embedded engine computes in 64 bits, so the test sends the numbers in Oracle's encoding."""
    values = [0, 1, -1, 10**38 - 1, -(10**38) + 1, 10**18, 99 * 10**124]
    rows = [(1, "queries parallelized", encode_number(value)) for value in values]
    bench.put("GV$SYSSTAT", ["INST_ID", "NAME", "VALUE"], rows)
    found = [row.value for row in bench.read(bench.opened(), Sysstat)[0].rows]
    assert found[:-1] == values[:-1]
    assert found[-1] == pytest.approx(values[-1])


def test_null_in_every_column(bench: Bench) -> None:
    for record, view in ((Session, "GV$SESSION"), (PxSession, "GV$PX_SESSION"), (SessionInfo, "GV$RSRC_SESSION_INFO")):
        bench.put(view, ["INST_ID"], [(None,), (2,)])
        section = bench.read(bench.opened(), record)[0]
        assert section.problem is None
        assert [(row.inst_id, row.sid) for row in section.rows] == [(2, 0)], "a row without INST_ID is left out"


def test_empty_views(bench: Bench) -> None:
    for view in ("GV$SESSION", "GV$PX_SESSION"):
        bench.put(view, ["INST_ID"], [])
    sections = bench.read(bench.opened(), Session, PxSession, ConsumerGroup)
    assert [section.rows for section in sections] == [(), (), ()]
    assert not any(section.problem for section in sections)


def test_bytes_that_are_no_utf8(bench: Bench) -> None:
    broken = b"Gr\xfc\xdfe \xff\xfe"
    bench.put("GV$SESSION", ["INST_ID", "SID", "MODULE", "PROGRAM"], [(1, 1, broken, "caf\u00e9")])
    session = bench.read(bench.opened(), Session)[0].rows[0]
    assert session.module == "Gr\ufffd\ufffde \ufffd\ufffd"
    assert session.program == "café"


def test_hostile_and_long_texts(bench: Bench) -> None:
    long = "é" * 4000
    bench.put("GV$SESSION", ["INST_ID", "SID", "MODULE", "PROGRAM"], [(1, 1, "\x1b]0;owned\x07", long)])
    session = bench.read(bench.opened(), Session)[0].rows[0]
    assert session.module == "␛]0;owned␇"
    assert session.program == long


@pytest.mark.parametrize("bench", some([Release(23)], [Release(12, 1), Release(19)]), ids=str, indirect=True)
def test_ten_thousand_rows(bench: Bench) -> None:
    rows = [(1, sid, "USER", f"USER{sid}") for sid in range(1000, 11000)]
    bench.put("GV$SESSION", ["INST_ID", "SID", "TYPE", "USERNAME"], rows)
    source = bench.opened(call_timeout=30)
    assert len(bench.read(source, Session)[0].rows) == 10_000
    answer = bench.answer(source, Session)
    assert len(answer.sections[0].rows) == 10_000
    assert answer.round_trips == (1 if bench.release == Release(23) else 2)


def test_dates_before_christ_are_nothing(bench: Bench) -> None:
    rows = [(1, "a", "-4711-01-01 00:00:00"), (1, "b", "2026-02-28 10:00:00"), (1, "c", None)]
    bench.put("GV$INSTANCE", ["INST_ID", "INSTANCE_NAME", "STARTUP_TIME"], rows)
    source = bench.opened()
    for _ in range(2):
        instances, sessions = bench.read(source, Instance, Session)
        assert instances.problem is None
        assert [row.startup_time for row in instances.rows] == [None, datetime(2026, 2, 28, 10, tzinfo=UTC), None]
        assert len(sessions.rows) == 40
    assert bench.server.counters.most_sessions == 1


def test_database_in_another_time_zone() -> None:
    """DATE columns are the host's local time; everything presman keeps is UTC."""
    release = Release(19)
    database = EmbeddedDatabase(release)
    database.replace("GV$INSTANCE", ["INST_ID", "STARTUP_TIME"], [(1, "2026-02-28 23:00:00")])
    zone = timezone(timedelta(hours=5, minutes=30))
    backend = Backend(database, now=lambda: NOW, zone=zone)
    with OracleServer(backend, profile_of(release)) as server:
        connection = oracledb.connect(user="presman", password="presman", dsn=server.dsn)
        with connection.cursor() as cursor:
            cursor.execute("SELECT startup_time, SYSDATE, SYSTIMESTAMP FROM gv$instance")
            local = datetime(2026, 3, 1, 17, 30)
            assert cursor.fetchone() == (datetime(2026, 3, 1, 4, 30), local, local)
            cursor.execute("SELECT DBTIMEZONE, SESSIONTIMEZONE FROM dual")
            assert cursor.fetchone() == ("+05:30", "+05:30")
        connection.close()
        bench = Bench(server, release)
        source = bench.opened()
        answer = bench.answer(source, Instance)
        assert answer.at == NOW
        assert answer.sections[0].rows[0].startup_time == datetime(2026, 2, 28, 23, tzinfo=UTC)
        source.close()


@pytest.mark.parametrize("scope", list(Scope))
def test_every_query_of_every_release_fills_its_record(make_bench: Callable[[Release], Bench], scope: Scope) -> None:
    between = [Release(12, 2), Release(18), Release(19), Release(21)]
    ends = [Release(12, 1), Release(23)]
    for release in some(ends, between):
        bench = make_bench(release)
        source = bench.opened()
        source.scope = scope
        for record, query in load(release).items():
            wanted = set(bind_names(query.sql(scope))) - {"inst_id", "own_inst_id", "own_sid", "with_idle"}
            request = Request(query, dict.fromkeys(wanted))
            section = source.read([request]).sections[0]
            assert section.problem is None, (release, record, section.problem)
        source.close()


def test_own_session_is_left_out(bench: Bench) -> None:
    source = bench.opened()
    own = int(max(seen.session for seen in bench.server.counters.log))
    bench.put("GV$SESSION", ["INST_ID", "SID", "TYPE"], [(1, own, "USER"), (2, own, "USER"), (1, own + 1, "USER")])
    found = {(row.inst_id, row.sid) for row in bench.read(source, Session)[0].rows}
    assert found == {(2, own), (1, own + 1)}
