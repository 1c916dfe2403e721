from __future__ import annotations

from datetime import timedelta
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presman.history import LIVE, History
from presman.queries import Scope
from presman.release import Release
from presman.rows import ConsumerGroup, Parameter, Session
from presman.snapshot import Problem, Section, Snapshot
from tests.sources.fakes import START, row

PARAMETERS = Section((row(Parameter, name="cpu_count", value="16"),))


def snapshot(number: int, sessions: int = 20) -> Snapshot:
    rows = tuple(
        row(
            Session,
            inst_id=1,
            sid=sid,
            username="ANNA",
            sql_id=f"sql{sid}",
            logon_time=START,
            last_call_et=(number * 7919 * (sid + 1)) % 9973,
            event=f"event {number % 3}",
        )
        for sid in range(sessions)
    )
    sections = {
        Session: Section(rows, at=START),
        Parameter: PARAMETERS,
        ConsumerGroup: Section(problem=Problem("ORA-00942", "no table"), absent=frozenset({"name"})),
    }
    at = START + timedelta(seconds=2 * number)
    return Snapshot("t", "simulator", Release(19), Scope.CLUSTER, at, number, 1, 0.01, 2, MappingProxyType(sections))


def test_every_snapshot_comes_back_as_it_was() -> None:
    history = History()
    snapshots = [snapshot(number) for number in range(30)]
    for each in snapshots:
        history.append(each)
    assert len(history) == 30
    assert history.times == tuple(each.at for each in snapshots)
    for index in (0, 1, 14, 29, -1, -30):
        previous, current = history.pair(index)
        place = index % 30
        assert current == snapshots[place]
        assert previous == (snapshots[place - 1] if place else None)
        assert type(current.rows(Session)[0]) is Session
    for index in (30, -31):
        with pytest.raises(IndexError):
            history.pair(index)


def test_bounded_by_count() -> None:
    history = History(count=5)
    for number in range(12):
        history.append(snapshot(number))
    assert len(history) == 5
    assert history.pair(0)[1].number == 7


def test_bounded_by_bytes() -> None:
    history = History(size=20_000)
    for number in range(200):
        history.append(snapshot(number))
    assert LIVE < len(history) < 200
    assert 0 < history.used <= 20_000
    assert history.pair(-1)[1] == snapshot(199)


def test_what_does_not_change_is_kept_once() -> None:
    changing, same = History(), History()
    for number in range(50):
        changing.append(snapshot(number, sessions=200))
        same.append(snapshot(1, sessions=200))
    assert same.used < changing.used / 2


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=25))
def test_rows_that_come_and_go(counts: list[int]) -> None:
    history = History()
    snapshots = [snapshot(number, sessions) for number, sessions in enumerate(counts)]
    for each in snapshots:
        history.append(each)
    assert [history.pair(index)[1] for index in range(len(history))] == snapshots
