"""Files that presman writes: one writer at a time, private, and never through a link."""

from __future__ import annotations

import csv
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from presman.base import private_files
from presman.base.private_files import open_private, state_folder
from presman.base.text import safe
from presman.output.csv_export import CsvExport
from presman.output.csv_file import POLL_INTERVAL, CsvFile, OutputError
from tests.output.readings import reading
from tests.patience import until


def test_a_second_exporter_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    first = CsvExport(path, "cpu")
    with pytest.raises(OutputError, match=r"cpu\.csv is being written by another presman: choose another file"):
        CsvExport(path, "cpu")
    first.write(reading())
    first.close()
    second = CsvExport(path, "cpu")
    second.write(reading())
    second.close()
    lines = path.read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("time,")] == lines[:1]


def test_exporters_that_begin_at_once_write_one_header(tmp_path: Path) -> None:
    refused: list[str] = []
    made: list[CsvFile] = []
    at_once = threading.Barrier(8)

    def begin() -> None:
        at_once.wait()
        try:
            made.append(CsvFile(tmp_path / "x.csv", "a,b\n"))
        except OutputError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=begin) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(made), len(refused)) == (1, 7)
    made[0].close()
    assert (tmp_path / "x.csv").read_text() == "a,b\n"


def test_a_new_file_is_private_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    old = tmp_path / "old.csv"
    old.touch()
    old.chmod(0o664)
    for name, layout, mode in (("new.csv", "tidy", 0o600), ("wide.csv", "wide", 0o600), ("old.csv", "tidy", 0o664)):
        file = CsvExport(tmp_path / name, "cpu", layout)  # type: ignore[arg-type]
        file.write(reading())
        file.close()
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == mode, name


def test_a_pipe_without_a_reader_is_noted_and_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    notes: list[str] = []
    made: list[CsvFile] = []
    thread = threading.Thread(target=lambda: made.append(CsvFile(path, "a,b\n", note=notes.append)))
    thread.start()
    until(lambda: notes, "the note that nobody reads")
    time.sleep(3 * POLL_INTERVAL)
    with path.open() as pipe:
        thread.join(60)
        assert pipe.readline() == "a,b\n"
        made[0].write("1,2\n")
        made[0].close()
        assert pipe.read() == "1,2\n"
    assert notes == [f"{path} is a pipe with no reader: waiting for one"]


HOSTILE = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    "＝1+1",
    "a;=1+1",
    "a; =1+1",
    'a;"=1+1',
    "a;'=1",
    ";;=1",
    "a;-2+3+cmd|' /C calc'!A0",
    'x;""+1',
]


@pytest.mark.parametrize("text", HOSTILE)
def test_no_cell_begins_a_formula_wherever_the_line_is_split(text: str) -> None:
    cell = safe(text)
    line = f'2026,"{cell.replace(chr(34), chr(34) * 2)}",5'
    for delimiter in ",;":
        for field in next(csv.reader([line], delimiter=delimiter)):
            assert field.lstrip(' "')[:1] not in set("=+-@＝＋－＠"), field


@pytest.mark.parametrize("text", ["", "a - b", "a=b", "x;y", "; ", "select 1; select 2", "5;6"])
def test_plain_cells_stay(text: str) -> None:
    assert safe(text) == text


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("mine")
    state_folder().mkdir(parents=True, exist_ok=True)
    for name in ("copied.txt", "crash.log"):
        link = state_folder() / name
        link.unlink(missing_ok=True)
        link.symlink_to(target)
    with pytest.raises(OSError, match="it is a link"):
        private_files.keep_file("copied.txt", "secret")
    assert private_files.keep_crash(ValueError("x")) is None
    assert target.read_text() == "mine"
    for name in ("copied.txt", "crash.log"):
        (state_folder() / name).unlink()


def test_files_of_other_kinds_and_users_are_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError):  # noqa: PT011 - nobody reads it, or it is not a file
        open_private(tmp_path / "pipe", os.O_TRUNC)
    (tmp_path / "one").write_text("mine")
    (tmp_path / "two").hardlink_to(tmp_path / "one")
    with pytest.raises(OSError, match="second hard link"):
        open_private(tmp_path / "two", os.O_TRUNC)
    assert (tmp_path / "one").read_text() == "mine"
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    with pytest.raises(OSError, match="another user"):
        open_private(tmp_path / "new", os.O_TRUNC)
    assert not (tmp_path / "new").exists()


def test_an_existing_file_is_made_private(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("before")
    (tmp_path / "log").chmod(0o644)
    os.close(open_private(tmp_path / "log", os.O_TRUNC))
    assert (tmp_path / "log").read_text() == ""
    assert stat.S_IMODE((tmp_path / "log").stat().st_mode) == 0o600
