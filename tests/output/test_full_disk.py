"""A full disk: failed writes leave no empty file behind, unless the file existed before."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from presman.output.csv_export import WideCsv
from presman.output.csv_file import CsvFile, OutputError
from presman.recording.store import Store
from presman.recording.store_errors import RecordingError
from tests.cli.run import Run, command, environment
from tests.recording.recorded import polled, record


@contextmanager
def room(size: int) -> Iterator[None]:
    """No file of this process grows beyond so many bytes."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("header", ["time\n", ""])
@pytest.mark.parametrize("there", [True, False])
def test_a_csv_file_that_was_never_written_is_gone(tmp_path: Path, header: str, *, there: bool) -> None:
    path = tmp_path / "a.csv"
    if there:
        path.touch()
    with room(0), pytest.raises(OutputError), closing(CsvFile(path, header)) as file:
        file.write("1\n")
    assert path.exists() is there


def test_a_csv_file_keeps_its_earlier_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    with room(8):
        file = CsvFile(path, "time\n")
        with pytest.raises(OutputError):
            file.write("123456\n")
        file.close()
    assert path.read_text() == "time\n"


def test_a_wide_file_is_created_with_its_first_line(tmp_path: Path) -> None:
    file = WideCsv(tmp_path / "a.csv")
    with room(0), pytest.raises(OutputError):
        file.write("2026", {"BATCH": 1})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("size", [0, 50_000])
def test_a_recording_without_tables_is_gone(tmp_path: Path, size: int) -> None:
    with room(size), pytest.raises(RecordingError):
        Store(str(tmp_path / "a.presman"), writing=True)
    assert not list(tmp_path.iterdir())


def test_a_bundle_is_whole_or_not_there(tmp_path: Path, inside: Run) -> None:
    record(tmp_path / "a.presman", list(polled("queueing", 2)))
    with room(400_000):
        done = inside("bundle", str(tmp_path / "a.presman"), "-o", str(tmp_path / "b.presman"))
    assert (done.returncode, done.stderr.count("\n")) == (4, 1)
    assert not list(tmp_path.glob("b.*"))


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_partial_write_to_standard_output_is_an_error(tmp_path: Path, unbuffered: str) -> None:
    with (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            command("alerts", "--help"), stdout=out, stderr=subprocess.PIPE,
            env=environment(PYTHONUNBUFFERED=unbuffered, PYTHONDONTWRITEBYTECODE="1"), text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64)),
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (4, "presman: cannot write standard output: File too large\n")
