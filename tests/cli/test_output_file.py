"""Files that commands write with -o: what is something else is not replaced, and neither is what they read."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.cli.exit_codes import Failure
from presman.cli.output_file import ADVICE, JSON, PAGE, PICTURE, PNG, WAITS, output_path
from tests.cli.run import DATA, Run
from tests.recording.recorded import polled, record

TRACE = str(next(DATA.parent.rglob("*.trc")))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 4)))
    (tmp_path / "other.presman").write_bytes(path.read_bytes())
    (tmp_path / "a.csv").write_text("time,consumer_group\nx,BATCH\n")
    return path


@pytest.mark.parametrize(
    ("arguments", "output", "code", "words"),
    [
        (("report", "a.presman"), "a.presman", 2, "a.presman is both read and written"),
        (("report", "a.presman"), "other.presman", 4, "other.presman exists and is not an HTML page"),
        (("report", "a.presman"), "a.csv", 4, "a.csv exists and is not an HTML page"),
        (("advise", "a.csv", "--goal", "BATCH p95 <= 30s"), "a.csv", 2, "a.csv is both read and written"),
        (("advise", "a.presman", "--goal", "BATCH p95 <= 30s"), "a.csv", 4, "a.csv exists and is not an advice"),
        (("advise", "a.csv", "--goal", "BATCH p95 <= 30s", "--format", "json"), "a.presman", 4, "is not JSON"),
    ],
)
def test_a_file_that_is_something_else_is_not_replaced(
    arguments: tuple[str, ...], output: str, code: int, words: str, recorded: Path, inside: Run
) -> None:
    before = recorded.with_name(output).read_bytes()
    done = inside(*arguments, "-o", output)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
    assert words in done.stderr
    assert recorded.with_name(output).read_bytes() == before


def test_a_page_is_replaced_by_another_page(recorded: Path, inside: Run) -> None:
    for _ in range(2):
        assert inside("report", recorded.name, "-o", "a.html").returncode == 0


def test_waits_are_replaced_by_waits_and_by_nothing_else(recorded: Path, inside: Run) -> None:
    for _ in range(2):
        assert inside("trace", "--all", TRACE, "--csv", "waits.csv", "--image", "waits.svg").returncode == 0
    for option, name in (("--csv", "a.csv"), ("--csv", "waits.svg"), ("--csv", recorded.name)):
        assert inside("trace", "--all", TRACE, option, name).returncode == 4
    (recorded.with_name("text.svg")).write_text("not a picture")
    assert inside("trace", "--all", TRACE, "--image", "text.svg").returncode == 4
    assert inside("chart", "waits.csv", "-o", "text.svg").returncode == 4


@pytest.mark.parametrize("kind", [PAGE, PICTURE, PNG, JSON, WAITS, ADVICE])
def test_an_empty_file_and_a_device_are_written(kind: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert output_path(str(tmp_path / "empty"), kind) == tmp_path / "empty"
    assert output_path("/dev/null", kind) == Path("/dev/null")
    (tmp_path / "notes").write_text("notes\n")
    with pytest.raises(Failure, match=f"is not {kind}"):
        output_path(str(tmp_path / "notes"), kind)
