"""Clients other than python-oracledb, where they are to be had.

node-oracledb: `npm install oracledb` in a folder, and that folder in PRESMAN_NODE.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import oracledb
import pytest

from presman.oracle_server import profile_of
from tests.oracle.bench import Bench

NODE = shutil.which("node")
MODULES = Path(os.environ.get("PRESMAN_NODE", "/nonexistent"))


@pytest.mark.skipif(not NODE or not (MODULES / "node_modules" / "oracledb").is_dir(), reason="no node-oracledb")
def test_node_oracledb(bench: Bench) -> None:
    script = Path(__file__).with_name("other_client.mjs")
    done = subprocess.run(
        [str(NODE), str(script), str(MODULES), "presman", "presman", bench.server.dsn],
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["version"] == profile_of(bench.release).version_text
    assert found["one"] == [["orcl", "2026-02-28T10:00:00.000Z"]]
    assert found["many"] == list(range(1, 41))
    assert found["text"] == "select /* é */ 1 from dual\n" * 400
    assert found["error"].startswith("ORA-00942: ")
    assert bench.server.counters.sessions == 0


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
