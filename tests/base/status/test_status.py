"""The status of running commands: the lock shows which live, the file how they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from shutil import rmtree
from unittest import mock

import pytest
from msgspec.structs import replace

from presman.base.log_event import LogEvent
from presman.base.run_status import (
    REMEMBERED,
    DatabaseStatus,
    FoundRun,
    RunState,
    RunStatus,
    StatusFile,
    _Reporter,
    folder,
    found_runs,
    lines_of,
    reporting,
)
from presman.cli import main
from presman.figures.status_figures import RUNS
from tests.patience import until

NOW = datetime(2026, 11, 22, 3, 12, tzinfo=UTC)
WELL = DatabaseStatus("prod", 5.0, 100, NOW - timedelta(seconds=3))
RUN = RunStatus(
    1, "record", 4711, "host", "2.0", NOW - timedelta(hours=1), NOW - timedelta(seconds=2), "/var/lib/presman/", 12.5,
    1.5, 61.0, (WELL,),
)  # fmt: skip

HOLD = """
import sys
from datetime import UTC, datetime
from msgspec.structs import replace
from presman.base.run_status import StatusFile
from tests.base.status.test_status import RUN
file = StatusFile("record")
file.write(replace(RUN, since=datetime.now(UTC), written=datetime.now(UTC)))
print("ready", flush=True)
sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return tmp_path


def state(database: DatabaseStatus, *, alive: bool = True, silent: float = 2.0) -> tuple[RunState, str]:
    run = replace(RUN, databases=(database,), written=NOW - timedelta(seconds=silent))
    (line,) = lines_of(FoundRun(run, alive), NOW)
    return line.state, line.trouble


def test_how_each_database_is() -> None:
    assert state(WELL) == (RunState.RUNNING, "")
    assert state(replace(WELL, last_poll=NOW - timedelta(seconds=30))) == (RunState.LATE, "no poll for 30 s")
    assert state(replace(WELL, trouble="ORA-12541")) == (RunState.LOST, "ORA-12541")
    assert state(replace(WELL, trouble="x", output_trouble="disk full")) == (RunState.NOT_WRITTEN, "disk full")
    assert state(WELL, silent=31)[0] is RunState.HANGS
    assert state(WELL, alive=False, silent=130) == (
        RunState.DIED, "it was killed, or the machine went down; its last report was 2 min 10 s ago"
    )  # fmt: skip
    assert state(replace(WELL, last_poll=None))[0] is RunState.LATE
    young = replace(RUN, since=NOW, databases=(replace(WELL, last_poll=None),))
    (line,) = lines_of(FoundRun(young, True), NOW)
    assert (line.state, line.silent) == (RunState.STARTING, 2.0)


def test_up_to_which_second_a_run_is_as_it_was() -> None:
    """Two intervals of 5 s and 10 s more; 30 s more for the first poll; a process writes every 5 s."""

    def polled(age: float) -> DatabaseStatus:
        return replace(WELL, last_poll=NOW - timedelta(seconds=age))

    def begun(age: float) -> RunState:
        run = replace(RUN, since=NOW - timedelta(seconds=age), databases=(replace(WELL, last_poll=None),))
        return lines_of(FoundRun(run, True), NOW)[0].state

    assert [state(polled(age))[0] for age in (-9, 20, 20.5)] == [RunState.RUNNING, RunState.RUNNING, RunState.LATE]
    assert state(replace(polled(999), every=0.0))[0] is RunState.RUNNING
    assert [state(WELL, silent=age)[0] for age in (-9, 30, 30.5)] == [
        RunState.RUNNING,
        RunState.RUNNING,
        RunState.HANGS,
    ]
    assert [begun(age) for age in (50, 50.5)] == [RunState.STARTING, RunState.LATE]


def test_how_long_a_run_runs_and_how_old_its_polls_are() -> None:
    (line,) = lines_of(FoundRun(RUN, True), NOW)
    assert (line.runs_for, line.age, line.silent) == (3600, 3, 2)
    (line,) = lines_of(FoundRun(RUN, False), NOW)
    assert line.runs_for == 3598, "up to its last status"
    early = replace(RUN, written=NOW + timedelta(seconds=5), since=NOW + timedelta(seconds=9))
    (line,) = lines_of(FoundRun(replace(early, databases=()), True), NOW)
    assert (line.runs_for, line.age, line.silent, line.database.name, line.database.every) == (0, None, 0, "", 0)


def test_the_newest_status_is_kept_and_foreign_files_are_left() -> None:
    """A status of a later format is not read and stays; one whose process lives is not removed, whatever is in it."""
    file = StatusFile("record")
    file.write(replace(RUN, format=2))
    assert found_runs() == []
    names = {path.name for path in folder().iterdir()}
    assert len(names) == 2
    file._path.write_text("{")
    assert found_runs() == []
    assert {path.name for path in folder().iterdir()} == names
    file.remove()


def test_runs_are_listed_the_oldest_first_and_a_dead_one_for_a_day() -> None:
    now = datetime.now(UTC)
    for output, since, written in (("b", 1, 23), ("a", 2, 1), ("c", 3, 25)):
        file = StatusFile("record")
        times = {"since": now - timedelta(hours=since), "written": now - timedelta(hours=written)}
        file.write(replace(RUN, output=output, **times))
        os.close(file._lock)
    assert [run.status.output for run in found_runs()] == ["a", "b"]


def test_a_run_that_ends_forgets_the_dead_one_that_it_replaced() -> None:
    """Nobody asked for the status while the second run lived."""
    for output in ("a", "b"):
        file = StatusFile("record")
        file.write(replace(RUN, output=output, written=datetime.now(UTC)))
        os.close(file._lock)
    with reporting("record", "a", lambda: [WELL], lambda _: None):
        until(lambda: len(list(folder().glob("*.json"))) == 3, "a status of the second run")
    assert [run.status.output for run in found_runs()] == ["b"]


def test_cpu_is_a_share_of_the_time_since_the_last_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """2 s of CPU in 8 s; a status written before half of `every` keeps the earlier share."""
    clock, used = [100.0], [1.0]
    monkeypatch.setattr("presman.base.run_status.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("presman.base.run_status.cpu_seconds", lambda: used[0])
    reporter = _Reporter("record", "x", lambda: [WELL], lambda _: None, 1.0)
    shares = []
    for at, cpu in ((100.25, 1.125), (108.0, 3.0), (108.25, 3.25), (108.5, 3.25)):
        clock[0], used[0] = at, cpu
        status = reporter._status()
        shares.append(status.cpu_percent)
    reporter._file.remove()
    assert shares == [None, 25.0, 25.0, 50.0]
    assert (status.cpu_seconds, status.databases, status.command) == (3.25, (WELL,), "record")


def test_a_failed_write_is_reported_once_until_one_succeeds() -> None:
    events: list[LogEvent] = []
    refused = [True]

    def write(file: StatusFile, status: RunStatus) -> None:
        is_refused = refused[0]  # asked once: the test may change it at any moment
        tries.append(is_refused)
        if is_refused:
            raise OSError(28, "No space left on device", "run.json")

    tries: list[bool] = []
    with mock.patch.object(StatusFile, "write", write), reporting("record", "x", list, events.append, every=0.001):
        until(lambda: tries.count(True) > 3, "it was refused several times")
        refused[0] = False
        until(lambda: False in tries, "it was written")
        refused[0] = True
        before = tries.count(True)
        until(lambda: tries.count(True) > before + 2, "it was refused again")
    text = "presman status cannot show this run: run.json: No space left on device"
    assert [event.message for event in events] == [text, text]


def test_a_file_is_private_whole_and_gone_at_the_end() -> None:
    assert found_runs() == []
    file = StatusFile("record")
    file.write(RUN)
    assert [(run.status, run.alive) for run in found_runs()] == [(RUN, True)]
    assert {path.stat().st_mode & 0o777 for path in folder().iterdir()} == {0o600}
    assert folder().stat().st_mode & 0o777 == 0o700
    file.write(replace(RUN, pid=2))
    assert found_runs()[0].status.pid == 2
    rmtree(folder())
    file.write(RUN)
    assert [run.alive for run in found_runs()] == [True], "lock and status are created again"
    file.remove()
    assert list(folder().iterdir()) == []


def test_a_killed_run_is_listed_until_another_takes_its_place() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[3]
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    assert [run.alive for run in found_runs()] == [True]
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert [run.alive for run in found_runs()] == [False]
    assert main(["status"]) == 7
    file = StatusFile("record")
    file.write(replace(RUN, written=datetime.now(UTC)))
    assert [run.alive for run in found_runs()] == [True]
    file.remove()
    assert list(folder().iterdir()) == []


def test_old_and_damaged_status_files_are_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    file = StatusFile("record")
    file.write(replace(RUN, written=datetime.now(UTC) - 2 * REMEMBERED))
    os.close(file._lock)
    (folder() / "broken.json").write_text("{")
    (folder() / "half.lock").touch()
    monkeypatch.setattr("presman.base.run_status._FIRST_STATUS", -1.0)
    assert found_runs() == []
    assert list(folder().iterdir()) == []


def test_a_run_writes_its_status_repeatedly() -> None:
    events: list[LogEvent] = []
    polls = [0]
    with reporting("export", "x.csv", lambda: [replace(WELL, polls=polls[0])], events.append, every=0.01):
        until(lambda: found_runs() and found_runs()[0].status.databases[0].polls == 0, "it is known")
        polls[0] = 7
        until(lambda: found_runs()[0].status.databases[0].polls == 7, "it shows the newest")
        (run,) = found_runs()
        assert (run.status.command, run.status.pid, run.status.output) == ("export", os.getpid(), "x.csv")
        assert run.status.memory_mb > 5
        assert run.status.cpu_seconds > 0
    assert found_runs() == []
    assert events == []
    assert "presman-status" not in {thread.name for thread in threading.enumerate()}


def test_a_run_without_a_status_file_reports_that_and_continues(home: Path) -> None:
    (home / "presman").write_text("in the way")
    events: list[LogEvent] = []
    with reporting("record", "x", list, events.append):
        worked = True
    assert worked
    assert [(event.event, event.level) for event in events] == [("no_status", "warning")]
    assert main(["status"]) == 2


def test_the_command_prints_and_ends_with_how_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status"]) == 3
    assert capsys.readouterr().out == "Nothing is running.\n"
    now = datetime.now(UTC)
    file = StatusFile("record")
    file.write(replace(RUN, since=now, written=now, databases=(replace(WELL, last_poll=now),)))
    assert main(["status"]) == 0
    assert "● running" in capsys.readouterr().out
    lost = replace(WELL, name="test", last_poll=now, trouble="ORA-12541: no listener")
    file.write(replace(RUN, since=now, written=now, databases=(replace(WELL, last_poll=now), lost)))
    assert main(["status", "--format", "json"]) == 7
    found = json.loads(capsys.readouterr().out)
    assert [each["state"] for each in found["runs"]] == ["running", "lost"]
    assert found["well"] is False
    assert main(["status", "--format", "csv"]) == 7
    header, *rows = capsys.readouterr().out.splitlines()
    assert header.startswith("command,pid,database,state,")
    assert header.split(",") == list(found["runs"][0])
    assert len(rows) == 2
    file.remove()


def test_in_how_long_a_lost_database_is_tried_again() -> None:
    locked = replace(WELL, trouble="ORA-28000: locked", next_try=NOW + timedelta(seconds=125))
    cases = (
        (locked, 125.0),
        (replace(locked, next_try=NOW - timedelta(seconds=3)), 0.0),
        (replace(locked, trouble=""), None),
    )
    for database, left in cases:
        run = replace(RUN, databases=(database,))
        (line,) = lines_of(FoundRun(run, True), NOW)
        assert line.retry_in == left
        assert RUNS.column("retry_s").value(line) == left
