"""View of the simulator: a name, columns, and a function from the simulation to rows."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

from msgspec import Struct

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
            who = server.inst_id, server.sid, session, execution, server
            yield Process(*who, used, simulation.now - execution.started, read)


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
