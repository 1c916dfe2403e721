"""Views of session statistics: V$STATNAME, V$SESSTAT and V$PX_SESSTAT."""

from collections.abc import Iterator

from presman.sources.simulator.machine import Machine
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views.view import Process, Row, of_instances, of_processes

_NUMBERS = {
    "user commits": 6, "user calls": 9, "session logical reads": 14, "CPU used by this session": 19, "DB time": 20,
    "session pga memory": 36, "physical read total bytes": 58, "physical write total bytes": 67, "redo size": 288,
    "execute count": 1085, "SQL*Net roundtrips to/from client": 1092, "bytes sent via SQL*Net to client": 1090,
}  # fmt: skip
"""Some statistics and their numbers in the simulator; the numbers differ between releases of Oracle."""
_BLOCK = 8192


def _names(_: Simulation, __: Machine) -> Iterator[Row]:
    return ((number, name) for name, number in _NUMBERS.items())


def _statistics(process: Process) -> list[tuple[int, int]]:
    """Return the statistics of a process; a session that is not a parallel server also has calls."""
    read, calls = process.mb * 2**20, 40 + process.session.times_queued * 3
    found = {
        "session logical reads": read / _BLOCK + process.cpu * 900,
        "CPU used by this session": process.cpu * 100,
        "DB time": process.lasted * 100,
        "physical read total bytes": read,
        "physical write total bytes": read * 0.02,
        "session pga memory": 4 * 2**20 + min(process.lasted, 60) * 2**20,
    }
    if process.server is None:
        found |= {"user calls": calls, "execute count": calls, "SQL*Net roundtrips to/from client": calls * 2}
        found["bytes sent via SQL*Net to client"] = calls * 2400
    return [(_NUMBERS[name], int(value)) for name, value in found.items()]


def _of_parallel(process: Process) -> Iterator[Row]:
    """Yield the statistics of a parallel statement's process, with its coordinator, server set and position."""
    session, server, execution = process.session, process.server, process.execution
    if not execution.servers:
        return
    where: Row = (session.sid, None, None, None, None)
    if server is not None:
        where = (session.sid, session.inst_id, server.set, server.position, execution.entry.degree)
    yield from ((*where, *each) for each in _statistics(process))


VIEWS = (
    of_instances("V$STATNAME", "STATISTIC# NAME", _names),
    of_processes("V$SESSTAT", "STATISTIC# VALUE", _statistics),
    of_processes("V$PX_SESSTAT", "QCSID QCINST_ID SERVER_SET SERVER# DEGREE STATISTIC# VALUE", _of_parallel),
)
