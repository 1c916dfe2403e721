"""Views of the shared pool: V$SQL and V$SQL_PLAN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from presman.simulator.views.shape import Row, View, columns

if TYPE_CHECKING:
    from presman.simulator.simulation import Simulation

_COORDINATOR = 1
"""The plan line that carries OTHER_XML."""


def _sql(simulation: Simulation) -> Iterator[Row]:
    for machine in simulation.machines:
        for cursor in simulation.workload.arrivals.library.cursors.values():
            yield (
                *(machine.inst_id, cursor.text[:1000], cursor.text, cursor.sql_id, cursor.child, cursor.plan_hash),
                *(cursor.executions, cursor.px_executions, cursor.user, int(cursor.cpu * 1e6)),
                *(int(cursor.elapsed * 1e6), 0),
            )


def _sql_plan(simulation: Simulation) -> Iterator[Row]:
    for machine in simulation.machines:
        for cursor in simulation.workload.arrivals.library.cursors.values():
            xml = cursor.other_xml(simulation.release)
            for line in cursor.lines():
                yield (
                    *(machine.inst_id, cursor.sql_id, cursor.plan_hash, cursor.child, *line),
                    *(cursor.user, xml if line.id == _COORDINATOR else None, 0),
                )


def _loaded(simulation: Simulation) -> object:
    return simulation.workload.arrivals.library.version


VIEWS = (
    View(
        "V$SQL",
        columns(
            "INST_ID SQL_TEXT SQL_FULLTEXT SQL_ID CHILD_NUMBER PLAN_HASH_VALUE EXECUTIONS PX_SERVERS_EXECUTIONS"
            " PARSING_SCHEMA_NAME CPU_TIME ELAPSED_TIME CON_ID"
        ),
        _sql,
    ),
    View(
        "V$SQL_PLAN",
        columns(
            "INST_ID SQL_ID PLAN_HASH_VALUE CHILD_NUMBER ID PARENT_ID DEPTH OPERATION OPTIONS OBJECT_NAME OBJECT_NODE"
            " DISTRIBUTION OBJECT_OWNER OTHER_XML CON_ID"
        ),
        _sql_plan,
        _loaded,
    ),
)
