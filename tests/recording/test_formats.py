"""Older formats: a recording of each is read, continued, and says what it said."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from presman.codec.squeezing import unsqueezed
from presman.recording.reader import Recording
from presman.recording.schema import FORMAT
from presman.recording.store import RecordingError
from tests.recording.taped import polled, record

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture
def of_format_1(tmp_path: Path) -> Iterator[Path]:
    """Forty polls of the scenario `queueing`, recorded by the presman that wrote format 1."""
    path = tmp_path / "old.presman"
    path.write_bytes(unsqueezed((DATA / "recording_format_1.presman.zst").read_bytes()))
    return path


def total(rows: list[dict[str, Any]], key: str) -> float:
    return round(sum(row[key] or 0 for row in rows), 3)


def test_format_1_says_what_it_said(of_format_1: Path) -> None:
    with Recording(str(of_format_1)) as recording:
        tape = recording.tape()
        assert [reading.at for reading in tape.readings()] == [mark.at for mark in tape.marks()]
        assert (len(tape), tape.damage) == (40, [])
        queue, cpu = tape.figures("queue"), tape.figures("cpu")
        assert (len(queue), total(queue, "waited_s"), queue[-1]["waited_s"]) == (7, 105.0, 30.0)
        assert (len(cpu), total(cpu, "used_cpus")) == (159, 268.22)
        assert {row["verdict"] for row in cpu} == {"not_throttled", "unknown", "idle"}
        assert {row["state"] for row in cpu} == {"not_throttled", "queued", "unknown", "idle"}
        waiting = [(mark.at, mark.queued) for mark in tape.marks() if mark.queued]
        assert waiting == [(row["time"], row["position"]) for row in queue]
    with closing(sqlite3.connect(of_format_1)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE name = 'format'").fetchone() == (str(FORMAT),)
        assert connection.execute("SELECT sum(waited_s) FROM queue").fetchone() == (105.0,)


def test_format_1_is_continued(of_format_1: Path) -> None:
    moments = list(polled("quiet", 3))
    record(of_format_1, moments, target="demo:x")
    with Recording(str(of_format_1)) as recording:
        tape = recording.tape()
        assert len(tape) == 43
        assert [tape.reading(place) for place in (40, 41, 42)] == [reading for _, reading in moments]
        assert tape.snapshot(39).number == 40


def test_format_1_that_may_not_be_written_is_told(of_format_1: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.sqlite_files.BUSY_SECONDS", 0.0)
    with closing(sqlite3.connect(of_format_1, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(
            RecordingError, match=r"is of format 1, which is written once to be read: .* keeps it locked"
        ):
            Recording(str(of_format_1))
