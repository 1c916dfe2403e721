from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from msgspec.structs import replace

from presman.base.release import Release
from presman.base.secret import Secret
from presman.rows.queries import load
from presman.rows.snapshot import Section
from presman.sources import Answer, Request
from presman.sources.embedded import EmbeddedDatabase
from presman.sources.oracle.oracle_source import OracleSource
from presman.sources.oracle.settings import ConnectSettings
from tests.oracle_server import OracleServer
from tests.thorough import THOROUGH, some

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
PATIENT = 30.0
"""Seconds a query may take in these tests, however busy the machine is."""

HURRIED = 0.5
"""Seconds a query may take if it hangs and must be given up."""

RELEASES = [Release(12, 1), Release(19), Release(23)]
USUAL = some([Release(19), Release(23)], [Release(12, 1)])
"""The releases of most tests: 23 has pipelines and another login; earlier releases differ only in message fields."""


def across(*cases: Any) -> list[tuple[Release, Any]]:
    """Return all cases on 19 and the first of them on 23; in a thorough run all cases on all releases."""
    return [(each, case) for each in USUAL for case in (cases if THOROUGH or each == USUAL[0] else cases[:1])]


def fill(database: EmbeddedDatabase) -> None:
    """Put a few rows into the views that the tests read."""
    database.replace(
        "GV$INSTANCE",
        ["INST_ID", "INSTANCE_NAME", "HOST_NAME", "VERSION", "STARTUP_TIME", "STATUS", "PARALLEL"],
        [(1, "orcl", "host", "19.0.0.0.0", "2026-02-28 10:00:00", "OPEN", "NO")],
    )
    database.replace(
        "GV$SESSION",
        ["INST_ID", "SID", "SERIAL#", "TYPE", "USERNAME", "LOGON_TIME", "PROGRAM"],
        [(1, sid, 7, "USER", f"USER{sid}", "2026-03-01 11:00:00", "sqlplus") for sid in range(1, 41)],
    )
    database.replace("GV$SYSSTAT", ["INST_ID", "NAME", "VALUE"], [(1, "queries parallelized", 12345)])
    database.replace(
        "GV$SQL",
        ["INST_ID", "SQL_ID", "CHILD_NUMBER", "SQL_FULLTEXT", "ELAPSED_TIME"],
        [(1, "9md3ukhghgj58", 0, "select /* é */ 1 from dual\n" * 400, 10**15)],
    )


@contextmanager
def hurried(source: OracleSource, seconds: float = HURRIED) -> Iterator[None]:
    """Give each call and login little time inside the block, in which something hangs."""
    settings, connect = source._settings, source._connect_timeout
    source._settings, source._connect_timeout = replace(settings, call_timeout=seconds), 2 * seconds
    try:
        yield
    finally:
        source._settings, source._connect_timeout = settings, connect


@dataclass
class Bench:
    """A server, and sources that read it."""

    server: OracleServer
    release: Release
    sources: list[OracleSource] = field(default_factory=list)

    def settings(self, **changes: Any) -> ConnectSettings:
        given = {"dsn": self.server.dsn, "user": "presman", "password": Secret("presman"), "call_timeout": PATIENT}
        return ConnectSettings(**(given | changes))

    def source(self, *, connect_timeout: float = PATIENT, **changes: Any) -> OracleSource:
        source = OracleSource(self.settings(**changes), connect_timeout=connect_timeout)
        self.sources.append(source)
        return source

    def opened(self, **changes: Any) -> OracleSource:
        source = self.source(**changes)
        source.open()
        return source

    def requests(self, *records: type[Any]) -> list[Request]:
        queries = load(self.release)
        return [Request(queries[record]) for record in records]

    def read(self, source: OracleSource, *records: type[Any]) -> tuple[Section, ...]:
        return self.answer(source, *records).sections

    def answer(self, source: OracleSource, *records: type[Any]) -> Answer:
        return source.read(self.requests(*records))

    def put(self, view: str, columns: list[str], rows: list[tuple[Any, ...]]) -> None:
        self.server.call(lambda: self.server.backend.database.replace(view, columns, rows))
