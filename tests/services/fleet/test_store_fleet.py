"""Fleet from a central store: the last polls of recorders, and their age."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from presman.analysis.fleet import KEPT, ConnectionState, Member, Past, is_seen, key_figures_of
from presman.analysis.readings.reading import LateView, Reading
from presman.base.log_event import LogEvent
from presman.recording.fleet_rows import LIVE, LOST, PAST, STOPPED, FleetRow, read_fleet
from presman.recording.measure_tables import MICRO
from presman.recording.retention import RecordingLocation
from presman.recording.store import Store
from presman.recording.writer import RecordingWriter
from presman.rows.snapshot import Snapshot
from presman.services.live import LiveTarget
from presman.services.recorder import DatabaseRecorder
from presman.services.store_fleet import StoreFleet, _Known
from presman.services.store_fleet import _member as member_of
from presman.sources import SourceError
from tests.patience import until
from tests.polling.test_sampler import PATIENCE
from tests.recording.recorded import polled
from tests.services.fleet.members import key_figures
from tests.sources.fakes import FakeSource


@pytest.fixture(scope="module")
def moments() -> list[tuple[Snapshot, Reading]]:
    return list(polled("queueing", 3))


@contextmanager
def watching(place: Path, *patterns: str) -> Iterator[StoreFleet]:
    fleet = StoreFleet(str(place), 3600.0, patterns)
    fleet.start()
    until(lambda: fleet.is_settled, "the store is read")
    yield fleet
    fleet.stop()


def again(fleet: StoreFleet) -> dict[str, Member]:
    """Read the store once more; return its databases by name."""
    before = {name: known.at for name, known in fleet._known.items()}
    fleet.poll_now()
    until(
        lambda: all(fleet._known[name].at > at for name, at in before.items() if name in fleet._known), "another read"
    )
    return {member.name: member for member in fleet.members()}


def write(
    place: Path, moments: list[tuple[Snapshot, Reading]], name: str, every: float | None = 5.0
) -> RecordingWriter:
    writer = RecordingWriter(Store(str(place), writing=True), name, "oracle", every)
    for snapshot, reading in moments:
        writer.append(snapshot, reading)
    return writer


def aged(place: Path, seconds: float) -> None:
    """Make all rows older by `seconds`."""
    with closing(sqlite3.connect(place)) as connection, connection:
        past = round(seconds * MICRO)
        connection.execute("UPDATE fleet SET polled_at = polled_at - ?, link_at = link_at - ?", (past, past))


def test_a_row_has_the_newest_poll_its_age_and_the_past(
    tmp_path: Path, moments: list[tuple[Snapshot, Reading]]
) -> None:
    place = tmp_path / "a.presman"
    writer = write(place, moments[:2], "prod")
    with watching(place) as fleet:
        (member,) = fleet.members()
        assert (member.name, member.connection) == ("prod", ConnectionState.LIVE)
        assert member.key_figures is not None
        expected = key_figures_of(moments[1][1])
        assert (member.key_figures.queued, member.key_figures.alerts, member.key_figures.worst) == (
            expected.queued, expected.alerts, expected.worst
        )  # fmt: skip
        assert member.key_figures.cpu_percent == pytest.approx(expected.cpu_percent, abs=0.01)
        assert member.age is not None
        assert 0 <= member.age < 60
        assert member.past.queued == tuple(len(reading.queue) for _, reading in moments[:2])
        assert again(fleet)["prod"].past == member.past, "a poll is not drawn twice"
        writer.append(*moments[2])
        assert again(fleet)["prod"].past.queued == tuple(len(reading.queue) for _, reading in moments)
    writer.close()


def test_states_follow_age_and_the_end_of_the_recorder(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    place = tmp_path / "a.presman"
    writers = [write(place, moments[:1], name) for name in ("a-live", "b-lost", "c-over")]
    writers[1].lose("ORA-12541: no listener")
    writers[2].close()
    with watching(place) as fleet:
        fleet.set_interval(5.0)
        found = again(fleet)
        assert [member.connection.name for member in found.values()] == ["LIVE", "LOST", "STOPPED"]
        assert found["b-lost"].reason == "its recorder lost the connection: ORA-12541: no listener"
        assert (found["b-lost"].key_figures, found["c-over"].key_figures) == (None, None)
        aged(place, 20)
        late = again(fleet)["a-live"]
        assert (late.connection, late.key_figures is not None) == (ConnectionState.LATE, True)
        aged(place, 100)
        lost = again(fleet)["a-live"]
        assert lost.connection is ConnectionState.LOST
        assert "has written nothing for 2:0" in lost.reason
        writers[0].append(*moments[1])
        assert again(fleet)["a-live"].connection is ConnectionState.LIVE


def test_views_missing_in_the_newest_poll_are_reported(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    snapshot, reading = moments[1]
    late = (LateView("GV$SESSION", 9.0),)
    for name, stale in (("some", 0.0), ("none", 9.0)):
        write(tmp_path / "a.presman", [(snapshot, replace(reading, late=late, stale=stale))], name)
    with watching(tmp_path / "a.presman") as fleet:
        none, some = sorted(fleet.members(), key=lambda each: each.name)
    assert (some.connection, is_seen(some)) == (ConnectionState.LIVE, False)
    assert some.key_figures is not None
    assert some.key_figures.unknown == "not known: GV$SESSION: no answer in time"
    assert (none.connection, none.reason, none.key_figures) == (ConnectionState.LATE, "no view answers", None)


def test_databases_by_name_and_a_folder_of_daily_files(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    old, new = tmp_path / "presman-2026-03-12.presman", tmp_path / "presman-2026-03-13.presman"
    for name in ("prod-a", "prod-b", "test"):
        write(old, moments[:1], name).close()
    write(new, moments[1:2], "prod-a")
    with watching(tmp_path, "prod-*") as fleet:
        found = {member.name: member.connection for member in fleet.members()}
        assert found == {"prod-a": ConnectionState.LIVE, "prod-b": ConnectionState.STOPPED}


def test_a_damaged_file_of_a_folder_is_a_row_beside_the_other_databases(
    tmp_path: Path, moments: list[tuple[Snapshot, Reading]]
) -> None:
    """A file that could not be read hid all the others."""
    old, new = tmp_path / "2026-03-12.presman", tmp_path / "2026-03-13.presman"
    write(old, moments[:1], "prod")
    write(new, moments[1:2], "test").close()
    new.write_bytes(new.read_bytes()[:5000])
    with watching(tmp_path) as fleet:
        found = {member.name: member for member in fleet.members()}
        assert fleet.trouble == ""
        assert found["prod"].connection is ConnectionState.LIVE
        damaged = found[new.name]
        assert (damaged.connection, damaged.key_figures) == (ConnectionState.LOST, None)
        assert damaged.reason.startswith("the file is damaged: ")
    old.unlink()
    with watching(tmp_path) as fleet:
        assert (fleet.members(), "2026-03-13.presman is damaged" in fleet.trouble) == ([], True)


def test_a_damaged_past_does_not_hide_the_rest(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    place = tmp_path / "a.presman"
    write(place, moments, "prod").close()
    with closing(sqlite3.connect(place)) as connection:
        page, size = (
            connection.execute(each).fetchone()[0]
            for each in ("SELECT rootpage FROM sqlite_master WHERE name = 'polls'", "PRAGMA page_size")
        )
    content = bytearray(place.read_bytes())
    content[(page - 1) * size : page * size] = b"\xff" * size
    place.write_bytes(content)
    with watching(place) as fleet:
        (member,) = fleet.members()
        assert (member.name, member.past, fleet.trouble) == ("prod", Past(), "")


def test_unknown_names_are_reported_with_the_names_of_the_store(
    tmp_path: Path, moments: list[tuple[Snapshot, Reading]]
) -> None:
    """`presman fleet FILE TARGET` is no fleet of both: the message was only that the recording lacks it."""
    place = tmp_path / "all.presman"
    for name in "gfbdeca":
        write(place, moments[:1], name).close()
    with watching(place, "demo:quiet", "x*") as fleet:
        assert fleet.trouble == (
            f"{place} has no database demo:quiet or x*: it has a, b, c, d, e and 2 more; words after a recording "
            "choose among its databases; live databases need a fleet of their own"
        )
    with watching(tmp_path / "none.presman", "demo:quiet") as fleet:
        assert "it has" not in fleet.trouble


def test_a_lost_store_is_reported_and_read_again_when_it_is_back(
    tmp_path: Path, moments: list[tuple[Snapshot, Reading]]
) -> None:
    place = tmp_path / "a.presman"
    write(place, moments[:1], "prod").close()
    with watching(tmp_path / "nothing.presman") as fleet:
        assert "nothing.presman: No such file" in fleet.trouble
        assert fleet.members() == []
    with watching(place) as fleet:
        away = place.rename(tmp_path / "b")
        fleet.poll_now()
        until(lambda: fleet.trouble, "the loss is reported")
        assert [member.name for member in fleet.members()] == ["prod"]
        away.rename(place)
        fleet.poll_now()
        until(lambda: not fleet.trouble, "it is read again")


def test_foreign_contents_of_a_store_are_checked(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    place = tmp_path / "a.presman"
    write(place, moments[:1], "prod").close()
    with closing(sqlite3.connect(place)) as connection, connection:
        connection.execute("UPDATE fleet SET link = 'x', severity = 'y', worst = ?, plan = ?", ("\x1b[2J", "\x1b]0;"))
        connection.execute("INSERT INTO databases (target, name, kind) VALUES ('\x1b[31m', '', '')")
    with closing(Store(str(place), writing=False)) as store, store.engine.connect() as connection:
        first, second = read_fleet(connection)
    assert {first.link, second.link} == {"stopped"}
    known = first if first.key_figures else second
    assert known.key_figures is not None
    assert (known.key_figures.severity, known.key_figures.worst, known.key_figures.plan) == ("good", "␛[2J", "␛]0;")
    assert "\x1b" not in first.target + second.target


def test_the_end_of_a_recorder_is_not_an_unknown_fact_of_its_last_poll(
    tmp_path: Path, moments: list[tuple[Snapshot, Reading]]
) -> None:
    place = tmp_path / "a.presman"
    write(place, moments[:1], "prod").close()
    with closing(Store(str(place), writing=False)) as store, store.engine.connect() as connection:
        (row,) = read_fleet(connection)
    assert row.key_figures is not None
    assert (row.reason, row.key_figures.unknown) == ("its recorder was stopped", "")


def test_older_polls_cost_nothing(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    place = tmp_path / "a.presman"
    write(place, moments[:1], "prod").close()
    with closing(sqlite3.connect(place)) as connection:
        plan = connection.execute(f"EXPLAIN QUERY PLAN {PAST['sqlite']}", {"kept": KEPT}).fetchall()
    messages = " ".join(str(row[-1]) for row in plan)
    assert "SEARCH p USING PRIMARY KEY (database_id=? AND poll>?)" in messages
    assert "SCAN p" not in messages


def test_a_recorder_writes_to_its_store_that_a_database_is_lost(tmp_path: Path) -> None:
    place = tmp_path / "a.presman"
    source = FakeSource(failures=[SourceError("ORA-01017: wrong", code="ORA-01017", retry=False)])
    target = LiveTarget("prod", lambda: source, 3600.0, kind="oracle")
    messages: list[LogEvent] = []
    recorder = DatabaseRecorder(target, RecordingLocation(str(place)), messages.append)
    recorder.start()
    assert recorder.finish(PATIENCE)
    with closing(Store(str(place), writing=False)) as store, store.engine.connect() as connection:
        (row,) = read_fleet(connection)
    assert (row.target, row.link, row.reason, row.key_figures) == ("prod", "lost", "ORA-01017: wrong", None)
    assert [(event.event, event.level, event.database) for event in messages] == [("lost", "warning", "prod")]
    recorder.stop_polling()


def test_times_come_from_the_clock_of_the_store(tmp_path: Path, moments: list[tuple[Snapshot, Reading]]) -> None:
    place = tmp_path / "a.presman"
    before = time.time()
    write(place, moments[:1], "prod").close()
    with closing(sqlite3.connect(place)) as connection:
        polled_at, every = connection.execute("SELECT polled_at, every_us FROM fleet").fetchone()
    assert before - 0.001 <= polled_at / MICRO <= datetime.now(UTC).timestamp()
    assert every == 5 * MICRO


def row(link: str = LIVE, age: float | None = 3.0, every: float | None = 5.0, since: float | None = 100.0) -> FleetRow:
    return FleetRow("prod", link, 0, age, since, every, "", key_figures())


@pytest.mark.parametrize(
    ("read", "passed", "connection", "age", "since"),
    [
        (row(), 8.0, ConnectionState.LIVE, 11.0, None),  # late means older than two intervals and a second
        (row(), 8.1, ConnectionState.LATE, 11.1, None),
        (row(age=52.0), 8.0, ConnectionState.LATE, 60.0, None),
        (row(age=52.5), 8.0, ConnectionState.LOST, 60.5, 60.5),  # silent for more than a minute
        (row(), 11.0, ConnectionState.LATE, 14.0, None),
        (row(), 11.1, ConnectionState.LOST, 14.1, 11.1),  # the store is not read: nobody knows
        (row(every=1.0), 8.0, ConnectionState.LIVE, 11.0, None),  # the fleet reads it each 5 s
        (row(every=None), 8.1, ConnectionState.LATE, 11.1, None),  # 5 s is the default
        (row(every=30.0, age=292.0), 8.0, ConnectionState.LATE, 300.0, None),
        (row(every=30.0, age=293.0), 8.0, ConnectionState.LOST, 301.0, 301.0),  # ten intervals
        (row(LOST), 8.0, ConnectionState.LOST, 11.0, 108.0),
        (row(LOST, since=None), 8.0, ConnectionState.LOST, 11.0, None),
        (row(STOPPED), 8.0, ConnectionState.STOPPED, 11.0, 108.0),
        (row(age=None), 8.0, ConnectionState.STOPPED, None, 108.0),
    ],
)
def test_a_database_ages_with_time(
    read: FleetRow, passed: float, connection: ConnectionState, age: float | None, since: float | None
) -> None:
    member = member_of(read, passed, Past(), 5.0)
    assert (member.connection, member.age, member.since) == (connection, pytest.approx(age), pytest.approx(since))
    assert (member.key_figures is None) is (connection not in {ConnectionState.LIVE, ConnectionState.LATE})


def test_a_store_that_hangs_is_the_one_that_is_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    fleet = StoreFleet("a.presman", 5.0)
    now = [100.0]
    monkeypatch.setattr("presman.services.store_fleet.time.monotonic", lambda: now[0])
    fleet._known = {"prod": _Known(row(), 98.0, Past())}
    fleet._reads_since = 100.0
    assert (fleet.trouble, fleet.members()[0].connection) == ("", ConnectionState.LIVE)
    now[0] = 112.0
    (member,) = fleet.members()
    assert fleet.trouble == "a.presman: no answer for 0:12"
    assert (member.connection, member.reason) == (ConnectionState.LOST, "not known: its store was not read for 0:14")
    fleet._reads_since = None
    assert fleet.trouble == ""
