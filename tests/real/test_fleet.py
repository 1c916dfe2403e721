"""A fleet that records into PostgreSQL: a server of the tests, real in all it does. Run by `make test-real`."""

from __future__ import annotations

import os

import pytest
from sqlalchemy import Connection, text

from presman.analysis.fleet import key_figures_of
from presman.analysis.readings.reading import CLUSTER
from presman.base.log_event import LogEvent
from presman.figures.measures import MEASURES
from presman.recording.fleet_rows import PAST, read_fleet, read_past
from presman.recording.measure_tables import selects
from presman.recording.reader import Recording
from presman.recording.retention import RecordingLocation
from presman.recording.schema import FLEET
from presman.recording.store import Store
from presman.recording.store_errors import RecordingError
from presman.recording.window_lines import FIGURES, group_lines
from presman.recording.writer import RecordingWriter
from presman.services.live import LiveTarget
from presman.services.recorder import DatabaseRecorder
from presman.sources.simulator_source import SimulatorSource
from presman.tui.past_timeline import timeline_before
from tests.real.postgresql import PostgresServer, until
from tests.recording.recorded import figures, polled, record
from tests.scenarios import with_short_past

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts a PostgreSQL server"
)

RECORDERS = 8


def recorder(number: int, place: str, polls: int, events: list[LogEvent]) -> DatabaseRecorder:
    def make() -> SimulatorSource:
        return SimulatorSource(with_short_past("quiet"), seed=number)

    target = LiveTarget(f"demo:{number}", make, 0.5, kind="simulator")
    return DatabaseRecorder(target, RecordingLocation(place), events.append, polls=polls)


def test_a_recording_in_postgresql_is_as_exact_as_in_a_file(server: PostgresServer) -> None:
    moments = list(polled("mixed", 5))
    record(server.url, moments, "demo:exact")
    with Recording(server.url) as recording:
        playback = recording.playback("demo:exact")
        assert [playback.reading(place) for place in range(5)] == [reading for _, reading in moments]
        for measure in selects("postgresql").keys() - {"arrivals"}:
            expected = sum(len(MEASURES[measure].tidy(reading)) for _, reading in moments)
            assert len(figures(playback, measure)) == expected
        assert len(playback.strip(3)) == 3
        lines = group_lines(playback, moments[0][0].at, moments[4][0].at, tuple(FIGURES))
        assert len(lines.times) == 5
        assert {figure for figure, _ in lines.values} == set(FIGURES)
        assert playback.index(moments[2][0].at) == 2
        assert playback.at(3) == moments[3][0].at
        before = timeline_before(playback, moments[3][0], moments[4][0].at)
        assert before.watch.runs.open
        assert before.series.names("used", CLUSTER)
        with playback._parts[0][0].engine.connect() as connection:
            for measure in selects("postgresql"):
                connection.exec_driver_sql(f'SELECT * FROM "{measure}" LIMIT 1').all()
        assert playback.damage == []


def test_eight_recorders_at_once_and_a_server_that_restarts_lose_no_poll(server: PostgresServer) -> None:
    events: list[LogEvent] = []
    recorders = [recorder(number, server.url, 12, events) for number in range(RECORDERS)]
    for each in recorders:
        each.start()
    until(lambda: all(each.written >= 3 for each in recorders), 120)
    server.stop()
    until(lambda: all(each.waiting >= 1 for each in recorders))
    server.start()
    until(lambda: all(each.is_over for each in recorders), 120)
    for each in recorders:
        each.stop_polling()
        each._location.close()
    assert [each.given_up for each in recorders] == [0] * RECORDERS
    assert sum("polls wait in memory" in event.message for event in events) >= RECORDERS
    with Recording(server.url) as recording:
        for number in range(RECORDERS):
            playback = recording.playback(f"demo:{number}")
            assert [playback.snapshot(place).number for place in range(len(playback))] == list(range(1, 13))
            assert playback.damage == []


def test_an_unavailable_server_is_a_message_of_one_line(server: PostgresServer) -> None:
    away = server.url.replace(str(server.port), "1").replace("postgres@", "postgres:geheim@")
    with pytest.raises(RecordingError) as caught:
        Store(away, writing=True)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_recorders_of_one_database_are_reported(server: PostgresServer) -> None:
    moments = list(polled("quiet", 3))
    stores = [Store(server.url, writing=True) for _ in range(2)]
    writers = [RecordingWriter(store, "demo:twice", "simulator") for store in stores]
    for writer, (snapshot, reading) in zip(writers, moments, strict=False):
        writer.append(snapshot, reading)
    with pytest.raises(RecordingError, match="another recorder writes demo:twice"):
        writers[0].append(*moments[2])
    for store in stores:
        store.close()


def test_hundreds_of_databases_are_one_select(server: PostgresServer) -> None:
    for number in range(2):
        record(server.url, list(polled("queueing", 3)), f"fleet-{number}")
    store = Store(server.url, writing=True)
    with store.transaction() as connection:
        _multiply(connection, 300)
    with store.engine.connect() as connection:
        rows = {row.target: row for row in read_fleet(connection)}
        past = read_past(connection)
        plan = "\n".join(line for (line,) in connection.execute(text(f"EXPLAIN {PAST['postgresql']}"), {"kept": 60}))
    store.close()
    assert len([name for name in rows if name.startswith("many-")]) == 300
    assert (
        rows["fleet-0"].key_figures == rows["fleet-1"].key_figures == key_figures_of(list(polled("queueing", 3))[-1][1])
    )
    assert rows["many-7"].key_figures.queued == rows["fleet-0"].key_figures.queued
    assert rows["many-7"].link == "live"
    assert rows["many-7"].age < 60
    assert [each.queued for each in past["many-7"]] == [number % 7 for number in range(940, 1000)]
    assert "Seq Scan on polls" not in plan


def _multiply(connection: Connection, number: int) -> None:
    """Make so many databases of the first one, with a thousand polls each."""
    for statement in (
        "INSERT INTO databases (target, name, kind) SELECT 'many-' || g, 'MANY', 'oracle' FROM"
        f" generate_series(1, {number}) g",
        "CREATE TEMPORARY TABLE one AS SELECT f.* FROM fleet f JOIN databases d USING (database_id)"
        " WHERE d.target = 'fleet-0'",
        "UPDATE one SET link = 'live'",
    ):
        connection.exec_driver_sql(statement)
    columns = ", ".join(column.name for column in FLEET.columns if column.name != "database_id")
    connection.exec_driver_sql(
        f"INSERT INTO fleet (database_id, {columns}) SELECT d.database_id, {columns} FROM databases d, one"
        " WHERE d.target LIKE 'many-%%'"
    )
    connection.exec_driver_sql(
        "INSERT INTO polls (database_id, poll, at, number, epoch, queued, used_cpus) SELECT d.database_id, g, g, g, 1,"
        " g %% 7, 10000 FROM databases d, generate_series(0, 999) g WHERE d.target LIKE 'many-%%'"
    )
