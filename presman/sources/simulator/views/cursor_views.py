"""Views of the shared pool: V$SQL and V$SQL_PLAN."""

from collections.abc import Iterator
from typing import NamedTuple

from presman.sources.simulator.machine import Machine
from presman.sources.simulator.parsing import Cursor, PlanOperation
from presman.sources.simulator.simulation import Simulation
from presman.sources.simulator.views.view import Row, View

_COORDINATOR = 1
"""The id of the plan line with OTHER_XML."""


class _Calls(NamedTuple):
    """The totals of a cursor in the session pools of an instance: calls, seconds, blocks; and its current calls."""

    executions: float = 0.0
    cpu: float = 0.0
    held_back: float = 0.0
    reading: float = 0.0
    reads: float = 0.0
    running: float = 0.0

    @property
    def elapsed(self) -> float:
        """The elapsed seconds of all calls."""
        return self.cpu + self.held_back + self.reading


_NO_CALLS = _Calls()
_GETS = 4
"""Buffer gets of a short call per block read from disk."""


def _calls(machine: Machine) -> dict[tuple[str, int], _Calls]:
    """Return the totals of an instance's pools by cursor: a pool runs each of its cursors equally often."""
    done: dict[tuple[str, int], _Calls] = {}
    for pool in machine.pools:
        active = sum(pool.split()[:3])
        whole = (pool.requests, pool.cpu, pool.wait, pool.requests * pool.spec.io, pool.reads, active)
        for cursor in pool.cursors:
            before = done.get((cursor.sql_id, cursor.child), _NO_CALLS)
            shares = (each / len(pool.cursors) for each in whole)
            done[cursor.sql_id, cursor.child] = _Calls(*map(sum, zip(before, shares, strict=True)))
    return done


def _sql(simulation: Simulation) -> Iterator[Row]:
    for machine in simulation.machines:
        done = _calls(machine)
        for cursor in simulation.library.cursors.values():
            calls = done.get((cursor.sql_id, cursor.child), _NO_CALLS)
            yield (
                *(machine.inst_id, cursor.text[:1000], cursor.text, cursor.sql_id, cursor.child, cursor.plan_hash),
                *(cursor.executions + int(calls.executions), cursor.px_executions, cursor.user),
                *(int((cursor.cpu + calls.cpu) * 1e6), int((cursor.elapsed + calls.elapsed) * 1e6), 0),
                *map(sum, zip(_work(simulation, cursor), _short_work(calls), strict=True)),
            )


def _short_work(calls: _Calls) -> tuple[int, ...]:
    """Return waits, reads and rows of short calls, one row per call, in the order of :func:`_work`."""
    blocks, size = int(calls.reads), int(calls.reads) * 8192
    waited = int(calls.reading * 1e6)
    return (waited, 0, blocks * _GETS, blocks, int(calls.executions), size, 0, 0, size, round(calls.running))


def _work(simulation: Simulation, cursor: Cursor) -> tuple[int, ...]:
    """Return waits, reads, rows and running executions of a cursor, as the last columns of V$SQL."""
    running = sum(1 for one in simulation.workload.running if one.cursor is cursor)
    read = int(cursor.mb * 2**20)
    blocks = read // 8192
    smart = simulation.scenario.capacity.storage == "exadata"
    offloaded = read if smart else 0
    through = read // 8 if smart else read
    waited = int(max(0.0, cursor.elapsed * max(1, cursor.dop) - cursor.cpu) * 0.4 * 1e6)
    return (waited, 0, blocks, blocks, cursor.executions * 24, read, read // 50, offloaded, through, running)


def _plan_figures(cursor: Cursor, line: PlanOperation) -> tuple[int | None, ...]:
    """Return plausible estimates of cost, rows, bytes and seconds for a plan line."""
    if line.operation.startswith("PX COORD") or line.operation == "PX BLOCK":
        return (None, None, None, None)
    rows = 24 if line.depth < 5 and cursor.sets == 2 else 40_000_000
    cost = 180_000 // max(1, cursor.dop) + 40 * max(1, 10 - line.depth)
    return (cost, rows, rows * 18, max(1, cost // 800))


def _tag(line: PlanOperation) -> str | None:
    if line.object_node is None or not line.object_node.startswith(":Q"):
        return None
    if line.operation != "PX SEND":
        return "PARALLEL_COMBINED_WITH_PARENT"
    return "PARALLEL_TO_SERIAL" if (line.distribution or "").startswith("QC") else "PARALLEL_TO_PARALLEL"


def _sql_plan(simulation: Simulation) -> Iterator[Row]:
    for machine in simulation.machines:
        for cursor in simulation.library.cursors.values():
            xml = cursor.other_xml(simulation.release)
            for line in cursor.lines():
                yield (
                    *(machine.inst_id, cursor.sql_id, cursor.plan_hash, cursor.child, *line),
                    *(cursor.user, xml if line.id == _COORDINATOR else None, 0),
                    *(_tag(line), *_plan_figures(cursor, line)),
                )


VIEWS = (
    View(
        "V$SQL",
        "INST_ID SQL_TEXT SQL_FULLTEXT SQL_ID CHILD_NUMBER PLAN_HASH_VALUE EXECUTIONS PX_SERVERS_EXECUTIONS"
        " PARSING_SCHEMA_NAME CPU_TIME ELAPSED_TIME CON_ID USER_IO_WAIT_TIME CONCURRENCY_WAIT_TIME BUFFER_GETS"
        " DISK_READS ROWS_PROCESSED PHYSICAL_READ_BYTES PHYSICAL_WRITE_BYTES IO_CELL_OFFLOAD_ELIGIBLE_BYTES"
        " IO_INTERCONNECT_BYTES USERS_EXECUTING",
        _sql,
    ),
    View(
        "V$SQL_PLAN",
        "INST_ID SQL_ID PLAN_HASH_VALUE CHILD_NUMBER ID PARENT_ID DEPTH OPERATION OPTIONS OBJECT_NAME OBJECT_NODE"
        " DISTRIBUTION OBJECT_OWNER OTHER_XML CON_ID OTHER_TAG COST CARDINALITY BYTES TIME",
        _sql_plan,
    ),
)
