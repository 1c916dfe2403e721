"""A handful of what `make torture` does for minutes."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from presman.base.release import Release
from presman.rows.session_rows import Session
from tests.memory import forget_others
from tests.oracle.bench import RELEASES
from tests.thorough import THOROUGH, some
from tests.torture import __main__ as command
from tests.torture import endurance, hostile, refusals, strangers
from tests.torture.bombs import EVERY, FORMATS, MOST_MEGABYTES, bombs
from tests.torture.cutter import How
from tests.torture.endurance import NO_ROOM, Look, flat, sane
from tests.torture.fuzz import fuzz
from tests.torture.judged import harmless, judged
from tests.torture.rounds import Broken, Rounds, Task
from tests.torture.torture import torture
from tests.torture.ways import WAYS

CUTS = 3
SESSIONS = 6


@pytest.mark.parametrize(("release", "client"), some([(Release(12, 1), "export")], [(Release(23), "tui")]), ids=str)
def test_a_few_cuts(release: Release, client: str, tmp_path: Path) -> None:
    report = torture(release, client, range(CUTS), 2, tmp_path, lambda _text: None)
    assert report.cuts.total() == CUTS
    assert set(report.cuts) == set(How)
    assert report.logins > CUTS


EACH = [(release, heads) for release in RELEASES for heads in (True, False)]
"""Bytes are changed in the heads of packets, or behind them."""


@pytest.mark.parametrize(
    ("release", "heads"), some([(Release(23), True)], [each for each in EACH if each != (Release(23), True)])
)
def test_invalid_answers(release: Release, heads: bool) -> None:
    found = fuzz(release, range(SESSIONS), 1, heads=heads)
    assert found.ended.total() == SESSIONS
    assert len(found.ended) > 1
    assert found.mebibytes < 500
    assert found.slowest < 30, "seconds; no session hangs"


def task(part: str, times: int, folder: Path) -> Task:
    return Task(part, Rounds(times), 1, folder, lambda _text: None)


@pytest.mark.parametrize("kind", strangers.KINDS)
def test_answers_of_other_servers(kind: str, tmp_path: Path) -> None:
    times = 200 if THOROUGH else 6
    assert strangers.run_kind(task(kind, times, tmp_path)).startswith(f"{times} of kind {kind} answered")


@pytest.mark.skipif(not THOROUGH, reason="tests/tui/test_hostile.py has hostile screens")
def test_a_hostile_database_on_screens(tmp_path: Path) -> None:
    assert "nothing that acts" in hostile.run(task("screens", 1, tmp_path))


@pytest.mark.skipif(not THOROUGH, reason="tests/reports/report/test_hostile_text.py has hostile pages")
def test_a_hostile_database_in_files(tmp_path: Path) -> None:
    assert "nothing that acts" in hostile.run(task("files", 1, tmp_path))


def test_a_bomb_of_each_kind(tmp_path: Path) -> None:
    """One process reads them all, as it reads fifty in `make torture`: to start ten takes longer."""
    many = len(FORMATS)
    result = bombs(task(EVERY, many, tmp_path))
    assert result.startswith(f"{many} bombs of {EVERY}: ")
    assert int(result.split()[-4]) < MOST_MEGABYTES


def test_machines_that_refuse(tmp_path: Path) -> None:
    assert refusals.run(task("", 2, tmp_path)).startswith("2 commands")


@pytest.mark.parametrize("part", ["record", "metrics", "fleet"])
def test_some_minutes_of_a_month(part: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Thirty polls of a course of twelve: three rounds, each with statements and sessions of its own."""
    forget_others()
    monkeypatch.setattr(endurance, "LOOKS", 3)
    result = getattr(endurance, part)(task(f"{part} mixed", 30, tmp_path), course=12)
    assert result.startswith("30 polls, 0.00 days at 5 s,")


@pytest.mark.skipif(not THOROUGH, reason="tests/tui/test_any_keys.py presses them without a terminal")
def test_a_monitor_with_random_keys(tmp_path: Path) -> None:
    result = endurance.monitor(Task("monitor storm", Rounds(6_000, 0.6), 1, tmp_path, lambda _text: None))
    assert result.startswith("storm: ")
    assert "random keys" in result


# ---- what judges them


def test_new_names_appear_through_a_month() -> None:
    """The second round of a course is one course later, and none of its statements was there before."""
    course = endurance._course(task("mixed", 4, Path()), 4)
    month = endurance.Month(course)
    found = []
    for _ in range(8):
        month._given.release()
        month.advance()
        found.append(month.snapshot())
    assert [poll.number for poll in found] == [1, 2, 3, 4, 5, 6, 7, 8]
    assert found[4].at - found[0].at == course[-1].at - course[0].at + (course[1].at - course[0].at)
    cursors = [{row.sql_id for row in poll.rows(Session) if row.sql_id} for poll in (found[0], found[4])]
    assert cursors[0]
    assert not cursors[0] & cursors[1]
    logins = [{row.logon_time for row in poll.rows(Session)} for poll in (found[0], found[4])]
    assert {at + (found[4].at - found[0].at) for at in logins[0]} == logins[1]


@pytest.mark.parametrize(
    ("what", "grown"),
    [
        ("memory", Look(9, 160.0, 3, 9, 0)), ("threads", Look(9, 100.0, 4, 9, 0)), ("files", Look(9, 100.0, 3, 12, 0)),
        ("tasks", Look(9, 100.0, 3, 9, 1)),
    ],
)  # fmt: skip
def test_growth_is_reported(what: str, grown: Look) -> None:
    """Tolerated are a tenth more of 100 MB or 16 MB, no thread, two files, no task."""
    even = Look(1, 100.0, 3, 9, 0)
    assert flat([even] * 6) == "memory 100 to 100 MB, 3 threads, 9 files, 0 tasks at most"
    assert flat([even] * 4 + [even._replace(memory=116.0, files=11)] * 2)
    with pytest.raises(Broken, match=f"^{what} grew from "):
        flat([even] * 5 + [grown], NO_ROOM)


def test_too_few_polls_to_judge_memory_are_reported() -> None:
    looks = [Look(1, 100.0, 3, 9, 0)] * 5 + [Look(99, 160.0, 3, 9, 0)]
    assert flat(looks, warm=100) == (
        "memory 100 to 160 MB (not judged: fewer than 100 polls), 3 threads, 9 files, 0 tasks at most"
    )
    with pytest.raises(Broken, match="memory grew"):
        flat(looks, warm=99)


@pytest.mark.parametrize("value", [-1, -0.5, math.nan, math.inf])
def test_impossible_numbers_are_reported_in_any_place(value: float) -> None:
    sane((1, 0.0, None, "x", {"a": [2.5]}))
    with pytest.raises(Broken, match=f"memory is {value}"):
        sane((1, {"a": [Look(1, value, 1, 1, 1)]}), "")


@pytest.mark.parametrize(
    "written",
    [
        b"\x1b]0;6666\x07", b"\x1b[6666m", b"\x1b]52;c;6666\x07", b"\x1bP1\x1b\\", b"\x1b[5i", b"\x1b#8", b"a\x07b",
        b"a\x08b", "a\x9b31mb".encode(), "\u202eb".encode(), "\u200b".encode(), b"\x00",
    ],
)  # fmt: skip
def test_control_sequences_on_a_terminal_are_reported(written: bytes) -> None:
    usual = b"\x1b[?1049h\x1b[1;38;2;1;2;3m\xe2\x96\x84 \xe2\x90\x9b[6666m\x1b[0m\r\n\x1b[12;3H\x1b]22;default\x07"
    assert hostile.innocent(usual) == 1, "the mark as text"
    with pytest.raises(Broken):
        hostile.innocent(usual + written + usual)


@pytest.mark.parametrize("text", ["\x1b[31m", "a\tb", "a\rb", "\x7f", "\x85", "\u2066", "\ufeff", "\ud800"])
def test_control_characters_in_a_file_are_reported(text: str) -> None:
    harmless("␛[31m lines\nand — signs ▄", "a file")
    with pytest.raises(Broken, match="a file has "):
        harmless(f"lines\n{text}", "a file")


def test_an_internal_error_of_a_command_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    assert judged(["config", "--config", "/nonexistent"]).code == 2
    monkeypatch.setattr("presman.cli._run", lambda *_: 1 / 0)
    with pytest.raises(Broken, match="ZeroDivisionError"):
        judged(["config"])


def test_rounds_end_with_their_number_or_with_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a clock that advances a second at each look, 2.5 seconds are three rounds; one is always done."""
    seconds = iter(range(1000))
    monkeypatch.setattr(time, "monotonic", lambda: next(seconds))
    assert (list(Rounds(4)), list(Rounds(9, 2.5)), list(Rounds(9, 0.5))) == ([0, 1, 2, 3], [0, 1, 2], [0])
    done = Rounds(3)
    list(done)
    assert done.done == 3


def test_the_final_table_shows_what_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len({way.name for way in WAYS}) == len(WAYS)
    outcomes = [
        command.Outcome(WAYS[0], "19", True, "9 cuts", 12.4), command.Outcome(WAYS[3], "", False, "a | b", 3.0)
    ]  # fmt: skip
    table = command._table(outcomes)
    assert table.splitlines() == [
        "| way    |        | took | what was done |",
        "|---|---|---|---|",
        "| tui 19 | stood  | 12 s | 9 cuts |",
        "| kill   | BROKEN | 3 s  | a \\| b |",
    ]
    page = tmp_path / "proof.md"
    page.write_text(f"before\n{command.BEGIN}\nold\n{command.END}\nafter\n")
    monkeypatch.setattr(command, "PROOF", page)
    command._write(table, SimpleNamespace(minutes=30.0, seed=7, jobs=2))  # type: ignore[arg-type]
    text = page.read_text()
    assert text.startswith(f"before\n{command.BEGIN}\n\nRun on 20")
    assert ", seed 7, within 30 minutes, 2 at a time.\n\n| way" in text
    assert text.endswith(f"\n{command.END}\nafter\n")
    assert "old" not in text


def test_a_part_is_run_in_a_process_of_its_own_and_its_last_line_counts(capfd: pytest.CaptureFixture[str]) -> None:
    options = SimpleNamespace(seed=1, times=2)
    way = next(each for each in WAYS if each.name == "strangers")
    outcome = command._apart(way, "other_xml", 60.0, options)  # type: ignore[arg-type]
    assert (outcome.stood, outcome.name) == (True, "strangers other_xml")
    assert outcome.report.startswith("2 of kind other_xml answered: ")
    assert "[strangers other_xml] stood: 2 of kind" in capfd.readouterr().out
