"""Charts of CSV files: recognised files, refused files with the line, and that no peak is lost."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
from defusedxml.ElementTree import fromstring

from presman.figures.measures import MEASURES
from presman.output.cells import json_lines
from presman.output.csv_export import CsvExport, TidyRows
from presman.output.parquet_export import ParquetExport
from presman.reports.file_series import ChartError, _subject, read_series
from presman.reports.series_chart import chart_page, chart_svg, chart_text, largest, segments, thinned
from tests.cli.run import Run
from tests.recording.recorded import polled
from tests.yardstick import cost

WIDE = "DATETIME,BATCH,ETL\n2026-11-22T12:00:00+00:00,24.14,0\n2026-11-22T12:00:02+00:00,,1.5\n"
AT = datetime(2026, 11, 22, 12, tzinfo=UTC).timestamp()


def written(folder: Path, text: str) -> Path:
    path = folder / "a.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_wide_file_of_presman_1_x(tmp_path: Path) -> None:
    (panel,) = read_series(written(tmp_path, WIDE)).panels
    assert panel.series == {
        "BATCH": [(AT, 24.14)],
        "ETL": [(AT, 0.0), (AT + 2, 1.5)],
    }  # an empty cell does not count as zero
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


@pytest.fixture(scope="module")
def kinds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The same figures in each kind of file."""
    folder = tmp_path_factory.mktemp("kinds")
    found = {kind: folder / f"a.{kind}" for kind in ("csv", "jsonl", "parquet")}
    exports = [CsvExport(found["csv"], "cpu"), ParquetExport(found["parquet"], "cpu")]
    rows = TidyRows("cpu")
    with found["jsonl"].open("w", encoding="utf-8") as lines:
        for _, reading in polled("queueing", 8):
            for export in exports:
                export.write(reading)
            lines.write(json_lines(rows.measure.header(), rows.of(reading)))
    for export in exports:
        export.close()
    return found


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_json_lines_and_parquet_are_charts_as_csv_is(kind: str, kinds: dict[str, Path]) -> None:
    wanted = ["used_cpus", "throttled_percent"]
    expected, found = (read_series(kinds[each], wanted) for each in ("csv", kind))
    assert [panel.title for panel in found.panels] == ["cpu: used_cpus", "cpu: throttled_percent"]
    for mine, theirs in zip(found.panels, expected.panels, strict=True):
        assert mine.series.keys() == theirs.series.keys()
        for name, points in mine.series.items():
            assert points == [(at, pytest.approx(value, abs=1e-5)) for at, value in theirs.series[name]]


def test_damaged_json_lines_and_parquet_are_reported(kinds: dict[str, Path], tmp_path: Path) -> None:
    lines = kinds["jsonl"].read_text(encoding="utf-8").splitlines(keepends=True)
    cut = read_series(written(tmp_path, "".join(lines)[:-30]))
    assert cut.notes == (
        f"{tmp_path / 'a.csv'}, line {len(lines)}: it is not a JSON object: left out, the last line is cut short",
    )
    for text, words in ((lines[0] + "[1]\n" + lines[1], "line 2: it is not a JSON object"),
                        (lines[0] + '{"time":1}\n', "line 2: its names differ from the first line"),
                        ('{"a":1}\n', "not an export of presman")):  # fmt: skip
        with pytest.raises(ChartError, match=words):
            read_series(written(tmp_path, text))
    path = tmp_path / "a.parquet"
    for content in (b"PAR1", kinds["parquet"].read_bytes()[:-9], kinds["parquet"].read_bytes()[:60] + b"x" * 60):
        path.write_bytes(content)
        with pytest.raises(ChartError):
            read_series(path)


def test_a_page_names_its_file_and_has_the_values_under_the_mouse(kinds: dict[str, Path]) -> None:
    found = read_series(kinds["csv"], ["used_cpus", "used_percent"])
    page = chart_page("a&b.csv", found, datetime(2026, 11, 22, 12, tzinfo=UTC))
    tree = fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    tags = {each.tag for each in tree.iter()}
    assert not tags & {"script", "img", "link", "a", "use", "image"}
    assert "default-src &#x27;none&#x27;" in page
    text = " ".join("".join(each.itertext()) for each in tree.iter("header"))
    assert "a&b.csv" in text
    assert "Measure cpu; drawn: cpu: used_cpus" in text
    titles = [each.text or "" for each in tree.iter("title")]
    (panel, *_) = found.panels
    name, points = next(iter(panel.series.items()))
    clock = f"{datetime.fromtimestamp(points[-1][0]).astimezone():%H:%M:%S}"
    (title,) = [each for each in titles if clock in each and "used_cpus" not in each][:1]
    assert f"{name}: {points[-1][1]:.2f}" in title


def test_of_many_polls_the_page_shows_minimum_and_maximum(tmp_path: Path) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    lines = [f"{(start + timedelta(seconds=each)).isoformat()},{each % 50}" for each in range(2_400)]
    page = chart_page("a", read_series(written(tmp_path, "DATETIME,A\n" + "\n".join(lines) + "\n")), start)
    assert page.count("10 polls\nA: ") == 240
    assert "\nA: 40.00 to 49.00<" in page


def test_a_column_without_values_is_reported_and_not_drawn(tmp_path: Path) -> None:
    found = read_series(
        written(tmp_path, TIDY + "2026-11-22T12:00:04+00:00,D,5,1,0,ETL,1,\n"), ["used_cpus", "throttled_percent"]
    )
    assert [panel.title for panel in found.panels] == ["cpu: used_cpus"]
    assert "no value in throttled_percent" in found.notes[0]


TIDY = "time,database,interval_s,inst_id,con_id,consumer_group,used_cpus,throttled_percent\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("a,b\n1,2\n", "line 1: not an export of presman: it begins with 'a,b'"),
        ("DATETIME,A,A\n", "line 1: a column is named twice"),
        (WIDE + "yesterday,1,2\n", "line 4: 'yesterday' is not a time"),
        (WIDE + "0001-01-01T00:00:00+00:00,1,2\n", "line 4: '0001-01-01T00:00:00+00:00' is not a time"),
        (WIDE + "2026-11-22T12:00:04+00:00,1e400,2\n", "line 4: '1e400' is not a number, under BATCH"),
        (WIDE + "2026-11-22T12:00:04+00:00,nan,2\n", "line 4: 'nan' is not a number"),
        (WIDE + "2026-11-22T12:00:04+00:00,\x1b[31mred,2\n", "line 4: '␛[31mred' is not a number"),
        (WIDE + TIDY + "2026-11-22T12:00:04+00:00,D,5,1,0,ETL,1,2\n", "line 4: it has 8 cells, the header 3"),
        (TIDY + TIDY.replace("used_cpus", "entitled_cpus"), "line 2: another header"),
        (TIDY + "2026-11-22T12:00:04+00:00,D,5,1,0,ETL,,\n", "no values to chart in used_cpus"),
        (WIDE + '2026-11-22T12:00:04+00:00,"1,2\n', "line 4: unexpected end of data"),
    ],
)  # fmt: skip
def test_errors_of_a_file_are_reported_with_the_line(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(ChartError) as error:
        read_series(written(tmp_path, text))
    assert words in str(error.value)
    assert "\x1b" not in str(error.value)


def test_devices_and_endless_lines_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="/dev/zero: it is not a regular file"):
        read_series(Path("/dev/zero"))
    for begin in ("", TIDY, '{"a": "'):
        path = written(tmp_path, begin)
        with path.open("r+b") as file:
            file.truncate(400 << 20)  # a sparse file
        with pytest.raises(ChartError, match="it has a line of more than 1 MB"):
            read_series(path)


def test_a_file_of_one_line_that_is_no_object_is_not_called_empty(tmp_path: Path) -> None:
    with pytest.raises(ChartError, match="line 1: it is not a JSON object"):
        read_series(written(tmp_path, '{"time": '))


def test_a_chart_has_a_maximum_of_lines(tmp_path: Path) -> None:
    lines = "".join(f"2026-11-22T12:00:04+00:00,D,5,1,0,G{number},1,2\n" for number in range(5001))
    with pytest.raises(ChartError, match="line 5002: more than 5,000 groups or events cannot be charted"):
        read_series(written(tmp_path, TIDY + lines))


def test_an_incomplete_last_line_is_omitted_and_reported(tmp_path: Path) -> None:
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


def test_peaks_are_kept_and_gaps_break_lines() -> None:
    points = [(float(at), 1.0) for at in range(1000)]
    points[517] = (517.0, 99.0)
    few = thinned(points, 0.0, 999.0, 10)
    assert (517.0, 99.0) in few
    assert len(few) <= 20
    assert few == sorted(few)
    assert [len(piece) for piece in segments([(0, 1), (5, 1), (10, 1), (60, 1), (65, 1)])] == [3, 2]
    assert segments([]) == []
    assert largest({"a": [(0, 1.0)], "b": [(0, 5.0)], "c": []}) == ["b", "a"]


def test_twenty_thousand_lines_take_a_second(tmp_path: Path) -> None:
    start = datetime(2026, 11, 22, tzinfo=UTC)
    lines = [f"{(start + timedelta(seconds=each)).isoformat()},{each % 50},{each % 7}" for each in range(20_000)]
    path = written(tmp_path, "DATETIME,A,B\n" + "\n".join(lines) + "\n")
    pictures: list[str] = []
    took = cost(lambda: pictures.append(chart_svg(read_series(path).panels)))
    assert took < 40
    assert len(pictures[0]) < 200_000


def test_the_command(tmp_path: Path, inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, WIDE)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("LINES", "24")
    done = inside("chart", str(path))
    assert done.returncode == 0, done.stderr
    assert "ETL" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert inside("chart", str(path), "ETL", "-o", "b.svg").returncode == 0
    fromstring((tmp_path / "b.svg").read_text(encoding="utf-8"))
    assert inside("chart", str(path), "-o", "b.html").returncode == 0
    assert "a.csv" in (tmp_path / "b.html").read_text(encoding="utf-8")
    assert inside("chart", str(path), "-o", "none/b.html").returncode == 4
    for arguments, words in (((str(path), "ETK"), "did you mean"), (("no.csv",), "No such file"),
                             ((str(path), "-o", "x.gif"), "written as .html"), ((".",), "Is a directory")):  # fmt: skip
        done = inside("chart", *arguments)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert words in done.stderr


@pytest.mark.parametrize(
    ("con", "inst", "row", "subject"),
    [
        (-1, -1, ("1", "ETL", "3"), "ETL"),
        (2, -1, ("1", "ETL", "3"), "ETL#3"),
        (-1, 0, ("1", "ETL", "3"), "ETL@1"),
        (2, 0, ("1", "ETL", "3"), "ETL#3@1"),
        (0, 2, ("3", "ETL", "1"), "ETL#3@1"),
        (2, 0, ("", "ETL", "0"), "ETL"),
        (2, 0, ("1", "ETL", ""), "ETL@1"),
    ],
)
def test_a_line_is_about_a_name_its_container_and_its_instance(
    con: int, inst: int, row: tuple[str, ...], subject: str
) -> None:
    assert _subject(SimpleNamespace(subject=1, con=con, inst=inst), row) == subject  # type: ignore[arg-type]
    assert _subject(SimpleNamespace(subject=-1, con=con, inst=inst), row) == ""  # type: ignore[arg-type]
