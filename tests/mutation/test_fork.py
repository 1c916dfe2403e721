"""Forks that try mutants: their CPU time counts, and no process is left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.mutation import fork, warm


def computing() -> int:
    while True:
        pass


def waiting() -> int:
    time.sleep(0.3)
    return 7


def with_a_child_that_computes() -> int:
    if os.fork() == 0:
        computing()
    time.sleep(60)
    return 0


def test_waiting_takes_no_cpu_seconds(tmp_path: Path) -> None:
    ended = fork.run(waiting, tmp_path / "log", 0.2)
    assert ended.code == 7
    assert ended.cpu < 0.2


@pytest.mark.parametrize("act", [computing, with_a_child_that_computes])
def test_a_fork_ends_after_its_cpu_seconds_even_if_a_child_took_them(
    act: Callable[[], int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fork, "WAITING", 500)
    ended = fork.run(act, tmp_path / "log", 0.05)
    assert (ended.status, ended.code) == (None, None)
    assert round(ended.cpu, 2) >= 0.05, "the system counts in hundredths"


def test_a_fork_that_waits_for_ever_is_ended(tmp_path: Path) -> None:
    assert fork.run(lambda: time.sleep(60) or 0, tmp_path / "log", 0.2 / fork.WAITING).status is None


def test_a_stopped_process_in_a_group_of_its_own_is_not_left_behind(tmp_path: Path) -> None:
    def act() -> int:
        left = subprocess.Popen(["sleep", "60"], start_new_session=True)
        left.send_signal(signal.SIGSTOP)
        (tmp_path / "pid").write_text(str(left.pid))
        return 0

    assert fork.run(act, tmp_path / "log", 30).code == 0
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_an_older_child_continues_and_is_not_counted(tmp_path: Path) -> None:
    other = fork.start(computing, tmp_path / "other")
    try:
        assert fork.run(waiting, tmp_path / "log", 0.2).code == 7
        assert fork.children(os.getpid()) == [other]
    finally:
        fork.end_all()
    assert fork.children(os.getpid()) == []


def test_a_test_that_computes_far_longer_than_usual_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "ALLOWED", 0.1)
    reported: list[str] = []
    endless = warm.Endless({"a.py::endless": 0.01}, reported.append)
    test = endless.pytest_runtest_protocol(SimpleNamespace(nodeid="a.py::endless"))  # type: ignore[arg-type]
    next(test)
    begun = time.process_time()
    while not reported:
        pass
    assert time.process_time() - begun > 0.08
    with pytest.raises(StopIteration):
        test.send(None)
    assert reported == ["a.py::endless"]
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)
