"""Files written with -o: neither foreign files nor the input are overwritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from presman.base.markup import picture, png
from presman.cli.exit_codes import Failure
from presman.cli.output_file import ADVICE, JSON, PAGE, PICTURE, PNG, WAITS, OutputKind, output_path
from tests.cli.run import DATA, Run, presman
from tests.recording.recorded import recorded as recorded_bytes

TRACE = str(next(DATA.parent.rglob("*.trc")))


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "a.presman"
    for each in (path, tmp_path / "other.presman"):
        each.write_bytes(recorded_bytes("quiet", 4))
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
def test_a_file_of_another_kind_is_not_replaced(
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


def test_only_waits_replace_waits(recorded: Path, inside: Run) -> None:
    for _ in range(2):
        assert inside("trace", "--all", TRACE, "--csv", "waits.csv", "--image", "waits.svg").returncode == 0
    for option, name in (("--csv", "a.csv"), ("--csv", "waits.svg"), ("--csv", recorded.name)):
        assert inside("trace", "--all", TRACE, option, name).returncode == 4
    (recorded.with_name("text.svg")).write_text("not a picture")
    assert inside("trace", "--all", TRACE, "--image", "text.svg").returncode == 4
    assert inside("chart", "waits.csv", "-o", "text.svg").returncode == 4


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (PAGE, "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'/></head><body>presman</body></html>\n"),
        (PAGE, '<!DOCTYPE html>\n<meta name="generator" content="Hugo 0.1">\n'),
        (PICTURE, '<svg xmlns="http://www.w3.org/2000/svg"><rect/><metadata>presman 2</metadata></svg>\n'),
        (PNG, "\x89PNG\r\n\x1a\n"),
        (JSON, '{"format": 1, "name": "presman"}\n'),
        (WAITS, "count,elapsed_us,blocks\n1,2,3\n"),
        (ADVICE, "Of the mail of Monday: 60 statements, replayed under the settings at its end, off by 2 s\n"),
    ],
)
def test_a_file_of_another_program_is_not_replaced(kind: OutputKind, content: str, tmp_path: Path) -> None:
    path = tmp_path / f"theirs{kind.endings[0]}"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(Failure, match=f"exists and is not {kind.words} that presman made") as refused:
        output_path(str(path), kind)
    assert refused.value.code == 4


def test_a_png_picture_names_its_maker(tmp_path: Path) -> None:
    pytest.importorskip("resvg_py")
    (tmp_path / "a.png").write_bytes(png(picture([], 10)))
    assert output_path(str(tmp_path / "a.png"), PNG) == tmp_path / "a.png"


@pytest.mark.parametrize(
    ("words", "of", "ending"),
    [
        (("report", "a.presman", "-o", "x.png"), "an HTML page", ".html"),
        (("report", "a.presman", "-o", "x.sql"), "an HTML page", ".html"),
        (("advise", "a.csv", "--goal", "BATCH p95 <= 30s", "-o", "x.html"), "an advice as text", ".txt, or --format"),
        (("advise", "a.csv", "--goal", "BATCH p95 <= 30s", "--format", "json", "-o", "x.html"), "JSON", ".json"),
        (("export", "a.presman", "-o", "x.html"), "CSV", ".csv, or --format jsonl or parquet"),
        (("export", "a.presman", "--format", "jsonl", "-o", "x.csv"), "JSON lines", ".jsonl"),
        (("export", "a.presman", "--format", "parquet", "-o", "x.csv"), "Parquet", ".parquet"),
        (("bundle", "a.presman", "-o", "x.zip"), "a recording", ".presman"),
        (("trace", TRACE, "--csv", "x.svg"), "a CSV file of waits", ".csv"),
        (("-m", "cpu", "-c", "4", "-o", "x.html", "demo"), "CSV", ".csv"),
    ],
)
def test_a_name_that_ends_like_another_kind_of_file_is_refused(
    words: tuple[str, ...], of: str, ending: str, recorded: Path, inside: Run
) -> None:
    done = inside(*words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert f"what is written is {of}: choose a name that ends in {ending}" in done.stderr
    assert not list(recorded.parent.glob("x.*"))


@pytest.mark.parametrize("name", ["incident", "incident.2026-11-26", "v2.1", "a.HTML", ".hidden"])
def test_a_name_without_an_ending_is_taken(name: str, tmp_path: Path) -> None:
    assert output_path(str(tmp_path / name), PAGE) == tmp_path / name


@pytest.mark.parametrize(
    "words",
    [
        ("report", "a.presman", "-o"), ("chart", "a.csv", "-o"), ("export", "a.presman", "-o"),
        ("advise", "a.csv", "--goal", "BATCH p95 <= 30s", "-o"), ("bundle", "a.presman", "-o"),
        ("record", "demo", "-o"), ("trace", TRACE, "--csv"), ("trace", TRACE, "--image"),
        ("-m", "cpu", "-c", "4", "demo", "-o"),
    ],
)  # fmt: skip
def test_no_name_at_all_is_refused(words: tuple[str, ...], recorded: Path, inside: Run) -> None:
    before = sorted(recorded.parent.iterdir())
    done = inside(*words, "")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1), done.stderr
    assert "it is empty, and a name is needed" in done.stderr
    assert sorted(recorded.parent.iterdir()) == before


@pytest.mark.parametrize(
    "words", [("report", "a.presman", "-o"), ("export", "a.presman", "-o"), ("bundle", "a.presman", "-o"),
              ("trace", "--all", TRACE, "--csv")]
)  # fmt: skip
def test_a_link_to_nothing_is_refused(words: tuple[str, ...], recorded: Path, inside: Run) -> None:
    link = recorded.with_name("link")
    link.symlink_to("nowhere")
    done = inside(*words, "link")
    assert (done.returncode, done.stdout) == (4, ""), done.stderr
    assert "link is a link to nothing" in done.stderr
    assert link.is_symlink()
    assert not recorded.with_name("nowhere").exists()


@pytest.mark.parametrize("words", [("report", "a.presman", "-o"), ("trace", "--all", TRACE, "--csv")])
def test_a_link_stays_and_its_target_is_replaced(words: tuple[str, ...], recorded: Path, inside: Run) -> None:
    link, behind = recorded.with_name("latest"), recorded.with_name("behind")
    behind.touch()
    link.symlink_to(behind)
    done = inside(*words, "latest")
    assert done.returncode == 0, done.stderr
    assert link.is_symlink()
    assert behind.stat().st_size > 100


def test_a_link_to_standard_output_is_not_replaced(recorded: Path) -> None:
    way, target = recorded.with_name("stdout"), recorded.with_name("page.html")
    way.symlink_to("/proc/self/fd/1")
    with target.open("wb") as out:
        presman("report", "a.presman", "-o", str(way), cwd=recorded.parent, stdout=out.fileno())
    assert way.is_symlink()
    assert target.read_bytes().startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("kind", [PAGE, PICTURE, PNG, JSON, WAITS, ADVICE])
def test_an_empty_file_and_a_device_are_written(kind: OutputKind, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert output_path(str(tmp_path / "empty"), kind) == tmp_path / "empty"
    assert output_path("/dev/null", kind) == Path("/dev/null")
    (tmp_path / "notes").write_text("notes\n")
    with pytest.raises(Failure, match=f"is not {kind.words}"):
        output_path(str(tmp_path / "notes"), kind)
