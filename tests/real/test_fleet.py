"""A fleet that records into PostgreSQL: a server of the tests, real in all it does. Run by `make test-real`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from presman.figures.measures import MEASURES
from presman.recorder.database_recorder import DatabaseRecorder, RecordedTarget
from presman.recording.reader import Recording
from presman.recording.shelf import Shelf
from presman.recording.store import RecordingError, Store
from presman.recording.writer import RecordingWriter
from presman.records.queries import Scope
from presman.sources.simulator_source import SimulatorSource
from tests.real.postgresql import Missing, PostgresServer, until
from tests.recording.taped import polled, record
from tests.scenarios import with_short_past

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts a PostgreSQL server"
)

RECORDERS = 8


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PostgresServer]:
    try:
        made = PostgresServer(tmp_path_factory.mktemp("postgresql"))
    except Missing as missing:
        pytest.skip(str(missing))
    made.start()
    yield made
    made.stop("immediate")


def recorder(number: int, place: str, polls: int, told: list[str]) -> DatabaseRecorder:
    def make() -> SimulatorSource:
        return SimulatorSource(with_short_past("quiet"), seed=number)

    target = RecordedTarget(f"demo:{number}", "simulator", make, 0.5, Scope.CLUSTER, (), None)
    return DatabaseRecorder(target, Shelf(place), told.append, polls=polls)


def test_a_recording_in_postgresql_is_as_exact_as_in_a_file(server: PostgresServer) -> None:
    moments = list(polled("mixed", 5))
    record(server.url, moments, "demo:exact")
    with Recording(server.url) as recording:
        tape = recording.tape("demo:exact")
        assert [tape.reading(place) for place in range(5)] == [reading for _, reading in moments]
        for measure in MEASURES.keys() - {"arrivals"}:
            expected = sum(len(MEASURES[measure].tidy(reading)) for _, reading in moments)
            assert len(tape.figures(measure)) == expected
        assert len(tape.strip(3)) == 3
        assert tape.chart_rows(moments[0][0].at, moments[4][0].at)
        with tape._parts[0][0].engine.connect() as connection:
            for measure in MEASURES:
                connection.exec_driver_sql(f'SELECT * FROM "{measure}" LIMIT 1').all()
        assert tape.damage == []


def test_eight_recorders_at_once_and_a_server_that_restarts_lose_no_poll(server: PostgresServer) -> None:
    told: list[str] = []
    recorders = [recorder(number, server.url, 12, told) for number in range(RECORDERS)]
    for each in recorders:
        each.start()
    until(lambda: all(each.written >= 3 for each in recorders), 120)
    server.stop()
    until(lambda: all(each.waiting >= 1 for each in recorders))
    server.start()
    until(lambda: all(each.is_over for each in recorders), 120)
    for each in recorders:
        each.stop_polling()
        each._shelf.close()
    assert [each.given_up for each in recorders] == [0] * RECORDERS
    assert sum("polls wait in memory" in text for text in told) >= RECORDERS
    with Recording(server.url) as recording:
        for number in range(RECORDERS):
            tape = recording.tape(f"demo:{number}")
            assert [tape.snapshot(place).number for place in range(len(tape))] == list(range(1, 13))
            assert tape.damage == []


def test_a_server_that_is_away_is_told_in_one_line(server: PostgresServer) -> None:
    away = server.url.replace(str(server.port), "1").replace("postgres@", "postgres:geheim@")
    with pytest.raises(RecordingError) as caught:
        Store(away, writing=True)
    assert "geheim" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_two_recorders_of_one_database_are_told(server: PostgresServer) -> None:
    moments = list(polled("quiet", 3))
    stores = [Store(server.url, writing=True) for _ in range(2)]
    writers = [RecordingWriter(store, "demo:twice", "simulator") for store in stores]
    for writer, (snapshot, reading) in zip(writers, moments, strict=False):
        writer.append(snapshot, reading)
    with pytest.raises(RecordingError, match="another recorder writes demo:twice"):
        writers[0].append(*moments[2])
    for store in stores:
        store.close()
