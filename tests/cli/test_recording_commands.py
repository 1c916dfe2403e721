"""Commands that read recordings, given what they cannot use: one line that says why, and the documented exit code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.run import Run
from tests.recording.recorded import polled, record
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
        (("report", "a.presman", "--at", "2020-01-01", "-o", "-"), 2, "--at 2020-01-01 is not in recording:a.presman"),
        (("report", "a.presman", "-o", "."), 4, "cannot write .: Is a directory"),
        (("report", "b.presman", "-o", "-"), 3, "b.presman is not a recording of presman"),
        (("compare", "b.presman", "a.presman"), 3, "b.presman is not a recording of presman"),
        (("record", "a.presman", "-o", "a.presman"), 2, "a.presman is both read and written"),
        (("record", "a.presman", "-o", "."), 2, "is both read and written"),
        (("chart", "a.presman"), 2, "a.presman is a recording: presman export a.presman -o FILE.csv"),
        (("replay", "c.db"), 2, "no such file or folder: c.db"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told_in_one_line(
    arguments: tuple[str, ...], code: int, words: str, recorded_file: Path, inside: Run
) -> None:
    before = recorded_file.read_bytes()
    done = inside(*arguments)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
    assert words in done.stderr
    assert recorded_file.read_bytes() == before


def test_a_recording_may_have_any_name_and_a_section_may_lead_to_it(recorded_file: Path, inside: Run) -> None:
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
    ("first", "then", "why"),
    [
        ((), ("--redact",), "holds names that --redact leaves out"),
        (("--redact",), (), "was written with --redact"),
        ((), (), ""),
        (("--redact",), ("--redact",), ""),
    ],
)
@pytest.mark.parametrize("place", ["x.presman", "days/"])
def test_names_and_what_is_without_them_are_not_in_one_file(
    first: tuple[str, ...], then: tuple[str, ...], why: str, place: str, inside: Run
) -> None:
    words = ("record", f"demo:{with_short_past('quiet')}", "-o", place, "--polls", "1")
    assert inside(*words, *first).returncode == 0
    done = inside(*words, *then)
    assert (done.returncode, why in done.stderr) == (4 if why else 0, True), done.stderr
