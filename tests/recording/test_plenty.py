"""Plenty: recordings in which strangers put more of something than a database has: it is told, and never all made."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from presman.output.json_document import document, dump
from presman.recording import playback, playback_values
from presman.recording.codec.poll_codec import PollDecoder
from presman.recording.reader import Recording
from presman.recording.recording_source import RecordingSource
from presman.recording.schema import STATEMENTS
from presman.recording.time_bins import bucket_bins, busiest_sql_ids
from presman.recording.window_lines import latency_bins
from presman.reports.compare.comparison import STATEMENTS as OF_STATEMENTS
from presman.reports.compare.two_windows import RecordingWindow, compare
from tests.recording.recorded import polled, record

_COUNT = "WITH n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {})"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "a.presman"
    record(found, list(polled("queueing", 12)))
    return found


def run(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute(statement)


def test_who_goes_through_a_recording_unpacks_each_poll_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was unpacked four times: to see whether it can be read, as it is, as the one before, and beside that."""
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


def test_a_document_is_indented_as_json_does_it() -> None:
    for scenario in ("mixed", "storm"):
        for _, reading in polled(scenario, 2):
            for ascii_only in (False, True):
                whole = json.dumps(document(reading), indent=2, ensure_ascii=ascii_only, allow_nan=False)
                assert dump(reading, ascii_only=ascii_only) == f"{whole}\n"


@pytest.mark.parametrize(("more", "there"), [(100, True), (500, False)])
def test_histograms_of_more_events_than_a_database_has_are_left_out(more: int, there: bool, path: Path) -> None:
    run(path, f"{_COUNT.format(more)} INSERT INTO buckets SELECT 1, 9000 + i, 1, 'event ' || i, 1 FROM n")
    with Recording(str(path)) as recording:
        own = recording.playback()
        whole = own.first, own.last
        assert bool(latency_bins(own, *whole, 1)) is there
        assert bool(bucket_bins(own, *whole, 1)) is there
        told = [each for each in own.damage if "its histograms have" in each]
    assert len(told) == (not there)
    assert all(f"of {more}" not in each and "events, and are left out" in each for each in told)


def test_only_statements_that_may_be_shown_are_made(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 3,000 statements, each of another SQL_ID with one server more than the one before."""
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
