"""`presman trace` from arguments to exit code, texts and files."""

from __future__ import annotations

import csv
import gzip
import io
import os
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path

import pytest

from presman.cli import answered, trace_command
from presman.cli.exit_codes import Failure
from presman.cli.trace_command import Progress, bar
from presman.trace.trace_files import BLOCK

SAMPLE = Path(__file__).parents[1] / "data" / "trace_10046_log_file_parallel_write.trc"
REDO = "log file parallel write"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    def run(*arguments: object) -> tuple[int, str, str]:
        options = trace_command.arguments("trace").read([str(argument) for argument in arguments], Namespace())
        code = answered(lambda: trace_command.run(options))
        return (code, *capsys.readouterr())

    return run


def row(text: str, start: str) -> list[str]:
    (line,) = (line for line in text.splitlines() if line.startswith(start))
    return line.removeprefix(start).split()


def test_the_published_writes(run: Run) -> None:
    code, out, errors = run(SAMPLE)
    assert (code, errors) == (0, "")
    assert row(out, REDO)[:6] == ["waits", "mean", "median", "p95", "p99", "p99.9"]
    assert " ".join(row(out, str(SAMPLE))) == "3 445.0 466 501 501 501 501 0.000 0.000 0.000 0.001 164"
    assert "Percentiles are exact" in out
    assert "idle" not in out


def test_several_files_and_all_together(run: Run, tmp_path: Path) -> None:
    packed = tmp_path / "demo.trc.gz"
    packed.write_bytes(gzip.compress(b"WAIT #0: nam='log file parallel write' ela=  20001 p1=1 p2=6 p3=1\r\n"))
    code, out, _ = run(SAMPLE, packed)
    assert code == 0
    assert row(out, str(packed))[:2] == ["1", "20,001.0"]
    assert " ".join(row(out, "all files")) == "4 5,334.0 466 20,001 20,001 20,001 20,001 25.000 25.000 25.000 0.021 170"


def test_strangers_are_refused_and_the_others_still_read(run: Run, tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("log file parallel write\n")
    code, out, errors = run(text, SAMPLE, tmp_path / "none.trc", tmp_path)
    assert code == 2
    assert row(out, str(SAMPLE))[0] == "3"
    assert [line.split(": ")[1] for line in errors.splitlines()] == [
        str(text),
        str(tmp_path / "none.trc"),
        str(tmp_path),
    ]
    code, out, errors = run(text)
    assert (code, out, errors.count("\n")) == (2, "", 1)


def test_a_damaged_archive_counts_as_far_as_it_goes(run: Run, tmp_path: Path) -> None:
    lines = b"".join(b"WAIT #0: nam='log file parallel write' ela= %d\n" % (n * 7919 % 10_007) for n in range(50_000))
    packed = tmp_path / "cut.trc.gz"
    packed.write_bytes(gzip.compress(lines)[:-2_000])
    code, out, errors = run(packed)
    assert code == 2
    assert "incomplete gzip" in errors
    assert f"{packed}: incomplete" in out
    assert int(row(out, f"{packed} ")[0].replace(",", "")) > 1_000


def test_waits_read_before_an_interruption_count(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long, waits = tmp_path / "long.trc", tmp_path / "waits.csv"
    long.write_bytes(b"WAIT #0: nam='log file parallel write' ela= 400 p1=1 p2=6 p3=1\n" * 20_000)

    def stop_in_the_middle(progress: Progress, name: str, done: int, size: int, unpacked: int) -> None:
        if done > BLOCK:
            raise KeyboardInterrupt

    monkeypatch.setattr(Progress, "show", stop_in_the_middle)
    code, out, errors = run("--csv", waits, long, SAMPLE)
    assert code == 130
    assert "interrupted; what was read so far counts" in errors
    counted = int(row(out.partition("incomplete")[0].rpartition("\n")[0], str(long))[0].replace(",", ""))
    assert 0 < counted < 20_000
    assert len(waits.read_text().splitlines()) == counted + 1
    assert str(SAMPLE) not in out


def test_data_after_an_archive_loses_no_wait_before_it(run: Run, tmp_path: Path) -> None:
    line = b"WAIT #0: nam='log file parallel write' ela= 501 files=1 blocks=58\n"
    packed = tmp_path / "odd.trc.gz"
    packed.write_bytes(gzip.compress(line * 3) + b"no archive")
    code, out, _ = run(packed)
    assert code == 2
    assert row(out, f"{packed} ")[0] == "3"
    half = gzip.compress(line * 3 + line[:45], 0)
    packed.write_bytes(half[:-8] + b"no archive")
    assert row(run(packed)[1], f"{packed} ")[0] == "3", "a number may continue: half a line is no wait"


ABBREVIATED = "WAIT #1398...: nam='db file sequential read' ela= 501 file#=4 block#=1 blocks=1 obj#=7 tim=1\n"


def test_lines_that_are_not_understood_are_reported(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "short.trc"
    trace.write_text("Trace file /u01/short.trc\n" + 4 * ABBREVIATED)
    warning = f"{trace}: 4 WAIT lines were not understood and not counted, the first: WAIT #1398...: nam='db file"
    for options in ((), ("--all",), ("--list",)):
        code, out, errors = run(trace, *options)
        assert (code, errors) == (5, "")
        assert warning in out
    code, out, errors = run(trace, "--csv", "-")
    assert (code, out.count("\n")) == (5, 1)
    assert warning in errors
    code, out, _ = run(trace, SAMPLE)
    assert code == 0, "others were understood"
    assert warning in out
    assert run(trace, tmp_path / "none.trc")[0] == 2


def test_a_cut_line_is_reported_beside_the_others(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "cut.trc"
    trace.write_bytes(SAMPLE.read_bytes() + b"WAIT #0: nam='log file para")
    code, out, _ = run(trace)
    assert code == 0
    assert row(out, str(trace) + " ")[0] == "3"
    assert f"{trace}: 1 WAIT line was not understood and not counted, the first: WAIT #0: nam='log file para" in out


def test_arguments_that_name_one_thing_twice(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "can be read once only" in run("-", SAMPLE, "-")[2]
    target = tmp_path / "x.svg"
    assert "cannot be both CSV and picture" in run(SAMPLE, "--csv", target, "--image", target)[2]
    assert not target.exists()
    monkeypatch.setattr(sys, "stdin", None)
    assert run("-", "") == (2, "", "presman: -: standard input is closed\npresman: : a file needs a name\n")


def test_a_trace_without_the_event(run: Run, tmp_path: Path) -> None:
    code, out, errors = run(SAMPLE, "--event", "log file sync", "--event", "log*")
    assert (code, errors) == (0, "")
    assert "no waits of 'log file sync' found" in out
    assert "'log*'" not in out
    trace = tmp_path / "demo.trc"
    trace.write_text("Trace file /u01/demo.trc\nOracle Database 12c\n")
    assert f"no waits of '{REDO}' found" in run(trace)[1]


def test_all_leaves_idle_events_out_and_says_so(run: Run) -> None:
    out = run(SAMPLE, "--all")[1]
    assert "2 waits of idle events left out" in out
    assert "LGWR worker" not in out
    assert row(run(SAMPLE, "--all", "--idle")[1], "LGWR worker group idle")[0] == "waits"
    assert row(run(SAMPLE, "--event", "lgwr worker group idle")[1], str(SAMPLE))[:2] == ["2", "36.0"]


def test_list_of_events(run: Run) -> None:
    code, out, _ = run(SAMPLE, "--list")
    assert code == 0
    assert row(out, REDO) == ["3", "0.001", "445.0"]
    assert row(out, "LGWR worker group idle")[:4] == ["2", "0.000", "36.0", "idle:"]


def test_csv_of_every_wait(run: Run, tmp_path: Path) -> None:
    target = tmp_path / "waits.csv"
    target.write_text("count,elapsed_us,blocks,event,file\nold\n")
    assert run(SAMPLE, SAMPLE, "--csv", target, "--all", "--idle")[0] == 0
    rows = list(csv.DictReader(io.StringIO(target.read_text())))
    redo = [(row["count"], row["elapsed_us"], row["blocks"]) for row in rows if row["event"] == REDO]
    assert redo == [("1", "501", "58"), ("2", "466", "52"), ("3", "368", "54")] * 2
    assert [row["elapsed_us"] for row in rows[:5]] == ["501", "39", "466", "33", "368"], "in the order of the trace"
    assert {row["file"] for row in rows} == {str(SAMPLE)}
    assert list(tmp_path.iterdir()) == [target], "nothing temporary stays behind"


def test_csv_on_standard_output_comes_alone(run: Run) -> None:
    code, out, _ = run(SAMPLE, "--csv", "-", "--chart", "histogram")
    assert code == 0
    assert out.splitlines()[0] == "count,elapsed_us,blocks,event,file"
    assert len(out.splitlines()) == 4


@pytest.mark.parametrize(("option", "name"), [("--csv", "out.csv"), ("--image", "out.svg")])
def test_outputs_that_cannot_be_written(option: str, name: str, run: Run, tmp_path: Path) -> None:
    code, _, errors = run(SAMPLE, option, tmp_path / "none" / name)
    assert code == 4
    assert errors == f"presman: cannot write {tmp_path / 'none' / name}: No such file or directory\n"


def test_an_input_is_never_overwritten(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "demo.svg"
    trace.write_bytes(SAMPLE.read_bytes())
    for option in ("--csv", "--image"):
        code, out, errors = run(trace, option, trace)
        assert (code, out) == (2, "")
        assert "both read and written" in errors
    assert trace.read_bytes() == SAMPLE.read_bytes()


def test_arguments_that_exclude_each_other(run: Run, tmp_path: Path) -> None:
    assert run(SAMPLE, "--all", "--event", "x")[0] == 2
    assert "pictures are .svg or .png" in run(SAMPLE, "--image", tmp_path / "a.gif")[2]
    with pytest.raises(Failure):
        run(SAMPLE, "--event", "  ")
    with pytest.raises(Failure):
        run()


def test_png_needs_its_converter_before_anything_is_read(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    code, out, errors = run(SAMPLE, "--image", tmp_path / "a.png")
    assert (code, out) == (2, "")
    assert "presman[png]" in errors
    assert not (tmp_path / "a.png").exists()


def test_png(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    assert run(SAMPLE, "--image", tmp_path / "a.PNG")[0] == 0
    assert (tmp_path / "a.PNG").read_bytes().startswith(b"\x89PNG\r\n")


def test_nothing_to_draw(run: Run, tmp_path: Path) -> None:
    code, _, errors = run(SAMPLE, "--event", "log file sync", "--image", tmp_path / "a.svg", "--chart", "scatter")
    assert code == 5
    assert "no waits to draw" in errors


def test_an_event_that_is_not_there_is_no_answer(run: Run) -> None:
    for options in (("--event", "nosuch"), ("--event", "nosuch", "--csv", "-")):
        assert run(SAMPLE, *options)[0] == 5
    assert run(SAMPLE, "--event", "nosuch", "--event", "log*")[0] == 0


def test_charts_in_the_terminal(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "90")
    monkeypatch.setenv("LINES", "20")
    out = run(SAMPLE, "--chart", "scatter", "--chart", "histogram")[1]
    assert f"{REDO}: each wait" in out
    assert "\x1b" not in out
    assert out.count("•") == 3
    assert f"{REDO}: waits by elapsed time" in out
    chart = out.split("each wait")[1]
    assert max(map(len, chart.splitlines())) <= 90


def test_a_terminal_without_the_characters_gets_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert run(SAMPLE, "--chart", "histogram")[0] == 0
    stream.seek(0)
    assert "Times in us." in stream.read()


def test_hostile_names_are_made_visible(run: Run, tmp_path: Path) -> None:
    trace = tmp_path / "demo\x1b[31m.trc"
    trace.write_bytes(b"WAIT #0: nam='evil \x1b]0;x\x07' ela= 5\n")
    code, out, errors = run("--all", trace, tmp_path / "\x1bnone")
    assert code == 2
    assert "\x1b" not in out + errors
    assert "evil ␛]0;x␇" in out
    assert "\x1b" not in run(trace, "--all", "--csv", "-")[1]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_shows_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([0.0, 0.0, 1.0, 1.01, 2.0])
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    progress = Progress(clock=lambda: next(now))
    progress.start()
    progress.show("demo.trc", 50, 100, 200_000_000)
    progress.show("demo.trc", 60, 100, 240_000_000)
    progress.show("demo.trc", 75, 100, 300_000_000)
    progress.clear()
    shown = stream.getvalue()
    assert "50 % 200 MB, 200 MB/s  demo.trc" in shown
    assert "60 %" not in shown, "too soon"
    assert "75 % 300 MB, 150 MB/s" in shown
    assert shown.endswith("\r\x1b[K")


def test_progress_is_silent_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    progress = Progress()
    progress.show("demo.trc", 50, 100, 1)
    progress.clear()
    assert stream.getvalue() == ""


def test_bar() -> None:
    assert bar(0, 10).endswith("  0 %")
    assert bar(10, 10) == f"[{'#' * 24}] 100 %"
    assert bar(5, 0) == "reading"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_device_takes_the_csv(run: Run) -> None:
    assert run(SAMPLE, "--csv", "/dev/null")[0] == 0
