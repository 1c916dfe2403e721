"""Exactness: snapshots, readings and figures are read back as they were written."""

from __future__ import annotations

import enum
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from presman.analysis.readings.reading import Reading
from presman.base.release import SUPPORTED, Release
from presman.config.target import scenarios
from presman.figures.measures import MEASURES
from presman.recording.codec.poll_codec import (
    QUICK,
    THOROUGH,
    FrameDecoder,
    FrameEncoder,
    leading_frames,
    pack_block,
    unpack_block,
)
from presman.recording.measure_tables import NOT_KEPT, selects
from presman.recording.reader import Recording
from presman.recording.schema import ROWS, SPAN
from presman.recording.window_lines import poll_lines
from presman.rows.group_rows import GroupMetric
from presman.rows.queries import Focus, Scope
from presman.rows.session_rows import Session
from presman.rows.snapshot import Section, Snapshot
from tests.recording.recorded import figures, polled, record
from tests.sources.fakes import row
from tests.thorough import some

_NUMBER = st.integers() | st.integers(-300, 300) | st.integers(-(1 << 64), 1 << 64)
_FLOAT = st.none() | st.floats() | st.integers(0, 10**6).map(lambda number: number / 100)
_TEXT = st.sampled_from(("", "SYS", "ETL", "é", "null", "12")) | st.text(max_size=5)
_INSTANT = st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(fold=0))


def snapshot_of(number: int, rows: tuple[Any, ...], record: type[Any] = Session) -> Snapshot:
    at = datetime(2026, 1, 1, 0, 0, number, tzinfo=UTC)
    held = MappingProxyType({record: Section(rows, at=at)})
    return Snapshot("t", "oracle", Release(19), Scope.CLUSTER, at, number, 1, 0.1, 2, held)


def chain(snapshots: list[Snapshot], *, trusted: bool, level: int = THOROUGH) -> FrameDecoder:
    encoder = FrameEncoder(level)
    return FrameDecoder(unpack_block(pack_block([encoder.add(each) for each in snapshots])), trusted=trusted)


@given(st.lists(st.tuples(_NUMBER, _TEXT, _INSTANT, _NUMBER | st.none()), max_size=5), st.lists(_FLOAT, max_size=4))
def test_any_value_is_restored(values: list[tuple[Any, ...]], floats: list[float | None]) -> None:
    """Whole numbers of any size, texts that look like other types, instants of any year; types, too."""
    rows = tuple(
        row(Session, sid=number, sql_id=word, logon_time=at, sql_child_number=other)
        for number, word, at, other in values
    )
    figures = tuple(row(GroupMetric, avg_queued_parallel_stmts=value) for value in floats)
    snapshots = [snapshot_of(0, rows), snapshot_of(1, figures, GroupMetric), snapshot_of(2, rows)]
    for level in (QUICK, THOROUGH):  # column by column, and with texts and instants row by row
        decoder = chain(snapshots, trusted=True, level=level)
        for place in (2, 0, 1):
            assert repr(decoder.snapshot(place)) == repr(snapshots[place])


@given(st.lists(st.lists(st.tuples(st.integers(1, 9), st.integers(0, 3)), unique=True), min_size=1, max_size=20))
def test_added_removed_and_reordered_rows_are_restored(polls: list[list[tuple[int, int]]]) -> None:
    snapshots = [
        snapshot_of(
            number,
            tuple(row(Session, inst_id=1, sid=sid, serial=7, last_call_et=idle * number) for sid, idle in sids),
        )
        for number, sids in enumerate(polls)
    ]
    decoder = chain(snapshots, trusted=False)
    for place in reversed(range(len(snapshots))):
        assert decoder.snapshot(place) == snapshots[place]


def test_rows_shared_by_two_polls_are_one_object() -> None:
    """Analysis computes figures again only for changed rows."""
    rows = (row(Session, inst_id=1, sid=1),)
    decoder = chain([snapshot_of(number, rows) for number in range(3)], trusted=False)
    first, second = decoder.snapshot(0), decoder.snapshot(1)
    assert first.section(Session).at != second.section(Session).at
    assert first.rows(Session) is second.rows(Session)


LENGTHS = (1, 40, 200, 255, 256, 300, 65_535, 65_536, 70_000)


@example([1] * 16, 0.5)
@given(st.lists(st.sampled_from(LENGTHS), min_size=1, max_size=40), st.floats(0, 1))
def test_a_truncated_block_has_the_frames_before_its_end(lengths: list[int], part: float) -> None:
    """MessagePack has other first bytes for longer arrays and longer frames."""
    frames = [bytes([number]) * length for number, length in enumerate(lengths)]
    content = pack_block(frames)
    assert leading_frames(content) == frames
    rest = leading_frames(content[: int(part * len(content))])
    assert rest == frames[: len(rest)]
    assert leading_frames(content[:-1]) == frames[:-1]


@pytest.mark.parametrize(("level", "sessions", "polls"), [(THOROUGH, 40, 20), (QUICK, 40, 20), (QUICK, 2000, 2)])
def test_a_further_poll_adds_little(level: int, sessions: int, polls: int) -> None:
    """Each session's counter grows by one second per poll, so the first poll is most of the chain."""
    snapshots = [
        snapshot_of(
            number,
            tuple(
                row(Session, inst_id=1, sid=sid, username=f"USER{sid}", last_call_et=number) for sid in range(sessions)
            ),
        )
        for number in range(polls)
    ]
    encoder = FrameEncoder(level)
    sizes = [len(encoder.add(each)) for each in snapshots]
    assert all(size < sizes[0] / 3 for size in sizes[1:])
    assert not encoder.is_full


def test_a_chain_of_large_polls_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.codec.poll_codec._FULL", 10_000)
    encoder = FrameEncoder(QUICK)
    full = []
    for number in range(3):
        encoder.add(snapshot_of(number, tuple(row(Session, sid=sid, program="p" * 100) for sid in range(40))))
        full.append(encoder.is_full)
    assert full == [False, True, True], "40 rows of 100 characters and more are 4,000 bytes and fewer than 10,000"


def _unlike(seen: Snapshot, found: Snapshot) -> list[str]:
    """Return the sections that differ; the time of a query is recorded in milliseconds."""
    assert seen.sections.keys() == found.sections.keys()
    pairs = [(record, seen.sections[record], found.sections[record]) for record in seen.sections]
    return [
        record.__name__
        for record, old, new in pairs
        if (old.rows, old.at, old.problem, old.absent, old.rounded)
        != (new.rows, new.at, new.problem, new.absent, new.rounded)
    ]


@pytest.mark.parametrize(
    ("scenario", "release"),
    some(
        [
            *[("mixed", "11.2"), ("pdb", "12.1"), ("tenants", "23.26")],
            ("lost", "19"),  # an instance gone
        ],
        [(scenario, str(release)) for scenario in scenarios() for release in SUPPORTED],
    ),
)
def test_a_replayed_reading_is_the_live_one(scenario: str, release: str, tmp_path: Path) -> None:
    if scenario == "pdb" and release == "11.2":
        release = "12.1"
    moments = list(polled(scenario, 4, release=release, focus=Focus(1, 1)))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        assert len(playback) == 4
        for place in (3, 0, 1, 2):
            snapshot, reading = moments[place]
            assert playback.reading(place) == reading
            assert _unlike(snapshot, playback.snapshot(place)) == []
            assert playback.at(place) == snapshot.at
            assert playback.index(snapshot.at) == place
        assert playback.damage == []


def test_any_poll_of_a_long_chain_is_read() -> None:
    encoder = FrameEncoder(THOROUGH)
    moments = list(polled("quiet", 14)) * 5
    frames = [encoder.add(snapshot) for snapshot, _ in moments]
    content = pack_block(frames)
    assert unpack_block(content) == frames
    decoder = FrameDecoder(frames)
    for place in (69, 3, 64, 65, 8):
        assert _unlike(moments[place][0], decoder.snapshot(place)) == []


def _lines(measure: str, readings: list[Reading]) -> list[dict[str, Any]]:
    found = MEASURES[measure]
    lines = [dict(zip(found.header(), line, strict=True)) for reading in readings for line in found.tidy(reading)]
    return [
        {key: value.name.lower() if isinstance(value, enum.Enum) else value for key, value in line.items()}
        for line in lines
    ]


def _order(line: dict[str, Any]) -> str:
    return str(
        [line.get(key) for key in ("time", "inst_id", "con_id", "consumer_group", "event", "upper_us", "sid", "serial")]
    )


@pytest.mark.parametrize("scenario", some(["rac", "pdb"], ["mixed"]))
def test_the_figures_are_those_of_csv(scenario: str, tmp_path: Path) -> None:
    moments = list(polled(scenario, 9))
    record(tmp_path / "a.presman", moments)
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        start, end = moments[3][0].at, moments[7][0].at
        readings = [reading for _, reading in moments[3:8]]
        for measure in selects("sqlite").keys() - {"arrivals"}:
            expected = sorted(_lines(measure, readings), key=_order)
            found = sorted(figures(playback, measure, start, end), key=_order)
            assert len(found) == len(expected)
            for line, other in zip(expected, found, strict=True):
                assert line.keys() == other.keys()
                for key, value in line.items():
                    if measure == "queue" and key in NOT_KEPT:
                        assert other[key] is None
                        continue
                    same = (
                        value == pytest.approx(other[key], abs=2e-4)
                        if isinstance(value, float)
                        else value == other[key]
                    )
                    assert same, (measure, key, value, other[key])
        assert len(poll_lines(playback, start, end).times) == 5


def test_an_unchanged_row_lasts_to_the_end_of_its_span(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    record(path, list(polled("quiet", 3)))
    with closing(sqlite3.connect(path)) as file:
        for table in ROWS.values():
            for first, last in file.execute(f"SELECT first, last FROM {table.name}"):
                assert first <= last
                assert last in {0, 1, SPAN - 1}, f"{table.name}: ended by the second poll or the third, or open"
