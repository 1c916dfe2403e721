"""Embedded database: a process may end while an abandoned thread runs a query."""

from __future__ import annotations

import subprocess
import sys

from presman.base.release import Release
from presman.rows.instance_rows import Parameter
from presman.rows.queries import Scope, load
from presman.sources.embedded import EmbeddedDatabase
from tests.cli.run import environment

_ENDING = """
import sys, threading, time, weakref
from presman.base.release import Release
from presman.sources.embedded import EmbeddedDatabase

class Kept: ...

kept = Kept()
weakref.finalize(kept, time.sleep, 0.3)  # what comes first is finalized last: time for the thread to stumble
database = EmbeddedDatabase(Release(19))
begun = threading.Event()

def run():
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    try:
        for _ in database.driver.execute(endless):
            begun.set()
    except BaseException as error:
        print(f"{error}", flush=True)

threading.Thread(target=run, daemon=True).start()
begun.wait()
"""


def test_a_query_under_way_is_left_alone_at_the_end() -> None:
    """Its database was closed during the query: one fleet in forty died of a segmentation fault at its end."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDING], capture_output=True, text=True, check=False, env=environment(), timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_an_answer_is_that_of_the_rows_filled_last() -> None:
    database = EmbeddedDatabase(Release(19))
    query = load(Release(19))[Parameter]

    def values() -> list[str]:
        return [row.value for row in database.run(query, Scope.CLUSTER, {}).rows]

    columns = ["INST_ID", "NAME", "VALUE"]
    database.replace("GV$SYSTEM_PARAMETER", columns, [(1, "cpu_count", "8")])
    assert values() == values() == ["8"]
    database.replace("GV$SYSTEM_PARAMETER", columns, [(1, "cpu_count", "16")])
    assert values() == ["16"]
    database.replace("GV$SYSTEM_PARAMETER", columns, [])
    assert values() == []
