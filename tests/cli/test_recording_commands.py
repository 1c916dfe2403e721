"""Commands that read recordings, with unusable arguments: one line with the reason, and the documented exit code."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from unittest import mock

import pytest

from presman.recording.recording_source import RecordingSource
from presman.recording.store_errors import StoreLostError
from tests.cli.run import Run
from tests.recording.recorded import polled, record
from tests.recording.test_damage import with_blocks
from tests.scenarios import with_short_past


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("recorded_file") / "a.presman"
    record(path, list(polled("quiet", 4)))
    return path


@pytest.fixture
def recorded_file(whole: Path, tmp_path: Path) -> Path:
    shutil.copy(whole, tmp_path)
    (tmp_path / "b.presman").write_text("time,a\n")
    return tmp_path / whole.name


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("report", "a.presman", "--from", "last", "--to", "first", "-o", "-"), 2, "ends before it begins"),
        (("once", "a.presman", "--from", "last", "--to", "first"), 2, "ends before it begins"),
        (("report", "a.presman", "--at", "2020-01-01", "-o", "-"), 3, "has no polls at 2020-01-01 00:00:00: it is"),
        *(((*command, "--from", "2020-01-01", "--to", "2020-01-02"), 3, "has no polls from 2020-01-01 00:00:00 to ")
          for command in (("once", "a.presman"), ("watch", "a.presman"), ("replay", "a.presman"),
                          ("export", "a.presman", "-o", "-"), ("report", "a.presman", "-o", "-"),
                          ("bundle", "a.presman", "-o", "new.presman"), ("whatif", "a.presman", "--target", "9"))),
        (("compare", "a.presman@2020-01-01..2020-01-02", "a.presman"), 3, "has no polls from 2020-01-01 00:00:00 to "),
        (("replay", "a.presman", "--at", "1999-01-01 03:00"), 3, "has no polls up to 1999-01-01 03:00:00"),
        (("report", "a.presman", "-o", "."), 4, "cannot write .: Is a directory"),
        (("report", "b.presman", "-o", "-"), 3, "b.presman is not a recording of presman"),
        (("compare", "b.presman", "a.presman"), 3, "b.presman is not a recording of presman"),
        (("record", "a.presman", "-o", "a.presman"), 2, "a.presman is both read and written"),
        (("record", "a.presman", "-o", "."), 2, "is both read and written"),
        (("record", "demo:quiet", "--polls", "1", "-o", "x.csv"), 2, "a recording is no CSV, so not x.csv: "
         "-o x.presman; presman export writes CSV"),
        (("record", "demo:quiet", "--polls", "1", "-o", "o/x.JSON"), 2, "no JSON, so not o/x.JSON: -o o/x.presman"),
        (("chart", "a.presman"), 2, "a.presman is a recording: presman export a.presman -o FILE.csv"),
        (("replay", "c.db"), 2, "no such file or folder: c.db"),
    ],
)  # fmt: skip
def test_unusable_arguments_are_reported_in_one_line(
    arguments: tuple[str, ...], code: int, words: str, recorded_file: Path, inside: Run
) -> None:
    before = recorded_file.read_bytes()
    done = inside(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
    assert words in done.stderr
    assert recorded_file.read_bytes() == before


def test_a_recording_may_have_any_name_or_a_section(recorded_file: Path, inside: Run) -> None:
    other = recorded_file.rename(recorded_file.with_name("a.db"))
    (recorded_file.parent / "b.presman").unlink()
    Path("config.ini").write_text(
        f"[store]\nconnection_string = recording:{other}\n[demo1]\nconnection_string = demo:quiet\n"
    )
    for name in ("a.db", "store"):
        done = inside("--config", "config.ini", "replay", name, "--at", "last", "--polls", "1")
        assert (done.returncode, " poll 4, " in done.stdout) == (0, True), done.stderr
    refused = inside("--config", "config.ini", "replay", "demo1")
    assert (refused.returncode, "demo1 is not a recording: presman record demo1 -o x.presman" in refused.stderr) == (
        2,
        True,
    )
    assert "4 polls" in inside("report", "a.db", "-o", "-").stdout


@pytest.mark.parametrize(
    ("place", "first", "then", "why"),
    [
        ("x.presman", (), ("--redact",), "holds names that --redact leaves out"),
        ("x.presman", ("--redact",), ("--redact",), ""),
        ("days/", ("--redact",), (), "was written with --redact"),
        ("days/", (), (), ""),
    ],
)
def test_redacted_and_plain_polls_are_not_mixed_in_one_file(
    first: tuple[str, ...], then: tuple[str, ...], why: str, place: str, inside: Run
) -> None:
    words = ("record", f"demo:{with_short_past('quiet')}", "-o", place, "--polls", "1")
    assert inside(*words, *first).returncode == 0
    done = inside(*words, *then)
    assert (done.returncode, why in done.stderr) == (4 if why else 0, True), done.stderr


def test_a_second_database_in_a_file_is_announced_and_chosen_by_the_printed_name(whole: Path, inside: Run) -> None:
    shutil.copy(whole, "a.presman")
    words = ("record", f"demo:{with_short_past('quiet')}?seed=1&speed=20", "-o", "a.presman", "--polls", "1")
    notes = inside(*words).stderr.splitlines()
    assert "a.presman holds several databases from now on, choose one by 'a.presman?database=NAME': " in notes[1]
    again = inside(*words)
    assert (again.returncode, "several" in again.stderr) == (0, False), "it is no news"
    refused = inside("once", "a.presman").stderr
    names = notes[1].partition("NAME': ")[2].split(", ")
    assert refused.endswith(f"choose one by ?database=NAME: {', '.join(names)}\n")
    assert [name for name in names if "%26" in name]
    for name in names:
        assert inside("once", f"a.presman?database={name}").returncode == 0


@pytest.fixture(scope="module")
def queue_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("queue_file") / "q.presman"
    record(path, list(polled("storm", 4)))
    return path


def test_goals_of_config_ini_are_judged_over_a_recording(queue_file: Path, inside: Run) -> None:
    shutil.copy(queue_file, "q.presman")
    goals = "goal = 95 % of BATCH start within 1 min\n    NOBODY p50 <= 5 min"
    Path("config.ini").write_text(f"[presman]\n{goals}\n[live]\nconnection_string = demo:{with_short_past('quiet')}\n")
    once = inside("--config", "config.ini", "once", "q.presman", "--format", "json").stdout
    late, none = json.loads(once)["goals"]
    good, bad = late["good"], late["bad"]
    assert (late["group"], late["state"], none["good"], none["bad"]) == ("BATCH", "missed", 0, 0)
    assert bad > 0
    verdict = f"BATCH: {100 * good / (good + bad):.0f} % started within 1:00, 95 % wanted"
    text = inside("--config", "config.ini", "once", "q.presman").stdout
    assert f"Goal missed: {verdict}" in text
    assert "Goals of NOBODY: there is no group NOBODY." in text
    checked = inside("--config", "config.ini", "check", "q.presman", "--at", "last", "-v").stdout
    assert f"goal_missed: Goal missed: {verdict}" in checked
    report = inside("--config", "config.ini", "report", "q.presman", "-o", "-").stdout
    assert f"Goal: 95 % of BATCH start within 1 min: missed, {good} of {good + bad} did" in report
    assert "Goal: 50 % of NOBODY start within 5 min: no statement was seen." in report
    compared = inside("--config", "config.ini", "compare", "q.presman", "q.presman@last..last").stdout
    assert compared.replace("\n     ", "").count("- goal 95 % of BATCH start within 1 min: missed, 0 of ") == 2
    live = inside("--config", "config.ini", "once", "live", "--interval", "0.5").stdout
    assert "Not known: goal_missed: one reading cannot judge goals of service" in live
    assert "not known: goal_missed: one reading" in inside("--config", "config.ini", "check", "live", "-v").stdout
    listed = inside("--config", "config.ini", "alerts", "live").stdout
    assert re.search(r"^unknown +goal_missed", listed, re.MULTILINE)


def test_a_check_of_an_old_poll_is_unknown_unless_it_asks_for_a_time(queue_file: Path, inside: Run) -> None:
    shutil.copy(queue_file, "q.presman")
    why = ""
    for polled_ago, link in ((0, "live"), (12, "live"), (90, "live"), (12, "stopped")):
        with closing(sqlite3.connect("q.presman")) as file, file:
            now = int(time.time() * 1e6)
            file.execute(
                "UPDATE fleet SET link = ?, polled_at = ?, every_us = 5e6", (link, now - polled_ago * 1_000_000)
            )
        done = inside("check", "q.presman")
        found = re.search(r"its newest poll is (\d:\d\d) old(.*) \(--at last checks it, as of ", done.stdout)
        assert (done.returncode == 3, found is None) == (polled_ago > 0, polled_ago == 0), done.stdout
        if found is not None:
            minutes, seconds = map(int, found[1].split(":"))  # a busy machine takes seconds to answer
            assert polled_ago <= 60 * minutes + seconds <= polled_ago + time.time() - now / 1e6 + 1
            why = found[2]
    assert why == "; its recorder was stopped"
    past = inside("check", "q.presman", "--at", "last")
    assert (past.returncode, " as of 20" in past.stdout) == (2, True), past.stdout
    assert " as of 20" in inside("alerts", "q.presman").stdout.splitlines()[0]
    assert inside("why", "q.presman", "1").stdout.splitlines()[-1].startswith("  as of 20")


def test_an_invalid_goal_is_reported_with_its_line(inside: Run) -> None:
    Path("config.ini").write_text("[a]\nconnection_string = demo:storm\ngoal = soon\n")
    done = inside("--config", "config.ini", "once", "a")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "config.ini, line 3: [a] goal: 'soon' is not a goal such as" in done.stderr


def test_damage_is_reported_once_even_if_the_recording_is_read_twice(
    queue_file: Path, tmp_path: Path, inside: Run
) -> None:
    path = Path(shutil.copy(queue_file, tmp_path / "damaged.presman"))
    with_blocks(path, 50, b"")
    for words in (("once", path.name), ("check", path.name), ("alerts", path.name)):
        done = inside(*words)
        assert done.stderr.count("50 polls in 50 blocks") == done.stderr.count("\n") == 1, done.stderr


def test_the_reason_for_an_empty_bundle_is_in_the_same_line(recorded_file: Path, tmp_path: Path, inside: Run) -> None:
    with_blocks(recorded_file, 50, b"")
    done = inside("bundle", recorded_file.name, "--minutes", "0.0000001", "-o", "c.presman")
    assert (done.returncode, done.stderr.count("\n"), (tmp_path / "c.presman").exists()) == (3, 1, False), done.stderr
    assert re.search(r"a.presman has nothing to bundle; \d+ polls in \d+ blocks .* are damaged", done.stderr)


def test_a_recording_that_takes_too_long_is_a_source_that_gives_no_answer(
    recorded_file: Path, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reading_on(source: RecordingSource) -> None:
        while True:
            source.playback._parts[0][0].check_wanted()
            time.sleep(0.01)

    monkeypatch.setattr(RecordingSource, "snapshot", reading_on)
    done = inside("once", recorded_file.name, "--timeout", "0.2", "--interval", "0.1")
    assert (done.returncode, done.stderr) == (3, "presman: recording:a.presman: no answer within 0.2 s\n")


def test_a_recording_lost_while_it_is_read_is_reported(
    recorded_file: Path, inside: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = StoreLostError("a.presman: its disk cannot be written or read")
    monkeypatch.setattr(RecordingSource, "snapshot", mock.Mock(side_effect=lost))
    done = inside("export", recorded_file.name)
    assert (done.returncode, done.stderr) == (3, f"presman: {lost}\n")
