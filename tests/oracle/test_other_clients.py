"""Clients other than python-oracledb, where available: CONTRIBUTING.md says how to get them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import oracledb
import pytest

from tests.oracle.bench import Bench
from tests.oracle_server import profile_of

CLIENTS = Path(__file__).with_name("clients")
LOGIN = ("presman", "presman")


def place(variable: str) -> Path:
    return Path(os.environ.get(variable, "/nonexistent"))


def node() -> list[str] | None:
    folder = place("PRESMAN_NODE")
    found = shutil.which("node") if (folder / "node_modules" / "oracledb").is_dir() else None
    return [found, str(CLIENTS / "client.mjs"), str(folder)] if found else None


def go() -> list[str] | None:
    folder = place("PRESMAN_GO")
    found = shutil.which("go") if (folder / "go.mod").is_file() else None
    return [found, "-C", str(folder), "run", str(CLIENTS / "client.go")] if found else None


def jdbc() -> list[str] | None:
    archive = place("PRESMAN_JDBC")
    found = shutil.which("java") if archive.is_file() else None
    return [found, "-Duser.timezone=UTC", "-cp", str(archive), str(CLIENTS / "Client.java")] if found else None


@pytest.mark.parametrize("client", [node, go, jdbc])
def test_clients_of_other_authors(bench: Bench, client: Callable[[], list[str] | None]) -> None:
    command = client()
    if command is None:
        pytest.skip(f"no {client.__name__} client: CONTRIBUTING.md says how to get one")
    done = subprocess.run(
        [*command, *LOGIN, bench.server.dsn], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    banner = profile_of(bench.release).version_text
    assert found.get("version", banner).endswith(banner)
    assert found["one"] == [["orcl", "2026-02-28 10:00:00"]]
    assert found["many"] == list(range(1, 41))
    assert found["text"] == "select /* é */ 1 from dual\n" * 400
    assert found["error"].startswith("ORA-00942: ")
    while bench.server.counters.sessions:  # the server may notice a client's end later
        time.sleep(0.005)
    assert bench.server.counters.most_sessions == 1


def test_pool_and_locators(bench: Bench) -> None:
    pool = oracledb.create_pool(user="presman", password="presman", dsn=bench.server.dsn, min=1, max=3)
    with pool.acquire() as one, pool.acquire() as other:
        assert one.session_id != other.session_id
        with one.cursor() as cursor:
            cursor.execute("SELECT sql_fulltext FROM gv$sql", fetch_lobs=True)
            lob = cursor.fetchone()[0]
            assert lob.size() == 27 * 400
            assert lob.read(28, 6) == "select"
    bench.server.drop_sessions()
    with pool.acquire() as healed, healed.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM gv$session WHERE sid > :low AND sid < :high", low=10, high=21)
        assert cursor.fetchone() == (10,)
    pool.close()


def test_nothing_can_be_written(bench19: Bench) -> None:
    connection = oracledb.connect(user="presman", password="presman", dsn=bench19.server.dsn)
    with connection.cursor() as cursor:
        for text in ("DELETE FROM gv$session", "DROP TABLE dual", "BEGIN NULL; END;", "ALTER SYSTEM FLUSH SHARED_POOL"):
            with pytest.raises(oracledb.DatabaseError, match="ORA-16000"):
                cursor.execute(text)
        with pytest.raises(oracledb.DatabaseError, match='ORA-00904: "NO_SUCH"'):
            cursor.execute("SELECT no_such FROM gv$session")
        with pytest.raises(oracledb.DatabaseError, match="ORA-00900"):
            cursor.execute("SELECT FROM WHERE")
        cursor.execute("ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY'")
        cursor.execute("SELECT DISTINCT 'it''s :not ?' AS text, USER_ID.dummy FROM dual user_id -- :a\n")
        assert cursor.fetchall() == [("it's :not ?", "X")]
    connection.close()
