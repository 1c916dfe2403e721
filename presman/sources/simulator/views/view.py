"""View of the simulator: a name, columns, and a function from the simulation to rows."""

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cache, cached_property, lru_cache
from typing import Any, NamedTuple
from zlib import crc32

from msgspec import Struct

from presman.rows.query_files import SqlColumn, catalog, read_file, variants
from presman.sources.simulator.executions import Execution, Server, SimulatedSession
from presman.sources.simulator.machine import Machine
from presman.sources.simulator.simulation import Simulation

Row = tuple[Any, ...]


class View(Struct, frozen=True, dict=True):
    """One view; `text` has the names of its columns. A V$ view also serves as GV$: its first column is INST_ID."""

    name: str
    text: str
    rows: Callable[[Simulation], Iterable[Row]]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(self.text.split())


class Process(NamedTuple):
    """A process that works for a statement: that of its session, or one of its parallel servers.

    `cpu` is seconds of CPU, `lasted` seconds of database time, `mb` megabytes read, all since it began.
    """

    inst_id: int
    sid: int
    session: SimulatedSession
    execution: Execution
    server: Server | None
    cpu: float
    lasted: float
    mb: float


def processes(simulation: Simulation) -> Iterator[Process]:
    """Yield the sessions that execute a statement, each before its parallel servers."""
    for session, execution in simulation.workload.executions.items():
        servers = execution.servers
        lasted = session.pq_active + (simulation.now - execution.started if execution.started else 0.0)
        cpu = session.cpu + (0.0 if servers else execution.cpu) + 0.02 * lasted
        coordinator = session.inst_id, session.sid, session, execution, None
        yield Process(*coordinator, cpu, lasted + session.cpu, 0.0 if servers else execution.mb)
        for server in servers:
            used, _ = execution.time.of(server.skew, len(servers))
            read = execution.mb * (1 + server.skew) / len(servers)
            identity = server.inst_id, server.sid, session, execution, server
            yield Process(*identity, used, simulation.now - execution.started, read)


def of_processes(name: str, text: str, rows: Callable[[Process], Iterable[Row]]) -> View:
    """Return a view with INST_ID, SID, the columns named in `text`, and CON_ID; `rows` returns those of a process."""

    def all_rows(simulation: Simulation) -> Iterator[Row]:
        for process in processes(simulation):
            for row in rows(process):
                yield (process.inst_id, process.sid, *row, process.session.con_id)

    return View(name, f"INST_ID SID {text} CON_ID", all_rows)


def of_instances(name: str, text: str, rows: Callable[[Simulation, Machine], Iterable[Row]]) -> View:
    """Return a view with INST_ID and the columns named in `text`; `rows` returns those of an instance."""

    def all_rows(simulation: Simulation) -> Iterator[Row]:
        return ((each.inst_id, *row) for each in simulation.machines for row in rows(simulation, each))

    return View(name, f"INST_ID {text}", all_rows)


@cache
def plausible(name: str) -> View | None:
    """Return a view that is not simulated, with values made up from its columns in the catalog; None without any.

    A view with a SID has a row for each process that works, any other view three rows for each instance.
    """
    columns = catalog().get(name, {}).values()
    if not columns or not name.startswith("V$"):
        return None
    of_sessions = any(each.name in _SIDS for each in columns)
    # The texts with which queries compare columns of the view: without these they would find nothing.
    files = [file for file in map(read_file, variants()) if file.view.removeprefix("G") == name]
    compared = [found for file in files for found in _COMPARED.findall(file.sql)]
    words = {column.upper(): re.findall("'([^']*)'", texts) for column, texts in compared}

    def rows(simulation: Simulation) -> Iterator[Row]:
        found = (
            [(each.inst_id, each.sid, each.session.con_id, each.lasted) for each in processes(simulation)]
            if of_sessions
            else [(each.inst_id, number, 0, simulation.now) for each in simulation.machines for number in (1, 2, 3)]
        )
        for inst_id, number, con_id, seconds in found:
            own: dict[str, Any] = {"CON_ID": con_id, **dict.fromkeys(_SIDS, number)}
            own |= {column: texts[number % len(texts)] for column, texts in words.items()}
            values = (own.get(each.name, _value(each, number, seconds, simulation)) for each in columns)
            yield inst_id, *values

    return View(name, " ".join(("INST_ID", *(each.name for each in columns))), rows)


_SIDS = ("SID", "SESSION_ID")

_COMPARED = re.compile(r"(\w+)\s*(?:=|IN\s*\()\s*('[^']*'(?:,\s*'[^']*')*)", re.IGNORECASE)


_SCALES = {"bytes": 2**20, "KB": 2**10, "microseconds": 10**6, "ms": 1000, "centiseconds": 100}
"""How much of a unit a second of work comes to."""


def _value(column: SqlColumn, number: int, seconds: float, simulation: Simulation) -> Any:
    if column.datatype.startswith("NUMBER"):
        amount = 1 + int(seconds * _SCALES.get(column.unit, 1)) * (1 + (crc32(column.name.encode()) + number) % 7)
        return amount % 100 if column.unit == "percent" else amount
    if column.datatype.startswith(("DATE", "TIMESTAMP")):
        return when(simulation, simulation.now - seconds)
    return f"{column.name.partition('_')[0]} {1 + number % 3}"


def in_ms(seconds: float) -> int:
    """Return seconds as whole milliseconds."""
    return int(seconds * 1000)


def when(simulation: Simulation, seconds: float | None) -> str | None:
    """Return an instant of the simulation as the DATE text of the embedded database, in UTC."""
    return None if seconds is None else _date(simulation.origin, int(seconds // 1))


@lru_cache(maxsize=1024)
def _date(origin: datetime, seconds: int) -> str:
    moment = origin + timedelta(seconds=seconds)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(" ", "seconds")
