"""Recordings in PostgreSQL: retention removes only the excess, and every command reads them. `make test-real`."""

from __future__ import annotations

import json
import os
from datetime import timedelta

import pytest
from sqlalchemy import text

from presman.recording.reader import Recording
from presman.recording.retention import RecordingLocation, RetentionLimits, trim
from presman.recording.statement_limits import bytes_in_use
from presman.recording.store import Store
from tests.cli.run import Run
from tests.real.postgresql import PostgresServer
from tests.recording.recorded import START, polled, record

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


def test_only_the_oldest_recordings_above_the_limit_are_removed(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("presman.recording.writer.CHAIN", 8)
    url = server.database("too_much")
    moments = list(polled("mixed", POLLS))
    record(url, moments)
    location = RecordingLocation(url)
    store = location.store(START)
    now = moments[-1][0].at
    size = store.size() or 0
    assert 0.7 < size / vacuumed(store) < 1.1
    assert trim(location, RetentionLimits(size=files(store)), now) == 0
    before, limit = files(store), int(0.7 * size)
    went = trim(location, RetentionLimits(size=limit), now)
    assert files(store) == before  # PostgreSQL gives nothing back, and yet no more is removed than has to be
    assert 0.85 * limit < (store.size() or 0) <= limit  # by the number of polls, which are not all of one size
    assert trim(location, RetentionLimits(size=limit), now + timedelta(minutes=10)) == 0
    with Recording(url) as recording:
        playback = recording.playback()
        assert len(playback) == POLLS - went
        assert 0.5 * POLLS < len(playback) < 0.85 * POLLS
        assert [playback.reading(place) for place in (1, -1 + len(playback))] == [moments[went + 1][1], moments[-1][1]]
    location.close()


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


def test_every_command_that_reads_a_recording_reads_one_in_postgresql(server: PostgresServer, inside: Run) -> None:
    url = server.database("read")
    record(url, list(polled("mixed", 9)), "demo:mixed")
    moments = list(polled("queueing", 40))
    record(url, moments, "demo:queueing")
    moment = moments[20][0].at
    at, early, late = (f"{moment + timedelta(seconds=each):%Y-%m-%dT%H:%M:%S%z}" for each in (0, -60, 60))
    one = f"{url}?database=demo:queueing"

    def out(*arguments: str) -> str:
        done = inside(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert " poll 21, " in out("once", one, "--at", at)
    assert " poll 40, " in out("once", one)
    assert [f"poll {number}, " in out("replay", one, "--at", at) for number in (18, 19, 20, 21, 22)] == [
        False, True, True, True, False,
    ]  # fmt: skip
    assert "25 polls" in out("report", one, "--from", early, "--to", late, "-o", "-")
    assert "PRESMAN OK" in out("check", one, "--at", "last")
    old = inside("check", one)
    assert (old.returncode, "its recorder was stopped" in old.stdout) == (3, True)
    assert "replayed" in out("whatif", one)
    compared = json.loads(out("compare", f"{one}@{early}..{at}", f"@{at}..{late}", "--format", "json"))
    assert (compared["first"]["polls"], compared["second"]["polls"]) == (13, 13)
    assert out("export", one, "-o", "-").count("\n") > 40
    several = inside("once", url)
    assert several.returncode == 3
    assert "choose one by ?database=NAME: demo:mixed, demo:queueing" in several.stderr
    assert "***" in inside("once", one.replace("postgres@", "postgres:geheim@").replace("/read", "/none")).stderr


SLOW = "CREATE FUNCTION slow(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT 1::bigint FROM pg_sleep(60)'"


@pytest.mark.parametrize(
    "harm",
    [
        "ALTER TABLE meta RENAME TO other; CREATE VIEW meta AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1"
        " FROM n) SELECT i::text AS name, '' AS value FROM n",
        "ALTER TABLE polls ENABLE ROW LEVEL SECURITY; CREATE POLICY p ON polls USING (pg_sleep(60) IS NOT NULL)",
        "CREATE FUNCTION slow(text, varchar) RETURNS bool LANGUAGE sql AS 'SELECT pg_sleep(60) IS NOT NULL';"
        " CREATE OPERATOR = (LEFTARG = text, RIGHTARG = varchar, FUNCTION = slow)",
        "CREATE FUNCTION length(varchar) RETURNS int LANGUAGE sql AS 'SELECT 1 FROM pg_sleep(60)'",
        f"{SLOW}; ALTER TABLE events ADD COLUMN more bigint DEFAULT 1;"
        " ALTER TABLE events ALTER COLUMN more SET DEFAULT slow(1)",
        f"{SLOW}; ALTER TABLE blocks ADD CONSTRAINT more CHECK (slow(length(content)) = 1) NOT VALID",
        f"{SLOW}; CREATE INDEX more ON blocks (slow(poll)) WHERE poll > 1000000",
        f"{SLOW}; CREATE DOMAIN number AS bigint CHECK (value = 0 OR slow(value) = 1) NOT NULL;"
        " ALTER TABLE blocks ADD COLUMN more number DEFAULT 0",
        f"{SLOW}; ALTER TABLE meta ADD COLUMN more bigint GENERATED ALWAYS AS (length(value)) STORED",
    ],
    ids=["view", "policy", "operator", "function", "default", "check", "index", "type", "generated"],
)
def test_foreign_objects_are_not_executed(harm: str, server: PostgresServer, inside: Run) -> None:
    url = server.database(f"harm_{abs(hash(harm))}")
    record(url, list(polled("quiet", 3)))
    store = Store(url, writing=True)
    with store.transaction() as connection:
        connection.exec_driver_sql(harm)
    store.close()
    for words in (("once", url), ("report", url, "-o", "-")):
        done = inside(*words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (3, "", 1)
        assert "is not what a recorder makes" in done.stderr
    assert "is not what a recorder makes" in inside("record", "demo", "--polls", "1", "-o", url).stderr
