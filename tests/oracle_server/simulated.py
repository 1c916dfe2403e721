"""Simulated server: the simulator as a database that thin clients can log in to."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from presman.base.release import Release
from presman.rows.instance_rows import Database
from presman.rows.queries import load
from presman.sources import Request
from presman.sources.simulator.session_commands import _CALL, _CANCEL, _KILL, Refusal, execute
from presman.sources.simulator_source import SimulatorSource
from tests.oracle_server.backend import Backend, OraError
from tests.oracle_server.profiles import profile_of
from tests.oracle_server.server import OracleServer


def simulated_server(
    source: SimulatorSource, release: Release, *, port: int = 0, accounts: Mapping[str, str] | None = None
) -> OracleServer:
    """Return a server, not started, for an open simulator. Its simulated time advances with each statement.

    From here on only the server's thread may use `source`.
    """

    database, publisher = source._database, source._publisher
    assert database is not None
    assert publisher is not None

    def prepare(sql: str) -> None:
        source.advance()
        publisher.refresh(sql)

    def order(sql: str, binds: Mapping[str, Any]) -> bool:
        if not any(pattern.fullmatch(sql.strip()) for pattern in (_CANCEL, _KILL, _CALL)):
            return False
        source.advance()
        try:
            execute(source.simulation, sql, binds)
        except Refusal as refusal:
            raise OraError(refusal.code, refusal.text) from refusal
        return True

    backend = Backend(
        database,
        now=lambda: source.simulation.origin + timedelta(seconds=source.simulation.now),
        prepare=prepare,
        context=_context(source, release),
        order=order,
    )
    return OracleServer(backend, profile_of(release), port=port, accounts=accounts)


def _context(source: SimulatorSource, release: Release) -> dict[str, str]:
    """Return the simulator's values for presman's own session."""
    request = Request(load(release)[Database])
    name, cdb = next(((row.name, row.cdb) for row in source.read([request]).sections[0].rows), ("", "NO"))
    container, con_id = ("CDB$ROOT", "1") if cdb == "YES" else (name, "0")
    return {"SID": str(source.simulation.own_sid), "DB_NAME": name, "CON_NAME": container, "CON_ID": con_id}
