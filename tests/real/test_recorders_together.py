"""Several recorders with one PostgreSQL: they start at once, share texts, and never remove or delay others' data.

Run by `make test-real`.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
from sqlalchemy import Connection, text

from presman.base.log_event import LogEvent
from presman.recording.reader import Recording
from presman.recording.retention import RecordingLocation, RetentionLimits, trim
from presman.recording.store import Store
from presman.recording.store_errors import StoreLostError
from presman.recording.writer import RecordingWriter
from presman.rows.queries import Scope
from presman.services.live import LiveTarget
from presman.services.recorder import Recorder
from presman.services.store_fleet import StoreFleet
from tests.patience import until
from tests.real.postgresql import PostgresServer
from tests.recording.recorded import START, Moment, polled, record
from tests.sources.fakes import FakeSource

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts a PostgreSQL server"
)

WAITING = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
OLD = 7
"""Microseconds since 1970: long ago."""


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as threads:
        yield threads


def polls(url: str, target: str) -> int:
    with Recording(url) as recording:
        return len(recording.playback(target))


def together(aside: ThreadPoolExecutor, many: int, work: Callable[[int], None]) -> None:
    """Do something so many times, all of them beginning at the same moment."""
    line = threading.Barrier(many)

    def run(number: int) -> None:
        line.wait(30)
        work(number)

    for each in [aside.submit(run, number) for number in range(many)]:
        each.result(60)


def test_four_that_begin_at_once_in_an_empty_database(server: PostgresServer, aside: ThreadPoolExecutor) -> None:
    """Each creates the tables or finds them, has its own database_id, and writes texts that all share."""
    url = server.database("at_once")
    moments = list(polled("storm", 6))

    def work(number: int) -> None:
        store = Store(url, writing=True)
        writer = RecordingWriter(store, f"db{number}", "simulator")
        for moment in moments:
            writer.append(*moment)
        writer.close()
        store.close()

    together(aside, 4, work)
    with Recording(url) as recording:
        assert [playback.target for playback in recording.playbacks] == ["db0", "db1", "db2", "db3"]
        for playback in recording.playbacks:
            assert [playback.reading(place) for place in range(6)] == [reading for _, reading in moments]
            assert playback.damage == []


# ---- what is removed is one's own


def two(url: str, moments: Sequence[Moment]) -> RecordingLocation:
    """Record the same polls of two databases, each a recorder's of its own; return the shelf of the first."""
    for target in ("mine", "theirs"):
        record(url, list(moments), target)
    location = RecordingLocation(url)
    location.store(START)
    return location


def test_each_recorder_removes_only_its_own_old_polls(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 8)
    url = server.database("too_old")
    moments = list(
        polled("quiet", 40)
    )  # 5 s apart: those older than 100 s are 19, which are two chains of 8 and 3 more
    location = two(url, moments)
    limits = RetentionLimits(age=timedelta(seconds=100))
    assert trim(location, limits, moments[-1][0].at, ["mine"]) == 16
    assert trim(location, limits, moments[-1][0].at, ["mine"]) == 0
    assert (polls(url, "mine"), polls(url, "theirs")) == (24, 40)
    with Recording(url) as recording:
        assert recording.playback("theirs").reading(1) == moments[1][1]
        assert recording.playback("mine").reading(1) == moments[17][1]
    assert trim(location, limits, moments[-1][0].at) == 16, "of all that are there"
    location.close()


def test_a_size_is_of_what_one_recorder_has_written(
    server: PostgresServer, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two databases with the same polls are half of it each; both recorders may remove at the same time."""
    monkeypatch.setattr("presman.recording.writer.CHAIN", 8)
    url = server.database("sizes")
    moments = list(polled("mixed", 80))
    location = two(url, moments)
    store = location.store(START)
    whole, mine = store.size() or 0, store.size(0, ["mine"]) or 0
    assert mine == pytest.approx(whole / 2, rel=0.02)
    now = moments[-1][0].at
    assert trim(location, RetentionLimits(size=int(1.1 * mine)), now, ["mine"]) == 0, "less than all is its own"
    went = trim(location, RetentionLimits(size=int(0.7 * mine)), now, ["mine"])
    assert 0.2 * 80 < went < 0.5 * 80
    assert (polls(url, "mine"), polls(url, "theirs")) == (80 - went, 80)

    def removing(number: int) -> None:
        own = RecordingLocation(url)
        own.store(START)
        assert trim(own, RetentionLimits(age=timedelta(seconds=100)), now, [("mine", "theirs")[number]]) > 0
        own.close()

    together(aside, 2, removing)  # of 80 polls the last 21 are no older: 7 chains of 8 have ended before them
    assert (polls(url, "mine"), polls(url, "theirs")) == (24, 24)
    location.close()


def test_a_recorder_removes_what_it_records(server: PostgresServer) -> None:
    """Old polls of a database that it does not record stay. It removes old polls in its first second."""
    url = server.database("recorder")
    long_ago = list(polled("quiet", 4))
    for each in ("fake", "theirs"):
        record(url, long_ago, each)
    source = partial(FakeSource, now=datetime.now(UTC))
    target = LiveTarget("fake", source, 0.1, Scope.INSTANCE, kind="simulator")
    recorder = Recorder([target], url, lambda _: None, limits=RetentionLimits(age=timedelta(days=1)))
    recorder.run(2.5, lambda: None)
    assert polls(url, "theirs") == 4
    with Recording(url) as recording:
        assert recording.playback("fake").at(0) > long_ago[-1][0].at


# ---- a server that hangs


def test_a_server_that_hangs_is_reported_and_nothing_is_lost(
    server: PostgresServer, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presman.services.recorder.LONGEST_WAIT", 1.0)
    monkeypatch.setattr("presman.services.store_fleet.USUAL", 0.5)
    url, logged = server.database("hangs"), list[LogEvent]()
    target = LiveTarget("fake", partial(FakeSource, now=datetime.now(UTC)), 0.1, Scope.INSTANCE, kind="simulator")
    recorder = Recorder([target], url, logged.append)
    (database,) = recorder.databases
    ended = threading.Event()

    def step() -> None:
        if ended.is_set():
            raise KeyboardInterrupt

    running = aside.submit(recorder.run, None, step)
    fleet = StoreFleet(url, 0.2)
    try:
        until(lambda: database.written > 2, "polls are written")
        fleet.start()
        until(lambda: [each.connection.name for each in fleet.members()] == ["LIVE"], "the fleet shows it")
        with server.hanging():
            until(lambda: database.output_trouble, "the recorder reports that")
            until(lambda: fleet.trouble, "the fleet reports that")
            until(lambda: "its store was not read" in fleet.members()[0].reason, "the store is blamed")
        until(lambda: not database.output_trouble, "it is written again")
        until(lambda: not fleet.trouble, "it is read again")
    finally:
        ended.set()
        fleet.stop()
        with suppress(KeyboardInterrupt):
            running.result(60)
    reported = [each.event for each in logged if each.level != "debug"]
    assert reported == ["not_written", "written_again"]
    assert (database.waiting, database.given_up) == (0, 0)
    assert polls(url, "fake") == database.written


# ---- no recorder blocks another


def somebody_waits(store: Store) -> bool:
    with store.engine.connect() as connection:  # a new one each time: within a transaction the answer stays the same
        return bool(connection.execute(text(WAITING)).scalar())


def texts_of(connection: Connection) -> list[bytes]:
    return [bytes(each) for (each,) in connection.execute(text("SELECT hash FROM texts ORDER BY hash"))]


def marked(connection: Connection, hashes: Sequence[bytes], at: int) -> None:
    """Mark texts as in use, as a recorder does that writes them: they are locked until its poll is written."""
    for each in hashes:
        connection.execute(text("UPDATE texts SET last_at = :at WHERE hash = :hash"), {"at": at, "hash": each})


def test_a_silent_recorder_does_not_block_others(
    server: PostgresServer, aside: ThreadPoolExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine is stopped or cut off: PostgreSQL sees a live session, which locks texts of all recorders."""
    monkeypatch.setattr("presman.recording.store._SILENT_MS", 700)
    url = server.database("silent")
    moments = list(polled("storm", 3))
    record(url, moments[:1], "silent")
    with ExitStack() as held:
        stores = [Store(url, writing=True) for _ in range(2)]
        for each in stores:
            held.callback(each.close)
        silent = stores[0].engine.connect()
        held.callback(silent.close)
        marked(silent, texts_of(silent), OLD)
        other = RecordingWriter(stores[1], "other", "simulator")
        writing: Future[int] = aside.submit(other.append, *moments[1])
        until(partial(somebody_waits, stores[1]), "the other one waits for a text")
        assert writing.result(30) == 0
        with pytest.raises(StoreLostError, match="idle-in-transaction"), stores[0].translating_errors():
            texts_of(silent)
        woken = RecordingWriter(stores[0], "silent", "simulator")
        assert woken.append(*moments[2]) == 1, "it continues when it wakes"


def test_texts_that_are_written_while_others_are_removed(server: PostgresServer, aside: ThreadPoolExecutor) -> None:
    """While it waits, the remover locks no text that the writer has yet to write, in any order."""
    url = server.database("texts")
    moments = list(polled("quiet", 3))
    for target in ("old", "young"):
        record(url, moments, target)
    location = RecordingLocation(url)
    store = location.store(START)
    hashes = [bytes([number]) * 16 for number in (3, 2, 1)]
    with store.transaction() as connection:
        connection.execute(text("DELETE FROM texts"))
        for each in hashes:  # the last of the order lies first
            values = {"hash": each, "at": OLD}
            connection.execute(text("INSERT INTO texts (hash, text, last_at) VALUES (:hash, 'SELECT', :at)"), values)
    now = moments[-1][0].at + timedelta(days=9)
    in_use = round(now.timestamp() * 1e6)
    with store.transaction() as connection:
        marked(connection, hashes[2:], in_use)
        trimming = aside.submit(trim, location, RetentionLimits(age=timedelta(days=1)), now, ["old"])
        until(partial(somebody_waits, store), "the removal waits for the first text")
        marked(connection, hashes[:1], in_use)
    assert trimming.result(30) == 3
    with store.engine.connect() as connection:
        assert texts_of(connection) == [hashes[2], hashes[0]], "what was written meanwhile stays"
    location.close()


def test_more_databases_than_connections_wait_and_are_not_given_up(server: PostgresServer) -> None:
    store = Store(server.database("taken"), writing=True)
    moment = next(iter(polled("quiet", 1)))
    writer = RecordingWriter(store, "late", "simulator")
    pool = store.engine.pool
    pool._timeout = 0.1  # type: ignore[attr-defined]
    with ExitStack() as taken:
        for _ in range(15):
            taken.enter_context(store.engine.connect())
        with pytest.raises(StoreLostError, match="all connections to it are taken"):
            writer.append(*moment)
    assert writer.append(*moment) == 0
    store.close()
