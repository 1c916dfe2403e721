"""Logs of long-running commands: JSON lines or text, in a file that may be rotated."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from presman.base.log_event import LogEvent
from presman.cli import console, main
from presman.cli.event_log import EventLog
from presman.cli.exit_codes import Failure

LOST = LogEvent("lost", "lost: ORA-12541 \x1b[2J", "warning", "prod")


@pytest.fixture
def log() -> Iterator[Callable[..., EventLog]]:
    """A function that opens logs, which are closed after the test."""
    made: list[EventLog] = []

    def make(*how: str | None) -> EventLog:
        made.append(EventLog(*how))  # type: ignore[arg-type]
        return made[-1]

    yield make
    console.log_to(None)
    for each in made:
        each.close()


def test_an_event_is_an_object_with_its_keys(
    log: Callable[..., EventLog], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    made = log("json", "info", str(path))
    assert made.write(LOST)
    assert made.write(LogEvent("polled", "poll 1 written", "debug"))
    assert not made.write(LogEvent("failed", "no room", "error", figures={"polls": 3}))
    first, second = [json.loads(line) for line in path.read_text().splitlines()]
    assert list(first) == ["time", "level", "database", "event", "message"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", first.pop("time"))
    assert first == {"level": "warning", "database": "prod", "event": "lost", "message": "lost: ORA-12541 ␛[2J"}
    assert (second["event"], second["polls"]) == ("failed", 3)
    assert path.stat().st_mode & 0o007 == 0
    assert capsys.readouterr().err == ""


def test_text_has_time_and_level_in_a_file_and_is_as_ever_without(
    log: Callable[..., EventLog], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    log("text", "info", str(path)).write(LOST)
    assert re.fullmatch(r"\S+Z warning prod: lost: ORA-12541 ␛\[2J\n", path.read_text())
    console.log_to(log("text", "warning", None))
    console.report(LOST)
    console.note("too little", "started")
    assert capsys.readouterr().err == "presman: prod: lost: ORA-12541 ␛[2J\n"


def test_a_moved_file_is_created_again(log: Callable[..., EventLog], tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    made = log("text", "info", str(path))
    made.write(LOST)
    path.rename(tmp_path / "a.log.1")
    made.write(LOST)
    assert len(path.read_text().splitlines()) == len((tmp_path / "a.log.1").read_text().splitlines()) == 1


def test_an_unwritable_log_is_reported_once(
    log: Callable[..., EventLog], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    made = log("text", "info", str(folder / "a.log"))
    (folder / "a.log").unlink()
    folder.rmdir()
    for _ in range(3):
        made.write(LOST)
    assert capsys.readouterr().err.count("cannot be written: No such file") == 1
    folder.mkdir()
    made.write(LOST)
    assert (folder / "a.log").read_text().count("lost") == 1
    with pytest.raises(Failure, match="cannot write"):
        EventLog("text", "info", str(tmp_path / "no" / "a.log"))


def test_the_errors_of_a_command_are_in_its_log(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.log"
    options = ["--log-format", "json", "--log-file", str(path)]
    assert main(["record", "nobody", "-o", str(tmp_path / "x.presman"), *options]) == 2
    (line,) = path.read_text().splitlines()
    assert (json.loads(line)["event"], json.loads(line)["level"]) == ("failed", "error")
    assert capsys.readouterr().err.startswith(
        "presman: no target 'nobody': neither a section of config.ini nor a file; `presman connect nobody`"
    )


def test_an_export_logs_each_poll_on_request(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    out = tmp_path / "a.csv"
    options = ["--log-format", "json", "--log-level", "debug"]
    assert main(["export", "demo:quiet", "--refresh", "0.5", "--polls", "1", "-o", str(out), *options]) == 0
    events = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [event["event"] for event in events] == ["polled", "ended"]
    assert (events[0]["poll"], events[0]["database"]) == (1, "demo:quiet")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_log_on_a_full_disk_is_reported_once_and_ends_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    log = EventLog("text", "info", "/dev/full")
    for _ in range(3):
        log.write(LOST)
    log.close()
    assert capsys.readouterr().err == "presman: the log /dev/full cannot be written: No space left on device\n"
