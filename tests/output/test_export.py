from __future__ import annotations

import csv
import io
import os
from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.readings.reading import LateView
from presman.figures.measures import MEASURES
from presman.output.csv_export import CsvExport, Layout, WideCsv
from presman.output.csv_file import CsvFile, OutputError
from tests.output.readings import AT, group, on_two_instances, queued, reading, with_groups


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, strict=True))


def exported(tmp_path: Path, measure: str, *readings: object, layout: str = "tidy") -> list[dict[str, str]]:
    path = tmp_path / f"{measure}.csv"
    export = CsvExport(path, measure, layout)  # type: ignore[arg-type]
    for item in readings:
        export.write(item)  # type: ignore[arg-type]
    export.close()
    return rows_of(path)


@pytest.mark.parametrize("measure", MEASURES)
def test_every_measure_has_a_line_per_item_with_all_columns(tmp_path: Path, measure: str) -> None:
    rows = exported(tmp_path, measure, reading(number=1), reading(number=2))
    expected = {"queue": 1, "sessions": 1, "latency": 2}.get(measure, 2)
    # An arrival gets its line when it is over, or at the end: one is queued and one runs.
    assert len(rows) == (2 if measure == "arrivals" else 2 * expected)
    assert all(list(row) == MEASURES[measure].header() for row in rows)
    polls = {datetime.fromisoformat(row["time"]) for row in rows}
    assert polls == {reading(number=n).at for n in ((2,) if measure == "arrivals" else (1, 2))}


def test_cpu_figures_are_the_readings(tmp_path: Path) -> None:
    row = exported(tmp_path, "cpu", reading([group("BATCH")]))[0]
    assert (row["consumer_group"], row["inst_id"], row["verdict"]) == ("BATCH", "1", "contended")
    assert (row["used_cpus"], row["waited_cpus"], row["used_percent"], row["throttled_percent"]) == (
        "2.5",
        "1.5",
        "15.625",
        "37.5",
    )


def test_without_a_delta_rates_are_empty_not_zero(tmp_path: Path) -> None:
    row = exported(tmp_path, "session_io", reading([group("BATCH", used=None)]))[0]
    assert row["io_mb_per_s"] == row["service_ms"] == ""


def test_instances_are_separate_and_not_counted_twice(tmp_path: Path) -> None:
    rows = exported(tmp_path, "cpu", on_two_instances())
    assert [(row["consumer_group"], row["inst_id"], row["used_cpus"]) for row in rows] == [
        ("BATCH", "1", "1"),
        ("BATCH", "2", "2"),
        ("OLTP", "1", "3"),
        ("OLTP", "2", "4"),
    ]


def test_hostile_text_is_quoted_for_spreadsheets(tmp_path: Path) -> None:
    item = queued(sql_text='=cmd|"/c calc", 1', program="-x")
    row = exported(tmp_path, "queue", reading(queue=[item]))[0]
    assert row["sql_text"] == '\'=cmd|"/c calc", 1'
    assert row["program"] == "'-x"


def test_wide_has_a_column_per_group(tmp_path: Path) -> None:
    rows = exported(tmp_path, "cpu", reading(number=1), reading(number=2), layout="wide")
    assert list(rows[0]) == ["DATETIME", "BATCH", "OLTP"]
    assert [(row["BATCH"], row["OLTP"]) for row in rows] == [("2.5", "0.1")] * 2


def test_wide_files_separate_instances_and_containers(tmp_path: Path) -> None:
    assert list(exported(tmp_path, "cpu", on_two_instances(), layout="wide")[0]) == [
        "DATETIME", "BATCH@1", "BATCH@2", "OLTP@1", "OLTP@2",
    ]  # fmt: skip
    containers = reading([group("G", con_id=3), group("G", con_id=4), group("H", con_id=3)])
    assert list(exported(tmp_path, "parallel", containers, layout="wide")[0]) == ["DATETIME", "G#3", "G#4", "H"]


def test_wide_takes_another_figure(tmp_path: Path) -> None:
    export = CsvExport(tmp_path / "w.csv", "cpu", "wide", column="throttled_percent")
    export.write(reading())
    export.close()
    assert rows_of(tmp_path / "w.csv")[0]["BATCH"] == "37.5"
    with pytest.raises(KeyError):
        CsvExport(tmp_path / "x.csv", "cpu", "wide", column="nope")


@pytest.mark.parametrize(("measure", "value"), [("queue", "1"), ("latency", "1.25"), ("emphasis", "0.25")])
def test_wide_value_of_other_measures(tmp_path: Path, measure: str, value: str) -> None:
    assert list(exported(tmp_path, measure, reading(), layout="wide")[0].values())[1] == value


def test_a_group_that_appears_opens_the_next_part(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    export = CsvExport(path, "cpu", "wide")
    export.write(with_groups("A"))
    export.write(with_groups("A", "B"))
    export.write(with_groups("B"))
    assert export.name == str(tmp_path / "cpu-2.csv")
    export.close()
    assert [list(row) for row in rows_of(path)] == [["DATETIME", "A"]]
    assert [(row["A"], row["B"]) for row in rows_of(tmp_path / "cpu-2.csv")] == [("2.5", "2.5"), ("", "2.5")]


def test_a_stream_keeps_its_columns_and_notes_omitted_groups_once() -> None:
    stream, notes = io.StringIO(), list[str]()
    wide = WideCsv(stream, note=notes.append)
    for values in ({"A": 1}, {"A": 2, "B": 3}, {"B": 4}):
        wide.write(AT, values)
    assert [line.split(",", 1)[1] for line in stream.getvalue().splitlines()] == ["A", "1", "2", ""]
    assert len({line.count(",") for line in stream.getvalue().splitlines()}) == 1
    (once,) = notes
    assert once.startswith("B: new since the output began, so without a column")


def test_a_file_with_the_same_columns_is_continued(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        exported(tmp_path, "cpu", reading(number=number))
    rows = rows_of(tmp_path / "cpu.csv")
    assert len({row["time"] for row in rows}) == 3
    assert len(rows) == 6


def test_a_file_with_other_columns_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("precious\n1\n", encoding="utf-8")
    with pytest.raises(OutputError, match=r"mine\.csv has other columns"):
        CsvExport(path, "cpu")
    assert path.read_text(encoding="utf-8") == "precious\n1\n"


@pytest.mark.parametrize("tail", ["", "x"])
def test_a_longer_header_is_another_header(tmp_path: Path, tail: str) -> None:
    path = tmp_path / "cpu.csv"
    path.write_text(",".join([*MEASURES["cpu"].header(), tail]) + "\n", encoding="utf-8")
    with pytest.raises(OutputError):
        CsvExport(path, "cpu")


def test_a_torn_last_line_is_cut_before_continuing(tmp_path: Path) -> None:
    exported(tmp_path, "cpu", reading(number=1))
    path = tmp_path / "cpu.csv"
    whole = path.read_bytes()
    path.write_bytes(whole + b"2026-03-01T22:1")
    exported(tmp_path, "cpu", reading(number=2))
    assert path.read_bytes().startswith(whole)
    assert len(rows_of(path)) == 4


def test_every_write_is_in_the_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    export = CsvExport(path, "cpu", durable=True)
    assert path.read_text(encoding="utf-8").count("\n") == 1
    export.write(reading())
    assert path.read_text(encoding="utf-8").count("\n") == 3
    export.close()
    export.close()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_reported_at_once() -> None:
    with pytest.raises(OutputError, match=r"cannot write /dev/full: No space left"):
        CsvExport(Path("/dev/full"), "cpu")


def test_a_disk_that_fills_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "cpu.csv"
    export = CsvExport(path, "cpu")
    export.write(reading(number=1))
    before = path.read_bytes()
    real, calls = os.write, []

    def full(fd: int, data: bytes) -> int:
        calls.append(fd)
        if len(calls) > 1:
            raise OSError(28, "No space left on device")
        return real(fd, data[:7])

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OutputError, match="No space left"):
        export.write(reading(number=2))
    monkeypatch.undo()
    assert path.read_bytes() == before
    export.write(reading(number=3))
    export.close()
    assert len(rows_of(path)) == 4


@pytest.mark.parametrize("layout", ["tidy", "wide"])
def test_a_folder_and_a_missing_folder_are_refused_at_once(tmp_path: Path, layout: Layout) -> None:
    with pytest.raises(OutputError, match="Is a directory"):
        CsvExport(tmp_path, "cpu", layout)
    with pytest.raises(OutputError, match="No such file or directory"):
        CsvExport(tmp_path / "no" / "x.csv", "cpu", layout)


def test_a_wide_file_of_other_groups_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.csv"
    path.write_text("DATETIME,A\n2026-01-01,1\n", encoding="utf-8")
    export = CsvExport(path, "cpu", "wide")
    with pytest.raises(OutputError, match="other columns"):
        export.write(with_groups("A", "B"))
    assert path.read_text(encoding="utf-8") == "DATETIME,A\n2026-01-01,1\n"


def test_unknown_measure() -> None:
    with pytest.raises(KeyError):
        CsvExport(io.StringIO(), "cpuu")


def test_closing_twice_closes_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[int] = []
    file = CsvFile(tmp_path / "x.csv", "a,b\n")
    monkeypatch.setattr("presman.output.csv_file.os.close", closed.append)
    file.close()
    file.close()
    assert len(closed) == 1, "another file may have the number by then"
    os.close(closed[0])


def test_rows_older_than_their_time_are_not_written(tmp_path: Path) -> None:
    file = CsvExport(tmp_path / "queue.csv", "queue")
    plain = reading()
    written = file.write(plain)
    assert written > 0
    assert file.write(replace(plain, late=(LateView("GV$SESSION", 12.0),))) == 0
    assert file.write(replace(plain, late=(LateView("GV$OSSTAT", 12.0),))) == written, "which has no part in it"
    assert file.write(replace(plain, late=(LateView("GV$SESSION", None),))) == written, "no old values are known"
    file.close()
