"""Views of session statistics: V$STATNAME, V$SESSTAT and V$PX_SESSTAT."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from presman.sources.simulator.executions import Execution
from presman.sources.simulator.processes import Server, SimulatedSession
from presman.sources.simulator.views.view import Row, View, columns, never

if TYPE_CHECKING:
    from presman.sources.simulator.simulation import Simulation

_NUMBERS = {
    "user commits": 6, "user calls": 9, "session logical reads": 14, "CPU used by this session": 19, "DB time": 20,
    "session pga memory": 36, "physical read total bytes": 58, "physical write total bytes": 67, "redo size": 288,
    "execute count": 1085, "SQL*Net roundtrips to/from client": 1092, "bytes sent via SQL*Net to client": 1090,
}  # fmt: skip
"""Some statistics and their numbers here; every release of the database has its own."""
_BLOCK = 8192


def _names(simulation: Simulation) -> Iterator[Row]:
    for machine in simulation.machines:
        for name, number in _NUMBERS.items():
            yield (machine.inst_id, number, name)


def _row(name: str, value: float) -> tuple[int, int]:
    return _NUMBERS[name], int(value)


def _of_work(cpu: float, lasted: float, mb: float) -> list[tuple[int, int]]:
    """Return the statistics of so many CPU seconds, seconds and MB read."""
    read = mb * 2**20
    return [
        _row("session logical reads", read / _BLOCK + cpu * 900),
        _row("CPU used by this session", cpu * 100),
        _row("DB time", lasted * 100),
        _row("physical read total bytes", read),
        _row("physical write total bytes", read * 0.02),
        _row("session pga memory", 4 * 2**20 + min(lasted, 60) * 2**20),
    ]


def _of_session(session: SimulatedSession, execution: Execution | None, now: float) -> list[tuple[int, int]]:
    serial = execution if execution is not None and not execution.servers else None
    lasted = session.pq_active + (now - execution.started if execution and execution.started else 0.0)
    cpu = session.cpu + (serial.cpu if serial else 0.0) + 0.02 * lasted
    calls = 40 + session.times_queued * 3
    return [
        *_of_work(cpu, lasted + session.cpu, serial.mb if serial else 0.0),
        _row("user calls", calls),
        _row("execute count", calls),
        _row("SQL*Net roundtrips to/from client", calls * 2),
        _row("bytes sent via SQL*Net to client", calls * 2400),
    ]


def _of_server(execution: Execution, server: Server, now: float) -> tuple[float, float, float]:
    """Return CPU seconds, seconds and MB read of a parallel server."""
    number = len(execution.servers)
    cpu, _ = execution.time.of(server.skew, number)
    return cpu, now - execution.started, execution.mb * (1 + server.skew) / number


def _sesstat(simulation: Simulation) -> Iterator[Row]:
    now = simulation.now
    for session, execution in simulation.workload.executions.items():
        for number, value in _of_session(session, execution, now):
            yield (session.inst_id, session.sid, number, value, session.con_id)
        for server in execution.servers:
            parts = _of_server(execution, server, now)
            for number, value in _of_work(*parts):
                yield (server.inst_id, server.sid, number, value, session.con_id)


def _px_sesstat(simulation: Simulation) -> Iterator[Row]:
    now = simulation.now
    for execution in simulation.workload.executions.values():
        if not execution.servers:
            continue
        session, ticket = execution.session, execution.ticket
        for number, value in _of_session(session, execution, now):
            own = (session.sid, None, None, None, None, None, None, None)
            yield (session.inst_id, session.sid, session.serial, *own, number, value, session.con_id)
        for server in execution.servers:
            parts = _of_server(execution, server, now)
            place = (session.sid, session.serial, session.inst_id, 1, server.set, server.position)
            for number, value in _of_work(*parts):
                yield (
                    *(server.inst_id, server.sid, server.serial, *place, ticket.degree, ticket.dop, number, value),
                    session.con_id,
                )


VIEWS = (
    View("V$STATNAME", columns("INST_ID STATISTIC# NAME"), _names, never),
    View("V$SESSTAT", columns("INST_ID SID STATISTIC# VALUE CON_ID"), _sesstat),
    View(
        "V$PX_SESSTAT",
        columns(
            "INST_ID SID SERIAL# QCSID QCSERIAL# QCINST_ID SERVER_GROUP SERVER_SET SERVER# DEGREE REQ_DEGREE STATISTIC#"
            " VALUE CON_ID"
        ),
        _px_sesstat,
    ),
)
