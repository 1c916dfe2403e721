"""Charts of CSV files: what is recognised, what is refused and at which line, and that no peak is lost."""

from __future__ import annotations

import io
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from defusedxml.ElementTree import fromstring

from presman.chart.csv_series import ChartError, read_series
from presman.chart.series_chart import chart_svg, chart_text
from presman.chart.thinning import largest, segments, thinned
from presman.figures.measures import MEASURES
from presman.output.csv_export import CsvExport
from tests.cli.run import Run, presman
from tests.recording.taped import polled

WIDE = "DATETIME,BATCH,ETL\n2026-11-22T12:00:00+00:00,24.14,0\n2026-11-22T12:00:02+00:00,,1.5\n"
AT = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


def written(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wide_file_as_1_x_wrote_it(tmp_path: Path) -> None:
    (panel,) = read_series(written(tmp_path, WIDE)).panels
    assert panel.series == {"BATCH": [(AT, 24.14)], "ETL": [(AT, 0.0), (AT + 2, 1.5)]}  # an empty cell is not zero
    (panel,) = read_series(written(tmp_path, WIDE), ["ETL"]).panels
    assert list(panel.series) == ["ETL"]


def test_a_stream_takes_a_new_header_for_a_new_group(tmp_path: Path) -> None:
    text = WIDE + "DATETIME,BATCH,ETL,NEW\n2026-11-22T12:00:04+00:00,1,2,3\n"
    (panel,) = read_series(written(tmp_path, text)).panels
    assert panel.series["NEW"] == [(AT + 4, 3.0)]
    assert panel.series["ETL"][-1] == (AT + 4, 2.0)


@pytest.mark.parametrize("measure", sorted(MEASURES))
def test_every_measure_is_recognised(measure: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    export = CsvExport(path, measure)
    for _, reading in polled("queueing", 8):
        export.write(reading)
    export.close()
    (panel,) = read_series(path).panels
    assert panel.title.startswith(f"{measure}: ")
    assert any(panel.series.values())


def test_figures_are_those_of_the_file_and_buckets_are_added_up(tmp_path: Path) -> None:
    text = io.StringIO()
    export = CsvExport(text, "latency")
    readings = [reading for _, reading in polled("queueing", 3)]
    for reading in readings:
        export.write(reading)
    (panel,) = read_series(written(tmp_path, text.getvalue())).panels
    found = next(each for each in readings[-1].histograms if any(bucket.delta for bucket in each.buckets))
    total = sum(bucket.delta or 0 for bucket in found.buckets)
    assert panel.series[found.event][-1] == (readings[-1].at.timestamp(), total)


TIDY = "time,database,interval_s,inst_id,con_id,consumer_group,used_cpus,throttled_percent\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "line 1: no export of presman: it begins with 'a,b'"),
        ("DATETIME,A,A\n", "line 1: a column is named twice"),
        (WIDE + "yesterday,1,2\n", "line 4: 'yesterday' is no time"),
        (WIDE + "0001-01-01T00:00:00+00:00,1,2\n", "line 4: '0001-01-01T00:00:00+00:00' is no time"),
        (WIDE + "2026-11-22T12:00:04+00:00,1e400,2\n", "line 4: '1e400' is no number, under BATCH"),
        (WIDE + "2026-11-22T12:00:04+00:00,nan,2\n", "line 4: 'nan' is no number"),
        (WIDE + "2026-11-22T12:00:04+00:00,\x1b[31mred,2\n", "line 4: '␛[31mred' is no number"),
        (WIDE + TIDY + "2026-11-22T12:00:04+00:00,D,5,1,0,ETL,1,2\n", "line 4: it has 8 cells, the header 3"),
        (TIDY + TIDY.replace("used_cpus", "entitled_cpus"), "line 2: another header"),
        (TIDY + "2026-11-22T12:00:04+00:00,D,5,1,0,ETL,,\n", "no value to draw in used_cpus"),
        (WIDE + '2026-11-22T12:00:04+00:00,"1,2\n', "line 4: unexpected end of data"),
    ],
)  # fmt: skip
def test_what_cannot_be_drawn_is_told_by_its_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ChartError) as error:
        read_series(written(tmp_path, text))
    assert words in str(error.value)
    assert "\x1b" not in str(error.value)


def test_a_last_line_that_is_cut_short_is_left_out_and_told(tmp_path: Path) -> None:
    found = read_series(written(tmp_path, WIDE + "2026-11-22T12:00:0"))
    assert len(found.panels[0].series["ETL"]) == 2
    assert "line 4" in found.notes[0]


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b'DATETIME,"<script>&",\x1b]0;x\x07,\xff\xfe\n2026-11-22T12:00:00+00:00,1,2,3\n')
    (panel,) = read_series(path).panels
    picture = chart_svg([panel])
    fromstring(picture)
    assert "<script>" not in picture
    assert "\x1b" not in picture + chart_text(panel, width=80, height=20, colour=False)


def test_peaks_stay_and_gaps_are_no_lines() -> None:
    points = [(float(at), 1.0) for at in range(1000)]
    points[517] = (517.0, 99.0)
    few = thinned(points, 0.0, 999.0, 10)
    assert (517.0, 99.0) in few
    assert len(few) <= 20
    assert few == sorted(few)
    assert [len(piece) for piece in segments([(0, 1), (5, 1), (10, 1), (60, 1), (65, 1)])] == [3, 2]
    assert segments([]) == []
    assert largest({"a": [(0, 1.0)], "b": [(0, 5.0)], "c": []}) == ["b", "a"]


def test_fifty_thousand_lines_take_seconds(tmp_path: Path) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    lines = [f"{(start + timedelta(seconds=each)).isoformat()},{each % 50},{each % 7}" for each in range(50_000)]
    path = written(tmp_path, "DATETIME,A,B\n" + "\n".join(lines) + "\n")
    begun = time.process_time()
    picture = chart_svg(read_series(path).panels)
    assert time.process_time() - begun < 5
    assert len(picture) < 200_000


def test_the_command(tmp_path: Path, inside: Run) -> None:
    path = written(tmp_path, WIDE)
    done = presman("chart", str(path), cwd=tmp_path, env={"COLUMNS": "80", "LINES": "24"})
    assert done.returncode == 0, done.stderr
    assert "ETL" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert inside("chart", str(path), "ETL", "-o", "b.svg").returncode == 0
    fromstring((tmp_path / "b.svg").read_text(encoding="utf-8"))
    for arguments, words in (((str(path), "ETK"), "did you mean"), (("no.csv",), "No such file"),
                             ((str(path), "-o", "x.gif"), ".svg or .png"), ((".",), "Is a directory")):  # fmt: skip
        done = inside("chart", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr
