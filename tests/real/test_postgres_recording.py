"""Recordings in PostgreSQL: what is too much goes, no more, and every command reads them. Run by `make test-real`."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from sqlalchemy import text

from presman.recording.postgres_size import bytes_in_use
from presman.recording.reader import Recording
from presman.recording.retention import RetentionLimits, trim
from presman.recording.shelf import Shelf
from presman.recording.store import Store
from tests.real.postgresql import PostgresServer
from tests.recording.taped import START, polled, record

pytestmark = pytest.mark.skipif(
    not os.environ.get("PRESMAN_REAL"), reason="make test-real runs it: it starts a PostgreSQL server"
)

POLLS = 250
FILES = text(
    "SELECT sum(pg_total_relation_size(oid)) FROM pg_class"
    " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
)


def files(store: Store) -> int:
    with store.engine.connect() as connection:
        return int(connection.execute(FILES).scalar_one())


def vacuumed(store: Store) -> int:
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("VACUUM FULL")
    return files(store)


def test_what_is_too_much_goes_the_oldest_first_and_no_more(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presman.recording.snapshot_writer.CHAIN", 8)
    url = server.database("too_much")
    moments = list(polled("mixed", POLLS))
    record(url, moments)
    shelf = Shelf(url)
    store = shelf.store(START)
    now = moments[-1][0].at
    size = store.size() or 0
    assert 0.7 < size / vacuumed(store) < 1.1
    assert trim(shelf, RetentionLimits(size=files(store)), now) == 0
    before, limit = files(store), int(0.7 * size)
    went = trim(shelf, RetentionLimits(size=limit), now)
    assert files(store) == before  # PostgreSQL gives nothing back, and yet no more is removed than has to be
    assert 0.9 * limit < (store.size() or 0) <= limit
    assert trim(shelf, RetentionLimits(size=limit), now + timedelta(minutes=10)) == 0
    with Recording(url) as recording:
        tape = recording.tape()
        assert len(tape) == POLLS - went
        assert 0.5 * POLLS < len(tape) < 0.85 * POLLS
        assert [tape.reading(place) for place in (1, -1 + len(tape))] == [moments[went + 1][1], moments[-1][1]]
    shelf.close()


def test_without_statistics_nothing_goes(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    url = server.database("strangers")
    record(url, list(polled("mixed", 9)))
    store = Store(url, writing=True)
    with store.transaction() as connection:
        connection.exec_driver_sql("CREATE ROLE recorder")
        connection.exec_driver_sql("GRANT SELECT ON ALL TABLES IN SCHEMA public TO recorder")
    with store.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("SET ROLE recorder")
        assert bytes_in_use(connection, 0) is None
        assert bytes_in_use(connection, 1 << 40) == files(store)
        connection.exec_driver_sql("RESET ROLE")
    store.close()
