"""Durability: what was reported as written survives any end of the recorder, the disk or the server."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from sqlalchemy import event

from presman.analysis.assemble import analyse
from presman.analysis.readings.reading import Reading
from presman.base.log_event import LogEvent
from presman.figures.measures import MEASURES
from presman.polling.poll_events import Polled
from presman.recording.measure_tables import selects
from presman.recording.reader import Recording
from presman.recording.retention import RecordingLocation, RetentionLimits, trim
from presman.recording.store import Store, shown
from presman.recording.store_errors import RecordingError, StoreLostError
from presman.recording.writer import RecordingWriter
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.services.recorder import DatabaseRecorder
from presman.sources.simulator_source import SimulatorSource
from tests.cli.run import command, environment
from tests.recording.recorded import START, figures, polled, record
from tests.thorough import some
from tests.torture.kills import kill


def test_a_killed_recorder_loses_nothing_it_reported(tmp_path: Path) -> None:
    assert "none lost" in kill(range(1), 11, tmp_path, print)


def test_an_existing_recording_is_continued(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    moments = list(polled("queueing", 6))
    Store(str(path), writing=True).close()
    record(path, moments[:3])
    record(path, moments[3:])
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert [playback.at(place) for place in range(6)] == [snapshot.at for snapshot, _ in moments]
        assert [playback.reading(place).at for place in range(6)] == [reading.at for _, reading in moments]
        for measure in selects("sqlite").keys() - {"arrivals"}:
            expected = sum(len(MEASURES[measure].tidy(reading)) for _, reading in moments)
            assert len(figures(playback, measure)) == expected
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_restarted_recorder_has_no_rates_at_first(tmp_path: Path) -> None:
    for _ in range(2):
        record(tmp_path / "a.presman", list(polled("quiet", 2)))
    with Recording(str(tmp_path / "a.presman")) as recording:
        playback = recording.playback()
        assert [playback.pair(place)[0] is None for place in range(4)] == [True, False, True, False]


def test_a_poll_that_could_not_be_written_is_written_later(tmp_path: Path) -> None:
    path = tmp_path / "a.presman"
    moments = list(polled("quiet", 30))
    store = Store(str(path), writing=True)
    writer = RecordingWriter(store, "demo:x", "simulator")
    for snapshot, reading in moments[:3]:
        writer.append(snapshot, reading)
    with closing(sqlite3.connect(path)) as other:
        (pages,) = other.execute("PRAGMA page_count").fetchone()
    with store.engine.connect() as connection:
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
    with pytest.raises(StoreLostError, match="no room left on its disk"):
        _append(writer, moments[3:])
    with Recording(str(path)) as recording:
        written = len(recording.playback())
    with store.engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count=1000000")
    for snapshot, reading in moments[written:]:
        writer.append(snapshot, reading)
    writer.close()
    store.close()
    with Recording(str(path)) as recording:
        playback = recording.playback()
        assert [playback.reading(place) for place in range(30)] == [reading for _, reading in moments]
        assert playback.damage == []


def _append(writer: RecordingWriter, moments: list[tuple[Snapshot, Reading]]) -> None:
    for snapshot, reading in moments:
        writer.append(snapshot, reading)


def test_a_locked_file_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.sqlite_files.BUSY_SECONDS", 0.0)
    path = tmp_path / "a.presman"
    (first, reading), *_ = polled("quiet", 1)
    writer = RecordingWriter(Store(str(path), writing=True), "demo:x", "simulator")
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLostError, match="another process keeps it locked"):
            writer.append(first, reading)
        other.execute("ROLLBACK")
    assert writer.append(first, reading) == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_reported(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(RecordingError, match="Permission denied"):
        Store(str(tmp_path / "a.presman"), writing=True)


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match="no such folder"):
        Store(str(tmp_path / "none" / "a.presman"), writing=True)


def test_two_recorders_of_one_database_are_reported(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 3))
    writers = [RecordingWriter(Store(place, writing=True), "demo:x", "simulator") for _ in range(2)]
    for writer, (snapshot, reading) in zip(writers, moments, strict=False):
        writer.append(snapshot, reading)
    with pytest.raises(RecordingError, match="another recorder writes demo:x"):
        writers[0].append(*moments[2])


def test_a_newcomer_gives_way_to_a_recorder_that_writes_and_follows_one_that_was_killed(tmp_path: Path) -> None:
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 5))
    first, second, third = (
        RecordingWriter(Store(place, writing=True), "demo:x", "simulator", each) for each in (5.0, 5.0, 1.0)
    )
    first.append(*moments[0])
    with pytest.raises(StoreLostError, match="another recorder wrote demo:x a moment ago"):
        second.append(*moments[1])
    first._ready = False  # as after an error: what it finds is its own
    first.append(*moments[1])
    with pytest.raises(RecordingError, match="another recorder writes demo:x at the same time") as caught:
        second.append(*moments[2])
    assert not isinstance(caught.value, StoreLostError), "it does not try again"
    with pytest.raises(StoreLostError, match="a moment ago"):
        third.append(*moments[2])
    with closing(sqlite3.connect(place)) as file, file:
        file.execute("UPDATE fleet SET polled_at = polled_at - 11100000")
    assert third.append(*moments[2]) == 2, "late after two intervals and a second of the other one"
    for _ in range(2):
        with pytest.raises(StoreLostError, match="at the same time"):
            first.append(*moments[3])
    third.close()
    assert first.append(*moments[3]) == 3, "it goes on once the other one has ended"


def test_the_password_of_a_url_is_not_shown() -> None:
    place = "postgresql+psycopg://anna:geheim@127.0.0.1:1/presman"
    assert "geheim" not in shown(place)
    with pytest.raises(RecordingError) as caught:
        Store(place, writing=True)
    assert "geheim" not in str(caught.value)
    assert "anna" in str(caught.value)


def test_polls_beyond_the_limits_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 8)
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 40))
    record(place, moments)
    location = RecordingLocation(place)
    location.store(START)
    last = moments[-1][0].at
    assert trim(location, RetentionLimits(age=timedelta(seconds=100)), last) == 16
    with Recording(place) as recording:
        playback = recording.playback()
        assert len(playback) == 24
        assert playback.reading(1) == moments[17][1]
        assert figures(playback, "cpu")[0]["time"] <= moments[16][0].at
    store = location.stores()[0]
    size = store.size() or 0
    assert trim(location, RetentionLimits(size=size - 4096), last) > 0
    assert (store.size() or 0) <= size - 4096
    location.close()
    with Recording(place) as recording:
        assert recording.playback().reading(len(recording.playback()) - 1) == moments[-1][1]


def test_a_followed_recording_is_read_from_the_chain_that_may_have_grown_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of all blocks were read at each refresh. Here the oldest chain of eight polls goes meanwhile, too."""
    monkeypatch.setattr("presman.recording.writer.CHAIN", 8)
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 30))
    record(place, moments[:26])
    location = RecordingLocation(place)
    location.store(START)
    rows, usual = list[int](), Store.each_row

    def each_row(store: Store, *query: Any) -> Iterator[Any]:
        found = list(usual(store, *query))
        rows.append(len(found))
        return iter(found)

    with Recording(place) as recording:
        playback = recording.playback()
        record(place, moments[26:])
        trim(location, RetentionLimits(age=timedelta(seconds=100)), moments[29][0].at)
        monkeypatch.setattr(Store, "each_row", each_row)
        playback.refresh()
        monkeypatch.undo()
        assert max(rows) < 8
        assert [playback.at(each) for each in range(len(playback))] == [poll.at for poll, _ in moments[8:]]
        assert playback.reading(playback.index(moments[29][0].at)) == moments[29][1]
    location.close()


def test_chains_are_compared_once_however_many_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were compared again for each twenty that went."""
    monkeypatch.setattr("presman.recording.writer.CHAIN", 1)
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 45))
    record(place, moments)
    location = RecordingLocation(place)
    asked: list[str] = []
    event.listen(location.store(START).engine, "before_cursor_execute", lambda *args: asked.append(args[2]))
    assert trim(location, RetentionLimits(age=timedelta()), moments[-1][0].at) == 44
    assert sum("GROUP BY blocks." in each for each in asked) == 1
    location.close()


def test_polls_removed_during_a_loss_are_not_needed_later(tmp_path: Path) -> None:
    """Two polls, then a loss longer than the retention: the two are removed, the next two are read."""
    place = str(tmp_path / "a.presman")
    moments = list(polled("quiet", 4))
    location = RecordingLocation(place)
    writer = RecordingWriter(location.store(START), "prod", "simulator")
    for snapshot, reading in moments[:2]:
        writer.append(snapshot, reading)
    writer.lose("ORA-12541: no listener")
    assert trim(location, RetentionLimits(age=timedelta()), moments[2][0].at) == 2
    for snapshot, reading in moments[2:]:
        writer.append(snapshot, reading)
    with Recording(place) as recording:
        playback = recording.playback()
        assert [playback.reading(number).at for number in range(len(playback))] == [
            snapshot.at for snapshot, _ in moments[2:]
        ]
        assert playback.reading(1) == moments[3][1]
        assert not recording.damage_of(playback)
    writer.close()
    location.close()


def test_a_file_is_kept_below_its_limit(tmp_path: Path) -> None:
    """In PostgreSQL other recorders have limits of their own; a file has one limit, also for former databases."""
    place = str(tmp_path / "two.presman")
    moments = list(polled("quiet", 3))
    for target in ("prod", "gone"):
        record(place, moments, target)
    location = RecordingLocation(place)
    location.store(START)
    assert trim(location, RetentionLimits(age=timedelta(days=1)), moments[2][0].at + timedelta(days=2), ["prod"]) == 6
    location.close()


def recorder_to(place: str, messages: list[LogEvent], polls: int | None = None) -> DatabaseRecorder:
    target = LiveTarget("demo:x", SimulatorSource, 1.0, kind="simulator")
    return DatabaseRecorder(target, RecordingLocation(place), messages.append, polls=polls)


def test_late_and_surplus_polls_are_not_called_lost(tmp_path: Path) -> None:
    moments = list(polled("quiet", 4))
    messages: list[LogEvent] = []
    stopped = recorder_to(str(tmp_path / "stopped.presman"), messages)
    stopped._thread.start()
    stopped.stop_polling()
    stopped._post(Polled(moments[0][0]))
    limited = recorder_to(str(tmp_path / "limited.presman"), messages, polls=2)
    for snapshot, _ in moments:
        limited._post(Polled(snapshot))
    limited._thread.start()
    assert [(each.finish(20), each.written, each.waiting) for each in (stopped, limited)] == [
        (True, 0, 0),
        (True, 2, 0),
    ]
    assert [each for each in messages if each.level != "debug"] == []


def test_a_folder_has_a_file_for_each_day(tmp_path: Path) -> None:
    (first, reading), (second, _) = polled("quiet", 2)
    later = replace(second, at=second.at + timedelta(days=1))
    moments = [(first, reading), (later, analyse(first, later))]
    messages: list[LogEvent] = []
    recorder = recorder_to(f"{tmp_path}/", messages)
    for snapshot, _ in moments:
        recorder._take(snapshot)
        recorder._write(*recorder._waiting.popleft()[:2])
    recorder._close()
    assert [path.name for path in sorted(tmp_path.glob("*.presman"))] == [
        "presman-2026-03-12.presman",
        "presman-2026-03-13.presman",
    ]
    with Recording(str(tmp_path)) as recording:
        playback = recording.playback()
        assert [playback.reading(place) for place in range(2)] == [reading for _, reading in moments]
        assert {row["time"] for row in figures(playback, "cpu")} == {snapshot.at for snapshot, _ in moments}
    assert [each for each in messages if each.level != "debug"] == []


@pytest.mark.parametrize("number", some([signal.SIGTERM], [signal.SIGINT]))
def test_a_recorder_that_gets_a_signal_closes_its_recording(tmp_path: Path, number: int) -> None:
    path = tmp_path / "a.presman"
    words = command("record", "demo:quiet", "-o", str(path), "--interval", "0.5", "--log-level", "debug")
    with subprocess.Popen(words, env=environment(), stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("poll 1 written" in line for line in process.stderr)
        process.send_signal(number)
        process.communicate(timeout=60)
    assert process.returncode in {143, 130}
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT link, reason FROM fleet").fetchall() == [("stopped", "its recorder was stopped")]
    assert not list(tmp_path.glob("*-wal")), "all of it is in the one file"


def test_a_removed_file_is_created_again_and_reported(tmp_path: Path) -> None:
    location = RecordingLocation(str(tmp_path / "a.presman"))
    at = datetime(2026, 3, 14, tzinfo=UTC)
    first = location.store(at)
    assert location.store(at) is first
    for path in tmp_path.iterdir():
        path.unlink()
    assert first.was_removed()
    second = location.store(at)
    assert second is not first
    assert location.store(at) is second
    moments = list(polled("quiet", 3))
    writer = RecordingWriter(second, "demo:x", "simulator")
    _append(writer, moments)
    writer.close()
    location.close()
    first.close()
    with Recording(str(tmp_path / "a.presman")) as recording:
        assert len(recording.playback()) == 3


def test_a_file_that_is_moved_alone_takes_its_log_along_and_one_that_is_removed_leaves_none(tmp_path: Path) -> None:
    path, moved = tmp_path / "a.presman", tmp_path / "moved.presman"
    moments = list(polled("quiet", 6))
    location = RecordingLocation(str(path))
    for part in range(3):
        store = location.store(START)
        _append(RecordingWriter(store, "demo:x", "simulator"), moments[2 * part : 2 * part + 2])
        if part == 0:
            with closing(sqlite3.connect(path)) as reader:
                reader.execute("BEGIN")
                reader.execute("SELECT count(*) FROM meta").fetchall()
                _append(RecordingWriter(store, "demo:y", "simulator"), moments[:1])
                path.rename(moved)
                with pytest.raises(StoreLostError, match="in use: its last polls are still to be added"):
                    location.store(START)
        elif part == 1:
            path.unlink()
        if part < 2:
            assert not path.exists()
            with pytest.raises(StoreLostError, match="removed or moved away"), store.transaction():
                pass
    location.close()
    for place, counts in ((moved, [(1, 2), (2, 1)]), (path, [(1, 2)])):
        with closing(sqlite3.connect(place)) as file:
            assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            assert file.execute("SELECT database_id, count(*) FROM polls GROUP BY 1").fetchall() == counts


def test_a_replaced_file_is_noticed(tmp_path: Path) -> None:
    moments = list(polled("quiet", 2))
    (tmp_path / "days").mkdir()
    one, other, days = (tmp_path / name for name in ("a.presman", "b.presman", "days/presman-2026-03-12.presman"))
    for path in (one, other, days):
        record(path, moments)
    with Recording(str(one)) as recording, Recording(str(days.parent)) as folder:
        assert not recording.was_replaced()
        other.replace(one)
        assert recording.was_replaced()
        one.unlink()
        with pytest.raises(RecordingError, match="the file is gone"):
            recording.was_replaced()
        days.unlink()
        assert not folder.was_replaced(), "files of a folder come and go"
