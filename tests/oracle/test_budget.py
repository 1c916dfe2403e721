"""Reading through the real driver in limited time: slow views do not delay the others."""

from __future__ import annotations

import time
from typing import Any

import pytest

from presman.rows.cursor_rows import SqlText
from presman.rows.instance_rows import Instance, Osstat, Sysstat
from presman.rows.session_rows import Session
from presman.sources import Answer, SourceError
from presman.sources.oracle import oracle_source
from presman.sources.oracle.oracle_source import OracleSource
from tests.oracle.bench import Bench
from tests.oracle_server.faults import Delay, Mute, Stage

WITHIN = 3.0
"""Seconds for a read in these tests; a single query may take sixty, and a hanging query lasts a minute."""

HANGS = 30.0
"""Seconds after which a read has clearly ignored its limit; a busy machine may need all of them."""


def opened(bench: Bench) -> OracleSource:
    return bench.opened(call_timeout=60.0)


def timed(bench: Bench, source: OracleSource, *records: type[Any]) -> tuple[Answer, float]:
    begun = time.monotonic()
    answer = source.read(bench.requests(*records), WITHIN)
    return answer, time.monotonic() - begun


def test_one_slow_view_does_not_hold_up_the_others(bench: Bench) -> None:
    source = opened(bench)
    bench.server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=-1)
    for _ in range(2):
        answer, seconds = timed(bench, source, Session, Instance, Sysstat)
        sessions, instance, statistics = answer.sections
        assert sessions.problem is not None
        assert sessions.problem.late
        assert instance.rows
        assert statistics.rows
        assert seconds < HANGS


def test_a_slow_view_is_asked_last_from_then_on(bench19: Bench) -> None:
    source = opened(bench19)
    bench19.server.faults.add(Stage.STATEMENT, Delay(60), "gv$session", times=1)
    timed(bench19, source, Session, Instance, Sysstat)
    bench19.server.counters.reset()
    answer, _ = timed(bench19, source, Session, Instance, Sysstat)
    assert all(section.rows for section in answer.sections)
    asked = [text for text in bench19.server.counters.statements() if "$" in text]
    assert "gv$session" in asked[-1]
    bench19.server.counters.reset()
    timed(bench19, source, Session, Instance, Sysstat)
    assert "gv$session" in next(text for text in bench19.server.counters.statements() if "$" in text)


def test_the_read_ends_even_if_every_view_hangs(bench: Bench) -> None:
    source = opened(bench)
    bench.server.faults.add(Stage.STATEMENT, Delay(60), "gv$", times=-1)
    answer, seconds = timed(bench, source, Session, Instance, Sysstat, Osstat)
    assert all(section.problem and section.problem.late for section in answer.sections)
    assert seconds < HANGS
    bench.server.faults.clear()
    answer, _ = timed(bench, source, Session, Instance, Sysstat)
    assert all(section.rows for section in answer.sections)


def test_a_server_that_is_stopped_is_lost_within_the_budget(bench: Bench) -> None:
    source = opened(bench)
    bench.server.faults.add(Stage.STATEMENT, Mute(), times=-1)
    bench.server.faults.add(Stage.CONNECT, Mute(), times=-1)
    begun = time.monotonic()
    with pytest.raises(SourceError) as caught:
        source.read(bench.requests(Session, Instance), WITHIN)
    assert time.monotonic() - begun < HANGS
    assert caught.value.retry


def test_a_pipeline_too_slow_as_a_whole_is_not_tried_at_every_poll(
    bench23: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each attempt would cost a login, so for a minute the queries run one by one."""
    source = opened(bench23)
    bench23.server.faults.add(Stage.STATEMENT, Delay(60), "gv$instance", times=1)
    answer, _ = timed(bench23, source, Instance, Sysstat)
    assert all(section.rows for section in answer.sections)
    logins = bench23.server.counters.logins
    bench23.server.counters.reset()
    timed(bench23, source, Instance, Sysstat)
    assert bench23.server.counters.calls["pipeline"] == 0
    assert bench23.server.counters.logins in {0, logins}
    monkeypatch.setattr(source, "_one_by_one_until", 0.0)
    timed(bench23, source, Instance, Sysstat)
    assert bench23.server.counters.calls["pipeline"] == 1
    assert oracle_source.ONE_BY_ONE == 60.0


def test_texts_that_hang_leave_the_rest_alone(bench: Bench) -> None:
    source = opened(bench)
    (text,) = bench.requests(SqlText)
    text = type(text)(text.query, {"at_inst_id": 1, "sql_id": "9md3ukhghgj58", "child_number": 0})
    bench.server.faults.add(Stage.STATEMENT, Delay(60), "gv$sql", times=1)
    answer = source.read([text, *bench.requests(Instance)], WITHIN)
    assert answer.sections[0].problem is not None
    assert answer.sections[1].rows
