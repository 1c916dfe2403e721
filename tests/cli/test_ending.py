"""Endings: SIGHUP, and exits that wait for nothing."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from presman.cli import exit_codes
from presman.cli.exit_codes import Terminated
from tests.cli.run import Run, command, environment
from tests.thorough import some


@contextmanager
def start(*arguments: str, cwd: Path, nohup: bool = False) -> Iterator[subprocess.Popen[str]]:
    """Run presman, and kill it if the test fails, because the test would otherwise wait for ever."""
    words = command(*arguments)
    if nohup:
        ignore = "import os,signal,sys; signal.signal(1, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        words = [sys.executable, "-c", ignore, *words]
    with subprocess.Popen(words, cwd=cwd, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def wait_for(path: Path, lines: int, process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not path.exists() or path.read_text("utf-8").count("\n") < lines:
        assert process.poll() is None
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_hangup_closes_the_arrivals(tmp_path: Path) -> None:
    path = tmp_path / "arrivals.csv"
    busy = ("export", "demo:storm?seed=3&speed=60", "--measure", "arrivals", "--refresh", "0.5", "-o", str(path))
    with start(*busy, cwd=tmp_path) as process:
        wait_for(path, 2, process)
        before = path.read_text("utf-8").count("\n")
        process.send_signal(signal.SIGHUP)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == exit_codes.HUNG_UP
    assert len(errors.splitlines()) == 1
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert len(rows) >= before, "queued and running statements have their rows"


def test_under_nohup_a_hangup_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    words = ("export", "demo:quiet", "--measure", "cpu", "--refresh", "0.5", "-o", str(path))
    with start(*words, cwd=tmp_path, nohup=True) as process:
        wait_for(path, 2, process)
        process.send_signal(signal.SIGHUP)
        wait_for(path, path.read_text("utf-8").count("\n") + 2, process)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)
    assert process.returncode == exit_codes.TERMINATED


@pytest.mark.parametrize("number", some([signal.SIGINT], [signal.SIGTERM]))
def test_waiting_for_the_reader_of_a_pipe_can_be_ended(tmp_path: Path, number: int) -> None:
    os.mkfifo(tmp_path / "pipe")
    with start("export", "demo:quiet", "-o", "pipe", cwd=tmp_path) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "presman: pipe is a pipe with no reader: waiting for one\n"
        process.send_signal(number)
        process.communicate(timeout=30)
    assert process.returncode == 128 + number


def test_ctrl_c_that_an_import_would_swallow_ends_the_process() -> None:
    swallowed = """
import os, signal
from presman.cli.exit_codes import ending_at_once
with ending_at_once():
    try:
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        pass
    print("lost", flush=True)
"""
    run = subprocess.run([sys.executable, "-c", swallowed], capture_output=True, text=True, check=False)
    assert (run.returncode, run.stdout) == (130, "")


@pytest.mark.parametrize(("raised", "code"), [(KeyboardInterrupt(), 130), (Terminated(1), 129), (Terminated(), 143)])
def test_a_failure_caused_by_a_signal_is_no_error(
    raised: BaseException, code: int, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy raises such an error if a signal interrupts the end of a transaction."""

    def run(_options: object) -> int:
        try:
            raise raised
        finally:
            raise AssertionError

    monkeypatch.setattr("presman.cli.look_command.once_run", run)
    monkeypatch.setattr("presman.cli.check_command.run", run)
    done = inside("once", "demo:quiet")
    assert (done.returncode, done.stdout, done.stderr) == (code, "", "")
    done = inside("check", "demo:quiet")
    reason = "stopped by Ctrl-C" if code == 130 else f"stopped by signal {code - 128}"
    assert (done.returncode, done.stdout) == (3, f"PRESMAN UNKNOWN - {reason}\n")
