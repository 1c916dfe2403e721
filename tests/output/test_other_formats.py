"""JSON lines and Parquet have the rows of CSV, with types."""

from __future__ import annotations

import csv
import json
from contextlib import closing
from datetime import datetime
from errno import ENOSPC
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet
import pytest

from presman.analysis.readings.reading import Reading
from presman.figures.measures import MEASURES
from presman.output.csv_export import CsvExport
from presman.output.csv_file import OutputError
from presman.output.parquet_export import ParquetExport
from tests.cli.run import Run
from tests.recording.recorded import polled


@cache
def polls() -> list[Reading]:
    """Return readings in which statements queue and some are over: every measure has rows."""
    return [reading for _, reading in polled("storm", 4)][1:]


def written(file: CsvExport | ParquetExport) -> None:
    for reading in polls():
        file.write(reading)
    file.close()


def cell(value: Any) -> str:
    """Return the CSV text of a value of JSON or Parquet."""
    if isinstance(value, datetime):
        return value.astimezone().isoformat(timespec="milliseconds")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "0" if value == 0 else f"{value:.6f}".rstrip("0").rstrip(".")
    return "" if value is None else str(value)


@pytest.mark.parametrize("measure", MEASURES)
def test_each_measure_has_the_rows_of_csv(measure: str, tmp_path: Path) -> None:
    written(CsvExport(tmp_path / "a.csv", measure))
    written(CsvExport(tmp_path / "a.jsonl", measure, as_json=True))
    written(ParquetExport(tmp_path / "a.parquet", measure))
    with (tmp_path / "a.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    table = pyarrow.parquet.read_table(tmp_path / "a.parquet").to_pylist()
    for found in (lines, table):
        assert [{key: cell(value) for key, value in line.items()} for line in found] == [
            {key: value.removeprefix("'") for key, value in row.items()} for row in rows
        ]
    assert all(isinstance(line["time"], datetime) for line in table)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "a.jsonl", "a.parquet"]


def test_a_json_lines_file_with_the_same_names_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    for _ in range(2):
        written(CsvExport(path, "cpu", as_json=True))
    assert len(path.read_text().splitlines()) == 2 * sum(len(MEASURES["cpu"].tidy(each)) for each in polls())
    for other in ('{"a": 1}\n', "time,database\n", "[" * 100_000):
        path.write_text(other)
        with pytest.raises(OutputError, match="other columns"):
            CsvExport(path, "cpu", as_json=True)
        assert path.read_text() == other


def test_a_parquet_file_is_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.parquet"
    file = ParquetExport(path, "cpu")
    file.write(polls()[0])
    assert not path.exists()
    file.close()
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputError, match="exists, and a Parquet"):
        ParquetExport(path, "cpu")
    with pytest.raises(OutputError, match="No such file or directory"):
        ParquetExport(tmp_path / "no" / "a.parquet", "cpu")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(OutputError, match=r"pip install 'presman\[parquet\]'"):
        ParquetExport(tmp_path / "b.parquet", "cpu")


def test_a_parquet_file_is_renamed_only_after_closing(tmp_path: Path) -> None:
    """What is left in memory is written when it is closed: a disk may be full then."""
    file = ParquetExport(tmp_path / "a.parquet", "cpu")
    file.write(polls()[0])
    full = mock.Mock(close=mock.Mock(side_effect=[OSError(ENOSPC, "No space left on device"), None]))
    refused = pytest.raises(OutputError, match="No space left on device")
    with closing(file._file), mock.patch.object(file, "_file", full), refused:
        file.close()
    assert list(tmp_path.iterdir()) == []


def test_the_command(inside: Run) -> None:
    done = inside("export", "demo:quiet", "--polls", "1", "--refresh", "1", "--format", "jsonl")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[0])["database"] == "QUIET"
    for options, message in (
        (("--format", "parquet"), "goes into a file"),
        (("--format", "jsonl", "--layout", "wide"), "goes with --layout tidy"),
    ):
        done = inside("export", "demo:quiet", *options)
        assert (done.returncode, message in done.stderr) == (2, True)
