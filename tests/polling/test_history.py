from __future__ import annotations

import tempfile
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from presman.base.release import Release
from presman.polling.history import LIVE, History
from presman.rows.group_rows import ConsumerGroup
from presman.rows.instance_rows import Parameter
from presman.rows.queries import Scope
from presman.rows.session_rows import Session
from presman.rows.snapshot import Problem, Section, Snapshot
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


def test_a_full_history_loses_a_quarter_at_once() -> None:
    history = History(count=40)
    lengths = []
    for number in range(100):
        history.append(snapshot(number))
        lengths.append(len(history))
        assert history.pair(-1)[1] == snapshot(number)
        assert history.pair(0)[1].number == number + 1 - len(history)
    assert max(lengths) == 40
    assert min(lengths[40:]) == 31


def test_bounded_by_bytes() -> None:
    history = History(size=20_000)
    for number in range(200):
        history.append(snapshot(number))
    assert LIVE < len(history) < 200
    assert 0 < history.used <= 20_000
    assert history.pair(-1)[1] == snapshot(199)


def test_unchanged_rows_are_kept_once() -> None:
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


def test_without_a_folder_it_is_kept_in_memory_and_shorter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/does/not/exist")
    history = History(memory=20_000)
    for number in range(200):
        history.append(snapshot(number))
    assert LIVE < len(history) < 200
    assert history.used <= 20_000
    assert history.pair(0)[1] == snapshot(200 - len(history))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_disk_that_is_full_loses_no_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    history = History()
    for number in range(10):
        history.append(snapshot(number))
    with Path("/dev/full").open("wb", buffering=0) as full:
        history._files[-1]._file = full
        for number in range(10, 20):
            history.append(snapshot(number))
    assert [history.pair(index)[1].number for index in range(9, 20)] == list(range(9, 20))


def open_files() -> int:
    """Return how many files this process has open; 0 where the system does not say."""
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.exists() else 0


def test_no_file_stays_behind_and_none_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    history = History(count=20)
    before = open_files()
    for number in range(100):
        history.append(snapshot(number))
    assert list(tmp_path.iterdir()) == []
    del history
    assert open_files() == before
