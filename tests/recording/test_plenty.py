"""Oversized recordings: more rows of a kind than a database has are reported, and never all read."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from presman.analysis.trends.database_events import LOST, PLAN_CHANGED, QUEUE_BEGAN
from presman.output.json_document import document, dump
from presman.recording import playback, playback_values, window_lines
from presman.recording import time_bins as time_bins_module
from presman.recording.codec.poll_codec import PollDecoder
from presman.recording.reader import Recording
from presman.recording.recording_source import RecordingSource
from presman.recording.schema import STATEMENTS
from presman.recording.time_bins import bucket_bins, busiest_sql_ids, event_marks, group_bins, statement_sums, time_bins
from presman.recording.window_lines import group_lines, latency_bins
from presman.reports.compare.comparison import RecordingWindow, compare
from presman.reports.compare.window_figures import STATEMENTS as OF_STATEMENTS
from tests.recording.recorded import polled, recorded

_COUNT = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.presman"
    found.write_bytes(recorded("queueing", 12))
    return found


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


def test_stepping_through_a_recording_unpacks_each_poll_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was unpacked four times: for a check, as the current poll, as the previous poll, and for its events."""
    unpacked: list[int] = []
    decoded = PollDecoder.decode
    monkeypatch.setattr(
        PollDecoder, "decode", lambda self, content: unpacked.append(len(content)) or decoded(self, content)
    )
    source = RecordingSource(str(path), name="a")
    source.open()
    for number in range(1, 13):
        source.advance()
        before = source.before()
        assert (source.snapshot().number, before and before.number) == (number, number - 1 or None)
    assert len(unpacked) == 12
    source.close()


def test_a_document_is_indented_as_by_json() -> None:
    for scenario in ("mixed", "storm"):
        for _, reading in polled(scenario, 2):
            for ascii_only in (False, True):
                whole = json.dumps(document(reading), indent=2, ensure_ascii=ascii_only, allow_nan=False)
                assert dump(reading, ascii_only=ascii_only) == f"{whole}\n"


@pytest.mark.parametrize(("more", "there"), [(100, True), (500, False)])
def test_histograms_of_too_many_events_are_omitted(more: int, there: bool, path: Path) -> None:
    run(path, f"{_COUNT.format(more)} INSERT INTO buckets SELECT 1, 9000 + i, 1, 'event ' || i, 1 FROM n")
    with Recording(str(path)) as recording:
        own = recording.playback()
        whole = own.first, own.last
        assert bool(latency_bins(own, *whole, 1)) is there
        assert bool(bucket_bins(own, *whole, 1)) is there
        left_out = [each for each in own.damage if "its histograms have" in each]
    assert len(left_out) == (not there)
    assert all(f"of {more}" not in each and "events, and are left out" in each for each in left_out)


def test_only_statements_that_may_be_shown_are_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """3,000 statements with different SQL_IDs, each with one server more than the one before."""
    times = "".join(f", s.{each}" for each in STATEMENTS.c.keys()[10:])
    values = f"SELECT 1, 9000 + i, 1, i, i, 'sql' || i, 0, 'G', 'U', 100 + i{times}"
    like = "(SELECT * FROM statements WHERE started_at IS NOT NULL LIMIT 1) s"
    run(path, f"{_COUNT.format(3_000)} INSERT INTO statements {values} FROM n, {like}")
    made = []
    life_of = playback_values.life_of
    monkeypatch.setattr(playback, "life_of", lambda row: made.append(row["sql_id"]) or life_of(row))
    with Recording(str(path)) as recording:
        own = recording.playback()
        assert busiest_sql_ids(own, own.first, own.last, 3) == ["sql3000", "sql2999", "sql2998"]
    windows = [RecordingWindow(str(path), None, "", "")] * 2
    shown = list(dict.fromkeys(each.subject for each in compare(*windows).lines if each.section == OF_STATEMENTS))
    assert shown == [f"sql{number}" for number in range(3_000, 2_990, -1)]
    assert len(set(made)) == 100


def alike(path: Path, table: str, **changed: str) -> str:
    """Return the columns of a table, some replaced by SQL."""
    with closing(sqlite3.connect(path)) as file:
        names = [each[1] for each in file.execute(f'PRAGMA table_info("{table}")')]
    return ", ".join(changed.get(each, f'a."{each}"') for each in names)


@pytest.mark.parametrize(("more", "there"), [(900, True), (1_000, False)])
def test_figures_of_too_many_groups_are_omitted(more: int, there: bool, path: Path) -> None:
    columns = alike(path, "group_cases", case_id="9000 + i", consumer_group="'G' || i")
    run(path, f"{_COUNT.format(more)} INSERT INTO group_cases SELECT {columns} FROM n, (SELECT * FROM group_cases) a"
              " GROUP BY i")  # fmt: skip
    with Recording(str(path)) as recording:
        own = recording.playback()
        whole = own.first, own.last
        assert bool(group_lines(own, *whole, ["used"]).values) is there
        assert bool(group_bins(own, time_bins(own, *whole, 1), *whole, 1)) is there
        left_out = [each for each in own.damage if "consumer groups, and their figures are left out" in each]
    assert len(left_out) == (not there)


def test_names_equal_after_cleaning_are_one_group(path: Path) -> None:
    """Only the waits of the second name were kept."""
    run(path, "UPDATE arrived SET consumer_group = 'OWN' || char(7), waited_s = 20000")
    columns = alike(path, "arrived", statement="9000 + statement", consumer_group="'OWN' || char(9223)",
                    waited_s="80000")  # fmt: skip
    run(path, f"INSERT INTO arrived SELECT {columns} FROM arrived a")
    windows = [RecordingWindow(str(path), None, "", "")] * 2
    waited = {(line.subject, line.first) for line in compare(*windows).lines if line.figure == "mean wait s, ended"}
    assert waited == {("OWN\N{SYMBOL FOR BELL}", 5.0)}


def test_a_long_window_is_read_in_pieces_with_the_same_figures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All lines of a month took a gigabyte. Counters continue from one piece to the next."""
    windows = [RecordingWindow(str(path), None, "", "")] * 2
    whole = compare(*windows).lines
    monkeypatch.setattr(window_lines, "AT_ONCE", 5)
    assert compare(*windows).lines == whole
    with Recording(str(path)) as recording:
        own = recording.playback()
        many = [len(each.times) for each in window_lines.group_lines_in_turn(own, own.first, own.last, ["used"])]
        assert many == [5, 6, 3]
        assert len(group_lines(own, own.first, own.last, ["used"]).times) == 12


def test_distant_poll_numbers_make_no_long_line(path: Path) -> None:
    """presman began to make a line of 10,000,000,000 polls."""
    far, later = "10000000000 + {}", "100000000 + {}"
    chain = {each: far.format(each) for each in ("poll", "chain")}
    times = {each: later.format(each) for each in ("first_at", "last_at")}
    run(path, f"INSERT INTO blocks SELECT {alike(path, 'blocks', **chain, **times)} FROM blocks a")
    columns = alike(path, "polls", poll=far.format("poll"), at=later.format("at"))
    run(path, f"INSERT INTO polls SELECT {columns} FROM polls a")
    with Recording(str(path)) as recording:
        own = recording.playback()
        assert len(group_lines(own, own.first, own.last, ["used"]).times) == 24
        found = time_bins(own, own.first, own.last, 1)
        assert len({each.key for each in group_bins(own, found, own.first, own.last, 32)}) == 1


def test_of_too_many_statement_sums_the_largest_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Recording(str(path)) as recording:
        own = recording.playback()
        whole = statement_sums(own, own.first, own.last)
        assert len(whole) > 1
        monkeypatch.setattr(time_bins_module, "MOST_SUMS", 1)
        assert statement_sums(own, own.first, own.last) == whole[:1]
        assert own.damage == [f"{path}: no more than 1 sums of statements, those of most server time, are read"]


def test_of_too_many_event_marks_the_first_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    events = alike(path, "events", event="9000 + i", kind="'kind ' || i", at="(SELECT max(at) FROM polls)")
    like = "(SELECT * FROM events LIMIT 1) a"
    run(path, f"{_COUNT.format(50)} INSERT INTO events SELECT {events} FROM n, {like}")
    monkeypatch.setattr(time_bins_module, "MOST_MARKS", 20)
    with Recording(str(path)) as recording:
        own = recording.playback()
        assert len(event_marks(own, own.first, own.last, 1)) == 20
        assert own.damage == [f"{path}: no more than 20 marks of events, the first, are read"]


def test_a_hundred_plan_changes_of_an_endless_window_are_listed(path: Path) -> None:
    """A million events took 300 MB; events of other kinds are not read."""
    for kind, first, many in ((PLAN_CHANGED, 9_000, 120), (LOST, 10_000, 30), (QUEUE_BEGAN, 20_000, 300)):
        events = alike(path, "events", event=f"{first} + i", kind=f"'{kind}'", text="'Plan ' || i",
                       at="(SELECT max(at) FROM polls)")  # fmt: skip
        like = "(SELECT * FROM events LIMIT 1) a"
        run(path, f"{_COUNT.format(many)} INSERT INTO events SELECT {events} FROM n, {like}")
    notes = compare(*[RecordingWindow(str(path), None, "", "")] * 2).first.notes
    assert sum(each.startswith("Plan ") for each in notes) == 100
    assert "more changes of the plan than these 100 are not listed" in notes
    assert "the connection was lost 30 times" in notes


def test_of_too_many_events_the_newest_are_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A replay of a million took half a gigabyte."""
    events = alike(path, "events", event="9000 + i", text="'event ' || i", at="(SELECT max(at) FROM polls)")
    like = "(SELECT * FROM events LIMIT 1) a"
    run(path, f"{_COUNT.format(50)} INSERT INTO events SELECT {events} FROM n, {like}")
    monkeypatch.setattr(playback, "MOST_EVENTS", 5)
    with Recording(str(path)) as recording:
        own = recording.playback()
        assert sorted(each.text for each in own.events()) == [f"event {number}" for number in range(46, 51)]
        assert own.damage == [f"{path}: no more than its 5 newest events are read"]
