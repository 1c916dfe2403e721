from __future__ import annotations

import csv
import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import pairwise
from pathlib import Path

import pytest

from presman.cli import exit_codes
from presman.figures.measures import MEASURES
from tests.cli.run import DATA, QUEUEING, Run, command, environment, presman
from tests.scenarios import with_short_past
from tests.thorough import some

DEMO = f"demo:{with_short_past('mixed')}?seed=1"
PAST = "demo:mixed"
FAST = ("--refresh", "0.5")


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines(), strict=True))


@contextmanager
def running(*arguments: str, cwd: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        command(*arguments), cwd=cwd, env=environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_lines(path: Path, lines: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 50
    while not path.exists() or path.read_bytes().count(b"\n") < lines:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline, f"no {lines} lines in {path}"
        time.sleep(0.05)


# -- once ---------------------------------------------------------------------------------------------------------


def test_once_as_text_and_csv_and_json_agree(inside: Run) -> None:
    text = inside("once", QUEUEING).stdout
    found = json.loads(inside("once", QUEUEING, "--format", "json").stdout)
    rows = rows_of(inside("once", QUEUEING, "--format", "csv", "--measure", "parallel").stdout)
    statement = found["running"][0]
    assert (statement["sql_id"], statement["servers"], statement["sid"]) == ("4dz3dapm4uy8q", 36, 525)
    assert "4dz3dapm4uy8q" in text
    assert "36/36" in text
    assert "▼" not in text
    assert [int(row["px_servers_active"]) for row in rows] == [group["px_servers"] for group in found["groups"]]


def test_once_on_the_demo_has_rates(inside: Run) -> None:
    found = json.loads(inside("once", DEMO, "--format", "json", "--interval", "0.5").stdout)
    assert found["format"] == 1
    assert found["interval"] > 0
    assert any(group["used"] for group in found["groups"])


@pytest.mark.parametrize("folder", sorted(path.name for path in DATA.iterdir() if path.is_dir()))
def test_once_reads_every_published_output(folder: str, inside: Run) -> None:
    done = inside("once", f"spool:{DATA / folder}", "--format", "json")
    assert done.returncode == exit_codes.OK, done.stderr
    assert json.loads(done.stdout)["kind"] == "spool"


@pytest.mark.parametrize(("folder", "percent"), [("10min", "99.5627"), ("3h", "99.5051")])
def test_published_histograms_give_the_published_share_under_a_millisecond(
    folder: str, percent: str, inside: Run
) -> None:
    text = inside("once", f"spool:{DATA / f'event_histogram_{folder}'}").stdout
    line = next(line for line in text.splitlines() if line.startswith("log file parallel write"))
    assert percent in line.split()


@pytest.mark.parametrize(
    "given", some([{"LANG": "C"}], [{"PYTHONIOENCODING": name, "LANG": "C"} for name in ("ascii", "latin-1")])
)
def test_plain_locale_means_ascii_and_text_never_fails_on_an_encoding(given: dict[str, str], tmp_path: Path) -> None:
    done = presman("once", QUEUEING, cwd=tmp_path, env={"NO_COLOR": "1"} | given)
    assert done.returncode == exit_codes.OK, done.stderr
    assert done.stdout.isascii()
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_text_keeps_to_columns(columns: str, inside: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    text = inside("once", QUEUEING).stdout
    assert max(map(len, text.splitlines())) <= int(columns)


# -- no terminal --------------------------------------------------------------------------------------------------


def test_the_demo_without_a_terminal_prints_readings(inside: Run) -> None:
    done = inside("demo", "--polls", "2", *FAST)
    assert done.returncode == exit_codes.OK, done.stderr
    assert len(re.findall(r"^OTHER_GROUPS ", done.stdout, re.MULTILINE)) == 2
    assert "\x1b" not in done.stdout
    assert "no terminal" in done.stderr


def test_scenarios_are_listed(inside: Run) -> None:
    lines = inside("demo", "--list").stdout.splitlines()
    assert any(line.startswith("demo:mixed ") for line in lines)


def test_options_reach_the_demo(inside: Run) -> None:
    for arguments in (["demo", "quiet", "--seed", "3"], ["demo:quiet?seed=3"]):
        done = inside(*arguments, "--polls", "1", *FAST)
        assert done.returncode == exit_codes.OK, done.stderr


# -- export -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("layout", ["tidy", "wide"])
def test_export_of_every_measure(measure: str, layout: str, inside: Run) -> None:
    done = inside("export", QUEUEING, "--measure", measure, "--layout", layout)
    assert done.returncode == exit_codes.OK, done.stderr
    assert not done.stderr
    rows = rows_of(done.stdout)
    times = [datetime.fromisoformat(row["time" if layout == "tidy" else "DATETIME"]) for row in rows]
    assert all(at.utcoffset() is not None for at in times)
    assert times == sorted(times)


def test_export_of_a_spool_has_all_its_moments(inside: Run) -> None:
    rows = rows_of(inside("export", QUEUEING, "--measure", "queue").stdout)
    assert [row["event"] for row in rows] == ["resmgr:pq queued"]


def test_export_to_a_file_has_a_line_per_poll_and_group_and_is_continued(inside: Run, tmp_path: Path) -> None:
    arguments = ("export", DEMO, "--measure", "cpu", *FAST, "-o", "cpu.csv", "--polls", "2")
    for expected in (2, 4):
        done = inside(*arguments)
        assert (done.returncode, done.stdout) == (exit_codes.OK, ""), done.stderr
        assert "2 polls of cpu in cpu.csv" in done.stderr
        assert ("cpu.csv is there: lines are added to those it has" in done.stderr) is (expected == 4)
        rows = rows_of((tmp_path / "cpu.csv").read_text("utf-8"))
        assert len(rows) % expected == 0
        assert all(row["used_cpus"] for row in rows)
    refused = inside("export", DEMO, "--measure", "queue", "-o", "cpu.csv")
    assert refused.returncode == exit_codes.OUTPUT
    assert refused.stderr.count("\n") == 1


def test_export_of_the_past_has_the_minutes_kept_by_the_database(inside: Run) -> None:
    done = inside("export", PAST, "--from", "6m ago", "--to", "2m ago")
    rows = rows_of(done.stdout)
    times = sorted({datetime.fromisoformat(row["time"]) for row in rows})
    assert len(times) == 4, "minutes of 60.0 to 60.11 s in four minutes"
    assert all(59 < (later - one).total_seconds() < 62 for one, later in pairwise(times))
    assert {row["consumer_group"] for row in rows} > {"BATCH", "OTHER_GROUPS"}
    assert all(float(row["used_cpus"]) >= 0 and not row["verdict"] for row in rows)
    empty, counts = done.stderr.splitlines()
    assert "guaranteed_cpus, entitled_cpus, verdict" in empty
    assert "limit_cpus" not in empty
    assert "`presman record demo:mixed -o demo-mixed.presman` keeps them from now on" in empty
    assert counts.startswith("presman: 4 intervals of cpu, ")


def test_export_of_the_past_says_where_the_history_begins(inside: Run) -> None:
    done = inside("export", PAST, "--from", "9h ago", "--measure", "parallel", "--layout", "wide")
    assert done.stdout.startswith("DATETIME,BATCH,")
    assert done.stderr.startswith("presman: V$RSRCMGRMETRIC_HISTORY begins at ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ("--from", "1h ago", "--measure", "queue"),
            "V$RSRCMGRMETRIC_HISTORY does not have queue (only cpu, session_io, parallel); "
            "`presman record demo:mixed -o demo-mixed.presman` keeps them from now on",
        ),
        (("--from", "1h ago", "--polls", "2"), "leave out --polls, --duration and --fsync"),
        (("--from", "1h ago", "--format", "parquet", "-o", "x.parquet"), "goes with --format csv or jsonl"),
        (("--to", "2h ago"), "V$RSRCMGRMETRIC_HISTORY has no rows for that time: it has "),
        (("--from", "soon"), "'soon' is not a time"),
        (("--from", ""), "--at, --from and --to want a time"),
        (("--at", "1h ago"), "presman export does not use --at, but --from and --to (see presman export --help)"),
    ],
)
def test_export_of_the_past_refuses_in_one_line_and_leaves_no_file(
    inside: Run, tmp_path: Path, arguments: tuple[str, ...], expected: str
) -> None:
    done = inside("export", PAST, "-o", "past.csv", *arguments)
    assert done.returncode == 2
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_export_ends_after_its_duration(inside: Run) -> None:
    done = inside("export", DEMO, *FAST, "--duration", "1")
    assert done.returncode == exit_codes.OK
    assert len({row["time"] for row in rows_of(done.stdout)}) >= 1


def test_kill_9_loses_no_finished_row(tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    with running("export", DEMO, *FAST, "-o", str(path), cwd=tmp_path) as process:
        wait_for_lines(path, 4, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
    text = path.read_text("utf-8")
    assert text.endswith("\n")
    assert {len(row) for row in csv.reader(text.splitlines(), strict=True)} == {len(MEASURES["cpu"].header())}


@pytest.mark.parametrize(
    ("number", "code"),
    some(
        [(signal.SIGTERM, exit_codes.TERMINATED)],
        [(signal.SIGINT, exit_codes.INTERRUPTED), (signal.SIGHUP, exit_codes.HUNG_UP)],
    ),
)
def test_a_signal_ends_an_export_and_keeps_its_rows(number: int, code: int, tmp_path: Path) -> None:
    path = tmp_path / "cpu.csv"
    with running("export", DEMO, *FAST, "-o", str(path), cwd=tmp_path) as process:
        wait_for_lines(path, 12, process)  # of two polls: one is counted a moment after its lines are in the file
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode == code
    assert "of cpu in" in errors
    assert len(errors.splitlines()) == 1
    assert rows_of(path.read_text("utf-8"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_is_reported_with_its_code(inside: Run, tmp_path: Path) -> None:
    to_file = inside("export", QUEUEING, "-o", "/dev/full")
    assert (to_file.returncode, to_file.stderr) == (
        exit_codes.OUTPUT,
        "presman: cannot write /dev/full: No space left on device\n",
    )
    for arguments in some([["export", QUEUEING]], [["--help"], ["once", QUEUEING], ["-m", "parallel", QUEUEING]]):
        full = os.open("/dev/full", os.O_WRONLY)
        try:
            done = presman(*arguments, cwd=tmp_path, stdout=full)
        finally:
            os.close(full)
        assert done.returncode == exit_codes.OUTPUT, arguments
        assert done.stderr == "presman: cannot write standard output: No space left on device\n"


def test_an_unwritable_output_is_reported(inside: Run) -> None:
    for name, reason in ((".", "Is a directory"), ("no/x.csv", "No such file or directory")):
        done = inside("export", QUEUEING, "-o", name)
        assert done.returncode == exit_codes.OUTPUT
        assert done.stderr == f"presman: cannot write {name}: {reason}\n"


def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    process = subprocess.Popen(
        command("export", DEMO, *FAST), cwd=tmp_path, env=environment(), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(timeout=50) == exit_codes.OK
    assert not process.stderr.read()
    process.stderr.close()


# -- presman 1.x --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "column"), [("cpu", "4"), ("session_io", "9"), ("parallel", "6"), ("emphasis", "1")]
)
def test_the_tables_of_1_x(measure: str, column: str, tmp_path: Path, inside: Run) -> None:
    (tmp_path / "config.ini").write_text(
        f"[presman]\nconnection_string={DEMO}\noption={measure}\nrefresh_rate=0.5\n", encoding="utf-8"
    )
    done = inside("-m", measure, "-c", column, "-p", "-o", "out.csv", "--polls", "2")
    assert ("HOST_CPU: since the last poll" in done.stdout) == (measure == "cpu"), "its other figures are of a minute"
    assert done.returncode == exit_codes.OK, done.stderr
    assert done.stdout.count("resource_manager_plan: ") == 2
    assert done.stdout.count("%]") >= 2
    rows = rows_of((tmp_path / "out.csv").read_text("utf-8"))
    assert len(rows) == 2
    assert next(iter(rows[0])) == "DATETIME"
    assert all(value for row in rows for value in row.values())


def test_ctrl_c_in_1_x_says_bye_and_the_file_is_there(tmp_path: Path) -> None:
    path = tmp_path / "out.csv"
    with running("-m", "CPU", "-c", "4", "-o", "out.csv", *FAST, DEMO, cwd=tmp_path) as process:
        wait_for_lines(path, 2, process)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert errors == "presman: Bye!\n"
    assert process.returncode == exit_codes.INTERRUPTED
    assert rows_of(path.read_text("utf-8"))


def test_outliers_only_on_request_and_doubted_ones_not_printed(inside: Run) -> None:
    asked = json.loads(inside("once", DEMO, "--format", "json", "--interval", "0.5", "--outliers").stdout)
    without_impossible, doubted = asked["outliers"]
    assert without_impossible["view"] == "V$IO_OUTLIER"
    assert not without_impossible["doubts"]
    assert all(row["latency_ms"] > 500 for row in without_impossible["rows"])
    assert doubted["doubts"]
    assert {row["latency_ms"] for row in doubted["rows"]} == {None}
    text = inside("once", DEMO, "--interval", "0.5", "--outliers").stdout
    assert "-- V$LGWRIO_OUTLIER (8)" in text
    assert "latencies not plausible" in text
    assert "OUTLIER" not in inside("once", DEMO, "--interval", "0.5").stdout


def test_once_reports_missing_outlier_views(inside: Run) -> None:
    old = "demo:quiet?release=11.2"
    assert "from 12.1 on" in inside("once", old, "--interval", "0.5", "--outliers").stderr


def test_outliers_cannot_be_written_as_csv(inside: Run) -> None:
    refused = inside("once", DEMO, "--format", "csv", "--outliers")
    assert refused.returncode == 2
    assert "--outliers goes with" in refused.stderr


@pytest.mark.parametrize("form", ["csv", "jsonl", "parquet"])
def test_an_export_of_an_unreachable_database_writes_nothing(form: str, inside: Run) -> None:
    for output in ["-", f"x.{form}"][form == "parquet" :]:
        done = inside("export", "nobody/secret@127.0.0.1:1/none", "--format", form, "-o", output)
        assert (done.returncode, done.stdout) == (3, ""), done.stderr
    assert list(Path().iterdir()) == []
